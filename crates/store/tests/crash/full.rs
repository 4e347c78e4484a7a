//! A full disk, and one that fails: honest errors, and nothing acknowledged is lost.

use std::{fs, sync::Arc};

use crest_store::{
    Error, Store, Txn,
    embedded::{EmbeddedStore, Options},
};
use tempfile::TempDir;

use super::{child, image};

const VALUE_BYTES: usize = 3_000;

/// Mounts a small file system for the child alone.
const SMALL_DISK: &str = r#"
    mount -t tmpfs -o size=6m tmpfs "$CREST_STORE_CHILD" && exec "$@"
"#;

/// Files may not exceed 2 MiB (in blocks of 512 bytes): writes beyond fail, as on a broken disk.
const SHORT_FILES: &str = r#"trap "" XFSZ; ulimit -f 4096; exec "$@""#;

#[test]
fn a_full_disk_is_an_error_that_passes() {
    let dir = TempDir::new().unwrap();
    let script = format!("exec unshare --user --map-root-user --mount sh -c '{SMALL_DISK}' sh \"$@\"");
    let output = child::command("full::fill_the_disk", dir.path(), Some(&script)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    if complained.contains("unshare") || complained.contains("mount:") {
        println!("skipped: no file system can be mounted here ({})", complained.trim());
        return;
    }
    assert!(output.status.success(), "{said}{complained}");
    assert!(said.contains("passed"), "{said}");
}

#[test]
fn fill_the_disk() {
    let Some(dir) = child::task() else { return };
    let (ballast, data) = (dir.join("ballast"), dir.join("data"));
    fs::write(&ballast, vec![1; 3 << 20]).unwrap();
    let store = EmbeddedStore::open(&data, Options::default()).unwrap();
    let (acknowledged, error) = write_until_refused(&store, "before");
    assert!(acknowledged > 10, "{acknowledged}");
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(format!("{error:?}").contains("full"), "{error:?}");
    assert_eq!(image::state(&store).unwrap().1.len(), acknowledged, "readable, and nothing of the refused");
    let again = commit(&store, "/still-full".into()).unwrap_err();
    assert!(matches!(again, Error::Unavailable(_)), "{again:?}");

    fs::remove_file(&ballast).unwrap();
    commit(&store, "/after".into()).expect("there is room again");
    drop(store);
    let store = EmbeddedStore::open(&data, Options::default()).unwrap();
    let (_, keys) = image::state(&store).unwrap();
    assert_eq!(keys.len(), acknowledged + 1);
    assert!(keys.contains_key("/after"));
    child::tell("passed");
}

#[test]
fn a_failing_disk_ends_writing_until_it_is_opened_again() {
    let dir = TempDir::new().unwrap();
    let output = child::command("full::break_the_disk", dir.path(), Some(SHORT_FILES)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let acknowledged = said.lines().find_map(|line| line.strip_prefix("acknowledged ")).expect("it told");
    // Without the limit everything is there that was acknowledged, and it can be written again.
    let store = EmbeddedStore::open(dir.path(), Options::default()).unwrap();
    let (_, keys) = image::state(&store).unwrap();
    let count: usize = acknowledged.parse().unwrap();
    assert!((count..=count + 1).contains(&keys.len()), "{} of {count}", keys.len());
    commit(&store, "/after".into()).unwrap();
}

#[test]
fn break_the_disk() {
    let Some(dir) = child::task() else { return };
    let store = EmbeddedStore::open(&dir, Options::default()).unwrap();
    let (acknowledged, error) = write_until_refused(&store, "before");
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(!store.stats().writable);
    let again = commit(&store, "/small".into()).unwrap_err();
    assert!(matches!(again, Error::Unavailable(_)), "poisoned: {again:?}");
    assert_eq!(image::state(&store).unwrap().1.len(), acknowledged, "still readable");
    child::tell(&format!("acknowledged {acknowledged}"));
    // As a crash would: no orderly end.
    std::mem::forget(store);
}

/// The panic of one thread must not leave the others waiting.
#[test]
fn a_panicking_observer_ends_writing_and_hangs_nobody() {
    struct Panics;
    impl crest_store::Observer for Panics {
        fn committed(&self, _: &Arc<crest_store::EventBatch>) {
            panic!("on purpose");
        }
    }
    let dir = TempDir::new().unwrap();
    let store = EmbeddedStore::open(dir.path(), Options::default()).unwrap();
    store.observe(Arc::new(Panics));
    assert!(matches!(commit(&store, "/a".into()), Err(Error::Unavailable(_))));
    assert!(matches!(commit(&store, "/b".into()), Err(Error::Unavailable(_))));
    drop(store);
    // It was on disk when the observer was called.
    let store = EmbeddedStore::open(dir.path(), Options::default()).unwrap();
    assert_eq!(image::state(&store).unwrap().1.into_keys().collect::<Vec<_>>(), ["/a"]);
}

fn commit(store: &EmbeddedStore, key: String) -> Result<crest_store::Revision, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let txn = Txn::create(key, vec![b'x'; VALUE_BYTES]);
    runtime.block_on(store.commit(txn)).map(|committed| committed.revision)
}

fn write_until_refused(store: &EmbeddedStore, name: &str) -> (usize, Error) {
    for number in 0..100_000 {
        if let Err(error) = commit(store, format!("/{name}/{number}")) {
            return (number, error);
        }
    }
    panic!("never refused")
}
