//! Watchers that follow a collection through all faults, resuming where they were.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use testkit::history::{Told, Watched};
use testkit::{Client, Event, Wait, revision, soon};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::fleet::Fleet;
use super::objects::{COLLECTIONS, Collection};

/// A watch that says nothing for so long is opened again, elsewhere.
const QUIET: Duration = Duration::from_secs(3);
/// How long opening may take.
const OPENING: Duration = Duration::from_secs(4);
const REST: Duration = Duration::from_millis(30);

/// Which replicas a follower uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// This one, however often it goes away.
    Always(usize),
    /// This one first, another whenever a watch ends.
    From(usize),
}

/// All followers.
pub(crate) struct Followers {
    tasks: JoinSet<()>,
    seen: Vec<(Collection, watch::Receiver<u64>)>,
    watched: Arc<Mutex<Vec<Watched>>>,
}

impl Followers {
    pub(crate) fn start(fleet: &Arc<Fleet>, after: u64, places: &[Where]) -> Self {
        let mut followers = Followers { tasks: JoinSet::new(), seen: Vec::new(), watched: Arc::default() };
        for collection in COLLECTIONS {
            for place in places {
                let (sender, receiver) = watch::channel(0);
                followers.seen.push((collection, receiver));
                let watched = Watched { prefix: collection.prefix.to_owned(), after, told: Vec::new() };
                let number = {
                    let mut all = followers.lock();
                    all.push(watched);
                    all.len() - 1
                };
                let follower = Follower {
                    collection,
                    fleet: fleet.clone(),
                    place: *place,
                    number,
                    watched: followers.watched.clone(),
                    seen: sender,
                    after,
                };
                followers.tasks.spawn(follower.run());
            }
        }
        followers
    }

    /// Waits until all followers of a collection have seen a revision.
    pub(crate) async fn reach(&mut self, collection: Collection, revision: u64) {
        for (_, seen) in self.seen.iter_mut().filter(|(other, _)| *other == collection) {
            soon("what a follower must see", seen.wait_for(|seen| *seen >= revision))
                .await
                .expect("it goes on");
        }
    }

    /// What they saw.
    pub(crate) fn stop(mut self) -> Vec<Watched> {
        self.tasks.abort_all();
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Follower {
    collection: Collection,
    fleet: Arc<Fleet>,
    place: Where,
    /// Its place among all that was watched; another one after a gap.
    number: usize,
    watched: Arc<Mutex<Vec<Watched>>>,
    seen: watch::Sender<u64>,
    after: u64,
}

impl Follower {
    async fn run(mut self) {
        for attempt in 0.. {
            let replica = match self.place {
                Where::Always(replica) => replica,
                Where::From(replica) => replica + attempt,
            };
            let (_, client) = self.fleet.client(replica);
            if self.follow(&client.apart()).await == End::Expired {
                self.begin_again(&client.apart()).await;
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Follows one watch to its end.
    async fn follow(&mut self, client: &Client) -> End {
        let path =
            format!("{}?allowWatchBookmarks=true&resourceVersion={}", self.collection.path, self.after);
        let Ok(Ok(opened)) = tokio::time::timeout(OPENING, client.try_watch(&path)).await else {
            return End::Broken;
        };
        let mut watch = match opened {
            Ok(watch) => watch,
            Err(answer) if answer.code == 410 => return End::Expired,
            Err(_) => return End::Broken,
        };
        loop {
            match watch.next_within(QUIET).await {
                Wait::Event(event) if event.kind == "ERROR" => {
                    return if event.object["code"] == 410 { End::Expired } else { End::Broken };
                }
                Wait::Event(event) => self.take(&event),
                Wait::Quiet | Wait::Ended => return End::Broken,
            }
        }
    }

    fn take(&mut self, event: &Event) {
        let told = match event.kind.as_str() {
            "BOOKMARK" => Some(Told::Bookmark(event.revision())),
            _ => self.collection.change(event).map(Told::Change),
        };
        self.after = self.after.max(event.revision());
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all[self.number].told.extend(told);
        self.seen.send_replace(self.after);
    }

    /// The history before `after` is gone: begins with a list, as clients do.
    async fn begin_again(&mut self, client: &Client) {
        let request = client.request("GET".parse().expect("a method"), self.collection.path, None, "");
        let Ok(Ok(answer)) = tokio::time::timeout(OPENING, client.try_send(request)).await else { return };
        if answer.code != 200 {
            return;
        }
        self.after = revision(&answer.json());
        let watched =
            Watched { prefix: self.collection.prefix.to_owned(), after: self.after, told: Vec::new() };
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(watched);
        self.number = all.len() - 1;
        self.seen.send_replace(self.after);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Broken,
    Expired,
}
