//! What is counted for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Revision;

#[derive(Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    conflicts: AtomicU64,
    watches: AtomicU64,
    newest: AtomicU64,
}

impl Counters {
    pub(super) fn commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn watch_opened(&self) {
        self.watches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn watch_closed(&self) {
        self.watches.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn saw(&self, revision: Revision) {
        self.newest.fetch_max(revision.0, Ordering::Relaxed);
    }

    pub(super) fn stats(&self, writable: bool) -> crate::Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        crate::Stats {
            current: Revision(read(&self.newest)),
            writable,
            commits: read(&self.commits),
            conflicts: read(&self.conflicts),
            watches: read(&self.watches),
            ..crate::Stats::default()
        }
    }
}
