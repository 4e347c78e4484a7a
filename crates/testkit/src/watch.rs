//! A watch, event by event, as it comes over the wire.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;

use crate::soon;

/// A line of a watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub kind: String,
    pub object: Value,
}

/// What came of waiting for an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait {
    Event(Event),
    Quiet,
    /// In order or not.
    Ended,
}

/// An open watch; dropping it ends it.
pub struct Watch {
    body: Incoming,
    buffer: Vec<u8>,
    ended: bool,
}

impl Event {
    fn parse(line: &[u8]) -> Self {
        let shown = || String::from_utf8_lossy(line).into_owned();
        let mut value: Value =
            serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {}", shown()));
        let kind = value["type"].as_str().unwrap_or_else(|| panic!("an event without type: {}", shown()));
        Event { kind: kind.to_owned(), object: value["object"].take() }
    }

    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The revision of the event; 0 if it has none.
    pub fn revision(&self) -> u64 {
        revision(&self.object)
    }
}

/// The revision in an object's metadata; 0 if there is none.
pub fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

impl Watch {
    pub(crate) fn new(body: Incoming) -> Self {
        Watch { body, buffer: Vec::new(), ended: false }
    }

    /// The next event; `None` at the end of the watch, in order or not.
    pub async fn next(&mut self) -> Option<Event> {
        let line = soon("the next event", self.line()).await?;
        Some(Event::parse(&line))
    }

    /// The next event, if it comes within this time. The watch goes on when it does not.
    pub async fn next_within(&mut self, patience: Duration) -> Wait {
        match tokio::time::timeout(patience, self.line()).await {
            Err(_) => Wait::Quiet,
            Ok(None) => Wait::Ended,
            Ok(Some(line)) => Wait::Event(Event::parse(&line)),
        }
    }

    /// The next event, which must come.
    pub async fn event(&mut self) -> Event {
        self.next().await.expect("the watch ended where an event was expected")
    }

    /// This many events as `KIND name`.
    pub async fn take(&mut self, count: usize) -> Vec<String> {
        let mut seen = Vec::with_capacity(count);
        for _ in 0..count {
            let event = self.event().await;
            seen.push(format!("{} {}", event.kind, event.name()));
        }
        seen
    }

    /// All events up to and with the first that fits.
    pub async fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let event = self.event().await;
            let last = fits(&event);
            seen.push(event);
            if last {
                return seen;
            }
        }
    }

    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                return Some(std::mem::replace(&mut self.buffer, rest));
            }
            if self.ended {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(_)) | None => self.ended = true,
            }
        }
    }
}
