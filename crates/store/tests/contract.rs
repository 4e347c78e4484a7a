//! Holds the local backends to the contract of the store.

use std::{sync::Arc, time::Duration};

use crest_store::{
    BoxFuture, ManualClock, Store, UnixSeconds,
    conformance::{self, Backend, Factory},
    embedded::{self, EmbeddedStore},
    memory::{self, MemoryStore},
};
use tempfile::TempDir;

/// Often, so that a test need not wait for it.
const HOUSEKEEPING: Duration = Duration::from_millis(5);

fn clock() -> ManualClock {
    ManualClock::starting_at(UnixSeconds(1_700_000_000))
}

struct Memory;

struct MemoryBackend {
    store: Arc<MemoryStore>,
    clock: ManualClock,
}

impl Factory for Memory {
    fn make(&self) -> BoxFuture<'_, Box<dyn Backend>> {
        let clock = clock();
        let options = memory::Options {
            clock: Arc::new(clock.clone()),
            housekeeping: HOUSEKEEPING,
            ..memory::Options::default()
        };
        let store = Arc::new(MemoryStore::new(options));
        Box::pin(async { Box::new(MemoryBackend { store, clock }) as Box<dyn Backend> })
    }
}

impl Backend for MemoryBackend {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    fn advance(&mut self, by: Duration) -> BoxFuture<'_, ()> {
        self.clock.advance(by);
        Box::pin(async {})
    }

    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

struct Embedded;

struct EmbeddedBackend {
    dir: TempDir,
    store: Option<Arc<EmbeddedStore>>,
    clock: ManualClock,
}

impl EmbeddedBackend {
    fn open(&mut self) {
        let options = embedded::Options {
            clock: Arc::new(self.clock.clone()),
            housekeeping: HOUSEKEEPING,
            ..embedded::Options::default()
        };
        self.store = Some(Arc::new(EmbeddedStore::open(self.dir.path(), options).expect("it opens")));
    }
}

impl Factory for Embedded {
    fn make(&self) -> BoxFuture<'_, Box<dyn Backend>> {
        let mut backend =
            EmbeddedBackend { dir: TempDir::new().expect("a directory"), store: None, clock: clock() };
        backend.open();
        Box::pin(async { Box::new(backend) as Box<dyn Backend> })
    }
}

impl Backend for EmbeddedBackend {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.as_ref().expect("it is open")) as Arc<dyn Store>
    }

    fn advance(&mut self, by: Duration) -> BoxFuture<'_, ()> {
        self.clock.advance(by);
        Box::pin(async {})
    }

    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            if let Some(store) = self.store.take() {
                store.close().await.expect("it closes");
            }
            self.open();
            true
        })
    }
}

#[tokio::test]
async fn the_memory_store_keeps_the_contract() {
    conformance::all(&Memory).await;
}

#[tokio::test]
async fn the_embedded_store_keeps_the_contract() {
    conformance::all(&Embedded).await;
}
