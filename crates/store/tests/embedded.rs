//! What the embedded store promises beyond the contract: shared syncs, bounded memory, housekeeping.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{path::Path, sync::Arc, time::Duration};

use crest_store::{
    Error, KeyRange, ManualClock, Range, Revision, Store, Txn, UnixSeconds, Watch, WatchMessage,
    embedded::{EmbeddedStore, Options},
};
use futures_util::future::join_all;
use tempfile::TempDir;

fn clock() -> ManualClock {
    ManualClock::starting_at(UnixSeconds(1_000_000))
}

fn open(dir: &Path, clock: &ManualClock) -> EmbeddedStore {
    let options = Options {
        clock: Arc::new(clock.clone()),
        housekeeping: Duration::from_millis(2),
        ..Options::default()
    };
    EmbeddedStore::open(dir, options).unwrap()
}

async fn next_events(watch: &mut dyn Watch) -> Result<Revision, Error> {
    loop {
        if let WatchMessage::Events(batch) = watch.next().await? {
            return Ok(batch.revision);
        }
    }
}

/// Waits for something that housekeeping does by itself.
async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..5_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it never came");
}

#[tokio::test]
async fn writers_share_syncs() {
    let dir = TempDir::new().unwrap();
    let store = &open(dir.path(), &clock());
    let write = |writer: usize| async move {
        for number in 0..10 {
            store.commit(Txn::create(format!("/{writer}/{number}"), "x")).await.unwrap();
        }
    };
    join_all((0..64).map(write)).await;
    let stats = store.stats();
    assert_eq!((stats.commits, stats.current), (640, Revision(641)));
    assert!(stats.syncs < 320, "{} syncs for 640 commits", stats.syncs);
    assert!(stats.largest_group > 1);
}

/// More than the batches kept in memory: the watch starts on disk and ends in memory, and meanwhile
/// others write.
#[tokio::test]
async fn a_slow_watch_reads_from_disk_and_misses_nothing() {
    const BEFORE: u64 = 1_500;
    const MEANWHILE: u64 = 300;
    let dir = TempDir::new().unwrap();
    let store = &open(dir.path(), &clock());
    let mut watch = store.watch(KeyRange::all(), Revision::FIRST).await.unwrap();
    let write = |number: u64| store.commit(Txn::create(format!("/{number}"), vec![b'x'; 3_000]));
    for result in join_all((0..BEFORE).map(write)).await {
        result.unwrap();
    }
    let read = async {
        for expected in 2..2 + BEFORE + MEANWHILE {
            assert_eq!(next_events(&mut *watch).await.unwrap(), Revision(expected));
        }
    };
    let write_on = async {
        for number in BEFORE..BEFORE + MEANWHILE {
            write(number).await.unwrap();
        }
    };
    futures_util::future::join(read, write_on).await;
    assert!(store.stats().watch_disk_reads > 3, "{:?}", store.stats());
}

#[tokio::test]
async fn history_is_given_up_by_itself_and_its_space_with_it() {
    let dir = TempDir::new().unwrap();
    let clock = clock();
    let store = &open(dir.path(), &clock);
    let mut revision = store.commit(Txn::create("/a", "0")).await.unwrap().revision;
    let first = revision;
    for _ in 0..200 {
        revision = store.commit(Txn::update("/a", vec![b'x'; 10_000], revision)).await.unwrap().revision;
    }
    let mut slow = store.watch(KeyRange::all(), first).await.unwrap();
    assert!(store.range(Range::values(KeyRange::all()).at(first)).await.is_ok());
    until(|| {
        // Again and again: the revision may only be noted after the clock has moved.
        clock.advance(Duration::from_mins(5));
        store.stats().compacted == revision
    })
    .await;
    let old = store.range(Range::values(KeyRange::all()).at(first)).await;
    assert!(matches!(old, Err(Error::Compacted { oldest }) if oldest == revision), "{old:?}");
    assert!(matches!(store.watch(KeyRange::all(), first).await.err(), Some(Error::Compacted { .. })));
    // Overtaken: all of the rest from memory, or told.
    assert!(!matches!(next_events(&mut *slow).await, Err(Error::Corrupt(_))));
    // The pages are used again: the same writes hardly need more.
    let used = store.stats().disk_bytes;
    for _ in 0..150 {
        revision = store.commit(Txn::update("/a", vec![b'x'; 10_000], revision)).await.unwrap().revision;
    }
    until(|| store.stats().disk_bytes > 0).await;
    let grown = store.stats().disk_bytes.saturating_sub(used);
    assert!(grown < 150 * 10_000 * 3, "{used} grew by {grown}");
    assert_eq!(store.range(Range::count(KeyRange::all())).await.unwrap().count, 1);
}

#[tokio::test]
async fn many_keys_expire_at_once() {
    const KEYS: usize = 700;
    let dir = TempDir::new().unwrap();
    let clock = clock();
    let store = &open(dir.path(), &clock);
    let write = |number: usize| {
        let txn = Txn::create(format!("/{number}"), "x").expiring_in(Duration::from_secs(10));
        store.commit(txn)
    };
    for result in join_all((0..KEYS).map(write)).await {
        result.unwrap();
    }
    store.commit(Txn::create("/first", "x").expiring_in(Duration::from_secs(9))).await.unwrap();
    clock.advance(Duration::from_secs(9));
    until(|| store.stats().expired > 0).await;
    assert_eq!(store.stats().expired, 1, "nothing leaves early");
    clock.advance(Duration::from_secs(1));
    until(|| store.stats().expired == 1 + KEYS as u64).await;
    assert_eq!(store.range(Range::count(KeyRange::all())).await.unwrap().count, 0);
    assert_eq!(store.stats().current, Revision(1 + 2 * (1 + KEYS as u64)), "each at its own revision");
}

#[tokio::test]
async fn a_commit_goes_on_without_its_caller() {
    use futures_util::FutureExt as _;
    let dir = TempDir::new().unwrap();
    let store = open(dir.path(), &clock());
    for number in 0..50 {
        // Polled once, then dropped, as when a request is cancelled.
        store.commit(Txn::create(format!("/{number}"), "x")).now_or_never();
    }
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path(), &clock());
    assert_eq!(store.range(Range::count(KeyRange::all())).await.unwrap().count, 50);
}

#[tokio::test]
async fn dropping_a_store_lets_the_next_one_open() {
    let dir = TempDir::new().unwrap();
    for expected in 2..12 {
        let store = open(dir.path(), &clock());
        // A watch that is still held does not keep the files.
        let _watch = store.watch(KeyRange::all(), Revision::FIRST).await.unwrap();
        let committed = store.commit(Txn::create(format!("/{expected}"), "x")).await.unwrap();
        assert_eq!(committed.revision, Revision(expected));
        drop(store);
    }
}
