//! Carries every change of the store to the caches, in order.
//!
//! A local store calls us before it answers the writer, so a read that follows a write through the same
//! process finds it without waiting. A shared store (etcd) is followed by one watch over all keys (see
//! [`crate::follow`]), and readers wait until it has brought what they must see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use store::{EventBatch, Observer, Revision, Store};
use tokio::sync::Notify;

use crate::cache::Cache;
use crate::follow::follow;
use crate::object::{FieldPaths, Foreign};
use crate::wakeups::Waking;
use crate::{Caches, Error, KEY_ROOT};

/// How long a reader waits for the events of a shared store before it asks how far they are: mostly they are
/// under way.
const FIRST_PROGRESS: Duration = Duration::from_millis(3);
/// How long between further questions; etcd leaves one unanswered while it is still catching up.
const NEXT_PROGRESS: Duration = Duration::from_millis(100);

pub(crate) struct Feed {
    caches: Caches,
    applied: AtomicU64,
    /// The store, when other processes write to it too.
    shared: Option<Arc<dyn Store>>,
    foreign: Foreign,
    advanced: Notify,
    waking: Arc<Waking>,
    /// Ended with the feed.
    tasks: parking_lot::Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Feed {
    pub(crate) async fn start(store: &Arc<dyn Store>, foreign: Foreign) -> Result<Arc<Self>, Error> {
        let local = Arc::new(Feed::new(None, foreign));
        if let Some(revision) = store.observe(local.clone()) {
            local.advance(revision);
            return Ok(local);
        }
        let feed = Arc::new(Feed::new(Some(store.clone()), foreign));
        let current = store.current().await?;
        feed.advance(current);
        let follower = tokio::spawn(follow(feed.clone(), store.clone(), current));
        feed.tasks.lock().push(follower);
        Ok(feed)
    }

    fn new(shared: Option<Arc<dyn Store>>, foreign: Foreign) -> Self {
        let waking = Arc::<Waking>::default();
        let task = tokio::spawn(waking.clone().run());
        Feed {
            caches: Caches::default(),
            applied: AtomicU64::new(0),
            shared,
            foreign,
            advanced: Notify::new(),
            waking,
            tasks: parking_lot::Mutex::new(vec![task]),
        }
    }

    /// Whether other processes write to the store too.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    pub(crate) fn all_caches(&self) -> Vec<Arc<Cache>> {
        self.caches.read().values().cloned().collect()
    }

    pub(crate) fn cache(&self, prefix: Bytes, fields: &FieldPaths) -> Arc<Cache> {
        let known = self.caches.read().get(&prefix).cloned();
        if let Some(cache) = known {
            cache.select_by(fields);
            return cache;
        }
        let mut caches = self.caches.write();
        caches
            .entry(prefix.clone())
            .or_insert_with(|| Arc::new(Cache::new(prefix, fields.clone(), self.foreign)))
            .clone()
    }

    /// The same cache to keep; `None` when its resource is no longer served.
    pub(crate) fn known(&self, cache: &Cache) -> Option<Arc<Cache>> {
        let caches = self.caches.read();
        caches.get(&cache.prefix).filter(|known| std::ptr::eq(Arc::as_ptr(known), cache)).cloned()
    }

    pub(crate) fn forget(&self, cache: &Cache) {
        self.caches.write().remove(&cache.prefix);
        cache.close();
    }

    pub(crate) fn applied(&self) -> Revision {
        Revision(self.applied.load(Ordering::Acquire))
    }

    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), Error> {
        let mut patience = FIRST_PROGRESS;
        while self.applied() < revision {
            let mut advanced = std::pin::pin!(self.advanced.notified());
            advanced.as_mut().enable();
            if self.applied() >= revision {
                break;
            }
            match &self.shared {
                None => advanced.await,
                Some(store) => {
                    if tokio::time::timeout(patience, advanced).await.is_err() {
                        // The revision may be somebody else's, of whose keys we are told nothing.
                        store.request_progress();
                        patience = NEXT_PROGRESS;
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn advance(&self, revision: Revision) {
        self.applied.fetch_max(revision.0, Ordering::AcqRel);
        self.advanced.notify_waiters();
    }

    pub(crate) fn apply(&self, batch: &EventBatch) {
        if let [event] = &batch.events[..] {
            // The usual transaction: one object.
            if let Some(cache) = self.cache_of(&event.kv.key) {
                self.apply_to(&cache, batch);
            }
        } else {
            let mut touched: Vec<Arc<Cache>> = Vec::new();
            for event in &batch.events {
                if let Some(cache) = self.cache_of(&event.kv.key)
                    && !touched.iter().any(|other| Arc::ptr_eq(other, &cache))
                {
                    touched.push(cache);
                }
            }
            for cache in touched {
                self.apply_to(&cache, batch);
            }
        }
        self.advance(batch.revision);
    }

    fn apply_to(&self, cache: &Cache, batch: &EventBatch) {
        cache.apply(batch);
        self.wake(cache);
    }

    pub(crate) fn wake(&self, cache: &Cache) {
        self.waking.wake(&cache.wakeups);
    }

    /// The cache that a key belongs to: `/registry/<resource>/…`, or with one more step for the resources that have
    /// a group or a special place, such as `/registry/<group>/<resource>/…` and `/registry/services/specs/…`.
    fn cache_of(&self, key: &[u8]) -> Option<Arc<Cache>> {
        let path = key.strip_prefix(KEY_ROOT.as_bytes())?;
        let first = memchr::memchr(b'/', path)?;
        let caches = self.caches.read();
        // Groups of definitions always have a dot, resources never.
        if memchr::memchr(b'.', &path[..first]).is_none()
            && let Some(cache) = caches.get(&key[..=(KEY_ROOT.len() + first)])
        {
            return Some(cache.clone());
        }
        let second = first + 1 + memchr::memchr(b'/', &path[first + 1..])?;
        caches.get(&key[..=(KEY_ROOT.len() + second)]).cloned()
    }
}

impl Observer for Feed {
    fn committed(&self, batch: &Arc<EventBatch>) {
        self.apply(batch);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.tasks.lock().iter().for_each(tokio::task::JoinHandle::abort);
    }
}
