//! redb: a copy-on-write B-tree in Rust.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::{CACHE_BYTES, Engine, Put};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
const INDEX: TableDefinition<'_, &[u8], u64> = TableDefinition::new("index");

pub struct Redb {
    database: Database,
    quick_repair: bool,
}

impl Redb {
    pub fn open(dir: &Path, quick_repair: bool) -> Self {
        let database = Database::builder().set_cache_size(CACHE_BYTES).create(dir.join("redb")).unwrap();
        let begin = database.begin_write().unwrap();
        begin.open_table(LOG).unwrap();
        begin.open_table(INDEX).unwrap();
        begin.commit().unwrap();
        Self { database, quick_repair }
    }
}

impl Engine for Redb {
    fn current(&self, key: &[u8]) -> Option<u64> {
        let read = self.database.begin_read().unwrap();
        let index = read.open_table(INDEX).unwrap();
        index.get(key).unwrap().map(|value| value.value())
    }

    fn value(&self, revision: u64) -> usize {
        let read = self.database.begin_read().unwrap();
        read.open_table(LOG).unwrap().get(revision).unwrap().unwrap().value().len()
    }

    fn commit(&mut self, puts: &[Put<'_>], forget: &[u64]) {
        let mut write = self.database.begin_write().unwrap();
        write.set_durability(Durability::Immediate).unwrap();
        write.set_quick_repair(self.quick_repair);
        {
            let mut log = write.open_table(LOG).unwrap();
            let mut index = write.open_table(INDEX).unwrap();
            for put in puts {
                log.insert(put.revision, put.value).unwrap();
                index.insert(put.key, put.revision).unwrap();
            }
            for revision in forget {
                log.remove(revision).unwrap();
            }
        }
        write.commit().unwrap();
    }

    fn scan(&self) -> (usize, usize) {
        let read = self.database.begin_read().unwrap();
        let log = read.open_table(LOG).unwrap();
        let index = read.open_table(INDEX).unwrap();
        index.iter().unwrap().fold((0, 0), |(count, bytes), entry| {
            let revision = entry.unwrap().1.value();
            (count + 1, bytes + log.get(revision).unwrap().unwrap().value().len())
        })
    }
}
