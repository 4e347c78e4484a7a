//! Which of several replicas does the background work that only one must do.
//!
//! Replicas on one store agree through a Lease, as the controllers of the reference do: the holder renews it, the
//! others watch it and take it when it was released or has not been renewed for its duration. Durations are measured
//! on the monotonic clock of whoever waits, from the moment it saw the renewal, so that clocks of machines need not
//! agree and may jump. Taking and renewing are conditional writes: two cannot both succeed.
//!
//! A holder that could not renew in time stops working before the others may begin. A machine that was suspended in
//! between can still finish one write, which is conditional like all writes of the loops.
//!
//! A server that has its store for itself leads from the start, and no Lease is made.
//!
//! Upstream (the behaviour): client-go/tools/leaderelection, v0.36.

use std::sync::Arc;
use std::time::Duration;

use meta::{Map, Text, Value};
use registry::{Cache, NewObject, Object, Watcher};
use store::Revision;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{follow, tree};
use crate::Server;

/// Where replicas meet.
pub(crate) const LEASE_NAME: &str = "crest-controller";
const LEASE_NAMESPACE: &str = "kube-system";

/// After this long without a renewal the others may take over.
const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A holder that could not renew for this long stops leading.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often the holder renews, and how soon it tries again.
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// Bound: time to hand the lease back when stopping.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Whether this server leads, and who it is among the replicas.
pub(crate) struct Leadership {
    /// `None`: there are no others.
    identity: Option<Text>,
    leading: watch::Sender<bool>,
}

impl Leadership {
    pub(crate) fn new(identity: Option<&str>) -> Self {
        Leadership { identity: identity.map(Text::from), leading: watch::Sender::new(identity.is_none()) }
    }

    /// Whether there are other replicas to agree with.
    pub(crate) fn is_shared(&self) -> bool {
        self.identity.is_some()
    }

    pub(crate) fn is_leading(&self) -> bool {
        *self.leading.borrow()
    }

    /// Resolves once this server leads.
    pub(crate) async fn begun(&self) {
        let _ = self.leading.subscribe().wait_for(|leading| *leading).await; // the sender is ours
    }

    /// Resolves once this server no longer leads.
    pub(crate) async fn ended(&self) {
        let _ = self.leading.subscribe().wait_for(|leading| !*leading).await;
    }
}

/// Takes part in the election until the server stops.
pub(super) async fn run(server: Arc<Server>) -> Result<(), registry::Error> {
    let (Some(identity), Some(leases)) = (server.leadership.identity.clone(), leases(&server)) else {
        return Ok(());
    };
    loop {
        let (mut watcher, _) = follow(&server, &leases).await?;
        let mut candidate = Candidate {
            server: server.clone(),
            leases: leases.clone(),
            identity: identity.clone(),
            observed: None,
        };
        let held = candidate.wait_and_take(&mut watcher).await?;
        candidate.lead(held).await;
    }
}

fn leases(server: &Server) -> Option<Arc<Cache>> {
    let catalog = server.catalog.load();
    catalog.resource("coordination.k8s.io", "v1", "leases").map(|resource| resource.cache.clone())
}

/// Hands the lease to whoever is next, if this server has it. The loops have been stopped before.
pub(super) async fn release(server: &Server) {
    let (Some(identity), Some(leases)) = (&server.leadership.identity, leases(server)) else { return };
    let released = tokio::time::timeout(RELEASE_TIMEOUT, async {
        server.registry.fresh(&leases).await?;
        let Some(held) = leases.get(&lease_key()) else { return Ok(false) };
        let Some(mut value) = tree(&held).filter(|value| holder(value) == identity.as_str()) else {
            return Ok(false);
        };
        let spec = spec_mut(&mut value);
        spec.insert("holderIdentity", "");
        spec.insert("leaseDurationSeconds", 1_i64);
        let encoded = NewObject::from(registry::codec::encode(&value));
        server.registry.replace(&leases, &lease_key(), held.revision, encoded).await.map(|_| true)
    });
    match released.await {
        Ok(Ok(true)) => tracing::info!("the background work was handed over"),
        Ok(Ok(false)) => {}
        Ok(Err(_)) | Err(_) => {
            tracing::warn!("the lease could not be released; another replica takes over when it runs out");
        }
    }
}

