//! What the committer and the readers count.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::Stats;

#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    conflicts: AtomicU64,
    syncs: AtomicU64,
    largest_group: AtomicU64,
    sync_nanos: AtomicU64,
    expired: AtomicU64,
    disk_bytes: AtomicU64,
    watch_disk_reads: AtomicU64,
}

impl Counters {
    pub(super) fn synced(&self, commits: usize, took: Duration) {
        self.syncs.fetch_add(1, Relaxed);
        self.commits.fetch_add(commits as u64, Relaxed);
        self.largest_group.fetch_max(commits as u64, Relaxed);
        self.sync_nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn finished(&self, expired: u64, conflicts: u64) {
        self.expired.fetch_add(expired, Relaxed);
        self.conflicts.fetch_add(conflicts, Relaxed);
    }

    pub(super) fn disk_bytes(&self, bytes: u64) {
        self.disk_bytes.store(bytes, Relaxed);
    }

    pub(super) fn watch_read_disk(&self) {
        self.watch_disk_reads.fetch_add(1, Relaxed);
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            commits: self.commits.load(Relaxed),
            conflicts: self.conflicts.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            largest_group: self.largest_group.load(Relaxed),
            sync_nanos: self.sync_nanos.load(Relaxed),
            expired: self.expired.load(Relaxed),
            disk_bytes: self.disk_bytes.load(Relaxed),
            watch_disk_reads: self.watch_disk_reads.load(Relaxed),
            ..Stats::default()
        }
    }
}
