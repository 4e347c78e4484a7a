//! What a server is told about how to behave; made by the binary from its flags.

use std::time::Duration;

use crate::webhook::ServiceMap;

/// The settings of a server. Every limit here has a name, and an honest error when it is reached.
#[derive(Clone, Debug)]
pub struct Config {
    /// A request that takes longer is answered with a timeout; watches have their own limits.
    pub request_timeout: Duration,
    /// Bound: requests that read, at once; 0: no limit.
    pub max_requests_inflight: usize,
    /// Bound: requests that write, at once; 0: no limit.
    pub max_mutating_requests_inflight: usize,
    /// Bound: bytes of a request's body.
    pub max_body_bytes: usize,
    /// Bound: open connections.
    pub max_connections: usize,
    /// How long a server that is to stop goes on serving, so that load balancers see that it is no longer ready.
    pub shutdown_delay: Duration,
    /// How long a stopping server waits for requests under way.
    pub shutdown_grace: Duration,
    pub event_ttl: Duration,
    /// Where services are that webhooks are reached by.
    pub services: ServiceMap,
    /// Who this server is among several on one store, unlike all others ever; `None`: the store is its own.
    pub replica: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            request_timeout: Duration::from_mins(1),
            max_requests_inflight: 400,
            max_mutating_requests_inflight: 200,
            max_body_bytes: 3 << 20,
            max_connections: 16_384,
            shutdown_delay: Duration::ZERO,
            shutdown_grace: Duration::from_secs(30),
            event_ttl: crate::catalog::builtin::EVENT_TTL,
            services: ServiceMap::default(),
            replica: None,
        }
    }
}
