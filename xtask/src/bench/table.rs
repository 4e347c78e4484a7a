//! The table of goals: what a piece of work costs the reference, what it may cost Crest, and what it does cost.

use serde_json::Value;

use super::Results;

/// A number of a result line.
#[derive(Clone, Copy)]
enum Metric {
    /// The number at a path.
    At(&'static [&'static str]),
    /// The CPU time of all server processes per operation.
    Cpu,
    /// Growth of resident memory over the run, per operation, in KB.
    MemoryPerOperation,
    /// Events that a watcher did not get once and in order.
    WatchFaults,
}

/// What a number should be.
#[derive(Clone, Copy)]
enum Goal {
    AtMost(f64),
    /// So many times the reference, in work done per second.
    TimesReference(f64),
    /// So many times the encoded size of an object.
    TimesEncoded(f64),
    None,
}

struct Row {
    work: &'static str,
    case: &'static str,
    metric: Metric,
    unit: &'static str,
    /// From the unit of the result line to the unit of the row.
    scale: f64,
    /// In the unit of the row; for when there is no baseline at hand.
    reference: f64,
    goal: Goal,
}

const MS_PER_S: f64 = 1e3;
const MS_PER_US: f64 = 1e-3;

const fn cpu(work: &'static str, case: &'static str, reference: f64, goal: f64) -> Row {
    Row { work, case, metric: Metric::Cpu, unit: "ms", scale: MS_PER_US, reference, goal: Goal::AtMost(goal) }
}

/// A cost for which there is no goal of its own.
const fn cost(work: &'static str, case: &'static str, reference: f64) -> Row {
    Row { work, case, metric: Metric::Cpu, unit: "ms", scale: MS_PER_US, reference, goal: Goal::None }
}

const fn events(work: &'static str, case: &'static str, reference: f64, goal: Goal) -> Row {
    Row { work, case, metric: Metric::Cpu, unit: "µs", scale: 1.0, reference, goal }
}

const fn rate(work: &'static str, case: &'static str, reference: f64, goal: Goal) -> Row {
    Row { work, case, metric: Metric::At(&["ops_per_s"]), unit: "/s", scale: 1.0, reference, goal }
}

const ROWS: [Row; 31] = [
    Row {
        work: "start to first object",
        case: "start",
        metric: Metric::At(&["first_object_s"]),
        unit: "ms",
        scale: MS_PER_S,
        reference: 5_200.0,
        goal: Goal::AtMost(100.0),
    },
    Row {
        work: "start to first object, CPU",
        case: "start",
        metric: Metric::At(&["first_object_cpu_s"]),
        unit: "ms",
        scale: MS_PER_S,
        reference: 1_900.0,
        goal: Goal::AtMost(30.0),
    },
    Row {
        work: "resident memory, idle",
        case: "idle",
        metric: Metric::At(&["rss_mb"]),
        unit: "MB",
        scale: 1.0,
        reference: 306.0,
        goal: Goal::AtMost(25.0),
    },
    Row {
        work: "memory per CRD",
        case: "crds/generated/n100",
        metric: Metric::At(&["rss_kb_per_crd"]),
        unit: "KB",
        scale: 1.0,
        reference: 5_460.0,
        goal: Goal::AtMost(60.0),
    },
    cpu("CRD created and served, CPU", "crds/generated/n100", 69.0, 2.0),
    Row {
        work: "CRD created and served, p50",
        case: "crds/generated/n100",
        metric: Metric::At(&["served_lat_us", "p50"]),
        unit: "ms",
        scale: MS_PER_US,
        reference: 302.0,
        goal: Goal::AtMost(5.0),
    },
    Row {
        work: "memory per object",
        case: "create/c16",
        metric: Metric::MemoryPerOperation,
        unit: "KB",
        scale: 1.0,
        reference: 84.0,
        goal: Goal::TimesEncoded(1.4),
    },
    cpu("create, 1 writer, CPU", "create/c1", 5.9, 0.17),
    cpu("create, 16 writers, CPU", "create/c16", 4.7, 0.17),
    cpu("create, 64 writers, CPU", "create/c64", 4.4, 0.17),
    rate("create, 1 writer", "create/c1", 267.0, Goal::None),
    rate("create, 16 writers", "create/c16", 401.0, Goal::None),
    rate("create, 64 writers", "create/c64", 430.0, Goal::TimesReference(10.0)),
    cpu("update, CPU", "update/c16", 5.8, 0.2),
    cpu("update of the status, CPU", "status/c16", 7.3, 0.2),
    cpu("merge patch, CPU", "patch/c16", 6.3, 0.2),
    cpu("apply, CPU", "apply/c16", 7.8, 0.2),
    cpu("GET, CPU", "get/c16", 1.2, 0.025),
    cpu("LIST of 10,000 objects, CPU", "list/full/c1", 1_810.0, 40.0),
    cpu("LIST by label, 1 %, CPU", "list/label/c1", 27.5, 0.5),
    cost("LIST by field, 1 %, CPU", "list/field/c1", 25.0),
    cost("LIST of 10,000 in pages of 500, CPU", "list/paged/c1", 1_790.0),
    cost("LIST of 10,000 as a table, CPU", "list/table/c1", 982.0),
    cost("LIST of 10,000 as metadata, CPU", "list/metadata/c1", 700.0),
    cost("mixed reads and writes, CPU", "mixed/c16", 3.2),
    events("watch, 1 watcher, CPU/event", "watch/w1/max", 8_090.0, Goal::None),
    events("watch, 100 watchers, CPU/event", "watch/w100/max", 101.0, Goal::None),
    events("watch, 1,000 watchers, CPU/event", "watch/w1000/max", 38.0, Goal::AtMost(4.0)),
    Row {
        work: "watch, events lost, doubled, reordered",
        case: "watch/w1000/max",
        metric: Metric::WatchFaults,
        unit: "",
        scale: 1.0,
        reference: 0.0,
        goal: Goal::AtMost(0.0),
    },
    cpu("validate, heavy CEL, CPU", "validate/cel/c4", 93.0, 9.0),
    cpu("validate, 1 MB object, CPU", "validate/large/c1", 810.0, 30.0),
];

