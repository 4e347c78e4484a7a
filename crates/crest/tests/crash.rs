//! Kill -9 under load, many times: nothing that was acknowledged is lost, and nothing else appears.
//!
//! Writers create, update and delete, each on objects of its own, and write down what the server
//! acknowledged. When enough has happened the server is killed. After each start the watch history from
//! before the first write must be exactly what was acknowledged, plus at most the one change per writer
//! that was under way; the objects listed must be what that history leads to.

mod history;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use history::{Change, History};
use serde_json::{Value, json};
use testkit::{CRONTAB_DEFINITION, CRONTABS, Client, Crest, Event, Http, Setup, Unanswered, Watch, revision};
use testkit::{Credentials, soon};
use tokio::sync::Notify;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROUNDS: usize = 16;
const WRITERS: usize = 6;

/// Ends the load once enough writes have been acknowledged.
struct Fuse {
    left: AtomicUsize,
    blown: Notify,
}

impl Fuse {
    fn burn(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.blown.notify_one();
        }
    }
}

/// Small and good enough: the test must not depend on what is drawn.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("less than sides")
    }
}

/// One of those who write; it owns every object whose name begins with its own.
struct Writer {
    name: String,
    path: &'static str,
    client: Client,
    /// What it has, as last acknowledged.
    objects: Vec<Value>,
    dice: Dice,
}

impl Writer {
    /// Writes until the server is gone; returns what happened.
    async fn run(mut self, round: usize, fuse: Arc<Fuse>) -> History {
        let mut history = History::default();
        for number in 0.. {
            let (change, name, outcome) = match (self.dice.roll(5), self.objects.len()) {
                (0 | 1, _) | (_, 0) => self.create(format!("{}-{round}-{number}", self.name)).await,
                (2, _) => self.delete().await,
                _ => self.update(format!("{round}-{number}")).await,
            };
            let Ok(answer) = outcome else {
                history.unknown(&name, change);
                return history;
            };
            history.done(&name, change, &answer);
            fuse.burn();
        }
        history
    }

    async fn create(&mut self, name: String) -> (Change, String, Result<Value, Unanswered>) {
        let object = json!({"metadata": {"name": name, "labels": {"writer": self.name}}, "kind": self.kind().0, "apiVersion": self.kind().1});
        let request = self.client.json("POST".parse().expect("a method"), self.path, &object);
        let outcome = self.client.try_send(request).await.map(|answer| answer.expect(201));
        if let Ok(object) = &outcome {
            self.objects.push(object.clone());
        }
        (Change::Created, name, outcome)
    }

    /// With the version it knows: nobody else may have changed it.
    async fn update(&mut self, note: String) -> (Change, String, Result<Value, Unanswered>) {
        let at = self.dice.roll(self.objects.len());
        let mut object = self.objects[at].clone();
        object["metadata"]["annotations"] = json!({"note": note});
        let name = name(&object);
        let path = format!("{}/{name}", self.path);
        let request = self.client.json("PUT".parse().expect("a method"), &path, &object);
        let outcome = self.client.try_send(request).await.map(|answer| answer.expect(200));
        if let Ok(object) = &outcome {
            self.objects[at] = object.clone();
        }
        (Change::Updated, name, outcome)
    }

    async fn delete(&mut self) -> (Change, String, Result<Value, Unanswered>) {
        let at = self.dice.roll(self.objects.len());
        let name = name(&self.objects.swap_remove(at));
        let path = format!("{}/{name}", self.path);
        let request = self.client.request("DELETE".parse().expect("a method"), &path, None, "");
        let outcome = self.client.try_send(request).await.map(|answer| answer.expect(200));
        (Change::Deleted, name, outcome)
    }

    fn kind(&self) -> (&'static str, &'static str) {
        if self.path == CRONTABS { ("CronTab", "stable.example.com/v1") } else { ("ConfigMap", "v1") }
    }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().expect("objects have names").to_owned()
}

/// Makes the definition and waits until its objects are served.
async fn define(client: &Client) {
    let post = client.request(
        "POST".parse().expect("a method"),
        DEFINITIONS,
        Some("application/yaml"),
        CRONTAB_DEFINITION,
    );
    client.send(post).await.expect(201);
    let mut watch = client.watch(&format!("{DEFINITIONS}?resourceVersion=0")).await;
    watch.until(|event| event.object["status"]["conditions"].to_string().contains("\"Established\"")).await;
}

