//! Watch torture: hundreds of watchers with all kinds of selections and forms, writers who make objects enter
//! and leave them, history that is given up after a second, and a server that is killed again and again.
//!
//! What writers know of their objects is the truth: every acknowledged state has its revision, and after a
//! crash each writer looks whether what was under way has happened. What a watcher saw is then checked
//! against it: from the state it began with up to where it came, every change that its selection can tell, once,
//! in order, as the right kind of event and with the right object.
//!
//! What is drawn follows from [`SEED`]; what happens at the same time does not.

#[path = "torture/selection.rs"]
mod selection;
#[path = "torture/truth.rs"]
mod truth;
#[path = "torture/watcher.rs"]
mod watcher;
#[path = "torture/writer.rs"]
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use selection::Kind;
use serde_json::json;
use testkit::{Client, Credentials, Crest, Http, Setup, soon};
use tokio::sync::{Notify, watch};
use truth::Truth;
use watcher::Watcher;
use writer::Writer;

const SEED: u64 = 0x5eed_0001;
const WATCHERS: usize = 240;
const WRITERS: usize = 6;
/// The last of them ends in order, the others with a crash.
const ROUNDS: usize = 5;
const WRITES_IN_A_ROUND: usize = 150;
/// Watchers on one HTTP/2 connection; some have a connection of their own.
const SHARING: usize = 30;

/// Small and good enough.
struct Dice(u64);

impl Dice {
    /// Each with a sequence of its own.
    fn new(number: usize) -> Self {
        let mut dice = Dice(SEED.wrapping_mul(number as u64 + 1) | 1);
        dice.roll(2);
        dice
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % sides as u64).expect("less than sides")
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

/// How far a round has come.
struct Round {
    writes_left: AtomicUsize,
    /// Half of the writes are done: those who dawdle begin to read.
    half: watch::Sender<bool>,
    enough: Notify,
    /// The server is about to be gone.
    over: AtomicBool,
    /// It will be stopped, not killed.
    ends_in_order: bool,
}

impl Round {
    fn new(ends_in_order: bool) -> Arc<Self> {
        let writes_left = AtomicUsize::new(WRITES_IN_A_ROUND);
        Arc::new(Round {
            writes_left,
            half: watch::Sender::new(false),
            enough: Notify::new(),
            over: AtomicBool::new(false),
            ends_in_order,
        })
    }

    fn write_done(&self) {
        let left = self.writes_left.fetch_sub(1, Ordering::Relaxed);
        if left == WRITES_IN_A_ROUND / 2 {
            self.half.send_replace(true);
        } else if left == 1 {
            self.enough.notify_one();
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_watcher_sees_what_its_selection_can_tell_once_and_in_order() {
    let setup = Setup::new(env!("CARGO_BIN_EXE_crest")).with("--etcd-compaction-interval", "1s");
    let mut crest = setup.start();
    prepare(&crest.client()).await;
    let mut writers: Vec<Writer> = (0..WRITERS).map(Writer::new).collect();
    let mut watchers: Vec<Watcher> = (0..WATCHERS).map(Watcher::new).collect();
    for round in 0..ROUNDS {
        let last = round == ROUNDS - 1;
        (writers, watchers) = play(&crest, writers, watchers, last).await;
        if !last {
            crest = crest.crash().await;
            for writer in &mut writers {
                writer.look_what_happened(&crest.client()).await;
            }
        }
    }
    assert_eq!(crest.ended().await.code, Some(0));
    let end = setup.start();
    let mut truth = Truth::new(writers);
    truth.learn_deletions(&watchers);
    truth.compare_with_the_state(&end.client()).await;
    let mut seen = 0;
    for watcher in &watchers {
        seen += watcher.check(&truth);
    }
    let (fresh, resumed) = watchers.iter().fold((0, 0), |(fresh, resumed), watcher| {
        (fresh + watcher.histories.len() - 1, resumed + watcher.resumed)
    });
    println!("{seen} events, {resumed} resumptions, {fresh} new beginnings");
    assert!(seen > WATCHERS * 10 && resumed > WATCHERS, "the test tests something");
}

/// Defines widgets and makes the namespaces.
async fn prepare(client: &Client) {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut established = client.watch(&format!("{definitions}?resourceVersion=0")).await;
    client.create(definitions, &selection::widget_definition()).await.expect(201);
    established
        .until(|event| event.object["status"]["conditions"].to_string().contains("\"Established\""))
        .await;
    for namespace in selection::NAMESPACES {
        client.create("/api/v1/namespaces", &json!({"metadata": {"name": namespace}})).await.expect(201);
    }
}

/// One life of the server: watchers go on where they were, writers write, and then it ends.
async fn play(
    crest: &Crest,
    writers: Vec<Writer>,
    watchers: Vec<Watcher>,
    last: bool,
) -> (Vec<Writer>, Vec<Watcher>) {
    let round = Round::new(last);
    let mut shared = crest.client();
    let mut watching = Vec::new();
    for (number, watcher) in watchers.into_iter().enumerate() {
        if number % SHARING == 0 {
            shared = crest.client();
        }
        let alone = watcher.dawdles || number % SHARING == 1;
        let client = if alone { crest.client_as(Credentials::Admin, Http::One) } else { shared.clone() };
        watching.push(tokio::spawn(watcher.run(client, round.clone())));
    }
    let writing: Vec<_> =
        writers.into_iter().map(|writer| tokio::spawn(writer.run(crest.client(), round.clone()))).collect();
    soon("the writes of a round", round.enough.notified()).await;
    round.over.store(true, Ordering::SeqCst);
    let mut writers = Vec::new();
    if last {
        // In order: nothing is under way, and every watch that is open says everything before it ends.
        for writer in writing {
            writers.push(soon("the last writes", writer).await.expect("writers do not fail"));
        }
        crest.terminate();
    } else {
        crest.kill();
        for writer in writing {
            writers.push(soon("the end of a writer", writer).await.expect("writers do not fail"));
        }
    }
    let mut watchers = Vec::new();
    for watcher in watching {
        watchers.push(soon("the end of a watch", watcher).await.expect("watchers do not fail"));
    }
    (writers, watchers)
}

/// The collections of both kinds.
const KINDS: [Kind; 2] = [Kind::Widget, Kind::ConfigMap];
