//! What is on the wire: protocols, formats, sizes, and input that is not what it should be.
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its texts so")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use serde_json::json;
use testkit::{Answer, Client, Credentials, Crest, Http, MERGE_PATCH, soon, steady};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn post(client: &Client, content_type: Option<&str>, body: impl Into<Vec<u8>>) -> Answer {
    client
        .send(client.request("POST".parse().expect("a method"), CONFIG_MAPS, content_type, body.into()))
        .await
}

async fn get_as(client: &Client, path: &str, accept: &str) -> Answer {
    let mut request = client.request("GET".parse().expect("a method"), path, None, "");
    request.headers_mut().insert("accept", accept.parse().expect("a header"));
    client.send(request).await
}

#[tokio::test]
async fn both_protocols_carry_the_same() {
    let crest = Crest::start(CREST);
    for http in [Http::One, Http::Two] {
        let client = crest.client_as(Credentials::Admin, http);
        let name = format!("over-{http:?}").to_lowercase();
        let path = format!("{CONFIG_MAPS}/{name}");
        let created = client.create(CONFIG_MAPS, &json!({"metadata": {"name": name}})).await.expect(201);
        assert_eq!(client.get(&path).await.expect(200), created);
        let mut watch = client
            .watch(&format!("{CONFIG_MAPS}?fieldSelector=metadata.name={name}&resourceVersion=0"))
            .await;
        assert_eq!(watch.event().await.object, created);
        client.patch(&path, MERGE_PATCH, &json!({"data": {"a": "b"}})).await.expect(200);
        assert_eq!(watch.event().await.object["data"]["a"], "b");
        client.delete(&path).await.expect(200);
        assert_eq!(watch.event().await.kind, "DELETED");
    }
}

#[tokio::test]
async fn every_answer_carries_the_headers_clients_rely_on() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for path in ["/api", CONFIG_MAPS, "/apis/nonsense", "/healthz"] {
        let answer = client.get(path).await;
        assert_eq!(answer.header("cache-control"), "no-cache, private", "{path}");
        assert_eq!(answer.header("audit-id").len(), 36, "{path}");
    }
    let mut request = client.request("GET".parse().unwrap(), "/api", None, "");
    request.headers_mut().insert("audit-id", "mine".parse().unwrap());
    assert_eq!(client.send(request).await.header("audit-id"), "mine");
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let crest = Crest::start(CREST);
    for http in [Http::One, Http::Two] {
        let client = crest.client_as(Credentials::Admin, http);
        for (path, code, length) in [("/healthz", 200, "2"), ("/nonsense", 404, "19"), (CONFIG_MAPS, 405, "")]
        {
            let answer = client.send(client.request("HEAD".parse().unwrap(), path, None, "")).await;
            assert_eq!((answer.code, answer.body.len()), (code, 0), "{http:?} {path}");
            assert!(answer.header("content-length").starts_with(length), "{http:?} {path}");
        }
    }
}

#[tokio::test]
async fn a_client_may_ask_for_less_time() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for (timeout, expected) in [
        ("5s", (404, "configmaps \"x\" not found")),
        ("-1s", (404, "configmaps \"x\" not found")),
        ("0", (404, "configmaps \"x\" not found")),
        ("", (404, "configmaps \"x\" not found")),
        ("10", (400, "invalid timeout specified in the request URL - time: missing unit in duration \"10\"")),
        (
            "1d",
            (
                400,
                "invalid timeout specified in the request URL - time: unknown unit \"d\" in duration \"1d\"",
            ),
        ),
    ] {
        let (code, message) = client.get(&format!("{CONFIG_MAPS}/x?timeout={timeout}")).await.failure();
        assert_eq!((code, message.as_str()), expected, "{timeout}");
    }
    let nobody = crest.client_as(Credentials::Stranger, Http::Two);
    assert_eq!(
        nobody.get(&format!("{CONFIG_MAPS}?timeout=x")).await.code,
        400,
        "before anybody asks who it is"
    );
}

#[tokio::test]
async fn a_body_may_have_three_mebibytes() {
    let crest = Crest::start(CREST);
    for http in [Http::One, Http::Two] {
        let client = crest.client_as(Credentials::Admin, http);
        let answer = post(&client, Some("application/json"), vec![b' '; (3 << 20) + 1]).await;
        let (code, message) = answer.failure();
        assert_eq!((code, message.as_str()), (413, "Request entity too large: limit is 3145728"), "{http:?}");
        let answer = post(&client, Some("application/json"), vec![b' '; 3 << 20]).await;
        assert_eq!(answer.code, 400, "{http:?}: at the limit it is read, and found to be no object");
    }
}

