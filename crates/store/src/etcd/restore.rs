//! Fills an empty etcd from a backup, with the revisions it had.
//!
//! etcd numbers revisions itself, one for each transaction, so there is one way to give a key a revision of the past:
//! to write it when its turn comes. The keys are written in the order of their revisions, and the revisions between
//! them are used up by writes to a key of no meaning, many at a time. The time it takes grows with the revision of the
//! backup; [`Revisions::New`] does without.

use std::{collections::BTreeMap, io::Read, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::EtcdStore;
use crate::{
    Clock, Condition, Error, Expect, KeyRange, KeyValue, Range, Revision, Store, Txn, UnixSeconds, Write,
    backup::{Archive, ArchiveError, Summary},
};

/// Bound: requests under way at once.
const AT_ONCE: usize = 256;
/// After so many revisions the used-up ones are given back, or etcd would run out of space.
const COMPACT_EVERY: u64 = 100_000;
/// The key of no meaning, below the keys' common prefix.
const FILLER: &str = ".restoring";

/// What becomes of the revisions in a backup.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Revisions {
    /// Every object keeps its resource version. etcd must be younger than the oldest object.
    Kept,
    /// Objects get new ones, all greater than those of the backup, so that comparing stays possible.
    New,
}

/// Why a backup could not be restored into etcd. What was written until then stays there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    #[error("there are already keys below this prefix of etcd")]
    NotEmpty,
    #[error(
        "this etcd is at revision {current} already, but the oldest object of the backup needs {needed}: \
         take a new etcd, or let the objects have new revisions"
    )]
    TooOld { current: Revision, needed: Revision },
    #[error("{0} keys of the backup were written at one revision, more than etcd takes in a transaction")]
    Crowded(usize),
    #[error("somebody else writes to this etcd: it went to revision {found} where {expected} was due")]
    NotAlone { expected: Revision, found: Revision },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("etcd failed in the middle; empty it, or take a new one, and start again")]
    Store(#[from] Error),
}

/// Bound: operations in a transaction of an etcd as it is delivered.
const MAX_OPERATIONS: usize = 128;

/// Restores a backup; `told` hears how far it is, as a revision of the backup's.
pub async fn restore(
    store: &EtcdStore,
    archive: impl Read,
    revisions: Revisions,
    clock: &dyn Clock,
    mut told: impl FnMut(Revision),
) -> Result<Summary, RestoreError> {
    let existing = store.range(Range::count(KeyRange::all())).await?;
    if existing.count > 0 {
        return Err(RestoreError::NotEmpty);
    }
    let mut archive = Archive::open(archive)?;
    let mut due: BTreeMap<Revision, Vec<KeyValue>> = BTreeMap::new();
    while let Some(kv) = archive.next()? {
        due.entry(kv.mod_revision).or_default().push(kv);
    }
    let summary = archive.summary();
    if let Some(crowd) = due.values().map(Vec::len).find(|count| *count > MAX_OPERATIONS) {
        return Err(RestoreError::Crowded(crowd));
    }
    let mut filling = Filling { store, at: existing.revision, compacted: existing.revision };
    match revisions {
        Revisions::Kept => {
            if let Some((&needed, _)) = due.first_key_value()
                && needed <= existing.revision
            {
                return Err(RestoreError::TooOld { current: existing.revision, needed });
            }
            for (revision, kvs) in due {
                filling.advance(Revision(revision.0 - 1), &mut told).await?;
                filling.write(kvs, clock).await?;
            }
            filling.advance(summary.revision, &mut told).await?;
        }
        Revisions::New => {
            filling.advance(summary.revision, &mut told).await?;
            let writes = stream::iter(due.into_values());
            let writes = writes.map(|kvs| store.commit(creation(kvs, clock)));
            let newest = writes.buffer_unordered(AT_ONCE).map_ok(|committed| committed.revision);
            filling.at = newest.try_fold(filling.at, async |newest, one| Ok(newest.max(one))).await?;
        }
    }
    let end = filling.finish().await?;
    Ok(Summary { revision: end, ..summary })
}

/// An etcd on its way to a revision.
struct Filling<'a> {
    store: &'a EtcdStore,
    at: Revision,
    compacted: Revision,
}

impl Filling<'_> {
    /// Uses up revisions until `target` is the newest.
    async fn advance(
        &mut self,
        target: Revision,
        told: &mut impl FnMut(Revision),
    ) -> Result<(), RestoreError> {
        while self.at < target {
            let count = (target.0 - self.at.0).min(COMPACT_EVERY);
            let fillers = stream::iter(0..count).map(|_| self.store.commit(self.store.filler()));
            let filled = fillers.buffer_unordered(AT_ONCE).map_ok(|committed| committed.revision);
            let newest = filled.try_fold(self.at, async |newest, one| Ok(newest.max(one))).await?;
            self.expect(newest, Revision(self.at.0 + count))?;
            told(self.at);
            if self.at.0 - self.compacted.0 >= COMPACT_EVERY {
                self.store.compact(self.at).await?;
                self.compacted = self.at;
            }
        }
        Ok(())
    }

    /// Writes the keys of the next revision.
    async fn write(&mut self, kvs: Vec<KeyValue>, clock: &dyn Clock) -> Result<(), RestoreError> {
        let written = self.store.commit(creation(kvs, clock)).await?.revision;
        self.expect(written, self.at.next())
    }

    fn expect(&mut self, found: Revision, expected: Revision) -> Result<(), RestoreError> {
        if found != expected {
            return Err(RestoreError::NotAlone { expected, found });
        }
        self.at = found;
        Ok(())
    }

    /// Removes the key of no meaning, and the history that never was.
    async fn finish(self) -> Result<Revision, RestoreError> {
        let removal =
            Txn { conditions: Vec::new(), writes: vec![Write::Delete { key: self.store.filler_key() }] };
        let end = self.store.commit(removal).await?.revision;
        self.store.compact(end).await?;
        Ok(end)
    }
}

impl EtcdStore {
    fn filler_key(&self) -> Bytes {
        self.keyspace.key_below_prefix(FILLER)
    }

    fn filler(&self) -> Txn {
        Txn::put(self.filler_key(), "", Expect::Anything)
    }
}

fn creation(kvs: Vec<KeyValue>, clock: &dyn Clock) -> Txn {
    let mut txn = Txn::default();
    for kv in kvs {
        txn.conditions.push(Condition { key: kv.key.clone(), expect: Expect::Absent });
        let expires_in = kv.expires_at.map(|end| remaining(end, clock.now()));
        txn.writes.push(Write::Put { key: kv.key, value: kv.value, expires_in });
    }
    txn
}

/// What is left of a time to live; a key whose time is over leaves at once.
fn remaining(end: UnixSeconds, now: UnixSeconds) -> Duration {
    Duration::from_secs(end.0.saturating_sub(now.0).max(1))
}
