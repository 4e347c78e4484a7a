//! Many watchers of one resource: each must see every object once and in order.

use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::client::{Endpoint, Request};
use super::drive::percentiles;
use super::meter::Meter;
use super::objects;

const STREAMS_PER_CONNECTION: usize = 50;

/// A watcher that hears nothing for so long has lost what is missing.
const SILENCE: Duration = Duration::from_secs(10);

/// What one watcher saw.
#[derive(Default, Debug, PartialEq, Eq)]
struct Seen {
    events: usize,
    duplicate: usize,
    out_of_order: usize,
    bytes: usize,
}

pub(crate) async fn run(
    endpoint: &Rc<Endpoint>,
    pid: Option<u32>,
    watchers: usize,
    events: usize,
) -> Result<Value> {
    let mut writer = objects::prepare(endpoint).await?;
    let list: Value =
        serde_json::from_slice(&writer.expect(Request::get(format!("{}?limit=1", objects::ALL))).await?)?;
    let version = list["metadata"]["resourceVersion"].as_str().context("the list has no resourceVersion")?;
    let path = format!("{}?watch=true&resourceVersion={version}", objects::ALL);

    let mut tasks = JoinSet::new();
    let mut connection = endpoint.connect().await?;
    for watcher in 0..watchers {
        if watcher > 0 && watcher % STREAMS_PER_CONNECTION == 0 {
            connection = endpoint.connect().await?;
        }
        let response = connection.open(Request::get(path.clone())).await?;
        anyhow::ensure!(response.status().is_success(), "a watch was refused: {}", response.status());
        tasks.spawn_local(observe(response.into_body(), events));
    }

    let meter = Meter::start(pid)?;
    let mut write_us = Vec::with_capacity(events);
    for index in 0..events {
        let began = Instant::now();
        writer.expect(Request::post(objects::collection(index), objects::body(index))).await?;
        write_us.push(u64::try_from(began.elapsed().as_micros())?);
    }
    let mut all = Seen::default();
    while let Some(seen) = tasks.join_next().await {
        let seen = seen??;
        all.events += seen.events;
        all.duplicate += seen.duplicate;
        all.out_of_order += seen.out_of_order;
        all.bytes += seen.bytes;
    }
    let usage = meter.stop()?;
    let mut line = usage.to_json(all.events);
    line["case"] = format!("watch/w{watchers}/max").into();
    line["unit"] = "event delivered".into();
    line["ops"] = all.events.into();
    line["ops_per_s"] = usage.per_second(all.events).into();
    line["lost"] = json!((watchers * events).saturating_sub(all.events));
    line["duplicate"] = all.duplicate.into();
    line["out_of_order"] = all.out_of_order.into();
    line["rx_bytes"] = all.bytes.into();
    line["write_lat_us"] = percentiles(&mut write_us);
    Ok(line)
}

/// Reads events until all have come or nothing comes any more.
async fn observe(mut body: Incoming, expected: usize) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut rest = Vec::new();
    let mut next = 0;
    while seen.events < expected {
        let Ok(Some(frame)) = tokio::time::timeout(SILENCE, body.frame()).await else { break };
        let Ok(data) = frame?.into_data() else { continue };
        seen.bytes += data.len();
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            if let Some(index) = object_index(&rest[..end]) {
                seen.count(index, &mut next);
            }
            rest.drain(..=end);
        }
    }
    Ok(seen)
}

impl Seen {
    /// Objects are written in the order of their numbers; `next` is the one that should come.
    fn count(&mut self, index: usize, next: &mut usize) {
        match index.cmp(next) {
            std::cmp::Ordering::Less => self.duplicate += 1,
            std::cmp::Ordering::Equal => self.events += 1,
            std::cmp::Ordering::Greater => {
                self.events += 1;
                self.out_of_order += 1;
            }
        }
        *next = (*next).max(index + 1);
    }
}

/// The number of the object in an event, found without reading the rest of it.
fn object_index(event: &[u8]) -> Option<usize> {
    let start = b"\"name\":\"w-";
    let at = event.windows(start.len()).position(|window| window == start)? + start.len();
    let digits = event[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&event[at..at + digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(order: &[usize]) -> (usize, usize, usize) {
        let (mut seen, mut next) = (Seen::default(), 0);
        for index in order {
            seen.count(*index, &mut next);
        }
        (seen.events, seen.duplicate, seen.out_of_order)
    }

    #[test]
    fn repeated_and_skipped_events_are_noticed() {
        assert_eq!(check(&[0, 1, 2]), (3, 0, 0));
        assert_eq!(check(&[0, 0, 1]), (2, 1, 0));
        assert_eq!(check(&[0, 2, 3]), (3, 0, 1));
    }

    #[test]
    fn the_number_of_an_object_is_its_name() {
        let event = format!("{{\"type\":\"ADDED\",\"object\":{}}}", objects::body(42));
        assert_eq!(object_index(event.as_bytes()), Some(42));
        assert_eq!(object_index(b"{\"type\":\"BOOKMARK\"}"), None);
    }
}
