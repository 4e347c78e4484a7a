//! The one thread that writes: takes what waits, writes it as a group, syncs once, tells, answers.
//!
//! Group commit needs no timer: while one group is synced the next one gathers.
//! Expiry and compaction ride along with the groups, and have their own when nobody writes.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    time::Instant,
};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use super::{
    Shared,
    apply::{self, Applied, Refused},
    failure,
    queue::{Request, Turn},
    schema::{Meta, newest_revision},
    sweep::Sweep,
    wal::WriteAheadLog,
    watermark::Watermark,
};
use crate::{Committed, Error, EventBatch, Result, Revision, Txn, UnixSeconds, retention::Ages};

/// Bound: keys that expire in one group.
const EXPIRE: usize = 256;
/// Bound: records that compaction visits in a group, per transaction in it and when idle.
const SWEEP_PER_TXN: usize = 2;
const SWEEP_IDLE: usize = 512;

pub(super) struct Committer {
    connection: Connection,
    shared: Arc<Shared>,
    watermark: Watermark,
    log: WriteAheadLog,
    sweep: Sweep,
    ages: Ages,
    /// Written and synced; told to everybody when the turn is over.
    current: Revision,
    next_housekeeping: Instant,
}

/// What a group is made of.
#[derive(Default)]
struct Group {
    transactions: Vec<(Txn, oneshot::Sender<Result<Committed>>)>,
    compactions: Vec<(Revision, oneshot::Sender<Result<()>>)>,
    expired: Vec<Txn>,
    /// History before this is given up.
    compact: Option<Revision>,
    sweep: usize,
}

/// What a synced group has done.
struct Done {
    /// In the order of `Group::transactions`.
    answers: Vec<Result<Committed>>,
    batches: Vec<Arc<EventBatch>>,
    current: Revision,
    sweep: Option<Sweep>,
    expired: u64,
    conflicts: u64,
}

