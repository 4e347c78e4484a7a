//! The documents that tell clients what is served, made from the catalog when somebody asks.
//!
//! Pieces are kept with the part of the catalog they describe, so a change invalidates only its own.
//!
//! Upstream: apiserver/pkg/endpoints/discovery{,/aggregated}, v1.36.

use std::sync::OnceLock;

use bytes::Bytes;
use meta::gvk::Gvk;
use meta::{Map, Text, Value, wire::json};
use sha2::{Digest, Sha512};

use super::{Catalog, Group, GroupVersion, Resource};

/// Documents about the whole catalog.
#[derive(Default)]
pub struct Documents {
    aggregated_core: OnceLock<Document>,
    aggregated_groups: OnceLock<Document>,
    group_list: OnceLock<Bytes>,
    pub(super) openapi_hash: OnceLock<String>,
}

/// Documents about one version of a group.
#[derive(Default)]
pub struct Fragments {
    resource_list: OnceLock<Bytes>,
    aggregated: OnceLock<Bytes>,
    /// What is built in.
    pub(super) openapi: OnceLock<super::openapi::pieces::Members>,
    pub(super) openapi_hash: OnceLock<String>,
}

/// A document and the tag that says whether a client has it already.
#[derive(Clone, Debug)]
pub struct Document {
    pub body: Bytes,
    pub etag: String,
}

impl Document {
    pub fn new(body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let etag = hex(&Sha512::digest(&body));
        Document { body, etag }
    }
}

/// Bytes in hexadecimal, in capitals.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// `/api`, for clients of old.
pub fn api_versions(server_address: &str) -> Bytes {
    let mut text = br#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"#.to_vec();
    json::encode_str(server_address, &mut text);
    text.extend_from_slice(b"}]}");
    text.into()
}

/// `/apis`, for clients of old.
pub fn group_list(catalog: &Catalog) -> Bytes {
    catalog
        .documents
        .group_list
        .get_or_init(|| {
            let groups = named_groups(catalog).map(|group| group_value(catalog, group)).collect();
            json::to_vec(&object([
                ("kind", Value::from("APIGroupList")),
                ("apiVersion", "v1".into()),
                ("groups", Value::Array(groups)),
            ]))
            .into()
        })
        .clone()
}

/// `/apis/<group>`.
pub fn group(catalog: &Catalog, group: &Group) -> Bytes {
    let Value::Object(mut value) = group_value(catalog, group) else { return Bytes::new() };
    value.insert("kind", "APIGroup");
    value.insert("apiVersion", "v1");
    json::to_vec(&Value::Object(value)).into()
}

/// `/api/<version>` or `/apis/<group>/<version>`.
pub fn resource_list(version: &GroupVersion) -> Bytes {
    let list = &version.fragments.resource_list;
    list.get_or_init(|| {
        let mut resources = Vec::new();
        for resource in version.resources.values() {
            resources.push(resource_value(resource));
            resources.extend(resource.subresources.iter().map(|sub| subresource_value(resource, sub)));
        }
        let mut list = Map::new();
        list.insert("kind", "APIResourceList");
        // The reference's list of the core group carries no version of its own.
        if !version.group.is_empty() {
            list.insert("apiVersion", "v1");
        }
        list.insert("groupVersion", version.group_version());
        list.insert("resources", resources);
        json::to_vec(&Value::Object(list)).into()
    })
    .clone()
}

/// `/api` or `/apis` as one document with everything in it.
pub fn aggregated(catalog: &Catalog, core: bool) -> &Document {
    let (cell, groups): (_, Vec<&Group>) = if core {
        let groups = catalog.group("").map(AsRef::as_ref).into_iter().collect();
        (&catalog.documents.aggregated_core, groups)
    } else {
        (&catalog.documents.aggregated_groups, named_groups(catalog).collect())
    };
    cell.get_or_init(|| {
        let mut text = br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":["#.to_vec();
        for (index, group) in groups.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            aggregated_group(group, &mut text);
        }
        text.extend_from_slice(b"]}");
        Document::new(text)
    })
}

fn aggregated_group(group: &Group, text: &mut Vec<u8>) {
    text.extend_from_slice(b"{\"metadata\":");
    let metadata: Map = if group.name.is_empty() {
        Map::new()
    } else {
        [("name", Value::from(group.name.clone()))].into_iter().collect()
    };
    json::encode(&Value::Object(metadata), text);
    text.extend_from_slice(b",\"versions\":[");
    for (index, version) in group.versions.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(aggregated_version(version));
    }
    text.extend_from_slice(b"]}");
}

