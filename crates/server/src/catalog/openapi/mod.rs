//! OpenAPI: v3 with one document for each version of a group, v2 with one for everything.
//!
//! Made when somebody asks, of pieces that are kept with the part of the catalog they describe; a definition
//! that nobody asks about costs nothing here. The hash of a document is one of what it is made from, so that
//! the list of documents is told without making them.
//!
//! Upstream: kube-openapi/pkg/{handler,handler3}, apiextensions-apiserver/pkg/controller/openapi{,v3}, v1.36.

mod builtin;
mod parameters;
mod paths;
mod schemas;

use bytes::Bytes;
use meta::{Map, Text, Value, wire::json};
use sha2::{Digest, Sha512};

use self::builtin::Definitions;
use super::discovery::{Document, hex};
use super::form::Form;
use super::resource::Source;
use super::{Catalog, GroupVersion, Resource};
use crate::documents::KUBERNETES_VERSION;

/// Which OpenAPI is written.
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

/// The list of documents of OpenAPI v3.
pub fn root(catalog: &Catalog) -> Document {
    let mut paths = Map::new();
    for group in catalog.groups() {
        for version in &group.versions {
            let path = if group.name.is_empty() {
                format!("api/{}", version.version)
            } else {
                format!("apis/{}", version.group_version())
            };
            let url = format!("/openapi/v3/{path}?hash={}", hash(version));
            paths.insert(path, object([("serverRelativeURL", url.into())]));
        }
    }
    Document::new(json::to_vec(&object([("paths", Value::Object(paths))])))
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

/// The document of one version of a group.
pub fn group_version(version: &GroupVersion) -> &Document {
    version.fragments.openapi.get_or_init(|| {
        let parts = parts(version, Dialect::V3);
        let document = object([
            ("openapi", "3.0.0".into()),
            ("info", info(version)),
            ("paths", Value::Object(parts.paths)),
            ("components", object([("schemas", Value::Object(parts.definitions))])),
        ]);
        Document { body: json::to_vec(&document).into(), etag: hash(version).to_owned() }
    })
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

fn parts(version: &GroupVersion, dialect: Dialect) -> Parts {
    let mut definitions = Definitions::new(dialect);
    definitions.add_common();
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

/// OpenAPI v2 of everything.
pub fn whole(catalog: &Catalog) -> &Document {
    catalog.documents.openapi_v2.get_or_init(|| {
        let mut definitions = Definitions::new(Dialect::V2);
        definitions.add_common();
        let common = std::mem::take(&mut definitions.found);
        let mut text = Joined::default();
        let mut known: std::collections::HashSet<String> = common.keys().map(str::to_owned).collect();
        text.add(&Parts { paths: Map::new(), definitions: common });
        for version in catalog.groups().flat_map(|group| &group.versions) {
            let mut parts = parts(version, Dialect::V2);
            parts.definitions.retain(|name, _| known.insert(name.to_owned()));
            text.add(&parts);
        }
        Document::new(text.finish())
    })
}

/// The text of a joined document, piece by piece: the tree of a large one is never in memory as a whole.
#[derive(Default)]
struct Joined {
    paths: Vec<u8>,
    definitions: Vec<u8>,
}

impl Joined {
    fn add(&mut self, parts: &Parts) {
        add_members(&parts.paths, &mut self.paths);
        add_members(&parts.definitions, &mut self.definitions);
    }

    fn finish(self) -> Bytes {
        let info = object([("title", "Kubernetes".into()), ("version", KUBERNETES_VERSION.into())]);
        let mut text = br#"{"swagger":"2.0","info":"#.to_vec();
        json::encode(&info, &mut text);
        text.extend_from_slice(br#","paths":{"#);
        text.extend_from_slice(&self.paths);
        text.extend_from_slice(br#"},"definitions":{"#);
        text.extend_from_slice(&self.definitions);
        text.extend_from_slice(br#"},"parameters":"#);
        json::encode(&paths::shared(), &mut text);
        text.extend_from_slice(br#","securityDefinitions":{"BearerToken":{"description":"Bearer Token authentication","type":"apiKey","name":"authorization","in":"header"}},"security":[{"BearerToken":[]}]}"#);
        text.into()
    }
}

fn add_members(members: &Map, text: &mut Vec<u8>) {
    for (key, value) in members.iter() {
        if !text.is_empty() {
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
