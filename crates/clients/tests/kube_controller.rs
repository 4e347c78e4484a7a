//! An operator written with kube-rs: a controller with a finalizer, and watches that outlive the server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, finalizer};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Config, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use testkit::{Crest, Setup, built_crest, soon};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[kube(group = "example.com", version = "v1", kind = "Gadget", namespaced, derive = "PartialEq")]
#[kube(status = "GadgetStatus")]
struct GadgetSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
struct GadgetStatus {
    provided: String,
}

/// A server that comes back on the same port, as one behind a fixed address does.
fn start() -> Crest {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let port = free.expect("there is a free port").port().to_string();
    Setup::new(&built_crest()).with("--secure-port", port).start()
}

async fn connect(crest: &Crest) -> Client {
    let kubeconfig = Kubeconfig::read_from(crest.kubeconfig()).expect("the kubeconfig can be read");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("the kubeconfig can be used")).expect("a client can be made")
}

async fn define(client: &Client) -> Api<Gadget> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Gadget::crd()).await.expect("the definition is accepted");
    let established = await_condition(definitions, "gadgets.example.com", conditions::is_crd_established());
    soon("establishment", established).await.expect("the definition can be watched");
    Api::namespaced(client.clone(), "default")
}

fn gadget(number: usize) -> Gadget {
    Gadget::new(&format!("gadget-{number}"), GadgetSpec { text: format!("text {number}") })
}

/// Waits until a stream that keeps a store up to date has brought it to a state.
async fn until<K>(stream: &mut (impl Stream<Item = K> + Unpin), reached: impl Fn() -> bool) {
    soon("the state", async {
        while !reached() {
            stream.next().await.expect("a watcher does not end");
        }
    })
    .await;
}

/// The server ends, in order and not, while a reflector follows; it must come to the same state by itself.
async fn follow_through_restarts(config: watcher::Config) {
    let mut crest = start();
    let gadgets = define(&connect(&crest).await).await;
    let (reader, writer) = reflector::store();
    let stream = watcher(gadgets.clone(), config).default_backoff().reflect(writer).boxed();
    pin_mut!(stream);
    for round in 0..3 {
        // Over a connection of its own: the other one is about to break.
        let gadgets: Api<Gadget> = Api::namespaced(connect(&crest).await, "default");
        for number in round * 4..round * 4 + 4 {
            gadgets.create(&PostParams::default(), &gadget(number)).await.expect("created");
        }
        if round > 0 {
            let first = gadget(round * 4 - 4).name_any();
            gadgets.delete(&first, &DeleteParams::default()).await.expect("deleted");
            let second = gadget(round * 4 - 3).name_any();
            let patch = Patch::Merge(json!({"spec": {"text": "changed"}}));
            gadgets.patch(&second, &PatchParams::default(), &patch).await.expect("patched");
        }
        if round == 1 {
            until(&mut stream, || reader.len() == 7).await;
        }
        crest = if round == 0 { crest.crash().await } else { crest.restart().await };
    }
    let gadgets: Api<Gadget> = Api::namespaced(connect(&crest).await, "default");
    let there = gadgets.list(&ListParams::default()).await.expect("listed").items;
    assert_eq!(there.len(), 10);
    let same = || {
        let known =
            |wanted: &Gadget| reader.get(&ObjectRef::from_obj(wanted)).is_some_and(|known| *known == *wanted);
        reader.len() == there.len() && there.iter().all(known)
    };
    until(&mut stream, same).await;
}

#[tokio::test]
async fn a_reflector_that_lists_outlives_the_server() {
    follow_through_restarts(watcher::Config::default()).await;
}

#[tokio::test]
async fn a_reflector_that_streams_outlives_the_server() {
    follow_through_restarts(watcher::Config::default().streaming_lists()).await;
}

#[tokio::test]
async fn metadata_alone_can_be_watched() {
    let crest = start();
    let gadgets = define(&connect(&crest).await).await;
    gadgets.create(&PostParams::default(), &gadget(1)).await.unwrap();
    let facts: Api<PartialObjectMeta<Gadget>> = Api::namespaced(connect(&crest).await, "default");
    let stream = watcher(facts, watcher::Config::default()).touched_objects().boxed();
    pin_mut!(stream);
    let seen = soon("the first", stream.try_next()).await.unwrap().unwrap();
    assert_eq!(
        (seen.name_any().as_str(), seen.types.unwrap().kind.as_str()),
        ("gadget-1", "PartialObjectMetadata")
    );
    gadgets.delete("gadget-1", &DeleteParams::default()).await.unwrap();
    assert_eq!(soon("its end", stream.try_next()).await.unwrap().unwrap().name_any(), "gadget-1");
}