impl Committer {
    pub(super) fn new(
        connection: Connection,
        shared: Arc<Shared>,
        watermark: Watermark,
        log: WriteAheadLog,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            sweep: Sweep::START,
            current: newest_revision(&connection)?,
            ages: Ages::new(shared.options.keep_history),
            next_housekeeping: Instant::now(),
            connection,
            shared,
            watermark,
            log,
        })
    }

    /// Runs until the store is closed. A panic (a bug, here or in an observer) ends writing, never
    /// leaves a caller waiting.
    pub(super) fn run(mut self) {
        let ended = panic::catch_unwind(AssertUnwindSafe(|| while self.turn() {}));
        if ended.is_err() {
            self.shared.queue.poison(Arc::new(Panicked));
        }
        self.shared.published.close();
    }

    /// Answers whether there may be another.
    fn turn(&mut self) -> bool {
        let idle = !self.sweep.is_pending(self.shared.published.compacted());
        let deadline = if idle { self.next_housekeeping } else { Instant::now() };
        match self.shared.queue.take(deadline) {
            Turn::Work(requests) => self.work(requests),
            Turn::Close => {
                self.finish();
                return false;
            }
        }
        true
    }

    fn work(&mut self, requests: Vec<Request>) {
        let now = self.shared.options.clock.now();
        let mut permits = Vec::with_capacity(requests.len());
        let mut group = Group::default();
        for request in requests {
            match request {
                Request::Commit { txn, answer, permit } => {
                    group.transactions.push((txn, answer));
                    permits.push(permit);
                }
                Request::Compact { oldest, answer } => group.compactions.push((oldest, answer)),
            }
        }
        if Instant::now() >= self.next_housekeeping {
            self.housekeeping(&mut group, now);
        }
        let compacted = self.shared.published.compacted();
        if self.sweep.is_pending(compacted) || group.compact.is_some() {
            let busy = SWEEP_PER_TXN * group.transactions.len();
            group.sweep = if busy > 0 { busy } else { SWEEP_IDLE };
        }
        self.commit(group, now);
        // Answered: now callers may send again, and the log may be tidied up.
        drop(permits);
        if let Err(error) = self.log.checkpoint_if_long(&self.connection) {
            self.fail(error);
        }
    }

    fn housekeeping(&mut self, group: &mut Group, now: UnixSeconds) {
        self.next_housekeeping = Instant::now() + self.shared.options.housekeeping;
        match apply::expired(&self.connection, now, EXPIRE) {
            Ok(expired) => {
                // More than fit: go on with the next group.
                if expired.len() == EXPIRE {
                    self.next_housekeeping = Instant::now();
                }
                group.expired = expired;
            }
            Err(error) => self.shared.queue.poison(Arc::new(error)),
        }
        group.compact = self.ages.turn(now, self.current).filter(|oldest| {
            // Told again and again while nothing is written.
            *oldest > self.shared.published.compacted()
        });
        self.shared.counters.disk_bytes(self.shared.files.size());
    }

    /// Writes a group and answers everybody in it.
    fn commit(&mut self, mut group: Group, now: UnixSeconds) {
        let compactions = std::mem::take(&mut group.compactions);
        let (compactions, refused): (Vec<_>, Vec<_>) =
            compactions.into_iter().partition(|(oldest, _)| *oldest <= self.current);
        for (_, answer) in refused {
            answer.send(Err(Error::FutureRevision { current: self.current })).ok();
        }
        group.compact = compactions.iter().map(|(oldest, _)| *oldest).chain(group.compact).max();

        let (transactions, senders): (Vec<_>, Vec<_>) = group.transactions.drain(..).unzip();
        let outcome = self.write(transactions, &group, now);
        match outcome {
            Ok(done) => {
                self.publish(&done);
                for (sender, answer) in senders.into_iter().zip(done.answers) {
                    // Nobody listens when the caller has given up; the write stands.
                    sender.send(answer).ok();
                }
                for (_, answer) in compactions {
                    answer.send(Ok(())).ok();
                }
            }
            Err(error) => {
                let error = self.fail(error);
                for sender in senders {
                    sender.send(Err(error.clone())).ok();
                }
                for (_, answer) in compactions {
                    answer.send(Err(error.clone())).ok();
                }
            }
        }
    }

    /// One engine transaction, one sync; none when nothing is to be written.
    fn write(&mut self, transactions: Vec<Txn>, group: &Group, now: UnixSeconds) -> rusqlite::Result<Done> {
        let mut done = Done {
            answers: Vec::with_capacity(transactions.len()),
            batches: Vec::with_capacity(transactions.len()),
            current: self.current,
            sweep: None,
            expired: 0,
            conflicts: 0,
        };
        if transactions.is_empty() && group.expired.is_empty() && group.compact.is_none() && group.sweep == 0
        {
            return Ok(done);
        }
        self.execute("BEGIN IMMEDIATE")?;
        for txn in &group.expired {
            done.expired += 1;
            self.apply(txn.clone(), now, &mut done)?;
        }
        done.answers.clear();
        for txn in transactions {
            self.apply(txn, now, &mut done)?;
        }
        self.compact(group, &mut done)?;
        self.sync(&done)?;
        Ok(done)
    }

    fn apply(&self, txn: Txn, now: UnixSeconds, done: &mut Done) -> rusqlite::Result<()> {
        let answer = match apply::apply(&self.connection, txn, done.current, now) {
            Ok(Applied { committed, batch }) => {
                done.current = committed.revision;
                done.batches.extend(batch.map(Arc::new));
                Ok(committed)
            }
            Err(Refused::Here(error)) => {
                done.conflicts += u64::from(matches!(error, Error::Conflict { .. }));
                Err(error)
            }
            Err(Refused::Group(error)) => return Err(error),
        };
        done.answers.push(answer);
        Ok(())
    }

    fn compact(&self, group: &Group, done: &mut Done) -> rusqlite::Result<()> {
        let published = &self.shared.published;
        if let Some(oldest) = group.compact
            && oldest > published.compacted()
        {
            Meta::Compacted.write(&self.connection, oldest.0)?;
            published.raise_compacted(oldest);
        }
        if group.sweep > 0 && self.sweep.is_pending(published.compacted()) {
            let swept =
                self.sweep.step(&self.connection, published.compacted(), done.current, group.sweep)?;
            done.sweep = Some(swept);
        }
        Ok(())
    }

    /// The moment of truth: after this the group is on disk.
    fn sync(&self, done: &Done) -> rusqlite::Result<()> {
        let started = Instant::now();
        self.execute("COMMIT")?;
        self.shared.counters.synced(done.batches.len(), started.elapsed());
        Ok(())
    }

    fn publish(&mut self, done: &Done) {
        if done.current > self.current {
            self.current = done.current;
            // Best effort: it guards against damage found at the next start, not against a crash.
            self.watermark.write(self.current).ok();
        }
        if let Some(sweep) = &done.sweep {
            self.sweep = *sweep;
        }
        self.shared.published.publish(done.batches.clone());
        self.shared.counters.finished(done.expired, done.conflicts);
    }

    /// Takes back what was begun. A full disk is something that passes; after any other failure of
    /// the medium nobody knows what a later sync would be worth, so there is none.
    fn fail(&self, error: rusqlite::Error) -> Error {
        let rolled_back = self.connection.is_autocommit() || self.execute("ROLLBACK").is_ok();
        let passes = passes(&error);
        let error = failure(error);
        if !(passes && rolled_back) {
            self.shared.queue.poison(Arc::new(error.clone()));
        }
        error
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([]).map(drop)
    }

    /// Leaves a database without a log behind, which opens fastest.
    fn finish(&mut self) {
        if !self.shared.queue.is_poisoned() {
            self.log.finish(&self.connection).ok();
            self.watermark.sync().ok();
        }
    }
}

/// Whether the disk may recover from it without being opened again.
pub(super) fn passes(error: &rusqlite::Error) -> bool {
    // Busy: somebody looks at the database with another program; nothing was begun yet.
    matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy))
}

#[derive(Debug, thiserror::Error)]
#[error("the thread that writes has stopped because of a bug")]
struct Panicked;
