//! `OpenAPI`: v3 with one document for each version of a group, v2 with one for everything.
//!
//! Made when somebody asks, of pieces that are kept with the definition they describe; a definition
//! that nobody asks about costs nothing here. The hash of a document is one of what it is made from, so that
//! the list of documents is told without making them.
//!
//! Upstream: kube-openapi/pkg/{handler,handler3}, apiextensions-apiserver/pkg/controller/openapi{,v3}, v1.36.

mod binary;
mod builtin;
mod parameters;
mod paths;
pub mod pieces;
mod schemas;

use meta::{Map, Text, Value, wire::json};
use sha2::{Digest, Sha512};

use super::discovery::{Document, hex};
use super::packed::Packed;
use super::resource::Source;
use super::{Catalog, GroupVersion, Resource};
use crate::documents::KUBERNETES_VERSION;

/// Which `OpenAPI` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    V2,
    V3,
}

impl Dialect {
    fn reference(self, name: &str) -> Value {
        let place = match self {
            Dialect::V2 => "#/definitions/",
            Dialect::V3 => "#/components/schemas/",
        };
        object([("$ref", format!("{place}{name}").into())])
    }
}

/// The list of documents of `OpenAPI` v3.
pub fn root(catalog: &Catalog) -> Document {
    let mut paths = Map::new();
    let mut add = |path: String, hash: &str| {
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, object([("serverRelativeURL", url.into())]));
    };
    for group in catalog.groups() {
        for version in &group.versions {
            add(path_of(version), hash(version));
        }
    }
    for path in plain_paths(catalog) {
        let document = plain(&path);
        add(path, &document.etag);
    }
    Document::new(json::to_vec(&object([("paths", Value::Object(paths))])))
}

/// Where the document of a version is, below `/openapi/v3/`.
pub fn path_of(version: &GroupVersion) -> String {
    if version.group.is_empty() {
        format!("api/{}", version.version)
    } else {
        format!("apis/{}", version.group_version())
    }
}

/// The documents about paths that are no resources.
fn plain_paths(catalog: &Catalog) -> impl Iterator<Item = String> {
    let named = catalog.groups().filter(|group| group.builtin && !group.name.is_empty());
    let groups = named.map(|group| format!("apis/{}", group.name));
    ["api", "apis", "version"].into_iter().map(str::to_owned).chain(groups)
}

/// A document of `OpenAPI` v3, in protobuf. Hardly anybody asks for it, so nothing of it is kept.
pub fn to_binary(document: &[u8]) -> Vec<u8> {
    let tree = json::parse(document).map(|parsed| parsed.value).unwrap_or_default();
    let mut message = Vec::new();
    binary::v3::document(&tree, &mut message);
    message
}

/// A document of `OpenAPI` v3 about a path that is no resource.
pub fn about_path(catalog: &Catalog, path: &str) -> Option<Document> {
    plain_paths(catalog).any(|known| known == path).then(|| plain(path))
}

fn plain(path: &str) -> Document {
    let response = object([("description", "OK".into())]);
    let denied = object([("description", "Unauthorized".into())]);
    let get = object([("responses", object([("200", response), ("401", denied)]))]);
    let served = [(format!("/{path}/"), object([("get", get)]))].into_iter().collect::<Map>();
    let info = object([("title", "Kubernetes".into()), ("version", KUBERNETES_VERSION.into())]);
    Document::new(json::to_vec(&object([
        ("info", info),
        ("openapi", "3.0.0".into()),
        ("paths", Value::Object(served)),
    ])))
}

/// A hash of everything that a version's document is made from.
pub fn hash(version: &GroupVersion) -> &str {
    version.fragments.openapi_hash.get_or_init(|| {
        let mut digest = Sha512::new();
        digest.update(env!("CARGO_PKG_VERSION"));
        digest.update(KUBERNETES_VERSION);
        digest.update(version.group_version());
        for resource in version.resources.values() {
            digest.update(resource.names.plural.as_bytes());
            if let Some(published) = &resource.published {
                let names = &resource.names;
                let state = format!("/{}/{}/{names:?}", published.uid, published.generation);
                digest.update(state);
            }
        }
        hex(&digest.finalize())
    })
}

