//! From an answer to an HTTP response: version, form, encoding, compression, headers.
//!
//! The one place where failures become Statuses on the wire.

mod gzip;
mod list;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Body as _, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use meta::status::Status;
use meta::{Value, wire};
use registry::Object;
use store::Store;
use store::backup::Backup;

use crate::binary::{self, Messages};
use crate::catalog::Resource;
use crate::catalog::discovery::Document;
use crate::catalog::packed::Packed;
use crate::negotiate::{Media, Output, Shown};
use crate::verbs::{Answer, ListAnswer, table};
use gzip::Gzip;
use list::{Indented, ListMessage, ListText, Pieces};

/// The body of every response.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The answer to a HEAD request: everything but the body, whose size is still told where it is known.
///
/// HTTP/1.1 leaves the body out by itself; over HTTP/2 sending one would be an error of the protocol.
pub(crate) fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    if let Some(size) = body.size_hint().exact() {
        parts.headers.entry(header::CONTENT_LENGTH).or_insert(size.into());
    }
    Response::from_parts(parts, Body::default())
}

/// Answers larger than this are compressed for clients that want it, as in the reference.
const GZIP_MORE_THAN_BYTES: usize = 128 * 1024;
/// Lists of about this size are made as they are sent; always compressed if that is wanted.
const STREAMED_MIN_BYTES: usize = 2 * GZIP_MORE_THAN_BYTES;

/// What a response is made with.
pub(crate) struct Context<'a> {
    pub resource: &'a Arc<Resource>,
    pub now: Timestamp,
    pub gzip: bool,
}

/// The response to a verb.
pub(crate) fn answer(answer: Answer, context: &Context<'_>) -> Response<Body> {
    match answer {
        Answer::Object { code, object, output } => object_response(code, &object, &output, context),
        Answer::Value { code, value, output } => value_response(code, value, &output, context),
        Answer::List { list, output } => list_response(list, &output, context),
        Answer::Status { status, media } => self::status(&status, media),
        Answer::Watch(watch) => streaming(watch.content_type(), *watch),
    }
}

fn object_response(code: u16, object: &Object, output: &Output, context: &Context<'_>) -> Response<Body> {
    if output.media == Media::Protobuf {
        return match Messages::new(context.resource, &output.shown) {
            Some(messages) => bytes(code, output.content_type(), messages.body(object).into(), context.gzip),
            None => no_binary_form(),
        };
    }
    let text = match &output.shown {
        Shown::Whole => object.with_api_version(&context.resource.api_version()),
        Shown::Metadata(version) | Shown::MetadataList(version) => table::partial_metadata(object, *version),
        Shown::Table(options) => table::of_object(context.resource, object, options, context.now).into(),
    };
    bytes(code, output.content_type(), laid_out(text, output.media), context.gzip)
}

fn value_response(code: u16, value: Value, output: &Output, context: &Context<'_>) -> Response<Body> {
    let shown = match &output.shown {
        Shown::Whole => value,
        Shown::Metadata(version) | Shown::MetadataList(version) => table::reduce(value, *version),
        Shown::Table(options) => {
            let text = table::of_value(context.resource, &value, options, context.now);
            let text = laid_out(text.into(), output.media);
            return bytes(code, output.content_type(), text, context.gzip);
        }
    };
    if output.media == Media::Protobuf {
        return match binary::of_value(&shown) {
            Some(body) => bytes(code, output.content_type(), body.into(), context.gzip),
            None => no_binary_form(),
        };
    }
    let text = laid_out(wire::json::to_vec(&shown).into(), output.media);
    bytes(code, output.content_type(), text, context.gzip)
}

/// Negotiation does not let a client ask for this; should a kind be described wrongly, it is told.
fn no_binary_form() -> Response<Body> {
    status(&Status::internal_error("the object has no binary encoding"), Media::Json)
}

/// A JSON text in the layout or language that was asked for.
fn laid_out(text: Bytes, media: Media) -> Bytes {
    match media {
        Media::PrettyJson => {
            let mut indented = Vec::with_capacity(text.len() * 2);
            wire::json::indent(&text, &mut indented);
            indented.into()
        }
        Media::Yaml => {
            let value = wire::json::parse(&text).map(|parsed| parsed.value).unwrap_or_default();
            wire::yaml::encode(&value).into()
        }
        Media::Json | Media::Protobuf if text.ends_with(b"\n") => text,
        Media::Json | Media::Protobuf => {
            // Go's encoder ends with a line feed; people who use curl like it too.
            let mut ended = Vec::with_capacity(text.len() + 1);
            ended.extend_from_slice(&text);
            ended.push(b'\n');
            ended.into()
        }
    }
}

fn list_response(list: ListAnswer, output: &Output, context: &Context<'_>) -> Response<Body> {
    let content_type = output.content_type();
    if output.media == Media::Protobuf {
        return match Messages::new(context.resource, &output.shown) {
            Some(messages) => {
                pieces_response(content_type, ListMessage::new(list, messages, context), context)
            }
            None => no_binary_form(),
        };
    }
    let text = ListText::new(list, output, context);
    match output.media {
        Media::PrettyJson => pieces_response(content_type, Indented::new(text), context),
        Media::Yaml => {
            let whole: Vec<u8> = text.flatten().collect();
            bytes(200, content_type, laid_out(whole.into(), output.media), context.gzip)
        }
        Media::Json | Media::Protobuf => pieces_response(content_type, text, context),
    }
}

/// A response that is made as it is sent, unless it is small.
fn pieces_response(
    content_type: &'static str,
    pieces: impl Pieces + Send + 'static,
    context: &Context<'_>,
) -> Response<Body> {
    if pieces.size_hint_bytes() < STREAMED_MIN_BYTES {
        let whole: Vec<u8> = pieces.flatten().collect();
        return bytes(200, content_type, whole.into(), context.gzip);
    }
    if context.gzip {
        let mut response = streaming(content_type, stream::iter(Gzip::new(pieces)));
        mark_gzip(&mut response);
        return response;
    }
    streaming(content_type, stream::iter(pieces))
}