/// Everything a watcher sees until the server is gone.
async fn follow(mut watch: Watch) -> Vec<Event> {
    let mut seen = Vec::new();
    while let Some(event) = watch.next().await {
        seen.push(event);
    }
    seen
}

/// One life of the server: load until it is killed. Adds to the history; returns what watchers saw.
async fn live(crest: &Crest, round: usize, history: &mut History) -> Vec<Event> {
    let observer = crest.client();
    let mut watchers = Vec::new();
    for path in [CONFIG_MAPS, CRONTABS] {
        let now = revision(&observer.get(path).await.expect(200));
        watchers.push(tokio::spawn(follow(observer.watch(&format!("{path}?resourceVersion={now}")).await)));
    }
    let fuse = Arc::new(Fuse { left: AtomicUsize::new(40 + round * 37 % 160), blown: Notify::new() });
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let path = if number % 2 == 0 { CONFIG_MAPS } else { CRONTABS };
        let http = if number < 4 { Http::Two } else { Http::One };
        let name = format!("w{number}");
        let mine = observer.get(&format!("{path}?labelSelector=writer={name}")).await.expect(200);
        let objects = mine["items"].as_array().expect("a list has items").clone();
        let seed = 0x9e37_79b9_7f4a_7c15 ^ ((round * WRITERS + number) as u64 + 1);
        let client = crest.client_as(Credentials::Admin, http);
        let writer = Writer { name, path, client, objects, dice: Dice(seed) };
        writers.push(tokio::spawn(writer.run(round, fuse.clone())));
    }
    soon("enough writes", fuse.blown.notified()).await;
    crest.kill();
    for writer in writers {
        history.add(soon("the end of a writer", writer).await.expect("a writer does not panic"));
    }
    let mut seen = Vec::new();
    for watcher in watchers {
        seen.extend(watcher.await.expect("a watcher does not panic"));
    }
    seen
}

/// The events since `start`, up to a marker that is made for the purpose and taken away again.
async fn replay(client: &Client, path: &str, start: u64, round: usize) -> Vec<Event> {
    let marker = format!("marker-{round}");
    let kind = if path == CRONTABS { json!("CronTab") } else { json!("ConfigMap") };
    let version = if path == CRONTABS { "stable.example.com/v1" } else { "v1" };
    let object = json!({"kind": kind, "apiVersion": version, "metadata": {"name": marker}});
    client.create(path, &object).await.expect(201);
    client.delete(&format!("{path}/{marker}")).await.expect(200);
    let mut watch = client.watch(&format!("{path}?resourceVersion={start}")).await;
    let events = watch.until(|event| event.kind == "DELETED" && event.name() == marker).await;
    let increasing = events.windows(2).all(|pair| pair[0].revision() < pair[1].revision());
    assert!(increasing, "events come in the order of their revisions, each once");
    events.into_iter().filter(|event| !event.name().starts_with("marker-")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let mut crest = Setup::new(env!("CARGO_BIN_EXE_crest")).with("--etcd-compaction-interval", "1h").start();
    define(&crest.client()).await;
    let start = revision(&crest.client().get(CONFIG_MAPS).await.expect(200));
    let mut newest = start;
    let mut history = History::default();
    for round in 0..ROUNDS {
        let seen = live(&crest, round, &mut history).await;
        if round % 2 == 1 {
            crest.ended().await;
            crest.setup().start_in_vain(); // a second failure while the first is being dealt with
        }
        crest = crest.crash().await;
        let client = crest.client();
        let mut events = Vec::new();
        for path in [CONFIG_MAPS, CRONTABS] {
            let listed = client.get(path).await.expect(200);
            assert!(revision(&listed) >= history.newest().max(newest), "revisions only grow");
            newest = revision(&listed);
            let replayed = replay(&client, path, start, round).await;
            history::same_state(listed["items"].as_array().expect("a list has items"), &replayed);
            events.extend(replayed);
        }
        history.settle(&events);
        for event in &seen {
            assert!(events.contains(event), "a watcher was shown what did not last: {event:?}");
        }
    }
    assert!(history.len() > ROUNDS * 40, "there was some load: {}", history.len());
}