/// The document of one version of a group, in JSON.
pub fn group_version(version: &GroupVersion) -> Packed {
    let builtin = version.fragments.openapi.get_or_init(|| pieces::builtin_of_version(version));
    let customs: Vec<_> = pieces::customs(version.resources.values())
        .map(|(resource, pieces)| (resource, pieces.members(resource, Dialect::V3)))
        .collect();
    let members = || std::iter::once(builtin).chain(customs.iter().map(|(_, members)| *members));
    let scale = customs.iter().any(|(resource, _)| pieces::has_scale(resource));
    let mut text = br#"{"openapi":"3.0.0","info":"#.to_vec();
    json::encode(&info(version), &mut text);
    text.extend_from_slice(br#","paths":{"#);
    let mut document = Packed::default();
    document.text(text);
    document.members(members().map(|members| &members.paths));
    document.text(br#"},"components":{"schemas":{"#);
    let definitions = members().map(|members| &members.definitions);
    let scale = scale.then(|| pieces::scale(Dialect::V3));
    document.members(std::iter::once(pieces::common(Dialect::V3)).chain(scale).chain(definitions));
    document.text("}}}");
    document
}

fn info(version: &GroupVersion) -> Value {
    let custom = |resource: &super::Arc<Resource>| matches!(resource.source, Source::Definition { .. });
    let (title, release) = if version.resources.values().all(custom) {
        ("Kubernetes CRD Swagger", "v0.1.0")
    } else {
        ("Kubernetes", KUBERNETES_VERSION)
    };
    object([("title", title.into()), ("version", release.into())])
}

/// `OpenAPI` v2 of everything, in JSON.
pub fn whole(catalog: &Catalog) -> Packed {
    let builtin = catalog.builtin_pieces.json(catalog);
    let customs: Vec<_> = published(catalog)
        .map(|(resource, pieces)| (resource, pieces.members(resource, Dialect::V2)))
        .collect();
    let members = || std::iter::once(builtin).chain(customs.iter().map(|(_, members)| *members));
    let scale = customs.iter().any(|(resource, _)| pieces::has_scale(resource));
    let scale = (scale && !pieces::is_scale_built_in(catalog)).then(|| pieces::scale(Dialect::V2));
    let mut text = vec![b'{'];
    add_members(&frame(), &mut text);
    text.extend_from_slice(br#","definitions":{"#);
    let mut document = Packed::default();
    document.text(text);
    document.members(members().map(|members| &members.definitions).chain(scale));
    document.text(br#"},"paths":{"#);
    document.members(members().map(|members| &members.paths));
    document.text("}}");
    document
}

/// `OpenAPI` v2 of everything, in protobuf.
pub fn whole_binary(catalog: &Catalog) -> Packed {
    let mut message = Vec::new();
    binary::v2::document(&frame(), &mut message);
    let mut document = Packed::default();
    document.text(message);
    document.piece(catalog.builtin_pieces.binary(catalog));
    let mut scale = pieces::is_scale_built_in(catalog);
    for (resource, pieces) in published(catalog) {
        if !scale && pieces::has_scale(resource) {
            document.piece(pieces::scale_binary());
            scale = true;
        }
        document.piece(pieces.binary(resource));
    }
    document
}

/// A hash of everything that `OpenAPI` v2 is made from, and of the form it is in.
pub fn whole_hash(catalog: &Catalog, in_json: bool) -> String {
    let parts = catalog.documents.openapi_hash.get_or_init(|| {
        let mut digest = Sha512::new();
        for version in catalog.groups().flat_map(|group| &group.versions) {
            digest.update(hash(version));
        }
        hex(&digest.finalize())
    });
    let form: &[u8] = if in_json { b"json" } else { b"protobuf" };
    hex(&Sha512::new().chain_update(parts).chain_update(form).finalize())
}

/// The custom resources that `OpenAPI` v2 tells of. One that has the name of something built in is not told.
fn published(catalog: &Catalog) -> impl Iterator<Item = (&Resource, &pieces::Pieces)> {
    let resources = catalog.groups().flat_map(|group| &group.versions).flat_map(|v| v.resources.values());
    pieces::customs(resources).filter(|(resource, _)| {
        let kinds = [&resource.names.kind, &resource.names.list_kind];
        !kinds.iter().any(|kind| catalog.builtin_pieces.has(catalog, &custom_name(resource, kind)))
    })
}

/// What stands once in a document of `OpenAPI` v2.
fn frame() -> Map {
    let token = object([
        ("description", "Bearer Token authentication".into()),
        ("in", "header".into()),
        ("name", "authorization".into()),
        ("type", "apiKey".into()),
    ]);
    let info = object([("title", "Kubernetes".into()), ("version", KUBERNETES_VERSION.into())]);
    let members = [
        ("info", info),
        ("parameters", paths::shared()),
        ("security", vec![object([("BearerToken", Vec::new().into())])].into()),
        ("securityDefinitions", object([("BearerToken", token)])),
        ("swagger", "2.0".into()),
    ];
    members.into_iter().collect()
}

fn add_members(members: &Map, text: &mut Vec<u8>) {
    for (key, value) in members.iter() {
        if !matches!(text.last(), None | Some(b'{')) {
            text.push(b',');
        }
        json::encode_str(key, text);
        text.push(b':');
        json::encode(value, text);
    }
}

/// `com.example.stable.v1.CronTab`: the group turned around.
fn custom_name(resource: &Resource, kind: &str) -> String {
    let mut group: Vec<&str> = resource.group.split('.').collect();
    group.reverse();
    format!("{}.{}.{kind}", group.join("."), resource.version)
}

fn kind_value(resource: &Resource, kind: &str) -> Value {
    object([
        ("group", resource.group.clone().into()),
        ("kind", kind.into()),
        ("version", resource.version.clone().into()),
    ])
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (Text::from(key), value)).collect())
}
