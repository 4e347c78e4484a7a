//! A webhook in the process of the test: HTTPS with a certificate of its own, every call remembered.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

/// What a webhook was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// With its query.
    pub path: String,
    pub body: Value,
    pub http2: bool,
}

/// What it says.
#[derive(Clone, Debug)]
pub enum Reply {
    Json(Value),
    Raw {
        code: u16,
        content_type: &'static str,
        body: String,
    },
    /// It is to be asked again after a second.
    Later,
    /// Nothing: the connection is closed.
    Close,
}

type Answers = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A running webhook; it ends with the test's runtime.
pub struct Webhook {
    pub address: SocketAddr,
    /// The authority that signed its certificate, as a definition carries it.
    pub ca_bundle: String,
    state: Arc<State>,
}

struct State {
    answers: Mutex<Answers>,
    asked: Mutex<Vec<Asked>>,
    connections: Mutex<usize>,
}

impl Webhook {
    /// Starts a webhook whose certificate is for 127.0.0.1 and these names.
    pub async fn start(names: &[&str], answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let (tls, authority) = identity(names, port);
        let state = Arc::new(State {
            answers: Mutex::new(Arc::new(answers)),
            asked: Mutex::default(),
            connections: Mutex::default(),
        });
        let address = listener.local_addr().expect("a bound socket has an address");
        tokio::spawn(accept(listener, TlsAcceptor::from(tls), state.clone()));
        let ca_bundle = base64::engine::general_purpose::STANDARD.encode(authority);
        Webhook { address, ca_bundle, state }
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// From now on it says something else.
    pub fn answer(&self, answers: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        *self.state.answers.lock().expect("no test panics with the lock") = Arc::new(answers);
    }

    /// What it was asked since this was last called.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.state.asked.lock().expect("no test panics with the lock"))
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> usize {
        *self.state.connections.lock().expect("no test panics with the lock")
    }
}

/// A certificate for these names, and the authority that vouches for it. The port makes its name its own.
fn identity(names: &[&str], port: u16) -> (Arc<ServerConfig>, String) {
    let key = || KeyPair::generate().expect("keys can be made");
    let mut authority = CertificateParams::new(Vec::<String>::new()).expect("no name is wrong");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, format!("webhook {port}"));
    let authority_key = key();
    let signed = authority.self_signed(&authority_key).expect("an authority can sign itself");
    let issuer = Issuer::new(authority, authority_key);
    let names: Vec<String> = names.iter().copied().chain(["127.0.0.1"]).map(str::to_owned).collect();
    let leaf_key = key();
    let leaf = CertificateParams::new(names).expect("the names are names");
    let leaf = leaf.signed_by(&leaf_key, &issuer).expect("an authority can sign");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("the default versions are supported").with_no_client_auth();
    let private = PrivateKeyDer::try_from(leaf_key.serialize_der()).expect("a key is a key");
    let mut tls = builder.with_single_cert(vec![leaf.der().clone()], private).expect("they belong together");
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (Arc::new(tls), signed.pem())
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, tls.clone(), state.clone()));
    }
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, state: Arc<State>) {
    let Ok(stream) = tls.accept(stream).await else { return };
    *state.connections.lock().expect("no test panics with the lock") += 1;
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let close = Arc::new(Notify::new());
    let service = service_fn(|request| answer(request, http2, state.clone(), close.clone()));
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        _ = connection => {}
        () = close.notified() => {}
    }
}

async fn answer(
    request: Request<Incoming>,
    http2: bool,
    state: Arc<State>,
    close: Arc<Notify>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let body = request.into_body().collect().await?.to_bytes();
    let asked = Asked { path, body: serde_json::from_slice(&body).unwrap_or_default(), http2 };
    let answers = state.answers.lock().expect("no test panics with the lock").clone();
    state.asked.lock().expect("no test panics with the lock").push(asked.clone());
    let (code, content_type, body) = match answers(&asked) {
        Reply::Json(value) => (200, "application/json", value.to_string()),
        Reply::Raw { code, content_type, body } => (code, content_type, body),
        Reply::Later => {
            let response = Response::builder().status(503).header("retry-after", "1");
            return Ok(response.body(Full::default()).expect("a plain answer"));
        }
        Reply::Close => {
            close.notify_one();
            return std::future::pending().await;
        }
    };
    let response = Response::builder().status(code).header("content-type", content_type);
    Ok(response.body(Full::new(body.into())).expect("a plain answer"))
}
