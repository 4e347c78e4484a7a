//! RocksDB: the log-structured merge tree in C++. Needs libclang to build its bindings.

use std::path::Path;

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DB, IteratorMode, Options, WriteBatch, WriteOptions,
};

use super::{CACHE_BYTES, Engine, Put, number};

pub struct Rocks(DB);

impl Rocks {
    pub fn open(dir: &Path) -> Self {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_write_buffer_size(4 << 20);
        options.set_block_based_table_factory(&blocks);
        let families = ["log", "index"].map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
        Self(DB::open_cf_descriptors(&options, dir.join("rocksdb"), families).unwrap())
    }

    fn family(&self, name: &str) -> &rocksdb::ColumnFamily {
        self.0.cf_handle(name).unwrap()
    }
}

impl Engine for Rocks {
    fn current(&self, key: &[u8]) -> Option<u64> {
        self.0.get_cf(self.family("index"), key).unwrap().map(|value| number(&value))
    }

    fn value(&self, revision: u64) -> usize {
        self.0.get_cf(self.family("log"), revision.to_be_bytes()).unwrap().unwrap().len()
    }

    fn commit(&mut self, puts: &[Put<'_>], forget: &[u64]) {
        let mut batch = WriteBatch::default();
        for put in puts {
            batch.put_cf(self.family("log"), put.revision.to_be_bytes(), put.value);
            batch.put_cf(self.family("index"), put.key, put.revision.to_be_bytes());
        }
        for revision in forget {
            batch.delete_cf(self.family("log"), revision.to_be_bytes());
        }
        let mut options = WriteOptions::default();
        options.set_sync(true);
        self.0.write_opt(&batch, &options).unwrap();
    }

    fn scan(&self) -> (usize, usize) {
        self.0.iterator_cf(self.family("index"), IteratorMode::Start).fold((0, 0), |(count, bytes), entry| {
            let revision = entry.unwrap().1;
            (count + 1, bytes + self.0.get_cf(self.family("log"), revision).unwrap().unwrap().len())
        })
    }
}
