//! Clients that read and write the same few objects and note what they are told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use testkit::history::{Action, Outcome, Recorder, Version};
use testkit::{Answer, Client, Dice, soon};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::fleet::Fleet;
use super::objects::{COLLECTIONS, Collection, version};

/// So few that clients meet.
const NAMES: usize = 5;
/// How long a client waits for an answer; then its outcome is unknown.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long a client rests after a failure, as clients do.
const REST: Duration = Duration::from_millis(30);
/// The codes with which a server may say that it cannot.
const HONEST: [u16; 4] = [429, 500, 503, 504];

/// How far the clients have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    operations: usize,
    /// Acknowledged writes, by replica.
    acknowledged: Vec<usize>,
    failures: usize,
}

/// What all clients share.
struct Shared {
    fleet: Arc<Fleet>,
    recorder: Arc<Recorder>,
    progress: watch::Sender<Progress>,
    stopping: watch::Sender<bool>,
    dishonest: Mutex<Vec<String>>,
}

/// The clients at work.
pub(crate) struct Load {
    shared: Arc<Shared>,
    clients: JoinSet<()>,
}

impl Load {
    pub(crate) fn start(fleet: &Arc<Fleet>, recorder: &Arc<Recorder>, seed: u64, clients: usize) -> Self {
        let acknowledged = vec![0; fleet.len()];
        let shared = Arc::new(Shared {
            fleet: fleet.clone(),
            recorder: recorder.clone(),
            progress: watch::Sender::new(Progress { acknowledged, ..Progress::default() }),
            stopping: watch::Sender::new(false),
            dishonest: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        for number in 0..clients {
            let dice = Dice::new(seed.wrapping_mul(1_000).wrapping_add(number as u64));
            tasks.spawn(Worker::new(number, dice, shared.clone()).run());
        }
        Load { shared, clients: tasks }
    }

    /// Waits for that many more operations, whatever comes of them.
    pub(crate) async fn operations(&self, more: usize) {
        let target = self.shared.progress.borrow().operations + more;
        self.until("operations", |progress| progress.operations >= target).await;
    }

    /// Waits for that many more failures.
    pub(crate) async fn failures(&self, more: usize) {
        let target = self.shared.progress.borrow().failures + more;
        self.until("failures", |progress| progress.failures >= target).await;
    }

    /// Waits for that many more acknowledged writes through each of these replicas: they work.
    pub(crate) async fn writes(&self, more: usize, replicas: impl IntoIterator<Item = usize>) {
        for replica in replicas {
            let target = self.shared.progress.borrow().acknowledged[replica] + more;
            let what = format!("writes through replica {replica}");
            self.until(&what, |progress| progress.acknowledged[replica] >= target).await;
        }
    }

    async fn until(&self, what: &str, reached: impl Fn(&Progress) -> bool) {
        let mut progress = self.shared.progress.subscribe();
        let waited = tokio::time::timeout(testkit::PATIENCE, progress.wait_for(reached)).await;
        if waited.is_err() {
            let operations = self.shared.recorder.operations();
            let last = &operations[operations.len().saturating_sub(8)..];
            let dishonest = self.shared.dishonest.lock().unwrap_or_else(PoisonError::into_inner);
            let dishonest = &dishonest[..dishonest.len().min(3)];
            panic!("no {what} for {:?}; last of all {last:#?}, {dishonest:#?}", testkit::PATIENCE);
        }
    }

    /// Lets the clients finish what they do, and gives back what they found indecent.
    pub(crate) async fn stop(mut self) -> Vec<String> {
        self.shared.stopping.send_replace(true);
        while let Some(ended) = soon("the end of a client", self.clients.join_next()).await {
            ended.expect("a client does not panic");
        }
        std::mem::take(&mut *self.shared.dishonest.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One client.
struct Worker {
    number: usize,
    dice: Dice,
    shared: Arc<Shared>,
    /// The replica it speaks to, and how.
    replica: usize,
    connection: Option<(usize, Client)>,
    /// What it last saw of each object.
    known: HashMap<String, u64>,
    /// What is not as it was believed to be: it is looked at next.
    doubted: Option<(Collection, String)>,
    values: usize,
}

impl Worker {
    fn new(number: usize, dice: Dice, shared: Arc<Shared>) -> Self {
        let replica = number % shared.fleet.len();
        Worker {
            number,
            dice,
            shared,
            replica,
            connection: None,
            known: HashMap::new(),
            doubted: None,
            values: 0,
        }
    }

    async fn run(mut self) {
        let mut stopping = self.shared.stopping.subscribe();
        while !*self.shared.stopping.borrow() {
            let failed = self.operate().await;
            if !failed {
                continue;
            }
            // Half of the clients stay with their replica; the others try another, as behind a load balancer.
            if self.number >= self.shared.fleet.len() {
                self.replica = (self.replica + 1) % self.shared.fleet.len();
            }
            self.connection = None;
            tokio::select! {
                () = tokio::time::sleep(REST) => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
        }
    }

    /// One operation; true when it failed.
    async fn operate(&mut self) -> bool {
        let drawn = (COLLECTIONS[self.dice.roll(COLLECTIONS.len())], format!("k{}", self.dice.roll(NAMES)));
        let doubted = self.doubted.take();
        let roll = if doubted.is_some() { 0 } else { self.dice.roll(10) };
        let (collection, name) = doubted.unwrap_or(drawn);
        let key = collection.key(&name);
        let (key, action) = match (roll, self.known.get(&key).copied()) {
            (0..3, _) => (key, Action::Get),
            (3, _) => (collection.prefix.to_owned(), Action::List),
            (_, None) => (key, Action::Create { value: self.value() }),
            (4..8, Some(from)) => (key, Action::Update { value: self.value(), from }),
            (_, Some(from)) => (key, Action::Delete { from }),
        };
        let client = self.client();
        let asked = self.shared.recorder.now();
        let answer = tokio::time::timeout(PATIENCE, send(&client, collection, &name, &action)).await;
        let outcome =
            self.outcome(collection, &action, answer.unwrap_or_else(|_| Err("no answer".to_owned())));
        self.learn(&key, &outcome);
        if matches!(outcome, Outcome::Exists | Outcome::Conflict) {
            self.doubted = Some((collection, name));
        }
        self.shared.recorder.done(asked, &key, action, outcome.clone());
        self.count(&outcome)
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("client-{}-{}", self.number, self.values)
    }

    fn client(&mut self) -> Client {
        let (generation, client) = self.shared.fleet.client(self.replica);
        match &self.connection {
            Some((known, connection)) if *known == generation => connection.clone(),
            _ => {
                let connection = client.apart();
                self.connection = Some((generation, connection.clone()));
                connection
            }
        }
    }

    fn outcome(&self, collection: Collection, action: &Action, answer: Result<Answer, String>) -> Outcome {
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) if why.contains("Connection refused") => return Outcome::Failed,
            Err(_) => return Outcome::Unknown,
        };
        match (answer.code, action) {
            (201, Action::Create { .. }) | (200, Action::Update { .. }) => {
                Outcome::Written(version(&answer.json()).revision)
            }
            (200, Action::Delete { .. }) => Outcome::Deleted,
            (200, Action::Get) => Outcome::Seen(Some(version(&answer.json()))),
            (404, Action::Get) => Outcome::Seen(None),
            (200, Action::List) => {
                let list = answer.json();
                let revision = testkit::revision(&list);
                Outcome::Listed { revision, objects: collection.listed(&list) }
            }
            (409, Action::Create { .. }) => Outcome::Exists,
            (409, Action::Update { .. } | Action::Delete { .. }) => Outcome::Conflict,
            (404, Action::Update { .. } | Action::Delete { .. }) => Outcome::Missing,
            (429, _) => Outcome::Failed,
            (code, _) => {
                if let Some(complaint) = complaint(code, &answer) {
                    let text = format!("{action:?}: {complaint}");
                    self.shared.dishonest.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                }
                Outcome::Unknown
            }
        }
    }

    fn learn(&mut self, key: &str, outcome: &Outcome) {
        match outcome {
            Outcome::Written(revision) | Outcome::Seen(Some(Version { revision, .. })) => {
                self.known.insert(key.to_owned(), *revision);
            }
            Outcome::Listed { objects, .. } => {
                for (key, version) in objects {
                    self.known.insert(key.clone(), version.revision);
                }
            }
            Outcome::Deleted | Outcome::Seen(None) | Outcome::Missing => {
                self.known.remove(key);
            }
            Outcome::Exists | Outcome::Conflict | Outcome::Failed | Outcome::Unknown => {}
        }
    }

    /// Counts an operation; true when it failed.
    fn count(&self, outcome: &Outcome) -> bool {
        let failed = matches!(outcome, Outcome::Failed | Outcome::Unknown);
        self.shared.progress.send_modify(|progress| {
            progress.operations += 1;
            progress.failures += usize::from(failed);
            if matches!(outcome, Outcome::Written(_) | Outcome::Deleted) {
                progress.acknowledged[self.replica] += 1;
            }
        });
        failed
    }
}

async fn send(
    client: &Client,
    collection: Collection,
    name: &str,
    action: &Action,
) -> Result<Answer, String> {
    let method = |name: &str| name.parse().expect("a method");
    let path = format!("{}/{name}", collection.path);
    let request = match action {
        Action::Create { value } => {
            client.json(method("POST"), collection.path, &collection.object(name, value, None))
        }
        Action::Update { value, from } => {
            client.json(method("PUT"), &path, &collection.object(name, value, Some(*from)))
        }
        Action::Delete { from } => {
            let expected = json!({"resourceVersion": from.to_string()});
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": expected});
            client.json(method("DELETE"), &path, &options)
        }
        Action::Get => client.request(method("GET"), &path, None, ""),
        Action::List => client.request(method("GET"), collection.path, None, ""),
    };
    client.try_send(request).await.map_err(|unanswered| unanswered.0)
}

/// What is wrong with the way a server says that it cannot.
fn complaint(code: u16, answer: &Answer) -> Option<String> {
    let text = answer.text();
    if !HONEST.contains(&code) {
        return Some(format!("{code} is no way to say it: {text}"));
    }
    let status = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
    if status["kind"] != "Status" || status["code"] != code {
        return Some(format!("{code} without a Status: {text}"));
    }
    let inner = ["127.", "/registry/", "http://", "https://", "os error"];
    inner
        .iter()
        .any(|word| text.contains(word))
        .then(|| format!("tells what is none of the client's business: {text}"))
}