/// A body that must be refused: compares code and message.
async fn refuse(client: &Client, content_type: Option<&str>, body: &[u8], expected: &Expect) {
    let (code, message) = post(client, content_type, body).await.failure();
    expected.assert_eq(&format!("{code} {message}"));
}

#[tokio::test]
async fn bodies_that_are_no_objects_are_refused() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let json = Some("application/json");
    refuse(&client, json, b"", &expect!["400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"]).await;
    refuse(&client, json, b"{\"kind\":", &expect![[r#"400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"kind":)"#]]).await;
    refuse(&client, json, b"[]", &expect![[r#"400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)"#]]).await;
    refuse(&client, json, b"{} {}", &expect!["400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '{' after top-level value ({} {})"]).await;
    refuse(&client, json, b"\xff\xfe", &expect!["400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'ÿ' looking for beginning of value (fffe)"]).await;
    refuse(&client, json, "[".repeat(100_000).as_bytes(), &expect!["400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '[' exceeded max depth (5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b ...)"]).await;
    refuse(&client, json, br#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}"#, &expect![[r#"400 Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"#]])
        .await;
    refuse(
        &client,
        json,
        br#"{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"x"}}"#,
        &expect![[r#"400 ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30""#]],
    )
    .await;
    refuse(
        &client,
        json,
        br#"{"metadata":{}}"#,
        &expect![[
            r#"422 ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required"#
        ]],
    )
    .await;
    refuse(
        &client,
        json,
        br#"{"metadata":{"name":"x","namespace":"other"}}"#,
        &expect!["400 the namespace of the provided object does not match the namespace sent on the request"],
    )
    .await;
    let yaml = Some("application/yaml");
    refuse(&client, yaml, b"a: [", &expect!["400 the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected node content (613a205b)"]).await;
    refuse(&client, yaml, b"- x", &expect![[r#"400 the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (2d2078)"#]]).await;
    refuse(&client, yaml, b"a: *nothing", &expect!["400 the object provided is unrecognized (must be of type ConfigMap): yaml: unknown anchor 'nothing' referenced (613a202a6e6f7468696e67)"]).await;
    refuse(&client, Some("text/plain"), b"{}", &expect!["415 the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"]).await;
}

#[tokio::test]
async fn an_alias_bomb_does_no_harm() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 10].join(",");
        writeln!(bomb, "a{level}: &a{level} [{items}]").unwrap();
    }
    let answer = post(&client, Some("application/yaml"), bomb).await;
    assert_eq!(answer.code, 400, "{}", answer.text());
    client.get("/readyz").await;
}

#[tokio::test]
async fn formats_are_negotiated() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";
    assert_eq!(post(&client, Some("application/yaml"), yaml).await.code, 201);
    let path = format!("{CONFIG_MAPS}/x");

    let answer = get_as(&client, &path, "application/yaml").await;
    assert_eq!((answer.code, answer.header("content-type")), (200, "application/yaml"));
    assert!(answer.text().starts_with("apiVersion: v1\n"), "{}", answer.text());

    let answer = get_as(&client, &path, "text/html, */*;q=0.1").await;
    assert_eq!((answer.code, answer.header("content-type")), (200, "application/json"));

    let answer = client.get(&format!("{path}?pretty=true")).await;
    assert!(answer.text().starts_with("{\n  \""), "{}", answer.text());

    let (code, message) = get_as(&client, &path, "text/html").await.failure();
    expect![[r#"
        406 406: Not Acceptable

        Available representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"#]]
    .assert_eq(&format!("{code} {message}"));

    let table = get_as(&client, &path, "application/json;as=Table;v=v1;g=meta.k8s.io").await.expect(200);
    assert_eq!(table["kind"], "Table");
    let partial = get_as(&client, &path, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
        .await
        .expect(200);
    assert_eq!(
        (partial["kind"].as_str(), partial["metadata"]["name"].as_str()),
        (Some("PartialObjectMetadata"), Some("x"))
    );
}

#[tokio::test]
async fn paths_and_methods_that_lead_nowhere_are_refused() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let mut shown = String::new();
    for (method, path) in [
        ("GET", "/nonsense"),
        ("GET", "/apis/nonsense.example.com/v1/things"),
        ("GET", "/api/v1/nonsense"),
        ("GET", "/api/v2/configmaps"),
        ("POST", "/api/v1/configmaps"),
        ("PUT", CONFIG_MAPS),
        ("GET", "/api/v1/namespaces/default/configmaps/a/b"),
        ("BREW", CONFIG_MAPS),
        ("GET", "/api/v1/namespaces/default/configmaps?limit=x"),
        ("GET", "/api/v1/namespaces/default/configmaps?continue=x"),
        ("GET", "/api/v1/namespaces/default/configmaps?labelSelector=a%20b"),
        ("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=x"),
        ("GET", "/api/v1/namespaces/default/configmaps?resourceVersion=99999999"),
    ] {
        let answer = client.send(client.request(method.parse().unwrap(), path, None, "")).await;
        let message = match answer.header("content-type") {
            "application/json" => answer.failure().1,
            _ => answer.text(),
        };
        writeln!(shown, "{method} {path}\n  {} {}", answer.code, message.trim_end()).unwrap();
    }
    expect![[r#"
        GET /nonsense
          404 404 page not found
        GET /apis/nonsense.example.com/v1/things
          404 404 page not found
        GET /api/v1/nonsense
          404 the server could not find the requested resource
        GET /api/v2/configmaps
          404 the server could not find the requested resource
        POST /api/v1/configmaps
          405 the server does not allow this method on the requested resource
        PUT /api/v1/namespaces/default/configmaps
          405 the server does not allow this method on the requested resource
        GET /api/v1/namespaces/default/configmaps/a/b
          404 the server could not find the requested resource
        BREW /api/v1/namespaces/default/configmaps
          405 the server does not allow this method on the requested resource
        GET /api/v1/namespaces/default/configmaps?limit=x
          400 strconv.ParseInt: parsing "x": invalid syntax
        GET /api/v1/namespaces/default/configmaps?continue=x
          400 invalid continue token: continue key is not valid: illegal base64 data at input byte 0
        GET /api/v1/namespaces/default/configmaps?labelSelector=a%20b
          400 unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
        GET /api/v1/namespaces/default/configmaps?resourceVersion=x
          400 invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax
        GET /api/v1/namespaces/default/configmaps?resourceVersion=99999999
          504 Timeout: Too large resource version: 99999999, current: NUMBER
    "#]]
    .assert_eq(&steady(&shown));
}

#[tokio::test]
async fn large_lists_are_zipped_for_those_who_ask() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for number in 0..10 {
        let object =
            json!({"metadata": {"name": format!("large-{number}")}, "data": {"text": "x".repeat(30_000)}});
        client.create(CONFIG_MAPS, &object).await.expect(201);
    }
    let plain = client.get(CONFIG_MAPS).await;
    assert_eq!(plain.header("content-encoding"), "");
    let mut request = client.request("GET".parse().unwrap(), CONFIG_MAPS, None, "");
    request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
    let zipped = client.send(request.clone()).await;
    assert_eq!(zipped.unzipped(), plain.json());
    assert!(zipped.body.len() * 10 < plain.body.len(), "{} of {}", zipped.body.len(), plain.body.len());
    *request.uri_mut() = format!("{}/large-1", request.uri()).parse().unwrap();
    assert_eq!(client.send(request).await.header("content-encoding"), "", "small answers are not worth it");
}

#[tokio::test]
async fn connections_that_say_nothing_disturb_nobody() {
    let crest = Crest::start(CREST);
    let slow = crest.client_as(Credentials::Admin, Http::One);
    let mut held = Vec::new();
    for _ in 0..50 {
        let silent = tokio::net::TcpStream::connect(crest.address).await.unwrap(); // not even a handshake
        let mut halting = slow.connect().await.unwrap();
        halting.write_all(b"GET /api HTTP/1.1\r\nHost: x\r\nX-Slow: ").await.unwrap();
        halting.flush().await.unwrap();
        held.push((silent, halting));
    }
    let client = crest.client();
    for _ in 0..20 {
        client.get(CONFIG_MAPS).await.expect(200);
    }
    let (_, mut halting) = held.pop().unwrap();
    halting.write_all(b"done\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    soon("the late answer", halting.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn bytes_that_are_no_http_end_only_their_connection() {
    let crest = Crest::start(CREST);
    let one = crest.client_as(Credentials::Admin, Http::One);
    for garbage in [&b"\x00\x01\x02\x03\r\n\r\n"[..], b"GET\r\n\r\n", &vec![b'A'; 2 << 20]] {
        let mut stream = one.connect().await.unwrap();
        let _ = stream.write_all(garbage).await;
        let mut answer = Vec::new();
        let _ = soon("the end of a bad connection", stream.read_to_end(&mut answer)).await;
        let text = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    let mut plain = tokio::net::TcpStream::connect(crest.address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = soon("the end of a plain connection", plain.read_to_end(&mut answer)).await;
    crest.client().get("/api").await.expect(200);
}

/// Which methods a path takes, as the reference's routers and handlers have it.
#[tokio::test]
async fn methods_and_odd_paths_are_answered_as_in_the_reference() {
    let crest = Crest::start(CREST);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "odds.paths.example.com"},
        "spec": {"group": "paths.example.com", "scope": "Namespaced",
            "names": {"plural": "odds", "kind": "Odd"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    let odds = "/apis/paths.example.com/v1/namespaces/default/odds";
    let object = json!({"apiVersion": "paths.example.com/v1", "kind": "Odd", "metadata": {"name": "one"}});
    crest
        .client()
        .create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition)
        .await
        .expect(201);
    crest.client().create(odds, &object).await.expect(201);
    for http in [Http::One, Http::Two] {
        let client = crest.client_as(Credentials::Admin, http);
        for (method, path, code) in [
            // The routers of built-in kinds know no HEAD; what stands in front of them does.
            ("HEAD", "/api/v1/namespaces/default".to_owned(), 405),
            ("HEAD", "/api".to_owned(), 405),
            ("HEAD", "/version".to_owned(), 405),
            ("HEAD", "/apis".to_owned(), 200),
            ("HEAD", "/apis/apiextensions.k8s.io".to_owned(), 200),
            ("HEAD", "/healthz".to_owned(), 200),
            ("HEAD", format!("{odds}/one"), 200),
            ("HEAD", odds.to_owned(), 200),
            // What answers for definitions does not look at the method of documents, nor behind a subresource.
            ("POST", "/apis/paths.example.com/v1".to_owned(), 200),
            ("POST", "/apis/apiextensions.k8s.io/v1".to_owned(), 405),
            ("GET", format!("{odds}/one/status/more"), 200),
            ("GET", "/api/v1/namespaces/default/status/more/x".to_owned(), 404),
            ("GET", "/api/v1/watch/namespaces/default/configmaps/x/y".to_owned(), 404),
            ("OPTIONS", format!("{odds}/one"), 405),
            ("GET", format!("{odds}/%zz"), 400),
            ("PATCH", odds.to_owned(), 415),
            // A slash at the end is for discovery only.
            ("GET", "/apis/".to_owned(), 200),
            ("GET", "/version/".to_owned(), 200),
            ("GET", "/healthz/".to_owned(), 404),
            ("GET", "/openapi/v2/".to_owned(), 404),
            ("GET", "/openapi/v3/".to_owned(), 404),
            ("GET", "/metrics/".to_owned(), 404),
            ("GET", "/index.html".to_owned(), 200),
        ] {
            let request = client.request(method.parse().expect("a method"), &path, None, "");
            let answer = client.send(request).await;
            assert_eq!(answer.code, code, "{method} {path} over {http:?}");
            if method == "HEAD" {
                assert_eq!(answer.text(), "", "{path} over {http:?}");
            }
        }
    }
}

/// The beta of aggregated discovery is gone: a client that takes something else gets that.
#[tokio::test]
async fn a_removed_form_of_discovery_is_not_acceptable() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let form = |version: &str| {
        format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList")
    };
    for path in ["/api", "/apis"] {
        get_as(&client, path, &form("v2beta1")).await.expect(406);
        let answer = get_as(&client, path, &format!("{},{}", form("v2beta1"), form("v2"))).await;
        assert_eq!(answer.expect(200)["apiVersion"], "apidiscovery.k8s.io/v2");
        let answer = get_as(&client, path, &format!("{},application/json", form("v2beta1"))).await;
        assert_ne!(answer.expect(200)["kind"], "APIGroupDiscoveryList");
    }
}
