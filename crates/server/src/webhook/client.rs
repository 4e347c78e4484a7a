//! One webhook's client: connections kept and used again, a review posted, an answer read up to a bound.
//!
//! Redirects are not followed. Failures carry the texts of the reference, whose client is client-go's.
//!
//! Upstream: client-go/rest/request.go, v1.36; Go's net/http, 1.26.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use meta::gvk::GroupResource;
use meta::status::Status;
use meta::{Value, wire::json};
use tokio::time::Instant;

use super::config::{ClientConfig, ConfigError};
use super::connect::{ConnectError, Connector, io_text};
use super::services::Services;

/// Bound: bytes of an answer.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// Bound: how often a webhook is called again that asks for it, as in the reference.
const MAX_RETRIES: usize = 10;
/// How long an unused connection is kept, as in Go.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Bound: unused connections kept to one webhook.
const MAX_IDLE: usize = 25;

/// Why a webhook gave no answer that can be read. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It could not be reached, or went away.
    #[error("Post {}: {why}", meta::go_fmt::quote(.url))]
    Transport { url: String, why: String },
    /// The answer broke off.
    #[error("unexpected error when reading response body. Please retry. Original error: {0}")]
    Body(String),
    #[error("the answer of the webhook is larger than {MAX_ANSWER_BYTES} bytes")]
    TooLarge,
    #[error("0-length response with status code: {code} and content type: {content_type}")]
    Empty { code: u16, content_type: String },
    /// It answered that it failed.
    #[error("{0}")]
    Refused(String),
}

/// A client of one webhook, shared by all who call it.
pub struct Client {
    http: legacy::Client<Connector, Full<Bytes>>,
    /// Without a query.
    url: String,
}

impl Client {
    pub(super) fn new(config: &ClientConfig, services: Arc<Services>) -> Result<Self, ConfigError> {
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MAX_IDLE)
            .build(Connector::new(config, services)?);
        Ok(Client { http, url: config.target.url() })
    }

    /// Posts a review and gives the text of the answer. A webhook that asks to be called again later is, as long as
    /// there is time.
    pub async fn post(&self, review: Bytes, timeout: Duration) -> Result<Bytes, CallError> {
        let deadline = Instant::now() + timeout;
        let url = format!("{}?timeout={}", self.url, go_duration(timeout));
        let mut retries = 0;
        loop {
            let reply = self.attempt(&url, review.clone(), deadline).await?;
            match reply.retry_after {
                Some(pause) if retries < MAX_RETRIES && Instant::now() + pause < deadline => {
                    retries += 1;
                    tokio::time::sleep(pause).await;
                }
                _ => return judge(reply.code, reply.content_type, reply.body),
            }
        }
    }

    /// Posts a review once.
    async fn attempt(&self, url: &str, review: Bytes, deadline: Instant) -> Result<Reply, CallError> {
        let transport = |why: String| CallError::Transport { url: url.to_owned(), why };
        let uri: Uri = url.parse().map_err(|_| transport("invalid URL".to_owned()))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, concat!("crest/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(review))
            .map_err(|_| transport("invalid request".to_owned()))?;
        let response = match tokio::time::timeout_at(deadline, self.http.request(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(transport(failure_text(&error))),
            Err(_) => {
                let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
                return Err(transport(why.to_owned()));
            }
        };
        let (code, headers) = (response.status().as_u16(), response.headers());
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = text(CONTENT_TYPE).to_owned();
        let asks = code == 429 || code >= 500;
        let retry_after = text(RETRY_AFTER).parse().ok().filter(|_| asks).map(Duration::from_secs);
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect();
        let body = match tokio::time::timeout_at(deadline, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(CallError::TooLarge);
            }
            Ok(Err(_)) => return Err(CallError::Body("unexpected EOF".to_owned())),
            Err(_) => {
                let why =
                    "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
                return Err(CallError::Body(why.to_owned()));
            }
        };
        Ok(Reply { code, content_type, retry_after, body })
    }
}

/// What a webhook said, whatever it means.
struct Reply {
    code: u16,
    content_type: String,
    /// It is to be called again after this time.
    retry_after: Option<Duration>,
    body: Bytes,
}

/// What an HTTP code makes of a body.
fn judge(code: u16, content_type: String, body: Bytes) -> Result<Bytes, CallError> {
    if (200..=206).contains(&code) {
        return if body.is_empty() { Err(CallError::Empty { code, content_type }) } else { Ok(body) };
    }
    if let Some(message) = status_message(&body) {
        return Err(CallError::Refused(message));
    }
    let is_text = content_type.split(';').next().unwrap_or_default().trim().starts_with("text/");
    let said = if is_text { String::from_utf8_lossy(&body).trim().to_owned() } else { "unknown".to_owned() };
    let status = Status::generic(code, "POST", &GroupResource::new("", ""), "", &said);
    Err(CallError::Refused(status.message))
}

/// The message of a body that is a Status about a failure.
fn status_message(body: &[u8]) -> Option<String> {
    let value = json::parse(body).ok()?.value;
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let is_status = text("kind") == Some("Status") && text("apiVersion") == Some("v1");
    (is_status && text("status") != Some("Success")).then(|| text("message").unwrap_or_default().to_owned())
}

/// Why a request failed on its way.
fn failure_text(error: &legacy::Error) -> String {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(connect) = error.downcast_ref::<ConnectError>() {
            return connect.0.clone();
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return io_text(error);
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>()
            && (error.is_incomplete_message() || error.is_closed() || error.is_canceled())
        {
            return "EOF".to_owned();
        }
        source = error.source();
    }
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A duration as Go prints it; whole seconds are all that is used.
fn go_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 60, seconds % 60) {
        _ if duration.subsec_millis() > 0 && seconds == 0 => format!("{}ms", duration.subsec_millis()),
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(code: u16, content_type: &str, body: &'static str) -> Result<Bytes, String> {
        judge(code, content_type.to_owned(), Bytes::from_static(body.as_bytes()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn codes_and_bodies_are_judged_as_client_go_does() {
        assert_eq!(judged(200, "application/json", "{}"), Ok(Bytes::from_static(b"{}")));
        assert_eq!(
            judged(200, "text/plain", ""),
            Err("0-length response with status code: 200 and content type: text/plain".to_owned())
        );
        for (code, content_type, body, text) in [
            (
                500,
                "application/json",
                "boom",
                "an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
            (
                500,
                "text/plain; charset=utf-8",
                " boom\n",
                "an error on the server (\"boom\") has prevented the request from succeeding",
            ),
            (404, "text/plain", "404 page not found", "the server could not find the requested resource"),
            (
                302,
                "",
                "",
                "the server responded with the status code 302 but did not return more information",
            ),
            (
                500,
                "application/json",
                r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not now"}"#,
                "not now",
            ),
            (
                503,
                "application/json",
                r#"{"kind":"Other"}"#,
                "the server is currently unable to handle the request",
            ),
        ] {
            assert_eq!(judged(code, content_type, body), Err(text.to_owned()), "{code} {body}");
        }
    }

    #[test]
    fn durations_are_those_of_go() {
        for (duration, text) in [
            (Duration::from_secs(30), "30s"),
            (Duration::from_millis(50), "50ms"),
            (Duration::from_secs(90), "1m30s"),
        ] {
            assert_eq!(go_duration(duration), text);
        }
    }
}
