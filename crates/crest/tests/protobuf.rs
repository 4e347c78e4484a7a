//! Answers in the binary encoding, read by hand: envelopes, messages, lists, events and failures.

use serde_json::json;
use testkit::{Answer, Client, Credentials, Crest, Http, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

async fn get_as(client: &Client, path: &str, accept: &str) -> Answer {
    let mut request = client.request("GET".parse().expect("a method"), path, None, "");
    request.headers_mut().insert("accept", accept.parse().expect("a header"));
    client.send(request).await
}

/// A number of at most so many bits as there are, and what follows it.
fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).expect("a number ends") + 1;
    let value = bytes[..length].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (value, &bytes[length..])
}

/// The fields of a message that carry bytes, with their numbers.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let (key, rest) = varint(message);
        let (value, rest) = varint(rest);
        message = rest;
        if key & 7 == 2 {
            let (bytes, rest) = rest.split_at(usize::try_from(value).expect("a length"));
            found.push((key >> 3, bytes));
            message = rest;
        }
    }
    found
}

/// What a path of field numbers leads to first.
fn at<'a>(message: &'a [u8], path: &[u64]) -> &'a [u8] {
    path.iter().fold(message, |message, number| {
        let field = fields(message).into_iter().find(|(found, _)| found == number);
        field.unwrap_or_else(|| panic!("no field {number}")).1
    })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// The kind that an envelope names, and its message.
fn opened(body: &[u8]) -> (String, &[u8]) {
    let envelope = body.strip_prefix(b"k8s\0").expect("the magic number");
    (format!("{} {}", text(at(envelope, &[1, 1])), text(at(envelope, &[1, 2]))), at(envelope, &[2]))
}

async fn two(client: &Client) {
    for name in ["a", "b"] {
        let object = json!({"metadata": {"name": name, "labels": {"l": "v"}}, "data": {"key": name}});
        client.create(CONFIG_MAPS, &object).await.expect(201);
    }
}

#[tokio::test]
async fn objects_lists_and_failures_come_in_envelopes() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    two(&client).await;
    let answer = get_as(&client, &format!("{CONFIG_MAPS}/a"), PROTOBUF).await;
    assert_eq!((answer.code, answer.header("content-type")), (200, PROTOBUF));
    let (kind, message) = opened(&answer.body);
    assert_eq!(kind, "v1 ConfigMap");
    assert_eq!(text(at(message, &[1, 1])), "a");
    assert_eq!((text(at(message, &[2, 1])), text(at(message, &[2, 2]))), ("key", "a"));

    let answer = get_as(&client, &format!("{CONFIG_MAPS}?limit=1"), PROTOBUF).await;
    let (kind, message) = opened(&answer.body);
    assert_eq!(kind, "v1 ConfigMapList");
    assert!(!at(message, &[1, 2]).is_empty() && !at(message, &[1, 3]).is_empty(), "a version and a token");
    assert_eq!(fields(message).iter().filter(|(number, _)| *number == 2).count(), 1);
    assert_eq!(text(at(message, &[2, 1, 1])), "a");

    let answer = get_as(&client, &format!("{CONFIG_MAPS}/nope"), PROTOBUF).await;
    assert_eq!((answer.code, answer.header("content-type")), (404, PROTOBUF));
    let (kind, message) = opened(&answer.body);
    assert_eq!(kind, "v1 Status");
    assert_eq!(text(at(message, &[3])), "configmaps \"nope\" not found");
    assert_eq!(text(at(message, &[5, 1])), "nope");

    let mut request = client.request("DELETE".parse().unwrap(), &format!("{CONFIG_MAPS}/a"), None, "");
    request.headers_mut().insert("accept", PROTOBUF.parse().unwrap());
    let answer = client.send(request).await;
    let (kind, message) = opened(&answer.body);
    assert_eq!((kind.as_str(), text(at(message, &[2]))), ("v1 Status", "Success"));
}

