//! Changes, and the two ways to be told of them: a watch to read, an observer to be called.

use std::sync::Arc;

use crate::{BoxFuture, KeyRange, KeyValue, Result, Revision};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    Put,
    Delete,
}

/// One key changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// The new state; for a delete a [`KeyValue::tombstone`].
    pub kv: KeyValue,
    /// The state before; `None` when the key was created.
    pub previous: Option<KeyValue>,
}

/// Everything that one transaction changed, in the order of its writes. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBatch {
    pub revision: Revision,
    pub events: Vec<Event>,
}

#[derive(Clone, Debug)]
pub enum WatchMessage {
    /// The events of one revision that lie in the watched range.
    Events(Arc<EventBatch>),
    /// Everything up to here has been told: the changes since concerned other keys.
    Progress(Revision),
}

/// An open watch. Dropping it ends it.
///
/// Bound: a watch holds a position in the store's history, not a queue. One that is read too slowly
/// is overtaken by compaction and then gets [`Error::Compacted`](crate::Error::Compacted).
pub trait Watch: Send {
    /// Waits for the next message. Every error is final.
    ///
    /// Cancel safety: a dropped future loses nothing; the next call returns what it would have.
    fn next(&mut self) -> BoxFuture<'_, Result<WatchMessage>>;
}

/// Called for every change by the backend itself; see [`Store::observe`](crate::Store::observe).
pub trait Observer: Send + Sync {
    /// Called in the order of revisions, when the batch is durable and before its transaction is
    /// answered. Every writer waits meanwhile: be quick, do not call the store.
    fn committed(&self, batch: &Arc<EventBatch>);
}

impl EventBatch {
    /// The part of it that concerns `keys`; shared, not copied, when that is all of it.
    pub(crate) fn within(self: &Arc<Self>, keys: &KeyRange) -> Option<Arc<Self>> {
        let inside = self.events.iter().filter(|event| keys.contains(&event.kv.key));
        match inside.clone().count() {
            0 => None,
            count if count == self.events.len() => Some(Arc::clone(self)),
            _ => Some(Arc::new(Self { revision: self.revision, events: inside.cloned().collect() })),
        }
    }
}
