//! One connection to one member of the cluster, and another one when it breaks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    client::conn::http2::{Builder, SendRequest},
    header::HeaderValue,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{Mutex, mpsc},
};
use tokio_rustls::TlsConnector;

use super::{
    endpoint::{Access, Endpoint},
    grpc::{self, Answer, Failure, Outgoing, Target, code},
    proto,
};

/// Bound: how long a member may take to be connected to and to say its version.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Pings while something is under way. etcd closes connections that ask more often than every five seconds.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Bound: unread bytes of one stream.
const STREAM_WINDOW: u32 = 1 << 20;
/// Bound: unread bytes of one connection: so many that a thousand watches which nobody reads stop no other stream.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// Requests over one connection at a time, to whichever member answers.
pub(super) struct Link {
    access: Access,
    endpoints: Vec<Endpoint>,
    /// The endpoint to try first when there is no connection.
    next: AtomicUsize,
    live: Mutex<Option<Arc<Live>>>,
}

/// A connection to a member that has answered on it.
pub(super) struct Live {
    sender: SendRequest<Outgoing>,
    endpoint: usize,
    base: String,
    token: Option<HeaderValue>,
    pub(super) version: Version,
}

/// The version of a member; 0.0.0 when it does not tell.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u32, u32, u32);

impl Version {
    fn parse(text: &str) -> Self {
        let text = text.split(['-', '+']).next().unwrap_or_default();
        let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
        let mut part = || parts.next().unwrap_or(0);
        Version(part(), part(), part())
    }

    /// Whether progress that was asked for never overtakes the events before it: etcd issues 15220 and 17507.
    pub(super) fn tells_progress_in_order(self) -> bool {
        match self {
            Version(3, 4, patch) => patch >= 31,
            Version(3, 5, patch) => patch >= 13,
            version => version >= Version(3, 6, 0),
        }
    }
}

impl Link {
    /// `first` is the endpoint to begin with: replicas that begin with different ones share the load.
    pub(super) fn new(access: Access, endpoints: Vec<Endpoint>, first: usize) -> Self {
        Link { access, endpoints, next: AtomicUsize::new(first), live: Mutex::new(None) }
    }

    /// The connection there is, or a new one to the first member that answers.
    pub(super) async fn live(&self) -> Result<Arc<Live>, Failure> {
        // Held while connecting: whoever else needs a connection waits for the same one.
        let mut current = self.live.lock().await;
        if let Some(live) = current.as_ref().filter(|live| !live.sender.is_closed()) {
            return Ok(live.clone());
        }
        *current = None;
        let live = Box::pin(self.connect_to_any()).await?;
        Ok(current.insert(Arc::new(live)).clone())
    }

    async fn connect_to_any(&self) -> Result<Live, Failure> {
        let first = self.next.load(Ordering::Relaxed);
        let mut failure = Failure::NotSent("no endpoint".to_owned());
        for offset in 0..self.endpoints.len() {
            let number = (first + offset) % self.endpoints.len();
            let connecting = tokio::time::timeout(CONNECT_TIMEOUT, self.connect(number));
            match connecting.await.unwrap_or(Err(Failure::TimedOut)) {
                Ok(live) => {
                    self.next.store(number, Ordering::Relaxed);
                    tracing::debug!(endpoint = live.base, version = ?live.version, "connected to etcd");
                    return Ok(live);
                }
                Err(error) => {
                    let endpoint = &self.endpoints[number].base;
                    tracing::debug!(endpoint, %error, "this member of etcd cannot be used");
                    failure = error;
                }
            }
        }
        // Nothing but the questions of `connect` was ever sent.
        Err(match failure {
            // A user that etcd does not know stays unknown.
            Failure::Status { code: code::INVALID_ARGUMENT | code::UNAUTHENTICATED, .. }
            | Failure::NotSent(_) => failure,
            other => Failure::NotSent(other.to_string()),
        })
    }

    /// Drops a connection that failed, so that the next request goes to another member.
    pub(super) async fn give_up(&self, broken: &Arc<Live>) {
        let mut current = self.live.lock().await;
        if current.as_ref().is_some_and(|live| Arc::ptr_eq(live, broken)) {
            *current = None;
            self.next.store((broken.endpoint + 1) % self.endpoints.len(), Ordering::Relaxed);
            tracing::info!(endpoint = broken.base, "etcd: trying another member");
        }
    }

