//! The floor: an append to a file, a sync, a hash map. What is above it is what an engine costs.

use std::{cell::RefCell, collections::HashMap, fs::File, io::Write, path::Path};

use super::{Engine, Put};

pub struct Plain {
    file: File,
    index: RefCell<HashMap<Vec<u8>, u64>>,
    buffer: Vec<u8>,
}

impl Plain {
    pub fn open(dir: &Path) -> Self {
        let file = File::options().create(true).append(true).open(dir.join("log")).unwrap();
        Self { file, index: RefCell::default(), buffer: Vec::new() }
    }
}

impl Engine for Plain {
    fn current(&self, key: &[u8]) -> Option<u64> {
        self.index.borrow().get(key).copied()
    }

    fn value(&self, _: u64) -> usize {
        0
    }

    fn commit(&mut self, puts: &[Put<'_>], _: &[u64]) {
        self.buffer.clear();
        for put in puts {
            self.buffer.extend_from_slice(&put.revision.to_be_bytes());
            self.buffer.extend_from_slice(put.key);
            self.buffer.extend_from_slice(put.value);
            self.index.borrow_mut().insert(put.key.to_vec(), put.revision);
        }
        self.file.write_all(&self.buffer).unwrap();
        self.file.sync_data().unwrap();
    }

    fn scan(&self) -> (usize, usize) {
        (self.index.borrow().len(), 0)
    }
}
