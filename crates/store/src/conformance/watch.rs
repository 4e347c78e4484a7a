//! Watches and observers: every change, once, in order, whole.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use futures_util::future::join;
use parking_lot::Mutex;

use super::{Backend, Case, Sequence, changes, commit, create, current, read, soon, update};
use crate::{
    Error, EventBatch, EventKind, KeyRange, KeyValue, Observer, Range, Revision, Store, Txn, Watch,
    WatchMessage, Write,
};

pub(super) const CASES: &[Case] = &[
    ("events_tell_what_changed", |backend| Box::pin(events_tell_what_changed(backend))),
    ("a_watch_sees_its_range_only", |backend| Box::pin(a_watch_sees_its_range_only(backend))),
    ("an_answered_commit_can_be_read_from_a_watch", |backend| Box::pin(answered_means_told(backend))),
    ("a_watch_resumes_after_any_revision", |backend| Box::pin(a_watch_resumes_anywhere(backend))),
    ("a_watch_from_the_future_waits", |backend| Box::pin(a_watch_from_the_future_waits(backend))),
    ("a_cancelled_wait_loses_nothing", |backend| Box::pin(a_cancelled_wait_loses_nothing(backend))),
    ("watches_are_complete_under_load", |backend| Box::pin(watches_are_complete_under_load(backend))),
    ("observers_precede_answers", |backend| Box::pin(observers_precede_answers(backend))),
    ("closing_ends_watches", |backend| Box::pin(closing_ends_watches(backend))),
];

async fn open(store: &dyn Store, keys: KeyRange, after: Revision) -> Box<dyn Watch> {
    soon(store.watch(keys, after)).await.expect("the revision is kept")
}

/// The next events; progress may come in between and must not go back.
pub(super) async fn events(watch: &mut dyn Watch) -> Arc<EventBatch> {
    let mut progress = Revision::ZERO;
    loop {
        match soon(watch.next()).await.expect("the watch goes on") {
            WatchMessage::Events(batch) => {
                assert!(batch.revision > progress, "an event behind the progress that promised it");
                return batch;
            }
            WatchMessage::Progress(revision) => {
                assert!(revision >= progress, "progress goes back");
                progress = revision;
            }
        }
    }
}

async fn events_tell_what_changed(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut watch = open(store, KeyRange::all(), Revision::FIRST).await;
    let created = create(store, "/a", "1").await;
    let updated = update(store, "/a", "2", created).await;
    let deleted = commit(store, Txn::delete("/a", updated)).await.revision;

    let batch = events(&mut *watch).await;
    assert_eq!((batch.revision, changes(&batch)), (created, vec!["+/a=1".to_owned()]));
    assert_eq!(batch.events[0].previous, None);
    let batch = events(&mut *watch).await;
    assert_eq!((batch.revision, changes(&batch)), (updated, vec!["+/a=2".to_owned()]));
    let (kv, previous) = (&batch.events[0].kv, batch.events[0].previous.as_ref().expect("it existed"));
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (created, updated, 2));
    assert_eq!((&previous.value[..], previous.mod_revision, previous.version), (&b"1"[..], created, 1));
    let batch = events(&mut *watch).await;
    assert_eq!((batch.revision, changes(&batch)), (deleted, vec!["-/a".to_owned()]));
    let (kv, previous) = (&batch.events[0].kv, batch.events[0].previous.as_ref().expect("it existed"));
    assert_eq!(*kv, KeyValue::tombstone("/a".into(), deleted));
    assert_eq!((&previous.value[..], previous.mod_revision), (&b"2"[..], updated));
}

async fn a_watch_sees_its_range_only(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut watch = open(store, KeyRange::prefix("/a/"), Revision::FIRST).await;
    create(store, "/b/1", "x").await;
    let put = |key: &'static str| Write::Put { key: key.into(), value: "x".into(), expires_in: None };
    let mixed = Txn { conditions: Vec::new(), writes: vec![put("/a/1"), put("/b/2"), put("/a/2")] };
    let mixed = commit(store, mixed).await.revision;
    create(store, "/a", "x").await;
    let last = create(store, "/a/3", "x").await;
    let batch = events(&mut *watch).await;
    assert_eq!((batch.revision, changes(&batch)), (mixed, vec!["+/a/1=x".into(), "+/a/2=x".into()]));
    let batch = events(&mut *watch).await;
    assert_eq!((batch.revision, changes(&batch)), (last, vec!["+/a/3=x".to_owned()]));
}

