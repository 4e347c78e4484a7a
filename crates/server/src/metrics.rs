//! What the server counts, under the reference's names where it has one.
//!
//! Labels are bounded: a request counts under a resource only after the catalog has found it, so that no
//! client can make the server remember what it invents.
//!
//! Upstream: apiserver/pkg/endpoints/metrics/metrics.go, v1.36.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use meta::Text;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::Server;
use crate::conversion::ConversionMetrics;

/// The upper ends of the buckets of request durations, in seconds.
const DURATION_BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];

/// What a request was about, as far as it may become a label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub verb: &'static str,
    pub group: Text,
    pub version: Text,
    pub resource: Text,
    pub subresource: Text,
    pub scope: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    group: Label,
    version: Label,
    resource: Label,
    subresource: Label,
    scope: &'static str,
    component: &'static str,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    verb: &'static str,
    group: Label,
    version: Label,
    resource: Label,
    subresource: Label,
    scope: &'static str,
    component: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NameLabel {
    name: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    request_kind: &'static str,
}

/// A text that needs no allocation when it is short.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Label(Text);

impl EncodeLabelValue for Label {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.0.as_str().encode(encoder)
    }
}

pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram, fn() -> Histogram>,
    in_flight: Family<KindLabel, Gauge>,
    watches: Gauge,
    pub(crate) conversions: ConversionMetrics,
    unauthorized: Counter,
    panics: Counter,
    leading: Family<NameLabel, Gauge>,
    store_revision: Gauge<u64, AtomicU64>,
    store_commits: Gauge<u64, AtomicU64>,
    store_syncs: Gauge<u64, AtomicU64>,
    store_bytes: Gauge<u64, AtomicU64>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let metrics = Metrics {
            conversions: ConversionMetrics::register(&mut registry),
            registry,
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            in_flight: Family::default(),
            watches: Gauge::default(),
            unauthorized: Counter::default(),
            panics: Counter::default(),
            leading: Family::default(),
            store_revision: Gauge::default(),
            store_commits: Gauge::default(),
            store_syncs: Gauge::default(),
            store_bytes: Gauge::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register(
            "apiserver_request",
            "Counter of apiserver requests broken out for each verb, group, version, resource, scope, component and HTTP response code",
            self.requests.clone(),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Response latency distribution in seconds for each verb, group, version, resource, subresource, scope and component",
            self.durations.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Number of requests currently under way, by kind",
            self.in_flight.clone(),
        );
        registry.register("apiserver_longrunning_requests", "Open watches", self.watches.clone());
        registry.register(
            "crest_unauthorized_requests",
            "Requests whose credentials nobody accepted",
            self.unauthorized.clone(),
        );
        registry.register(
            "crest_request_panics",
            "Requests that failed by a bug of the server",
            self.panics.clone(),
        );
        registry.register(
            "leader_election_master_status",
            "Whether this replica does the background work of all, by the name of the lease",
            self.leading.clone(),
        );
        registry.register(
            "crest_store_revision",
            "The newest revision of the store",
            self.store_revision.clone(),
        );
        registry.register(
            "crest_store_commits",
            "Transactions committed since the start",
            self.store_commits.clone(),
        );
        registry.register("crest_store_syncs", "Syncs to disk since the start", self.store_syncs.clone());
        registry.register("crest_store_size_bytes", "Size of the store on disk", self.store_bytes.clone());
        self
    }

    /// A request has begun. The guard tells when it is over.
    pub(crate) fn request_started(&self, reads: bool) -> InFlight {
        let request_kind = if reads { "readOnly" } else { "mutating" };
        let gauge = self.in_flight.get_or_create_owned(&KindLabel { request_kind });
        gauge.inc();
        InFlight(gauge)
    }

    pub(crate) fn request_served(&self, subject: &Subject, code: u16, elapsed: Duration) {
        let label = |text: &Text| Label(text.clone());
        let verb = reported_verb(subject.verb);
        let durations = DurationLabels {
            verb,
            group: label(&subject.group),
            version: label(&subject.version),
            resource: label(&subject.resource),
            subresource: label(&subject.subresource),
            scope: subject.scope,
            component: "apiserver",
        };
        let requests = RequestLabels {
            verb,
            group: durations.group.clone(),
            version: durations.version.clone(),
            resource: durations.resource.clone(),
            subresource: durations.subresource.clone(),
            scope: subject.scope,
            component: "apiserver",
            code,
        };
        self.requests.get_or_create(&requests).inc();
        if subject.verb != "watch" {
            self.durations.get_or_create(&durations).observe(elapsed.as_secs_f64());
        }
    }

    /// A watch has been opened. The guard tells when it is closed.
    pub(crate) fn watch_opened(&self) -> InFlight {
        self.watches.inc();
        InFlight(self.watches.clone())
    }

    pub(crate) fn unauthorized(&self) {
        self.unauthorized.inc();
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }

    /// Everything counted, as Prometheus reads it.
    pub(crate) fn exposition(&self, server: &Server) -> String {
        let stats = server.registry.store().stats();
        let name = crate::loops::leader::LEASE_NAME;
        self.leading.get_or_create(&NameLabel { name }).set(server.leadership.is_leading().into());
        self.store_revision.set(server.registry.applied().0);
        self.store_commits.set(stats.commits);
        self.store_syncs.set(stats.syncs);
        self.store_bytes.set(stats.disk_bytes);
        let mut text = String::new();
        let _ = text::encode(&mut text, &self.registry); // writing to a string does not fail
        text
    }
}

/// Counts something that is under way until it is dropped.
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Verbs as the reference reports them.
fn reported_verb(verb: &str) -> &'static str {
    match verb {
        "get" => "GET",
        "list" => "LIST",
        "watch" => "WATCH",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        "deletecollection" => "DELETECOLLECTION",
        _ => "other",
    }
}
