//! Writes from end to end: lost races, sizes, dry runs and deletions, for a custom kind as for built-in ones.

use serde_json::{Value, json};
use testkit::{Client, Crest, JSON_PATCH, MERGE_PATCH};
use tokio::task::JoinSet;

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/writes.example.com/v1/namespaces/default/widgets";
const APPLY: &str = "application/apply-patch+yaml";

/// Makes a kind whose objects may hold anything, and waits until it is served.
async fn define(client: &Client) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.writes.example.com"},
        "spec": {
            "group": "writes.example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    client.create(DEFINITIONS, &definition).await.expect(201);
    let mut watch = client.watch(&format!("{DEFINITIONS}?resourceVersion=0")).await;
    watch.until(|event| event.object["status"]["conditions"].to_string().contains("\"Established\"")).await;
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "writes.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

/// As many members as make an object too large for the store only together with the owners of its fields.
fn large(value: i64) -> Value {
    Value::Object((0..65_000).map(|index| (format!("k{index:05}"), value.into())).collect())
}

#[tokio::test]
async fn patches_that_lose_a_race_are_made_again_unless_they_name_a_version() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    client.create(CONFIG_MAPS, &json!({"metadata": {"name": "raced"}})).await.expect(201);
    let path = format!("{CONFIG_MAPS}/raced");
    let mut patches = JoinSet::new();
    for index in 0..40 {
        let (client, path) = (client.clone(), path.clone());
        patches.spawn(async move {
            let patch = json!({"data": {format!("k{index}"): "v"}});
            client.patch(&path, MERGE_PATCH, &patch).await.expect(200)
        });
    }
    patches.join_all().await;
    let patched = client.get(&path).await.expect(200);
    assert_eq!(patched["data"].as_object().expect("data").len(), 40);

    let version = patched["metadata"]["resourceVersion"].clone();
    let mut versioned = JoinSet::new();
    for index in 0..8 {
        let (client, path, version) = (client.clone(), path.clone(), version.clone());
        versioned.spawn(async move {
            let patch = json!({"metadata": {"resourceVersion": version}, "data": {"n": index.to_string()}});
            client.patch(&path, MERGE_PATCH, &patch).await.code
        });
    }
    let mut codes = versioned.join_all().await;
    codes.sort_unstable();
    assert_eq!(codes, [200, 409, 409, 409, 409, 409, 409, 409]);
}

#[tokio::test]
async fn an_object_too_large_with_its_owners_is_kept_without_them() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client).await;
    let owners = |object: &Value| object["metadata"].get("managedFields").is_some();

    let created = client.create(WIDGETS, &widget("created", &large(1))).await.expect(201);
    assert!(!owners(&created));
    let small = client.create(WIDGETS, &widget("small", &json!({}))).await.expect(201);
    assert!(owners(&small));
    let path = format!("{WIDGETS}/small");
    let patched = client.patch(&path, MERGE_PATCH, &json!({"spec": large(1)})).await.expect(200);
    assert!(!owners(&patched));
    let mut new = widget("small", &large(2));
    new["metadata"]["resourceVersion"] = patched["metadata"]["resourceVersion"].clone();
    assert!(!owners(&client.update(&path, &new).await.expect(200)));

    // Whoever applies wants to own.
    let applied = client
        .patch(&format!("{WIDGETS}/applied?fieldManager=m"), APPLY, &widget("applied", &large(1)))
        .await;
    assert_eq!(applied.code, 500);
    assert_eq!(applied.json()["message"], "etcdserver: request is too large");
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let kept = json!({"metadata": {"name": "kept", "finalizers": ["example.com/x"]}, "data": {"a": "1"}});
    let kept = client.create(CONFIG_MAPS, &kept).await.expect(201);
    let path = format!("{CONFIG_MAPS}/kept");
    let dry = |path: &str| format!("{path}{}dryRun=All", if path.contains('?') { '&' } else { '?' });

    client.create(&dry(CONFIG_MAPS), &json!({"metadata": {"name": "new"}})).await.expect(201);
    client.create(&dry(CONFIG_MAPS), &json!({"metadata": {"name": "kept"}})).await.expect(409);
    let mut changed = kept.clone();
    changed["data"]["a"] = json!("2");
    assert_eq!(client.update(&dry(&path), &changed).await.expect(200)["data"]["a"], "2");
    client.patch(&dry(&path), MERGE_PATCH, &json!({"data": {"b": "1"}})).await.expect(200);
    client
        .patch(&dry(&path), JSON_PATCH, &json!([{"op": "remove", "path": "/metadata/finalizers"}]))
        .await
        .expect(200);
    let configuration =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}});
    let applied = format!("{CONFIG_MAPS}/applied?fieldManager=m");
    client.patch(&dry(&applied), APPLY, &configuration).await.expect(201);
    let deleted = client.delete(&dry(&path)).await.expect(200);
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    client.delete(&dry(CONFIG_MAPS)).await.expect(200);

    let list = client.get(CONFIG_MAPS).await.expect(200);
    let items = list["items"].as_array().expect("items");
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["metadata"], kept["metadata"]);
    assert_eq!(items[0]["data"], kept["data"]);
}

