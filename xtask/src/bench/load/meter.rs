//! What the server spends: CPU time and memory of its process, from `/proc`.

use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// One look at a process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Snapshot {
    pub(crate) cpu_s: f64,
    pub(crate) rss_mb: f64,
}

impl Snapshot {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let read = |file| {
            let path = format!("/proc/{pid}/{file}");
            std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {path}; has the server ended?"))
        };
        parse(&read("stat")?, &read("status")?).context("/proc has another form than expected")
    }
}

/// Fields are counted from after the command, which may itself have spaces and brackets.
fn parse(stat: &str, status: &str) -> Option<Snapshot> {
    let fields = stat.rsplit_once(')')?.1.split_whitespace().collect::<Vec<_>>();
    let ticks = fields.get(11)?.parse::<u32>().ok()? + fields.get(12)?.parse::<u32>().ok()?;
    let ticks_per_s = u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?;
    Some(Snapshot {
        cpu_s: f64::from(ticks) / f64::from(ticks_per_s),
        rss_mb: f64::from(rss.parse::<u32>().ok()?) / 1024.0,
    })
}

/// Measures from its start to its stop; without a process only the time.
pub(crate) struct Meter {
    pid: Option<u32>,
    before: Option<Snapshot>,
    began: Instant,
}

impl Meter {
    pub(crate) fn start(pid: Option<u32>) -> Result<Self> {
        Ok(Self { pid, before: pid.map(Snapshot::of).transpose()?, began: Instant::now() })
    }

    pub(crate) fn stop(self) -> Result<Usage> {
        let wall_s = self.began.elapsed().as_secs_f64();
        let after = self.pid.map(Snapshot::of).transpose()?;
        Ok(Usage { wall_s, process: self.before.zip(after) })
    }
}

pub(crate) struct Usage {
    wall_s: f64,
    process: Option<(Snapshot, Snapshot)>,
}

impl Usage {
    #[expect(clippy::cast_precision_loss, reason = "counts of operations are far below 2^52")]
    pub(crate) fn per_second(&self, ops: usize) -> f64 {
        rounded(ops as f64 / self.wall_s)
    }

    pub(crate) fn rss_after_mb(&self) -> Option<f64> {
        self.process.map(|(_, after)| rounded(after.rss_mb))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of operations are far below 2^52")]
    pub(crate) fn to_json(&self, ops: usize) -> Value {
        let mut line = json!({ "wall_s": rounded(self.wall_s) });
        if let Some((before, after)) = self.process {
            let cpu_s = after.cpu_s - before.cpu_s;
            line["server_cpu_s"] = rounded(cpu_s).into();
            line["server_cpu_us_per_op"] = rounded(cpu_s * 1e6 / ops.max(1) as f64).into();
            line["server"] = json!([{
                "rss_before_mb": rounded(before.rss_mb),
                "rss_after_mb": rounded(after.rss_mb),
            }]);
        }
        line
    }
}

pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_and_memory_are_read_whatever_the_command_is_called() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 100 1000 10 …";
        let snapshot = parse(stat, "Name:\tx\nVmRSS:\t   2048 kB\n").unwrap();
        let ticks_per_s = rustix::param::clock_ticks_per_second();
        assert!((snapshot.rss_mb - 2.0).abs() < 1e-9);
        assert!((snapshot.cpu_s * f64::from(u32::try_from(ticks_per_s).unwrap()) - 200.0).abs() < 1e-9);
        assert_eq!(parse("garbage", ""), None);
    }

    #[test]
    fn costs_are_per_operation() {
        let snapshot = |cpu_s, rss_mb| Snapshot { cpu_s, rss_mb };
        let usage = Usage { wall_s: 2.0, process: Some((snapshot(1.0, 10.0), snapshot(1.5, 12.0))) };
        let line = usage.to_json(1000);
        assert_eq!(line["server_cpu_us_per_op"], 500.0);
        assert_eq!(line["server"][0]["rss_after_mb"], 12.0);
        assert!((usage.per_second(1000) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn a_running_process_can_be_seen() {
        assert!(Snapshot::of(std::process::id()).unwrap().rss_mb > 0.0);
        assert!(Snapshot::of(u32::MAX).is_err());
    }
}