#[tokio::test]
async fn large_lists_are_whole() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for number in 0..20 {
        let object =
            json!({"metadata": {"name": format!("n{number:02}")}, "data": {"x": "y".repeat(30_000)}});
        client.create(CONFIG_MAPS, &object).await.expect(201);
    }
    let answer = get_as(&client, CONFIG_MAPS, PROTOBUF).await;
    let (_, message) = opened(&answer.body);
    let items: Vec<&[u8]> =
        fields(message).into_iter().filter_map(|(number, item)| (number == 2).then_some(item)).collect();
    assert_eq!(items.len(), 20);
    for (number, item) in items.into_iter().enumerate() {
        assert_eq!(text(at(item, &[1, 1])), format!("n{number:02}"));
        assert_eq!(at(item, &[2, 2]).len(), 30_000);
    }
}

#[tokio::test]
async fn formats_are_chosen_by_quality_and_fall_back() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    two(&client).await;
    let path = format!("{CONFIG_MAPS}/a");
    let both = format!("{PROTOBUF},application/json");
    for (path, accept, code, content_type) in [
        (path.as_str(), both.as_str(), 200, PROTOBUF),
        (&path, "application/json,application/vnd.kubernetes.protobuf", 200, "application/json"),
        (&path, "application/json;q=0.4,application/vnd.kubernetes.protobuf;q=0.5", 200, PROTOBUF),
        (&path, "application/yaml", 200, "application/yaml"),
        (&path, "application/cbor", 406, "application/json"),
        (&path, "application/cbor,*/*", 200, "application/json"),
        ("/version", PROTOBUF, 406, PROTOBUF),
        // Tables have no binary form.
        (&path, "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", 406, "application/json"),
        (
            &path,
            "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io",
            200,
            "application/json",
        ),
    ] {
        let answer = get_as(&client, path, accept).await;
        assert_eq!((answer.code, answer.header("content-type")), (code, content_type), "{path} {accept}");
    }
}

#[tokio::test]
async fn metadata_alone_has_a_binary_form_for_every_kind() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    two(&client).await;
    let partial = format!("{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    let answer = get_as(&client, &format!("{CONFIG_MAPS}/a"), &partial).await;
    let (kind, message) = opened(&answer.body);
    assert_eq!(kind, "meta.k8s.io/v1 PartialObjectMetadata");
    assert_eq!(fields(message).len(), 1, "metadata and nothing else");
    let list = format!("{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
    let answer = get_as(&client, CONFIG_MAPS, &list).await;
    let (kind, message) = opened(&answer.body);
    assert_eq!(kind, "meta.k8s.io/v1 PartialObjectMetadataList");
    assert_eq!(text(at(message, &[2, 1, 1])), "a");
}

#[tokio::test]
async fn events_have_their_length_before_them() {
    let crest = Crest::start(CREST);
    let (client, one) = (crest.client(), crest.client_as(Credentials::Admin, Http::One));
    two(&client).await;
    let mut stream = one.connect().await.unwrap();
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: crest\r\nConnection: close\r\nAccept: {PROTOBUF};stream=watch\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut answer = Vec::new();
    let _ = soon("the end of a watch", stream.read_to_end(&mut answer)).await;
    let split = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(answer[..split].to_vec()).unwrap().to_lowercase();
    assert!(head.contains(&format!("content-type: {PROTOBUF};stream=watch\r\n")), "{head}");

    let mut rest = unchunked(&answer[split..]);
    let mut names = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let event: Vec<u8> = rest.drain(..4 + length).skip(4).collect();
        assert_eq!(text(at(&event, &[1])), "ADDED");
        let (kind, message) = opened(at(&event, &[2, 1]));
        assert_eq!(kind, "v1 ConfigMap");
        names.push(text(at(message, &[1, 1])).to_owned());
    }
    assert_eq!(names, ["a", "b"]);
}

/// A body without the lengths of its chunks.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n").expect("a length");
        let length = usize::from_str_radix(text(&body[..end]), 16).expect("a number");
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 2 + length + 2..];
    }
}
