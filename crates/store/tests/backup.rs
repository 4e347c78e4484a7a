//! Backups: made while writers write, restored with their revisions, refused when damaged.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path, sync::Arc, time::Duration};

use crest_store::{
    Error, KeyRange, KeyValue, ManualClock, Range, Revision, Store, Txn, UnixSeconds, Write,
    backup::{self, Archive, ArchiveError},
    embedded::{EmbeddedStore, Options, RestoreError, restore},
    memory::MemoryStore,
};
use tempfile::TempDir;

fn open(dir: &Path) -> Arc<EmbeddedStore> {
    Arc::new(EmbeddedStore::open(dir, Options::default()).unwrap())
}

async fn everything(store: &dyn Store, at: Revision) -> Vec<KeyValue> {
    store.range(Range::values(KeyRange::all()).at(at)).await.unwrap().kvs
}

/// Updated, deleted, expiring, several at one revision, empty and large.
async fn fill(store: &dyn Store) -> Revision {
    for number in 0..200 {
        let created = store.commit(Txn::create(format!("/k/{number:03}"), "1")).await.unwrap().revision;
        match number % 4 {
            0 => drop(store.commit(Txn::delete(format!("/k/{number:03}"), created)).await.unwrap()),
            1 => drop(store.commit(Txn::update(format!("/k/{number:03}"), "2", created)).await.unwrap()),
            _ => {}
        }
    }
    let put = |key: &'static str, value: Vec<u8>| Write::Put {
        key: key.into(),
        value: value.into(),
        expires_in: None,
    };
    let writes = vec![put("/together/a", Vec::new()), put("/together/b", vec![7; 1 << 20])];
    store.commit(Txn { conditions: Vec::new(), writes }).await.unwrap();
    let expiring = Txn::create("/expiring", "x").expiring_in(Duration::from_hours(1));
    store.commit(expiring).await.unwrap().revision
}