/// A response with a body that is at hand.
fn bytes(code: u16, content_type: &'static str, body: Bytes, gzip: bool) -> Response<Body> {
    let compress = gzip && body.len() > GZIP_MORE_THAN_BYTES;
    let body = if compress {
        Gzip::new(std::iter::once(body.to_vec())).flatten().collect::<Vec<u8>>().into()
    } else {
        body
    };
    let mut response = plain(code, content_type, body);
    if compress {
        mark_gzip(&mut response);
    }
    response
}

fn mark_gzip(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// A response whose body comes as it is made.
fn streaming<C: Into<Bytes>>(
    content_type: &'static str,
    chunks: impl Stream<Item = C> + Send + 'static,
) -> Response<Body> {
    let frames = chunks.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk.into())));
    let frames: Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>> = Box::pin(frames);
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A backup of everything, made as it is sent. One that fails half-way ends without its footer, by which the
/// reader notices.
pub(crate) fn backup(store: Arc<dyn Store>) -> Response<Body> {
    let pieces = stream::unfold(Stage::Waiting(store), |stage| async move {
        let mut backup = match stage {
            Stage::Waiting(store) => Backup::start(store).await.map_err(log_broken_backup).ok()?,
            Stage::Running(backup) => *backup,
        };
        let piece = backup.next().await.map_err(log_broken_backup).ok()??;
        Some((piece, Stage::Running(Box::new(backup))))
    });
    streaming("application/octet-stream", pieces)
}

enum Stage {
    Waiting(Arc<dyn Store>),
    Running(Box<Backup>),
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn log_broken_backup(error: store::Error) {
    tracing::error!(error = &error as &dyn std::error::Error, "a backup broke off");
}

/// A response with a JSON text in this layout or language.
pub(crate) fn text(code: u16, text: Bytes, media: Media, gzip: bool) -> Response<Body> {
    bytes(code, media.content_type(), laid_out(text, media), gzip)
}

/// A response with these bytes.
pub(crate) fn plain(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A document with a tag, or the news that the client has it already.
pub(crate) fn document(
    document: &Document,
    content_type: &'static str,
    if_none_match: Option<&str>,
    gzip: bool,
) -> Response<Body> {
    tagged(&document.etag, if_none_match, || bytes(200, content_type, document.body.clone(), gzip))
}

/// The same for a large document that is kept in pieces.
pub(crate) fn packed(document: Packed, content_type: &'static str, gzip: bool) -> Response<Body> {
    let gzip = gzip && document.len() > GZIP_MORE_THAN_BYTES;
    let length = if gzip { document.gzip_len() } else { document.len() };
    let mut response = if gzip {
        streaming(content_type, stream::iter(document.gzip()))
    } else {
        streaming(content_type, stream::iter(document.plain()))
    };
    response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    if gzip {
        mark_gzip(&mut response);
    }
    response
}

/// What `make` makes under its tag, or the news that the client has it already.
pub(crate) fn tagged(
    etag: &str,
    if_none_match: Option<&str>,
    make: impl FnOnce() -> Response<Body>,
) -> Response<Body> {
    let quoted = format!("\"{etag}\"");
    let known = if_none_match.is_some_and(|tags| {
        tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == quoted || tag.trim() == "*")
    });
    let mut response = if known {
        let mut response = Response::new(Full::default().boxed_unsync());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        make()
    };
    if let Ok(tag) = HeaderValue::from_str(&quoted) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

/// A failure, or the confirmation of a deletion.
pub(crate) fn status(status: &Status, media: Media) -> Response<Body> {
    let body = match media {
        Media::Protobuf => binary::of_value(&status.to_value()).unwrap_or_default().into(),
        _ => laid_out(status.to_json().into(), media),
    };
    let mut response = plain(status.code, media.content_type(), body);
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// What the reference's HTTP library says before it comes to the API.
pub(crate) fn bad_request() -> Response<Body> {
    plain(400, "text/plain; charset=utf-8", "400 Bad Request")
}

/// What the reference's router says of paths it does not know.
pub(crate) fn page_not_found() -> Response<Body> {
    let mut response = plain(404, "text/plain; charset=utf-8", "404 page not found\n");
    forbid_sniffing(&mut response);
    response
}

/// Tells browsers not to guess the type of what they get.
pub(crate) fn forbid_sniffing(response: &mut Response<Body>) {
    let no_sniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
}

/// Bound: bytes of all warnings in one response.
const WARNINGS_MAX_BYTES: usize = 4 * 1024;
/// What is cut from a warning when there are too many.
const WARNING_MAX_BYTES: usize = 256;

/// Adds the warnings, each as a header of its own.
///
/// Upstream: apiserver/pkg/endpoints/filters/warning.go, v1.36.
pub(crate) fn add_warnings(response: &mut Response<Body>, warnings: &[String]) {
    let total: usize = warnings.iter().map(String::len).sum();
    let shorten = total > WARNINGS_MAX_BYTES;
    let mut sent = 0;
    for warning in warnings {
        let mut text: String = warning.chars().filter(|letter| !letter.is_control()).collect();
        if shorten && text.len() > WARNING_MAX_BYTES {
            let cut = (0..=WARNING_MAX_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(cut);
        }
        sent += text.len();
        if sent > WARNINGS_MAX_BYTES {
            return;
        }
        let quoted = format!("299 - \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_bytes(quoted.as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// A header that is no constant of the HTTP library.
pub(crate) fn set_header(response: &mut Response<Body>, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
