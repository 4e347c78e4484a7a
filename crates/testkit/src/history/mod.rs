//! What clients did and were told, and whether one store that never forgets could have told them that.
//!
//! Clients write values that are never used twice and note when they asked, when they were answered, and what. In the
//! end the server is asked for everything that happened since the beginning. [`History::check`] holds both against each
//! other: every acknowledged write is there once, at the revision that was told; nothing else is there; every answer
//! fits a state that existed between the question and the answer; watches told everything, once, in order.
//!
//! What happened is a single sequence of revisions, which makes the search for an order of the operations that usually
//! makes such checks expensive a matter of one pass.

mod check;
#[cfg(test)]
mod tests;
mod timeline;
mod watches;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub use check::Summary;

/// A moment on the clock of the recorder.
pub type Tick = u64;

/// One state of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub revision: u64,
    pub value: String,
}

/// What a client asked for. Writes other than a creation name the version that they expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Create {
        value: String,
    },
    Update {
        value: String,
        from: u64,
    },
    Delete {
        from: u64,
    },
    Get,
    /// All objects whose keys begin with the key.
    List,
}

/// What a client knows afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A creation or an update happened, at this revision.
    Written(u64),
    Deleted,
    /// What a get found.
    Seen(Option<Version>),
    Listed {
        revision: u64,
        objects: BTreeMap<String, Version>,
    },
    /// Nothing was done: the object exists.
    Exists,
    /// Nothing was done: the object is not at the expected version.
    Conflict,
    /// Nothing was done: there is no such object.
    Missing,
    /// Nothing was done, for a reason that has nothing to do with the object.
    Failed,
    /// It happened, or it will, or it never does.
    Unknown,
}

/// A question with its answer.
#[derive(Clone, Debug)]
pub struct Operation {
    pub key: String,
    pub action: Action,
    pub outcome: Outcome,
    pub asked: Tick,
    /// Without meaning for [`Outcome::Unknown`], which may take effect much later.
    pub answered: Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Added,
    Modified,
    Deleted,
}

/// A change as a watch tells it. For a deletion the value is the last one, the revision that of the deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: Kind,
    pub key: String,
    pub revision: u64,
    pub value: String,
}

/// What came through a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Change(Change),
    /// Everything up to this revision has been told.
    Bookmark(u64),
}

/// One watcher's view, over as many connections as it took, each resumed where the last one ended.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What the keys begin with.
    pub prefix: String,
    pub after: u64,
    pub told: Vec<Told>,
}

/// Everything there is to be checked.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub operations: Vec<Operation>,
    /// All that happened to the keys since before the first operation, as the server tells it afterwards.
    pub changes: Vec<Change>,
    pub watched: Vec<Watched>,
}

impl History {
    /// What was done, or everything that is wrong.
    pub fn check(&self) -> Result<Summary, Vec<String>> {
        check::check(self)
    }
}

/// Where clients write down what they do.
#[derive(Default)]
pub struct Recorder {
    clock: AtomicU64,
    operations: Mutex<Vec<Operation>>,
}

impl Recorder {
    /// A moment after all moments before.
    pub fn now(&self) -> Tick {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Notes an operation that was asked at `asked` and answered just now.
    pub fn done(&self, asked: Tick, key: &str, action: Action, outcome: Outcome) {
        let operation = Operation { key: key.to_owned(), action, outcome, asked, answered: self.now() };
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
    }

    /// Everything noted so far.
    pub fn operations(&self) -> Vec<Operation> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
