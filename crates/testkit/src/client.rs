//! A small client that shows what was on the wire: code, headers, body.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HeaderMap;
use hyper::{Method, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::soon;
use crate::watch::Watch;

pub const MERGE_PATCH: &str = "application/merge-patch+json";
pub const JSON_PATCH: &str = "application/json-patch+json";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// A connection for every request.
    One,
    /// One connection for all of them.
    Two,
}

/// A request that is at hand as a whole.
pub type Request = hyper::Request<Full<Bytes>>;

/// No answer, or not a whole one: the connection broke. Whether the request had an effect is unknown.
#[derive(Debug)]
pub struct Unanswered(pub String);

/// What the server answered.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A client with one identity. Clones share a connection.
#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    token: Option<String>,
    http: Http,
    connection: Arc<Mutex<Option<http2::SendRequest<Full<Bytes>>>>>,
}

impl Client {
    /// `identity` is a certificate and its key; all in PEM.
    pub fn new(
        address: SocketAddr,
        authority: &[u8],
        identity: Option<&(Vec<u8>, Vec<u8>)>,
        token: Option<&str>,
        http: Http,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority) {
            roots.add(certificate.expect("the authority is PEM")).expect("the authority can be used");
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("the default versions are supported").with_root_certificates(roots);
        let mut tls = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain =
                    CertificateDer::pem_slice_iter(certificate).map(|der| der.expect("PEM")).collect();
                let key = PrivateKeyDer::from_pem_slice(key).expect("the key is PEM");
                builder.with_client_auth_cert(chain, key).expect("the identity can be used")
            }
        };
        let protocol: &[u8] = if http == Http::Two { b"h2" } else { b"http/1.1" };
        tls.alpn_protocols = vec![protocol.to_vec()];
        Client {
            address,
            tls: Arc::new(tls),
            token: token.map(str::to_owned),
            http,
            connection: Arc::default(),
        }
    }

    /// The same client on a connection of its own.
    #[must_use]
    pub fn apart(&self) -> Self {
        Client { connection: Arc::default(), ..self.clone() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path, None, Bytes::new())).await
    }

    pub async fn create(&self, path: &str, object: &Value) -> Answer {
        self.send(self.json(Method::POST, path, object)).await
    }

    pub async fn update(&self, path: &str, object: &Value) -> Answer {
        self.send(self.json(Method::PUT, path, object)).await
    }

    pub async fn patch(&self, path: &str, content_type: &str, patch: &Value) -> Answer {
        let body = patch.to_string();
        self.send(self.request(Method::PATCH, path, Some(content_type), body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path, None, Bytes::new())).await
    }

    /// A request with a JSON body.
    pub fn json(&self, method: Method, path: &str, body: &Value) -> Request {
        self.request(method, path, Some("application/json"), body.to_string())
    }

    /// A request with the identity of this client, to be changed and sent.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: impl Into<Bytes>,
    ) -> Request {
        let mut builder =
            hyper::Request::builder().method(method).uri(format!("https://{}{path}", self.address));
        if self.http == Http::One {
            builder = builder.header("host", self.address.to_string());
        }
        if let Some(token) = &self.token {
            builder = builder.header("authorization", format!("Bearer {token}"));
        }
        if let Some(content_type) = content_type {
            builder = builder.header("content-type", content_type);
        }
        builder.body(Full::new(body.into())).unwrap_or_else(|error| panic!("{path} is no path: {error}"))
    }

    /// Sends a request that must be answered.
    pub async fn send(&self, request: Request) -> Answer {
        let what = format!("{} {}", request.method(), request.uri());
        self.try_send(request).await.unwrap_or_else(|Unanswered(why)| panic!("{what}: {why}"))
    }

    /// Sends a request that may find the server gone.
    pub async fn try_send(&self, request: Request) -> Result<Answer, Unanswered> {
        let response = self.respond(request).await?;
        let (parts, body) = response.into_parts();
        let body = soon("the body of an answer", body.collect()).await.map_err(unanswered)?;
        Ok(Answer { code: parts.status.as_u16(), headers: parts.headers, body: body.to_bytes() })
    }

    /// Starts a watch, which must be accepted. `path` has the query without `watch`.
    pub async fn watch(&self, path: &str) -> Watch {
        match self.try_watch(path).await {
            Ok(Ok(watch)) => watch,
            Ok(Err(answer)) => panic!("watch of {path}: {} {}", answer.code, answer.text()),
            Err(error) => panic!("watch of {path}: {error:?}"),
        }
    }

    /// Starts a watch, which the server may refuse, or not answer.
    pub async fn try_watch(&self, path: &str) -> Result<Result<Watch, Answer>, Unanswered> {
        let joint = if path.contains('?') { '&' } else { '?' };
        self.open_watch(self.request(Method::GET, &format!("{path}{joint}watch=true"), None, Bytes::new()))
            .await
    }

    /// Starts a watch with a request of one's own.
    pub async fn open_watch(&self, request: Request) -> Result<Result<Watch, Answer>, Unanswered> {
        let response = self.respond(request).await?;
        if response.status() == 200 {
            return Ok(Ok(Watch::new(response.into_body())));
        }
        let (parts, body) = response.into_parts();
        let body = soon("the body of an answer", body.collect()).await.map_err(unanswered)?;
        Ok(Err(Answer { code: parts.status.as_u16(), headers: parts.headers, body: body.to_bytes() }))
    }

    async fn respond(&self, mut request: Request) -> Result<Response<Incoming>, Unanswered> {
        match self.http {
            Http::One => {
                let path = request.uri().path_and_query().cloned();
                *request.uri_mut() = path.map(Into::into).unwrap_or_default();
                let stream = TokioIo::new(self.connect().await?);
                let (mut sender, connection) = http1::handshake(stream).await.map_err(unanswered)?;
                tokio::spawn(connection);
                soon("an answer", sender.send_request(request)).await.map_err(unanswered)
            }
            Http::Two => {
                let mut sender = self.sender().await?;
                soon("an answer", sender.send_request(request)).await.map_err(unanswered)
            }
        }
    }

    /// A handle on the one connection, which is made when there is none.
    async fn sender(&self) -> Result<http2::SendRequest<Full<Bytes>>, Unanswered> {
        let mut connection = self.connection.lock().await;
        if let Some(sender) = connection.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let stream = TokioIo::new(self.connect().await?);
        let (sender, driver) = http2::handshake(TokioExecutor::new(), stream).await.map_err(unanswered)?;
        tokio::spawn(driver);
        Ok(connection.insert(sender).clone())
    }

    /// A secured connection on which nothing has been said yet.
    pub async fn connect(&self) -> Result<TlsStream<TcpStream>, Unanswered> {
        let stream = TcpStream::connect(self.address).await.map_err(unanswered)?;
        let name = ServerName::IpAddress(self.address.ip().into());
        let handshake = TlsConnector::from(self.tls.clone()).connect(name, stream);
        soon("a TLS handshake", handshake).await.map_err(unanswered)
    }
}

fn unanswered(error: impl std::fmt::Display) -> Unanswered {
    Unanswered(error.to_string())
}

impl Answer {
    /// The body, which must be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body of an answer that must have this code.
    #[track_caller]
    pub fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text());
        self.json()
    }

    /// The code and message of a failure.
    pub fn failure(&self) -> (u16, String) {
        let status = self.json();
        assert_eq!(status["kind"], "Status", "{status}");
        assert_eq!(status["code"], self.code, "{status}");
        (self.code, status["message"].as_str().unwrap_or_default().to_owned())
    }

    /// A header as text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body without its gzip coding.
    pub fn unzipped(&self) -> Value {
        assert_eq!(self.header("content-encoding"), "gzip");
        serde_json::from_reader(flate2::read::GzDecoder::new(&*self.body)).expect("gzip around JSON")
    }
}
