//! What kube-apiserver keeps in etcd can be read, and what Crest keeps there is where and what kube-apiserver expects.
//!
//! The values here were written down in the form that kube-apiserver v1.36 stores: JSON with sorted keys and a line
//! break for custom resources and their definitions, its binary envelope for built-in kinds.

use serde_json::{Value, json};
use store::etcd::{Access, EtcdStore, Options};
use store::{KeyRange, Range, Revision, Store, Txn};
use testkit::{Client, Etcd, MERGE_PATCH, Setup, revision};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const SHIRTS: &str = "/apis/stable.example.com/v2/namespaces/default/shirts";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A definition with two versions, of which an older object may be stored in the first.
const DEFINITION: &str = r#"{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"shirts.stable.example.com","uid":"0dfa1f2e-4f0e-4a6e-9a55-3c2b6f3a7a01","generation":1,"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"group":"stable.example.com","names":{"plural":"shirts","singular":"shirt","kind":"Shirt","listKind":"ShirtList"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"string","default":"M"}}}}}}}],"conversion":{"strategy":"None"}},"status":{"conditions":[{"type":"NamesAccepted","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"NoConflicts","message":"no conflicts found"},{"type":"Established","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"InitialNamesAccepted","message":"the initial names have been accepted"}],"acceptedNames":{"plural":"shirts","singular":"shirt","kind":"Shirt","listKind":"ShirtList"},"storedVersions":["v2"]}}
"#;

/// Sorted keys, as Go's encoder writes maps; the type stands between other members.
const BLUE: &str = r#"{"apiVersion":"stable.example.com/v2","kind":"Shirt","metadata":{"annotations":{"a":"<b>&\u2028"},"creationTimestamp":"2026-01-02T03:04:05Z","generation":1,"labels":{"team":"blue"},"managedFields":[{"apiVersion":"stable.example.com/v2","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:color":{}}},"manager":"kubectl-create","operation":"Update","time":"2026-01-02T03:04:05Z"}],"name":"blue","namespace":"default","uid":"5d7f4b52-8f9d-4c39-8a5e-52c1f0a1a7d2"},"spec":{"color":"blue","size":"L"}}
"#;
/// From before the default was there.
const WHITE: &str = r#"{"apiVersion":"stable.example.com/v2","kind":"Shirt","metadata":{"name":"white","namespace":"default","uid":"5d7f4b52-8f9d-4c39-8a5e-52c1f0a1a7d4"},"spec":{"color":"white"}}
"#;
/// Another order, another version, blanks, and a member that the schema does not know.
const GREEN: &str = r#" { "spec" : {"color":"green","forgotten":true}, "metadata": {"uid":"5d7f4b52-8f9d-4c39-8a5e-52c1f0a1a7d3", "name":"green","namespace":"default","creationTimestamp":null},
 "kind":"Shirt","apiVersion":"stable.example.com/v1"}"#;

/// A config map as kube-apiserver stores it: `k8s`, a zero, and an envelope around the message.
fn config_map_message() -> Vec<u8> {
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).expect("short enough for one byte");
        assert!(length < 128);
        [&[number << 3 | 2, length], bytes].concat()
    }
    let metadata = [
        field(1, b"binary"),
        field(3, b"default"),
        field(5, b"7a1e0b1c-91cf-4f0f-8c52-3d0f6f2a9c11"),
        field(8, &[8, 0xa5, 0xeb, 0xdc, 0xca, 6]), // seconds since 1970
    ]
    .concat();
    let data = [field(1, b"color"), field(2, b"red")].concat();
    let object = [field(1, &metadata), field(2, &data)].concat();
    let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    [b"k8s\0".to_vec(), field(1, &kind), field(2, &object), field(3, b""), field(4, b"")].concat()
}

fn raw(etcd: &Etcd) -> EtcdStore {
    let access = Access { endpoints: etcd.endpoints(), ..Access::default() };
    EtcdStore::new(Options { access, ..Options::default() }).expect("the endpoints are fine")
}

async fn put(store: &EtcdStore, key: &str, value: impl Into<Vec<u8>>) -> Revision {
    let txn = Txn::create(key.to_owned(), value.into());
    store.commit(txn).await.expect("the key is free").revision
}

/// The stored value of a key, as JSON.
async fn stored(store: &EtcdStore, key: &str) -> Value {
    let read = store.range(Range::values(KeyRange::key(key.to_owned()))).await.expect("etcd answers");
    let kv = read.kvs.first().unwrap_or_else(|| panic!("nothing is at {key}"));
    serde_json::from_slice(&kv.value).expect("what Crest stores is JSON")
}

fn serve(etcd: &Etcd) -> (testkit::Crest, Client) {
    let crest = Setup::new(CREST).with("--etcd-servers", etcd.endpoints().join(",")).start();
    let client = crest.client();
    (crest, client)
}

