//! The work of one replica is taken over by another; definitions are everybody's.

use serde_json::{Value, json};
use testkit::{Client, EtcdVersion, soon};

use super::objects::{COLLECTIONS, define};
use super::replicas::Replicas;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/crest-controller";
const NAMESPACES: &str = "/api/v1/namespaces";

/// Whether a replica says that it leads.
async fn leads(client: &Client) -> bool {
    let metrics = client.get("/metrics").await.text();
    metrics.contains("leader_election_master_status{name=\"crest-controller\"} 1")
}

/// Waits until one of these replicas leads.
async fn leader(replicas: &Replicas, candidates: &[usize]) -> usize {
    let found = async {
        loop {
            for candidate in candidates {
                if leads(&replicas.crest(*candidate).client()).await {
                    return *candidate;
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    soon("a leader", found).await
}

async fn holder(client: &Client) -> Value {
    client.get(LEASE).await.expect(200)["spec"]["holderIdentity"].take()
}

/// Makes a namespace with something in it and deletes it; it must go with all that it holds.
async fn delete_a_namespace(client: &Client, name: &str) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    client.create(NAMESPACES, &namespace).await.expect(201);
    let inside = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inside"}});
    client.create(&format!("{NAMESPACES}/{name}/configmaps"), &inside).await.expect(201);
    let now = testkit::revision(&client.get(NAMESPACES).await.expect(200));
    client.delete(&format!("{NAMESPACES}/{name}")).await.expect(200);
    let mut watch = client.watch(&format!("{NAMESPACES}?resourceVersion={now}")).await;
    watch.until(|event| event.kind == "DELETED" && event.name() == name).await;
    client.get(&format!("{NAMESPACES}/{name}/configmaps/inside")).await.expect(404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_takes_over_from_one_that_stops_and_one_that_is_killed() {
    let Some(mut replicas) = Replicas::start(EtcdVersion::Usual, 1, 1, 3).await else { return };
    let first = leader(&replicas, &[0, 1, 2]).await;
    let others: Vec<usize> = (0..3).filter(|replica| *replica != first).collect();
    let client = replicas.crest(others[0]).client();
    let held = holder(&client).await;
    delete_a_namespace(&client, "through-a-follower").await;

    replicas.stop(first).await;
    let second = leader(&replicas, &others).await;
    let last = others.into_iter().find(|replica| *replica != second).expect("there were three");
    let client = replicas.crest(last).client();
    assert_ne!(holder(&client).await, held);
    delete_a_namespace(&client, "after-a-stop").await;
    assert!(!leads(&client).await);

    replicas.kill(second);
    delete_a_namespace(&client, "after-a-kill").await;
    assert!(leads(&client).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_comes_and_goes_at_all_replicas() {
    let Some(replicas) = Replicas::start(EtcdVersion::New, 1, 1, 2).await else { return };
    let [one, two] = [replicas.crest(0).client(), replicas.crest(1).client()];
    let crontabs = COLLECTIONS[1];
    for _ in 0..3 {
        define(&one).await;
        let served = async {
            while two.get(crontabs.path).await.code != 200 {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        soon("the definition at the other replica", served).await;
        two.create(crontabs.path, &crontabs.object("a", "1", None)).await.expect(201);
        one.get(&format!("{}/a", crontabs.path)).await.expect(200);

        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let now = testkit::revision(&two.get(definitions).await.expect(200));
        two.delete(&format!("{definitions}/crontabs.stable.example.com")).await.expect(200);
        let mut watch = one.watch(&format!("{definitions}?resourceVersion={now}")).await;
        watch.until(|event| event.kind == "DELETED").await;
        for client in [&one, &two] {
            let gone = async {
                while client.get(crontabs.path).await.code != 404 {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            };
            soon("the end of the definition", gone).await;
        }
    }
    define(&one).await;
    let served = async {
        while two.get(crontabs.path).await.code != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    soon("the definition at the other replica", served).await;
    let left = two.get(crontabs.path).await.expect(200);
    assert_eq!(left["items"], json!([]), "objects of a definition go with it");
}
