//! Definitions that come and go while others write and watch.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use testkit::{Client, Crest, Event, Watch, revision, soon};
use tokio::sync::watch;

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.churn.example.com";
const EVERYWHERE: &str = "/apis/churn.example.com/v1/widgets";
const IN_NAMESPACE: &str = "/apis/churn.example.com/v1/namespaces/default/widgets";

fn definition(scope: &str) -> Value {
    json!({
        "metadata": {"name": "widgets.churn.example.com"},
        "spec": {
            "group": "churn.example.com",
            "scope": scope,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

fn is_established(event: &Event) -> bool {
    let conditions = event.object["status"]["conditions"].as_array();
    let established = |condition: &Value| condition["type"] == "Established" && condition["status"] == "True";
    event.kind != "DELETED" && conditions.is_some_and(|all| all.iter().any(established))
}

/// Creates objects on both paths, of which one is right at a time, until told to stop. Gives the revisions of those
/// that were acknowledged.
async fn write(
    client: Client,
    writer: usize,
    stop: Arc<AtomicBool>,
    written: watch::Sender<usize>,
) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let mut number = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let object = json!({
            "apiVersion": "churn.example.com/v1", "kind": "Widget",
            "metadata": {"name": format!("w{writer}-{number}")},
        });
        let path = if number.is_multiple_of(2) { IN_NAMESPACE } else { EVERYWHERE };
        let answer = client.create(path, &object).await;
        match answer.code {
            201 => {
                acknowledged.push(revision(&answer.json()));
                written.send_modify(|count| *count += 1);
            }
            // The definition is going, gone, or of the other scope.
            403..=405 => {}
            _ => panic!("{:?}", answer.failure()),
        }
    }
    acknowledged
}

/// Follows a watch from a list to its end. What was there must have been seen to go; gives the revisions of what
/// appeared.
async fn follow_to_the_end(mut watch: Watch, list: Value) -> HashSet<u64> {
    let items = list["items"].as_array().expect("a list has items");
    let name = |item: &Value| item["metadata"]["name"].as_str().expect("a name").to_owned();
    let mut present: HashSet<String> = items.iter().map(name).collect();
    let (mut added, mut last) = (HashSet::new(), revision(&list));
    while let Some(event) = watch.next().await {
        assert!(event.revision() > last, "{event:?} after {last}");
        last = event.revision();
        match event.kind.as_str() {
            "ADDED" => {
                assert!(present.insert(event.name().to_owned()));
                added.insert(event.revision());
            }
            "DELETED" => assert!(present.remove(event.name())),
            _ => panic!("{event:?}"),
        }
    }
    assert!(present.is_empty(), "the watch ended before {present:?} went");
    added
}

/// Deletes the definition and waits until it is gone. Gives the revision at which it went.
async fn delete(client: &Client, following: &mut Watch) -> u64 {
    client.delete(DEFINITION).await.expect(200);
    let events = following.until(|event| event.kind == "DELETED").await;
    events.last().expect("the last is the one waited for").revision()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_made_anew_has_nothing_of_the_old_one_whatever_goes_on() {
    const ROUNDS: usize = 12;
    const WRITERS: usize = 4;
    let crest = Crest::start(CREST);
    let client = crest.client();
    let mut following = client.watch(&format!("{DEFINITIONS}?resourceVersion=0")).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (written, mut progress) = watch::channel(0);
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(write(client.apart(), writer, stop.clone(), written.clone())))
        .collect();

    let mut lives = Vec::new();
    for round in 0..ROUNDS {
        let scope = ["Namespaced", "Cluster", "Cluster"][round % 3];
        let made = client.create(DEFINITIONS, &definition(scope)).await.expect(201);
        let born = revision(&made);
        following.until(is_established).await;
        // Served from now on, without a pause.
        let list = client.get(EVERYWHERE).await.expect(200);
        for item in list["items"].as_array().expect("a list has items") {
            assert!(revision(item) > born, "{item} is older than its definition of revision {born}");
            assert_eq!(item["metadata"].get("namespace").is_some(), scope == "Namespaced", "{item}");
        }
        let watch = client.watch(&format!("{EVERYWHERE}?resourceVersion={}", revision(&list))).await;
        let from = revision(&list);
        let seen = tokio::spawn(follow_to_the_end(watch, list));
        // Deleted in the midst of writing, however fast this is.
        let before = *progress.borrow();
        soon("a write", progress.wait_for(|count| *count > before)).await.expect("writers go on");
        let gone = delete(&client, &mut following).await;
        lives.push((from + 1, gone, seen));
    }
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    assert!(!acknowledged.is_empty(), "the writers have come to nothing");
    for (from, gone, seen) in lives {
        let seen = seen.await.unwrap();
        let mut within = acknowledged.iter().filter(|at| (from..gone).contains(*at));
        assert!(within.all(|at| seen.contains(at)), "an acknowledged object was not seen");
    }
    client.create(DEFINITIONS, &definition("Namespaced")).await.expect(201);
    following.until(is_established).await;
    assert_eq!(client.get(EVERYWHERE).await.expect(200)["items"], json!([]));
}
