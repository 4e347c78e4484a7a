//! Transactions: conditions, several keys, what is refused and how.

use std::time::Duration;

use bytes::Bytes;

use super::{Backend, Case, commit, create, current, read, refused, update, value_of};
use crate::{Condition, Error, Expect, KeyRange, MAX_VALUE_BYTES, Range, Revision, Txn, Write};

pub(super) const CASES: &[Case] = &[
    ("create_needs_absence", |backend| Box::pin(create_needs_absence(backend))),
    ("update_needs_the_revision", |backend| Box::pin(update_needs_the_revision(backend))),
    ("delete_needs_the_revision", |backend| Box::pin(delete_needs_the_revision(backend))),
    ("keys_count_their_versions", |backend| Box::pin(keys_count_their_versions(backend))),
    ("several_keys_share_a_revision", |backend| Box::pin(several_keys_share_a_revision(backend))),
    ("one_failed_condition_stops_all_writes", |backend| Box::pin(one_failed_condition_stops_all(backend))),
    ("nothing_changed_takes_no_revision", |backend| Box::pin(nothing_changed_takes_no_revision(backend))),
    ("senseless_transactions_are_refused", |backend| Box::pin(senseless_transactions_are_refused(backend))),
    ("concurrent_updates_lose_none", |backend| Box::pin(concurrent_updates_lose_none(backend))),
];

async fn create_needs_absence(backend: &mut dyn Backend) {
    let store = &*backend.store();
    assert_eq!(current(store).await, Revision::FIRST, "an empty store is at the first revision");
    let first = commit(store, Txn::create("/a", "1")).await;
    assert_eq!(first.revision, Revision(2));
    assert_eq!(first.previous, [None]);
    let Error::Conflict { current } = refused(store, Txn::create("/a", "2")).await else {
        panic!("creating twice is a conflict")
    };
    let kv = current[0].as_ref().expect("the conflict shows what is there");
    assert_eq!((&kv.value[..], kv.mod_revision, kv.create_revision), (&b"1"[..], Revision(2), Revision(2)));
    assert_eq!(value_of(store, "/a").await.expect("it is there"), "1");
}

async fn update_needs_the_revision(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let created = create(store, "/a", "1").await;
    let updated = commit(store, Txn::update("/a", "2", created)).await;
    assert_eq!(updated.previous[0].as_ref().expect("there was one").value, "1");
    let Error::Conflict { current } = refused(store, Txn::update("/a", "3", created)).await else {
        panic!("an old revision is a conflict")
    };
    assert_eq!(current[0].as_ref().map(|kv| kv.mod_revision), Some(updated.revision));
    let Error::Conflict { current } = refused(store, Txn::update("/b", "3", created)).await else {
        panic!("an absent key is a conflict")
    };
    assert_eq!(current, [None]);
    assert_eq!(value_of(store, "/a").await.expect("it is there"), "2");
}

async fn delete_needs_the_revision(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let created = create(store, "/a", "1").await;
    let updated = update(store, "/a", "2", created).await;
    assert!(matches!(refused(store, Txn::delete("/a", created)).await, Error::Conflict { .. }));
    let deleted = commit(store, Txn::delete("/a", updated)).await;
    assert_eq!(deleted.previous[0].as_ref().expect("there was one").value, "2");
    assert_eq!(value_of(store, "/a").await, None);
    assert!(matches!(refused(store, Txn::delete("/a", updated)).await, Error::Conflict { .. }));
    let again = create(store, "/a", "3").await;
    assert!(again > deleted.revision);
}

async fn keys_count_their_versions(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let created = create(store, "/a", "1").await;
    let updated = update(store, "/a", "2", created).await;
    let kv = read(store, Range::values(KeyRange::key("/a"))).await.kvs.remove(0);
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (created, updated, 2));
    commit(store, Txn::delete("/a", updated)).await;
    let again = create(store, "/a", "3").await;
    let kv = read(store, Range::values(KeyRange::key("/a"))).await.kvs.remove(0);
    assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (again, again, 1));
}