/// Without waiting where the backend is local: `observe` tells whether it is.
async fn answered_means_told(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let is_local = store.observe(Arc::new(Ignore)).is_some();
    let mut watch = open(store, KeyRange::all(), Revision::FIRST).await;
    for key in ["/1", "/2", "/3"] {
        let revision = create(store, key, "x").await;
        let batch = if is_local {
            use futures_util::FutureExt as _;
            match watch.next().now_or_never().expect("ready when the commit is answered") {
                Ok(WatchMessage::Events(batch)) => batch,
                other => panic!("not the event: {other:?}"),
            }
        } else {
            events(&mut *watch).await
        };
        assert_eq!(batch.revision, revision);
    }
}

struct Ignore;

impl Observer for Ignore {
    fn committed(&self, _: &Arc<EventBatch>) {}
}

async fn a_watch_resumes_anywhere(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut revision = create(store, "/n", "0").await;
    for _ in 0..40 {
        revision = update(store, "/n", "x", revision).await;
    }
    for after in 1..revision.0 {
        let mut watch = open(store, KeyRange::all(), Revision(after)).await;
        for expected in after + 1..=revision.0 {
            assert_eq!(events(&mut *watch).await.revision, Revision(expected));
        }
    }
}

async fn a_watch_from_the_future_waits(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let first = create(store, "/a", "x").await;
    let mut watch = open(store, KeyRange::all(), first.next()).await;
    create(store, "/b", "x").await;
    let third = create(store, "/c", "x").await;
    assert_eq!(events(&mut *watch).await.revision, third);
}

async fn a_cancelled_wait_loses_nothing(backend: &mut dyn Backend) {
    use futures_util::FutureExt as _;
    let store = &*backend.store();
    let mut watch = open(store, KeyRange::all(), Revision::FIRST).await;
    for key in ["/1", "/2", "/3", "/4"] {
        // Polled once and dropped; nothing has happened yet.
        assert!(watch.next().now_or_never().is_none());
        let revision = create(store, key, "x").await;
        assert_eq!(events(&mut *watch).await.revision, revision);
    }
}

/// Applies events to a copy and checks that each fits what the copy holds.
#[derive(Default)]
struct Replica {
    state: BTreeMap<Bytes, KeyValue>,
    revision: Revision,
    seen: Vec<Revision>,
}

impl Replica {
    fn apply(&mut self, batch: &EventBatch) {
        assert!(batch.revision > self.revision, "{} after {}", batch.revision, self.revision);
        self.revision = batch.revision;
        self.seen.push(batch.revision);
        for event in &batch.events {
            assert_eq!(event.kv.mod_revision, batch.revision);
            let before = match event.kind {
                EventKind::Put => self.state.insert(event.kv.key.clone(), event.kv.clone()),
                EventKind::Delete => self.state.remove(&event.kv.key),
            };
            assert_eq!(event.previous, before, "the event does not follow from the state before it");
        }
    }

    async fn follow(mut self, mut watch: Box<dyn Watch>, last: Revision) -> Self {
        while self.revision < last {
            self.apply(&*events(&mut *watch).await);
        }
        self
    }

    /// Opens a new watch after every few batches, where the last one stopped.
    async fn follow_in_pieces(mut self, store: &dyn Store, last: Revision) -> Self {
        while self.revision < last {
            let mut watch = open(store, KeyRange::all(), self.revision).await;
            for _ in 0..7 {
                if self.revision < last {
                    self.apply(&*events(&mut *watch).await);
                }
            }
        }
        self
    }
}

const WRITERS: u64 = 8;
const WRITES_EACH: u64 = 60;

