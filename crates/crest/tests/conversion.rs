//! Custom resources converted between versions by a webhook, over the wire.
//!
//! The webhook of these tests keeps `spec.hostPort` in v1 and `spec.host` and `spec.port` in v2.

use serde_json::{Value, json};
use testkit::{Asked, Client, Crest, JSON_PATCH, MERGE_PATCH, Reply, Setup, Tool, Webhook, soon};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.conv.example";
const V1: &str = "/apis/conv.example/v1/namespaces/default/widgets";
const V2: &str = "/apis/conv.example/v2/namespaces/default/widgets";

/// A definition in two versions, stored in the first.
fn definition(client_config: &Value) -> Value {
    let version = |name: &str, storage: bool, fields: &Value| {
        json!({
            "name": name, "served": true, "storage": storage,
            "subresources": {
                "status": {},
                "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
            },
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": fields},
                "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "note": {"type": "string"}}},
            }}},
        })
    };
    let (text, number) = (json!({"type": "string"}), json!({"type": "integer"}));
    let mut versions = vec![
        version("v1", true, &json!({"hostPort": text, "replicas": number})),
        version("v2", false, &json!({"host": text, "port": text, "replicas": number})),
    ];
    versions[1]["additionalPrinterColumns"] =
        json!([{"name": "Host", "type": "string", "jsonPath": ".spec.host"}]);
    versions[1]["selectableFields"] = json!([{"jsonPath": ".spec.host"}]);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.conv.example"},
        "spec": {
            "group": "conv.example", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": client_config,
            }},
        },
    })
}

fn by_url(hook: &Webhook, path: &str) -> Value {
    json!({"url": hook.url(path), "caBundle": hook.ca_bundle})
}

async fn define(client: &Client, definition: &Value) {
    client.create(DEFINITIONS, definition).await.expect(201);
    let mut watch = client.watch(&format!("{DEFINITIONS}?resourceVersion=0")).await;
    watch.until(|event| established(&event.object)).await;
}

fn established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let is_so = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    conditions.is_some_and(|conditions| conditions.iter().any(is_so))
}

/// Gives the definition another webhook.
async fn redefine(client: &Client, client_config: &Value) {
    let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": client_config}}}});
    change(client, MERGE_PATCH, &patch).await;
}

