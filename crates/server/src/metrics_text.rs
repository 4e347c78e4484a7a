//! The text format of Prometheus, made of that of `OpenMetrics`, for everybody who does not ask for the latter.
//!
//! They differ in the names of counters, in units, in the mark of the end, and in that metrics are sorted here.

use std::collections::BTreeMap;
use std::fmt::Write;

/// What the reference calls its format.
pub(crate) const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One metric with all its lines.
#[derive(Default)]
struct Metric<'a> {
    help: &'a str,
    kind: &'a str,
    samples: Vec<&'a str>,
}

/// Translates a text of `OpenMetrics`.
pub(crate) fn prometheus(open_metrics: &str) -> String {
    let mut metrics: BTreeMap<&str, Metric<'_>> = BTreeMap::new();
    let mut current = "";
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), help) => {
                current = name;
                metrics.entry(name).or_default().help = help.unwrap_or_default();
            }
            (Some("#"), Some("TYPE"), Some(name), kind) => {
                current = name;
                metrics.entry(name).or_default().kind = kind.unwrap_or_default();
            }
            (Some("#"), ..) => {} // the unit, or the end
            _ => metrics.entry(current).or_default().samples.push(line),
        }
    }
    let mut text = String::with_capacity(open_metrics.len());
    for (name, metric) in metrics {
        let suffix = if metric.kind == "counter" { "_total" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name}{suffix} {}", metric.help);
        let _ = writeln!(text, "# TYPE {name}{suffix} {}", metric.kind);
        for sample in metric.samples {
            let _ = writeln!(text, "{sample}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_named_as_their_samples_and_metrics_are_sorted() {
        let open = "# HELP b Things so far.\n# TYPE b counter\nb_total{x=\"y z\"} 3\n# HELP a_seconds Time.\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\na_seconds_sum 0.5\na_seconds_bucket{le=\"+Inf\"} 1\n# EOF\n";
        let expected = "# HELP a_seconds Time.\n# TYPE a_seconds histogram\na_seconds_sum 0.5\na_seconds_bucket{le=\"+Inf\"} 1\n# HELP b_total Things so far.\n# TYPE b_total counter\nb_total{x=\"y z\"} 3\n";
        assert_eq!(prometheus(open), expected);
    }
}
