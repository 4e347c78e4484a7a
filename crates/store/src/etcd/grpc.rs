//! Messages over HTTP/2 as gRPC frames them: five bytes before each, a status behind the last.
//!
//! Our own, because the store must know one thing that no client library tells: whether a request that failed
//! can have reached a server. Only then is a write repeated.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Either, Full};
use hyper::{
    HeaderMap, Request,
    body::{Body, Frame, Incoming},
    client::conn::http2::SendRequest,
    header::HeaderValue,
};
use prost::Message;
use tokio::{sync::mpsc, time::Duration};

/// Bound: one message of an answer. Pages and fragments keep them far below.
const MAX_MESSAGE_BYTES: usize = 512 << 20;
/// Bound: requests waiting on one stream; a watch sends one to begin with and then asks for progress.
const STREAM_REQUESTS: usize = 4;

/// gRPC's codes, those that the store looks at.
pub(super) mod code {
    pub(crate) const UNKNOWN: u32 = 2;
    pub(crate) const INVALID_ARGUMENT: u32 = 3;
    pub(crate) const FAILED_PRECONDITION: u32 = 9;
    pub(crate) const UNAVAILABLE: u32 = 14;
    pub(crate) const UNAUTHENTICATED: u32 = 16;
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Failure {
    /// No server can have seen the request.
    #[error("rpc error: code = Unavailable desc = {0}")]
    NotSent(String),
    /// A server may have seen it, and may do what it asked.
    #[error("rpc error: code = Unavailable desc = {0}")]
    Broken(String),
    #[error("context deadline exceeded")]
    TimedOut,
    /// The server's own words.
    #[error("{message}")]
    Status { code: u32, message: String },
}

impl Failure {
    fn unreadable(what: &str) -> Self {
        Failure::Broken(format!("the answer is no gRPC: {what}"))
    }

    /// Whether the server said exactly this.
    pub(super) fn says(&self, text: &str) -> bool {
        matches!(self, Failure::Status { message, .. } if message == text)
    }
}

/// What a request is sent as: one message, or as many as come.
pub(super) type Outgoing = Either<Full<Bytes>, Requests>;

/// The requests of a stream.
pub(super) struct Requests(mpsc::Receiver<Bytes>);

impl Body for Requests {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|message| message.map(|message| Ok(Frame::data(message))))
    }
}

/// Puts a message behind its five bytes: no compression, and its length.
pub(super) fn frame(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut framed = BytesMut::with_capacity(length + PREFIX_BYTES);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(length).unwrap_or(u32::MAX)); // longer ones are refused before
    message.encode_raw(&mut framed);
    framed.freeze()
}

const PREFIX_BYTES: usize = 5;

/// Where requests go: `https://host:port`, and the token that proves who asks.
pub(super) struct Target<'a> {
    pub(super) base: &'a str,
    pub(super) token: Option<&'a HeaderValue>,
}

fn request(target: &Target<'_>, method: &str, body: Outgoing) -> Result<Request<Outgoing>, Failure> {
    let mut request = Request::post(format!("{}/{method}", target.base))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        // A member that is cut off from the others must say so instead of waiting for them.
        .header("hasleader", "true");
    if let Some(token) = target.token {
        request = request.header("token", token);
    }
    request.body(body).map_err(|error| Failure::NotSent(error.to_string()))
}

/// Sends one message and waits for one. `patience` is for each sign of life, not for all of it.
pub(super) async fn unary<A: Message + Default>(
    sender: &mut SendRequest<Outgoing>,
    target: &Target<'_>,
    method: &str,
    message: Bytes,
    patience: Duration,
) -> Result<A, Failure> {
    let request = request(target, method, Either::Left(Full::new(message)))?;
    let mut answer = Answer::of(sender, request, patience).await?;
    let waited = tokio::time::timeout(patience, answer.next());
    let message = waited.await.map_err(|_| Failure::TimedOut)??;
    let message = message.ok_or_else(|| Failure::unreadable("there is none"))?;
    // The status comes behind the message and may yet be an error.
    let end = tokio::time::timeout(patience, answer.next());
    if end.await.map_err(|_| Failure::TimedOut)??.is_some() {
        return Err(Failure::unreadable("there is more than one"));
    }
    A::decode(message).map_err(|error| Failure::unreadable(&error.to_string()))
}