/// Changes the definition and waits until that is what is served: what is published says so.
async fn change(client: &Client, content_type: &str, patch: &Value) -> Value {
    let published =
        async || client.get("/openapi/v3").await.expect(200)["paths"]["apis/conv.example/v2"].clone();
    let before = published().await;
    let changed = client.patch(DEFINITION, content_type, patch).await.expect(200);
    soon("the definition as it is now", async {
        while published().await == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    changed
}

fn widget(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("conv.example/{version}"), "kind": "Widget",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// The answer of a webhook that does its work.
fn convert(asked: &Asked) -> Value {
    let desired = asked.body["request"]["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = asked.body["request"]["objects"].as_array().cloned().unwrap_or_default();
    let converted: Vec<Value> = objects.into_iter().map(|object| converted(object, desired)).collect();
    json!({
        "apiVersion": asked.body["apiVersion"], "kind": "ConversionReview",
        "response": {
            "uid": asked.body["request"]["uid"],
            "result": {"status": "Success"},
            "convertedObjects": converted,
        },
    })
}

fn converted(mut object: Value, desired: &str) -> Value {
    object["apiVersion"] = desired.into();
    if let Some(spec) = object["spec"].as_object_mut() {
        if let (true, Some(both)) = (desired.ends_with("/v2"), spec.remove("hostPort")) {
            let both = both.as_str().unwrap_or_default().to_owned();
            let (host, port) = both.split_once(':').unwrap_or((&both, ""));
            spec.insert("host".into(), host.into());
            spec.insert("port".into(), port.into());
        } else if desired.ends_with("/v1") {
            let mut take = |key: &str| spec.remove(key).and_then(|value| value.as_str().map(str::to_owned));
            if let (Some(host), port) = (take("host"), take("port").unwrap_or_default()) {
                spec.insert("hostPort".into(), format!("{host}:{port}").into());
            }
        }
    }
    object
}

async fn working_webhook() -> Webhook {
    Webhook::start(&[], |asked| Reply::Json(convert(asked))).await
}

/// How many objects each call carried.
fn sizes(hook: &Webhook) -> Vec<usize> {
    hook.asked().iter().map(|asked| asked.body["request"]["objects"].as_array().map_or(0, Vec::len)).collect()
}

#[tokio::test]
async fn every_verb_goes_through_the_webhook() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    let spec = json!({"hostPort": "a:1", "replicas": 2});
    client.create(V1, &widget("v1", "a", &spec)).await.expect(201);
    assert!(hook.asked().is_empty(), "the version that is stored needs nobody");

    let read = client.get(&format!("{V2}/a")).await.expect(200);
    assert_eq!(read["apiVersion"], "conv.example/v2");
    assert_eq!(read["spec"], json!({"host": "a", "port": "1", "replicas": 2}));
    let made = client.create(V2, &widget("v2", "b", &json!({"host": "b", "port": "2"}))).await.expect(201);
    assert_eq!(made["spec"], json!({"host": "b", "port": "2"}));
    assert_eq!(client.get(&format!("{V1}/b")).await.expect(200)["spec"], json!({"hostPort": "b:2"}));

    let patched =
        client.patch(&format!("{V2}/a"), MERGE_PATCH, &json!({"spec": {"port": "7"}})).await.expect(200);
    assert_eq!(patched["metadata"]["generation"], 2);
    let patch = json!([{"op": "replace", "path": "/spec/host", "value": "c"}]);
    client.patch(&format!("{V2}/a"), JSON_PATCH, &patch).await.expect(200);
    assert_eq!(client.get(&format!("{V1}/a")).await.expect(200)["spec"]["hostPort"], "c:7");

    let mut replaced = client.get(&format!("{V2}/b")).await.expect(200);
    replaced["spec"]["port"] = "3".into();
    client.update(&format!("{V2}/b"), &replaced).await.expect(200);
    assert_eq!(client.get(&format!("{V1}/b")).await.expect(200)["spec"]["hostPort"], "b:3");
    // What is no change after conversion is none.
    let before = client.get(&format!("{V2}/b")).await.expect(200);
    let same = client.update(&format!("{V2}/b"), &before).await.expect(200);
    assert_eq!(same["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);

    let status = json!({"status": {"note": "fine", "replicas": 1}});
    let status = client.patch(&format!("{V2}/a/status"), MERGE_PATCH, &status).await.expect(200);
    assert_eq!((&status["status"]["note"], &status["spec"]["host"]), (&json!("fine"), &json!("c")));
    let scale = client
        .patch(&format!("{V2}/a/scale"), MERGE_PATCH, &json!({"spec": {"replicas": 5}}))
        .await
        .expect(200);
    assert_eq!((&scale["kind"], &scale["status"]["replicas"]), (&json!("Scale"), &json!(1)));
    let read = client.get(&format!("{V1}/a")).await.expect(200);
    assert_eq!(read["spec"], json!({"hostPort": "c:7", "replicas": 5}));

    let mut request = client.request("GET".parse().expect("a method"), V2, None, "");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io".parse().expect("a header");
    request.headers_mut().insert("accept", table);
    let table = client.send(request).await.expect(200);
    let hosts: Vec<&Value> =
        table["rows"].as_array().into_iter().flatten().map(|row| &row["cells"][1]).collect();
    assert_eq!(hosts, ["c", "b"]);

    let dry = client
        .create(&format!("{V2}?dryRun=All"), &widget("v2", "n", &json!({"host": "h"})))
        .await
        .expect(201);
    assert_eq!(dry["spec"], json!({"host": "h", "port": ""}), "a dry run shows what would be read");
    client.delete(&format!("{V2}/b")).await.expect(200);
    let deleted = client.delete(V2).await.expect(200);
    assert_eq!(deleted["items"][0]["spec"]["host"], "c");
    assert_eq!(client.get(V1).await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn defaults_are_of_the_stored_version_and_every_version_is_pruned() {
    let hook = Webhook::start(&[], |asked| {
        let mut answer = convert(asked);
        for object in answer["response"]["convertedObjects"].as_array_mut().into_iter().flatten() {
            object["spec"]["unheard"] = "of".into();
        }
        Reply::Json(answer)
    })
    .await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    let mut definition = definition(&by_url(&hook, "/c"));
    define(&client, &definition).await;
    client.create(V1, &widget("v1", "old", &json!({"hostPort": "a:1"}))).await.expect(201);
    definition = client.get(DEFINITION).await.expect(200);
    for (index, replicas) in [(0, 3), (1, 8)] {
        let schema = &mut definition["spec"]["versions"][index]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"]["replicas"]["default"] = replicas.into();
    }
    change(&client, MERGE_PATCH, &json!({"spec": {"versions": definition["spec"]["versions"]}})).await;
    // What is read got the default of the version it is stored in before it was converted.
    let read = client.get(&format!("{V2}/old")).await.expect(200);
    assert_eq!(read["spec"], json!({"host": "a", "port": "1", "replicas": 3}));
    let sent = hook.asked().remove(0).body["request"]["objects"][0].clone();
    assert_eq!(sent["spec"]["replicas"], 3);
    // What is written gets that of the version it is written in.
    let made = client.create(V2, &widget("v2", "new", &json!({"host": "b"}))).await.expect(201);
    assert_eq!(made["spec"], json!({"host": "b", "port": "", "replicas": 8}));
    assert_eq!(
        client.get(&format!("{V1}/new")).await.expect(200)["spec"],
        json!({"hostPort": "b:", "replicas": 8})
    );
}

#[tokio::test]
async fn a_list_is_one_call_and_what_came_of_it_is_remembered() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    for number in 0..20 {
        let spec = json!({"hostPort": format!("h{}:1", number % 4)});
        client.create(V1, &widget("v1", &format!("w{number}"), &spec)).await.expect(201);
    }
    assert_eq!(client.get(V2).await.expect(200)["items"].as_array().map(Vec::len), Some(20));
    assert_eq!(sizes(&hook), [20], "one call for the list");
    client.get(V2).await.expect(200);
    client.get(&format!("{V2}/w3")).await.expect(200);
    let selected = client.get(&format!("{V2}?fieldSelector=spec.host%3Dh1")).await.expect(200);
    assert_eq!(selected["items"].as_array().map(Vec::len), Some(5));
    assert_eq!(sizes(&hook), [0; 0], "nobody is asked twice about the same object");
    client.patch(&format!("{V1}/w3"), MERGE_PATCH, &json!({"spec": {"hostPort": "x:9"}})).await.expect(200);
    let listed = client.get(&format!("{V2}?limit=7")).await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(7));
    client.get(V2).await.expect(200);
    assert_eq!(sizes(&hook), [1], "only what changed is asked about");
    assert_eq!(hook.connections(), 1, "connections are used again");
    // Another state of the definition may convert otherwise.
    redefine(&client, &by_url(&hook, "/other")).await;
    client.get(&format!("{V2}/w3")).await.expect(200);
    let asked = hook.asked();
    assert_eq!(asked.iter().map(|asked| &*asked.path).collect::<Vec<_>>(), ["/other?timeout=30s"]);
    assert!(asked[0].http2, "on this machine HTTP/2 is spoken");
}

#[tokio::test]
async fn many_at_once_ask_once() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    let reads = (0..50).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.get(&format!("{V2}/a")).await.expect(200)["spec"]["host"].clone() })
    });
    for read in reads.collect::<Vec<_>>() {
        assert_eq!(read.await.expect("no panic"), "a");
    }
    assert_eq!(sizes(&hook), [1]);
    let mut watches = Vec::new();
    for _ in 0..20 {
        let mut watch = client.watch(V2).await;
        assert_eq!(watch.event().await.name(), "a");
        watches.push(watch);
    }
    client.patch(&format!("{V1}/a"), MERGE_PATCH, &json!({"spec": {"hostPort": "b:1"}})).await.expect(200);
    for watch in &mut watches {
        assert_eq!(watch.event().await.object["spec"]["host"], "b");
    }
    assert_eq!(sizes(&hook), [1], "a change is converted once for all who watch");
}

