//! From a socket to requests: accepting, TLS, HTTP/1.1 and HTTP/2, and an orderly end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::Server;
use crate::coalesce::Coalescing;
use crate::config::Config;
use crate::pipeline::{self, Peer};
use crate::pki::client_certs::{ClientRoots, PeerCertificate};

/// Bound: time for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A time that does not come.
const FAR_AWAY: Duration = Duration::from_hours(24 * 365);
/// Bound: time for the headers of an HTTP/1.1 request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(32);
/// Bound: bytes of the headers of a request.
const MAX_HEADER_BYTES: u32 = 1 << 20;
/// Bound: requests at once on one HTTP/2 connection, as in the reference.
const MAX_STREAMS: u32 = 250;
/// An idle HTTP/2 connection is asked whether it lives; one that does not answer is closed.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// Flow-control windows: large, since lists are, and peers are near.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// How much of an HTTP/2 answer is buffered before its stream waits.
const SEND_BUFFER: usize = 256 << 10;

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("the storage failed while starting")]
    Start(#[source] registry::Error),
}

/// A socket that is bound but not yet served from.
pub struct Bound {
    listener: TcpListener,
    pub address: SocketAddr,
}

/// Takes the address, so that a busy port is noticed before anything else happens.
pub async fn bind(address: SocketAddr) -> Result<Bound, ListenError> {
    let fail = |source| ListenError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    Ok(Bound { listener, address })
}

/// What connections are secured and judged with.
pub struct Security {
    pub tls: Arc<ServerConfig>,
    pub client_roots: ClientRoots,
}

impl Bound {
    /// Serves until `stop` resolves, then lets requests under way finish.
    ///
    /// `started` is called once requests are accepted and everything stored is served.
    pub async fn serve(
        self,
        server: Arc<Server>,
        config: &Config,
        security: Security,
        started: impl FnOnce(SocketAddr) + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ListenError> {
        let _ = server.address.set(self.address.to_string());
        let mut loops = JoinSet::new();
        crate::loops::start(&server, &mut loops).await.map_err(ListenError::Start)?;
        let shared = Arc::new(Shared {
            server: server.clone(),
            acceptor: TlsAcceptor::from(security.tls),
            client_roots: security.client_roots,
            places: Arc::new(Semaphore::new(config.max_connections)),
            http: http(),
            connections: AtomicU64::new(0),
        });
        let graceful = GracefulShutdown::new();
        let mut handshakes = JoinSet::new();
        started(self.address);
        tokio::pin!(stop);
        // Far away until somebody wants us to stop.
        let mut delay = std::pin::pin!(tokio::time::sleep(FAR_AWAY));
        let mut leaving = false;
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let watcher = graceful.watcher();
                        handshakes.spawn(serve_connection(shared.clone(), stream, watcher));
                    }
                    Err(error) => {
                        // Out of descriptors, most likely: give others time to close theirs.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = handshakes.join_next() => {}
                () = &mut stop, if !leaving => {
                    // Load balancers are told first, and meanwhile everything goes on.
                    leaving = true;
                    server.leaving.store(true, std::sync::atomic::Ordering::Release);
                    delay.set(tokio::time::sleep(config.shutdown_delay));
                }
                () = &mut delay, if leaving => break,
            }
        }
        drop(self.listener);
        server.stopping.send_replace(true);
        let ended = tokio::time::timeout(config.shutdown_grace, async {
            graceful.shutdown().await;
            while handshakes.join_next().await.is_some() {}
            while loops.join_next().await.is_some() {}
        });
        if ended.await.is_err() {
            tracing::warn!("some requests did not end in time and were cut off");
        }
        Ok(())
    }
}

/// What all connections share.
struct Shared {
    server: Arc<Server>,
    acceptor: TlsAcceptor,
    client_roots: ClientRoots,
    places: Arc<Semaphore>,
    http: auto::Builder<TokioExecutor>,
    /// How many there were.
    connections: AtomicU64,
}

fn http() -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES as usize)
        .keep_alive(true);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    http
}

async fn serve_connection(
    shared: Arc<Shared>,
    stream: TcpStream,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let Ok(_place) = shared.places.clone().try_acquire_owned() else {
        return; // closing it at once tells the peer more than letting it wait
    };
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, shared.acceptor.accept(stream));
    let stream = match handshake.await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            return;
        }
        Err(_) => return,
    };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certificate = PeerCertificate::judge(chain, &shared.client_roots, shared.server.env.now());
    let connection = shared.connections.fetch_add(1, Ordering::Relaxed);
    let peer = Arc::new(Peer { connection, certificate, session: parking_lot::Mutex::default() });
    let (server, known) = (shared.server.clone(), peer.clone());
    let service = service_fn(move |req| {
        let (server, peer) = (server.clone(), known.clone());
        // In a box: the connection moves it about before it is first polled.
        Box::pin(async move { Ok::<_, std::convert::Infallible>(pipeline::handle(server, peer, req).await) })
    });
    let stream = TokioIo::new(Coalescing::new(stream));
    let connection = shared.http.serve_connection_with_upgrades(stream, service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
    let session = peer.session.lock().take();
    if let Some(session) = session {
        session.run().await;
    }
}