/// Opens a stream in both directions.
pub(super) async fn stream(
    sender: &mut SendRequest<Outgoing>,
    target: &Target<'_>,
    method: &str,
    first: Bytes,
    patience: Duration,
) -> Result<(mpsc::Sender<Bytes>, Answer), Failure> {
    let (requests, receiver) = mpsc::channel(STREAM_REQUESTS);
    requests.try_send(first).map_err(|error| Failure::NotSent(error.to_string()))?;
    let request = request(target, method, Either::Right(Requests(receiver)))?;
    let answer = Answer::of(sender, request, patience).await?;
    Ok((requests, answer))
}

/// The messages of an answer as they come.
pub(super) struct Answer {
    body: Incoming,
    /// Bytes that are no whole message yet.
    buffer: BytesMut,
}

impl Answer {
    async fn of(
        sender: &mut SendRequest<Outgoing>,
        request: Request<Outgoing>,
        patience: Duration,
    ) -> Result<Self, Failure> {
        sender.ready().await.map_err(|error| Failure::NotSent(describe(&error)))?;
        let response = tokio::time::timeout(patience, sender.try_send_request(request)).await;
        let response = match response {
            Err(_) => return Err(Failure::TimedOut),
            Ok(Ok(response)) => response,
            // The connection gave the request back: it never left.
            Ok(Err(error)) if error.message().is_some() => {
                return Err(Failure::NotSent(describe(error.error())));
            }
            Ok(Err(error)) => return Err(Failure::Broken(describe(error.error()))),
        };
        if let Some(failure) = status(response.headers()) {
            return Err(failure);
        }
        if response.status() != hyper::StatusCode::OK {
            return Err(Failure::Broken(format!("the endpoint answered {}", response.status())));
        }
        Ok(Answer { body: response.into_body(), buffer: BytesMut::new() })
    }

    /// The next message; `None` when the server ended the answer in order.
    ///
    /// Cancel safety: a dropped future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(message));
            }
            match self.body.frame().await {
                None => return Err(Failure::Broken("the answer ended without a status".to_owned())),
                Some(Err(error)) => return Err(Failure::Broken(describe(&error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.buffer.extend_from_slice(&data),
                    Err(frame) => return end(frame.trailers_ref()),
                },
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some((prefix, _)) = self.buffer.split_first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
        let [compressed, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length) as usize;
        if compressed != 0 {
            return Err(Failure::unreadable("it is compressed, which nobody asked for"));
        }
        if length > MAX_MESSAGE_BYTES {
            return Err(Failure::unreadable("a message is too long"));
        }
        if self.buffer.len() < PREFIX_BYTES + length {
            self.buffer.reserve(PREFIX_BYTES + length - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(PREFIX_BYTES);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

/// What the trailers say about the end of an answer.
fn end(trailers: Option<&HeaderMap>) -> Result<Option<Bytes>, Failure> {
    match trailers.and_then(status) {
        Some(failure) => Err(failure),
        None => Ok(None),
    }
}

/// The status in headers or trailers, when there is one and it is an error.
fn status(headers: &HeaderMap) -> Option<Failure> {
    let number = headers.get("grpc-status")?.to_str().ok()?;
    let code = number.parse().unwrap_or(code::UNKNOWN);
    if code == 0 {
        return None;
    }
    let message = headers.get("grpc-message").map(HeaderValue::as_bytes).unwrap_or_default();
    let message = percent_encoding::percent_decode(message).decode_utf8_lossy().into_owned();
    Some(Failure::Status { code, message })
}

/// An error with its causes: hyper's own text alone says little.
fn describe(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_headers() {
        let mut headers = HeaderMap::new();
        assert!(status(&headers).is_none());
        headers.insert("grpc-status", HeaderValue::from_static("0"));
        assert!(status(&headers).is_none());
        headers.insert("grpc-status", HeaderValue::from_static("14"));
        headers.insert("grpc-message", HeaderValue::from_static("etcdserver: 100%25 gone"));
        let failure = status(&headers).expect("an error");
        assert!(failure.says("etcdserver: 100% gone"));
        assert!(matches!(failure, Failure::Status { code: code::UNAVAILABLE, .. }));
    }
}
