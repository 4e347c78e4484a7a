//! Writing one object: created, replaced or removed under a condition, answered with what was written.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use store::{Condition, Expect, Revision, Txn};

use crate::cache::{Cache, object_key};
use crate::object::Object;
use crate::{Error, Registry};

/// Another object that must still be as it was read for a write to happen.
pub struct Guard<'a> {
    pub cache: &'a Cache,
    pub object: &'a Object,
}

/// The encoded form of an object to be stored, without a resource version.
#[derive(Clone)]
pub struct NewObject {
    pub text: Bytes,
    /// After this time the object removes itself (events).
    pub time_to_live: Option<Duration>,
}

impl From<Vec<u8>> for NewObject {
    fn from(text: Vec<u8>) -> Self {
        NewObject { text: text.into(), time_to_live: None }
    }
}

impl NewObject {
    fn into_txn(self, txn: impl FnOnce(Bytes) -> Txn) -> Txn {
        let txn = txn(self.text);
        match self.time_to_live {
            Some(time_to_live) => txn.expiring_in(time_to_live),
            None => txn,
        }
    }
}

impl Registry {
    /// Writes an object under a key that must be free.
    pub async fn create(&self, cache: &Cache, key: &str, new: NewObject) -> Result<Arc<Object>, Error> {
        self.create_if(cache, key, new, &[]).await
    }

    /// The same, if other objects are unchanged; [`Error::Overtaken`] when one is not.
    pub async fn create_if(
        &self,
        cache: &Cache,
        key: &str,
        new: NewObject,
        guards: &[Guard<'_>],
    ) -> Result<Arc<Object>, Error> {
        let text = new.text.clone();
        let mut txn = new.into_txn(|text| Txn::create(Registry::key(cache, key), text));
        txn.conditions.extend(guards.iter().map(|Guard { cache, object }| Condition {
            key: Registry::key(cache, &object_key(object)),
            expect: Expect::At(object.revision),
        }));
        match self.store().commit(txn).await {
            Ok(committed) => written(cache, key, &text, committed.revision),
            Err(store::Error::Conflict { current }) => match current.first() {
                Some(None) => Err(Error::Overtaken),
                _ => Err(Error::AlreadyExists),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Replaces the version of an object that was written at `expected`.
    pub async fn replace(
        &self,
        cache: &Cache,
        key: &str,
        expected: Revision,
        new: NewObject,
    ) -> Result<Arc<Object>, Error> {
        let text = new.text.clone();
        let txn = new.into_txn(|text| Txn::update(Registry::key(cache, key), text, expected));
        match self.store().commit(txn).await {
            Ok(committed) => written(cache, key, &text, committed.revision),
            Err(error) => Err(lost(cache, error)),
        }
    }

    /// Removes the version of an object that was written at `expected`, and answers with that version.
    /// Its resource version is the one of the removal, as a watcher sees it.
    pub async fn remove(&self, cache: &Cache, key: &str, expected: &Object) -> Result<Arc<Object>, Error> {
        let txn = Txn::delete(Registry::key(cache, key), expected.revision);
        match self.store().commit(txn).await {
            Ok(committed) => written(cache, key, expected.bytes(), committed.revision),
            Err(error) => Err(lost(cache, error)),
        }
    }
}

/// What was just written, from the cache if the change is there already.
fn written(cache: &Cache, key: &str, text: &[u8], revision: Revision) -> Result<Arc<Object>, Error> {
    if let Some(event) = cache.event_at(revision, key) {
        return Ok(event.object.clone());
    }
    cache.read(text, revision).ok_or(Error::Unreadable)
}

/// Tells a lost race from a failure, with what is there now.
fn lost(cache: &Cache, error: store::Error) -> Error {
    let store::Error::Conflict { current } = error else {
        return error.into();
    };
    match current.into_iter().flatten().next() {
        None => Error::Conflict(None),
        Some(kv) => match cache.read(&kv.value, kv.mod_revision) {
            Some(object) => Error::Conflict(Some(object)),
            None => Error::Unreadable,
        },
    }
}