impl Metric {
    fn of(self, line: &Value) -> Option<f64> {
        match self {
            Self::At(path) => path.iter().try_fold(line, |value, key| value.get(key))?.as_f64(),
            Self::Cpu => line["server_cpu_us_per_op"].as_f64(),
            Self::WatchFaults => ["lost", "duplicate", "out_of_order"]
                .iter()
                .map(|fault| line[fault].as_f64())
                .sum::<Option<f64>>(),
            Self::MemoryPerOperation => {
                let grown = line["server"].as_array()?.iter().map(|process| {
                    Some(process["rss_after_mb"].as_f64()? - process["rss_before_mb"].as_f64()?)
                });
                Some(grown.sum::<Option<f64>>()? * 1024.0 / line["ops"].as_f64()?)
            }
        }
    }
}

impl Row {
    fn values(&self, results: &Results) -> Vec<f64> {
        let lines = results.get(self.case).into_iter().flatten();
        lines.filter_map(|line| self.metric.of(line)).map(|value| value * self.scale).collect()
    }

    fn is_rate(&self) -> bool {
        matches!(self.metric, Metric::At(["ops_per_s"]))
    }

    /// Rates of the baseline suffered from other load on its machine: the best run is the reference's own.
    fn reference(&self, baseline: &Results) -> f64 {
        let values = self.values(baseline);
        let found = if self.is_rate() { values.into_iter().reduce(f64::max) } else { median(values) };
        found.unwrap_or(self.reference)
    }

    fn goal(&self, reference: f64, results: &Results) -> Option<f64> {
        match self.goal {
            Goal::AtMost(limit) => Some(limit),
            Goal::TimesReference(times) => Some(reference * times),
            Goal::TimesEncoded(times) => {
                let line = results.get(self.case)?.first()?;
                // A create answers with the object as encoded.
                Some(times * line["rx_bytes"].as_f64()? / line["ops"].as_f64()? / 1024.0)
            }
            Goal::None => None,
        }
    }

    fn cells(&self, results: &Results, baseline: &Results) -> [String; 6] {
        let reference = self.reference(baseline);
        let goal = self.goal(reference, results);
        let measured = median(self.values(results));
        let sign = if self.is_rate() { "≥" } else { "≤" };
        let reached =
            |measured: f64, goal: f64| if self.is_rate() { measured >= goal } else { measured <= goal };
        let verdict = match (measured, goal) {
            (Some(measured), Some(goal)) if reached(measured, goal) => "yes",
            (Some(_), Some(_)) => "no",
            _ => "–",
        };
        [
            self.work.to_string(),
            self.with_unit(reference),
            goal.map_or("–".into(), |goal| format!("{sign} {}", self.with_unit(goal))),
            measured.map_or("–".into(), |measured| self.with_unit(measured)),
            measured.and_then(|measured| self.ratio(reference, measured)).unwrap_or("–".into()),
            verdict.to_string(),
        ]
    }

    fn with_unit(&self, value: f64) -> String {
        if self.unit.is_empty() || self.unit == "/s" {
            return format!("{}{}", number(value), self.unit);
        }
        format!("{} {}", number(value), self.unit)
    }

