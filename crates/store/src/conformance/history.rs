//! Compaction: what is given up is refused, what is kept stays readable.

use super::{Backend, Case, commit, create, current, pairs, read, soon, update, watch};
use crate::{Error, KeyRange, Range, Revision, Store, Txn, WatchMessage};

pub(super) const CASES: &[Case] = &[
    ("compaction_keeps_what_is_current", |backend| Box::pin(compaction_keeps_what_is_current(backend))),
    ("compacted_revisions_are_refused", |backend| Box::pin(compacted_revisions_are_refused(backend))),
    ("compaction_only_goes_forward", |backend| Box::pin(compaction_only_goes_forward(backend))),
    ("the_revision_survives_compaction", |backend| Box::pin(the_revision_survives_compaction(backend))),
    ("the_newest_state_is_never_compacted", |backend| Box::pin(the_newest_state_is_never_compacted(backend))),
    ("an_overtaken_watch_is_told", |backend| Box::pin(an_overtaken_watch_is_told(backend))),
];

async fn compact(store: &dyn Store, oldest: Revision) {
    soon(store.compact(oldest)).await.expect("it can be compacted");
}

/// Updates, deletes and creates again; the revisions in order.
async fn some_history(store: &dyn Store) -> [Revision; 6] {
    let created = create(store, "/a", "1").await;
    let other = create(store, "/b", "1").await;
    let updated = update(store, "/a", "2", created).await;
    let deleted = commit(store, Txn::delete("/b", other)).await.revision;
    let again = create(store, "/b", "2").await;
    let last = update(store, "/a", "3", updated).await;
    [created, other, updated, deleted, again, last]
}

async fn compaction_keeps_what_is_current(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let [.., updated, deleted, again, last] = some_history(store).await;
    for oldest in [updated, deleted, again, last] {
        compact(store, oldest).await;
        let at = async |revision| pairs(&read(store, Range::values(KeyRange::all()).at(revision)).await);
        if oldest <= updated {
            assert_eq!(at(updated).await, ["/a=2", "/b=1"]);
        }
        if oldest <= deleted {
            assert_eq!(at(deleted).await, ["/a=2"]);
        }
        if oldest <= again {
            assert_eq!(at(again).await, ["/a=2", "/b=2"]);
        }
        assert_eq!(at(last).await, ["/a=3", "/b=2"]);
        let mut resumed = soon(store.watch(KeyRange::all(), oldest)).await.expect("just kept");
        for expected in oldest.0 + 1..=last.0 {
            assert_eq!(watch::events(&mut *resumed).await.revision, Revision(expected));
        }
    }
    let now = read(store, Range::values(KeyRange::all())).await;
    assert_eq!(pairs(&now), ["/a=3", "/b=2"]);
}

async fn compacted_revisions_are_refused(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let [.., updated, _, _, last] = some_history(store).await;
    compact(store, last).await;
    let read = soon(store.range(Range::values(KeyRange::all()).at(updated))).await;
    assert!(matches!(read, Err(Error::Compacted { oldest }) if oldest == last), "{read:?}");
    match soon(store.watch(KeyRange::all(), updated)).await {
        Err(Error::Compacted { oldest }) => assert_eq!(oldest, last),
        Err(error) => panic!("unexpected: {error:?}"),
        // A remote backend may only find out when it reads.
        Ok(mut watch) => {
            let first = soon(watch.next()).await;
            assert!(matches!(first, Err(Error::Compacted { .. })), "{first:?}");
        }
    }
}

async fn compaction_only_goes_forward(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let [created, .., last] = some_history(store).await;
    compact(store, last).await;
    compact(store, last).await;
    compact(store, created).await;
    let refused = soon(store.range(Range::values(KeyRange::all()).at(created))).await;
    assert!(matches!(refused, Err(Error::Compacted { .. })));
    let future = soon(store.compact(last.next())).await;
    assert!(matches!(future, Err(Error::FutureRevision { .. })), "{future:?}");
}

/// The newest record is a deletion and goes; the revision it took must not be given out again.
async fn the_revision_survives_compaction(backend: &mut dyn Backend) {
    {
        let store = &*backend.store();
        let created = create(store, "/a", "1").await;
        let deleted = commit(store, Txn::delete("/a", created)).await.revision;
        compact(store, deleted).await;
        assert_eq!(current(store).await, deleted);
    }
    backend.reopen().await;
    let store = &*backend.store();
    if current(store).await > Revision::FIRST {
        assert_eq!(create(store, "/a", "2").await, Revision(4));
    }
}

/// A read of the newest state that compaction overtakes is answered all the same.
async fn the_newest_state_is_never_compacted(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut revision = create(store, "/n", "0").await;
    for _ in 0..100 {
        let write = async {
            let next = update(store, "/n", "x", revision).await;
            compact(store, next).await;
            next
        };
        let reads = (0..4).map(|_| read(store, Range::values(KeyRange::all())));
        let (next, results) = futures_util::future::join(write, futures_util::future::join_all(reads)).await;
        assert!(results.iter().all(|result| result.kvs.len() == 1 && result.revision >= revision));
        revision = next;
    }
}

/// It gets everything or is told that it cannot; never less in silence.
async fn an_overtaken_watch_is_told(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut revision = create(store, "/n", "0").await;
    let mut watch = soon(store.watch(KeyRange::all(), revision)).await.expect("kept");
    let first = revision;
    for _ in 0..20 {
        revision = update(store, "/n", "x", revision).await;
    }
    compact(store, revision).await;
    let mut seen = first;
    loop {
        match soon(watch.next()).await {
            Ok(WatchMessage::Events(batch)) => {
                assert_eq!(batch.revision, seen.next());
                seen = batch.revision;
            }
            Ok(WatchMessage::Progress(progress)) => assert_eq!(progress, seen),
            Err(Error::Compacted { oldest }) => {
                assert_eq!(oldest, revision);
                return;
            }
            Err(error) => panic!("unexpected: {error:?}"),
        }
        if seen == revision {
            return;
        }
    }
}
