//! Revisioned objects: keys, codecs, optimistic updates, paging, the watch cache.
//!
//! Knows what an object's metadata looks like, and nothing of HTTP, schemas, versions or users.
//! All resources share one [`Registry`]; each has one [`Cache`], whatever the number of its versions.
//!
//! Upstream (the behaviour, not the shape): apiserver/pkg/storage/{etcd3,cacher}, v1.36.

mod cache;
pub mod codec;
mod continue_token;
mod feed;
mod follow;
mod index;
mod list;
mod object;
mod skim;
mod wakeups;
mod watch;
mod write;

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;
use store::{Revision, Store};

pub use cache::{Cache, Change, Entry, Event, Objects, Snapshot, in_namespace, join_key, label_bits};
pub use continue_token::{ContinueToken, TokenError};
pub use index::{By, Narrow, ValueOf};
pub use list::{At, Page, PageRequest, page_of_state};
pub use object::{FieldPathSpec, FieldPaths, Foreign, Object};
pub use watch::{Start, Watcher};
pub use write::{Guard, NewObject};

/// Bound: how long a read waits for changes that the store has acknowledged. Longer than it takes to leave a member
/// of etcd that hangs.
const FRESH_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Every key starts with this, as in the reference's etcd.
pub const KEY_ROOT: &str = "/registry/";

/// Bound: objects read from the store at once when a cache is filled.
const READ_PAGE_OBJECTS: usize = 2_000;

/// What a caller of the registry can act on.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("the object exists already")]
    AlreadyExists,
    /// The object is not what the writer believed; `None`: it is gone.
    #[error("the object has been modified")]
    Conflict(Option<Arc<Object>>),
    /// What the write depended on has changed.
    #[error("what the write depends on has been modified")]
    Overtaken,
    #[error("the revision is older than what is kept")]
    Expired { oldest: Revision },
    #[error("the revision lies in the future")]
    Future { current: Revision },
    #[error("the object is too large to be stored")]
    TooLarge { limit: usize },
    #[error("a stored object cannot be read")]
    Unreadable,
    /// The resource is no longer served: its watches end.
    #[error("the resource is gone")]
    Gone,
    /// A shared store answers, but its changes do not come.
    #[error("the changes of the store do not arrive")]
    Behind,
    #[error("the store failed")]
    Store(#[source] store::Error),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Compacted { oldest } => Error::Expired { oldest },
            store::Error::FutureRevision { current } => Error::Future { current },
            store::Error::TooLarge { limit } => Error::TooLarge { limit },
            other => Error::Store(other),
        }
    }
}

/// All objects of a control plane.
pub struct Registry {
    store: Arc<dyn Store>,
    feed: Arc<feed::Feed>,
}

/// The keys of one resource: `/registry/<group>/<resource>/`, without the group where it is empty.
pub fn resource_prefix(group: &str, resource: &str) -> Bytes {
    let separator = if group.is_empty() { "" } else { "/" };
    Bytes::from(format!("{KEY_ROOT}{group}{separator}{resource}/"))
}

impl Registry {
    /// Starts following a store. The returned registry owns the task that does so, if there is one.
    pub async fn start(store: Arc<dyn Store>) -> Result<Arc<Self>, Error> {
        Registry::start_reading(store, |_| None).await
    }

    /// The same, for a store to which others write in other forms too.
    pub async fn start_reading(store: Arc<dyn Store>, foreign: Foreign) -> Result<Arc<Self>, Error> {
        let feed = feed::Feed::start(&store, foreign).await?;
        Ok(Arc::new(Registry { store, feed }))
    }

    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The cache of a resource; the same one for every caller.
    ///
    /// `fields` are those of all versions of the resource. They may change; who still selects by others
    /// finds them too, only not as fast.
    pub fn cache(&self, group: &str, resource: &str, fields: &FieldPaths) -> Arc<Cache> {
        self.feed.cache(resource_prefix(group, resource), fields)
    }

    /// Drops the cache of a resource that is no longer served, and ends the watches on it.
    pub fn forget(&self, cache: &Cache) {
        self.feed.forget(cache);
    }

    /// Whether other processes write to the store too.
    pub fn is_shared(&self) -> bool {
        self.feed.is_shared()
    }

