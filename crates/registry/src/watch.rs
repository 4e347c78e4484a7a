//! Following the changes of one resource from a state on.
//!
//! A watcher holds a cursor into its cache's ring. One that starts before the ring, or falls out of it,
//! reads the store's history until it has caught up; it ends only when that history is gone too.

use std::sync::Arc;

use store::{KeyRange, Revision, Watch, WatchMessage};

use crate::cache::{Cache, Change, Event, Objects, Tail};
use crate::object::Object;
use crate::{Error, Registry};

/// Bound: changes handed over at once.
const BATCH_EVENTS: usize = 64;

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the objects there are now, which are at least this new, then the changes to them.
    State(crate::list::At),
    /// With the first change after this revision.
    After(Revision),
}

/// An open watch over all objects of a resource; the caller filters.
pub struct Watcher {
    registry: Arc<Registry>,
    cache: Arc<Cache>,
    source: Source,
    /// Everything up to here has been handed over.
    seen: Revision,
}

enum Source {
    Ring(u64),
    History(Box<dyn Watch>),
}

impl Watcher {
    /// Opens a watch; with [`Start::State`], together with the state it begins from.
    pub async fn open(
        registry: Arc<Registry>,
        cache: Arc<Cache>,
        start: Start,
    ) -> Result<(Self, Option<(Objects, Revision)>), Error> {
        match start {
            Start::State(at) => {
                let applied = match at {
                    crate::list::At::Any => registry.any_state(&cache).await?,
                    crate::list::At::Fresh => registry.fresh(&cache).await?,
                    crate::list::At::NotOlderThan(revision) | crate::list::At::Exactly(revision) => {
                        registry.any_state(&cache).await?;
                        registry.wait_for(revision).await?;
                        registry.applied()
                    }
                };
                let snapshot = cache.snapshot(applied);
                let source = Source::Ring(snapshot.cursor);
                let watcher = Watcher { registry, cache, source, seen: snapshot.revision };
                Ok((watcher, Some((snapshot.objects, snapshot.revision))))
            }
            Start::After(revision) => {
                registry.any_state(&cache).await?;
                let source = Watcher::source(&registry, &cache, revision).await?;
                Ok((Watcher { registry, cache, source, seen: revision }, None))
            }
        }
    }

    async fn source(registry: &Registry, cache: &Cache, after: Revision) -> Result<Source, Error> {
        match cache.cursor_after(after) {
            Some(cursor) => Ok(Source::Ring(cursor)),
            None => {
                let keys = KeyRange::prefix(cache.prefix.clone());
                Ok(Source::History(registry.store().watch(keys, after).await?))
            }
        }
    }

    /// Everything up to this revision has been handed over, or did not concern this resource.
    pub fn seen(&self) -> Revision {
        self.seen
    }

    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Waits for changes. Never returns an empty batch.
    ///
    /// Cancel safety: a dropped future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, Error> {
        loop {
            match &mut self.source {
                Source::Ring(cursor) => {
                    let changed = self.cache.changed();
                    tokio::pin!(changed);
                    changed.as_mut().enable();
                    // Read before the ring: what has been applied by now and is not in the ring afterwards
                    // did not concern this resource.
                    let applied = self.registry.applied();
                    match self.cache.tail(*cursor, BATCH_EVENTS) {
                        Tail::Events(events) if events.is_empty() => {
                            self.seen = self.seen.max(applied);
                            changed.await;
                        }
                        Tail::Events(mut events) => {
                            *cursor += events.len() as u64;
                            // A watch may begin in the future.
                            events.retain(|event| event.revision > self.seen);
                            if let Some(last) = events.last() {
                                self.seen = last.revision;
                                return Ok(events);
                            }
                        }
                        Tail::FellBehind => {
                            self.source = Watcher::source(&self.registry, &self.cache, self.seen).await?;
                        }
                    }
                }
                Source::History(watch) => {
                    let message = watch.next().await?;
                    if let Some(events) = self.take(message)? {
                        return Ok(events);
                    }
                }
            }
        }
    }

    /// Takes a message of the history, and goes back to the ring as soon as it reaches far enough.
    fn take(&mut self, message: WatchMessage) -> Result<Option<Vec<Arc<Event>>>, Error> {
        let events = match message {
            WatchMessage::Progress(revision) => {
                self.seen = self.seen.max(revision);
                None
            }
            WatchMessage::Events(batch) => {
                self.seen = batch.revision;
                let events = batch.events.iter().map(|event| self.event(event, batch.revision));
                Some(events.collect::<Result<Vec<_>, _>>()?)
            }
        };
        if let Some(cursor) = self.cache.cursor_after(self.seen) {
            self.source = Source::Ring(cursor);
        }
        Ok(events)
    }

    fn event(&self, event: &store::Event, revision: Revision) -> Result<Arc<Event>, Error> {
        let object = |text: &[u8], revision| {
            Object::new(text, revision, &self.cache.fields).map(Arc::new).ok_or(Error::Unreadable)
        };
        let previous = match &event.previous {
            Some(kv) => Some(object(&kv.value, kv.mod_revision)?),
            None => None,
        };
        let (change, object) = match (event.kind, &previous) {
            (store::EventKind::Delete, Some(previous)) => {
                (Change::Deleted, object(previous.bytes(), revision)?)
            }
            (store::EventKind::Delete, None) => return Err(Error::Unreadable),
            (store::EventKind::Put, None) => (Change::Added, object(&event.kv.value, revision)?),
            (store::EventKind::Put, Some(_)) => (Change::Modified, object(&event.kv.value, revision)?),
        };
        Ok(Arc::new(Event::new(change, revision, object, previous)))
    }
}
