//! What happens without a request: definitions become resources, deleted things are cleaned up.
//!
//! Each loop follows the changes of its resource and looks at everything once at the start; it never sleeps
//! to wait for a state. A loop acts through the registry on objects it has just read, so that it loses
//! against any other writer and looks again.
//!
//! Of several replicas on one store each serves what definitions bring and says whether their names are accepted: it
//! sees the same definitions in the same order and comes to the same answer. What deletes is done by one, the leader.

mod definitions;
pub(crate) mod leader;
mod names;
mod namespaces;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::select_all;
use meta::Value;
use registry::{At, Cache, NewObject, Object, Objects, Start, Watcher, in_namespace};
use tokio::sync::futures::OwnedNotified;
use tokio::task::JoinSet;

use crate::Server;

/// How long a loop waits after a failure before it tries again.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Starts the loops and waits until everything that was there before has been seen once.
pub(crate) async fn start(server: &Arc<Server>, tasks: &mut JoinSet<()>) -> Result<(), registry::Error> {
    crate::bootstrap::make_namespaces(server).await?;
    definitions::catch_up(server).await?;
    let (one, two, three) = (server.clone(), server.clone(), server.clone());
    tasks.spawn(async move { keep_running("definitions", &one, definitions::run).await });
    tasks.spawn(async move {
        keep_running("namespaces", &two, |server| while_leading(server, namespaces::run)).await;
    });
    if server.leadership.is_shared() {
        tasks.spawn(async move {
            keep_running("leader", &three, leader::run).await;
            leader::release(&three).await;
        });
    }
    server.ready.send_replace(true);
    Ok(())
}

/// Runs a loop until the server stops; a failure or a panic starts it again.
async fn keep_running<F, R>(name: &str, server: &Arc<Server>, run: F)
where
    F: Fn(Arc<Server>) -> R,
    R: Future<Output = Result<(), registry::Error>>,
{
    let mut stopping = server.stopping.subscribe();
    loop {
        let turn = AssertUnwindSafe(run(server.clone())).catch_unwind();
        tokio::select! {
            ended = turn => match ended {
                Ok(Ok(())) => return,
                Ok(Err(error)) => tracing::warn!(%error, name, "a loop failed; it starts again"),
                Err(_) => {
                    server.metrics.panicked();
                    tracing::error!(name, "a loop panicked; it starts again");
                }
            },
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Runs a loop as long as this replica leads, again and again.
async fn while_leading<F, R>(server: Arc<Server>, run: F) -> Result<(), registry::Error>
where
    F: Fn(Arc<Server>) -> R,
    R: Future<Output = Result<(), registry::Error>>,
{
    loop {
        server.leadership.begun().await;
        tokio::select! {
            ended = run(server.clone()) => return ended,
            () = server.leadership.ended() => {}
        }
    }
}

/// The objects of a resource now, and the changes from here on.
async fn follow(server: &Arc<Server>, cache: &Arc<Cache>) -> Result<(Watcher, Objects), registry::Error> {
    let (watcher, state) =
        Watcher::open(server.registry.clone(), cache.clone(), Start::State(At::Fresh)).await?;
    Ok((watcher, state.map(|(objects, _)| objects).unwrap_or_default()))
}

/// A change that is waited for.
type Changed = Pin<Box<OwnedNotified>>;

/// The next change of a cache. Taken before looking, so that none falls between the look and the wait.
fn next_change(cache: &Cache) -> Changed {
    Box::pin(cache.changed())
}

/// Another turn of what started the wait. Boxed, since it may come to wait again.
type Again = Pin<Box<dyn Future<Output = Result<(), registry::Error>> + Send>>;

/// Finalizers hold something: does `again` after one of these changes.
///
/// Bound: one task for each `what`, however often it is looked at meanwhile.
fn look_again(server: &Arc<Server>, what: String, changes: Vec<Changed>, again: Again) {
    if !server.held.lock().insert(what.clone()) {
        return;
    }
    let server = server.clone();
    tokio::spawn(async move {
        let mut stopping = server.stopping.subscribe();
        tokio::select! {
            _ = select_all(changes) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        server.held.lock().remove(&what);
        if let Err(error) = again.await {
            tracing::warn!(%error, what, "something deleted could not be cleaned up");
        }
    });
}

/// A stored object as a tree.
fn tree(object: &Object) -> Option<Value> {
    meta::wire::json::parse(object.bytes()).ok().map(|parsed| parsed.value)
}

/// Writes a changed object, unless somebody was faster. True when it was written.
async fn write(server: &Server, cache: &Cache, old: &Object, new: &Value) -> Result<bool, registry::Error> {
    let key = registry::join_key(old.namespace(), old.name());
    let encoded = NewObject::from(registry::codec::encode(new));
    match server.registry.replace(cache, &key, old.revision, encoded).await {
        Ok(_) => Ok(true),
        Err(registry::Error::Conflict(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes an object, unless somebody was faster. True when it is gone.
async fn remove(server: &Server, cache: &Cache, object: &Object) -> Result<bool, registry::Error> {
    let key = registry::join_key(object.namespace(), object.name());
    match server.registry.remove(cache, &key, object).await {
        Ok(_) | Err(registry::Error::Conflict(None)) => Ok(true),
        Err(registry::Error::Conflict(Some(_))) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes objects as a client would: at once, or marked when finalizers hold them.
/// Gives back how many are still there afterwards.
async fn delete_all(server: &Server, cache: &Cache, namespace: &str) -> Result<usize, registry::Error> {
    let applied = server.registry.fresh(cache).await?;
    let objects = cache.snapshot(applied).objects;
    let mut left = 0;
    for entry in in_namespace(&objects, namespace) {
        if !delete_one(server, cache, &entry.object).await? {
            left += 1;
        }
    }
    Ok(left)
}

async fn delete_one(server: &Server, cache: &Cache, object: &Object) -> Result<bool, registry::Error> {
    let Some(mut value) = tree(object) else { return remove(server, cache, object).await };
    if !crate::verbs::write::has_finalizers(&value) {
        return remove(server, cache, object).await;
    }
    if !object.deleting {
        let now = meta::time::format(server.env.now());
        let metadata = crate::verbs::write::metadata_mut(&mut value);
        metadata.insert("deletionTimestamp", now);
        metadata.insert("deletionGracePeriodSeconds", 0_i64);
        if let Some(generation) = metadata.get("generation").and_then(Value::as_int) {
            metadata.insert("generation", generation + 1);
        }
        write(server, cache, object, &value).await?;
    }
    Ok(false)
}
