//! Following the changes of one resource from a state on.
//!
//! A watcher holds a cursor into its cache's ring. One that starts before the ring, or falls out of it,
//! reads the store's history until it has caught up; it ends only when that history is gone too.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use store::{KeyRange, Revision, Watch, WatchMessage};

use crate::cache::{Cache, Change, Event, Objects, Tail};
use crate::index::Narrow;
use crate::list::At;
use crate::wakeups::Seat;
use crate::{Error, Registry};

/// Bound: changes handed over at once.
const BATCH_EVENTS: usize = 64;

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the objects there are now, which are at least this new, then the changes to them.
    State(At),
    /// With the first change after this revision.
    After(Revision),
}

/// An open watch over all objects of a resource; the caller filters.
///
/// Polled by hand: thousands of these are woken by every change, and what they wait for stays in place
/// between two changes.
pub struct Watcher {
    registry: Arc<Registry>,
    cache: Arc<Cache>,
    source: Source,
    /// Those of one lane are woken together.
    lane: u64,
    /// Where it is woken; taken when it first has to wait.
    seat: Option<Seat>,
    /// Everything up to here has been handed over.
    seen: Revision,
}

enum Source {
    /// A cursor into the cache's ring.
    Ring(u64),
    /// The store's history, while its next message is awaited.
    History(Pin<Box<dyn Future<Output = FromHistory> + Send>>),
}

/// A message of the history and the watch it came from; `None` when the ring reaches far enough after all.
type FromHistory = (Option<Box<dyn Watch>>, Result<WatchMessage, Error>);

impl Watcher {
    /// Opens a watch; with [`Start::State`], together with the state it begins from.
    pub async fn open(
        registry: Arc<Registry>,
        cache: Arc<Cache>,
        start: Start,
    ) -> Result<(Self, Option<(Objects, Revision)>), Error> {
        Watcher::open_by(registry, cache, start, None).await
    }

    /// The same where only objects with a value are wanted: the state need not hold others. Changes come all.
    pub async fn open_by(
        registry: Arc<Registry>,
        cache: Arc<Cache>,
        start: Start,
        narrow: Option<&Narrow>,
    ) -> Result<(Self, Option<(Objects, Revision)>), Error> {
        match start {
            Start::State(at) => {
                let applied = match at {
                    At::Any => registry.any_state(&cache).await?,
                    At::Fresh => registry.fresh(&cache).await?,
                    At::NotOlderThan(revision) | At::Exactly(revision) => {
                        registry.any_state(&cache).await?;
                        registry.wait_for(revision).await?;
                        registry.applied()
                    }
                };
                let (snapshot, candidates) = cache.snapshot_by(applied, narrow);
                let objects = candidates.map_or(snapshot.objects, |found| found.objects());
                let source = Source::Ring(snapshot.cursor);
                let watcher =
                    Watcher { registry, cache, source, lane: 0, seat: None, seen: snapshot.revision };
                Ok((watcher, Some((objects, snapshot.revision))))
            }
            Start::After(revision) => {
                registry.any_state(&cache).await?;
                let source = if let Some(cursor) = cache.cursor_after(revision) {
                    Source::Ring(cursor)
                } else {
                    let keys = KeyRange::prefix(cache.prefix.clone());
                    next_message(registry.store().watch(keys, revision).await?)
                };
                Ok((Watcher { registry, cache, source, lane: 0, seat: None, seen: revision }, None))
            }
        }
    }

    /// The watchers of a lane are woken one after the other: what waits for all of them has less to do.
    #[must_use]
    pub fn in_lane(self, lane: u64) -> Self {
        Watcher { lane, seat: None, ..self }
    }

    /// Everything up to this revision has been handed over, or did not concern this resource.
    pub fn seen(&self) -> Revision {
        self.seen
    }

    /// Waits for changes. Never returns an empty batch.
    ///
    /// Cancel safety: a dropped future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, Error> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The changes since the last call, or the promise to wake the caller when there are some.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Vec<Arc<Event>>, Error>> {
        loop {
            match &mut self.source {
                Source::Ring(cursor) => {
                    if self.cache.head() == *cursor {
                        // Asked for before looking again, so that no change falls between the two.
                        self.seat.get_or_insert_with(|| self.cache.wakeups.seat(self.lane)).wait(cx);
                        let closed = self.cache.is_closed();
                        // Read before the ring: what has been applied by now and is not in the ring
                        // afterwards did not concern this resource.
                        let applied = self.registry.applied();
                        if self.cache.head() == *cursor {
                            self.seen = self.seen.max(applied);
                            return if closed { Poll::Ready(Err(Error::Gone)) } else { Poll::Pending };
                        }
                    }
                    match self.cache.tail(*cursor, BATCH_EVENTS) {
                        Tail::Events(mut events) => {
                            *cursor += events.len() as u64;
                            // A watch may begin in the future.
                            events.retain(|event| event.revision > self.seen);
                            if let Some(last) = events.last() {
                                self.seen = last.revision;
                                return Poll::Ready(Ok(events));
                            }
                        }
                        Tail::FellBehind => self.source = self.reopen(),
                    }
                }
                Source::History(message) => {
                    let (watch, message) = ready!(message.as_mut().poll(cx));
                    let events = message.and_then(|message| self.take(message));
                    match (self.cache.cursor_after(self.seen), watch) {
                        (Some(cursor), _) => self.source = Source::Ring(cursor),
                        (None, Some(watch)) => self.source = next_message(watch),
                        (None, None) => self.source = self.reopen(),
                    }
                    if let Some(events) = events.transpose() {
                        return Poll::Ready(events);
                    }
                }
            }
        }
    }

    /// Goes on from the store's history, behind what has been seen.
    fn reopen(&self) -> Source {
        let (registry, cache, seen) = (self.registry.clone(), self.cache.clone(), self.seen);
        Source::History(Box::pin(async move {
            let keys = KeyRange::prefix(cache.prefix.clone());
            match registry.store().watch(keys, seen).await {
                Ok(mut watch) => {
                    let message = watch.next().await.map_err(Error::from);
                    (Some(watch), message)
                }
                Err(error) => (None, Err(error.into())),
            }
        }))
    }

    /// The changes in a message of the history.
    fn take(&mut self, message: WatchMessage) -> Result<Option<Vec<Arc<Event>>>, Error> {
        match message {
            WatchMessage::Progress(revision) => {
                self.seen = self.seen.max(revision);
                Ok(None)
            }
            WatchMessage::Events(batch) => {
                self.seen = batch.revision;
                let events = batch.events.iter().map(|event| self.event(event, batch.revision));
                events.collect::<Result<Vec<_>, _>>().map(Some)
            }
        }
    }

    fn event(&self, event: &store::Event, revision: Revision) -> Result<Arc<Event>, Error> {
        let object = |text: &[u8], revision| self.cache.read(text, revision).ok_or(Error::Unreadable);
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

fn next_message(mut watch: Box<dyn Watch>) -> Source {
    Source::History(Box::pin(async move {
        let message = watch.next().await.map_err(Error::from);
        (Some(watch), message)
    }))
}
