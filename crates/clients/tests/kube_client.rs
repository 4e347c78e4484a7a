//! A program written with kube-rs: it defines a kind, handles objects of it, and follows them.

use std::fmt::Debug;

use futures_util::{StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Config, CustomResource, CustomResourceExt, Discovery, Error, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use testkit::{Crest, built_crest, soon};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced, shortname = "wd")]
#[kube(status = "WidgetStatus", derive = "PartialEq")]
struct WidgetSpec {
    colour: String,
    #[serde(default)]
    size: i32,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
struct WidgetStatus {
    ready: bool,
}

async fn connect(crest: &Crest) -> Client {
    let kubeconfig = Kubeconfig::read_from(crest.kubeconfig()).expect("the kubeconfig can be read");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("the kubeconfig can be used")).expect("a client can be made")
}

/// Makes the kind known and waits until it is served.
async fn define(client: &Client) -> Api<Widget> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Widget::crd()).await.expect("the definition is accepted");
    let established = await_condition(definitions, "widgets.example.com", conditions::is_crd_established());
    soon("establishment", established).await.expect("the definition can be watched");
    Api::namespaced(client.clone(), "default")
}

fn widget(name: &str, colour: &str) -> Widget {
    let mut widget = Widget::new(name, WidgetSpec { colour: colour.to_owned(), size: 1 });
    widget.labels_mut().insert("colour".to_owned(), colour.to_owned());
    widget
}

/// The code of an answer that must be a failure.
fn refused<T: Debug>(outcome: Result<T, Error>) -> (u16, String) {
    match outcome {
        Err(Error::Api(status)) => (status.code, status.reason),
        other => panic!("this should have been refused: {other:?}"),
    }
}

#[tokio::test]
async fn objects_of_a_new_kind_are_handled() {
    let crest = Crest::start(&built_crest());
    let client = connect(&crest).await;
    let version = client.apiserver_version().await.unwrap();
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));
    let widgets = define(&client).await;
    let (post, patch) = (PostParams::default(), PatchParams::default());

    let created = widgets.create(&post, &widget("one", "red")).await.unwrap();
    assert!(created.uid().is_some() && created.resource_version().is_some());
    assert_eq!(refused(widgets.create(&post, &widget("one", "red")).await), (409, "AlreadyExists".into()));
    assert_eq!(widgets.get("one").await.unwrap(), created);
    assert_eq!(widgets.get_opt("two").await.unwrap(), None);
    assert_eq!(refused(widgets.get("two").await), (404, "NotFound".into()));

    let mut changed = created.clone();
    changed.spec.size = 2;
    let changed = widgets.replace("one", &post, &changed).await.unwrap();
    assert_eq!((changed.spec.size, changed.metadata.generation), (2, Some(2)));
    assert_eq!(refused(widgets.replace("one", &post, &created).await), (409, "Conflict".into()));

    let merged =
        widgets.patch("one", &patch, &Patch::Merge(json!({"spec": {"colour": "blue"}}))).await.unwrap();
    assert_eq!(merged.spec, WidgetSpec { colour: "blue".into(), size: 2 });
    let operations = json!([{"op": "replace", "path": "/spec/size", "value": 3}]);
    let operations: json_patch::Patch = serde_json::from_value(operations).unwrap();
    let patched = widgets.patch("one", &patch, &Patch::<Widget>::Json(operations)).await.unwrap();
    assert_eq!(patched.spec.size, 3);
    let wrong = Patch::Merge(json!({"spec": {"size": "large"}}));
    assert_eq!(refused(widgets.patch("one", &patch, &wrong).await), (422, "Invalid".into()));

    let status = Patch::Merge(json!({"status": {"ready": true}, "spec": {"size": 9}}));
    let reported = widgets.patch_status("one", &patch, &status).await.unwrap();
    assert_eq!(reported.status, Some(WidgetStatus { ready: true }));
    assert_eq!(reported.spec.size, 3, "the status is changed, and nothing else");

    let mut wanted = widget("applied", "green");
    wanted.metadata.managed_fields = None;
    let apply = PatchParams::apply("clients").force();
    let applied = widgets.patch("applied", &apply, &Patch::Apply(&wanted)).await.unwrap();
    assert_eq!(applied.spec, wanted.spec);
    assert_eq!(applied.managed_fields()[0].manager.as_deref(), Some("clients"));

    let listed = widgets.list(&ListParams::default().labels("colour=green")).await.unwrap();
    assert_eq!(listed.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["applied"]);
    let uid = reported.uid().unwrap();
    widgets.delete("one", &DeleteParams::default()).await.unwrap();
    soon("deletion", await_condition(widgets.clone(), "one", conditions::is_deleted(&uid))).await.unwrap();
}

