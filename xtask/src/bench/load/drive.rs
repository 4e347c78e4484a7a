//! A closed loop: each worker sends its next request when the last one is answered.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::{Connection, Endpoint, Request};
use super::meter::{Meter, Usage};

/// Streams on one connection, as clients usually keep it.
const STREAMS_PER_CONNECTION: usize = 50;

/// A server that refuses everything is not worth measuring to the end.
const ERRORS_TO_GIVE_UP: usize = 100;

pub(crate) struct Plan {
    pub(crate) workers: usize,
    pub(crate) count: usize,
}

/// What a run showed.
pub(crate) struct Outcome {
    latencies_us: Vec<u64>,
    bytes: usize,
    errors: usize,
    usage: Usage,
    workers: usize,
}

/// Sends the requests with the numbers from 0 to `plan.count`.
pub(crate) async fn run(
    endpoint: &Rc<Endpoint>,
    pid: Option<u32>,
    plan: &Plan,
    request: impl Fn(usize) -> Request + 'static,
) -> Result<Outcome> {
    let request = Rc::new(request);
    let next = Rc::new(Cell::new(0));
    let mut connection = endpoint.connect().await?;
    let mut connections = Vec::new();
    for worker in 0..plan.workers {
        if worker > 0 && worker % STREAMS_PER_CONNECTION == 0 {
            connection = endpoint.connect().await?;
        }
        connections.push(connection.clone());
    }
    let meter = Meter::start(pid)?;
    let mut workers = JoinSet::new();
    for connection in connections {
        workers.spawn_local(work(connection, next.clone(), plan.count, request.clone()));
    }
    let mut all = Share::default();
    while let Some(share) = workers.join_next().await {
        let share = share??;
        all.latencies_us.extend(share.latencies_us);
        all.bytes += share.bytes;
        all.errors += share.errors;
    }
    let usage = meter.stop()?;
    Ok(Outcome {
        latencies_us: all.latencies_us,
        bytes: all.bytes,
        errors: all.errors,
        usage,
        workers: plan.workers,
    })
}

/// What one worker did.
#[derive(Default)]
struct Share {
    latencies_us: Vec<u64>,
    bytes: usize,
    errors: usize,
}

async fn work(
    mut connection: Connection,
    next: Rc<Cell<usize>>,
    count: usize,
    request: Rc<impl Fn(usize) -> Request>,
) -> Result<Share> {
    let mut share = Share::default();
    loop {
        let index = next.replace(next.get() + 1);
        if index >= count {
            return Ok(share);
        }
        let began = Instant::now();
        let (status, body) = connection.call(request(index)).await?;
        if status.is_success() {
            share.latencies_us.push(u64::try_from(began.elapsed().as_micros())?);
            share.bytes += body.len();
        } else {
            share.errors += 1;
            if share.errors >= ERRORS_TO_GIVE_UP {
                bail!(
                    "too many errors; the last: {status} {}",
                    String::from_utf8_lossy(&body[..body.len().min(300)])
                );
            }
        }
    }
}

impl Outcome {
    pub(crate) fn line(mut self, case: &str) -> Value {
        let ops = self.latencies_us.len();
        let mut line = self.usage.to_json(ops);
        line["case"] = case.into();
        line["unit"] = "request".into();
        line["concurrency"] = self.workers.into();
        line["ops"] = ops.into();
        line["errors"] = self.errors.into();
        line["ops_per_s"] = self.usage.per_second(ops).into();
        line["rx_bytes"] = self.bytes.into();
        line["lat_us"] = percentiles(&mut self.latencies_us);
        line
    }
}

pub(crate) fn percentiles(values: &mut [u64]) -> Value {
    values.sort_unstable();
    let at = |percent: usize| values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
    json!({ "p50": at(50), "p90": at(90), "p99": at(99), "max": values.last() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut values = (1..=1000).rev().collect::<Vec<_>>();
        let line = percentiles(&mut values);
        assert_eq!(line, json!({ "p50": 501, "p90": 901, "p99": 991, "max": 1000 }));
        assert_eq!(percentiles(&mut [7])["p99"], 7);
        assert!(percentiles(&mut [])["p50"].is_null());
    }
}