#[tokio::test]
async fn what_kube_apiserver_stored_is_served() {
    let Some(etcd) = Etcd::start() else { return };
    let store = raw(&etcd);
    let definition = "/registry/apiextensions.k8s.io/customresourcedefinitions/shirts.stable.example.com";
    put(&store, definition, DEFINITION).await;
    let blue_at = put(&store, "/registry/stable.example.com/shirts/default/blue", BLUE).await;
    put(&store, "/registry/stable.example.com/shirts/default/green", GREEN).await;
    put(&store, "/registry/stable.example.com/shirts/default/white", WHITE).await;
    put(&store, "/registry/configmaps/default/binary", config_map_message()).await;
    let (_crest, client) = serve(&etcd);

    let blue = client.get(&format!("{SHIRTS}/blue")).await.expect(200);
    let mut expected: Value = serde_json::from_str(BLUE).expect("JSON");
    expected["metadata"]["resourceVersion"] = blue_at.0.to_string().into();
    assert_eq!(blue, expected);
    let green = client.get(&format!("{SHIRTS}/green")).await.expect(200);
    assert_eq!(green["apiVersion"], "stable.example.com/v2");
    // Defaults are those of the version it is stored in, which has none; pruned is what the other one does not know.
    assert_eq!(green["spec"], json!({"color": "green"}));
    let white = client.get(&format!("{SHIRTS}/white")).await.expect(200);
    assert_eq!(white["spec"], json!({"color": "white", "size": "M"}));
    let listed = client.get(&format!("{SHIRTS}?labelSelector=team=blue")).await.expect(200);
    assert_eq!(listed["items"], json!([blue]));
    let listed = client.get(&SHIRTS.replace("v2", "v1")).await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(3));

    let binary = client.get(&format!("{CONFIG_MAPS}/binary")).await.expect(200);
    assert_eq!(binary["data"], json!({"color": "red"}));
    assert_eq!(binary["metadata"]["uid"], "7a1e0b1c-91cf-4f0f-8c52-3d0f6f2a9c11");
    assert_eq!(binary["metadata"]["creationTimestamp"], "2026-01-02T03:04:05Z");

    // They can be changed and deleted like any other, and watches tell what others write.
    let start = revision(&client.get(SHIRTS).await.expect(200));
    let mut watch = client.watch(&format!("{SHIRTS}?resourceVersion={start}")).await;
    let patch = json!({"spec": {"color": "lime"}});
    let lime = client.patch(&format!("{SHIRTS}/green"), MERGE_PATCH, &patch).await.expect(200);
    assert_eq!(lime["metadata"]["uid"], green["metadata"]["uid"]);
    put(&store, "/registry/stable.example.com/shirts/default/red", BLUE.replace("\"blue\"", "\"red\"")).await;
    client.delete(&format!("{SHIRTS}/blue")).await.expect(200);
    assert_eq!(watch.take(3).await, ["MODIFIED green", "ADDED red", "DELETED blue"]);
    let patch = json!({"data": {"size": "XL"}});
    client.patch(&format!("{CONFIG_MAPS}/binary"), MERGE_PATCH, &patch).await.expect(200);
    let now = stored(&store, "/registry/configmaps/default/binary").await;
    assert_eq!(now["data"], json!({"color": "red", "size": "XL"}));
}

#[tokio::test]
async fn what_crest_stores_is_where_and_what_kube_apiserver_expects() {
    let Some(etcd) = Etcd::start() else { return };
    let store = raw(&etcd);
    let (_crest, client) = serve(&etcd);
    let definition: Value = serde_json::from_str(DEFINITION).expect("JSON");
    let definition = json!({
        "apiVersion": definition["apiVersion"], "kind": definition["kind"],
        "metadata": {"name": definition["metadata"]["name"]}, "spec": definition["spec"],
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.create(definitions, &definition).await.expect(201);
    let mut watch = client.watch(&format!("{definitions}?resourceVersion=0")).await;
    watch.until(|event| event.object["status"]["acceptedNames"]["kind"] == "Shirt").await;
    let shirt = |version: &str, name: &str| {
        json!({"apiVersion": format!("stable.example.com/{version}"), "kind": "Shirt",
            "metadata": {"name": name}, "spec": {"color": "blue"}})
    };
    client.create(SHIRTS, &shirt("v2", "new")).await.expect(201);
    client.create(&SHIRTS.replace("v2", "v1"), &shirt("v1", "old")).await.expect(201);
    client.create(CONFIG_MAPS, &json!({"metadata": {"name": "c"}, "data": {"k": "v"}})).await.expect(201);
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    client.create(leases, &lease).await.expect(201);
    let event = json!({
        "metadata": {"name": "e"}, "reason": "Tested",
        "involvedObject": {"kind": "ConfigMap", "name": "c", "namespace": "default"},
    });
    client.create("/api/v1/namespaces/default/events", &event).await.expect(201);

    for (key, api_version, kind) in [
        ("stable.example.com/shirts/default/new", "stable.example.com/v2", "Shirt"),
        ("stable.example.com/shirts/default/old", "stable.example.com/v2", "Shirt"),
        ("configmaps/default/c", "v1", "ConfigMap"),
        ("leases/default/l", "coordination.k8s.io/v1", "Lease"),
        ("events/default/e", "v1", "Event"),
        ("namespaces/default", "v1", "Namespace"),
        (
            "apiextensions.k8s.io/customresourcedefinitions/shirts.stable.example.com",
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
        ),
    ] {
        let value = stored(&store, &format!("/registry/{key}")).await;
        assert_eq!((&value["apiVersion"], &value["kind"]), (&json!(api_version), &json!(kind)), "{key}");
        assert!(value["metadata"]["uid"].is_string() && value["metadata"]["creationTimestamp"].is_string());
        assert!(value["metadata"].get("resourceVersion").is_none(), "the revision of etcd is it: {value}");
    }
    let all = store.range(Range::keys(KeyRange::all())).await.expect("etcd answers");
    assert!(all.kvs.iter().all(|kv| kv.key.starts_with(b"/registry/")), "nothing lies elsewhere");
}