    /// Makes sure that a cache holds its resource, and everything that was acknowledged before this call.
    pub async fn fresh(&self, cache: &Cache) -> Result<Revision, Error> {
        self.load(cache).await?;
        let current = self.store.current().await?;
        if self.feed.applied() < current {
            let waiting = tokio::time::timeout(FRESH_PATIENCE, self.feed.wait_for(current));
            waiting.await.map_err(|_| Error::Behind)??;
        }
        Ok(self.feed.applied())
    }

    /// Makes sure that a cache holds its resource, at some state.
    pub async fn any_state(&self, cache: &Cache) -> Result<Revision, Error> {
        self.load(cache).await?;
        Ok(self.feed.applied())
    }

    /// Waits until everything up to `revision` has reached the caches. The caller sets the deadline.
    pub async fn wait_for(&self, revision: Revision) -> Result<(), Error> {
        self.feed.wait_for(revision).await
    }

    pub fn applied(&self) -> Revision {
        self.feed.applied()
    }

    async fn load(&self, cache: &Cache) -> Result<(), Error> {
        if cache.loaded.initialized() {
            return Ok(());
        }
        let Some(cache) = self.feed.known(cache) else {
            // No longer served; the few who still hold it see to it themselves.
            return cache.loaded.get_or_try_init(|| read_all(&*self.store, cache)).await.map(|&()| ());
        };
        let store = self.store.clone();
        // In a task of its own: who asked first may leave before it is done, and the next would begin anew. Whoever
        // asks meanwhile waits for the same.
        let loading = tokio::spawn(async move {
            cache.loaded.get_or_try_init(|| read_all(&*store, &cache)).await.map(|&()| ())
        });
        match loading.await {
            Ok(loaded) => loaded,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends.
                Err(_) => Err(Error::Gone),
            },
        }
    }

    fn key(cache: &Cache, key: &str) -> Bytes {
        let mut full = Vec::with_capacity(cache.prefix.len() + key.len());
        full.extend_from_slice(&cache.prefix);
        full.extend_from_slice(key.as_bytes());
        Bytes::from(full)
    }
}

/// Fills a cache, and again when changes were lost meanwhile.
async fn read_all(store: &dyn Store, cache: &Cache) -> Result<(), Error> {
    loop {
        cache.start_loading();
        match read_objects(store, cache).await {
            Ok((objects, revision)) => {
                if cache.finish_loading(objects, revision) {
                    return Ok(());
                }
            }
            Err(error) => {
                cache.stop_loading();
                return Err(error);
            }
        }
    }
}

/// All objects of a resource as the store has them now, and the revision they were read at.
async fn read_objects(store: &dyn Store, cache: &Cache) -> Result<(Objects, Revision), Error> {
    loop {
        match read_pages(store, cache).await {
            // What the later pages were to be read from was given up meanwhile: there is a newer state by now.
            Err(Error::Expired { .. }) => {}
            read => return read,
        }
    }
}

/// Page by page, so that the stored form and the objects made of it are never there at once.
async fn read_pages(store: &dyn Store, cache: &Cache) -> Result<(Objects, Revision), Error> {
    let mut keys = store::KeyRange::prefix(cache.prefix.clone());
    let mut objects = Objects::new();
    let mut at = None;
    loop {
        let range = store::Range { at, ..store::Range::values(keys.clone()).limit(READ_PAGE_OBJECTS) };
        let read = store.range(range).await?;
        let revision = *at.get_or_insert(read.revision);
        for kv in &read.kvs {
            let key = std::str::from_utf8(&kv.key[cache.prefix.len()..]).ok();
            let object = cache.read(&kv.value, kv.mod_revision);
            if let (Some(key), Some(object)) = (key, object) {
                objects.insert(key.into(), cache::entry(object));
            } else {
                tracing::error!(revision = kv.mod_revision.0, "a stored object cannot be read");
            }
        }
        match read.kvs.last() {
            Some(last) if read.more => keys = keys.behind(&last.key),
            _ => return Ok((objects, revision)),
        }
    }
}

/// The caches by prefix.
pub(crate) type Caches = RwLock<std::collections::HashMap<Bytes, Arc<Cache>>>;
