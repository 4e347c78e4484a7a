//! Paths that are neither resources nor health: discovery, `OpenAPI` and the version.

mod openapi;

use std::sync::Arc;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{self, HeaderMap};
use meta::status::Status;
use meta::wire::json;

use crate::Server;
use crate::catalog::{Catalog, discovery};
use crate::negotiate::{self, Headers, Media};
use crate::request::{Method, RequestInfo};
use crate::respond::{self, Body};
use crate::verbs;

/// What is asked, and how the answer may look.
pub(crate) struct Asked<'a> {
    pub info: &'a RequestInfo,
    pub formats: &'a Headers,
    pub headers: &'a HeaderMap,
    pub gzip: bool,
}

/// The version of Kubernetes whose API this is.
pub(crate) const KUBERNETES_VERSION: &str = "v1.36.4";

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers with a document, or with what the reference says of paths it does not know.
pub(crate) async fn answer(
    server: &Server,
    catalog: &Arc<Catalog>,
    asked: &Asked<'_>,
) -> Result<Response<Body>, Status> {
    let path = asked.info.path.as_str();
    let mut segments: Vec<&str> = path.split('/').skip(1).collect();
    // Only discovery and the version are found with a slash behind them.
    if matches!(segments.as_slice(), ["api" | "apis" | "version", .., ""]) {
        segments.pop();
    }
    match segments.as_slice() {
        [] | ["" | "index.html"] => Ok(raw(&root_paths(catalog))),
        ["crest", "backup"] => asked.only_get().map(|()| respond::backup(server.registry.store().clone())),
        ["version"] => {
            asked.only_get()?;
            negotiate::route_raw(asked.formats)?;
            Ok(raw(&version()))
        }
        ["version", ..] => Err(verbs::not_found()),
        ["api"] => api(server, catalog, asked),
        ["apis"] => apis(catalog, asked),
        ["api", version] => group_version(catalog, "", version, asked),
        ["apis", group] => match catalog.group(group) {
            Some(group) => plain(&discovery::group(catalog, group), asked),
            None => Ok(respond::page_not_found()),
        },
        ["apis", group, version] => group_version(catalog, group, version, asked),
        ["openapi", "v2"] => openapi::whole(catalog, asked).await,
        ["openapi", "v3"] => Ok(openapi::root(catalog, asked)),
        ["openapi", "v3", path @ ..] => openapi::part(server, catalog, path, asked).await,
        _ => Ok(respond::page_not_found()),
    }
}

impl Asked<'_> {
    fn only_get(&self) -> Result<(), Status> {
        match self.info.method {
            Method::Get => Ok(()),
            _ => Err(verbs::method_not_allowed()),
        }
    }

    /// Some documents stand behind a router that looks at methods and media types before anything else does.
    fn route(&self) -> Result<(), Status> {
        self.only_get()?;
        negotiate::route_document(self.formats)
    }

    fn known_tag(&self) -> Option<&str> {
        self.headers.get(header::IF_NONE_MATCH)?.to_str().ok()
    }
}

fn api(server: &Server, catalog: &Catalog, asked: &Asked<'_>) -> Result<Response<Body>, Status> {
    asked.route()?;
    if negotiate::wants_aggregated(asked.formats)? {
        return Ok(aggregated(discovery::aggregated(catalog, true), asked));
    }
    let address = server.address.get().map(String::as_str).unwrap_or_default();
    plain(&discovery::api_versions(address), asked)
}

fn apis(catalog: &Catalog, asked: &Asked<'_>) -> Result<Response<Body>, Status> {
    if negotiate::wants_aggregated(asked.formats)? {
        return Ok(aggregated(discovery::aggregated(catalog, false), asked));
    }
    plain(&discovery::group_list(catalog), asked)
}

fn group_version(
    catalog: &Catalog,
    group: &str,
    version: &str,
    asked: &Asked<'_>,
) -> Result<Response<Body>, Status> {
    let builtin = catalog.group(group).is_some_and(|group| group.builtin);
    let Some(found) = catalog.group_version(group, version) else {
        return if builtin { Err(verbs::not_found()) } else { Ok(respond::page_not_found()) };
    };
    // What answers for a definition's versions does not look at the method.
    if builtin {
        asked.route()?;
    }
    plain(&discovery::resource_list(found), asked)
}

/// A JSON document in the encoding that the client wants.
///
/// DIFFERENCE: who accepts nothing but the binary encoding gets JSON; no client of our kinds does so.
fn plain(document: &Bytes, asked: &Asked<'_>) -> Result<Response<Body>, Status> {
    let media = negotiate::document_media(asked.formats, &asked.info.query)?;
    let media = if media == Media::Protobuf { Media::Json } else { media };
    Ok(respond::text(200, document.clone(), media, asked.gzip))
}

/// A JSON document that is always laid out for people, whatever they accept.
fn raw(document: &[u8]) -> Response<Body> {
    let mut text = Vec::new();
    json::indent(document, &mut text);
    respond::plain(200, "application/json", text)
}

/// A document of discovery as a whole, which may be kept.
fn aggregated(document: &discovery::Document, asked: &Asked<'_>) -> Response<Body> {
    let mut response = respond::document(document, AGGREGATED, asked.known_tag(), asked.gzip);
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("public"));
    response
}

fn version() -> Vec<u8> {
    let minor = KUBERNETES_VERSION.split('.').nth(1).unwrap_or_default();
    let value = [
        ("major", "1"),
        ("minor", minor),
        ("emulationMajor", "1"),
        ("emulationMinor", minor),
        ("minCompatibilityMajor", "1"),
        ("minCompatibilityMinor", "35"),
        ("gitVersion", KUBERNETES_VERSION),
        ("gitCommit", ""),
        ("gitTreeState", "clean"),
        ("buildDate", ""),
        ("goVersion", ""),
        ("compiler", "rustc"),
        ("platform", "linux/amd64"),
    ];
    let value: meta::Map = value.into_iter().map(|(key, value)| (key, meta::Value::from(value))).collect();
    json::to_vec(&meta::Value::Object(value))
}

/// The paths that a person who looks around may try.
fn root_paths(catalog: &Catalog) -> Bytes {
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis", "/apis/"].map(str::to_owned).to_vec();
    for group in catalog.groups().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}", version.group_version())));
    }
    for path in [
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/readyz",
        "/version",
    ] {
        paths.push(path.to_owned());
    }
    paths.sort();
    let paths = paths.into_iter().map(meta::Value::from).collect::<Vec<_>>();
    let value: meta::Map = [("paths", meta::Value::Array(paths))].into_iter().collect();
    json::to_vec(&meta::Value::Object(value)).into()
}