#[tokio::test]
async fn watches_show_every_change_in_their_version() {
    let hook = Webhook::start(&[], |asked| {
        // A webhook may change labels, and they are selected by as clients see them.
        let mut answer = convert(asked);
        for object in answer["response"]["convertedObjects"].as_array_mut().into_iter().flatten() {
            let host = object["spec"]["host"].as_str().unwrap_or("none").to_owned();
            object["metadata"]["labels"] = json!({"host": host});
        }
        Reply::Json(answer)
    })
    .await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "x:1"}))).await.expect(201);
    let (mut all, mut some) =
        (client.watch(V2).await, client.watch(&format!("{V2}?labelSelector=host=y")).await);
    let set = |both: &str| json!({"spec": {"hostPort": both}});
    for both in ["y:1", "y:2", "x:3"] {
        client.patch(&format!("{V1}/a"), MERGE_PATCH, &set(both)).await.expect(200);
    }
    client.delete(&format!("{V1}/a")).await.expect(200);
    let mut seen = Vec::new();
    for _ in 0..5 {
        let event = all.event().await;
        seen.push(format!("{} {}", event.kind, event.object["spec"]["port"].as_str().unwrap_or_default()));
    }
    assert_eq!(seen, ["ADDED 1", "MODIFIED 1", "MODIFIED 2", "MODIFIED 3", "DELETED 3"]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = some.event().await;
        assert_eq!(event.object["metadata"]["labels"]["host"], "y");
        seen.push(format!("{} {}", event.kind, event.object["spec"]["port"].as_str().unwrap_or_default()));
    }
    assert_eq!(seen, ["ADDED 1", "MODIFIED 2", "DELETED 2"]);
    assert_eq!(client.get(&format!("{V2}?labelSelector=host=y")).await.expect(200)["items"], json!([]));
}

