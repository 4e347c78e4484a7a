//! The backend on an etcd as it is in life: members that go, users with rights, history that is given up together.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crest_store::{
    Error, KeyRange, Range, Revision, Store, Txn, WatchMessage,
    etcd::{Access, EtcdStore, Keyspace, Options, User},
};
use testkit::{Etcd, EtcdSetup, EtcdVersion, soon};

fn access(etcd: &Etcd) -> Access {
    Access { endpoints: etcd.endpoints(), ..Access::default() }
}

fn open(options: Options) -> EtcdStore {
    EtcdStore::new(options).expect("the options make sense")
}

/// Writes until it is answered. Whether an unanswered write happened is what the caller must find out.
async fn write(store: &EtcdStore, key: &str, value: &str) -> Revision {
    soon("a write that is answered", write_again(store, key, value)).await
}

async fn write_again(store: &EtcdStore, key: &str, value: &str) -> Revision {
    loop {
        match soon("a write", store.commit(Txn::create(key.to_owned(), value.to_owned()))).await {
            Ok(committed) => return committed.revision,
            Err(Error::Conflict { current }) => {
                let kv = current[0].as_ref().expect("a conflict shows what is there");
                assert_eq!(kv.value, value, "nobody else writes this key");
                return kv.mod_revision;
            }
            Err(Error::Unavailable(_)) => {}
            Err(error) => panic!("unexpected: {error:?}"),
        }
    }
}

#[tokio::test]
async fn any_member_may_go_or_hang_and_everything_goes_on() {
    let Some(setup) = EtcdSetup::new(EtcdVersion::Usual) else { return };
    let mut etcd = setup.members(3).start();
    let store = open(Options { access: access(&etcd), ..Options::default() });
    let mut watch = store.watch(KeyRange::prefix("/n/"), Revision::FIRST).await.expect("it opens");
    let mut resume = Revision::FIRST;
    let mut written = Vec::new();
    for member in 0..3 {
        for (number, pause) in [(2 * member, false), (2 * member + 1, true)] {
            if pause {
                etcd.pause(member);
            } else {
                etcd.kill(member);
            }
            let key = format!("/n/{number}");
            written.push((write(&store, &key, "x").await, key.clone()));
            let read = soon("a read", store.range(Range::values(KeyRange::key(key)))).await;
            assert_eq!(read.expect("two members are enough").kvs.len(), 1);
            if pause {
                etcd.resume(member);
            } else {
                etcd.launch(member);
                etcd.await_ready(member);
            }
        }
    }
    // The watch tells each write once, in order, over however many connections.
    let mut told = Vec::new();
    while told.len() < written.len() {
        store.request_progress();
        match soon("an event", watch.next()).await {
            Ok(WatchMessage::Events(batch)) => {
                resume = batch.revision;
                let keys =
                    batch.events.iter().map(|event| String::from_utf8_lossy(&event.kv.key).into_owned());
                told.extend(keys.map(|key| (batch.revision, key)));
            }
            Ok(WatchMessage::Progress(_)) => {}
            Err(Error::Unavailable(_)) => {
                watch = loop {
                    match soon("a watch", store.watch(KeyRange::prefix("/n/"), resume)).await {
                        Ok(watch) => break watch,
                        Err(Error::Unavailable(_)) => {}
                        Err(error) => panic!("unexpected: {error:?}"),
                    }
                };
            }
            Err(error) => panic!("unexpected: {error:?}"),
        }
    }
    assert_eq!(told, written);
}

#[tokio::test]
async fn a_cluster_that_is_gone_is_told_and_its_return_is_found() {
    let Some(mut etcd) = Etcd::start() else { return };
    let store = open(Options { access: access(&etcd), ..Options::default() });
    let first = write(&store, "/a", "1").await;
    etcd.kill(0);
    let (wrote, read) = (store.commit(Txn::update("/a", "2", first)), store.current());
    let (wrote, read) = soon("honest errors", futures_util::future::join(wrote, read)).await;
    assert!(matches!(&wrote, Err(Error::Unavailable(_))), "{wrote:?}");
    assert!(matches!(&read, Err(Error::Unavailable(_))), "{read:?}");
    etcd.launch(0);
    etcd.await_ready(0);
    let now = soon("a read", store.range(Range::values(KeyRange::key("/a")))).await.expect("it is back");
    assert_eq!(now.kvs[0].value, "1", "a write that was refused did not happen");
    soon("a write", store.commit(Txn::update("/a", "3", first))).await.expect("it is back");
}

