//! Following a store that other processes write to: one watch over all keys, opened again when it breaks.
//!
//! A watch that ends is resumed where it was, so the caches miss nothing. When that part of the history has been
//! compacted meanwhile, every cache reads its resource anew; watchers then go on from the store's history where
//! they stood, or are told that it is gone. Nothing is left out in silence, and nothing is told twice.

use std::sync::Arc;
use std::time::Duration;

use store::{KeyRange, Revision, Store, WatchMessage};
use tokio::time::{Instant, MissedTickBehavior};

use crate::feed::Feed;
use crate::{Error, KEY_ROOT, read_objects};

/// How often the store is asked how far the watch is, though nobody waits for it: a member of etcd that hangs is
/// found out, and bookmarks move on while nothing happens.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(3);
/// Between two attempts to open a watch. The first is made at once.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Ends only with the process.
pub(crate) async fn follow(feed: Arc<Feed>, store: Arc<dyn Store>, mut after: Revision) {
    loop {
        let ended = until_it_breaks(&feed, &*store, &mut after).await;
        match ended {
            store::Error::Compacted { oldest } => {
                tracing::warn!(%after, %oldest, "the history of the store was compacted; reading everything anew");
                after = read_anew(&feed, &store).await;
            }
            error => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the watch on the store ended; opening it again"
                );
            }
        }
    }
}

/// Applies what a watch tells until it ends. A watch that cannot be opened is tried again here.
async fn until_it_breaks(feed: &Feed, store: &dyn Store, after: &mut Revision) -> store::Error {
    let mut watch = loop {
        match store.watch(KeyRange::prefix(KEY_ROOT), *after).await {
            Ok(watch) => break watch,
            Err(error @ store::Error::Compacted { .. }) => return error,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the store cannot be watched; trying again"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    };
    let mut progress = tokio::time::interval_at(Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = watch.next() => message,
            _ = progress.tick() => {
                store.request_progress();
                continue;
            }
        };
        match message {
            Ok(WatchMessage::Events(batch)) => {
                *after = batch.revision;
                feed.apply(&batch);
            }
            Ok(WatchMessage::Progress(revision)) => {
                *after = revision.max(*after);
                feed.advance(revision);
            }
            Err(error) => return error,
        }
    }
}

/// Brings all caches to a state from which the changes are still known, and answers with its revision.
async fn read_anew(feed: &Feed, store: &Arc<dyn Store>) -> Revision {
    loop {
        match try_read_anew(feed, store).await {
            Ok(current) => return current,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the store cannot be read; trying again"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

async fn try_read_anew(feed: &Feed, store: &Arc<dyn Store>) -> Result<Revision, Error> {
    // Before reading: what is read is not older, and the watch begins here.
    let current = store.current().await?;
    for cache in feed.all_caches() {
        // One that nobody asked for stays cold; one that is being read starts over by itself.
        if cache.needs_reading_anew() {
            let (objects, revision) = read_objects(&**store, &cache).await?;
            cache.replace_all(objects, revision);
            feed.wake(&cache);
        }
    }
    feed.advance(current);
    Ok(current)
}
