//! What everybody may know: the revision reached, the latest batches, who wants to be told.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::sync::watch as signal;

use crate::{Event, EventBatch, KeyValue, Observer, Revision};

/// Bound: batches kept in memory for watches that are up to date; older ones are read from disk.
const RECENT_BYTES: usize = 2 << 20;
const RECENT_BATCHES: usize = 2_048;

/// Lock order: `observers`, then `recent`.
pub(super) struct Published {
    current: AtomicU64,
    compacted: AtomicU64,
    closed: AtomicBool,
    observers: Mutex<Vec<Arc<dyn Observer>>>,
    recent: Mutex<Recent>,
    signal: signal::Sender<Revision>,
}

/// The newest batches. Invariant: holds every batch after `from`, up to the current revision.
struct Recent {
    batches: VecDeque<Arc<EventBatch>>,
    bytes: usize,
    from: Revision,
}

/// Where a watch has to look for what comes after a revision.
pub(super) enum Next {
    Closed,
    /// In memory: the batches, oldest first; empty when the watch has seen everything.
    Here(Vec<Arc<EventBatch>>),
    /// On disk, up to this revision.
    OnDisk {
        upto: Revision,
    },
    Compacted {
        oldest: Revision,
    },
}

impl Published {
    pub(super) fn new(current: Revision, compacted: Revision) -> Self {
        let recent = Recent { batches: VecDeque::new(), bytes: 0, from: current };
        Self {
            current: AtomicU64::new(current.0),
            compacted: AtomicU64::new(compacted.0),
            closed: AtomicBool::new(false),
            observers: Mutex::default(),
            recent: Mutex::new(recent),
            signal: signal::channel(current).0,
        }
    }

    pub(super) fn current(&self) -> Revision {
        Revision(self.current.load(Ordering::Acquire))
    }

    /// `None` once the store is closed.
    pub(super) fn current_if_open(&self) -> Option<Revision> {
        (!self.closed.load(Ordering::Acquire)).then(|| self.current())
    }

    pub(super) fn compacted(&self) -> Revision {
        Revision(self.compacted.load(Ordering::Acquire))
    }

    /// Must precede the removal of any record: readers look at this after taking their snapshot.
    pub(super) fn raise_compacted(&self, oldest: Revision) {
        self.compacted.fetch_max(oldest.0, Ordering::AcqRel);
    }

    pub(super) fn observe(&self, observer: Arc<dyn Observer>) -> Revision {
        let mut observers = self.observers.lock();
        observers.push(observer);
        // `publish` moves it under the same lock, so none is missed and none is told twice.
        self.current()
    }

    pub(super) fn subscribe(&self) -> signal::Receiver<Revision> {
        self.signal.subscribe()
    }

    pub(super) fn watches(&self) -> usize {
        self.signal.receiver_count()
    }

    /// Tells durable batches to observers, then to watches.
    pub(super) fn publish(&self, batches: Vec<Arc<EventBatch>>) {
        let Some(last) = batches.last().map(|batch| batch.revision) else { return };
        let observers = self.observers.lock();
        for batch in &batches {
            for observer in observers.iter() {
                observer.committed(batch);
            }
        }
        let mut recent = self.recent.lock();
        for batch in batches {
            recent.push(batch);
        }
        self.current.store(last.0, Ordering::Release);
        drop(recent);
        self.signal.send_replace(last);
    }

    /// What follows `seen`, at most `limit` batches of it.
    pub(super) fn next(&self, seen: Revision, limit: usize) -> Next {
        if self.closed.load(Ordering::Acquire) {
            return Next::Closed;
        }
        let recent = self.recent.lock();
        if seen >= recent.from {
            let first = recent.batches.partition_point(|batch| batch.revision <= seen);
            return Next::Here(recent.batches.iter().skip(first).take(limit).cloned().collect());
        }
        let oldest = self.compacted();
        if seen < oldest {
            return Next::Compacted { oldest };
        }
        Next::OnDisk { upto: recent.from }
    }

    /// Ends watches and lets observers go: they may hold the store in turn.
    pub(super) fn close(&self) {
        self.observers.lock().clear();
        self.closed.store(true, Ordering::Release);
        self.signal.send_modify(|_| ());
    }
}

impl Recent {
    fn push(&mut self, batch: Arc<EventBatch>) {
        self.bytes += size(&batch);
        self.batches.push_back(batch);
        while self.bytes > RECENT_BYTES || self.batches.len() > RECENT_BATCHES {
            let Some(oldest) = self.batches.pop_front() else { return };
            self.bytes -= size(&oldest);
            self.from = oldest.revision;
        }
    }
}

fn size(batch: &EventBatch) -> usize {
    let kv = |kv: &KeyValue| size_of::<KeyValue>() + kv.key.len() + kv.value.len();
    let event = |event: &Event| kv(&event.kv) + event.previous.as_ref().map_or(0, kv);
    size_of::<EventBatch>() + batch.events.iter().map(event).sum::<usize>()
}
