//! A checkpoint interrupted by a power cut: some of its writes reached the disk, some did not.

use crest_store::{
    Store, Txn,
    embedded::{EmbeddedStore, Options},
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::image::{DATABASE, Image, state};

const SECTOR: usize = 512;

#[test]
fn a_checkpoint_torn_anywhere_is_made_good_from_the_log() {
    let dir = TempDir::new().unwrap();
    let (before, expected) = {
        let store = EmbeddedStore::open(dir.path(), Options::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for number in 0..60 {
            let txn = Txn::create(format!("/k/{}", number * 7_919 % 60), format!("{number}").repeat(900));
            runtime.block_on(store.commit(txn)).unwrap();
        }
        // As the files are while the store runs: all in the log, the database nearly empty.
        (Image::take(dir.path()), state(&store).unwrap())
    };
    let after = checkpointed(&before);
    let (old, new) = (&before.0[DATABASE], &after.0[DATABASE]);
    assert!(new.len() > old.len() + 100_000, "the checkpoint wrote something");
    for seed in 0..60_u64 {
        let mut torn = before.clone();
        *torn.file(DATABASE) = mixture(old, new, seed);
        assert_eq!(torn.open().unwrap(), expected, "seed {seed}");
    }
}

/// The files after a checkpoint whose log has not been used anew yet.
fn checkpointed(image: &Image) -> Image {
    let dir = image.lay_out();
    let connection = Connection::open(dir.path().join(DATABASE)).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
    Image::take(dir.path())
}

/// Sectors of the new content, where chance has it that they were written, else of the old.
fn mixture(old: &[u8], new: &[u8], seed: u64) -> Vec<u8> {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut mixed = Vec::with_capacity(new.len());
    for (number, sector) in new.chunks(SECTOR).enumerate() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let start = number * SECTOR;
        match old.get(start..start + sector.len()) {
            Some(before) if random.is_multiple_of(3) => mixed.extend_from_slice(before),
            // Never written: a hole.
            None if random.is_multiple_of(3) => mixed.extend(std::iter::repeat_n(0, sector.len())),
            _ => mixed.extend_from_slice(sector),
        }
    }
    mixed
}
