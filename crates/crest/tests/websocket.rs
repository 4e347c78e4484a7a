//! Watches over a `WebSocket`, spoken by hand: every event is a message.

use serde_json::{Value, json};
use testkit::{Credentials, Crest, Http, Setup, soon};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ORIGIN: &str = "Origin: https://example.com\r\n";

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A connection on which a `WebSocket` was asked for, and what was said to that.
struct Socket<S> {
    stream: S,
    answer: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    async fn open(mut stream: S, path: &str, headers: &str) -> Self {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: crest\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("the connection holds");
        stream.flush().await.expect("the connection holds");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(
                soon("the answer to a handshake", stream.read_u8()).await.expect("the connection holds"),
            );
        }
        Socket { stream, answer: String::from_utf8(answer).expect("the connection holds").to_lowercase() }
    }

    fn code(&self) -> &str {
        self.answer.split(' ').nth(1).unwrap_or_default()
    }

    /// The next frame: what it carries and its payload.
    async fn frame(&mut self) -> (u8, Vec<u8>) {
        let stream = &mut self.stream;
        let read = async {
            let first = stream.read_u8().await.expect("the connection holds");
            assert_eq!(first & 0x80, 0x80, "messages come in one piece");
            let length = match stream.read_u8().await.expect("the connection holds") {
                126 => u64::from(stream.read_u16().await.expect("the connection holds")),
                127 => stream.read_u64().await.expect("the connection holds"),
                short => u64::from(short), // and not masked
            };
            let mut payload = vec![0; usize::try_from(length).expect("the connection holds")];
            stream.read_exact(&mut payload).await.expect("the connection holds");
            (first & 0x0f, payload)
        };
        soon("a frame", read).await
    }

    async fn event(&mut self) -> Value {
        let (kind, payload) = self.frame().await;
        assert_eq!(kind, TEXT, "{}", String::from_utf8_lossy(&payload));
        assert!(payload.ends_with(b"}\n"), "an event ends as in a stream");
        serde_json::from_slice(&payload).expect("the connection holds")
    }

    async fn say(&mut self, kind: u8, text: &[u8]) {
        let mut frame =
            vec![0x80 | kind, 0x80 | u8::try_from(text.len()).expect("the connection holds"), 1, 2, 3, 4];
        frame.extend(text.iter().zip([1, 2, 3, 4].iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.write_all(&frame).await.expect("the connection holds");
        self.stream.flush().await.expect("the connection holds");
    }
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test]
async fn events_are_messages() {
    let crest = Crest::start(CREST);
    let (client, one) = (crest.client(), crest.client_as(Credentials::Admin, Http::One));
    client.create(CONFIG_MAPS, &named("before")).await.expect(201);
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0");
    let mut socket = Socket::open(one.connect().await.unwrap(), &path, ORIGIN).await;
    assert_eq!(socket.code(), "101", "{}", socket.answer);
    assert!(socket.answer.contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"));
    let first = socket.event().await;
    assert_eq!((&first["type"], &first["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("before")));

    let large = json!({"metadata": {"name": "large"}, "data": {"text": "x".repeat(100_000)}});
    client.create(CONFIG_MAPS, &large).await.expect(201);
    assert_eq!(socket.event().await["object"]["data"], large["data"]);

    socket.say(TEXT, b"nobody listens").await;
    socket.say(PING, b"are you there").await;
    assert_eq!(socket.frame().await, (PONG, b"are you there".to_vec()));
    socket.say(CLOSE, &1000u16.to_be_bytes()).await;
    assert_eq!(socket.frame().await, (CLOSE, 1000u16.to_be_bytes().to_vec()));
    let mut rest = Vec::new();
    let _ = soon("the end", socket.stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_watch_that_ends_closes_its_socket() {
    let crest = Crest::start(CREST);
    let one = crest.client_as(Credentials::Admin, Http::One);
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0&timeoutSeconds=1");
    let mut socket = Socket::open(one.connect().await.unwrap(), &path, ORIGIN).await;
    assert_eq!(socket.frame().await, (CLOSE, 1000u16.to_be_bytes().to_vec()));
}

#[tokio::test]
async fn binary_events_are_binary_messages() {
    let crest = Crest::start(CREST);
    let one = crest.client_as(Credentials::Admin, Http::One);
    crest.client().create(CONFIG_MAPS, &named("a")).await.expect(201);
    let headers = format!("{ORIGIN}Accept: application/vnd.kubernetes.protobuf\r\n");
    let path = format!("/api/v1/watch{}?resourceVersion=0", CONFIG_MAPS.trim_start_matches("/api/v1"));
    let mut socket = Socket::open(one.connect().await.unwrap(), &path, &headers).await;
    let (kind, payload) = socket.frame().await;
    assert_eq!(kind, BINARY);
    assert!(payload.starts_with(b"\x0a\x05ADDED\x12"), "an event without a length before it: {payload:?}");
}

#[tokio::test]
async fn handshakes_are_judged_as_by_the_reference() {
    let crest = Crest::start(CREST);
    let one = crest.client_as(Credentials::Admin, Http::One);
    let watch = format!("{CONFIG_MAPS}?watch=true");
    for (path, headers, code) in [
        (watch.as_str(), "", "403"), // only browsers are expected, which say where they come from
        (&watch, "Origin: nowhere\r\n", "403"),
        (&watch, "Origin: https://example.com\r\nSec-WebSocket-Protocol: a, b\r\n", "400"),
        (&watch, "Origin: https://example.com\r\nSec-WebSocket-Protocol: a\r\n", "101"),
        (CONFIG_MAPS, ORIGIN, "200"), // a list is no watch
        ("/api/v1/nonsense?watch=true", ORIGIN, "404"),
        (&watch, "Origin: https://example.com\r\nAccept: application/yaml\r\n", "406"),
    ] {
        let socket = Socket::open(one.connect().await.unwrap(), path, headers).await;
        assert_eq!(socket.code(), code, "{path} {headers} {}", socket.answer);
    }
}

#[tokio::test]
async fn a_token_may_come_as_a_subprotocol() {
    let setup = Setup::new(CREST);
    let tokens = setup.folder().join("secret.csv");
    std::fs::write(&tokens, "secret,somebody,u1,system:masters\n").unwrap();
    let crest = setup.with("--token-auth-file", tokens).start();
    let nobody = crest.client_as(Credentials::Nobody, Http::One);
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0&timeoutSeconds=1");
    // "secret" and "wrong"
    for (token, code) in [("c2VjcmV0", "101"), ("d3Jvbmc", "401"), ("%", "401")] {
        let protocols = format!(
            "{ORIGIN}Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{token}, base64.binary.k8s.io\r\n"
        );
        let socket = Socket::open(nobody.connect().await.unwrap(), &path, &protocols).await;
        assert_eq!(socket.code(), code, "{}", socket.answer);
        if code == "101" {
            assert!(socket.answer.contains("\r\nsec-websocket-protocol: base64.binary.k8s.io\r\n"));
        }
    }
}
