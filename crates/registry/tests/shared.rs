//! The registry on a store that others write to: what several replicas may rely on, whatever happens to the watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crest_registry as registry;
use registry::{At, Change, Error, FieldPaths, NewObject, Registry, Start, Watcher};
use store::memory::MemoryStore;
use store::{
    BoxFuture, Committed, KeyRange, Observer, Range, RangeResult, Revision, Stats, Store, Txn, Watch,
    WatchMessage,
};
use tokio::sync::watch;

/// A store in memory that behaves as if it were far away: nobody is called, watches are late or break, progress is
/// told only when it was asked for.
struct Remote {
    inner: MemoryStore,
    line: watch::Sender<Line>,
    asked: Arc<watch::Sender<u64>>,
    opened: AtomicUsize,
    /// How many ranges were read, and how many may be.
    ranges: watch::Sender<usize>,
    may_range: watch::Sender<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Up,
    /// Watches stay open and say nothing.
    Late,
    /// Watches end and cannot be opened.
    Down,
}

impl Remote {
    fn new() -> Arc<Self> {
        Arc::new(Remote {
            inner: MemoryStore::default(),
            line: watch::Sender::new(Line::Up),
            asked: Arc::new(watch::Sender::new(0)),
            opened: AtomicUsize::new(0),
            ranges: watch::Sender::new(0),
            may_range: watch::Sender::new(usize::MAX),
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the line is down")]
struct LineDown;

fn down() -> store::Error {
    store::Error::Unavailable(Arc::new(LineDown))
}

struct FarWatch {
    inner: Box<dyn Watch>,
    line: watch::Receiver<Line>,
    asked: watch::Receiver<u64>,
    /// Progress that nobody has asked for yet.
    progress: Option<Revision>,
}

impl Watch for FarWatch {
    fn next(&mut self) -> BoxFuture<'_, store::Result<WatchMessage>> {
        Box::pin(async {
            loop {
                let line = *self.line.wait_for(|line| *line != Line::Late).await.map_err(|_| down())?;
                if line == Line::Down {
                    return Err(down());
                }
                tokio::select! {
                    changed = self.line.changed() => changed.map_err(|_| down())?,
                    Ok(()) = self.asked.changed() => {
                        if let Some(progress) = self.progress {
                            return Ok(WatchMessage::Progress(progress));
                        }
                    }
                    message = self.inner.next() => match message? {
                        WatchMessage::Progress(revision) => self.progress = Some(revision),
                        events @ WatchMessage::Events(_) => return Ok(events),
                    },
                }
            }
        })
    }
}

impl Store for Remote {
    fn commit(&self, txn: Txn) -> BoxFuture<'_, store::Result<Committed>> {
        self.inner.commit(txn)
    }

    fn range(&self, range: Range) -> BoxFuture<'_, store::Result<RangeResult>> {
        Box::pin(async move {
            let mut number = 0;
            self.ranges.send_modify(|count| {
                *count += 1;
                number = *count;
            });
            self.may_range.subscribe().wait_for(|count| *count >= number).await.map_err(|_| down())?;
            self.inner.range(range).await
        })
    }

    fn watch(&self, keys: KeyRange, after: Revision) -> BoxFuture<'_, store::Result<Box<dyn Watch>>> {
        Box::pin(async move {
            if *self.line.borrow() == Line::Down {
                return Err(down());
            }
            let inner = self.inner.watch(keys, after).await?;
            self.opened.fetch_add(1, Ordering::SeqCst);
            let (line, asked) = (self.line.subscribe(), self.asked.subscribe());
            Ok(Box::new(FarWatch { inner, line, asked, progress: None }) as Box<dyn Watch>)
        })
    }

    fn current(&self) -> BoxFuture<'_, store::Result<Revision>> {
        self.inner.current()
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, store::Result<()>> {
        self.inner.compact(oldest)
    }

    fn observe(&self, _: Arc<dyn Observer>) -> Option<Revision> {
        None
    }

    fn request_progress(&self) {
        self.asked.send_modify(|count| *count += 1);
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    fn close(&self) -> BoxFuture<'_, store::Result<()>> {
        self.inner.close()
    }
}

struct Replica {
    registry: Arc<Registry>,
    things: Arc<registry::Cache>,
}

