//! Killed under load: every acknowledged write is there, and history tells the same story.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use crest_store::{
    EventKind, KeyRange, Range, Revision, Store, Txn, WatchMessage,
    embedded::{EmbeddedStore, Options},
};
use tempfile::TempDir;

use super::child;

const ROUNDS: u64 = 24;
const WRITERS: usize = 12;
const KEYS_PER_WRITER: usize = 5;

/// What happens to history meanwhile.
#[derive(Copy, Clone, PartialEq)]
enum History {
    Kept,
    /// Given up as soon as possible, so that compaction is interrupted too.
    Compacted,
}

impl History {
    fn options(self) -> Options {
        // Small, so that checkpoints are interrupted too.
        let common = Options { log_bytes: 128 << 10, ..Options::default() };
        match self {
            Self::Kept => Options { keep_history: Duration::from_hours(1), ..common },
            Self::Compacted => {
                Options { keep_history: Duration::ZERO, housekeeping: Duration::from_millis(1), ..common }
            }
        }
    }
}

#[test]
fn killed_under_load_it_loses_nothing() {
    rounds(History::Kept, "kill::load_and_keep_history");
}

#[test]
fn killed_while_compacting_it_loses_nothing() {
    rounds(History::Compacted, "kill::load_and_compact");
}

#[test]
fn load_and_keep_history() {
    if let Some(dir) = child::task() {
        load(&dir, History::Kept);
    }
}

#[test]
fn load_and_compact() {
    if let Some(dir) = child::task() {
        load(&dir, History::Compacted);
    }
}

/// What a key holds; `None`: it does not exist.
type Value = Option<String>;

/// What the parent knows about a key.
#[derive(Clone, Debug, Default)]
struct Known {
    acknowledged: Value,
    /// Announced and not answered, since the last answer: each may have happened.
    pending: Vec<Value>,
}

#[derive(Default)]
struct Journal {
    keys: BTreeMap<String, Known>,
    /// Every acknowledged write, and that it was a deletion.
    revisions: BTreeMap<u64, (String, Value)>,
}

fn rounds(history: History, child: &str) {
    let dir = TempDir::new().unwrap();
    let mut journal = Journal::default();
    for round in 0..ROUNDS {
        run_and_kill(dir.path(), child, round, &mut journal);
        // Otherwise the next child finds what the last one left, and not an orderly closed store.
        if round % 3 == 2 {
            check(dir.path(), history, &mut journal);
        }
    }
    assert!(journal.revisions.len() > 500, "only {} writes", journal.revisions.len());
}

/// Starts a child and kills it a while after its first acknowledged write.
fn run_and_kill(dir: &Path, child: &str, round: u64, journal: &mut Journal) {
    let mut process = child::command(child, dir, None).spawn().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let mut killer = None;
    for line in output.lines() {
        let line = line.unwrap();
        // A line cut off by the kill has no end mark: what it would tell is unknown.
        let Some(line) = line.strip_suffix(" .") else { continue };
        let fields: Vec<&str> = line.split(' ').collect();
        match fields[..] {
            ["try", key, value] => journal.begin(key, value),
            ["done", key, value, revision] => {
                journal.acknowledge(key, value, revision.parse().unwrap());
                killer.get_or_insert_with(|| {
                    let id = process.id();
                    let wait = Duration::from_millis(7 + round * 13 % 180);
                    thread::spawn(move || {
                        thread::sleep(wait);
                        kill(id);
                    })
                });
            }
            // The harness around the child.
            _ => {}
        }
    }
    let has_written = killer.is_some_and(|killer| killer.join().is_ok());
    let ended = process.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(has_written, "the child ended before it wrote anything: {complaint}");
    assert_eq!(ended.status.signal(), Some(9), "{}: {complaint}", ended.status);
}

fn kill(id: u32) {
    let status = std::process::Command::new("kill").args(["-9", &id.to_string()]).status().unwrap();
    assert!(status.success());
}

impl Journal {
    fn begin(&mut self, key: &str, value: &str) {
        let known = self.keys.entry(key.to_owned()).or_default();
        known.pending.push(parse(value));
    }