    /// Drops a connection whose token is no longer good; the same member is asked for a new one.
    pub(super) async fn log_in_again(&self, live: &Arc<Live>) {
        let mut current = self.live.lock().await;
        if current.as_ref().is_some_and(|other| Arc::ptr_eq(other, live)) {
            *current = None;
        }
    }

    async fn connect(&self, number: usize) -> Result<Live, Failure> {
        let endpoint = &self.endpoints[number];
        let not_sent = |error: &dyn std::fmt::Display| {
            Failure::NotSent(format!("connection error: {}: {error}", endpoint.address))
        };
        let stream = TcpStream::connect(&endpoint.address).await.map_err(|error| not_sent(&error))?;
        stream.set_nodelay(true).map_err(|error| not_sent(&error))?;
        let sender = match &endpoint.tls_name {
            None => handshake(stream).await?,
            Some(name) => {
                let config = self.access.tls().map_err(|error| not_sent(&error))?;
                let secured = TlsConnector::from(config).connect(name.clone(), stream).await;
                handshake(secured.map_err(|error| not_sent(&error))?).await?
            }
        };
        let mut live = Live {
            sender,
            endpoint: number,
            base: endpoint.base.clone(),
            token: None,
            version: Version::default(),
        };
        live.token = self.log_in(&live).await?;
        let status: proto::StatusResponse =
            live.call("etcdserverpb.Maintenance/Status", &proto::StatusRequest {}, CONNECT_TIMEOUT).await?;
        live.version = Version::parse(&status.version);
        Ok(live)
    }

    async fn log_in(&self, live: &Live) -> Result<Option<HeaderValue>, Failure> {
        let Some(user) = &self.access.user else { return Ok(None) };
        let request = proto::AuthenticateRequest { name: user.name.clone(), password: user.password.clone() };
        let answer: Result<proto::AuthenticateResponse, _> =
            live.call("etcdserverpb.Auth/Authenticate", &request, CONNECT_TIMEOUT).await;
        match answer {
            Ok(answer) => {
                let mut token = HeaderValue::from_str(&answer.token)
                    .map_err(|_| Failure::Broken("the token is no text".to_owned()))?;
                token.set_sensitive(true);
                Ok(Some(token))
            }
            // etcd's users are not in force.
            Err(Failure::Status { code: code::FAILED_PRECONDITION, .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

impl Live {
    fn target(&self) -> Target<'_> {
        Target { base: &self.base, token: self.token.as_ref() }
    }

    pub(super) async fn call<A: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        patience: Duration,
    ) -> Result<A, Failure> {
        self.send(method, grpc::frame(request), patience).await
    }

    /// As [`Live::call`], with a message that is encoded already.
    pub(super) async fn send<A: Message + Default>(
        &self,
        method: &str,
        message: Bytes,
        patience: Duration,
    ) -> Result<A, Failure> {
        grpc::unary(&mut self.sender.clone(), &self.target(), method, message, patience).await
    }

    pub(super) async fn stream(
        &self,
        method: &str,
        first: &impl Message,
        patience: Duration,
    ) -> Result<(mpsc::Sender<Bytes>, Answer), Failure> {
        grpc::stream(&mut self.sender.clone(), &self.target(), method, grpc::frame(first), patience).await
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Outgoing>, Failure> {
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Failure::NotSent(error.to_string()))?;
    // Ends when the connection does; those who wait on it are told by their own futures.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to etcd ended");
        }
    });
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_what_they_can_do() {
        let reliable = |text: &str| Version::parse(text).tells_progress_in_order();
        for old in ["", "3.3.27", "3.4.30", "3.5.1", "3.5.12", "junk"] {
            assert!(!reliable(old), "{old}");
        }
        for new in ["3.4.31", "3.5.13", "3.5.13-rc.1+git", "3.6.0", "3.7.0-alpha.0", "4.0.0"] {
            assert!(reliable(new), "{new}");
        }
    }
}
