//! How far the catalog has followed the definitions.
//!
//! Whoever sees a definition established may use what it defines at once, on every replica and in every document;
//! the loop that changes the catalog may be a moment behind. So who asks for something that is not there waits until
//! the loop has seen every definition that has reached this server, and who wrote a definition is answered when
//! the loop has seen it. While nothing changes this is a comparison.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use registry::{Cache, Registry};
use store::Revision;
use tokio::sync::watch;

/// Bound: how long anybody waits. It takes this long only when something is broken or definitions are many.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Settled {
    definitions: OnceLock<Arc<Cache>>,
    /// The changes up to here are in the catalog.
    upto: watch::Sender<Revision>,
}

impl Settled {
    pub(crate) fn new() -> Self {
        Settled { definitions: OnceLock::new(), upto: watch::Sender::new(Revision::ZERO) }
    }

    /// The loop has begun to follow.
    pub(crate) fn follows(&self, definitions: &Arc<Cache>) {
        let _already = self.definitions.set(definitions.clone());
    }

    /// The loop has seen everything up to here.
    pub(crate) fn advance(&self, upto: Revision) {
        self.upto.send_if_modified(|seen| {
            let later = upto > *seen;
            *seen = upto.max(*seen);
            later
        });
    }

    /// Waits until the catalog has what the definitions say by now.
    pub(crate) async fn wait(&self) {
        let Some(definitions) = self.definitions.get() else { return };
        let wanted = definitions.newest();
        if *self.upto.borrow() >= wanted {
            return;
        }
        let mut seen = self.upto.subscribe();
        if tokio::time::timeout(PATIENCE, seen.wait_for(|seen| *seen >= wanted)).await.is_err() {
            tracing::warn!(revision = wanted.0, "the catalog is behind the definitions");
        }
    }

    /// The same, with what other replicas have written to a shared store. Whoever asks for something that is not there
    /// costs the store a question, which all who ask at the same time share.
    pub(crate) async fn wait_for_all(&self, registry: &Registry) {
        if let Some(definitions) = self.definitions.get()
            && registry.is_shared()
        {
            // A store that does not answer is told to those who need it for more than this.
            let _ = registry.fresh(definitions).await;
        }
        self.wait().await;
    }

    /// The same for who has just written to a resource, if it is that of the definitions.
    pub(crate) async fn wait_after_write(&self, cache: &Arc<Cache>, registry: &Registry) {
        if self.definitions.get().is_some_and(|definitions| Arc::ptr_eq(definitions, cache)) {
            self.wait_for_all(registry).await;
        }
    }
}