#[tokio::test]
async fn a_deletion_records_what_is_to_happen_to_dependents() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client).await;
    let delete =
        |path: &str, options: &Value| client.json("DELETE".parse().expect("a method"), path, options);
    for (policy, finalizer) in [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")] {
        let name = policy.to_lowercase();
        let path = format!("{WIDGETS}/{name}");
        client.create(WIDGETS, &widget(&name, &json!({}))).await.expect(201);
        let options = json!({"propagationPolicy": policy});
        let deleted = client.send(delete(&path, &options)).await.expect(200);
        assert_eq!(deleted["metadata"]["finalizers"], json!([finalizer]));
        assert_eq!(deleted["metadata"]["generation"], 2);
        // Again: nothing changes, and nothing is written.
        let again = client.send(delete(&path, &options)).await.expect(200);
        assert_eq!(again, deleted);
        let (code, why) = client
            .patch(&path, MERGE_PATCH, &json!({"metadata": {"finalizers": [finalizer, "example.com/more"]}}))
            .await
            .failure();
        assert_eq!(code, 422);
        assert!(why.contains("no new finalizers can be added if the object is being deleted"), "{why}");
        client.patch(&path, MERGE_PATCH, &json!({"metadata": {"finalizers": null}})).await.expect(200);
        client.get(&path).await.expect(404);
    }
}

/// Nothing may come into being in a namespace behind the back of who empties it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_namespace_that_writers_raced_with() {
    const ROUNDS: usize = 12;
    let crest = Crest::start(CREST);
    let client = crest.client();
    for round in 0..ROUNDS {
        let namespace = format!("/api/v1/namespaces/race-{round}");
        let maps = format!("{namespace}/configmaps");
        let made = json!({"metadata": {"name": format!("race-{round}")}});
        client.create("/api/v1/namespaces", &made).await.expect(201);
        let selector = format!("fieldSelector=metadata.name=race-{round}&resourceVersion=0");
        let mut watch = client.watch(&format!("/api/v1/namespaces?{selector}")).await;
        let mut writers = JoinSet::new();
        for _ in 0..4 {
            let (client, maps) = (client.apart(), maps.clone());
            writers.spawn(async move {
                loop {
                    let code = client.create(&maps, &json!({"metadata": {"generateName": "x-"}})).await.code;
                    if code != 201 {
                        return code;
                    }
                }
            });
        }
        client.delete(&namespace).await.expect(200);
        for code in writers.join_all().await {
            assert!(matches!(code, 403 | 404), "a namespace on its way out answered {code}");
        }
        watch.until(|event| event.kind == "DELETED").await;
        let left = client.get(&maps).await.expect(200);
        assert_eq!(left["items"], json!([]), "round {round}");
    }
}
