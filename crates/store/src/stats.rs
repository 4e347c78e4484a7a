//! Plain counters of a backend, for the metrics of the process.

use crate::Revision;

/// A backend leaves at 0 what it has no notion of.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub current: Revision,
    /// Whether transactions are taken: not closed, and no failure of the disk has ended writing.
    pub writable: bool,
    /// States before this one are gone.
    pub compacted: Revision,
    /// Transactions that changed something.
    pub commits: u64,
    /// Transactions refused because a condition did not hold.
    pub conflicts: u64,
    /// Syncs of the log: `commits / syncs` is the mean size of a group.
    pub syncs: u64,
    /// Transactions in the largest group that shared a sync.
    pub largest_group: u64,
    /// Nanoseconds spent waiting for syncs.
    pub sync_nanos: u64,
    /// Keys that left because their time was over.
    pub expired: u64,
    /// Bytes of all files.
    pub disk_bytes: u64,
    /// Revisions that can still be read or resumed from.
    pub history: u64,
    /// Open watches.
    pub watches: u64,
    /// Open watches that had to read from disk since they fell behind, counted once per read.
    pub watch_disk_reads: u64,
}
