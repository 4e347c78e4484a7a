//! Reading many objects: which state, which part of it, and what is refused, for every way to ask.

use std::fmt::Write;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use testkit::{Client, Crest, revision, steady};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/lists/configmaps";

/// A namespace with the objects `a` to `e`; every second one is labelled.
async fn five(client: &Client) {
    client.create("/api/v1/namespaces", &json!({"metadata": {"name": "lists"}})).await.expect(201);
    for (index, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let labels = if index % 2 == 0 { json!({"odd": "no"}) } else { json!({"odd": "yes"}) };
        let object = json!({"metadata": {"name": name, "labels": labels}});
        client.create(CONFIG_MAPS, &object).await.expect(201);
    }
}

async fn current(client: &Client) -> u64 {
    revision(&client.get(&format!("{CONFIG_MAPS}?limit=1")).await.expect(200))
}

fn names(list: &Value) -> String {
    let items = list["items"].as_array().expect("a list has items");
    items.iter().map(|item| item["metadata"]["name"].as_str().expect("a name")).collect()
}

/// The names in a list and what its metadata says of the rest; of a failure its code and message.
async fn shown(client: &Client, query: &str) -> String {
    let answer = client.get(&format!("{CONFIG_MAPS}?{query}")).await;
    if answer.code != 200 {
        let (code, message) = answer.failure();
        return format!("{code} {message}");
    }
    let list = answer.json();
    let more = if list["metadata"]["continue"].is_string() { ", more" } else { "" };
    let remaining = match &list["metadata"]["remainingItemCount"] {
        Value::Null => String::new(),
        count => format!(", {count} remaining"),
    };
    format!("{}{more}{remaining}", names(&list))
}

async fn check(client: &Client, queries: &[&str], expected: Expect) {
    let mut text = String::new();
    for query in queries {
        writeln!(text, "{query}: {}", shown(client, query).await).expect("a text takes everything");
    }
    expected.assert_eq(&steady(&text));
}