#[tokio::test]
async fn a_watch_waits_for_a_webhook_that_fails() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    let mut watch = client.watch(V2).await;
    hook.answer(|_| Reply::Close);
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    soon("a call of the webhook", async {
        while hook.asked().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    hook.answer(|asked| Reply::Json(convert(asked)));
    let event = watch.event().await;
    assert_eq!((&*event.kind, &event.object["spec"]["host"]), ("ADDED", &json!("a")));
}

/// A webhook that fails in the way its path names.
fn faulty(asked: &Asked) -> Reply {
    let mut answer = convert(asked);
    let path = asked.path.split('?').next().unwrap_or_default();
    let objects = answer["response"]["convertedObjects"].as_array().cloned().unwrap_or_default();
    let each = |change: fn(&mut Value)| -> Value {
        objects
            .iter()
            .cloned()
            .map(|mut object| {
                change(&mut object);
                object
            })
            .collect()
    };
    let response = &mut answer["response"];
    match path {
        "/failed" => response["result"] = json!({"status": "Failed", "message": "not like this"}),
        "/silent" => response["result"] = json!({"status": "Failed"}),
        "/uid" => response["uid"] = "0".into(),
        "/none" => response["convertedObjects"] = json!([]),
        "/null" => response["convertedObjects"] = json!([null]),
        "/version" => {
            response["convertedObjects"] = each(|object| object["apiVersion"] = "other.example/v7".into());
        }
        "/kind" => response["convertedObjects"] = each(|object| object["kind"] = "Other".into()),
        "/name" => response["convertedObjects"] = each(|object| object["metadata"]["name"] = "b".into()),
        "/label" => {
            response["convertedObjects"] = each(|object| object["metadata"]["labels"] = json!({"a": 1}));
        }
        "/empty" => answer["response"] = Value::Null,
        "/review" => answer["apiVersion"] = "apiextensions.k8s.io/v1beta1".into(),
        "/500" => return Reply::Raw { code: 500, content_type: "text/plain", body: "out of order".into() },
        "/404" => return Reply::Raw { code: 404, content_type: "text/html", body: "<p>".into() },
        "/302" => return Reply::Raw { code: 302, content_type: "text/plain", body: String::new() },
        "/text" => return Reply::Raw { code: 200, content_type: "text/plain", body: "nope".into() },
        "/nothing" => return Reply::Raw { code: 200, content_type: "text/plain", body: String::new() },
        "/close" => return Reply::Close,
        _ => {}
    }
    Reply::Json(answer)
}

#[tokio::test]
async fn every_failure_has_its_text_and_keeps_to_its_own_objects() {
    let hook = Webhook::start(&[], faulty).await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    let address = hook.address;
    let detector = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    for (path, text) in [
        ("/failed", "failed: not like this".to_owned()),
        ("/silent", "failed: response.result.status was 'Failed', not 'Success'".to_owned()),
        ("/none", "returned 0 objects, expected 1".to_owned()),
        ("/version", "returned invalid object at index 0: invalid groupVersion (expected conv.example/v2, received other.example/v7)".to_owned()),
        ("/kind", "returned invalid object at index 0: invalid kind (expected Widget, received Other)".to_owned()),
        ("/name", "returned invalid object: must have the same name: a != b".to_owned()),
        ("/label", "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object".to_owned()),
        ("/empty", "failed: no response provided".to_owned()),
        ("/review", "failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion".to_owned()),
        ("/500", "failed: an error on the server (\"out of order\") has prevented the request from succeeding".to_owned()),
        ("/404", "failed: the server could not find the requested resource".to_owned()),
        ("/302", "failed: the server responded with the status code 302 but did not return more information".to_owned()),
        ("/text", format!("failed: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type {detector}")),
        ("/nothing", "failed: 0-length response with status code: 200 and content type: text/plain".to_owned()),
    ] {
        redefine(&client, &by_url(&hook, path)).await;
        let text = format!("conversion webhook for conv.example/v1, Kind=Widget {text}");
        assert_eq!(client.get(&format!("{V2}/a")).await.failure(), (500, text.clone()), "{path}");
        let unready = format!("storage is (re)initializing: failed to list conv.example/v2, Kind=Widget: {text}");
        assert_eq!(client.get(V2).await.failure(), (429, unready), "{path}");
        assert_eq!(client.get(&format!("{V2}?limit=5")).await.failure(), (500, text), "{path}");
    }
    // How a connection ends depends on what was under way.
    redefine(&client, &by_url(&hook, "/close")).await;
    let (code, text) = client.get(&format!("{V2}/a")).await.failure();
    let start = format!(
        "conversion webhook for conv.example/v1, Kind=Widget failed: Post \"https://{address}/close?timeout=30s\": "
    );
    assert!(code == 500 && text.starts_with(&start), "{text}");
    redefine(&client, &by_url(&hook, "/uid")).await;
    let (code, text) = client.get(&format!("{V2}/a")).await.failure();
    assert!(code == 500 && text.contains("expected response.uid=") && text.ends_with("got \"0\""), "{text}");
    redefine(&client, &by_url(&hook, "/null")).await;
    assert_eq!(
        client.get(&format!("{V2}/a")).await.failure(),
        (500, "unexpected end of JSON input".to_owned())
    );

    // Writes need the version that is stored.
    redefine(&client, &by_url(&hook, "/failed")).await;
    let refused = "conversion webhook for conv.example/v2, Kind=Widget failed: not like this";
    let made = client.create(V2, &widget("v2", "b", &json!({"host": "b"}))).await;
    assert_eq!(made.failure(), (500, refused.to_owned()));
    assert_eq!(client.get(&format!("{V1}/b")).await.code, 404, "nothing was written");
    // Whoever does not need the webhook does not notice.
    client.get("/apis/conv.example/v2").await.expect(200);
    client.get(V1).await.expect(200);
    client.patch(&format!("{V1}/a"), MERGE_PATCH, &json!({"spec": {"replicas": 1}})).await.expect(200);
    client.get("/openapi/v3/apis/conv.example/v2").await.expect(200);
    // An object that came after the definition is not what keeps a version from being served.
    assert_eq!(client.get(V2).await.code, 500);
    let mut watch = client.watch(DEFINITIONS).await;
    client.delete(DEFINITION).await.expect(200);
    watch.until(|event| event.kind == "DELETED").await;
}

#[tokio::test]
async fn what_cannot_be_reached_or_believed_is_told_as_go_tells_it() {
    let (hook, other) = (working_webhook().await, working_webhook().await);
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    let port = hook.address.port();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    for (url, bundle, why) in [
        (format!("https://127.0.0.1:{closed}"), Some(&hook.ca_bundle), format!("dial tcp 127.0.0.1:{closed}: connect: connection refused")),
        (format!("https://127.0.0.1:{port}"), Some(&other.ca_bundle), unknown.to_owned()),
        (format!("https://127.0.0.1:{port}"), None, unknown.to_owned()),
        (format!("https://localhost:{port}"), Some(&hook.ca_bundle), "tls: failed to verify certificate: x509: certificate is not valid for any names, but wanted to match localhost".to_owned()),
    ] {
        redefine(&client, &json!({"url": url, "caBundle": bundle})).await;
        let text = format!("conversion webhook for conv.example/v1, Kind=Widget failed: Post \"{url}/?timeout=30s\": {why}");
        assert_eq!(client.get(&format!("{V2}/a")).await.failure(), (500, text));
    }
}

#[tokio::test]
async fn a_service_is_found_by_the_map_or_by_its_objects() {
    let hook = Webhook::start(&["hook.system.svc"], |asked| Reply::Json(convert(asked))).await;
    let crest =
        Setup::new(CREST).with("--service-resolver", format!("system/hook:8443={}", hook.address)).start();
    let client = crest.client();
    let service = |port: u16| {
        let service = json!({"namespace": "system", "name": "hook", "path": "/c", "port": port});
        json!({"url": null, "service": service, "caBundle": hook.ca_bundle})
    };
    define(&client, &definition(&service(8443))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    let host = client.get(&format!("{V2}/a")).await.expect(200)["spec"]["host"].clone();
    assert_eq!(host, "a");
    assert!(!hook.asked()[0].http2, "services are spoken to in HTTP/1.1");

    redefine(&client, &service(443)).await;
    let failed = |why: &str| {
        let prefix = "conversion webhook for conv.example/v1, Kind=Widget failed: Post \"https://hook.system.svc:443/c?timeout=30s\":";
        (500, format!("{prefix} {why}"))
    };
    let read = || client.get("/apis/conv.example/v2/namespaces/default/widgets/a");
    assert_eq!(read().await.failure(), failed("service \"hook\" not found"));
    client.create("/api/v1/namespaces", &json!({"metadata": {"name": "system"}})).await.expect(201);
    let object = json!({"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 444}]}});
    client.create("/api/v1/namespaces/system/services", &object).await.expect(201);
    assert_eq!(read().await.failure(), failed("no service port 443 found for service \"hook\""));
    let ports = json!({"spec": {"ports": [{"port": 443, "name": "https"}]}});
    client.patch("/api/v1/namespaces/system/services/hook", MERGE_PATCH, &ports).await.expect(200);
    assert_eq!(read().await.failure(), failed("no endpoints available for service \"hook\""));
    // An endpoint may not be on this machine, but a name may.
    let named = json!({"spec": {"type": "ExternalName", "externalName": "localhost", "ports": null}});
    client.patch("/api/v1/namespaces/system/services/hook", MERGE_PATCH, &named).await.expect(200);
    redefine(&client, &service(hook.address.port())).await;
    assert_eq!(read().await.expect(200)["spec"]["host"], "a");
}

#[tokio::test]
async fn a_webhook_may_ask_to_be_asked_later() {
    let asked_before = std::sync::atomic::AtomicBool::new(false);
    let hook = Webhook::start(&[], move |asked| {
        if asked_before.swap(true, std::sync::atomic::Ordering::Relaxed) {
            Reply::Json(convert(asked))
        } else {
            Reply::Later
        }
    })
    .await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    assert_eq!(client.get(&format!("{V2}/a")).await.expect(200)["spec"]["host"], "a");
    assert_eq!(sizes(&hook), [1, 1]);
    let metrics = client.get("/metrics").await.text();
    let counted = "apiserver_conversion_webhook_request_total{result=\"success\",failure_type=\"\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn pages_and_collections_are_selected_as_clients_see_them() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    for number in 0..9 {
        let spec = json!({"hostPort": format!("h{}:{number}", number % 2)});
        client.create(V1, &widget("v1", &format!("w{number}"), &spec)).await.expect(201);
    }
    let selected = format!("{V2}?fieldSelector=spec.host%3Dh1");
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().into_iter().flatten();
        items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let first = client.get(&format!("{selected}&limit=3")).await.expect(200);
    assert_eq!(names(&first), ["w1", "w3", "w5"]);
    let token = first["metadata"]["continue"].as_str().unwrap_or_default();
    let rest = client.get(&format!("{selected}&limit=3&continue={token}")).await.expect(200);
    assert_eq!(names(&rest), ["w7"]);
    assert_eq!(
        names(&client.get(&format!("{V2}?fieldSelector=metadata.name%3Dw4")).await.expect(200)),
        ["w4"]
    );
    assert_eq!(sizes(&hook), [9]);
    assert_eq!(names(&client.delete(&selected).await.expect(200)), ["w1", "w3", "w5", "w7"]);
    assert_eq!(names(&client.get(V1).await.expect(200)), ["w0", "w2", "w4", "w6", "w8"]);
}

#[tokio::test]
async fn a_watch_ends_when_its_failing_webhook_is_replaced() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    let mut watch = client.watch(V2).await;
    hook.answer(
        |asked| if asked.path.starts_with("/c") { Reply::Close } else { Reply::Json(convert(asked)) },
    );
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    redefine(&client, &by_url(&hook, "/other")).await;
    assert_eq!(watch.next().await, None);
    assert_eq!(client.watch(V2).await.event().await.object["spec"]["host"], "a");
}

#[tokio::test]
async fn a_restart_needs_no_webhook() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    define(&crest.client(), &definition(&by_url(&hook, "/c"))).await;
    crest.client().create(V1, &widget("v1", "a", &json!({"hostPort": "a:1"}))).await.expect(201);
    crest.client().get(V2).await.expect(200);
    hook.answer(|_| Reply::Close);
    let crest = crest.restart().await;
    let client = crest.client();
    assert_eq!(client.get("/readyz").await.code, 200);
    client.get(&format!("{V1}/a")).await.expect(200);
    assert_eq!(client.get(V2).await.code, 429);
    assert_eq!(client.delete(&format!("{V2}/a")).await.code, 500);
    hook.answer(|asked| Reply::Json(convert(asked)));
    assert_eq!(client.get(V2).await.expect(200)["items"][0]["spec"]["host"], "a");
    client.delete(&format!("{V2}/a")).await.expect(200);
}

#[tokio::test]
async fn owners_are_known_in_their_own_versions() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    let apply = async |version: &str, manager: &str, spec: Value, force: bool| {
        let path = format!(
            "/apis/conv.example/{version}/namespaces/default/widgets/a?fieldManager={manager}&force={force}"
        );
        client.patch(&path, "application/apply-patch+yaml", &widget(version, "a", &spec)).await
    };
    apply("v1", "one", json!({"hostPort": "h:1"}), false).await.expect(201);
    let shared = apply("v2", "two", json!({"host": "h"}), false).await.expect(200);
    assert_eq!(shared["spec"], json!({"host": "h", "port": "1"}));
    let refused = apply("v2", "two", json!({"host": "other"}), false).await.failure();
    assert_eq!(
        refused,
        (409, "Apply failed with 1 conflict: conflict with \"one\": .spec.hostPort".to_owned())
    );
    let taken = apply("v2", "two", json!({"host": "other"}), true).await.expect(200);
    let owners = taken["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let owners: Vec<_> = owners.iter().map(|owner| (&owner["manager"], &owner["apiVersion"])).collect();
    assert_eq!(owners, [(&json!("two"), &json!("conv.example/v2"))], "the other one owns nothing any more");
    assert_eq!(client.get(&format!("{V1}/a")).await.expect(200)["spec"]["hostPort"], "other:1");

    hook.answer(|_| Reply::Close);
    let (code, text) = apply("v1", "one", json!({"hostPort": "h:1"}), true).await.failure();
    assert!(
        code == 500 && text.contains("conversion webhook for conv.example/v1, Kind=Widget failed"),
        "{text}"
    );
}

#[tokio::test]
async fn the_stored_version_changes_at_will() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    let mut definition = definition(&by_url(&hook, "/c"));
    definition["spec"]["conversion"]["webhook"]["conversionReviewVersions"] = json!(["v9", "v1beta1", "v1"]);
    define(&client, &definition).await;
    client.create(V1, &widget("v1", "old", &json!({"hostPort": "h:1"}))).await.expect(201);
    let switch = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    let switched = change(&client, JSON_PATCH, &switch).await;
    assert_eq!(switched["status"]["storedVersions"], json!(["v1", "v2"]));
    assert_eq!(client.get(&format!("{V1}/old")).await.expect(200)["spec"]["hostPort"], "h:1");
    assert!(hook.asked().is_empty(), "it is still stored as it was");
    let labels = json!({"metadata": {"labels": {"migrated": "yes"}}});
    client.patch(&format!("{V2}/old"), MERGE_PATCH, &labels).await.expect(200);
    hook.asked();
    client.get(&format!("{V2}/old")).await.expect(200);
    assert!(hook.asked().is_empty(), "now it is stored in the other version");
    assert_eq!(client.get(&format!("{V1}/old")).await.expect(200)["spec"]["hostPort"], "h:1");
    assert_eq!(hook.asked()[0].body["apiVersion"], "apiextensions.k8s.io/v1beta1");
    // A version that objects are no longer stored in can go; what is left in it cannot be read.
    client.create(V1, &widget("v1", "new", &json!({"hostPort": "n:1"}))).await.expect(201);
    let trimmed = json!({"status": {"storedVersions": ["v2"]}});
    client.patch(&format!("{DEFINITION}/status"), MERGE_PATCH, &trimmed).await.expect(200);
}