    fn acknowledge(&mut self, key: &str, value: &str, revision: u64) {
        let known = self.keys.get_mut(key).expect("announced before");
        known.acknowledged = parse(value);
        known.pending.clear();
        let twice = self.revisions.insert(revision, (key.to_owned(), parse(value)));
        assert!(twice.is_none(), "revision {revision} was given out twice");
    }
}

fn parse(value: &str) -> Value {
    (value != "-").then(|| value.to_owned())
}

/// Opens what the killed process left and compares it with what it had told.
fn check(dir: &Path, history: History, journal: &mut Journal) {
    let store = EmbeddedStore::open(dir, history.options()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let now = store.range(Range::values(KeyRange::all())).await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let found: BTreeMap<String, String> =
            now.kvs.iter().map(|kv| (text(&kv.key), text(&kv.value))).collect();
        for (key, known) in &mut journal.keys {
            let value = found.get(key).cloned();
            if known.pending.contains(&value) {
                known.acknowledged = value;
            } else {
                assert_eq!(value, known.acknowledged, "{key}");
            }
            known.pending.clear();
        }
        assert!(found.keys().all(|key| journal.keys.contains_key(key)), "an invented key");
        let last = journal.revisions.last_key_value().map_or(0, |(revision, _)| *revision);
        assert!(now.revision.0 >= last, "acknowledged revision {last} is gone: at {}", now.revision);
        if history == History::Kept {
            check_history(&store, now.revision, &found, journal).await;
        } else {
            let kept = store.stats().compacted;
            store.watch(KeyRange::all(), kept).await.expect("what is kept can be watched");
        }
    });
}

/// From the very first write: each revision once, each acknowledged one as it was acknowledged, and
/// in the end what is there.
async fn check_history(
    store: &EmbeddedStore,
    last: Revision,
    found: &BTreeMap<String, String>,
    journal: &Journal,
) {
    let mut watch = store.watch(KeyRange::all(), Revision::FIRST).await.unwrap();
    let mut replayed = BTreeMap::new();
    let mut revision = Revision::FIRST;
    while revision < last {
        let WatchMessage::Events(batch) = watch.next().await.unwrap() else {
            panic!("progress before the end")
        };
        assert_eq!(batch.revision, revision.next());
        revision = batch.revision;
        let [event] = &batch.events[..] else { panic!("one write per transaction") };
        let key = String::from_utf8(event.kv.key.to_vec()).unwrap();
        let value = String::from_utf8(event.kv.value.to_vec()).unwrap();
        let value = (event.kind == EventKind::Put).then_some(value);
        if let Some(acknowledged) = journal.revisions.get(&revision.0) {
            assert_eq!((&key, &value), (&acknowledged.0, &acknowledged.1), "revision {revision}");
        }
        let before = match value {
            Some(value) => replayed.insert(key, value),
            None => replayed.remove(&key),
        };
        let previous = event.previous.as_ref().map(|kv| String::from_utf8(kv.value.to_vec()).unwrap());
        assert_eq!(previous, before, "revision {revision}");
    }
    assert_eq!(&replayed, found);
}

/// The child: writes until it is killed, and tells before and after each write.
fn load(dir: &Path, history: History) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(EmbeddedStore::open(dir, history.options()).unwrap());
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| tokio::spawn(write(Arc::clone(&store), writer))).collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

async fn write(store: Arc<EmbeddedStore>, writer: usize) {
    for number in 0_usize.. {
        let key = format!("/w{writer}/k{}", number % KEYS_PER_WRITER);
        let kvs = store.range(Range::values(KeyRange::key(key.clone()))).await.unwrap().kvs;
        let value = format!("{number}-{}", "x".repeat(number * 37 % 2_500));
        let (txn, told) = match kvs.first() {
            None => (Txn::create(key.clone(), value.clone()), value),
            Some(kv) if number % 3 == 0 => (Txn::delete(key.clone(), kv.mod_revision), "-".to_owned()),
            Some(kv) => (Txn::update(key.clone(), value.clone(), kv.mod_revision), value),
        };
        child::tell(&format!("try {key} {told} ."));
        let revision = store.commit(txn).await.unwrap().revision;
        child::tell(&format!("done {key} {told} {revision} ."));
    }
}