fn aggregated_version(version: &GroupVersion) -> &Bytes {
    version.fragments.aggregated.get_or_init(|| {
        let resources = version.resources.values().map(|resource| aggregated_resource(resource)).collect();
        json::to_vec(&object([
            ("version", Value::from(version.version.clone())),
            ("resources", Value::Array(resources)),
            ("freshness", "Current".into()),
        ]))
        .into()
    })
}

fn aggregated_resource(resource: &Resource) -> Value {
    let own_kind = Gvk::new(resource.group.clone(), resource.version.clone(), resource.names.kind.clone());
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    let mut value: Map = [
        ("resource", Value::from(resource.names.plural.clone())),
        ("responseKind", kind_value(&own_kind)),
        ("scope", scope.into()),
        ("singularResource", resource.names.singular.clone().into()),
        ("verbs", texts(&resource.verbs)),
    ]
    .into_iter()
    .collect();
    insert_names(resource, &mut value);
    if !resource.subresources.is_empty() {
        let subresources = resource.subresources.iter().map(|sub| {
            object([
                ("subresource", Value::from(sub.name.clone())),
                ("responseKind", kind_value(sub.kind.as_ref().unwrap_or(&own_kind))),
                ("verbs", texts(&sub.verbs)),
            ])
        });
        value.insert("subresources", subresources.collect::<Vec<_>>());
    }
    Value::Object(value)
}

fn resource_value(resource: &Resource) -> Value {
    let mut value: Map = [
        ("name", Value::from(resource.names.plural.clone())),
        ("singularName", resource.names.singular.clone().into()),
        ("namespaced", resource.namespaced.into()),
        ("kind", resource.names.kind.clone().into()),
        ("verbs", texts(&resource.verbs)),
    ]
    .into_iter()
    .collect();
    if let Some(hash) = resource.storage_version_hash() {
        value.insert("storageVersionHash", hash);
    }
    insert_names(resource, &mut value);
    Value::Object(value)
}

fn subresource_value(resource: &Resource, sub: &super::resource::Subresource) -> Value {
    let mut value: Map = [
        ("name", Value::from(format!("{}/{}", resource.names.plural, sub.name))),
        ("singularName", "".into()),
        ("namespaced", resource.namespaced.into()),
        ("verbs", texts(&sub.verbs)),
    ]
    .into_iter()
    .collect();
    match &sub.kind {
        None => {
            value.insert("kind", resource.names.kind.clone());
        }
        Some(kind) => {
            value.insert("group", kind.group.clone());
            value.insert("version", kind.version.clone());
            value.insert("kind", kind.kind.clone());
        }
    }
    Value::Object(value)
}

fn insert_names(resource: &Resource, value: &mut Map) {
    for (key, names) in
        [("shortNames", &resource.names.short_names), ("categories", &resource.names.categories)]
    {
        if !names.is_empty() {
            value.insert(key, names.iter().cloned().map(Value::from).collect::<Vec<_>>());
        }
    }
}

fn group_value(catalog: &Catalog, group: &Group) -> Value {
    let versions = catalog.listed_versions(group).into_iter().map(|version| {
        object([
            ("groupVersion", Value::from(format!("{}/{version}", group.name))),
            ("version", version.into()),
        ])
    });
    let versions: Vec<Value> = versions.collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    object([
        ("name", Value::from(group.name.clone())),
        ("versions", Value::Array(versions)),
        ("preferredVersion", preferred),
    ])
}

/// All groups but the core one: ours first, then those of definitions, by name.
fn named_groups(catalog: &Catalog) -> impl Iterator<Item = &Group> {
    let named = || catalog.groups().map(AsRef::as_ref).filter(|group: &&Group| !group.name.is_empty());
    named().filter(|group| group.builtin).chain(named().filter(|group| !group.builtin))
}

fn kind_value(kind: &Gvk) -> Value {
    object([
        ("group", Value::from(kind.group.clone())),
        ("version", kind.version.clone().into()),
        ("kind", kind.kind.clone().into()),
    ])
}

fn texts(texts: &[&'static str]) -> Value {
    Value::Array(texts.iter().map(|text| Value::from(*text)).collect())
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (Text::from(key), value)).collect())
}
