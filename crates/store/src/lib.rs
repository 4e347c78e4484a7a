//! Revisioned bytes: transactions, history, watch, on one of several backends.
//!
//! A store maps byte keys to byte values and numbers its states with one global sequence of
//! [`Revision`]s, as etcd does. Everything above it (objects, JSON, resource versions, caches) is
//! built from six promises, which the `conformance` suite (feature `testing`) holds every
//! backend to:
//!
//! * [`Store::commit`] is atomic, durable when it answers, and all its writes share one revision;
//! * [`Store::range`] reads one state: the newest, or that of an older revision not yet compacted;
//! * [`Store::watch`] tells every change after a revision, in order, once, all keys of a revision
//!   together;
//! * revisions only grow, over restarts and restores too;
//! * a key written with a time to live leaves with an ordinary delete event;
//! * what cannot be kept is said with an [`Error`] that the caller can act on.
//!
//! The backends: [`memory`] (tests), embedded (one process, on disk) and etcd (a cluster of its own,
//! shared by several processes).
//!
//! ```
//! use store::{KeyRange, Range, Store, Txn, memory::MemoryStore};
//! # use crest_store as store;
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store = MemoryStore::default();
//! let created = store.commit(Txn::create("/a", "1")).await?;
//! store.commit(Txn::update("/a", "2", created.revision)).await?;
//!
//! let then = store.range(Range::values(KeyRange::prefix("/")).at(created.revision)).await?;
//! assert_eq!(then.kvs[0].value, "1");
//! # Ok::<(), store::Error>(()) }).unwrap();
//! ```

pub mod backup;
mod clock;
#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
#[cfg(feature = "etcd")]
pub mod etcd;
mod kv;
pub mod memory;
mod range;
mod retention;
mod stats;
mod txn;
mod watch;

use std::sync::Arc;

pub use futures_util::future::BoxFuture;

pub use crate::{
    clock::{Clock, ManualClock, SystemClock, UnixSeconds},
    error::{Cause, Error, Outage, Result},
    kv::{KeyValue, Revision},
    range::{KeyRange, Range, RangeResult, What},
    stats::Stats,
    txn::{Committed, Condition, Expect, Txn, Write},
    watch::{Event, EventBatch, EventKind, Observer, Watch, WatchMessage},
};

/// The largest key plus value that a backend takes unless told otherwise: etcd's request limit.
pub const MAX_VALUE_BYTES: usize = 1536 * 1024;

/// A revisioned key-value store. See the crate's documentation for the promises.
///
/// Cancel safety: dropping the future of [`Store::commit`] neither undoes nor prevents the
/// transaction; once polled, it either happens as a whole or not at all.
pub trait Store: Send + Sync + 'static {
    /// Checks the conditions and, when all hold, does all writes at one new revision.
    ///
    /// When it answers, the writes are durable, observers have returned, and open watches can read
    /// the events without waiting. A transaction that changes nothing (no writes, or deletes of
    /// absent keys only) takes no revision and answers with the current one.
    ///
    /// Errors: [`Error::Conflict`] when a condition does not hold, [`Error::TooLarge`],
    /// [`Error::Invalid`] when one key is written twice, [`Error::Unavailable`] when the outcome
    /// is unknown or nothing can be written.
    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<Committed>>;

    /// Reads the keys of a range in ascending order, at one revision.
    fn range(&self, range: Range) -> BoxFuture<'_, Result<RangeResult>>;

    /// Opens a stream of every change to `keys` with a revision greater than `after`.
    ///
    /// `after` may lie in the future: earlier events are then left out. An `after` below the
    /// compacted revision is [`Error::Compacted`].
    fn watch(&self, keys: KeyRange, after: Revision) -> BoxFuture<'_, Result<Box<dyn Watch>>>;

    /// The newest revision, not older than any answer given before the call (linearizable).
    fn current(&self) -> BoxFuture<'_, Result<Revision>>;

    /// Gives up history: states before `oldest` can no longer be read, nor watches resume before it.
    ///
    /// Compacting at or below the compacted revision does nothing; above the current one is
    /// [`Error::FutureRevision`].
    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>>;

    /// Has `observer` called with every batch after the returned revision, before its transaction
    /// is answered. `None`: this backend cannot (other processes write to it); follow a watch.
    ///
    /// So a cache that registers first and then reads the range at the returned revision misses
    /// nothing, and a writer's answer never overtakes its own event.
    fn observe(&self, observer: Arc<dyn Observer>) -> Option<Revision>;

    /// Asks for a [`WatchMessage::Progress`] on every open watch, not older than this call.
    ///
    /// Local backends tell progress unasked, as soon as it is made, and ignore this.
    fn request_progress(&self) {}

    /// Counters for the metrics of the process. Cheap: no IO, no waiting.
    fn stats(&self) -> Stats;

    /// Refuses new work, finishes what was accepted, ends the watches, and lets go of the data.
    fn close(&self) -> BoxFuture<'_, Result<()>>;
}