/// What the controller cannot do now, it will do later.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Later(String);

/// Gives each gadget a config map with its text, says so in the status, and takes it away at the end.
async fn reconcile(gadget: Arc<Gadget>, client: Arc<Client>) -> Result<Action, Later> {
    let gadgets: Api<Gadget> = Api::namespaced((*client).clone(), "default");
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), "default");
    let done = finalizer(&gadgets, "example.com/clean-up", gadget, |event| async {
        match event {
            finalizer::Event::Apply(gadget) => provide(&gadgets, &maps, &gadget).await?,
            finalizer::Event::Cleanup(gadget) => {
                match maps.delete(&gadget.name_any(), &DeleteParams::default()).await {
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    outcome => drop(outcome?),
                }
            }
        }
        Ok::<_, kube::Error>(Action::await_change())
    });
    done.await.map_err(|error| Later(error.to_string()))
}

async fn provide(gadgets: &Api<Gadget>, maps: &Api<ConfigMap>, gadget: &Gadget) -> kube::Result<()> {
    let name = gadget.name_any();
    let apply = PatchParams::apply("gadgets").force();
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: Some(gadget.controller_owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), gadget.spec.text.clone())].into()),
        ..ConfigMap::default()
    };
    maps.patch(&name, &apply, &Patch::Apply(&map)).await?;
    let status = json!({
        "apiVersion": Gadget::api_version(&()), "kind": Gadget::kind(&()),
        "status": {"provided": gadget.spec.text},
    });
    gadgets.patch_status(&name, &apply, &Patch::Apply(&status)).await?;
    Ok(())
}

/// Every gadget has its map and status, and there is no other map.
async fn is_provided(client: &Client) -> kube::Result<bool> {
    let gadgets: Api<Gadget> = Api::namespaced(client.clone(), "default");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let gadgets = gadgets.list(&ListParams::default()).await?.items;
    let maps = maps.list(&ListParams::default()).await?.items;
    let fits = |gadget: &Gadget| {
        let text = Some(&gadget.spec.text);
        let owned = |map: &&ConfigMap| {
            let owners = map.owner_references();
            owners.len() == 1 && Some(&owners[0].uid) == gadget.metadata.uid.as_ref()
        };
        let map = maps.iter().find(owned).and_then(|map| map.data.as_ref()?.get("text"));
        map == text && gadget.status.as_ref().map(|status| &status.provided) == text
    };
    Ok(gadgets.len() == maps.len() && gadgets.iter().all(fits))
}

async fn provided(client: &Client) {
    soon("what the controller provides", async {
        while !is_provided(client).await.unwrap_or(false) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_does_its_work_and_outlives_the_server() {
    let mut crest = start();
    let mut client = connect(&crest).await;
    let gadgets = define(&client).await;
    let controller = Controller::new(gadgets.clone(), watcher::Config::default())
        .owns(Api::<ConfigMap>::namespaced(client.clone(), "default"), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(100)), Arc::new(client.clone()))
        .for_each(|_| async {});
    let controller = tokio::spawn(controller);

    for number in 0..3 {
        gadgets.create(&PostParams::default(), &gadget(number)).await.unwrap();
    }
    provided(&client).await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.delete("gadget-0", &DeleteParams::default()).await.unwrap(); // comes back
    provided(&client).await;

    for number in 3..6 {
        crest = crest.crash().await;
        client = connect(&crest).await;
        let gadgets: Api<Gadget> = Api::namespaced(client.clone(), "default");
        gadgets.create(&PostParams::default(), &gadget(number)).await.unwrap();
        let patch = Patch::Merge(json!({"spec": {"text": format!("changed by {number}")}}));
        gadgets.patch("gadget-1", &PatchParams::default(), &patch).await.unwrap();
    }
    provided(&client).await;
    let gadgets: Api<Gadget> = Api::namespaced(client.clone(), "default");
    let uid = gadgets.get("gadget-2").await.unwrap().uid().unwrap();
    gadgets.delete("gadget-2", &DeleteParams::default()).await.unwrap();
    let gone = await_condition(gadgets.clone(), "gadget-2", conditions::is_deleted(&uid));
    soon("the end of a gadget", gone).await.unwrap();
    provided(&client).await;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    assert!(maps.get_opt("gadget-2").await.unwrap().is_none(), "the finalizer took it away");
    assert!(!controller.is_finished());
    controller.abort();
}
