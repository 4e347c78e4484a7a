//! Two replicas on one etcd: whichever is asked, the answer is that of one control plane.

use serde_json::{Value, json};
use testkit::{
    CRONTAB_DEFINITION, CRONTABS, Client, Crest, Etcd, EtcdSetup, EtcdVersion, MERGE_PATCH, Setup, revision,
};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const NAMESPACES: &str = "/api/v1/namespaces";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v"}})
}

fn replica(etcd: &Etcd) -> Setup {
    Setup::new(CREST).with("--etcd-servers", etcd.endpoints().join(","))
}

struct Pair {
    // Before etcd: dropped first.
    one: Crest,
    two: Crest,
    etcd: Etcd,
}

impl Pair {
    /// Both start at once on an empty etcd. `None` when the machine has none.
    fn start(version: EtcdVersion) -> Option<Self> {
        let etcd = EtcdSetup::new(version)?.start();
        let (first, second) = (replica(&etcd), replica(&etcd));
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| second.start());
            (first.start(), other.join().expect("the second replica starts"))
        });
        Some(Pair { one, two, etcd })
    }

    fn clients(&self) -> (Client, Client) {
        (self.one.client(), self.two.client())
    }
}

async fn define(client: &Client) {
    let method = "POST".parse().expect("a method");
    let post = client.request(method, DEFINITIONS, Some("application/yaml"), CRONTAB_DEFINITION);
    client.send(post).await.expect(201);
    let mut watch = client.watch(&format!("{DEFINITIONS}?resourceVersion=0")).await;
    let established = "\"status\":\"True\",\"type\":\"Established\"";
    watch.until(|event| event.object["status"]["conditions"].to_string().contains(established)).await;
}

/// The first namespaces were made once, though both replicas found none.
#[tokio::test]
async fn replicas_that_start_at_once_agree_on_what_is_there() {
    let Some(pair) = Pair::start(EtcdVersion::Usual) else { return };
    let (one, two) = pair.clients();
    let (seen, again) = (one.get(NAMESPACES).await.expect(200), two.get(NAMESPACES).await.expect(200));
    assert_eq!(seen["items"], again["items"]);
    assert_eq!(seen["items"].as_array().map(Vec::len), Some(4));
}

#[tokio::test]
async fn what_one_replica_acknowledged_the_other_shows() {
    for version in [EtcdVersion::Usual, EtcdVersion::New] {
        let Some(pair) = Pair::start(version) else { continue };
        let (one, two) = pair.clients();
        for number in 0..30 {
            let (writer, reader) = if number % 2 == 0 { (&one, &two) } else { (&two, &one) };
            let path = format!("{CONFIG_MAPS}/n{number}");
            let created = writer.create(CONFIG_MAPS, &config_map(&format!("n{number}"))).await.expect(201);
            assert_eq!(reader.get(&path).await.expect(200), created);
            let listed = reader.get(CONFIG_MAPS).await.expect(200);
            assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
            assert!(revision(&listed) >= revision(&created));
            // The reader replaces what it read; the writer's old version then conflicts.
            let changed = reader.patch(&path, MERGE_PATCH, &json!({"data": {"k": "w"}})).await.expect(200);
            assert_eq!(changed["metadata"]["uid"], created["metadata"]["uid"]);
            let mut stale = created.clone();
            stale["data"]["k"] = "x".into();
            writer.update(&path, &stale).await.expect(409);
            writer.delete(&path).await.expect(200);
            reader.get(&path).await.expect(404);
            reader.delete(&path).await.expect(404);
        }
    }
}

#[tokio::test]
async fn watches_tell_the_changes_of_every_replica_once_and_in_order() {
    let Some(pair) = Pair::start(EtcdVersion::Usual) else { return };
    let (one, two) = pair.clients();
    let start = revision(&one.get(CONFIG_MAPS).await.expect(200));
    let mut watches = vec![
        one.watch(&format!("{CONFIG_MAPS}?resourceVersion={start}")).await,
        two.watch(&format!("{CONFIG_MAPS}?resourceVersion={start}")).await,
    ];
    let mut expected = Vec::new();
    for number in 0..20 {
        let client = if number % 2 == 0 { &one } else { &two };
        let created = client.create(CONFIG_MAPS, &config_map(&format!("n{number}"))).await.expect(201);
        expected.push(("ADDED".to_owned(), format!("n{number}"), revision(&created)));
    }
    for watch in &mut watches {
        let mut told = Vec::new();
        while told.len() < expected.len() {
            let event = watch.event().await;
            told.push((event.kind.clone(), event.name().to_owned(), event.revision()));
        }
        assert_eq!(told, expected);
    }
    // A revision that one replica gave out is good at the other.
    let middle = expected[9].2;
    let mut resumed = two.watch(&format!("{CONFIG_MAPS}?resourceVersion={middle}")).await;
    for (_, name, revision) in &expected[10..] {
        let event = resumed.event().await;
        assert_eq!((event.name(), event.revision()), (name.as_str(), *revision));
    }
}