#[tokio::test]
async fn an_object_in_a_version_that_is_gone_is_told_apart() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let client = crest.client();
    define(&client, &definition(&by_url(&hook, "/c"))).await;
    client.create(V1, &widget("v1", "a", &json!({"hostPort": "h:1"}))).await.expect(201);
    let switch = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    change(&client, JSON_PATCH, &switch).await;
    let trimmed = json!({"status": {"storedVersions": ["v2"]}});
    client.patch(&format!("{DEFINITION}/status"), MERGE_PATCH, &trimmed).await.expect(200);
    let remove = json!([{"op": "remove", "path": "/spec/versions/0"}]);
    change(&client, JSON_PATCH, &remove).await;
    let text = "request to convert CR from an invalid group/version: conv.example/v1";
    assert_eq!(client.get(&format!("{V2}/a")).await.failure(), (500, text.to_owned()));
    let unready = format!("storage is (re)initializing: failed to list conv.example/v2, Kind=Widget: {text}");
    assert_eq!(client.get(V2).await.failure(), (429, unready));
}

#[tokio::test]
async fn kubectl_sees_every_version() {
    let hook = working_webhook().await;
    let crest = Crest::start(CREST);
    let Some(kubectl) = Tool::kubectl(&crest) else { return };
    kubectl.write("definition.yaml", &definition(&by_url(&hook, "/c")).to_string());
    kubectl.write("widget.yaml", &widget("v1", "a", &json!({"hostPort": "a:1", "replicas": 1})).to_string());
    let shown = tokio::task::spawn_blocking(move || {
        kubectl.ok("apply -f definition.yaml");
        kubectl.ok("wait --for condition=established crd/widgets.conv.example");
        kubectl.ok("apply -f widget.yaml");
        kubectl.ok("scale widgets.v2.conv.example/a --replicas=3");
        let columns = "get widgets.v2.conv.example -o custom-columns=V:.apiVersion,H:.spec.host,R:.spec.replicas --no-headers";
        (kubectl.ok(columns), kubectl.ok("get widgets.v2.conv.example --no-headers"))
    });
    let (columns, table) = shown.await.expect("no panic");
    assert_eq!(columns.split_whitespace().collect::<Vec<_>>(), ["conv.example/v2", "a", "3"]);
    assert_eq!(table.split_whitespace().collect::<Vec<_>>(), ["a", "a"]);
}