struct Candidate {
    server: Arc<Server>,
    leases: Arc<Cache>,
    identity: Text,
    observed: Option<Observed>,
}

/// The lease as last seen, and since when it has been so.
struct Observed {
    revision: Revision,
    holder: Text,
    since: Instant,
}

impl Candidate {
    /// Waits until the lease is free, and takes it. Gives back the lease as it was written.
    async fn wait_and_take(&mut self, watcher: &mut Watcher) -> Result<Arc<Object>, registry::Error> {
        loop {
            let lease = self.leases.get(&lease_key());
            let free_at = lease.as_ref().map(|lease| self.observe(lease));
            let free = free_at.is_none_or(|free_at| free_at <= Instant::now());
            let taken = match lease {
                None => self.make().await?,
                Some(lease) if free => self.take(&lease).await?,
                Some(_) => None,
            };
            if let Some(taken) = taken {
                return Ok(taken);
            }
            // Who was faster is about to be seen.
            let patience = free_at.filter(|_| !free).unwrap_or_else(|| Instant::now() + LEASE_DURATION);
            tokio::select! {
                changed = changed(watcher) => changed?,
                () = tokio::time::sleep_until(patience) => {}
            }
        }
    }

    /// When the lease may be taken, as far as is known.
    fn observe(&mut self, lease: &Arc<Object>) -> Instant {
        let now = Instant::now();
        let value = tree(lease).unwrap_or_default();
        let holder = Text::from(holder(&value));
        let since = match &self.observed {
            Some(seen) if seen.revision == lease.revision => seen.since,
            _ => now,
        };
        let told = self.observed.take().is_some_and(|seen| seen.holder == holder);
        if !told && !holder.is_empty() && holder != self.identity {
            tracing::info!(%holder, "another replica does the background work");
        }
        // Ours means that we lost track of it while renewing.
        let free = holder.is_empty() || holder == self.identity;
        self.observed = Some(Observed { revision: lease.revision, holder, since });
        if free { now } else { since + duration(&value) }
    }

