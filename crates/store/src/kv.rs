//! A revision, and a key with its value at one.

use std::fmt;

use bytes::Bytes;

use crate::UnixSeconds;

/// A state of the whole store. An empty store is at 1; every transaction that changes something
/// takes the next number. 0 stands for "before everything".
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// Before everything: no state has this number.
    pub const ZERO: Self = Self(0);
    /// The state of a store that was never written to.
    pub const FIRST: Self = Self(1);

    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A key, its value and how they came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    pub key: Bytes,
    /// Empty when only keys were asked for, and in a delete event.
    pub value: Bytes,
    /// When the key last came into being; [`Revision::ZERO`] in a delete event.
    pub create_revision: Revision,
    /// When this value was written; in a delete event, when it was deleted.
    pub mod_revision: Revision,
    /// Writes since creation, counting that one; 0 in a delete event.
    pub version: u64,
    /// When the key deletes itself. `None` too when the backend would have to find out (etcd), unless
    /// [`Range::with_expiry`](crate::Range::with_expiry) asks for it.
    pub expires_at: Option<UnixSeconds>,
}

impl KeyValue {
    /// What a delete event carries: the key, and when it went.
    pub fn tombstone(key: Bytes, revision: Revision) -> Self {
        Self {
            key,
            value: Bytes::new(),
            create_revision: Revision::ZERO,
            mod_revision: revision,
            version: 0,
            expires_at: None,
        }
    }
}
