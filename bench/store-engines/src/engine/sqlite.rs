//! SQLite in write-ahead mode, synced at every commit.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, config::DbConfig, params};

use super::{CACHE_BYTES, Engine, Put};

pub struct Sqlite(Connection);

impl Sqlite {
    pub fn open(dir: &Path) -> Self {
        let connection = Connection::open(dir.join("sqlite")).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -{};
                 PRAGMA wal_autocheckpoint = 2000;
                 CREATE TABLE IF NOT EXISTS log (revision INTEGER PRIMARY KEY, value BLOB NOT NULL);
                 CREATE TABLE IF NOT EXISTS entry (key BLOB PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;",
                CACHE_BYTES / 1024
            ))
            .unwrap();
        // Otherwise each new parameter has the query planned again.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
        Self(connection)
    }
}

impl Engine for Sqlite {
    fn begin(&mut self) {
        self.0.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
    }

    fn current(&self, key: &[u8]) -> Option<u64> {
        let mut find = self.0.prepare_cached("SELECT revision FROM entry WHERE key = ?1").unwrap();
        find.query_row([key], |row| row.get::<_, i64>(0)).optional().unwrap().map(i64::cast_unsigned)
    }

    fn value(&self, revision: u64) -> usize {
        let mut find = self.0.prepare_cached("SELECT value FROM log WHERE revision = ?1").unwrap();
        find.query_row([revision.cast_signed()], |row| Ok(row.get_ref(0)?.as_blob()?.len())).unwrap()
    }

    fn commit(&mut self, puts: &[Put<'_>], forget: &[u64]) {
        let mut log = self.0.prepare_cached("INSERT INTO log VALUES (?1, ?2)").unwrap();
        let upsert = "INSERT INTO entry VALUES (?1, ?2) ON CONFLICT DO UPDATE SET revision = ?2";
        let mut index = self.0.prepare_cached(upsert).unwrap();
        for put in puts {
            log.execute(params![put.revision.cast_signed(), put.value]).unwrap();
            index.execute(params![put.key, put.revision.cast_signed()]).unwrap();
        }
        let mut remove = self.0.prepare_cached("DELETE FROM log WHERE revision = ?1").unwrap();
        for revision in forget {
            remove.execute([revision.cast_signed()]).unwrap();
        }
        self.0.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }

    fn scan(&self) -> (usize, usize) {
        let query = "SELECT log.value FROM entry JOIN log USING (revision) ORDER BY key";
        let mut all = self.0.prepare(query).unwrap();
        let mut rows = all.query([]).unwrap();
        let (mut count, mut bytes) = (0, 0);
        while let Some(row) = rows.next().unwrap() {
            count += 1;
            bytes += row.get_ref(0).unwrap().as_blob().unwrap().len();
        }
        (count, bytes)
    }
}