/// What `etcdctl` would do, over etcd's JSON gateway.
fn manage(etcd: &Etcd, path: &str, body: &str) {
    let mut stream = TcpStream::connect(etcd.address(0)).expect("etcd listens");
    let length = body.len();
    write!(stream, "POST /v3/auth/{path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("etcd answers");
    assert!(answer.lines().next().is_some_and(|line| line.contains("200")), "{path}: {answer}");
}

#[tokio::test]
async fn users_of_etcd_are_believed_within_their_rights() {
    let Some(setup) = EtcdSetup::new(EtcdVersion::New) else { return };
    let etcd = setup.with("--auth-token-ttl", "2").start();
    manage(&etcd, "user/add", r#"{"name":"root","password":"r"}"#);
    manage(&etcd, "role/add", r#"{"name":"root"}"#);
    manage(&etcd, "user/grant", r#"{"user":"root","role":"root"}"#);
    manage(&etcd, "user/add", r#"{"name":"crest","password":"s3cret"}"#);
    manage(&etcd, "role/add", r#"{"name":"crest"}"#);
    // READWRITE on "/ours/" up to "/ours0".
    let right = r#"{"name":"crest","perm":{"permType":"READWRITE","key":"L291cnMv","range_end":"L291cnMw"}}"#;
    manage(&etcd, "role/grant", right);
    manage(&etcd, "user/grant", r#"{"user":"crest","role":"crest"}"#);
    manage(&etcd, "enable", "{}");
    let store = |user: Option<(&str, &str)>, prefix: &'static str| {
        let user = user.map(|(name, password)| User { name: name.into(), password: password.into() });
        let access = Access { user, ..access(&etcd) };
        let keyspace = Keyspace::mapped("/registry/", prefix);
        open(Options { access, keyspace, ..Options::default() })
    };
    let ours = store(Some(("crest", "s3cret")), "/ours/");
    let created = write(&ours, "/registry/a", "1").await;
    let mut watch =
        ours.watch(KeyRange::prefix("/registry/"), Revision::FIRST).await.expect("within its rights");
    let message = soon("an event", watch.next()).await.expect("the watch goes on");
    assert!(matches!(message, WatchMessage::Events(batch) if batch.revision == created));
    // A token that has ended is replaced, for writes too.
    tokio::time::sleep(Duration::from_secs(4)).await;
    soon("a write", ours.commit(Txn::update("/registry/a", "2", created))).await.expect("it logs in again");

    let refused = [
        store(None, "/ours/").current().await,
        store(Some(("crest", "wrong")), "/ours/").current().await,
        store(Some(("crest", "s3cret")), "/theirs/").current().await,
    ];
    for answer in refused {
        assert!(matches!(&answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
}

#[tokio::test]
async fn replicas_give_up_history_together() {
    let Some(etcd) = Etcd::start() else { return };
    let interval = Duration::from_millis(700);
    let replica =
        || open(Options { access: access(&etcd), compaction_interval: Some(interval), ..Options::default() });
    let (one, two) = (replica(), replica());
    let mut revision = write(&one, "/n", "0").await;
    let began = tokio::time::Instant::now();
    let compacted = async {
        loop {
            match two.range(Range::values(KeyRange::key("/n")).at(Revision(2))).await {
                Err(Error::Compacted { oldest }) => return oldest,
                Err(error) => panic!("unexpected: {error:?}"),
                Ok(_) => {
                    let next = format!("{revision}");
                    revision = one.commit(Txn::update("/n", next, revision)).await.expect("alone").revision;
                }
            }
        }
    };
    let oldest = soon("a compaction", compacted).await;
    assert!(oldest > Revision(2));
    // One key counts the turns for everybody; whoever is late in a turn does nothing.
    let turns = two.range(Range::values(KeyRange::key("compact_rev_key"))).await.expect("it can be read").kvs;
    let possible = began.elapsed().as_millis() / interval.as_millis() + 2;
    assert!((1..=possible).contains(&u128::from(turns[0].version)), "{turns:?}");
    let told: u64 = std::str::from_utf8(&turns[0].value).expect("text").parse().expect("a number");
    assert!(told > 0 && told <= revision.0);
}