#[tokio::test]
async fn discovery_finds_a_new_kind() {
    let crest = Crest::start(&built_crest());
    let client = connect(&crest).await;
    define(&client).await;
    let discovery = Discovery::new(client).run().await.unwrap();
    let group = discovery.get("example.com").unwrap();
    let (resource, capabilities) = group.recommended_kind("Widget").unwrap();
    assert_eq!((resource.plural.as_str(), resource.version.as_str()), ("widgets", "v1"));
    assert!(capabilities.supports_operation("watch"));
}

/// Follows widgets with a reflector while they come, change and go.
async fn reflect(config: watcher::Config) {
    let crest = Crest::start(&built_crest());
    let widgets = define(&connect(&crest).await).await;
    let post = PostParams::default();
    for name in ["a", "b", "c"] {
        widgets.create(&post, &widget(name, "red")).await.expect("created");
    }
    let (reader, writer) = reflector::store();
    let stream = reflector::reflector(writer, watcher(widgets.clone(), config));
    pin_mut!(stream);
    let mut initial = Vec::new();
    loop {
        match soon("the initial state", stream.next()).await.expect("it goes on").expect("it can be watched")
        {
            watcher::Event::InitApply(widget) => initial.push(widget.name_any()),
            watcher::Event::InitDone => break,
            _ => {}
        }
    }
    assert_eq!(initial, ["a", "b", "c"]);
    assert_eq!(reader.len(), 3);

    let patch = Patch::Merge(json!({"spec": {"colour": "blue"}}));
    widgets.patch("b", &PatchParams::default(), &patch).await.expect("patched");
    widgets.delete("a", &DeleteParams::default()).await.expect("deleted");
    widgets.create(&post, &widget("d", "blue")).await.expect("created");
    let mut seen = Vec::new();
    while seen.len() < 3 {
        match soon("a change", stream.next()).await.expect("it goes on").expect("it can be watched") {
            watcher::Event::Apply(widget) => seen.push(format!("applied {}", widget.name_any())),
            watcher::Event::Delete(widget) => seen.push(format!("deleted {}", widget.name_any())),
            other => panic!("unexpected: {other:?}"),
        }
    }
    assert_eq!(seen, ["applied b", "deleted a", "applied d"]);
    assert!(reader.get(&ObjectRef::new("a").within("default")).is_none());
    let blue = reader.get(&ObjectRef::new("b").within("default")).expect("it is known");
    assert_eq!(blue.spec.colour, "blue");
}

#[tokio::test]
async fn a_reflector_follows_by_list_and_watch() {
    reflect(watcher::Config::default().page_size(2)).await;
}

#[tokio::test]
async fn a_reflector_follows_by_streaming_the_list() {
    reflect(watcher::Config::default().streaming_lists()).await;
}

fn config_map(name: &str, kind: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([("kind".to_owned(), kind.to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some([("key".to_owned(), "value".to_owned())].into()),
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn config_maps_are_paged_watched_and_deleted_together() {
    let crest = Crest::start(&built_crest());
    let maps: Api<ConfigMap> = Api::namespaced(connect(&crest).await, "default");
    let post = PostParams::default();
    for (name, kind) in [("a", "odd"), ("b", "even"), ("c", "odd")] {
        maps.create(&post, &config_map(name, kind)).await.unwrap();
    }
    let mut page = ListParams::default().limit(2);
    let first = maps.list(&page).await.unwrap();
    assert_eq!((first.items.len(), first.metadata.remaining_item_count), (2, Some(1)));
    page = page.continue_token(&first.metadata.continue_.unwrap());
    assert_eq!(maps.list(&page).await.unwrap().items[0].name_any(), "c");

    let version = first.metadata.resource_version.unwrap();
    let watch = maps.watch(&WatchParams::default(), &version).await.unwrap();
    pin_mut!(watch);
    maps.delete_collection(&DeleteParams::default(), &ListParams::default().labels("kind=odd"))
        .await
        .unwrap();
    let mut deleted = Vec::new();
    while deleted.len() < 2 {
        match soon("a deletion", watch.try_next()).await.unwrap().unwrap() {
            WatchEvent::Deleted(map) => deleted.push(map.name_any()),
            other => panic!("unexpected: {other:?}"),
        }
    }
    deleted.sort();
    assert_eq!(deleted, ["a", "c"]);
    let left = maps.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["b"]);
}
