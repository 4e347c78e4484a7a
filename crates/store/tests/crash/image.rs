//! Copies of a store's files as they are at one moment, to be damaged and opened.

use std::{collections::BTreeMap, fs, path::Path};

use crest_store::{
    KeyRange, Range, Revision, Store,
    embedded::{EmbeddedStore, OpenError, Options},
};
use tempfile::TempDir;

pub(crate) const DATABASE: &str = "store.db";
pub(crate) const LOG: &str = "store.db-wal";
pub(crate) const WATERMARK: &str = "acknowledged";

/// The content of the files that matter. The shared-memory index is rebuilt after every crash.
#[derive(Clone)]
pub(crate) struct Image(pub(crate) BTreeMap<&'static str, Vec<u8>>);

impl Image {
    pub(crate) fn take(dir: &Path) -> Self {
        let read = |name| (name, fs::read(dir.join(name)).unwrap_or_default());
        Self([DATABASE, LOG, WATERMARK].map(read).into())
    }

    pub(crate) fn file(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.0.get_mut(name).unwrap()
    }

    /// The files as they were, in a directory of their own.
    pub(crate) fn lay_out(&self) -> TempDir {
        let dir = TempDir::new().unwrap();
        for (name, content) in &self.0 {
            fs::write(dir.path().join(name), content).unwrap();
        }
        dir
    }

    /// What a store opened on these files holds: its revision, and every key with its value.
    pub(crate) fn open(&self) -> Result<State, Refusal> {
        let dir = self.lay_out();
        let store = EmbeddedStore::open(dir.path(), Options::default()).map_err(Refusal::Opening)?;
        state(&store).map_err(Refusal::Reading)
    }
}

pub(crate) type State = (Revision, BTreeMap<String, String>);

#[derive(Debug)]
pub(crate) enum Refusal {
    Opening(OpenError),
    Reading(crest_store::Error),
}

impl Refusal {
    /// Whether it says that the data is damaged, and not something else.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Opening(OpenError::Corrupt { .. }) | Self::Reading(crest_store::Error::Corrupt(_))
        )
    }
}

pub(crate) fn state(store: &EmbeddedStore) -> Result<State, crest_store::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = runtime.block_on(store.range(Range::values(KeyRange::all())))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((read.revision, read.kvs.iter().map(|kv| (text(&kv.key), text(&kv.value))).collect()))
}
