//! What a caller of the store can act on.

use std::{error, sync::Arc};

use crate::{KeyValue, Revision};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the store is unavailable; shared, because one cause fails many transactions.
pub type Cause = Arc<dyn error::Error + Send + Sync>;

#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A condition of the transaction does not hold; nothing was written.
    #[error("the key was changed by someone else")]
    Conflict {
        /// What each condition's key holds now, in the order of the conditions.
        current: Vec<Option<KeyValue>>,
    },
    /// The revision asked for is no longer kept: start again from a fresh read.
    #[error("revision has been compacted; the oldest kept is {oldest}")]
    Compacted { oldest: Revision },
    /// The revision asked for does not exist yet.
    #[error("revision lies in the future; the current one is {current}")]
    FutureRevision { current: Revision },
    /// A write exceeds what the backend takes; nothing was written.
    #[error("the write is larger than the limit of {limit} bytes")]
    TooLarge { limit: usize },
    /// The request makes no sense in itself (a key written twice, an empty key).
    #[error("invalid request to the store: {0}")]
    Invalid(&'static str),
    /// Nothing can be said or written now. For a commit: it may have happened or not.
    #[error("the store is unavailable")]
    Unavailable(#[source] Cause),
    /// What was read back is not what was written.
    #[error("the store is damaged: {0}")]
    Corrupt(Arc<str>),
}

/// The cause of [`Error::Unavailable`] after [`Store::close`](crate::Store::close).
#[derive(Debug, thiserror::Error)]
#[error("the store is closed")]
pub(crate) struct Closed;

/// How a store in another process fails, as far as its callers may tell others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outage {
    /// It refused, in these words.
    Said(String),
    /// It did not answer in time.
    TimedOut,
    /// It cannot be reached, or was lost in the middle of a request.
    Unreachable,
}

impl Error {
    /// What a store in another process has to say about being unavailable; `None` for every other error.
    pub fn outage(&self) -> Option<Outage> {
        match self {
            #[cfg(feature = "etcd")]
            Self::Unavailable(cause) => crate::etcd::outage(&**cause),
            _ => None,
        }
    }

    pub(crate) fn closed() -> Self {
        Self::Unavailable(Arc::new(Closed))
    }
}
