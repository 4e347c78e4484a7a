//! A connection to a webhook: found, dialled and secured. What goes wrong is said in Go's words.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service as Connects;

use super::config::{ClientConfig, ConfigError, Target};
use super::services::Services;
use super::tls;

/// Why there is no connection, as the reference tells it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ConnectError(pub(super) String);

/// Makes connections to one webhook.
#[derive(Clone)]
pub(super) struct Connector {
    target: Arc<Target>,
    services: Arc<Services>,
    tls: TlsConnector,
}

impl Connector {
    pub(super) fn new(config: &ClientConfig, services: Arc<Services>) -> Result<Self, ConfigError> {
        let tls = TlsConnector::from(tls::client_config(config)?);
        Ok(Connector { target: Arc::new(config.target.clone()), services, tls })
    }

    async fn connect(self) -> Result<Secured, ConnectError> {
        let stream = match &*self.target {
            Target::Url { .. } => dial(&self.target.server_name(), self.target.port()).await?,
            Target::Service { service, .. } => {
                let place =
                    self.services.resolve(service).await.map_err(|error| ConnectError(error.to_string()))?;
                dial(&place.host, place.port).await?
            }
        };
        let _ = stream.set_nodelay(true); // a matter of speed only
        let name = self.target.server_name();
        let server_name = ServerName::try_from(name.clone())
            .map_err(|_| ConnectError(format!("tls: {name} is no name of a server")))?;
        let stream = self.tls.connect(server_name, stream).await;
        let stream = stream.map_err(|error| ConnectError(handshake_text(&error, &name)))?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let ends =
            stream.get_ref().0.local_addr().and_then(|near| Ok((near, stream.get_ref().0.peer_addr()?)));
        Ok(Secured { stream: TokioIo::new(stream), http2, ends: ends.ok() })
    }
}

impl Connects<Uri> for Connector {
    type Response = Secured;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Secured, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}

/// A connection over TLS.
pub(super) struct Secured {
    stream: TokioIo<TlsStream<TcpStream>>,
    http2: bool,
    /// Our end and the other one.
    ends: Option<(SocketAddr, SocketAddr)>,
}

impl Secured {
    /// A failure of the connection with both its ends, as Go tells it.
    fn failed(&self, doing: &str, error: io::Error) -> io::Error {
        let told = matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
        match self.ends {
            Some((near, far)) if told => {
                let text = format!("{doing} tcp {near}->{far}: {doing}: {}", io_text(&error));
                io::Error::new(error.kind(), ConnectError(text))
            }
            _ => error,
        }
    }
}

impl Connection for Secured {
    fn connected(&self) -> Connected {
        if self.http2 { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer).map_err(|error| self.failed("read", error))
    }
}

impl Write for Secured {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes).map_err(|error| self.failed("write", error))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Tries every address of a host, one after the other.
async fn dial(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let no_such_host = || ConnectError(format!("dial tcp: lookup {host}: no such host"));
    let addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| no_such_host())?;
    let mut failure = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = failure.or(Some(dial_text(address, &error))),
        }
    }
    Err(failure.map_or_else(no_such_host, ConnectError))
}

fn dial_text(address: SocketAddr, error: &io::Error) -> String {
    format!("dial tcp {address}: connect: {}", io_text(error))
}

/// A failure of the network as Go prints its number.
pub(super) fn io_text(error: &io::Error) -> String {
    if let Some(ConnectError(text)) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
        return text.clone();
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
        io::ErrorKind::BrokenPipe => "broken pipe".to_owned(),
        io::ErrorKind::TimedOut => "connection timed out".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
        io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

fn handshake_text(error: &io::Error, server_name: &str) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => tls::failure_text(error, server_name),
        None => io_text(error),
    }
}