impl Replica {
    async fn on(store: &Arc<Remote>) -> Self {
        let registry = Registry::start(store.clone()).await.expect("it answers");
        let things = registry.cache("g.io", "things", &FieldPaths::default());
        Replica { registry, things }
    }

    async fn create(&self, name: &str) -> Revision {
        let text = format!(
            r#"{{"apiVersion":"g.io/v1","kind":"Thing","metadata":{{"name":"{name}","namespace":"ns"}}}}"#
        );
        let new = NewObject::from(text.into_bytes());
        let created = self.registry.create(&self.things, &format!("ns/{name}"), new).await;
        created.expect("it can be written").revision
    }

    async fn remove(&self, name: &str) -> Revision {
        self.registry.fresh(&self.things).await.expect("it can be read");
        let key = format!("ns/{name}");
        let object = self.things.get(&key).expect("it is there");
        self.registry.remove(&self.things, &key, &object).await.expect("nobody is faster").revision
    }

    async fn names(&self) -> Vec<String> {
        soon(self.registry.fresh(&self.things)).await.expect("it can be read");
        let objects = self.things.snapshot(self.registry.applied()).objects;
        objects.values().map(|entry| entry.object.name().to_owned()).collect()
    }

    async fn watch(&self, start: Start) -> Watcher {
        let opened = Watcher::open(self.registry.clone(), self.things.clone(), start);
        soon(opened).await.expect("it can be watched").0
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("an answer in time")
}

/// The next changes, at least so many.
async fn changes(watcher: &mut Watcher, count: usize) -> Vec<(Change, String, u64)> {
    let mut all = Vec::new();
    while all.len() < count {
        let events = soon(watcher.next()).await.expect("the watch goes on");
        let told =
            |event: &Arc<registry::Event>| (event.change, event.object.name().to_owned(), event.revision.0);
        all.extend(events.iter().map(told));
    }
    all
}

#[tokio::test]
async fn what_one_replica_wrote_the_other_reads() {
    let store = Remote::new();
    let (one, two) = (Replica::on(&store).await, Replica::on(&store).await);
    assert_eq!(two.names().await, [""; 0]);
    for name in ["a", "b", "c"] {
        one.create(name).await;
        assert!(two.names().await.contains(&name.to_owned()));
    }
    two.remove("b").await;
    assert_eq!(one.names().await, ["a", "c"]);
}

#[tokio::test]
async fn a_read_does_not_wait_for_keys_of_others() {
    let store = Remote::new();
    let replica = Replica::on(&store).await;
    replica.create("a").await;
    assert_eq!(replica.names().await, ["a"]);
    // A revision of which no event comes: only asking for progress tells that nothing is missing.
    store.commit(Txn::create("/elsewhere", "x")).await.expect("it can be written");
    assert_eq!(replica.names().await, ["a"]);
    assert_eq!(replica.registry.applied(), store.current().await.expect("it answers"));
}

#[tokio::test]
async fn what_was_read_before_its_change_is_told_is_not_told_again() {
    let store = Remote::new();
    let (one, two) = (Replica::on(&store).await, Replica::on(&store).await);
    store.line.send_replace(Line::Late);
    one.create("a").await;
    let second = one.create("b").await;
    // Read now, while the watch still owes both changes.
    let mut watcher = two.watch(Start::State(At::Any)).await;
    assert_eq!(two.things.len(), 2);
    store.line.send_replace(Line::Up);
    let third = one.create("c").await;
    assert_eq!(changes(&mut watcher, 1).await, [(Change::Added, "c".to_owned(), third.0)]);
    assert!(second < third);
    assert_eq!(two.names().await, ["a", "b", "c"]);
}

#[tokio::test]
async fn a_broken_watch_is_resumed_where_it_was() {
    let store = Remote::new();
    let (one, two) = (Replica::on(&store).await, Replica::on(&store).await);
    assert_eq!(two.names().await, [""; 0]);
    let mut watcher = two.watch(Start::State(At::Fresh)).await;
    one.create("a").await;
    assert_eq!(changes(&mut watcher, 1).await.len(), 1);
    store.line.send_replace(Line::Down);
    let created = one.create("b").await;
    // `one` cannot read its own write either: it is told, after a while, instead of being shown an old state.
    let removed = Txn::delete("/registry/g.io/things/ns/b", created);
    let removed = store.commit(removed).await.expect("it can be written").revision;
    store.line.send_replace(Line::Up);
    let told = changes(&mut watcher, 2).await;
    assert_eq!(
        told,
        [(Change::Added, "b".to_owned(), created.0), (Change::Deleted, "b".to_owned(), removed.0)]
    );
    assert_eq!(two.names().await, ["a"]);
}

#[tokio::test]
async fn lost_history_ends_watches_and_renews_the_state() {
    let store = Remote::new();
    let (one, two) = (Replica::on(&store).await, Replica::on(&store).await);
    let first = one.create("gone").await;
    one.create("stays").await;
    assert_eq!(two.names().await, ["gone", "stays"]);
    let mut watcher = two.watch(Start::State(At::Fresh)).await;
    store.line.send_replace(Line::Down);
    store.commit(Txn::delete("/registry/g.io/things/ns/gone", first)).await.expect("it can be written");
    let last = one.create("new").await;
    store.compact(last).await.expect("it can be compacted");
    store.line.send_replace(Line::Up);
    assert_eq!(two.names().await, ["new", "stays"]);
    let ended = soon(watcher.next()).await;
    assert!(matches!(ended, Err(Error::Expired { .. })), "{ended:?}");
    // Whoever starts from the new state misses nothing from there on.
    let mut watcher = two.watch(Start::State(At::Fresh)).await;
    let next = one.create("next").await;
    assert_eq!(changes(&mut watcher, 1).await, [(Change::Added, "next".to_owned(), next.0)]);
}

#[tokio::test]
async fn a_watcher_ahead_of_the_compaction_goes_on() {
    let store = Remote::new();
    let (one, two) = (Replica::on(&store).await, Replica::on(&store).await);
    one.create("a").await;
    assert_eq!(two.names().await, ["a"]);
    store.line.send_replace(Line::Down);
    let missed = one.create("b").await;
    one.create("c").await;
    let last = one.create("d").await;
    // A watcher that asks from a revision the replica has not reached, but the history still has.
    store.compact(missed).await.expect("it can be compacted");
    let opening = two.watch(Start::After(missed));
    store.line.send_replace(Line::Up);
    let mut watcher = opening.await;
    let told: Vec<_> = changes(&mut watcher, 2).await.into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(told, ["c", "d"]);
    assert_eq!(two.names().await, ["a", "b", "c", "d"]);
    assert_eq!(watcher.seen(), last);
}

#[tokio::test]
async fn what_nobody_can_read_is_not_shown_as_it_was_before() {
    let store = Remote::new();
    let (one, two) = (Replica::on(&store).await, Replica::on(&store).await);
    let created = one.create("a").await;
    assert_eq!(two.names().await, ["a"]);
    let mut watcher = two.watch(Start::State(At::Fresh)).await;
    let broken = Txn::update("/registry/g.io/things/ns/a", "no object", created);
    let broken = store.commit(broken).await.expect("it can be written").revision;
    assert_eq!(changes(&mut watcher, 1).await, [(Change::Deleted, "a".to_owned(), broken.0)]);
    assert_eq!(two.names().await, [""; 0]);
}

/// A client that goes away while a large resource is being read must not make the next one wait from the beginning.
#[tokio::test]
async fn what_one_reader_began_the_next_one_has() {
    let store = Remote::new();
    let replica = Replica::on(&store).await;
    replica.create("a").await;
    store.may_range.send_replace(0);
    let mut began = store.ranges.subscribe();
    {
        let mut reading = std::pin::pin!(replica.registry.any_state(&replica.things));
        tokio::select! {
            _ = &mut reading => panic!("nothing can be read yet"),
            _ = began.wait_for(|count| *count == 1) => {}
        }
    }
    store.may_range.send_replace(1);
    let read = replica.registry.any_state(&replica.things);
    tokio::time::timeout(Duration::from_secs(10), read).await.expect("it goes on").expect("it can be read");
    assert_eq!(replica.names().await, ["a"]);
    assert_eq!(*store.ranges.borrow(), 1);
}
