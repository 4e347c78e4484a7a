//! HTTP/2 over TLS with a bearer token, without checking who the server is.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A list of 10,000 objects should not wait for window updates.
const WINDOW_BYTES: u32 = 16 << 20;

/// Where the server is and how to talk to it.
pub(crate) struct Endpoint {
    authority: String,
    name: ServerName<'static>,
    token: String,
    tls: TlsConnector,
}

impl Endpoint {
    pub(crate) fn new(url: &str, token: &str) -> Result<Self> {
        let authority = url.strip_prefix("https://").context("--server must begin with https://")?;
        let (host, _) = authority.rsplit_once(':').context("--server must name a port")?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_string())?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let tls = TlsConnector::from(Arc::new(config));
        Ok(Self { authority: authority.into(), name, token: token.into(), tls })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let tcp = TcpStream::connect(&self.authority).await.context("cannot connect to --server")?;
        tcp.set_nodelay(true)?;
        let stream = self.tls.connect(self.name.clone(), tcp).await?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        tokio::task::spawn_local(connection);
        Ok(Connection {
            sender,
            authority: self.authority.clone(),
            authorization: format!("Bearer {}", self.token),
        })
    }
}

/// What to ask.
pub(crate) struct Request {
    method: Method,
    path: String,
    body: Bytes,
}

impl Request {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: Bytes::new() }
    }

    pub(crate) fn post(path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self { method: Method::POST, path: path.into(), body: body.into() }
    }
}

/// One connection; clones share it.
#[derive(Clone)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    authorization: String,
}

impl Connection {
    /// Sends a request and gives the answer as soon as its head is there.
    pub(crate) async fn open(&mut self, request: Request) -> Result<Response<Incoming>> {
        let built = hyper::Request::builder()
            .method(request.method)
            .uri(format!("https://{}{}", self.authority, request.path))
            .header("authorization", &self.authorization)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(Full::new(request.body))?;
        self.sender.ready().await?;
        Ok(self.sender.send_request(built).await?)
    }

    /// The status and the whole body.
    pub(crate) async fn call(&mut self, request: Request) -> Result<(StatusCode, Bytes)> {
        let response = self.open(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// The body of an answer that must be a success.
    pub(crate) async fn expect(&mut self, request: Request) -> Result<Bytes> {
        let what = format!("{} {}", request.method, request.path);
        let (status, body) = self.call(request).await?;
        if !status.is_success() {
            bail!("{what}: {status} {}", String::from_utf8_lossy(&body[..body.len().min(300)]));
        }
        Ok(body)
    }
}

/// Takes any certificate, but still sees to it that the server has its key.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
