//! The cases against a server that knows just enough: objects are kept, listed, read and announced to watchers.

use std::convert::Infallible;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pico_args::Arguments;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::measure;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The objects in the order of their creation. A watch gets all of them and then those that come.
#[derive(Default)]
struct Store {
    objects: Vec<Value>,
    watchers: Vec<tokio::sync::mpsc::UnboundedSender<Bytes>>,
    /// Announce every object so many times.
    announcements: usize,
}

/// Starts the server on a thread of its own, which ends with the test process.
fn fake_server(announcements: usize) -> String {
    let (sender, receiver) = mpsc::channel();
    let store = Arc::new(Mutex::new(Store { announcements, ..Store::default() }));
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            let tls = acceptor();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let stream = tls.accept(tcp).await.unwrap();
                let store = store.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(store.clone(), request));
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
    });
    format!("https://{}", receiver.recv().unwrap())
}

fn acceptor() -> TlsAcceptor {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_string()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn answer(store: Arc<Mutex<Store>>, request: Request<Incoming>) -> hyper::Result<Response<Body>> {
    assert_eq!(request.headers()["authorization"], "Bearer secret");
    let (path, query) =
        (request.uri().path().to_string(), request.uri().query().unwrap_or_default().to_string());
    let is_post = request.method() == Method::POST;
    let body = request.into_body().collect().await?.to_bytes();
    let mut store = store.lock().unwrap();
    let text = if path.contains("customresourcedefinitions") {
        r#"{"status":{"conditions":[{"type":"Established","status":"True"}]}}"#.to_string()
    } else if path.starts_with("/api/v1/namespaces") {
        String::new()
    } else if is_post {
        store.create(serde_json::from_slice(&body).unwrap());
        String::from_utf8(body.to_vec()).unwrap()
    } else if query.contains("watch=true") {
        return Ok(Response::new(store.watch()));
    } else if path.ends_with("/workloads") {
        let metadata = serde_json::json!({ "resourceVersion": store.objects.len().to_string() });
        serde_json::json!({ "metadata": metadata, "items": store.objects }).to_string()
    } else {
        let name = path.rsplit('/').next().unwrap();
        let found = store.objects.iter().find(|object| object["metadata"]["name"] == name);
        match found {
            Some(object) => object.to_string(),
            None => return Ok(Response::builder().status(404).body(full(String::new())).unwrap()),
        }
    };
    Ok(Response::new(full(text)))
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).boxed_unsync()
}

impl Store {
    fn create(&mut self, object: Value) {
        let event = Bytes::from(format!("{}\n", serde_json::json!({ "type": "ADDED", "object": object })));
        for watcher in &self.watchers {
            for _ in 0..self.announcements {
                let _ = watcher.send(event.clone());
            }
        }
        self.objects.push(object);
    }

    fn watch(&mut self) -> Body {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        self.watchers.push(sender);
        let frames = futures_util::stream::poll_fn(move |context| {
            receiver.poll_recv(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

fn check(server: &str, line: &str) -> anyhow::Result<Value> {
    let words = format!("{line} --server {server} --token secret --insecure --label crest");
    let pid = format!("{words} --pid {}", std::process::id());
    measure(Arguments::from_vec(pid.split_whitespace().map(Into::into).collect()))
}

#[test]
fn objects_are_created_read_and_listed() {
    let server = fake_server(1);
    assert!(check(&server, "get -n 1").unwrap_err().to_string().contains("run create first"));

    let line = check(&server, "create --objects 130 -c 64").unwrap();
    assert_eq!(
        (&line["case"], &line["ops"], &line["errors"]),
        (&"create/c64".into(), &130.into(), &0.into())
    );
    assert!(line["server"][0]["rss_after_mb"].as_f64().unwrap() > 0.0);
    assert!(line["rx_bytes"].as_u64().unwrap() > 130 * 1000);

    let line = check(&server, "get -n 300 -c 16").unwrap();
    assert_eq!((&line["case"], &line["ops"], &line["errors"]), (&"get/c16".into(), &300.into(), &0.into()));
    let line = check(&server, "list label -n 3 -c 1").unwrap();
    assert_eq!(
        (&line["case"], &line["ops"], &line["unit"]),
        (&"list/label/c1".into(), &3.into(), &"list".into())
    );
}

#[test]
fn every_watcher_sees_every_object() {
    let line = check(&fake_server(1), "watch -w 60 -e 20").unwrap();
    assert_eq!(line["case"], "watch/w60/max");
    assert_eq!((&line["ops"], &line["lost"], &line["duplicate"]), (&1200.into(), &0.into(), &0.into()));
}

#[test]
fn events_that_come_twice_are_told() {
    let line = check(&fake_server(2), "watch -w 2 -e 5").unwrap();
    assert_eq!((&line["lost"], &line["out_of_order"]), (&0.into(), &0.into()));
    // The second announcement of the last object may come after the watcher has left.
    assert!(line["duplicate"].as_u64().unwrap() >= 8);
}

#[test]
fn wrong_words_are_refused() {
    assert!(check("https://127.0.0.1:1", "create --bogus").is_err());
    assert!(check("http://127.0.0.1:1", "idle").unwrap_err().to_string().contains("https://"));
    assert!(check("https://127.0.0.1:1", "dance").unwrap_err().to_string().contains("dance"));
}
