//! The HTTP server: the pipeline, the catalog of served resources, the verbs, background loops.
//!
//! Only `listen`, `pipeline`, `respond`, `websocket` and `health` see HTTP types; the catalog, the verbs and the loops do
//! not, so that they can be tested without a socket.

#![recursion_limit = "256"] // the types of the HTTP client that calls webhooks are nested deeply

mod binary;
mod bootstrap;
pub mod catalog;
mod coalesce;
mod conditions;
pub mod config;
pub mod conversion;
mod documents;
pub mod env;
mod health;
mod limits;
mod listen;
mod loops;
mod metrics;
mod metrics_text;
mod namespaces;
pub mod negotiate;
mod pipeline;
pub mod pki;
pub mod request;
mod respond;
mod settled;
pub mod verbs;
pub mod webhook;
mod websocket;

use std::sync::Arc;

use arc_swap::ArcSwap;
use auth::Permitted;
use auth::authz;
use meta::status::Status;
use registry::Registry;
use tokio::sync::watch;

pub use config::Config;
pub use env::{Env, SharedEnv, SystemEnv};
pub use listen::{Bound, ListenError, Security, bind};
pub use registry::KEY_ROOT;

use catalog::Catalog;
use verbs::Call;

/// A control plane that is being served.
pub struct Server {
    pub(crate) registry: Arc<Registry>,
    pub(crate) catalog: ArcSwap<Catalog>,
    pub(crate) env: SharedEnv,
    pub(crate) authenticators: auth::authn::Authenticator,
    pub(crate) authorizer: Box<dyn auth::Authorizer>,
    pub(crate) limits: limits::Limits,
    pub(crate) metrics: metrics::Metrics,
    /// How custom resources are converted between versions.
    pub(crate) conversion: conversion::Tools,
    pub(crate) leadership: loops::leader::Leadership,
    /// True once the server is shutting down: watches end.
    pub(crate) stopping: watch::Sender<bool>,
    /// True once somebody wants it to stop, which it may put off: readiness is denied, all else goes on.
    pub(crate) leaving: std::sync::atomic::AtomicBool,
    /// True once everything that start-up promises is there.
    pub(crate) ready: watch::Sender<bool>,
    pub(crate) address: std::sync::OnceLock<String>,
    pub(crate) settled: settled::Settled,
    /// What the loops wait for finalizers of, so that each is waited for once.
    pub(crate) held: parking_lot::Mutex<std::collections::HashSet<String>>,
}

impl Server {
    /// Puts a control plane together on a store. Nothing is served before [`Bound::serve`].
    pub async fn new(
        store: Arc<dyn store::Store>,
        config: &Config,
        authenticators: auth::authn::Authenticator,
        env: SharedEnv,
    ) -> Result<Arc<Self>, registry::Error> {
        let registry = Registry::start_reading(store, binary::stored_by_others).await?;
        let catalog = Catalog::of_builtins(catalog::builtin::resources(&registry, config.event_ttl));
        let metrics = metrics::Metrics::new();
        let cache = |group, plural| catalog.resource(group, "v1", plural).map(|found| found.cache.clone());
        let services = webhook::Services {
            map: config.services.clone(),
            registry: registry.clone(),
            objects: cache("", "services"),
            slices: cache("discovery.k8s.io", "endpointslices"),
        };
        let conversion = conversion::Tools {
            webhooks: Arc::new(webhook::Webhooks::new(services)),
            env: env.clone(),
            metrics: metrics.conversions.clone(),
        };
        Ok(Arc::new(Server {
            catalog: ArcSwap::from_pointee(catalog),
            registry,
            env,
            authenticators,
            authorizer: Box::new(authz::standard(vec![Box::new(authz::bootstrap::rules())])),
            limits: limits::Limits::new(config),
            metrics,
            conversion,
            leadership: loops::leader::Leadership::new(config.replica.as_deref()),
            stopping: watch::Sender::new(false),
            leaving: std::sync::atomic::AtomicBool::new(false),
            ready: watch::Sender::new(false),
            address: std::sync::OnceLock::new(),
            settled: settled::Settled::new(),
            held: parking_lot::Mutex::default(),
        }))
    }

    /// An update that would create the object needs the right to create it too.
    pub(crate) async fn may_also_create(&self, call: &Call) -> Result<(), Status> {
        let mut attributes = call.permitted.attributes().clone();
        attributes.verb = "create".into();
        self.permit(attributes).await.map(drop)
    }

    /// Asks the authorizer.
    pub(crate) async fn permit(&self, attributes: auth::Attributes) -> Result<Permitted, Status> {
        authz::permit(&*self.authorizer, attributes).await.map_err(|refusal| pipeline::refused(&refusal))
    }
}
