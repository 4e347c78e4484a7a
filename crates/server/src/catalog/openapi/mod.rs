//! `OpenAPI`: v3 with one document for each version of a group, v2 with one for everything.
//!
//! Made when somebody asks, of pieces that are kept with the part of the catalog they describe; a definition
//! that nobody asks about costs nothing here. The hash of a document is one of what it is made from, so that
//! the list of documents is told without making them.
//!
//! Upstream: kube-openapi/pkg/{handler,handler3}, apiextensions-apiserver/pkg/controller/openapi{,v3}, v1.36.

mod binary;
mod builtin;
mod parameters;
mod paths;
mod schemas;

use meta::{Map, Text, Value, wire::json};
use sha2::{Digest, Sha512};

use self::builtin::Definitions;
use super::discovery::{Document, hex};
use super::form::Form;
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

/// The JSON of a small document, in protobuf.
pub fn to_binary(document: &Document) -> Document {
    let tree = json::parse(&document.body).map(|parsed| parsed.value).unwrap_or_default();
    let mut message = Vec::new();
    binary::v3::document(&tree, &mut message);
    Document { body: message.into(), etag: document.etag.clone() }
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
pub fn group_version(version: &GroupVersion) -> &Document {
    version.fragments.openapi.get_or_init(|| {
        let body = json::to_vec(&tree(version)).into();
        Document { body, etag: hash(version).to_owned() }
    })
}

/// The document of one version of a group, in protobuf. Hardly anybody asks for it, so it is not kept.
pub fn group_version_binary(version: &GroupVersion) -> Document {
    let mut message = Vec::new();
    binary::v3::document(&tree(version), &mut message);
    Document { body: message.into(), etag: hash(version).to_owned() }
}

fn tree(version: &GroupVersion) -> Value {
    let mut common = Definitions::new(Dialect::V3);
    common.add_common();
    let parts = parts(version, Dialect::V3, common);
    object([
        ("openapi", "3.0.0".into()),
        ("info", info(version)),
        ("paths", Value::Object(parts.paths)),
        ("components", object([("schemas", Value::Object(parts.definitions))])),
    ])
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

/// What one version of a group adds to a document.
struct Parts {
    paths: Map,
    definitions: Map,
}

/// What a version brings, beside the given definitions.
fn parts(version: &GroupVersion, dialect: Dialect, mut definitions: Definitions) -> Parts {
    let mut paths = Map::new();
    for resource in version.resources.values() {
        let names = add_definitions(resource, dialect, &mut definitions);
        paths::add(resource, &names, dialect, &mut paths);
    }
    Parts { paths, definitions: definitions.found }
}

fn add_definitions(resource: &Resource, dialect: Dialect, definitions: &mut Definitions) -> paths::Names {
    let scale = "io.k8s.api.autoscaling.v1.Scale".to_owned();
    match &resource.form {
        Form::Builtin(form) => paths::Names {
            kind: definitions.kind(form.kind, &resource.group),
            list: definitions.list(form.kind, &resource.group, &resource.names.list_kind),
            scale,
        },
        Form::Custom(form) => {
            let kind = custom_name(resource, &resource.names.kind);
            let list = custom_name(resource, &resource.names.list_kind);
            definitions.found.insert(kind.as_str(), schemas::kind(resource, dialect));
            definitions.found.insert(list.as_str(), schemas::list(resource, dialect));
            if form.scale.is_some() {
                definitions.add_scale();
            }
            paths::Names { kind, list, scale }
        }
    }
}

/// `OpenAPI` v2 of everything, in JSON.
pub fn whole(catalog: &Catalog) -> &Document {
    catalog.documents.openapi_v2.get_or_init(|| {
        let (mut paths, mut definitions) = (Vec::new(), Vec::new());
        each_part(catalog, |parts| {
            add_members(&parts.paths, &mut paths);
            add_members(&parts.definitions, &mut definitions);
        });
        let mut text = Vec::with_capacity(paths.len() + definitions.len() + (1 << 16));
        text.push(b'{');
        add_members(&frame(), &mut text);
        for (key, members) in [("definitions", &definitions), ("paths", &paths)] {
            text.push(b',');
            json::encode_str(key, &mut text);
            text.extend_from_slice(b":{");
            text.extend_from_slice(members);
            text.push(b'}');
        }
        text.push(b'}');
        Document::new(text)
    })
}

/// `OpenAPI` v2 of everything, in protobuf.
pub fn whole_binary(catalog: &Catalog) -> &Document {
    catalog.documents.openapi_v2_binary.get_or_init(|| {
        let mut message = Vec::new();
        binary::v2::document(&frame(), &mut message);
        each_part(catalog, |parts| {
            binary::v2::add_named(binary::v2::Part::Paths, parts.paths, &mut message);
            binary::v2::add_named(binary::v2::Part::Definitions, parts.definitions, &mut message);
        });
        Document::new(message)
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

/// Gives what each version of a group adds, definitions only once. The tree of all is never in memory as a
/// whole.
fn each_part(catalog: &Catalog, mut add: impl FnMut(Parts)) {
    let mut definitions = Definitions::new(Dialect::V2);
    definitions.add_common();
    let common = definitions.found;
    let mut known: std::collections::HashSet<String> = common.keys().map(str::to_owned).collect();
    add(Parts { paths: Map::new(), definitions: common });
    for version in catalog.groups().flat_map(|group| &group.versions) {
        let mut parts = parts(version, Dialect::V2, Definitions::new(Dialect::V2));
        parts.definitions.retain(|name, _| known.insert(name.to_owned()));
        add(parts);
    }
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
