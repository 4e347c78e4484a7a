//! Ranges: order, bounds, pages, what is shown, and reads at older revisions.

use super::{Backend, Case, commit, create, current, pairs, read, soon, update};
use crate::{Error, KeyRange, Range, Revision, Txn};

pub(super) const CASES: &[Case] = &[
    ("ranges_are_ordered_and_bounded", |backend| Box::pin(ranges_are_ordered_and_bounded(backend))),
    ("keys_and_counts_need_no_values", |backend| Box::pin(keys_and_counts_need_no_values(backend))),
    ("pages_show_one_state", |backend| Box::pin(pages_show_one_state(backend))),
    ("older_states_can_be_read", |backend| Box::pin(older_states_can_be_read(backend))),
    ("the_future_cannot_be_read", |backend| Box::pin(the_future_cannot_be_read(backend))),
];

async fn ranges_are_ordered_and_bounded(backend: &mut dyn Backend) {
    let store = &*backend.store();
    for key in ["/b/2", "/a/1", "/b/10", "/c", "/b/1", "/b"] {
        create(store, key, "x").await;
    }
    let keys = async |range: KeyRange| {
        let kvs = read(store, Range::values(range)).await.kvs;
        kvs.iter().map(|kv| String::from_utf8_lossy(&kv.key).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(KeyRange::all()).await, ["/a/1", "/b", "/b/1", "/b/10", "/b/2", "/c"]);
    assert_eq!(keys(KeyRange::prefix("/b/")).await, ["/b/1", "/b/10", "/b/2"]);
    assert_eq!(keys(KeyRange::key("/b")).await, ["/b"]);
    assert_eq!(keys(KeyRange::key("/d")).await, [""; 0]);
    assert_eq!(keys(KeyRange { start: "/b/10".into(), end: "/b/2".into() }).await, ["/b/10"]);
    assert_eq!(keys(KeyRange { start: "/c".into(), end: "/a".into() }).await, [""; 0]);
    assert_eq!(keys(KeyRange { start: "/b/2".into(), end: "".into() }).await, ["/b/2", "/c"]);
}

async fn keys_and_counts_need_no_values(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let revision = create(store, "/a", "x").await;
    create(store, "/b", "y").await;
    let keys = read(store, Range::keys(KeyRange::all())).await;
    assert_eq!(pairs(&keys), ["/a=", "/b="]);
    assert_eq!(keys.kvs[0].mod_revision, revision);
    let counted = read(store, Range::count(KeyRange::all())).await;
    assert_eq!((counted.kvs.len(), counted.count, counted.more), (0, 2, false));
    let counted = read(store, Range::count(KeyRange::all()).at(revision)).await;
    assert_eq!(counted.count, 1);
}

async fn pages_show_one_state(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut last = Revision::FIRST;
    for key in ["/1", "/2", "/3", "/4", "/5"] {
        last = create(store, key, "x").await;
    }
    let first = read(store, Range::values(KeyRange::all()).limit(2)).await;
    assert_eq!((pairs(&first), first.more), (vec!["/1=x".into(), "/2=x".into()], true));
    assert!((3..=5).contains(&first.count), "a lower bound: {}", first.count);
    assert_eq!(first.revision, last);
    // Changes between the pages are not seen.
    commit(store, Txn::delete("/3", Revision(4))).await;
    create(store, "/6", "x").await;
    update(store, "/4", "y", Revision(5)).await;
    let rest = KeyRange::all().behind(b"/2");
    let second = read(store, Range::values(rest).at(first.revision).limit(2)).await;
    assert_eq!((pairs(&second), second.more), (vec!["/3=x".into(), "/4=x".into()], true));
    let rest = KeyRange::all().behind(b"/4");
    let third = read(store, Range::values(rest).at(first.revision).limit(2)).await;
    assert_eq!((pairs(&third), third.more, third.count), (vec!["/5=x".into()], false, 1));
    assert_eq!(third.revision, current(store).await, "the revision of the store, not of the page");
    // A limit that just fits cuts nothing off.
    let exact = read(store, Range::values(KeyRange::all()).limit(5)).await;
    assert_eq!((exact.kvs.len(), exact.more, exact.count), (5, false, 5));
}

async fn older_states_can_be_read(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let created = create(store, "/a", "1").await;
    let updated = update(store, "/a", "2", created).await;
    let other = create(store, "/b", "1").await;
    let deleted = commit(store, Txn::delete("/a", updated)).await.revision;
    let again = create(store, "/a", "3").await;
    let at = async |revision| pairs(&read(store, Range::values(KeyRange::all()).at(revision)).await);
    assert_eq!(at(Revision::FIRST).await, [""; 0]);
    assert_eq!(at(created).await, ["/a=1"]);
    assert_eq!(at(updated).await, ["/a=2"]);
    assert_eq!(at(other).await, ["/a=2", "/b=1"]);
    assert_eq!(at(deleted).await, ["/b=1"]);
    assert_eq!(at(again).await, ["/a=3", "/b=1"]);
    let kv = read(store, Range::values(KeyRange::key("/a")).at(other)).await.kvs.remove(0);
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (created, updated, 2));
}

async fn the_future_cannot_be_read(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let last = create(store, "/a", "1").await;
    let answer = soon(store.range(Range::values(KeyRange::all()).at(last.next()))).await;
    assert!(matches!(answer, Err(Error::FutureRevision { current }) if current == last), "{answer:?}");
}
