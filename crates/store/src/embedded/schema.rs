//! The tables, and how connections to them are set up.
//!
//! docs/design/embedded-store.md explains the layout.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::Revision;

/// "Cres", so that `file` and we can tell our files from others.
pub(super) const APPLICATION_ID: i32 = 0x4372_6573;
/// Raised with every change of the layout that older programs cannot read.
pub(super) const FORMAT: i32 = 1;

pub(super) const TABLES: &str = "
    CREATE TABLE record (
        place    INTEGER PRIMARY KEY,
        kind     INTEGER NOT NULL,
        previous INTEGER NOT NULL,
        created  INTEGER NOT NULL,
        version  INTEGER NOT NULL,
        expires  INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        key      BLOB NOT NULL,
        value    BLOB NOT NULL
    ) STRICT;
    CREATE TABLE entry (
        key   BLOB PRIMARY KEY,
        place INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE superseding (
        place     INTEGER PRIMARY KEY,
        previous  INTEGER NOT NULL,
        is_delete INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE expiry (
        expires INTEGER NOT NULL,
        key     BLOB NOT NULL,
        PRIMARY KEY (expires, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE meta (
        name  TEXT PRIMARY KEY,
        value INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// The rows of `meta`.
#[derive(Copy, Clone, Debug)]
pub(super) enum Meta {
    /// The revision is at least this. Records tell a newer one; compaction may take the newest
    /// record away and therefore notes the revision here.
    Revision,
    /// States before this revision are given up.
    Compacted,
}

impl Meta {
    fn name(self) -> &'static str {
        match self {
            Self::Revision => "revision",
            Self::Compacted => "compacted",
        }
    }

    pub(super) fn read(self, connection: &Connection) -> rusqlite::Result<u64> {
        let mut find = connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
        find.query_row([self.name()], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    }

    pub(super) fn write(self, connection: &Connection, value: u64) -> rusqlite::Result<()> {
        let mut replace = connection.prepare_cached("REPLACE INTO meta VALUES (?1, ?2)")?;
        replace.execute((self.name(), value.cast_signed())).map(drop)
    }
}

/// Where a record lies: its revision, and its number among the writes of that transaction.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub(super) u64);

impl Place {
    const ORDINAL_BITS: u32 = 16;

    pub(super) fn new(revision: Revision, ordinal: u16) -> Self {
        Self(revision.0 << Self::ORDINAL_BITS | u64::from(ordinal))
    }

    pub(super) fn revision(self) -> Revision {
        Revision(self.0 >> Self::ORDINAL_BITS)
    }

    /// The last place that a revision can have.
    pub(super) fn end_of(revision: Revision) -> Self {
        Self::new(revision, u16::MAX)
    }

    pub(super) fn to_sql(self) -> i64 {
        self.0.cast_signed()
    }
}

/// The newest revision in the connection's current snapshot.
pub(super) fn newest_revision(connection: &Connection) -> rusqlite::Result<Revision> {
    let mut last = connection.prepare_cached("SELECT max(place) FROM record")?;
    let last: Option<i64> = last.query_row([], |row| row.get(0))?;
    let recorded = last.map_or(Revision::ZERO, |place| Place(place.cast_unsigned()).revision());
    Ok(recorded.max(Revision(Meta::Revision.read(connection)?)))
}

/// Opens a connection. Every one of them syncs what it commits.
pub(super) fn connect(file: &Path, cache_bytes: usize, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.set_prepared_statement_cache_capacity(32);
    // The writer and the checkpoint are one thread; a wait can only be for recovery after a crash.
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -i64::try_from(cache_bytes / 1024).unwrap_or(i64::MAX))?;
    // The committer decides when to checkpoint: after it has answered.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Otherwise binding another key has a query planned anew, which costs more than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Closing must not write: whoever closes says what is to happen, or that nothing may.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // A damaged page must not become a damaged answer.
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    /// Everything else about durability is tested from outside; that the engine waits for the disk
    /// cannot be seen there, because a killed process leaves its writes to the kernel.
    #[test]
    fn every_commit_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let opened = crate::embedded::open::open(dir.path(), 1 << 20).unwrap();
        let pragma = |name| opened.writer.pragma_query_value(None, name, |row| row.get::<_, String>(0));
        assert_eq!(pragma("journal_mode").unwrap(), "wal");
        let synchronous = opened.writer.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0));
        assert_eq!(synchronous.unwrap(), 2, "FULL: the log is synced at each commit");
    }
}
