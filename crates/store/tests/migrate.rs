//! From the embedded store to etcd and back: what was written stays, under the revisions it had.

use std::{path::Path, sync::Arc, time::Duration};

use crest_store::{
    KeyRange, KeyValue, Range, Revision, Store, SystemClock, Txn,
    backup::{self, Summary},
    embedded::{self, EmbeddedStore},
    etcd::{self, Access, EtcdStore, Keyspace, Options, RestoreError, Revisions},
};
use tempfile::TempDir;
use testkit::{Etcd, EtcdSetup, EtcdVersion};

const LIFE: Duration = Duration::from_mins(30);

fn store_on(etcd: &Etcd, prefix: &'static str) -> EtcdStore {
    let access = Access { endpoints: etcd.endpoints(), ..Access::default() };
    let keyspace = Keyspace::mapped("/registry/", prefix);
    EtcdStore::new(Options { access, keyspace, ..Options::default() }).expect("the endpoints are fine")
}

fn embedded(dir: &Path) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open(dir, embedded::Options::default()).expect("it opens"))
}

async fn commit(store: &dyn Store, txn: Txn) -> Revision {
    store.commit(txn).await.expect("the transaction is fine").revision
}

/// Keys of different ages, with gaps between their revisions.
async fn fill(store: &dyn Store) {
    let mut changing = commit(store, Txn::create("/registry/things/changing", "0")).await;
    commit(store, Txn::create("/registry/things/old", "old")).await;
    let gone = commit(store, Txn::create("/registry/things/gone", "x")).await;
    for number in 1..700 {
        changing =
            commit(store, Txn::update("/registry/things/changing", number.to_string(), changing)).await;
    }
    commit(store, Txn::create("/registry/events/passing", "e").expiring_in(LIFE)).await;
    commit(store, Txn::delete("/registry/things/gone", gone)).await;
    commit(store, Txn::create("/registry/things/new", "new")).await;
    let put = commit(store, Txn::create("/registry/things/briefly", "x")).await;
    commit(store, Txn::delete("/registry/things/briefly", put)).await;
}

async fn everything(store: &dyn Store) -> Vec<KeyValue> {
    store.range(Range::values(KeyRange::all()).with_expiry()).await.expect("it can be read").kvs
}

/// What clients see of a key: its name, its value, its resource version.
fn seen(kvs: &[KeyValue]) -> Vec<(String, String, Revision)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    kvs.iter().map(|kv| (text(&kv.key), text(&kv.value), kv.mod_revision)).collect()
}

async fn restore(store: &EtcdStore, file: &Path, how: Revisions) -> Result<Summary, RestoreError> {
    let file = std::fs::File::open(file).expect("the backup is there");
    etcd::restore(store, file, how, &SystemClock, |_| {}).await
}

#[tokio::test]
async fn resource_versions_survive_the_way_to_etcd_and_back() {
    for version in EtcdVersion::ALL {
        let Some(setup) = EtcdSetup::new(version) else { continue };
        let etcd = setup.start();
        let dir = TempDir::new().expect("a directory");
        let first = embedded(&dir.path().join("first"));
        fill(&*first).await;
        let before = everything(&*first).await;
        let file = dir.path().join("to-etcd.backup");
        let summary = backup::write_file(first, &file).await.expect("it can be written");

        let store = Arc::new(store_on(&etcd, "/elsewhere/"));
        let restored = restore(&store, &file, Revisions::Kept).await.expect("etcd is empty");
        assert_eq!(restored.records, summary.records);
        let on_etcd = everything(&*store).await;
        assert_eq!(seen(&on_etcd), seen(&before));
        let current = store.current().await.expect("it answers");
        assert!((summary.revision..=summary.revision.next()).contains(&current), "{current}");
        // History before it is as if compacted.
        let oldest = store.range(Range::values(KeyRange::all()).at(Revision(5))).await;
        assert!(matches!(oldest, Err(crest_store::Error::Compacted { .. })), "{oldest:?}");

        let file = dir.path().join("from-etcd.backup");
        backup::write_file(store.clone(), &file).await.expect("it can be written");
        let archive = std::fs::File::open(&file).expect("it was written");
        let home = dir.path().join("second");
        embedded::restore(archive, &home).expect("it is new");
        let second = embedded(&home);
        let after = everything(&*second).await;
        assert_eq!(seen(&after), seen(&before));
        let ends = |kvs: &[KeyValue]| kvs.iter().find_map(|kv| kv.expires_at).expect("one expires").0;
        // Leases may be shared by keys that want about the same end.
        assert!(ends(&after) >= ends(&before) && ends(&after) <= ends(&before) + LIFE.as_secs() / 10);
        assert_eq!(second.current().await.expect("it is open"), current);
    }
}

#[tokio::test]
async fn an_etcd_that_is_not_new_gets_newer_revisions_or_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    let dir = TempDir::new().expect("a directory");
    let first = embedded(&dir.path().join("first"));
    fill(&*first).await;
    let before = everything(&*first).await;
    let file = dir.path().join("backup");
    let summary = backup::write_file(first, &file).await.expect("it can be written");

    let neighbour = store_on(&etcd, "/neighbour/");
    for name in ["a", "b", "c"] {
        commit(&neighbour, Txn::create(format!("/registry/{name}"), "x")).await;
    }
    let refused = restore(&neighbour, &file, Revisions::New).await;
    assert!(matches!(refused, Err(RestoreError::NotEmpty)), "{refused:?}");
    let store = store_on(&etcd, "/ours/");
    let refused = restore(&store, &file, Revisions::Kept).await;
    assert!(matches!(refused, Err(RestoreError::TooOld { .. })), "{refused:?}");
    restore(&store, &file, Revisions::New).await.expect("it takes new revisions");
    let after = everything(&store).await;
    let values =
        |kvs: &[KeyValue]| -> Vec<_> { seen(kvs).into_iter().map(|(key, value, _)| (key, value)).collect() };
    assert_eq!(values(&after), values(&before));
    assert!(after.iter().all(|kv| kv.mod_revision > summary.revision));
    assert_eq!(everything(&neighbour).await.len(), 3, "others' keys are left alone");
}
