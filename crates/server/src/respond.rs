//! From an answer to an HTTP response: version, form, encoding, compression, headers.
//!
//! The one place where failures become Statuses on the wire.

use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use meta::status::Status;
use meta::{Value, wire};
use registry::Object;
use store::Store;
use store::backup::Backup;

use crate::catalog::Resource;
use crate::catalog::discovery::Document;
use crate::catalog::packed::Packed;
use crate::negotiate::{Media, Output, Shown};
use crate::verbs::{Answer, ListAnswer, table};

/// The body of every response.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Bound: bytes of a list that are encoded at once.
const LIST_CHUNK_BYTES: usize = 32 * 1024;
/// Answers from this size on are compressed for clients that want it, as in the reference.
const GZIP_MIN_BYTES: usize = 128 * 1024;
/// Fast rather than small: the wire is usually a local one.
const GZIP_LEVEL: u32 = 1;

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
        Answer::Value { code, value, output } => {
            let shown = match &output.shown {
                Shown::Whole => value,
                Shown::Metadata | Shown::MetadataList => table::reduce(value, "meta.k8s.io/v1"),
                Shown::Table(options) => table::of_value(context.resource, value, options, context.now),
            };
            bytes(code, output.content_type(), encode(&shown, output.media), context.gzip)
        }
        Answer::List { list, output } => list_response(list, &output, context),
        Answer::Watch(watch) => streaming("application/json", *watch),
    }
}

fn object_response(code: u16, object: &Object, output: &Output, context: &Context<'_>) -> Response<Body> {
    let api_version = context.resource.api_version();
    let text = match (&output.shown, output.media) {
        (Shown::Whole, Media::Json) => object.with_api_version(&api_version),
        (Shown::Metadata | Shown::MetadataList, Media::Json) => table::partial_metadata(object),
        (Shown::Table(options), media) => {
            encode(&table::of_objects(context.resource, &[object], options, context.now, None), media)
        }
        (shown, media) => {
            let parsed = wire::json::parse(&object.with_api_version(&api_version));
            let value = parsed.map(|parsed| parsed.value).unwrap_or_default();
            let value =
                if *shown == Shown::Metadata { table::reduce(value, "meta.k8s.io/v1") } else { value };
            encode(&value, media)
        }
    };
    bytes(code, output.content_type(), text, context.gzip)
}

/// Encodes a value as asked for.
fn encode(value: &Value, media: Media) -> Bytes {
    match media {
        Media::Json => {
            // Go's encoder ends with a line feed; people who use curl like it too.
            let mut text = wire::json::to_vec(value);
            text.push(b'\n');
            text.into()
        }
        Media::PrettyJson => {
            let mut text = Vec::new();
            wire::json::encode_pretty(value, &mut text);
            text.into()
        }
        Media::Yaml => wire::yaml::encode(value).into(),
    }
}

fn list_response(list: ListAnswer, output: &Output, context: &Context<'_>) -> Response<Body> {
    let resource = context.resource;
    let whole = output.shown == Shown::Whole;
    let metadata = list.metadata(resource.habits.untyped_lists && whole);
    if let Shown::Table(options) = &output.shown {
        let objects: Vec<&Object> = list.objects.iter().map(AsRef::as_ref).collect();
        let table = table::of_objects(resource, &objects, options, context.now, Some(metadata));
        return bytes(200, output.content_type(), encode(&table, output.media), context.gzip);
    }
    let text = ListText::new(list, &metadata, output, resource);
    if output.media != Media::Json {
        let whole: Vec<u8> = text.flatten().collect();
        let value = wire::json::parse(&whole).map(|parsed| parsed.value).unwrap_or_default();
        return bytes(200, output.content_type(), encode(&value, output.media), context.gzip);
    }
    let small = text.size_hint < GZIP_MIN_BYTES;
    if small {
        let whole: Vec<u8> = text.flatten().collect();
        return bytes(200, output.content_type(), whole.into(), false);
    }
    if context.gzip {
        let mut response = streaming(output.content_type(), stream::iter(Gzip::new(text)));
        mark_gzip(&mut response);
        return response;
    }
    streaming(output.content_type(), stream::iter(text))
}

/// The text of a list, made piece by piece so that a huge one needs no huge buffer.
struct ListText {
    head: Option<Vec<u8>>,
    objects: std::vec::IntoIter<Arc<Object>>,
    item: ItemText,
    first: bool,
    ended: bool,
    size_hint: usize,
}

