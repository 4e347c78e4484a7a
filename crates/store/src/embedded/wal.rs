//! Keeps the write-ahead log short.
//!
//! When the log is long, a thread copies it into the database while writers go on. It cannot copy
//! what is written meanwhile, and a log is begun anew only when all of it was copied; so the
//! committer copies the little that is left, between two groups. With few writes nothing is left,
//! and nobody waits; without the committer's part a log that is always written to would grow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
        mpsc::{self, SyncSender},
    },
    thread,
};

use rusqlite::Connection;

/// The engine's default, and that of most file systems.
const PAGE_BYTES: usize = 4_096;
/// Bound: so many times longer than wanted, and the committer no longer waits for the thread.
const TOO_LONG: u32 = 8;

pub(super) struct WriteAheadLog {
    /// Told by the engine at each commit.
    pages: Arc<AtomicU32>,
    /// The length in pages that is worth a checkpoint.
    long: u32,
    helper: Option<Helper>,
    /// Whether the helper was asked since the log was begun.
    asked: bool,
    /// The length at which the committer tries. Raised while readers keep the log from being begun
    /// anew, so that not every group tries in vain.
    due: u32,
}

/// The thread, and whether it is at work.
struct Helper {
    wake: SyncSender<()>,
    busy: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl WriteAheadLog {
    /// Follows the log of `writer`; `helper` is a connection for the thread, `failed` is told when
    /// the thread fails.
    pub(super) fn follow(
        writer: &mut Connection,
        log_bytes: usize,
        helper: Connection,
        failed: impl Fn(rusqlite::Error) + Send + 'static,
    ) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&pages);
        writer.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count: i32| {
            told.store(count.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        }))?;
        // Without the thread the committer does it all.
        let helper = Helper::start(helper, failed).ok();
        let long = u32::try_from(log_bytes / PAGE_BYTES).unwrap_or(u32::MAX / TOO_LONG).max(1);
        Ok(Self { pages, long, helper, asked: false, due: long })
    }

    /// Called between groups.
    pub(super) fn checkpoint_if_long(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.long {
            self.asked = false;
            self.due = self.long;
            return Ok(());
        }
        if let Some(helper) = &self.helper
            && pages / TOO_LONG < self.long
        {
            if !self.asked {
                self.asked = true;
                helper.ask();
                return Ok(());
            }
            if helper.busy.load(Ordering::Acquire) {
                return Ok(());
            }
        }
        if pages < self.due {
            return Ok(());
        }
        self.due = pages + self.long / 2;
        run(connection, "PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Empties the log, when nothing more will be written.
    pub(super) fn finish(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if let Some(Helper { wake, thread, .. }) = self.helper.take() {
            drop(wake);
            // Its failure has been told already.
            thread.join().ok();
        }
        truncate(connection)
    }
}

impl Helper {
    fn start(
        connection: Connection,
        failed: impl Fn(rusqlite::Error) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (wake, woken) = mpsc::sync_channel::<()>(1);
        let busy = Arc::new(AtomicBool::new(false));
        let at_work = Arc::clone(&busy);
        let thread = thread::Builder::new().name("store-log".into()).spawn(move || {
            while woken.recv().is_ok() {
                if let Err(error) = run(&connection, "PRAGMA wal_checkpoint(PASSIVE)") {
                    failed(error);
                }
                at_work.store(false, Ordering::Release);
            }
        })?;
        Ok(Self { wake, busy, thread })
    }

    fn ask(&self) {
        self.busy.store(true, Ordering::Release);
        if self.wake.try_send(()).is_err() {
            // It has ended: the committer goes on alone.
            self.busy.store(false, Ordering::Release);
        }
    }
}

/// Copies all of the log into the database and makes it empty.
pub(super) fn truncate(connection: &Connection) -> rusqlite::Result<()> {
    run(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
}

fn run(connection: &Connection, pragma: &str) -> rusqlite::Result<()> {
    // The row says how far it got; a reader in the way is no error.
    connection.prepare_cached(pragma)?.query_row([], |_| Ok(()))
}
