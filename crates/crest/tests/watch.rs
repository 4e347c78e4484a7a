//! Watches over the wire: every event once, in order, to everybody; nothing skipped in silence.

#![expect(clippy::large_futures, reason = "a test holds its watches where it makes them")]

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{Answer, Client, Credentials, Crest, Event, Http, MERGE_PATCH, Setup, Watch, revision, soon};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

async fn current(client: &Client) -> u64 {
    revision(&client.get(CONFIG_MAPS).await.expect(200))
}

async fn since(client: &Client, start: u64) -> Watch {
    client.watch(&format!("{CONFIG_MAPS}?resourceVersion={start}")).await
}

/// Creates, changes and deletes; the last thing it leaves is an object named after it.
async fn write(client: Client, writer: usize) {
    for number in 0..15 {
        let name = format!("w{writer}-{number}");
        let path = format!("{CONFIG_MAPS}/{name}");
        client.create(CONFIG_MAPS, &named(&name)).await.expect(201);
        client.patch(&path, MERGE_PATCH, &json!({"data": {"a": "b"}})).await.expect(200);
        if number % 2 == 0 {
            client.delete(&path).await.expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_sees_everything_once_in_order() {
    const WRITERS: usize = 6;
    const WATCHERS: usize = 30;
    let crest = Crest::start(CREST);
    let client = crest.client();
    let start = current(&client).await;
    let writers: Vec<_> = (0..WRITERS).map(|number| tokio::spawn(write(client.apart(), number))).collect();
    // Some begin before the load, some within it; all from the same version.
    let mut watchers = Vec::new();
    for number in 0..WATCHERS {
        let http = if number % 3 == 0 { Http::One } else { Http::Two };
        let mut watch = since(&crest.client_as(Credentials::Admin, http), start).await;
        watchers.push(tokio::spawn(async move { watch.until(|event| event.name() == "end").await }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    client.create(CONFIG_MAPS, &named("end")).await.expect(201);
    let mut seen = Vec::new();
    for watcher in watchers {
        seen.push(watcher.await.unwrap());
    }
    let first = &seen[0];
    assert_eq!(first.len(), WRITERS * (15 + 15 + 8) + 1);
    assert!(first.windows(2).all(|pair| pair[0].revision() < pair[1].revision()));
    assert!(seen.iter().all(|events| events == first), "all watchers see the same");
}

#[tokio::test]
async fn an_object_enters_and_leaves_a_selection() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?labelSelector=tier=gold")).await;
    let path = format!("{CONFIG_MAPS}/x");
    let label = |tier: &str| json!({"metadata": {"labels": {"tier": tier}}});
    client.create(CONFIG_MAPS, &named("x")).await.expect(201);
    client.patch(&path, MERGE_PATCH, &label("gold")).await.expect(200);
    client.patch(&path, MERGE_PATCH, &json!({"data": {"a": "b"}})).await.expect(200);
    let left = client.patch(&path, MERGE_PATCH, &label("silver")).await.expect(200);
    client.delete(&path).await.expect(200);
    client
        .create(CONFIG_MAPS, &json!({"metadata": {"name": "y", "labels": {"tier": "gold"}}}))
        .await
        .expect(201);

    let events: Vec<Event> = watch.until(|event| event.name() == "y").await;
    let shown: Vec<String> = events.iter().map(|event| format!("{} {}", event.kind, event.name())).collect();
    assert_eq!(shown, ["ADDED x", "MODIFIED x", "DELETED x", "ADDED y"]);
    assert_eq!(events[2].object["metadata"]["labels"]["tier"], "gold", "what leaves is shown as it was");
    assert_eq!(events[2].revision(), revision(&left), "with the version of the change that made it leave");
}

#[tokio::test]
async fn one_object_and_one_namespace_can_be_watched() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let start = current(&client).await;
    client.create("/api/v1/namespaces/kube-system/configmaps", &named("a")).await.expect(201);
    for name in ["a", "b"] {
        client.create(CONFIG_MAPS, &named(name)).await.expect(201);
    }
    let watched = async |path: &str, count| {
        let joint = if path.contains('?') { '&' } else { '?' };
        client.watch(&format!("{path}{joint}resourceVersion={start}")).await.take(count).await
    };
    assert_eq!(watched("/api/v1/configmaps", 3).await, ["ADDED a", "ADDED a", "ADDED b"]);
    assert_eq!(watched(CONFIG_MAPS, 2).await, ["ADDED a", "ADDED b"]);
    assert_eq!(watched(&format!("{CONFIG_MAPS}?fieldSelector=metadata.name=b"), 1).await, ["ADDED b"]);
    assert_eq!(watched("/api/v1/configmaps?fieldSelector=metadata.namespace!=default", 1).await, ["ADDED a"]);
    assert_eq!(watched("/api/v1/watch/namespaces/default/configmaps", 2).await, ["ADDED a", "ADDED b"]);
}

#[tokio::test]
async fn a_list_can_be_streamed() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for name in ["b", "a"] {
        client.create(CONFIG_MAPS, &named(name)).await.expect(201);
    }
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(watch.take(2).await, ["ADDED a", "ADDED b"]);
    let bookmark = watch.event().await;
    assert_eq!(bookmark.kind, "BOOKMARK");
    assert_eq!(bookmark.object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(bookmark.revision(), current(&client).await);
    let c = client.create(CONFIG_MAPS, &named("c")).await.expect(201);
    let event = watch.event().await;
    assert_eq!((event.kind.as_str(), &event.object), ("ADDED", &c));
}

#[tokio::test]
async fn a_watch_ends_when_asked_and_says_how_far_it_came() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    client.create(CONFIG_MAPS, &named("a")).await.expect(201);
    let start = current(&client).await;
    client.create("/api/v1/namespaces", &named("elsewhere")).await.expect(201); // moves the revision
    let query = format!("resourceVersion={start}&timeoutSeconds=3&allowWatchBookmarks=true");
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    let mut events = Vec::new();
    while let Some(event) = watch.next().await {
        events.push(event);
    }
    assert!(!events.is_empty(), "a bookmark comes before the end");
    assert!(events.iter().all(|event| event.kind == "BOOKMARK" && event.revision() >= start), "{events:?}");
    assert_eq!(events[0].object["kind"], "ConfigMap");
    let mut silent = client.watch(&format!("{CONFIG_MAPS}?resourceVersion={start}&timeoutSeconds=1")).await;
    assert_eq!(silent.next().await, None, "no bookmark for those who did not ask");
}

/// Writes until the history up to now is given up; returns what a list at this version is answered then.
async fn expire(client: &Client) -> Answer {
    let version = revision(&client.create(CONFIG_MAPS, &named("x")).await.expect(201));
    soon("the end of the history", async {
        loop {
            let note = json!({"data": {"now": current(client).await.to_string()}});
            client.patch(&format!("{CONFIG_MAPS}/x"), MERGE_PATCH, &note).await.expect(200);
            let query = format!("resourceVersion={version}&resourceVersionMatch=Exact");
            let list = client.get(&format!("{CONFIG_MAPS}?{query}")).await;
            if list.code != 200 {
                return list;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_list_at_a_version_that_is_no_longer_kept_is_refused() {
    let crest = Setup::new(CREST).with("--etcd-compaction-interval", "1s").start();
    let client = crest.client();
    for name in ["a", "b"] {
        client.create(CONFIG_MAPS, &named(name)).await.expect(201);
    }
    let page = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.expect(200);
    let token = page["metadata"]["continue"].as_str().unwrap();
    let expired = expire(&client).await;
    let (code, message) = expired.failure();
    assert_eq!(code, 410, "{message}");
    assert_eq!(expired.json()["reason"], "Expired");

    let crest = crest.restart().await; // a page that was read of late is remembered for its reader
    let client = crest.client();
    let answer = client.get(&format!("{CONFIG_MAPS}?limit=1&continue={token}")).await;
    let (code, message) = answer.failure();
    assert_eq!(code, 410, "{message}");
    let expected = "The provided continue parameter is too old to display a consistent list result.";
    assert!(message.starts_with(expected), "{message}");
    let token = answer.json()["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    let rest = client.get(&format!("{CONFIG_MAPS}?continue={token}")).await.expect(200);
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(2), "an inconsistent rest is offered: {rest}");
}

#[tokio::test]
async fn a_watch_from_a_version_that_is_no_longer_kept_is_refused() {
    let crest = Setup::new(CREST).with("--etcd-compaction-interval", "1s").start();
    let start = current(&crest.client()).await;
    expire(&crest.client()).await;
    let crest = crest.restart().await; // what runs remembers more than what is stored
    let mut watch = since(&crest.client(), start).await;
    let event = watch.event().await;
    assert_eq!(event.kind, "ERROR");
    assert_eq!(
        (event.object["code"].as_u64(), event.object["reason"].as_str()),
        (Some(410), Some("Expired"))
    );
    assert_eq!(watch.next().await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_that_does_not_read_sees_no_gap_and_holds_nobody_up() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let start = current(&client).await;
    let mut slow = since(&crest.client_as(Credentials::Admin, Http::One), start).await;
    let mut quick = since(&client.apart(), start).await;
    let large = Arc::new("x".repeat(200_000));
    let count: usize = 80;
    let writer = tokio::spawn(async move {
        for number in 0..count {
            let object =
                json!({"metadata": {"name": format!("large-{number:03}")}, "data": {"text": *large}});
            client.create(CONFIG_MAPS, &object).await.expect(201);
            client.delete(&format!("{CONFIG_MAPS}/large-{number:03}")).await.expect(200);
        }
    });
    let mut all = Vec::new();
    for _ in 0..count * 2 {
        all.push(quick.event().await.revision());
    }
    writer.await.unwrap();
    let mut late = Vec::new();
    while late.len() < all.len() {
        match slow.next().await {
            None => break, // cut off: it will list anew
            Some(event) if event.kind == "ERROR" => break,
            Some(event) => late.push(event.revision()),
        }
    }
    assert_eq!(late[..], all[..late.len()], "what it sees has no gap");
}

#[tokio::test]
async fn bad_watches_are_refused_or_say_what_is_wrong() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    client.create(CONFIG_MAPS, &named("a")).await.expect(201);
    let invalid = "422 ListOptions.meta.k8s.io \"\" is invalid: ";
    for (query, expected) in [
        (
            "watch=1&resourceVersion=x",
            "500 resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"
                .to_owned(),
        ),
        ("watch=1&timeoutSeconds=x", "400 strconv.ParseInt: parsing \"x\": invalid syntax".to_owned()),
        (
            "watch=1&sendInitialEvents=true",
            format!(
                "{invalid}resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            ),
        ),
        (
            "watch=1&resourceVersionMatch=NotOlderThan",
            format!(
                "{invalid}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            ),
        ),
        (
            "watch=1&sendInitialEvents=false&resourceVersionMatch=Exact",
            format!(
                "{invalid}[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]"
            ),
        ),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
            format!(
                "{invalid}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
            ),
        ),
    ] {
        let (code, message) = client.get(&format!("{CONFIG_MAPS}?{query}")).await.failure();
        assert_eq!(format!("{code} {message}"), expected, "{query}");
    }
    // An old-style path is judged as the list that its options describe.
    let old = "/api/v1/watch/namespaces/default/configmaps";
    let (_, message) = client.get(&format!("{old}?sendInitialEvents=true")).await.failure();
    assert!(message.ends_with("sendInitialEvents is forbidden for list"), "{message}");
    let (code, message) = client.get(&format!("{old}/a?fieldSelector=metadata.name=b")).await.failure();
    assert_eq!((code, message.as_str()), (400, "fieldSelector metadata.name doesn't match requested name"));

    // What is found out later is an event.
    let future = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999";
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{future}")).await;
    let event = watch.event().await;
    assert_eq!((event.kind.as_str(), &event.object["code"]), ("ERROR", &json!(504)));
    assert_eq!(event.object["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn a_watch_that_is_over_before_it_begins_says_nothing() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    client.create(CONFIG_MAPS, &named("a")).await.expect(201);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?resourceVersion=0&timeoutSeconds=-1")).await;
    assert_eq!(watch.next().await, None);
    let endless = format!("{CONFIG_MAPS}?resourceVersion=0&timeoutSeconds={}", i64::MAX);
    assert_eq!(client.watch(&endless).await.take(1).await, ["ADDED a"]);
}

#[tokio::test]
async fn the_end_of_the_initial_state_is_marked_for_those_who_want_bookmarks() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    client.create(CONFIG_MAPS, &named("a")).await.expect(201);
    for (query, accept, cells) in [
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "application/json", None),
        ("resourceVersion=0", "application/json", None),
        ("", "application/json", None),
        ("", "application/json;as=Table;v=v1;g=meta.k8s.io", Some(json!(["", 0, "<unknown>"]))),
    ] {
        let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&{query}");
        let mut request = client.request("GET".parse().unwrap(), &path, None, "");
        request.headers_mut().insert("accept", accept.parse().unwrap());
        let text = client.send(request).await.text();
        let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let marked = events.iter().find(|event| event["type"] == "BOOKMARK").expect("a bookmark");
        let object = if cells.is_some() { &marked["object"]["rows"][0]["object"] } else { &marked["object"] };
        assert_eq!(object["metadata"]["annotations"]["k8s.io/initial-events-end"], "true", "{query} {text}");
        if let Some(cells) = cells {
            assert_eq!(marked["object"]["rows"][0]["cells"], cells);
        }
    }
}

#[tokio::test]
async fn events_expire() {
    let crest = Setup::new(CREST).with("--event-ttl", "1s").start();
    let client = crest.client();
    let path = "/api/v1/namespaces/default/events";
    let mut watch = client.watch(path).await;
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "ConfigMap", "name": "x", "namespace": "default"}});
    client.create(path, &event).await.expect(201);
    assert_eq!(watch.take(2).await, ["ADDED e", "DELETED e"]);
    assert_eq!(client.get(&format!("{path}/e")).await.code, 404);
}
