//! A transaction: conditions on keys, and the writes that happen when all of them hold.

use std::time::Duration;

use bytes::Bytes;

use crate::{Error, KeyValue, Result, Revision};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Always holds: the caller only wants to know what is there when another condition fails.
    Anything,
    Absent,
    /// The key was last written at this `mod_revision`.
    At(Revision),
}

impl Expect {
    /// Whether a key that was last written at `current` (`None`: absent) is as expected.
    pub fn holds(self, current: Option<Revision>) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => current.is_none(),
            Self::At(revision) => current == Some(revision),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Condition {
    pub key: Bytes,
    pub expect: Expect,
}

#[derive(Clone, Debug)]
pub enum Write {
    /// Creates or replaces. Without `expires_in` the key stays, even if it had a time to live.
    Put {
        key: Bytes,
        value: Bytes,
        expires_in: Option<Duration>,
    },
    Delete {
        key: Bytes,
    },
}

impl Write {
    pub fn key(&self) -> &Bytes {
        match self {
            Self::Put { key, .. } | Self::Delete { key } => key,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Put { key, value, .. } => key.len() + value.len(),
            Self::Delete { key } => key.len(),
        }
    }
}

/// Bound: the sizes of all writes together are limited by the backend, a key is written once.
#[derive(Clone, Debug, Default)]
pub struct Txn {
    pub conditions: Vec<Condition>,
    pub writes: Vec<Write>,
}

impl Txn {
    /// Writes a key that must not exist.
    pub fn create(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self::put(key, value, Expect::Absent)
    }

    /// Replaces what was written at `revision`.
    pub fn update(key: impl Into<Bytes>, value: impl Into<Bytes>, revision: Revision) -> Self {
        Self::put(key, value, Expect::At(revision))
    }

    /// Deletes what was written at `revision`.
    pub fn delete(key: impl Into<Bytes>, revision: Revision) -> Self {
        let key = key.into();
        Self {
            conditions: vec![Condition { key: key.clone(), expect: Expect::At(revision) }],
            writes: vec![Write::Delete { key }],
        }
    }

    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>, expect: Expect) -> Self {
        let key = key.into();
        Self {
            conditions: vec![Condition { key: key.clone(), expect }],
            writes: vec![Write::Put { key, value: value.into(), expires_in: None }],
        }
    }

    /// Gives every put of this transaction a time to live.
    #[must_use]
    pub fn expiring_in(mut self, time_to_live: Duration) -> Self {
        for write in &mut self.writes {
            if let Write::Put { expires_in, .. } = write {
                *expires_in = Some(time_to_live);
            }
        }
        self
    }

    /// What every backend refuses before it looks at its data.
    pub(crate) fn check(&self, limit: usize) -> Result<()> {
        if self.writes.iter().any(|write| write.key().is_empty()) {
            return Err(Error::Invalid("the key is empty"));
        }
        if self.writes.iter().any(|write| write.key().len() > MAX_KEY_BYTES) {
            return Err(Error::TooLarge { limit: MAX_KEY_BYTES });
        }
        if self.writes.iter().map(Write::size).sum::<usize>() > limit {
            return Err(Error::TooLarge { limit });
        }
        if self.writes.len() > MAX_WRITES {
            return Err(Error::Invalid("too many writes in one transaction"));
        }
        if self.writes_a_key_twice() {
            return Err(Error::Invalid("a key is written twice in one transaction"));
        }
        Ok(())
    }

    fn writes_a_key_twice(&self) -> bool {
        match &self.writes[..] {
            [] | [_] => false,
            writes => {
                let mut keys: Vec<&Bytes> = writes.iter().map(Write::key).collect();
                keys.sort_unstable();
                keys.windows(2).any(|pair| pair[0] == pair[1])
            }
        }
    }
}

/// Bound: the writes of one transaction, so that they can be numbered in 16 bits.
const MAX_WRITES: usize = 1 << 16;
/// The longest key. A Kubernetes path of group, resource, namespace and name stays below 1 KiB.
const MAX_KEY_BYTES: usize = 32 * 1024;

#[derive(Clone, Debug)]
pub struct Committed {
    /// The revision of all writes, or the current one when nothing was changed.
    pub revision: Revision,
    /// What each write's key held before, in the order of the writes.
    pub previous: Vec<Option<KeyValue>>,
}
