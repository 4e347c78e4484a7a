//! Clocks that jump, forwards and backwards, under a server that runs in the test's own process.
//!
//! The server takes the time from its environment and the embedded store from its clock; both are one here, and the
//! test sets it. Deadlines and pauses are measured on a clock that cannot be set, and go on as before.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use auth::authn::{Authenticator, BearerTokens, TokenFile};
use jiff::{SignedDuration, Timestamp};
use server::pki::{self, ClientRoots, ServingNames};
use server::{Config, Env, Security, Server, SystemEnv};
use store::embedded::{self, EmbeddedStore};
use store::etcd::{self, EtcdStore};
use store::{Clock, Store, UnixSeconds};
use testkit::history::Summary;
use testkit::{Client, Dice, Etcd, Http};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::run::{Run, Truth, repeat};

/// The time of the machine, and how wrong it is.
#[derive(Clone, Default)]
struct WrongClock(Arc<AtomicI64>);

impl WrongClock {
    fn jump(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Env for WrongClock {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }

    fn uid(&self) -> String {
        SystemEnv.uid()
    }

    fn random(&self) -> [u8; 16] {
        SystemEnv.random()
    }
}

impl Clock for WrongClock {
    fn now(&self) -> UnixSeconds {
        UnixSeconds(u64::try_from(Env::now(self).as_second()).unwrap_or_default())
    }
}

/// A server in this process.
struct InProcess {
    client: Client,
    clock: WrongClock,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl InProcess {
    async fn start(store: Arc<dyn Store>, clock: WrongClock, replica: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let names = ServingNames::new(address.ip(), None, &[]);
        let pki =
            pki::ensure(folder.path(), Some(&names), Timestamp::now()).expect("certificates can be made");
        let client_roots = ClientRoots::from_certificates(std::slice::from_ref(&pki.authority))
            .expect("the authority is good");
        let serving = pki.serving.expect("a serving certificate was asked for");
        let tls = pki::tls::server_config(&serving, &client_roots).expect("TLS can be had");
        let config = Config { replica: replica.map(str::to_owned), ..Config::default() };
        // By token: to a clock that is a day wrong, a certificate made today is not valid.
        let tokens = folder.path().join("tokens.csv");
        std::fs::write(&tokens, "admin-token,admin,uid,system:masters\n").expect("the folder is writable");
        let tokens = TokenFile::load(&tokens).expect("the tokens are good");
        let tokens = BearerTokens(vec![Box::new(tokens)]);
        let authenticator = Authenticator::new(vec![Box::new(tokens)], None);
        let server = Server::new(store, &config, authenticator, Arc::new(clock.clone()));
        let server = server.await.expect("the store works");
        let bound = server::bind(address).await.expect("a free port can be had");
        let (stop, stopped) = oneshot::channel();
        let (started, ready) = oneshot::channel();
        let served = tokio::spawn(async move {
            let started = |address| {
                let _ = started.send(address); // nobody waits after a failed test
            };
            let stopped = async {
                let _ = stopped.await; // dropped is stopped
            };
            let security = Security { tls, client_roots };
            bound.serve(server, &config, security, started, stopped).await.expect("it serves");
        });
        let address = testkit::soon("the start", ready).await.expect("it starts");
        let authority = pki.authority_pem.as_bytes();
        let client = Client::new(address, authority, None, Some("admin-token"), Http::Two);
        InProcess { client, clock, stop: Some(stop), served, _folder: folder }
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        testkit::soon("the orderly end", self.served).await.expect("it does not panic");
    }
}

const HOUR: i64 = 3_600;

/// Load on these servers while their clocks jump, each on its own.
async fn with_jumps(servers: Vec<InProcess>, seed: u64) -> Summary {
    let run = Run::start(servers.iter().map(|server| server.client.clone()), seed).await;
    let mut dice = Dice::new(seed);
    for jump in [24 * HOUR, -48 * HOUR, HOUR, -1, 400 * 24 * HOUR, 90] {
        servers[dice.roll(servers.len())].clock.jump(jump);
        run.load.operations(40).await;
        run.recovered().await;
    }
    // What is old by a clock that jumped ahead is given up, and those who follow do not notice.
    let summary = run.finish_with(Truth::Followed).await;
    for server in servers {
        server.stop().await;
    }
    summary
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jumping_clock_harms_nothing_in_the_embedded_store() {
    repeat("clock, embedded", |seed| async move {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let clock = WrongClock::default();
        let options = embedded::Options { clock: Arc::new(clock.clone()), ..embedded::Options::default() };
        let store = EmbeddedStore::open(folder.path(), options).expect("a new store can be made");
        let server = InProcess::start(Arc::new(store), clock, None).await;
        Some(with_jumps(vec![server], seed).await)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_need_not_agree_on_the_time() {
    repeat("clocks, etcd", |seed| async move {
        let etcd = Etcd::start()?;
        let mut servers = Vec::new();
        for replica in ["one", "two"] {
            let access = etcd::Access { endpoints: etcd.endpoints(), ..etcd::Access::default() };
            let store = EtcdStore::new(etcd::Options { access, ..etcd::Options::default() });
            let store = Arc::new(store.expect("the endpoints are good"));
            servers.push(InProcess::start(store, WrongClock::default(), Some(replica)).await);
        }
        Some(with_jumps(servers, seed).await)
    })
    .await;
}
