//! Keeps the write-ahead log short.
//!
//! The committer copies the log into the database itself, between groups: a checkpoint by another
//! thread would never see the end of a log that is always written to, and the log would grow.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use rusqlite::Connection;

/// Pages in the log that are worth a checkpoint: 6 MiB. Fewer stall writers more often, more stall
/// them for longer.
const LONG: u32 = 1_500;

pub(super) struct WriteAheadLog {
    /// Told by the engine at each commit.
    pages: Arc<AtomicU32>,
    /// The length at which a checkpoint is tried. Raised while readers keep the log from being
    /// used anew, so that not every group tries in vain.
    due: u32,
}

impl WriteAheadLog {
    pub(super) fn follow(connection: &mut Connection) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&pages);
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count: i32| {
            told.store(count.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { pages, due: LONG })
    }

    pub(super) fn checkpoint_if_long(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < LONG {
            self.due = LONG;
        }
        if pages < self.due {
            return Ok(());
        }
        self.due = pages + LONG / 2;
        run(connection, "PRAGMA wal_checkpoint(PASSIVE)")
    }
}

/// Empties the log.
pub(super) fn truncate(connection: &Connection) -> rusqlite::Result<()> {
    run(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
}

fn run(connection: &Connection, pragma: &str) -> rusqlite::Result<()> {
    // The row says how far it got; a reader in the way is no error.
    connection.prepare_cached(pragma)?.query_row([], |_| Ok(()))
}
