//! The HTTP server: the pipeline, the catalog of served resources, the verbs, background loops.
//!
//! Only `listen`, `pipeline`, `respond`, `websocket` and `health` see HTTP types; the catalog, the verbs and the loops do
//! not, so that they can be tested without a socket.

mod binary;
mod bootstrap;
pub mod catalog;
mod coalesce;
mod conditions;
pub mod config;
mod documents;
pub mod env;
mod health;
mod limits;
mod listen;
mod loops;
mod metrics;
mod namespaces;
pub mod negotiate;
mod pipeline;
pub mod pki;
pub mod request;
mod respond;
pub mod verbs;
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
    pub(crate) leadership: loops::leader::Leadership,
    /// True once the server is shutting down: watches end, readiness is denied.
    pub(crate) stopping: watch::Sender<bool>,
    /// True once everything that start-up promises is there.
    pub(crate) ready: watch::Sender<bool>,
    pub(crate) address: std::sync::OnceLock<String>,
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
        let registry = Registry::start(store).await?;
        let builtins = catalog::builtin::resources(&registry, config.event_ttl);
        Ok(Arc::new(Server {
            catalog: ArcSwap::from_pointee(Catalog::of_builtins(builtins)),
            registry,
            env,
            authenticators,
            authorizer: Box::new(authz::standard(vec![Box::new(authz::bootstrap::rules())])),
            limits: limits::Limits::new(config),
            metrics: metrics::Metrics::new(),
            leadership: loops::leader::Leadership::new(config.replica.as_deref()),
            stopping: watch::Sender::new(false),
            ready: watch::Sender::new(false),
            address: std::sync::OnceLock::new(),
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