#[tokio::test]
async fn limits_cut_lists_where_the_reference_cuts_them() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    check(
        &client,
        &[
            "limit=0",
            "limit=-1",
            "limit=2",
            "limit=4",
            "limit=5",
            "limit=9",
            // What is behind the last object of a page is counted, but not looked at.
            "limit=2&labelSelector=odd=yes",
            "limit=3&labelSelector=odd=no",
            "limit=1&fieldSelector=metadata.name=c",
            "limit=1&fieldSelector=metadata.name!=a",
            // Whatever is at hand is given as a whole.
            "limit=2&resourceVersion=0",
            "limit=2&resourceVersion=0&resourceVersionMatch=NotOlderThan",
            "limit=2&resourceVersion=1&resourceVersionMatch=NotOlderThan",
            "limit=",
            "limit=x",
            "limit=1.5",
            "limit=99999999999999999999",
            "timeoutSeconds=x&limit=y&labelSelector=!!",
        ],
        expect![[r#"
            limit=0: abcde
            limit=-1: abcde
            limit=2: ab, more, 3 remaining
            limit=4: abcd, more, 1 remaining
            limit=5: abcde
            limit=9: abcde
            limit=2&labelSelector=odd=yes: bd, more
            limit=3&labelSelector=odd=no: ace
            limit=1&fieldSelector=metadata.name=c: c
            limit=1&fieldSelector=metadata.name!=a: b, more
            limit=2&resourceVersion=0: abcde
            limit=2&resourceVersion=0&resourceVersionMatch=NotOlderThan: abcde
            limit=2&resourceVersion=1&resourceVersionMatch=NotOlderThan: ab, more, 3 remaining
            limit=: 400 strconv.ParseInt: parsing "": invalid syntax
            limit=x: 400 strconv.ParseInt: parsing "x": invalid syntax
            limit=1.5: 400 strconv.ParseInt: parsing "1.5": invalid syntax
            limit=99999999999999999999: 400 strconv.ParseInt: parsing "99999999999999999999": value out of range
            timeoutSeconds=x&limit=y&labelSelector=!!: 400 strconv.ParseInt: parsing "x": invalid syntax
        "#]],
    )
    .await;
}

#[tokio::test]
async fn versions_and_matches_are_judged_together() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    check(
        &client,
        &[
            "resourceVersion=0",
            "resourceVersion=1",
            "resourceVersion=0&resourceVersionMatch=NotOlderThan",
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersionMatch=Exact",
            "resourceVersionMatch=NotOlderThan",
            "resourceVersion=1&resourceVersionMatch=exact",
            "resourceVersion=1&resourceVersionMatch=Exact&continue=x",
            "resourceVersion=1&continue=x",
            "resourceVersion=x",
            "resourceVersion=-1",
            "resourceVersion=+1",
            "resourceVersion=99999999999999999999",
            "sendInitialEvents=true",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            "resourceVersion=x&resourceVersionMatch=Nonsense",
            "resourceVersion=999999",
            "resourceVersion=999999&resourceVersionMatch=Exact",
        ],
        expect![[r#"
            resourceVersion=0: abcde
            resourceVersion=1: abcde
            resourceVersion=0&resourceVersionMatch=NotOlderThan: abcde
            resourceVersion=0&resourceVersionMatch=Exact: 422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"
            resourceVersionMatch=Exact: 422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided
            resourceVersionMatch=NotOlderThan: 422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided
            resourceVersion=1&resourceVersionMatch=exact: 422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "exact": supported values: "Exact", "NotOlderThan", ""
            resourceVersion=1&resourceVersionMatch=Exact&continue=x: 422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided
            resourceVersion=1&continue=x: 400 invalid continue token: continue key is not valid: illegal base64 data at input byte 0
            resourceVersion=x: 400 invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax
            resourceVersion=-1: 400 invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax
            resourceVersion=+1: 400 invalid resource version: resourceVersion: Invalid value: " 1": strconv.ParseUint: parsing " 1": invalid syntax
            resourceVersion=99999999999999999999: 400 invalid resource version: resourceVersion: Invalid value: "99999999999999999999": strconv.ParseUint: parsing "99999999999999999999": value out of range
            sendInitialEvents=true: 422 ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list
            sendInitialEvents=false&resourceVersionMatch=NotOlderThan: 422 ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]
            resourceVersion=x&resourceVersionMatch=Nonsense: 422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Nonsense": supported values: "Exact", "NotOlderThan", ""
            resourceVersion=999999: 504 Timeout: Too large resource version: 999999, current: NUMBER
            resourceVersion=999999&resourceVersionMatch=Exact: 504 Timeout: Too large resource version: 999999, current: NUMBER
        "#]],
    )
    .await;
}

#[tokio::test]
async fn an_exact_version_is_that_state() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    let before = current(&client).await;
    client.delete(&format!("{CONFIG_MAPS}/b")).await.expect(200);
    client.create(CONFIG_MAPS, &json!({"metadata": {"name": "f"}})).await.expect(201);
    for (query, expected) in [
        (format!("resourceVersion={before}&resourceVersionMatch=Exact"), "abcde"),
        (format!("resourceVersion={before}&limit=9"), "abcde"),
        (format!("resourceVersion={before}&limit=2"), "ab, more, 3 remaining"),
        (
            format!("resourceVersion={before}&resourceVersionMatch=NotOlderThan&limit=2"),
            "ac, more, 3 remaining",
        ),
        (format!("resourceVersion={before}"), "acdef"),
        (format!("resourceVersion={before}&fieldSelector=metadata.name=b&resourceVersionMatch=Exact"), "b"),
        // One object by name is never paged through, so that a limit changes nothing.
        (format!("resourceVersion={before}&fieldSelector=metadata.name=b&limit=1"), ""),
    ] {
        assert_eq!(shown(&client, &query).await, expected, "{query}");
    }
    let list =
        client.get(&format!("{CONFIG_MAPS}?resourceVersion={before}&resourceVersionMatch=Exact")).await;
    assert_eq!(revision(&list.json()), before);
}

/// All pages of a list, and the versions they were read at.
async fn pages(client: &Client, query: &str) -> (Vec<String>, Vec<u64>) {
    let (mut found, mut versions, mut token) = (Vec::new(), Vec::new(), String::new());
    loop {
        let list = client.get(&format!("{CONFIG_MAPS}?{query}&continue={token}")).await.expect(200);
        found.push(names(&list));
        versions.push(revision(&list));
        match list["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => return (found, versions),
        }
        client.create(CONFIG_MAPS, &json!({"metadata": {"generateName": "later-"}})).await.expect(201);
    }
}

#[tokio::test]
async fn pages_go_on_at_the_state_they_began_with() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    let (found, versions) = pages(&client, "limit=2").await;
    assert_eq!(found, ["ab", "cd", "e"]);
    assert!(versions.iter().all(|version| *version == versions[0]), "{versions:?}");
    let (found, _) = pages(&client, "limit=1&labelSelector=odd=yes").await;
    // After the last that matches there were others: only the next page can tell that none of them does.
    assert_eq!(found, ["b", "d", ""]);
}

