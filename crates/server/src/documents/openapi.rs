//! The paths of `OpenAPI`: formats, tags, and documents that may be kept for ever under their hash.
//!
//! Upstream: kube-openapi/pkg/handler/handler.go, pkg/handler3/handler.go, v1.36.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use meta::status::Status;
use meta::wire::negotiate::parse_accept;

use super::Asked;
use crate::Server;
use crate::catalog::packed::Packed;
use crate::catalog::{Catalog, openapi};
use crate::respond::{self, Body};

const JSON: &str = "application/json";
/// The first is what clients ask for; since it is no valid media type, answers carry the second.
const V2_BINARY: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

const V3_BINARY: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
];

/// How long a document is kept that its address names by its hash.
const KEPT_HOURS: i64 = 365 * 24;

/// `/openapi/v2`.
pub(super) async fn whole(catalog: &Arc<Catalog>, asked: &Asked<'_>) -> Result<Response<Body>, Status> {
    let in_json = match preferred(asked, &[JSON, V2_BINARY[0], V2_BINARY[1]]) {
        Some(offer) => offer == JSON,
        None => return Ok(empty(StatusCode::NOT_ACCEPTABLE)),
    };
    let (catalog, gzip, known) = (catalog.clone(), asked.gzip, asked.known_tag().map(str::to_owned));
    let mut response = off_the_way(move || {
        let hash = openapi::whole_hash(&catalog, in_json);
        respond::tagged(&hash, known.as_deref(), || {
            if in_json {
                respond::packed(openapi::whole(&catalog), JSON, gzip)
            } else {
                respond::packed(openapi::whole_binary(&catalog), V2_BINARY[1], gzip)
            }
        })
    })
    .await?;
    if response.headers().contains_key(header::CONTENT_ENCODING) {
        let headers = response.headers_mut();
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        headers.append(header::VARY, HeaderValue::from_static("Accept"));
    }
    Ok(response)
}

/// Does what may take long with many definitions where it keeps nobody waiting.
async fn off_the_way(
    make: impl FnOnce() -> Response<Body> + Send + 'static,
) -> Result<Response<Body>, Status> {
    let made = tokio::task::spawn_blocking(make).await;
    made.map_err(|_| Status::internal_error("the document could not be made"))
}

/// `/openapi/v3`.
pub(super) fn root(catalog: &Catalog, asked: &Asked<'_>) -> Response<Body> {
    let document = openapi::root(catalog);
    respond::document(&document, "text/plain; charset=utf-8", asked.known_tag(), false)
}

/// A document of `/openapi/v3`.
pub(super) async fn part(
    server: &Server,
    catalog: &Catalog,
    path: &[&str],
    asked: &Asked<'_>,
) -> Result<Response<Body>, Status> {
    let version = match path {
        ["api", version] => catalog.group_version("", version),
        ["apis", group, version] => catalog.group_version(group, version),
        _ => None,
    };
    let path = path.join("/");
    let Some(content_type) = preferred(asked, &[JSON, V3_BINARY[0], V3_BINARY[1]]) else {
        return Ok(empty(StatusCode::NOT_ACCEPTABLE));
    };
    let in_json = content_type == JSON;
    let about_path = if version.is_none() { openapi::about_path(catalog, &path) } else { None };
    let etag = match (version, &about_path) {
        (Some(version), _) => openapi::hash(version),
        (None, Some(document)) => &document.etag,
        (None, None) => return Ok(empty(StatusCode::NOT_FOUND)),
    };
    let hash = asked.info.query.get("hash").unwrap_or_default();
    if !hash.is_empty() && hash != etag {
        return Ok(moved(&format!("/openapi/v3/{path}?hash={etag}")));
    }
    let (etag, known) = (etag.to_owned(), asked.known_tag().map(str::to_owned));
    let version = version.cloned();
    // The reference does not compress these.
    let mut response = off_the_way(move || {
        respond::tagged(&etag, known.as_deref(), || {
            let document = match (&version, about_path) {
                (Some(version), _) => openapi::group_version(version),
                (None, document) => document.map(Packed::from).unwrap_or_default(),
            };
            if in_json {
                return respond::packed(document, JSON, false);
            }
            let text = document.plain().collect::<Vec<_>>().concat();
            respond::plain(200, V3_BINARY[1], openapi::to_binary(&text))
        })
    })
    .await?;
    let now = server.env.now();
    respond::set_header(&mut response, "last-modified", &http_date(now));
    if !hash.is_empty() {
        let until = now.checked_add(jiff::SignedDuration::from_hours(KEPT_HOURS)).unwrap_or(now);
        respond::set_header(&mut response, "expires", &http_date(until));
        respond::set_header(&mut response, "cache-control", "public, immutable");
    }
    Ok(response)
}

/// The first of the offered types that a client takes, by its own order of preference.
fn preferred<'a>(asked: &Asked<'_>, offered: &[&'a str]) -> Option<&'a str> {
    let accept = if asked.formats.accept.is_empty() { "*/*" } else { &asked.formats.accept };
    let clauses = parse_accept(accept);
    clauses.iter().find_map(|clause| offered.iter().copied().find(|offer| clause.covers(offer)))
}

fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = code;
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn moved(to: &str) -> Response<Body> {
    let mut response = empty(StatusCode::MOVED_PERMANENTLY);
    respond::set_header(&mut response, "location", to);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

fn http_date(time: jiff::Timestamp) -> String {
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