/// How an object stands in a list.
enum ItemText {
    /// With its type, in this version.
    Whole(String),
    /// Without its type, as the reference prints built-in kinds.
    Bare,
    Metadata,
}

impl ListText {
    fn new(list: ListAnswer, metadata: &Value, output: &Output, resource: &Resource) -> Self {
        let (api_version, kind, item) = match &output.shown {
            Shown::Metadata | Shown::MetadataList => {
                ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadataList".into(), ItemText::Metadata)
            }
            _ if resource.habits.untyped_lists => {
                let version = resource.api_version();
                (version.clone(), resource.names.list_kind.clone(), ItemText::Whole(version))
            }
            _ => (resource.api_version(), resource.names.list_kind.clone(), ItemText::Bare),
        };
        let mut head = b"{\"kind\":".to_vec();
        wire::json::encode_str(&kind, &mut head);
        head.extend_from_slice(b",\"apiVersion\":");
        wire::json::encode_str(&api_version, &mut head);
        head.extend_from_slice(b",\"metadata\":");
        wire::json::encode(metadata, &mut head);
        head.extend_from_slice(b",\"items\":[");
        let size_hint = list.objects.iter().map(|object| object.bytes().len()).sum();
        let objects = list.objects.into_iter();
        ListText { head: Some(head), objects, item, first: true, ended: false, size_hint }
    }

    fn push_item(&self, object: &Object, text: &mut Vec<u8>) {
        match &self.item {
            ItemText::Whole(version) if object.api_version() == version => {
                text.extend_from_slice(object.bytes());
            }
            ItemText::Whole(version) => {
                let (before, after) = object.around_api_version();
                text.extend_from_slice(&before);
                text.extend_from_slice(version.as_bytes());
                text.extend_from_slice(&after);
            }
            ItemText::Bare => match object.body_without_type() {
                Some(body) => {
                    text.push(b'{');
                    text.extend_from_slice(body);
                }
                None => text.extend_from_slice(&without_type(object)),
            },
            ItemText::Metadata => text.extend_from_slice(&table::partial_metadata(object)),
        }
    }
}

impl Iterator for ListText {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        let mut text = self.head.take().unwrap_or_default();
        text.reserve(self.size_hint.min(LIST_CHUNK_BYTES + 4096));
        while text.len() < LIST_CHUNK_BYTES {
            let Some(object) = self.objects.next() else {
                text.extend_from_slice(b"]}\n");
                self.ended = true;
                break;
            };
            if !std::mem::replace(&mut self.first, false) {
                text.push(b',');
            }
            self.push_item(&object, &mut text);
        }
        Some(text)
    }
}

/// The slow way, for objects that another server wrote in another order.
fn without_type(object: &Object) -> Vec<u8> {
    let mut value = wire::json::parse(object.bytes()).map(|parsed| parsed.value).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        members.remove("apiVersion");
        members.remove("kind");
    }
    wire::json::to_vec(&value)
}

/// Compresses chunk by chunk.
struct Gzip<I> {
    chunks: I,
    encoder: Option<flate2::write::GzEncoder<Vec<u8>>>,
}

impl<I> Gzip<I> {
    fn new(chunks: I) -> Self {
        let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
        Gzip { chunks, encoder: Some(encoder) }
    }
}

impl<I: Iterator<Item = Vec<u8>>> Iterator for Gzip<I> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(chunk) = self.chunks.next() else {
                return self.encoder.take()?.finish().ok();
            };
            let encoder = self.encoder.as_mut()?;
            encoder.write_all(&chunk).ok()?; // writing to a vector does not fail
            if !encoder.get_ref().is_empty() {
                return Some(std::mem::take(encoder.get_mut()));
            }
        }
    }
}

/// A response with a body that is at hand.
fn bytes(code: u16, content_type: &'static str, body: Bytes, gzip: bool) -> Response<Body> {
    let compress = gzip && body.len() >= GZIP_MIN_BYTES;
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
    let gzip = gzip && document.len() >= GZIP_MIN_BYTES;
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
    let content_type = match media {
        Media::Yaml => "application/yaml",
        Media::Json | Media::PrettyJson => "application/json",
    };
    let mut response = plain(status.code, content_type, encode(&status.to_value(), media));
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// What the reference's router says of paths it does not know.
pub(crate) fn page_not_found() -> Response<Body> {
    let mut response = plain(404, "text/plain; charset=utf-8", "404 page not found\n");
    let no_sniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
    response
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
