//! Paths that are neither resources nor health: discovery, `OpenAPI` and the version.

mod openapi;

use std::sync::Arc;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{self, HeaderMap};
use meta::status::Status;
use meta::wire::{json, yaml};

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
    let path = asked.info.path.trim_end_matches('/');
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        [] | [""] => Ok(plain(root_paths(catalog), asked)),
        ["crest", "backup"] => asked.only_get().map(|()| respond::backup(server.registry.store().clone())),
        ["version"] => asked.only_get().map(|()| plain(version().into(), asked)),
        ["api"] => api(server, catalog, asked),
        ["apis"] => apis(catalog, asked),
        ["api", version] => group_version(catalog, "", version, asked),
        ["apis", group] => match catalog.group(group) {
            Some(group) => Ok(plain(discovery::group(group), asked)),
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
            Method::Get | Method::Head => Ok(()),
            _ => Err(verbs::method_not_allowed()),
        }
    }

    fn known_tag(&self) -> Option<&str> {
        self.headers.get(header::IF_NONE_MATCH)?.to_str().ok()
    }
}

fn api(server: &Server, catalog: &Catalog, asked: &Asked<'_>) -> Result<Response<Body>, Status> {
    asked.only_get()?;
    if negotiate::wants_aggregated(asked.formats)? {
        let document = discovery::aggregated(catalog, true);
        return Ok(respond::document(document, AGGREGATED, asked.known_tag(), asked.gzip));
    }
    let address = server.address.get().map(String::as_str).unwrap_or_default();
    Ok(plain(discovery::api_versions(address), asked))
}

fn apis(catalog: &Catalog, asked: &Asked<'_>) -> Result<Response<Body>, Status> {
    if negotiate::wants_aggregated(asked.formats)? {
        let document = discovery::aggregated(catalog, false);
        return Ok(respond::document(document, AGGREGATED, asked.known_tag(), asked.gzip));
    }
    Ok(plain(discovery::group_list(catalog), asked))
}

fn group_version(
    catalog: &Catalog,
    group: &str,
    version: &str,
    asked: &Asked<'_>,
) -> Result<Response<Body>, Status> {
    let Some(found) = catalog.group_version(group, version) else {
        let ours = catalog.group(group).is_some_and(|group| group.builtin);
        return if ours && group.is_empty() {
            Err(verbs::not_found())
        } else {
            Ok(respond::page_not_found())
        };
    };
    asked.only_get()?;
    Ok(plain(discovery::resource_list(found), asked))
}

/// A JSON document in the encoding that the client wants.
fn plain(document: Bytes, asked: &Asked<'_>) -> Response<Body> {
    let reread = || json::parse(&document).map(|parsed| parsed.value).unwrap_or_default();
    match negotiate::media(asked.formats, &asked.info.query) {
        Media::Json => respond::plain(200, "application/json", document),
        Media::PrettyJson => {
            let mut text = Vec::new();
            json::encode_pretty(&reread(), &mut text);
            respond::plain(200, "application/json", text)
        }
        Media::Yaml => respond::plain(200, "application/yaml", yaml::encode(&reread())),
    }
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
    let mut text = Vec::new();
    json::encode_pretty(&meta::Value::Object(value), &mut text);
    text
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