    /// How many times better than the reference.
    fn ratio(&self, reference: f64, measured: f64) -> Option<String> {
        let (more, less) = if self.is_rate() { (measured, reference) } else { (reference, measured) };
        (more > 0.0 && less > 0.0).then(|| format!("{}×", number(more / less)))
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// Three digits that matter.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The rows about cases that ran, as a table that also reads well as markdown.
pub(super) fn render(results: &Results, baseline: &Results) -> String {
    let header = ["work", "reference", "goal", "measured", "ratio", "reached"].map(String::from);
    let rows =
        ROWS.iter().filter(|row| results.contains_key(row.case)).map(|row| row.cells(results, baseline));
    let lines = std::iter::once(header).chain(rows).collect::<Vec<_>>();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.extend(["| ", &cells.collect::<Vec<_>>().join(" | "), " |\n"]);
        if index == 0 {
            let dashes = widths.map(|width| "-".repeat(width + 2));
            text.extend(["|", &dashes.join("|"), "|\n"]);
        }
    }
    text
}

/// The most telling numbers of a result line, while the rest still runs.
pub(super) fn brief(line: &Value) -> String {
    let parts = [
        ("", "ops_per_s", "/s"),
        ("CPU ", "server_cpu_us_per_op", " µs each"),
        ("", "first_object_s", " s"),
        ("", "rss_mb", " MB"),
    ];
    let shown = parts.iter().filter_map(|(before, key, after)| {
        line[key].as_f64().map(|value| format!("{before}{}{after}", number(value)))
    });
    let errors =
        line["errors"].as_u64().filter(|errors| *errors > 0).map(|errors| format!("{errors} errors"));
    shown.chain(errors).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn results(lines: &[Value]) -> Results {
        let mut results = Results::new();
        for line in lines {
            results.entry(line["case"].as_str().unwrap().to_string()).or_default().push(line.clone());
        }
        results
    }

    fn row(measured: &[Value], baseline: &[Value], work: &str) -> Vec<String> {
        let text = render(&results(measured), &results(baseline));
        let line = text.lines().find(|line| line.contains(work)).unwrap_or_default().to_string();
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    }

    #[test]
    fn costs_are_compared_by_medians() {
        let line = |cpu: f64| json!({ "case": "get/c16", "server_cpu_us_per_op": cpu });
        let measured = [line(20.0), line(900.0), line(10.0)];
        let baseline = [line(1000.0), line(1200.0)];
        let expected = ["GET, CPU", "1.10 ms", "≤ 0.025 ms", "0.020 ms", "55.0×", "yes"];
        assert_eq!(row(&measured, &baseline, "GET"), expected);
        assert_eq!(row(&[line(30.0)], &[], "GET")[1..], ["1.20 ms", "≤ 0.025 ms", "0.030 ms", "40.0×", "no"]);
    }

    #[test]
    fn rates_are_compared_with_the_best_run() {
        let line = |rate: f64| json!({ "case": "create/c64", "ops_per_s": rate });
        let cells = row(&[line(5000.0)], &[line(100.0), line(400.0)], "create, 64 writers |");
        assert_eq!(cells, [""], "columns are padded");
        let cells = row(&[line(5000.0)], &[line(100.0), line(400.0)], "create, 64 writers  ");
        assert_eq!(cells[1..], ["400/s", "≥ 4000/s", "5000/s", "12.5×", "yes"]);
    }

    #[test]
    fn memory_per_object_is_held_against_its_encoded_size() {
        let server = json!([{ "rss_before_mb": 20.0, "rss_after_mb": 60.0 }]);
        let line = json!({ "case": "create/c16", "server": server, "ops": 10_000, "rx_bytes": 32_768_000 });
        let cells = row(&[line], &[], "memory per object");
        assert_eq!(cells[1..], ["84.0 KB", "≤ 4.48 KB", "4.10 KB", "20.5×", "yes"]);
    }

    #[test]
    fn work_that_was_not_measured_is_left_out() {
        let text = render(&results(&[json!({ "case": "idle", "rss_mb": 20.0 })]), &Results::new());
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("resident memory"));
        let line = json!({ "case": "watch/w1000/max", "server_cpu_us_per_op": 3.0 });
        assert_eq!(row(&[line], &[], "events lost")[1..], ["0", "≤ 0", "–", "–", "–"]);
    }

    #[test]
    fn every_kind_of_watch_fault_counts() {
        let line = |lost, duplicate| json!({ "case": "watch/w1000/max", "lost": lost, "duplicate": duplicate, "out_of_order": 0 });
        assert_eq!(row(&[line(0, 0)], &[], "events lost")[3..], ["0", "–", "yes"]);
        assert_eq!(row(&[line(1, 2)], &[], "events lost")[3..], ["3.00", "–", "no"]);
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(
            [5200.0, 99.96, 84.04, 9.996, 1.0, 0.17].map(number),
            ["5200", "100", "84.0", "10.0", "1.00", "0.170"]
        );
    }

    #[test]
    fn a_brief_shows_errors_only_when_there_are_some() {
        assert_eq!(brief(&json!({ "ops_per_s": 12.0, "errors": 0 })), "12.0/s");
        assert_eq!(brief(&json!({ "rss_mb": 12.0, "errors": 2 })), "12.0 MB, 2 errors");
    }
}
