//! Carries every change of the store to the caches, in order.
//!
//! A local store calls us before it answers the writer, so a read that follows a write through the same
//! process finds it without waiting. A shared store (etcd) is followed by one watch over all keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use store::{EventBatch, KeyRange, Observer, Revision, Store, WatchMessage};
use tokio::sync::Notify;

use crate::cache::Cache;
use crate::object::FieldPaths;
use crate::wakeups::Waking;
use crate::{Caches, Error, KEY_ROOT};

pub(crate) struct Feed {
    caches: Caches,
    applied: AtomicU64,
    advanced: Notify,
    waking: Arc<Waking>,
    /// Ended with the feed.
    tasks: parking_lot::Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Feed {
    pub(crate) async fn start(store: &Arc<dyn Store>) -> Result<Arc<Self>, Error> {
        let feed = Arc::new(Feed {
            caches: Caches::default(),
            applied: AtomicU64::new(0),
            advanced: Notify::new(),
            waking: Arc::default(),
            tasks: parking_lot::Mutex::default(),
        });
        let waking = tokio::spawn(feed.waking.clone().run());
        feed.tasks.lock().push(waking);
        if let Some(revision) = store.observe(feed.clone()) {
            feed.advance(revision);
        } else {
            let current = store.current().await?;
            feed.advance(current);
            let follower = tokio::spawn(follow(feed.clone(), store.clone(), current));
            feed.tasks.lock().push(follower);
        }
        Ok(feed)
    }

    pub(crate) fn cache(&self, prefix: Bytes, fields: &FieldPaths) -> Arc<Cache> {
        let known = self.caches.read().get(&prefix).cloned();
        if let Some(cache) = known {
            cache.select_by(fields);
            return cache;
        }
        let mut caches = self.caches.write();
        caches.entry(prefix.clone()).or_insert_with(|| Arc::new(Cache::new(prefix, fields.clone()))).clone()
    }

    pub(crate) fn forget(&self, cache: &Cache) {
        self.caches.write().remove(&cache.prefix);
        cache.close();
    }

    pub(crate) fn applied(&self) -> Revision {
        Revision(self.applied.load(Ordering::Acquire))
    }

    pub(crate) async fn wait_for(&self, revision: Revision) -> Result<(), Error> {
        while self.applied() < revision {
            let advanced = self.advanced.notified();
            if self.applied() >= revision {
                break;
            }
            advanced.await;
        }
        Ok(())
    }

    fn advance(&self, revision: Revision) {
        self.applied.fetch_max(revision.0, Ordering::AcqRel);
        self.advanced.notify_waiters();
    }

    fn apply(&self, batch: &EventBatch) {
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
        self.waking.wake(&cache.wakeups);
    }

    /// The cache that a key belongs to: `/registry/<group with a dot>/<resource>/…` or
    /// `/registry/<resource>/…`. Groups of definitions always have a dot, resources never.
    fn cache_of(&self, key: &[u8]) -> Option<Arc<Cache>> {
        let path = key.strip_prefix(KEY_ROOT.as_bytes())?;
        let first = memchr::memchr(b'/', path)?;
        let mut end = first;
        if memchr::memchr(b'.', &path[..first]).is_some() {
            end += 1 + memchr::memchr(b'/', &path[first + 1..])?;
        }
        self.caches.read().get(&key[..=(KEY_ROOT.len() + end)]).cloned()
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

/// Follows a store that other processes write to. Ends only with the process: a broken watch is opened
/// again where it ended.
async fn follow(feed: Arc<Feed>, store: Arc<dyn Store>, mut after: Revision) {
    loop {
        let opened = store.watch(KeyRange::prefix(KEY_ROOT), after).await;
        match opened {
            Ok(mut watch) => loop {
                match watch.next().await {
                    Ok(WatchMessage::Events(batch)) => {
                        after = batch.revision;
                        feed.apply(&batch);
                    }
                    Ok(WatchMessage::Progress(revision)) => {
                        after = after.max(revision);
                        feed.advance(revision);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "the watch on the store ended; opening it again");
                        break;
                    }
                }
            },
            Err(error) => tracing::warn!(%error, "the store cannot be watched; trying again"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}