#[tokio::test]
async fn a_continuation_says_itself_where_and_when() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    let first = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.expect(200);
    let token = first["metadata"]["continue"].as_str().expect("a token");
    for (query, expected) in [
        (format!("continue={token}"), "cde"),
        (format!("continue={token}&limit=1"), "c, more, 2 remaining"),
        (format!("continue={token}&limit=1&resourceVersion=0"), "cde"),
        (format!("continue={token}&labelSelector=odd=yes"), "d"),
        (format!("continue={token}&fieldSelector=metadata.name=a"), ""),
    ] {
        assert_eq!(shown(&client, &query).await, expected, "{query}");
    }
    let refused = shown(&client, &format!("continue={token}&resourceVersion=1")).await;
    assert_eq!(refused, "400 specifying resource version is not allowed when using continue");
    let refused =
        shown(&client, &format!("continue={token}&resourceVersion=1&resourceVersionMatch=Exact")).await;
    assert_eq!(
        refused,
        "422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
    );
}

#[tokio::test]
async fn a_list_that_lost_its_state_goes_on_consistently_from_the_newest() {
    // The token that an expired list is offered: behind `b`, at whatever state is the newest.
    const NEWEST: &str = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYlx1MDAwMCJ9";
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    let next = client.get(&format!("{CONFIG_MAPS}?limit=1&continue={NEWEST}")).await.expect(200);
    assert_eq!(names(&next), "c");
    client.delete(&format!("{CONFIG_MAPS}/d")).await.expect(200);
    let token = next["metadata"]["continue"].as_str().expect("a token");
    let last = client.get(&format!("{CONFIG_MAPS}?continue={token}")).await.expect(200);
    assert_eq!((names(&last).as_str(), revision(&last)), ("de", revision(&next)));
}

#[tokio::test]
async fn every_label_operator_selects() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    five(&client).await;
    client
        .create(CONFIG_MAPS, &json!({"metadata": {"name": "f", "labels": {"size": "10"}}}))
        .await
        .expect(201);
    client.delete(&format!("{CONFIG_MAPS}/kube-root-ca.crt")).await; // where there is one
    check(
        &client,
        &[
            "labelSelector=odd",
            "labelSelector=!odd",
            "labelSelector=odd=yes",
            "labelSelector=odd==yes",
            "labelSelector=odd!=yes",
            "labelSelector=odd in (yes,no)".replace(' ', "%20").as_str(),
            "labelSelector=odd notin (yes)".replace(' ', "%20").as_str(),
            "labelSelector=size>9".replace('>', "%3E").as_str(),
            "labelSelector=size<10".replace('<', "%3C").as_str(),
            "labelSelector=odd,size",
            "labelSelector=odd=yes,odd=no",
            "labelSelector=",
            "labelSelector=size>x".replace('>', "%3E").as_str(),
            "labelSelector=odd in ()".replace(' ', "%20").as_str(),
            "labelSelector=odd in yes".replace(' ', "%20").as_str(),
            "labelSelector=-bad-=x",
            "labelSelector=a=b c".replace(' ', "%20").as_str(),
            "labelSelector=,",
            "fieldSelector=metadata.name=a,metadata.namespace=lists",
            "fieldSelector=spec.x=y",
            "fieldSelector=nonsense",
        ],
        expect![[r#"
            labelSelector=odd: abcde
            labelSelector=!odd: f
            labelSelector=odd=yes: bd
            labelSelector=odd==yes: bd
            labelSelector=odd!=yes: acef
            labelSelector=odd%20in%20(yes,no): abcde
            labelSelector=odd%20notin%20(yes): acef
            labelSelector=size%3E9: f
            labelSelector=size%3C10:
            labelSelector=odd,size:
            labelSelector=odd=yes,odd=no:
            labelSelector=: abcdef
            labelSelector=size%3Ex: 400 unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer
            labelSelector=odd%20in%20():
            labelSelector=odd%20in%20yes: 400 unable to parse requirement: found 'yes' expected: '('
            labelSelector=-bad-=x: 400 unable to parse requirement: <nil>: Invalid value: "-bad-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            labelSelector=a=b%20c: 400 found 'c', expected: ',' or 'end of string'
            labelSelector=,: 400 found ',', expected: !, identifier, or 'end of string'
            fieldSelector=metadata.name=a,metadata.namespace=lists: a
            fieldSelector=spec.x=y: 400 "spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"
            fieldSelector=nonsense: 400 invalid selector: 'nonsense'; can't understand 'nonsense'
        "#]],
    )
    .await;
}
