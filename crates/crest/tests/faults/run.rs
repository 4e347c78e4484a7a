//! A run: clients and followers at work while a test breaks things, and the reckoning afterwards.

use std::sync::Arc;

use testkit::history::{Change, History, Recorder, Summary, Told, Watched};
use testkit::{Client, revision};

use super::fleet::Fleet;
use super::followers::{Followers, Where};
use super::load::Load;
use super::objects::{COLLECTIONS, Collection, define};

/// Clients at work on every replica: half of them stay with theirs, half go where they are answered.
const CLIENTS_PER_REPLICA: usize = 2;

pub(crate) struct Run {
    pub(crate) load: Load,
    pub(crate) fleet: Arc<Fleet>,
    followers: Followers,
    recorder: Arc<Recorder>,
    start: u64,
}

impl Run {
    /// Puts everybody to work. The replicas serve.
    pub(crate) async fn start(clients: impl IntoIterator<Item = Client>, seed: u64) -> Self {
        let fleet = Arc::new(Fleet::of(clients));
        let (_, first) = fleet.client(0);
        define(&first).await;
        for replica in 0..fleet.len() {
            await_served(&fleet.client(replica).1).await;
        }
        let start = revision(&first.get(COLLECTIONS[0].path).await.expect(200));
        let places: Vec<Where> =
            (0..fleet.len()).map(Where::Always).chain([Where::From(0), Where::From(1)]).collect();
        let followers = Followers::start(&fleet, start, &places);
        let recorder = Arc::new(Recorder::default());
        let load = Load::start(&fleet, &recorder, seed, fleet.len() * CLIENTS_PER_REPLICA);
        let run = Run { load, fleet, followers, recorder, start };
        run.load.operations(20).await;
        run
    }

    /// Every replica takes writes again, by itself.
    pub(crate) async fn recovered(&self) {
        self.load.writes(5, 0..self.fleet.len()).await;
    }

    /// Lets everybody finish; then everything must fit together, and every replica tell the same history.
    pub(crate) async fn finish(self) -> Summary {
        self.finish_with(Truth::Replayed).await
    }

    pub(crate) async fn finish_with(mut self, truth: Truth) -> Summary {
        self.recovered().await;
        let dishonest = self.load.stop().await;
        assert!(dishonest.is_empty(), "failures that are not honest: {dishonest:#?}");
        let (_, first) = self.fleet.client(0);
        let mut marks = Vec::new();
        for collection in COLLECTIONS {
            let mark = mark(&first, &collection, &self.recorder).await;
            self.followers.reach(collection, mark).await;
            marks.push(mark);
        }
        for replica in 0..self.fleet.len() {
            let (_, client) = self.fleet.client(replica);
            look(&client, &self.recorder).await;
        }
        let watched = self.followers.stop();
        let mut changes = Vec::new();
        for (collection, mark) in COLLECTIONS.into_iter().zip(marks) {
            changes.extend(match truth {
                Truth::Replayed => replayed(&self.fleet, &collection, self.start, mark).await,
                Truth::Followed => followed(&watched, &collection, self.start, mark),
            });
        }
        let history = History { operations: self.recorder.operations(), changes, watched };
        match history.check() {
            Ok(summary) => summary,
            Err(wrong) => {
                panic!("{} things are wrong, first of all: {:#?}", wrong.len(), &wrong[..wrong.len().min(8)])
            }
        }
    }
}

/// Where the test knows from what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// From the history that the server keeps.
    Replayed,
    /// From a follower that missed nothing: the server has given up its history.
    Followed,
}

/// A replica serves a definition that was made at another as soon as it knows of it.
async fn await_served(client: &Client) {
    for _ in 0..600 {
        if client.get(COLLECTIONS[1].path).await.code == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("a replica never served the definition");
}

/// Makes an object that is the last thing to happen in its collection.
async fn mark(client: &Client, collection: &Collection, recorder: &Recorder) -> u64 {
    use testkit::history::{Action, Outcome};
    let (name, value) = ("the-end", format!("the-end-of-{}", collection.prefix));
    let asked = recorder.now();
    let made = client.create(collection.path, &collection.object(name, &value, None)).await.expect(201);
    let revision = revision(&made);
    recorder.done(asked, &collection.key(name), Action::Create { value }, Outcome::Written(revision));
    revision
}

/// One last look through a replica.
async fn look(client: &Client, recorder: &Recorder) {
    use testkit::history::{Action, Outcome};
    for collection in COLLECTIONS {
        let asked = recorder.now();
        let list = client.get(collection.path).await.expect(200);
        let outcome = Outcome::Listed { revision: revision(&list), objects: collection.listed(&list) };
        recorder.done(asked, collection.prefix, Action::List, outcome);
    }
}

/// Everything since the start, as every replica tells it alike.
async fn replayed(fleet: &Fleet, collection: &Collection, start: u64, mark: u64) -> Vec<Change> {
    let mut all: Vec<Vec<Change>> = Vec::new();
    for replica in 0..fleet.len() {
        let (_, client) = fleet.client(replica);
        let mut watch = client.watch(&format!("{}?resourceVersion={start}", collection.path)).await;
        let events = watch.until(|event| event.revision() >= mark).await;
        all.push(events.iter().filter_map(|event| collection.change(event)).collect());
    }
    for other in &all[1..] {
        assert_eq!(other, &all[0], "replicas tell different histories");
    }
    all.swap_remove(0)
}

fn followed(watched: &[Watched], collection: &Collection, start: u64, mark: u64) -> Vec<Change> {
    let changes = |watched: &Watched| -> Vec<Change> {
        let changes = watched.told.iter().filter_map(|told| match told {
            Told::Change(change) => Some(change.clone()),
            Told::Bookmark(_) => None,
        });
        changes.collect()
    };
    let whole = |watched: &&Watched| watched.prefix == collection.prefix && watched.after == start;
    let mut candidates = watched.iter().filter(whole).map(changes);
    let found = candidates.find(|changes| changes.last().is_some_and(|last| last.revision == mark));
    found.expect("one follower missed nothing")
}

/// Repeats a test with other seeds for as long as asked; once, with the first seed, by default.
///
/// The time is that of `CREST_FAULTS_MINUTES`, the first seed that of `CREST_FAULTS_SEED`.
#[expect(clippy::disallowed_methods, reason = "tests have no flags")]
#[expect(clippy::print_stderr, reason = "what can be repeated must be said")]
pub(crate) async fn repeat<F: Future<Output = Option<Summary>>>(name: &str, test: impl Fn(u64) -> F) {
    let number = |variable| std::env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let minutes = number("CREST_FAULTS_MINUTES").unwrap_or(0);
    let first = number("CREST_FAULTS_SEED").unwrap_or(1);
    let began = std::time::Instant::now();
    for seed in first.. {
        eprintln!("{name}: CREST_FAULTS_SEED={seed}");
        let Some(summary) = test(seed).await else { return };
        eprintln!("{name}: seed {seed}: {summary:?}");
        assert!(summary.acknowledged > 20 && summary.told > 0, "there was some load: {summary:?}");
        if began.elapsed().as_secs() >= minutes * 60 {
            return;
        }
    }
}
