//! How much is done at once.
//!
//! Upstream: apiserver/pkg/server/filters/maxinflight.go, v1.36.

use std::time::Duration;

use meta::status::Status;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::Config;
use crate::request::RequestInfo;

/// Bounds on requests under way. Watches are counted by the connections they need.
pub(crate) struct Limits {
    reading: Option<Semaphore>,
    writing: Option<Semaphore>,
    pub request_timeout: Duration,
    pub body_bytes: usize,
}

/// A place among the requests under way, given back when dropped.
pub(crate) struct Place<'a>(#[expect(dead_code, reason = "held for its drop")] Option<SemaphorePermit<'a>>);

impl Limits {
    pub(crate) fn new(config: &Config) -> Self {
        let semaphore = |limit: usize| (limit > 0).then(|| Semaphore::new(limit));
        Limits {
            reading: semaphore(config.max_requests_inflight),
            writing: semaphore(config.max_mutating_requests_inflight),
            request_timeout: config.request_timeout,
            body_bytes: config.max_body_bytes,
        }
    }

    /// Takes a place, or refuses at once: waiting would only hide the overload.
    pub(crate) fn enter(&self, info: &RequestInfo) -> Result<Place<'_>, Status> {
        let semaphore = match info.verb {
            "watch" | "proxy" => None,
            "get" | "list" | "head" | "options" => self.reading.as_ref(),
            _ => self.writing.as_ref(),
        };
        let Some(semaphore) = semaphore else { return Ok(Place(None)) };
        match semaphore.try_acquire() {
            Ok(permit) => Ok(Place(Some(permit))),
            Err(_) => Err(Status::too_many_requests("Too many requests, please try again later.", 1)),
        }
    }
}