#[tokio::test]
async fn a_definition_is_served_by_all_once_one_has_established_it() {
    let Some(pair) = Pair::start(EtcdVersion::Usual) else { return };
    let (one, two) = pair.clients();
    define(&one).await;
    let object = json!({
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "c"},
        "spec": {"image": "x", "unknown": 1},
    });
    let created = two.create(CRONTABS, &object).await.expect(201);
    assert_eq!(created["spec"], json!({"image": "x"}), "pruned as the schema says");
    assert_eq!(one.get(&format!("{CRONTABS}/c")).await.expect(200), created);
    // It goes everywhere too, with its objects.
    let name = "crontabs.stable.example.com";
    let seen = revision(&two.get(DEFINITIONS).await.expect(200));
    let mut watch = two.watch(&format!("{DEFINITIONS}?resourceVersion={seen}")).await;
    two.delete(&format!("{DEFINITIONS}/{name}")).await.expect(200);
    watch.until(|event| event.kind == "DELETED").await;
    one.get(&format!("{DEFINITIONS}/{name}")).await.expect(404);
    define(&two).await;
    let listed = one.get(CRONTABS).await.expect(200);
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test]
async fn the_other_replica_goes_on_when_one_is_killed() {
    let Some(mut pair) = Pair::start(EtcdVersion::Usual) else { return };
    let (one, two) = pair.clients();
    let start = revision(&two.get(CONFIG_MAPS).await.expect(200));
    let mut watch = two.watch(&format!("{CONFIG_MAPS}?resourceVersion={start}")).await;
    let created = one.create(CONFIG_MAPS, &config_map("a")).await.expect(201);
    pair.one.kill();
    pair.one.ended().await;
    assert_eq!(two.get(&format!("{CONFIG_MAPS}/a")).await.expect(200), created);
    let second = two.create(CONFIG_MAPS, &config_map("b")).await.expect(201);
    assert!(revision(&second) > revision(&created));
    assert_eq!(watch.take(2).await, ["ADDED a", "ADDED b"]);
    // It leaves nothing behind that the next one needs: it has no data of its own.
    let third = replica(&pair.etcd).start();
    assert_eq!(third.client().get(&format!("{CONFIG_MAPS}/b")).await.expect(200), second);
}

#[tokio::test]
async fn etcd_is_found_behind_certificates_and_under_another_prefix() {
    let Some(setup) = EtcdSetup::new(EtcdVersion::Usual) else { return };
    let etcd = setup.secured().start();
    let [authority, certificate, key] = etcd.client_files().expect("it is secured");
    let secured = |prefix: &str| {
        Setup::new(CREST)
            .with("--etcd-servers", etcd.endpoints().join(","))
            .with("--etcd-cafile", authority)
            .with("--etcd-certfile", certificate)
            .with("--etcd-keyfile", key)
            .with("--etcd-prefix", prefix)
    };
    let (one, other) = (secured("/registry").start(), secured("elsewhere/deep/").start());
    one.client().create(CONFIG_MAPS, &config_map("a")).await.expect(201);
    assert_eq!(other.client().get(CONFIG_MAPS).await.expect(200)["items"], json!([]));
    other.client().create(CONFIG_MAPS, &config_map("b")).await.expect(201);
    let listed = one.client().get(CONFIG_MAPS).await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    // Without its certificate nobody gets in, and the server says so instead of serving nothing.
    let stranger = Setup::new(CREST)
        .with("--etcd-servers", etcd.endpoints().join(","))
        .with("--etcd-cafile", authority)
        .fail()
        .await;
    assert_eq!(stranger.code, Some(1));
}

/// Runs a command of the program, which must succeed.
fn run(arguments: &[&str]) {
    let output = std::process::Command::new(CREST).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_control_plane_moves_to_etcd_and_back() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoints = etcd.endpoints().join(",");
    let mut embedded = Crest::start(CREST);
    let client = embedded.client();
    define(&client).await;
    let object = json!({
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": "c"},
        "spec": {"image": "x"},
    });
    client.create(CRONTABS, &object).await.expect(201);
    client.create(CONFIG_MAPS, &config_map("a")).await.expect(201);
    client.delete(&format!("{CONFIG_MAPS}/a")).await.expect(200);
    client.create(CONFIG_MAPS, &config_map("b")).await.expect(201);
    let everything = async |client: &Client| {
        let mut seen = Vec::new();
        for path in [CRONTABS, CONFIG_MAPS, NAMESPACES, DEFINITIONS] {
            seen.push(client.get(path).await.expect(200)["items"].take());
        }
        seen
    };
    let before = everything(&client).await;
    let file = embedded.folder().join("moving.backup").display().to_string();
    run(&["backup", "--data-dir", &embedded.data_dir().display().to_string(), &file]);
    embedded.terminate();
    embedded.ended().await;

    run(&["restore", "--etcd-servers", &endpoints, &file]);
    let shared = replica(&etcd).start();
    let client = shared.client();
    assert_eq!(everything(&client).await, before, "uids and resource versions too");
    let next = client.create(CONFIG_MAPS, &config_map("next")).await.expect(201);
    assert!(before.iter().all(|items| {
        items.as_array().expect("a list").iter().all(|item| revision(item) < revision(&next))
    }));
    let after = everything(&client).await;

    let home = Setup::new(CREST);
    let back = home.folder().join("back.backup").display().to_string();
    run(&["backup", "--etcd-servers", &endpoints, &back]);
    run(&["restore", "--data-dir", &home.data_dir().display().to_string(), &back]);
    let embedded = home.start();
    assert_eq!(everything(&embedded.client()).await, after);
}