async fn several_keys_share_a_revision(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let first = create(store, "/a", "1").await;
    let put = |key: &'static str| Write::Put { key: key.into(), value: "2".into(), expires_in: None };
    let txn = Txn {
        conditions: vec![
            Condition { key: "/a".into(), expect: Expect::At(first) },
            Condition { key: "/b".into(), expect: Expect::Absent },
            Condition { key: "/other".into(), expect: Expect::Anything },
        ],
        writes: vec![put("/b"), Write::Delete { key: "/a".into() }, put("/c")],
    };
    let committed = commit(store, txn).await;
    assert_eq!(committed.revision, first.next());
    let before: Vec<_> = committed.previous.iter().map(|kv| kv.as_ref().map(|kv| kv.mod_revision)).collect();
    assert_eq!(before, [None, Some(first), None], "in the order of the writes");
    let all = read(store, Range::values(KeyRange::all())).await;
    assert_eq!(super::pairs(&all), ["/b=2", "/c=2"]);
    assert!(all.kvs.iter().all(|kv| kv.mod_revision == committed.revision));
}

async fn one_failed_condition_stops_all(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let first = create(store, "/a", "1").await;
    let txn = Txn {
        conditions: vec![
            Condition { key: "/a".into(), expect: Expect::At(first) },
            Condition { key: "/a".into(), expect: Expect::Absent },
            Condition { key: "/b".into(), expect: Expect::Anything },
        ],
        writes: vec![Write::Delete { key: "/a".into() }],
    };
    let Error::Conflict { current: found } = refused(store, txn).await else { panic!("no conflict") };
    let found: Vec<_> = found.iter().map(|kv| kv.as_ref().map(|kv| kv.mod_revision)).collect();
    assert_eq!(found, [Some(first), Some(first), None], "one answer for each condition");
    assert_eq!(current(store).await, first);
}

async fn nothing_changed_takes_no_revision(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let first = create(store, "/a", "1").await;
    let delete_absent = Txn { conditions: Vec::new(), writes: vec![Write::Delete { key: "/b".into() }] };
    let committed = commit(store, delete_absent).await;
    assert_eq!((committed.revision, committed.previous), (first, vec![None]));
    assert_eq!(commit(store, Txn::default()).await.revision, first);
    assert_eq!(current(store).await, first);
    let same = update(store, "/a", "1", first).await;
    assert_eq!(same, first.next(), "writing the same value is a change");
}

async fn senseless_transactions_are_refused(backend: &mut dyn Backend) {
    let store = &*backend.store();
    let mut twice = Txn::create("/a", "1");
    twice.writes.push(Write::Delete { key: "/a".into() });
    assert!(matches!(refused(store, twice).await, Error::Invalid(_)));
    assert!(matches!(refused(store, Txn::create("", "1")).await, Error::Invalid(_)));
    let large = Txn::create("/a", Bytes::from(vec![b'x'; 2 * MAX_VALUE_BYTES]));
    assert!(matches!(refused(store, large).await, Error::TooLarge { .. }));
    assert_eq!(current(store).await, Revision::FIRST);
    // A value of a megabyte is fine.
    commit(store, Txn::create("/a", Bytes::from(vec![b'x'; 1 << 20]))).await;
    assert_eq!(value_of(store, "/a").await.expect("it is there").len(), 1 << 20);
    // And so is an empty one.
    commit(store, Txn::create("/empty", "").expiring_in(Duration::from_hours(1))).await;
    assert_eq!(value_of(store, "/empty").await.expect("it is there").len(), 0);
}

/// Many add one to the same number with read, update, retry; the sum tells whether one was lost.
async fn concurrent_updates_lose_none(backend: &mut dyn Backend) {
    const WRITERS: usize = 16;
    const EACH: usize = 10;
    let store = &*backend.store();
    create(store, "/n", "0").await;
    let add = async || {
        for _ in 0..EACH {
            loop {
                let kv = read(store, Range::values(KeyRange::key("/n"))).await.kvs.remove(0);
                let number: u64 = std::str::from_utf8(&kv.value).expect("text").parse().expect("a number");
                let txn = Txn::update("/n", (number + 1).to_string(), kv.mod_revision);
                match store.commit(txn).await {
                    Ok(_) => break,
                    Err(Error::Conflict { .. }) => {}
                    Err(error) => panic!("unexpected: {error:?}"),
                }
            }
        }
    };
    let writers: Vec<_> = (0..WRITERS).map(|_| add()).collect();
    super::soon(futures_util::future::join_all(writers)).await;
    assert_eq!(value_of(store, "/n").await.expect("it is there"), (WRITERS * EACH).to_string());
    let updates = u64::try_from(WRITERS * EACH).expect("small");
    assert_eq!(current(store).await, Revision(2 + updates));
}
