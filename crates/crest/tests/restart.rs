//! An orderly stop and a new start: everything is there, and work that was under way goes on.

use serde_json::{Value, json};
use testkit::{CRONTAB_DEFINITION, CRONTABS, Client, Crest, MERGE_PATCH, revision};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const NAMESPACES: &str = "/api/v1/namespaces";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn crontab(name: &str, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": {"name": name, "finalizers": finalizers},
        "spec": {"image": "x"},
    })
}

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

/// Waits until an object is gone.
async fn gone(client: &Client, collection: &str, name: &str) {
    let selected = format!("{collection}?fieldSelector=metadata.name={name}");
    let listed = client.get(&selected).await.expect(200);
    if listed["items"].as_array().is_some_and(Vec::is_empty) {
        return;
    }
    let mut watch = client.watch(&format!("{selected}&resourceVersion={}", revision(&listed))).await;
    watch.until(|event| event.kind == "DELETED").await;
}

#[tokio::test]
async fn objects_definitions_and_revisions_survive() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client).await;
    client.create(CRONTABS, &crontab("kept", &[])).await.expect(201);
    client.create(NAMESPACES, &json!({"metadata": {"name": "team"}})).await.expect(201);
    for namespace in ["default", "team"] {
        let path = format!("{NAMESPACES}/{namespace}/configmaps");
        client
            .create(&path, &json!({"metadata": {"generateName": "made-"}, "data": {"a": "ü\u{2028}\"\\"}}))
            .await
            .expect(201);
    }
    client.create(CONFIG_MAPS, &json!({"metadata": {"name": "gone"}})).await.expect(201);
    client.delete(&format!("{CONFIG_MAPS}/gone")).await.expect(200);
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"k": "v"}});
    client.create("/api/v1/namespaces/default/secrets", &secret).await.expect(201);

    let paths = [CRONTABS, NAMESPACES, "/api/v1/configmaps", "/api/v1/secrets", DEFINITIONS, "/apis"];
    let read = async |client: &Client| {
        let mut all = Vec::new();
        for path in paths {
            let mut list = client.get(path).await.expect(200);
            list["metadata"]["resourceVersion"].take(); // other kinds move it
            all.push(list);
        }
        all
    };
    let before = read(&client).await;
    let newest = revision(&client.get(CONFIG_MAPS).await.expect(200));
    let crest = crest.restart().await;
    let client = crest.client();
    assert_eq!(read(&client).await, before);
    let written = client.create(CONFIG_MAPS, &json!({"metadata": {"name": "later"}})).await.expect(201);
    assert!(revision(&written) > newest, "revisions go on where they were");
}

#[tokio::test]
async fn a_watch_goes_on_where_it_was() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let named = |name: &str| json!({"metadata": {"name": name}});
    client.create(CONFIG_MAPS, &named("one")).await.expect(201);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?resourceVersion=0")).await;
    let first = watch.event().await;
    client.create(CONFIG_MAPS, &named("two")).await.expect(201);
    client.delete(&format!("{CONFIG_MAPS}/one")).await.expect(200);
    let crest = crest.restart().await;
    let client = crest.client();
    client.create(CONFIG_MAPS, &named("three")).await.expect(201);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?resourceVersion={}", first.revision())).await;
    assert_eq!(watch.take(3).await, ["ADDED two", "DELETED one", "ADDED three"]);
}

#[tokio::test]
async fn a_list_goes_on_where_it_was() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for number in 0..5 {
        client
            .create(CONFIG_MAPS, &json!({"metadata": {"name": format!("item-{number}")}}))
            .await
            .expect(201);
    }
    let page = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
    let token = page["metadata"]["continue"].as_str().unwrap();
    client.delete(&format!("{CONFIG_MAPS}/item-3")).await.expect(200);
    let crest = crest.restart().await;
    let rest = crest.client().get(&format!("{CONFIG_MAPS}?continue={token}")).await.expect(200);
    let names: Vec<&str> = rest["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, ["item-2", "item-3", "item-4"], "as it was when the first page was read");
    assert_eq!(revision(&rest), revision(&page));
}

#[tokio::test]
async fn a_deletion_that_waits_is_finished_after_a_restart() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client).await;
    client.create(NAMESPACES, &json!({"metadata": {"name": "team"}})).await.expect(201);
    let inside = "/apis/stable.example.com/v1/namespaces/team/crontabs";
    for path in [CRONTABS, inside] {
        client.create(path, &crontab("held", &["example.com/hold"])).await.expect(201);
    }
    let team = format!("{NAMESPACES}/team");
    assert_eq!(client.delete(&team).await.code, 200);
    let crest = crest.restart().await;
    let client = crest.client();
    assert_eq!(client.get(&team).await.expect(200)["status"]["phase"], "Terminating");
    let release = json!({"metadata": {"finalizers": null}});
    client.patch(&format!("{inside}/held"), MERGE_PATCH, &release).await.expect(200);
    gone(&client, NAMESPACES, "team").await;

    let definition = format!("{DEFINITIONS}/crontabs.stable.example.com");
    assert_eq!(client.delete(&definition).await.code, 200);
    let crest = crest.restart().await;
    let client = crest.client();
    let stuck = client.get(&definition).await.expect(200);
    assert!(stuck["metadata"]["deletionTimestamp"].is_string(), "{stuck}");
    client.patch(&format!("{CRONTABS}/held"), MERGE_PATCH, &release).await.expect(200);
    gone(&client, DEFINITIONS, "crontabs.stable.example.com").await;
    assert_eq!(client.get(CRONTABS).await.code, 404);
}