    /// Makes the first lease. `None`: somebody was faster.
    async fn make(&self) -> Result<Option<Arc<Object>>, registry::Error> {
        let mut metadata = Map::new();
        metadata.insert("name", LEASE_NAME);
        metadata.insert("namespace", LEASE_NAMESPACE);
        metadata.insert("uid", self.server.env.uid());
        metadata.insert("creationTimestamp", meta::time::format(self.server.env.now()));
        let mut lease = Map::new();
        lease.insert("apiVersion", "coordination.k8s.io/v1");
        lease.insert("kind", "Lease");
        lease.insert("metadata", metadata);
        lease.insert("spec", Map::new());
        let mut lease = Value::Object(lease);
        self.claim(&mut lease, 0);
        let encoded = NewObject::from(registry::codec::encode(&lease));
        match self.server.registry.create(&self.leases, &lease_key(), encoded).await {
            Ok(made) => Ok(Some(made)),
            Err(registry::Error::AlreadyExists) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a free lease. `None`: somebody was faster.
    async fn take(&self, lease: &Object) -> Result<Option<Arc<Object>>, registry::Error> {
        let mut value = tree(lease).unwrap_or_default();
        let transitions = value.at(&["spec", "leaseTransitions"]).and_then(Value::as_int).unwrap_or_default();
        self.claim(&mut value, transitions.saturating_add(1));
        let encoded = NewObject::from(registry::codec::encode(&value));
        match self.server.registry.replace(&self.leases, &lease_key(), lease.revision, encoded).await {
            Ok(taken) => Ok(Some(taken)),
            Err(registry::Error::Conflict(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes ourselves into a lease.
    fn claim(&self, lease: &mut Value, transitions: i64) {
        let now = meta::time::format_micro(self.server.env.now());
        let spec = spec_mut(lease);
        spec.insert("holderIdentity", self.identity.as_str());
        spec.insert("leaseDurationSeconds", i64::try_from(LEASE_DURATION.as_secs()).unwrap_or(i64::MAX));
        spec.insert("acquireTime", now.clone());
        spec.insert("renewTime", now);
        spec.insert("leaseTransitions", transitions);
    }

    /// Leads until the lease is lost.
    async fn lead(&self, mut held: Arc<Object>) {
        tracing::info!(identity = %self.identity, "this replica does the background work");
        let _leading = Leading::begin(&self.server);
        let mut renewed = Instant::now();
        loop {
            let deadline = renewed + RENEW_DEADLINE;
            tokio::time::sleep_until(deadline.min(Instant::now() + RENEW_INTERVAL)).await;
            // Before the attempt: others count from when they see the renewal, which is later.
            let began = Instant::now();
            match tokio::time::timeout_at(deadline, self.renew(&held)).await {
                Ok(Ok(Some(newer))) => (held, renewed) = (newer, began),
                Ok(Err(error)) if began < deadline => {
                    tracing::warn!(%error, "the lease could not be renewed; trying again");
                }
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        tracing::warn!("this replica no longer does the background work: its lease was lost");
    }

    /// Renews a lease that we hold. `None`: it is another's.
    async fn renew(&self, held: &Object) -> Result<Option<Arc<Object>>, registry::Error> {
        let mut value = tree(held).unwrap_or_default();
        spec_mut(&mut value).insert("renewTime", meta::time::format_micro(self.server.env.now()));
        let encoded = NewObject::from(registry::codec::encode(&value));
        match self.server.registry.replace(&self.leases, &lease_key(), held.revision, encoded).await {
            Ok(newer) => Ok(Some(newer)),
            // A renewal that we never heard of, or a change to other parts of the lease.
            Err(registry::Error::Conflict(Some(current))) => {
                let ours = tree(&current).is_some_and(|value| holder(&value) == self.identity.as_str());
                Ok(ours.then_some(current))
            }
            Err(registry::Error::Conflict(None)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Leads until it is dropped, by a panic too.
struct Leading<'a>(&'a Server);

impl<'a> Leading<'a> {
    fn begin(server: &'a Server) -> Self {
        server.leadership.leading.send_replace(true);
        Leading(server)
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        self.0.leadership.leading.send_replace(false);
    }
}

/// Resolves when our lease, of all leases, has changed.
async fn changed(watcher: &mut Watcher) -> Result<(), registry::Error> {
    loop {
        let events = watcher.next().await?;
        if events.iter().any(|event| is_ours(&event.object)) {
            return Ok(());
        }
    }
}

fn is_ours(object: &Object) -> bool {
    object.name() == LEASE_NAME && object.namespace() == LEASE_NAMESPACE
}

fn lease_key() -> Text {
    registry::join_key(LEASE_NAMESPACE, LEASE_NAME)
}

fn holder(lease: &Value) -> &str {
    lease.at(&["spec", "holderIdentity"]).and_then(Value::as_str).unwrap_or_default()
}

/// How long the holder promised to renew within. Bound: a lease that says nonsense is held no longer than ours.
fn duration(lease: &Value) -> Duration {
    let seconds = lease.at(&["spec", "leaseDurationSeconds"]).and_then(Value::as_int);
    seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(LEASE_DURATION, Duration::from_secs)
        .min(LEASE_DURATION)
}

fn spec_mut(lease: &mut Value) -> &mut Map {
    if !matches!(lease, Value::Object(_)) {
        *lease = Value::Object(Map::new());
    }
    let Value::Object(members) = lease else { unreachable!("made an object above") };
    let spec = members.get_or_insert_with("spec", || Value::Object(Map::new()));
    if !matches!(spec, Value::Object(_)) {
        *spec = Value::Object(Map::new());
    }
    let Value::Object(spec) = spec else { unreachable!("made an object above") };
    spec
}

#[cfg(test)]
mod tests;
