//! fjall: a log-structured merge tree in Rust.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{CACHE_BYTES, Engine, Put, number};

pub struct Fjall {
    database: Database,
    log: Keyspace,
    index: Keyspace,
}

impl Fjall {
    pub fn open(dir: &Path) -> Self {
        let database = Database::builder(dir.join("fjall"))
            .cache_size(CACHE_BYTES as u64)
            .worker_threads(1)
            .max_journaling_size(64 << 20)
            .open()
            .unwrap();
        let options = || KeyspaceCreateOptions::default().max_memtable_size(4 << 20);
        let log = database.keyspace("log", options).unwrap();
        let index = database.keyspace("index", options).unwrap();
        Self { database, log, index }
    }
}

impl Engine for Fjall {
    fn current(&self, key: &[u8]) -> Option<u64> {
        self.index.get(key).unwrap().map(|value| number(&value))
    }

    fn value(&self, revision: u64) -> usize {
        self.log.get(revision.to_be_bytes()).unwrap().unwrap().len()
    }

    fn commit(&mut self, puts: &[Put<'_>], forget: &[u64]) {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for put in puts {
            batch.insert(&self.log, put.revision.to_be_bytes(), put.value);
            batch.insert(&self.index, put.key, put.revision.to_be_bytes());
        }
        for revision in forget {
            batch.remove(&self.log, revision.to_be_bytes());
        }
        batch.commit().unwrap();
    }

    fn scan(&self) -> (usize, usize) {
        self.index.iter().fold((0, 0), |(count, bytes), entry| {
            let revision = entry.value().unwrap();
            (count + 1, bytes + self.log.get(revision).unwrap().unwrap().len())
        })
    }
}
