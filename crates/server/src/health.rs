//! `/healthz`, `/livez` and `/readyz` with their named checks, and `/metrics`.
//!
//! Upstream: apiserver/pkg/server/healthz/healthz.go, v1.36.

use std::fmt::Write;
use std::time::Duration;

use hyper::Response;
use hyper::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};

use meta::wire::negotiate::parse_accept;

use crate::Server;
use crate::metrics_text;
use crate::negotiate::Headers;
use crate::request::RequestInfo;
use crate::respond::{self, Body};

/// The check of the store, under the name that it has in the reference.
const STORE_CHECK: &str = "etcd";
/// Bound: time for the store to answer; the reference's default.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// A check and whether it holds.
struct Check {
    name: &'static str,
    failure: Option<&'static str>,
}

/// The answer to a health or metrics path; `None` for every other path.
pub(crate) async fn answer(server: &Server, info: &RequestInfo, formats: &Headers) -> Option<Response<Body>> {
    let path = info.path.as_str();
    if path == "/metrics" {
        return Some(metrics(server, formats));
    }
    let (endpoint, check) = split(path)?;
    // Only what is asked about is asked: who leaves the store out may do so because it hangs.
    let asks_store = match check {
        None => !info.query.all("exclude").any(|name| name == STORE_CHECK),
        Some(name) => name == STORE_CHECK,
    };
    let store_works = !asks_store || store_works(server).await;
    let checks = checks(server, endpoint, store_works);
    match check {
        None => Some(report(endpoint, &checks, info)),
        Some(name) => match checks.iter().find(|candidate| candidate.name == name) {
            None => Some(respond::page_not_found()),
            Some(Check { failure: None, .. }) => Some(text(200, "ok")),
            Some(Check { failure: Some(why), .. }) => {
                Some(text(500, &format!("internal server error: {why}\n")))
            }
        },
    }
}

/// Everything counted, in the format of Prometheus unless the client names the other one.
fn metrics(server: &Server, formats: &Headers) -> Response<Body> {
    let text = server.metrics.exposition(server);
    let open = parse_accept(&formats.accept)
        .iter()
        .any(|clause| clause.main == "application" && clause.sub == "openmetrics-text");
    if open {
        return respond::plain(200, metrics_text::OPEN_METRICS, text);
    }
    respond::plain(200, metrics_text::PROMETHEUS, metrics_text::prometheus(&text))
}

/// The endpoint a path belongs to, and the one check it asks for.
fn split(path: &str) -> Option<(&'static str, Option<&str>)> {
    for endpoint in ["healthz", "livez", "readyz"] {
        let Some(rest) = path.strip_prefix('/').and_then(|path| path.strip_prefix(endpoint)) else {
            continue;
        };
        if rest.is_empty() {
            return Some((endpoint, None));
        }
        if let Some(check) = rest.strip_prefix('/') {
            return Some((endpoint, Some(check)));
        }
    }
    None
}

/// Whether the store answers, soon, and takes writes.
async fn store_works(server: &Server) -> bool {
    let store = server.registry.store();
    let answered = tokio::time::timeout(STORE_TIMEOUT, store.current()).await;
    answered.is_ok_and(|answer| answer.is_ok()) && store.stats().writable
}

fn checks(server: &Server, endpoint: &str, store_works: bool) -> Vec<Check> {
    let leaving = server.leaving.load(std::sync::atomic::Ordering::Acquire);
    let failing = |fails: bool, why: &'static str| fails.then_some(why);
    let mut checks = vec![
        Check { name: "ping", failure: None },
        Check { name: "log", failure: None },
        Check {
            name: STORE_CHECK,
            failure: failing(!store_works, "the store does not answer or takes no writes"),
        },
    ];
    // They are started before the first request is accepted.
    checks.push(Check { name: "poststarthook/start-apiextensions-controllers", failure: None });
    if endpoint != "livez" {
        let waiting = !*server.ready.borrow();
        checks.push(Check {
            name: "poststarthook/crd-informer-synced",
            failure: failing(waiting, "the definitions have not been read yet"),
        });
    }
    if endpoint == "readyz" {
        checks.push(Check { name: "shutdown", failure: failing(leaving, "the server is shutting down") });
    }
    checks
}

/// All checks together; in detail when one fails or the client asks.
fn report(endpoint: &str, checks: &[Check], info: &RequestInfo) -> Response<Body> {
    let mut excluded: Vec<&str> = info.query.all("exclude").collect();
    let (mut lines, mut failed) = (String::new(), false);
    for check in checks {
        if let Some(at) = excluded.iter().position(|name| *name == check.name) {
            excluded.remove(at);
            let _ = writeln!(lines, "[+]{} excluded: ok", check.name);
            continue;
        }
        if check.failure.is_none() {
            let _ = writeln!(lines, "[+]{} ok", check.name);
        } else {
            failed = true;
            let _ = writeln!(lines, "[-]{} failed: reason withheld", check.name);
        }
    }
    if !excluded.is_empty() {
        let quoted: Vec<String> = excluded.iter().map(|name| format!("\"{name}\"")).collect();
        let _ = writeln!(
            lines,
            "warn: some health checks cannot be excluded: no matches for {}",
            quoted.join(", ")
        );
    }
    if failed {
        return text(500, &format!("{lines}{endpoint} check failed\n"));
    }
    if info.query.get("verbose").is_some() {
        return text(200, &format!("{lines}{endpoint} check passed\n"));
    }
    text(200, "ok")
}

fn text(code: u16, body: &str) -> Response<Body> {
    let mut response = respond::plain(code, "text/plain; charset=utf-8", body.to_owned());
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
