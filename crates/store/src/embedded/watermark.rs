//! Remembers, beside the database, how far writes have been acknowledged.
//!
//! A write-ahead log that is damaged in the middle looks, to the engine, like one that ends there:
//! it would open the store with acknowledged writes missing. The watermark is written after each
//! sync of the log and never before, so a log that ends below it has lost something.
//! It is not synced itself: after a power cut it may be older than the log, which is harmless.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use crate::Revision;

const MAGIC: &[u8; 8] = b"CRESTACK";
const BYTES: usize = 20;

#[derive(Debug)]
pub(super) struct Watermark(File);

impl Watermark {
    pub(super) fn open(file: &Path) -> io::Result<Self> {
        File::options().read(true).write(true).create(true).truncate(false).open(file).map(Self)
    }

    /// `None` when there is none, or when it was torn by a power cut.
    pub(super) fn read(&self) -> io::Result<Option<Revision>> {
        let mut bytes = [0; BYTES];
        match self.0.read_exact_at(&mut bytes, 0) {
            Ok(()) => Ok(decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(&self, revision: Revision) -> io::Result<()> {
        self.0.write_all_at(&encode(revision), 0)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

fn encode(revision: Revision) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&revision.0.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; BYTES]) -> Option<Revision> {
    let (content, checksum) = bytes.split_at(16);
    let intact = content.starts_with(MAGIC) && crc32fast::hash(content).to_le_bytes() == checksum;
    intact.then(|| {
        let mut number = [0; 8];
        number.copy_from_slice(&content[8..]);
        Revision(u64::from_le_bytes(number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_watermark_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("acknowledged");
        let watermark = Watermark::open(&file).unwrap();
        assert_eq!(watermark.read().unwrap(), None);
        watermark.write(Revision(77)).unwrap();
        assert_eq!(Watermark::open(&file).unwrap().read().unwrap(), Some(Revision(77)));
        for byte in 0..BYTES {
            let mut damaged = encode(Revision(77));
            damaged[byte] ^= 0x10;
            assert_eq!(decode(&damaged), None);
        }
    }
}
