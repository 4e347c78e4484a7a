//! Several servers on one store in one process, on a clock that moves when everybody waits.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use auth::authn::Authenticator;
use jiff::{SignedDuration, Timestamp};
use store::memory::MemoryStore;
use store::{BoxFuture, Committed, KeyRange, Observer, Range, RangeResult, Stats, Store, Txn, Watch};
use tokio::task::JoinSet;

use super::*;
use crate::{Config, Env};

/// A clock that can be set.
#[derive(Default)]
struct Clock(AtomicI64);

impl Env for Clock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }

    fn uid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn random(&self) -> [u8; 16] {
        *uuid::Uuid::new_v4().as_bytes()
    }
}

/// The way of one replica to the store, which can be cut.
struct Link {
    store: Arc<MemoryStore>,
    cut: AtomicBool,
}

impl Link {
    fn check(&self) -> store::Result<()> {
        if self.cut.load(Ordering::SeqCst) {
            return Err(store::Error::Unavailable(Arc::new(std::io::Error::other("cut"))));
        }
        Ok(())
    }
}

impl Store for Link {
    fn commit(&self, txn: Txn) -> BoxFuture<'_, store::Result<Committed>> {
        Box::pin(async move {
            self.check()?;
            self.store.commit(txn).await
        })
    }

    fn range(&self, range: Range) -> BoxFuture<'_, store::Result<RangeResult>> {
        Box::pin(async move {
            self.check()?;
            self.store.range(range).await
        })
    }

    fn watch(&self, keys: KeyRange, after: Revision) -> BoxFuture<'_, store::Result<Box<dyn Watch>>> {
        self.store.watch(keys, after)
    }

    fn current(&self) -> BoxFuture<'_, store::Result<Revision>> {
        Box::pin(async move {
            self.check()?;
            self.store.current().await
        })
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, store::Result<()>> {
        self.store.compact(oldest)
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Option<Revision> {
        self.store.observe(observer)
    }

    fn stats(&self) -> Stats {
        self.store.stats()
    }

    fn close(&self) -> BoxFuture<'_, store::Result<()>> {
        self.store.close()
    }
}

/// A running server without a socket; dropping it is as sudden as a kill.
struct Replica {
    server: Arc<Server>,
    link: Arc<Link>,
    clock: Arc<Clock>,
    tasks: JoinSet<()>,
}

impl Replica {
    async fn start(store: &Arc<MemoryStore>, identity: Option<&str>) -> Self {
        let link = Arc::new(Link { store: store.clone(), cut: AtomicBool::new(false) });
        let clock = Arc::new(Clock::default());
        let config = Config { replica: identity.map(str::to_owned), ..Config::default() };
        let authenticator = Authenticator::new(Vec::new(), None);
        let server = Server::new(link.clone(), &config, authenticator, clock.clone()).await.unwrap();
        let mut tasks = JoinSet::new();
        super::super::start(&server, &mut tasks).await.unwrap();
        Replica { server, link, clock, tasks }
    }

    fn leads(&self) -> bool {
        self.server.leadership.is_leading()
    }

    async fn lease(&self) -> Option<Value> {
        let leases = leases(&self.server).unwrap();
        self.server.registry.fresh(&leases).await.unwrap();
        leases.get(&lease_key()).and_then(|lease| tree(&lease))
    }

    async fn stop(mut self) {
        self.server.stopping.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The first leads, the second waits.
async fn pair() -> (Replica, Replica) {
    let store = Arc::new(MemoryStore::default());
    let first = Replica::start(&store, Some("first")).await;
    first.server.leadership.begun().await;
    let second = Replica::start(&store, Some("second")).await;
    (first, second)
}

#[tokio::test(start_paused = true)]
async fn a_server_alone_leads_at_once_and_needs_no_lease() {
    let replica = Replica::start(&Arc::new(MemoryStore::default()), None).await;
    assert!(replica.leads());
    tokio::time::sleep(LEASE_DURATION * 2).await;
    assert_eq!(replica.lease().await, None);
}

#[tokio::test(start_paused = true)]
async fn one_of_two_leads_and_renews() {
    let (first, second) = pair().await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert!(first.leads() && !second.leads());
    }
    let lease = second.lease().await.unwrap();
    assert_eq!(holder(&lease), "first");
    assert_eq!(lease.at(&["spec", "leaseDurationSeconds"]).and_then(Value::as_int), Some(15));
    assert_eq!(lease.at(&["spec", "leaseTransitions"]).and_then(Value::as_int), Some(0));
}

#[tokio::test(start_paused = true)]
async fn the_other_takes_over_when_the_leader_falls_silent_and_not_before() {
    let (first, second) = pair().await;
    let began = Instant::now();
    drop(first);
    second.server.leadership.begun().await;
    let waited = began.elapsed();
    assert!(waited + RENEW_INTERVAL > LEASE_DURATION && waited <= LEASE_DURATION, "{waited:?}");
    let lease = second.lease().await.unwrap();
    assert_eq!(holder(&lease), "second");
    assert_eq!(lease.at(&["spec", "leaseTransitions"]).and_then(Value::as_int), Some(1));
}

#[tokio::test(start_paused = true)]
async fn an_orderly_end_hands_over_at_once() {
    let (first, second) = pair().await;
    let began = Instant::now();
    first.stop().await;
    second.server.leadership.begun().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_begins() {
    let (first, second) = pair().await;
    first.link.cut.store(true, Ordering::SeqCst);
    first.server.leadership.ended().await;
    assert!(!second.leads());
    second.server.leadership.begun().await;
    // Back again, it waits like everybody.
    first.link.cut.store(false, Ordering::SeqCst);
    tokio::time::sleep(LEASE_DURATION * 3).await;
    assert!(second.leads() && !first.leads());
}

#[tokio::test(start_paused = true)]
async fn clocks_that_jump_change_nothing() {
    let (first, second) = pair().await;
    for jump in [86_400, -200_000, 7_200] {
        first.clock.0.fetch_add(jump, Ordering::SeqCst);
        second.clock.0.fetch_sub(jump / 2, Ordering::SeqCst);
        tokio::time::sleep(LEASE_DURATION).await;
        assert!(first.leads() && !second.leads());
    }
}

#[tokio::test(start_paused = true)]
async fn of_many_exactly_one_leads() {
    let store = Arc::new(MemoryStore::default());
    let mut replicas = Vec::new();
    for number in 0..5 {
        replicas.push(Replica::start(&store, Some(&format!("replica-{number}"))).await);
    }
    while !replicas.is_empty() {
        tokio::time::sleep(LEASE_DURATION + RENEW_INTERVAL).await;
        let leader: Vec<usize> = (0..replicas.len()).filter(|at| replicas[*at].leads()).collect();
        assert_eq!(leader.len(), 1);
        drop(replicas.remove(leader[0]));
    }
}
