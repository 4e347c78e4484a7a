//! Replicas on etcd: replicas and members are killed and paused, networks cut, histories compacted.

use std::time::Duration;

use testkit::{Dice, EtcdVersion, Link};

use super::replicas::Replicas;
use super::run::{Run, Truth, repeat};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_killed_or_paused() {
    repeat("replica", |seed| async move {
        let mut replicas = Replicas::start(EtcdVersion::Usual, seed, 1, 3).await?;
        let run = Run::start(replicas.clients(), seed).await;
        let mut dice = Dice::new(seed);
        for _ in 0..4 {
            run.load.operations(40 + dice.roll(80)).await;
            replicas.crash(dice.roll(3), &run).await;
        }
        // It wakes up with an old view of the world, and must not show it as the present.
        for _ in 0..2 {
            let asleep = dice.roll(3);
            replicas.crest(asleep).pause();
            run.load.writes(10, (0..3).filter(|replica| *replica != asleep)).await;
            replicas.crest(asleep).resume();
        }
        Some(run.finish().await)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_etcd_are_killed_and_paused() {
    repeat("members", |seed| async move {
        let mut replicas = Replicas::start(EtcdVersion::New, seed, 3, 2).await?;
        let run = Run::start(replicas.clients(), seed).await;
        let mut dice = Dice::new(seed);
        let first = dice.roll(3);
        for member in (0..3).map(|number| (first + number) % 3) {
            // Two of three go on.
            replicas.etcd.kill(member);
            run.recovered().await;
            replicas.etcd.restart(member);
            run.recovered().await;
        }
        let member = dice.roll(3);
        replicas.etcd.pause(member);
        run.recovered().await;
        replicas.etcd.resume(member);
        // One of three does not.
        replicas.etcd.pause(member);
        replicas.etcd.pause((member + 1) % 3);
        run.load.failures(4).await;
        replicas.etcd.resume(member);
        replicas.etcd.resume((member + 1) % 3);
        run.recovered().await;
        replicas.etcd.kill(member);
        replicas.etcd.kill((member + 2) % 3);
        run.load.failures(6).await;
        replicas.etcd.launch(member);
        replicas.etcd.launch((member + 2) % 3);
        Some(run.finish().await)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_between_replica_and_etcd_breaks() {
    repeat("network", |seed| async move {
        let replicas = Replicas::start(EtcdVersion::Old, seed, 1, 2).await?;
        let run = Run::start(replicas.clients(), seed).await;
        let mut dice = Dice::new(seed);
        for link in [Link::Cut, Link::OneWay, Link::Silent, Link::Slow(Duration::from_millis(30)), Link::Cut]
        {
            let replica = dice.roll(2);
            replicas.link(replica, link);
            // The other one does not notice.
            run.load.writes(10, [1 - replica]).await;
            if !matches!(link, Link::Slow(_)) {
                run.load.failures(2).await;
            }
            replicas.link(replica, Link::Open);
            run.recovered().await;
        }
        // Both at once, and one comes back before the other.
        replicas.link(0, Link::Cut);
        replicas.link(1, Link::Silent);
        run.load.failures(6).await;
        replicas.link(1, Link::Open);
        run.load.writes(5, [1]).await;
        replicas.link(0, Link::Open);
        Some(run.finish().await)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_is_compacted_under_load() {
    repeat("compaction", |seed| async move {
        let replicas = Replicas::start(EtcdVersion::Usual, seed, 1, 2).await?;
        let run = Run::start(replicas.clients(), seed).await;
        for _ in 0..6 {
            run.load.operations(30).await;
            replicas.etcd.compact(0);
        }
        // What the second replica has not seen is gone when it comes back.
        for link in [Link::Cut, Link::Silent] {
            replicas.link(1, link);
            run.load.writes(20, [0]).await;
            replicas.etcd.compact(0);
            run.load.writes(5, [0]).await;
            replicas.link(1, Link::Open);
            run.recovered().await;
        }
        Some(run.finish_with(Truth::Followed).await)
    })
    .await;
}

/// What a load balancer and a supervisor ask while etcd hangs, and what clients can still have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_without_etcd_says_so_and_shows_what_it_knows() {
    let Some(replicas) = Replicas::start(EtcdVersion::Usual, 1, 1, 1).await else { return };
    let client = replicas.crest(0).client();
    let namespaces = "/api/v1/namespaces";
    client.get(namespaces).await.expect(200);
    let mut watch = client.watch(&format!("{namespaces}?resourceVersion=0")).await;
    watch.take(4).await;
    replicas.etcd.pause(0);
    let ready = client.get("/readyz").await;
    assert_eq!((ready.code, ready.text().contains("[-]etcd failed")), (500, true), "{}", ready.text());
    assert_eq!(client.get("/livez?exclude=etcd").await.code, 200);
    assert_eq!(client.get("/readyz/ping").await.code, 200);
    client.get(&format!("{namespaces}?resourceVersion=0")).await.expect(200);
    client.get(&format!("{namespaces}/default?resourceVersion=0")).await.expect(200);
    replicas.etcd.resume(0);
    // Answered as soon as etcd is, and the watch has been open all the time.
    let object = serde_json::json!({"metadata": {"name": "afterwards"}});
    client.create(namespaces, &object).await.expect(201);
    assert_eq!(watch.take(1).await, ["ADDED afterwards"]);
    assert_eq!(client.get("/readyz").await.code, 200);
}
