//! How often conversion webhooks are called, how it went and how long it took, under the reference's names.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/conversion/metrics.go, v1.36.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 15] =
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
    failure_type: &'static str,
}

/// Shared by all converters.
#[derive(Clone)]
pub(crate) struct ConversionMetrics {
    calls: Family<Labels, Counter>,
    durations: Family<Labels, Histogram, fn() -> Histogram>,
}

impl ConversionMetrics {
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = ConversionMetrics {
            calls: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
        };
        registry.register(
            "apiserver_conversion_webhook_request",
            "Calls of conversion webhooks, by outcome",
            metrics.calls.clone(),
        );
        registry.register(
            "apiserver_conversion_webhook_duration_seconds",
            "Time that calls of conversion webhooks took, by outcome",
            metrics.durations.clone(),
        );
        metrics
    }

    /// One call; `failure` names what went wrong.
    pub(super) fn called(&self, failure: Option<&'static str>, took: Duration) {
        let result = if failure.is_none() { "success" } else { "failure" };
        let labels = Labels { result, failure_type: failure.unwrap_or("") };
        self.calls.get_or_create(&labels).inc();
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }
}