async fn watches_are_complete_under_load(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let steady = open(store, KeyRange::all(), Revision::FIRST).await;
    let writers: Vec<_> = (0..WRITERS).map(|writer| churn(store, writer)).collect();
    // The first write of a sentinel ends the watches: nothing follows it.
    let load = async {
        let acknowledged = futures_util::future::join_all(writers).await.concat();
        let last = create(store, "/sentinel", "x").await;
        (acknowledged, last)
    };
    let (replica, (mut acknowledged, last)) = join(follow_to_sentinel(steady), load).await;
    assert_eq!(replica.revision, last);
    let late = open(store, KeyRange::all(), Revision::ZERO.next()).await;
    let late = Replica::default().follow(late, last).await;
    let pieces = Replica { revision: Revision::FIRST, ..Replica::default() };
    let pieces = pieces.follow_in_pieces(store, last).await;
    acknowledged.push(last);
    acknowledged.sort_unstable();
    let stored = read(store, Range::values(KeyRange::all())).await.kvs;
    for replica in [replica, late, pieces] {
        assert_eq!(replica.seen, acknowledged, "each acknowledged revision once, and no other");
        assert_eq!(replica.state.into_values().collect::<Vec<_>>(), stored);
    }
}

async fn follow_to_sentinel(mut watch: Box<dyn Watch>) -> Replica {
    let mut replica = Replica::default();
    while !replica.state.contains_key(&b"/sentinel"[..]) {
        replica.apply(&*events(&mut *watch).await);
    }
    replica
}

/// Creates, updates and deletes some keys, shared with other writers; the revisions it was given.
async fn churn(store: &dyn Store, writer: u64) -> Vec<Revision> {
    let mut random = Sequence(writer);
    let mut acknowledged = Vec::new();
    for number in 0..WRITES_EACH {
        let key = format!("/key/{}", random.below(12));
        let found = read(store, Range::values(KeyRange::key(key.clone()))).await.kvs;
        let value = format!("{writer}-{number}");
        let txn = match found.first() {
            None => Txn::create(key, value),
            Some(kv) if random.below(4) == 0 => Txn::delete(key, kv.mod_revision),
            Some(kv) => Txn::update(key, value, kv.mod_revision),
        };
        match soon(store.commit(txn)).await {
            Ok(committed) => acknowledged.push(committed.revision),
            Err(Error::Conflict { .. }) => {}
            Err(error) => panic!("unexpected: {error:?}"),
        }
    }
    acknowledged
}

#[derive(Default)]
struct Recorder(Mutex<Vec<Revision>>);

impl Observer for Recorder {
    fn committed(&self, batch: &Arc<EventBatch>) {
        self.0.lock().push(batch.revision);
    }
}

async fn observers_precede_answers(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let before = create(store, "/before", "x").await;
    let recorder = Arc::new(Recorder::default());
    let Some(from) = store.observe(Arc::clone(&recorder) as Arc<dyn Observer>) else { return };
    assert_eq!(from, before);
    let one = async |writer: u64| {
        for number in 0..20 {
            let txn = Txn::create(format!("/{writer}/{number}"), "x");
            let revision = commit(store, txn).await.revision;
            assert!(recorder.0.lock().contains(&revision), "answered before the observer knew");
        }
    };
    futures_util::future::join_all((0..WRITERS).map(one)).await;
    let expected: Vec<_> = (before.0 + 1..=current(store).await.0).map(Revision).collect();
    assert_eq!(*recorder.0.lock(), expected, "in order, once");
}

async fn closing_ends_watches(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut watch = open(store, KeyRange::all(), Revision::FIRST).await;
    let revision = create(store, "/a", "x").await;
    assert_eq!(events(&mut *watch).await.revision, revision);
    assert!(store.stats().writable);
    let (ended, closed) = join(soon(watch.next()), soon(store.close())).await;
    closed.expect("closing works");
    assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    assert!(matches!(soon(store.commit(Txn::create("/b", "x"))).await, Err(Error::Unavailable(_))));
    assert!(matches!(soon(store.range(Range::values(KeyRange::all()))).await, Err(Error::Unavailable(_))));
    assert!(matches!(soon(store.current()).await, Err(Error::Unavailable(_))));
    assert!(!store.stats().writable);
    soon(store.close()).await.expect("closing again does nothing");
}
