//! The engines, reduced to what the embedded store would ask of them.

mod file;
#[cfg(feature = "fjall")]
mod fjall;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::path::Path;

/// All engines get this much for their caches.
const CACHE_BYTES: usize = 8 << 20;

pub struct Put<'a> {
    pub revision: u64,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

pub trait Engine {
    /// Before the look-ups of a group.
    fn begin(&mut self) {}
    /// The revision the key was last written at.
    fn current(&self, key: &[u8]) -> Option<u64>;
    /// The size of the value written at a revision.
    fn value(&self, revision: u64) -> usize;
    /// Atomic, and on disk when it returns. `forget` are revisions nobody can read any more.
    fn commit(&mut self, puts: &[Put<'_>], forget: &[u64]);
    /// Reads every index entry and the value it names; how many, and how many bytes.
    fn scan(&self) -> (usize, usize);
}

pub fn open(name: &str, dir: &Path) -> Box<dyn Engine> {
    match name {
        "file" => Box::new(file::Plain::open(dir)),
        #[cfg(feature = "fjall")]
        "fjall" => Box::new(fjall::Fjall::open(dir)),
        #[cfg(feature = "redb")]
        "redb" => Box::new(redb::Redb::open(dir, false)),
        #[cfg(feature = "redb")]
        "redb-quick" => Box::new(redb::Redb::open(dir, true)),
        #[cfg(feature = "sqlite")]
        "sqlite" => Box::new(sqlite::Sqlite::open(dir)),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Box::new(rocksdb::Rocks::open(dir)),
        other => panic!("{other} is not built in"),
    }
}

#[cfg(any(feature = "fjall", feature = "rocksdb"))]
fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}