#[tokio::test]
async fn a_restored_store_is_what_was_backed_up() {
    let dir = TempDir::new().unwrap();
    let (file, source, target) = (dir.path().join("b"), dir.path().join("source"), dir.path().join("target"));
    let store = open(&source);
    let revision = fill(&*store).await;
    let before = everything(&*store, revision).await;
    let summary = backup::write_file(Arc::clone(&store) as Arc<dyn Store>, &file).await.unwrap();
    assert_eq!((summary.revision, summary.records), (revision, before.len() as u64));
    assert_eq!(restore(fs::File::open(&file).unwrap(), &target).unwrap(), summary);

    let restored = open(&target);
    assert_eq!(everything(&*restored, revision).await, before);
    assert_eq!(restored.current().await.unwrap(), revision);
    let older = restored.range(Range::values(KeyRange::all()).at(Revision(revision.0 - 1))).await;
    assert!(matches!(older, Err(Error::Compacted { oldest }) if oldest == revision));
    assert!(restored.watch(KeyRange::all(), revision).await.is_ok());
    let kv = &before[0];
    let next = restored.commit(Txn::update(kv.key.clone(), "new", kv.mod_revision)).await.unwrap();
    assert_eq!(next.revision, revision.next());
    // Nothing is left behind but the two stores and the backup.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[tokio::test]
async fn a_restored_key_still_expires() {
    let dir = TempDir::new().unwrap();
    let clock = ManualClock::starting_at(UnixSeconds(1_000));
    let options = Options {
        clock: Arc::new(clock.clone()),
        housekeeping: Duration::from_millis(5),
        ..Options::default()
    };
    let store = EmbeddedStore::open(&dir.path().join("a"), options.clone()).unwrap();
    let expiring = Txn::create("/a", "x").expiring_in(Duration::from_mins(1));
    let revision = store.commit(expiring).await.unwrap().revision;
    let file = dir.path().join("b");
    backup::write_file(Arc::new(store), &file).await.unwrap();
    restore(fs::File::open(&file).unwrap(), &dir.path().join("c")).unwrap();
    let restored = EmbeddedStore::open(&dir.path().join("c"), options).unwrap();
    let mut watch = restored.watch(KeyRange::all(), revision).await.unwrap();
    clock.advance(Duration::from_mins(1));
    watch.next().await.unwrap();
    assert!(everything(&restored, revision.next()).await.is_empty());
}

#[tokio::test]
async fn a_backup_is_one_state_though_others_write() {
    let dir = TempDir::new().unwrap();
    let store = open(&dir.path().join("a"));
    for number in 0..300 {
        store.commit(Txn::create(format!("/k/{number:03}"), "1")).await.unwrap();
    }
    let mut backup = backup::Backup::start(Arc::clone(&store) as Arc<dyn Store>).await.unwrap();
    let revision = backup.summary().revision;
    let before = everything(&*store, revision).await;
    let mut bytes = Vec::new();
    let mut number = 0;
    while let Some(piece) = backup.next().await.unwrap() {
        bytes.extend_from_slice(&piece);
        // Ahead of and behind where the backup is.
        for key in [number, 299 - number] {
            let kv = &before[key];
            store.commit(Txn::update(kv.key.clone(), "2", kv.mod_revision)).await.unwrap();
        }
        number += 1;
    }
    assert!(number > 3, "it came in several pieces");
    let mut archive = Archive::open(&bytes[..]).unwrap();
    let mut archived = Vec::new();
    while let Some(kv) = archive.next().unwrap() {
        archived.push(kv);
    }
    assert_eq!(archived, before);
}

#[tokio::test]
async fn every_backend_can_be_backed_up() {
    let dir = TempDir::new().unwrap();
    let store = Arc::new(MemoryStore::default());
    let revision = fill(&*store).await;
    let file = dir.path().join("b");
    backup::write_file(Arc::clone(&store) as Arc<dyn Store>, &file).await.unwrap();
    restore(fs::File::open(&file).unwrap(), &dir.path().join("c")).unwrap();
    let restored = open(&dir.path().join("c"));
    assert_eq!(everything(&*restored, revision).await, everything(&*store, revision).await);
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let store = Arc::new(MemoryStore::default());
    for number in 0..20 {
        store.commit(Txn::create(format!("/k/{number}"), "value")).await.unwrap();
    }
    let file = dir.path().join("b");
    backup::write_file(store, &file).await.unwrap();
    let good = fs::read(&file).unwrap();
    let read = |bytes: &[u8]| -> Result<(), ArchiveError> {
        let mut archive = Archive::open(bytes)?;
        while archive.next()?.is_some() {}
        Ok(())
    };
    read(&good).unwrap();
    for length in 0..good.len() {
        read(&good[..length]).expect_err("cut off");
    }
    for position in 0..good.len() {
        let mut bad = good.clone();
        bad[position] ^= 0x20;
        read(&bad).expect_err("a flipped bit");
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(matches!(read(&longer), Err(ArchiveError::Damaged(_))));

    let target = dir.path().join("c");
    let error = restore(&good[..good.len() - 1], &target).unwrap_err();
    assert_eq!(error.to_string(), "the backup is damaged: its end is missing");
    assert!(!target.exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only the backup is there");
    let error = restore(&b"something else, and longer than a header is"[..], &target).unwrap_err();
    assert_eq!(error.to_string(), "this is not a backup");
}

#[tokio::test]
async fn a_store_is_not_overwritten() {
    let dir = TempDir::new().unwrap();
    let store = open(&dir.path().join("a"));
    let file = dir.path().join("b");
    backup::write_file(store, &file).await.unwrap();
    let again = restore(fs::File::open(&file).unwrap(), &dir.path().join("a"));
    assert!(matches!(again, Err(RestoreError::NotEmpty { .. })));
    fs::create_dir(dir.path().join("empty")).unwrap();
    restore(fs::File::open(&file).unwrap(), &dir.path().join("empty")).unwrap();
}
