//! Keys that leave when their time is over.

use std::time::Duration;

use super::{Backend, Case, changes, commit, create, soon, value_of, watch};
use crate::{EventKind, KeyRange, Revision, Txn};

pub(super) const CASES: &[Case] = &[
    ("keys_expire_with_an_event", |backend| Box::pin(keys_expire_with_an_event(backend))),
    ("a_write_sets_the_time_anew", |backend| Box::pin(a_write_sets_the_time_anew(backend))),
    ("time_goes_on_over_a_restart", |backend| Box::pin(time_goes_on_over_a_restart(backend))),
];

/// Short, since a backend without a clock of ours waits for it.
const SHORT: Duration = Duration::from_secs(2);

async fn keys_expire_with_an_event(backend: &mut dyn Backend) {
    let store = backend.store();
    let created = commit(&*store, Txn::create("/a", "x").expiring_in(SHORT)).await.revision;
    create(&*store, "/stays", "x").await;
    let mut watch = soon(store.watch(KeyRange::prefix("/a"), created)).await.expect("kept");
    backend.advance(SHORT).await;
    let batch = watch::events(&mut *watch).await;
    assert_eq!(changes(&batch), ["-/a"]);
    assert!(batch.revision > created);
    assert_eq!(batch.events[0].kind, EventKind::Delete);
    assert_eq!(batch.events[0].previous.as_ref().expect("it existed").value, "x");
    assert_eq!(value_of(&*store, "/a").await, None);
    assert!(value_of(&*store, "/stays").await.is_some());
}

async fn a_write_sets_the_time_anew(backend: &mut dyn Backend) {
    let store = backend.store();
    let expiring = |key, value, revision| match revision {
        None => Txn::create(key, value).expiring_in(SHORT),
        Some(revision) => Txn::update(key, value, revision).expiring_in(4 * SHORT),
    };
    let longer = commit(&*store, expiring("/longer", "1", None)).await.revision;
    let forever = commit(&*store, expiring("/forever", "1", None)).await.revision;
    commit(&*store, expiring("/longer", "2", Some(longer))).await;
    commit(&*store, Txn::update("/forever", "2", forever)).await;
    let last = commit(&*store, expiring("/marker", "1", None)).await.revision;
    let mut watch = soon(store.watch(KeyRange::all(), last)).await.expect("kept");
    // The marker was the last of those that expire first: when it is gone, they would be too.
    backend.advance(SHORT).await;
    assert_eq!(changes(&*watch::events(&mut *watch).await), ["-/marker"]);
    assert!(value_of(&*store, "/longer").await.is_some());
    backend.advance(4 * SHORT).await;
    assert_eq!(changes(&*watch::events(&mut *watch).await), ["-/longer"]);
    assert!(value_of(&*store, "/forever").await.is_some());
}

async fn time_goes_on_over_a_restart(backend: &mut dyn Backend) {
    commit(&*backend.store(), Txn::create("/a", "x").expiring_in(SHORT)).await;
    if !backend.reopen().await {
        return;
    }
    let store = backend.store();
    assert!(value_of(&*store, "/a").await.is_some());
    let mut watch = soon(store.watch(KeyRange::all(), Revision(2))).await.expect("kept");
    backend.advance(SHORT).await;
    assert_eq!(changes(&*watch::events(&mut *watch).await), ["-/a"]);
}
