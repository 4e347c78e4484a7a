//! `OpenAPI` v3, one document for each version of a group, made when somebody asks.
//!
//! Holds what kubectl needs to create, apply and explain: the operations with their parameters, and the
//! schemas of custom resources as their definitions give them. Built-in kinds are named but not yet
//! described in detail.
//!
//! Upstream: kube-openapi/pkg/handler3, apiextensions-apiserver/pkg/controller/openapi/builder, v1.36.

use std::fmt::Write;

use meta::{Map, Text, Value, wire::json};

use super::discovery::Document;
use super::resource::Source;
use super::{Catalog, GroupVersion, Resource};

/// The list of documents.
pub fn root(catalog: &Catalog) -> Document {
    let mut paths = Map::new();
    for group in catalog.groups() {
        for version in &group.versions {
            let path = if group.name.is_empty() {
                format!("api/{}", version.version)
            } else {
                format!("apis/{}", version.group_version())
            };
            let tag = &group_version(version).etag;
            let url = format!("/openapi/v3/{path}?hash={tag}");
            let entry: Map = [("serverRelativeURL", Value::from(url))].into_iter().collect();
            paths.insert(path, entry);
        }
    }
    Document::new(json::to_vec(&object([("paths", Value::Object(paths))])))
}

/// The document of one version of a group.
pub fn group_version(version: &GroupVersion) -> &Document {
    version.fragments.openapi.get_or_init(|| {
        let (mut paths, mut schemas) = (Map::new(), Map::new());
        for resource in version.resources.values() {
            add_paths(resource, &mut paths);
            schemas.insert(schema_name(resource), schema(resource));
        }
        let info = object([
            ("title", "Kubernetes".into()),
            ("version", crate::documents::KUBERNETES_VERSION.into()),
        ]);
        Document::new(json::to_vec(&object([
            ("openapi", "3.0.0".into()),
            ("info", info),
            ("paths", Value::Object(paths)),
            ("components", object([("schemas", Value::Object(schemas))])),
        ])))
    })
}

/// `com.example.stable.v1.CronTab`: the group turned around, as the reference names it.
fn schema_name(resource: &Resource) -> String {
    let group = match (resource.group.as_str(), &resource.source) {
        ("", _) => "io.k8s.api.core".to_owned(),
        (group, _) => {
            let mut parts: Vec<&str> = group.split('.').collect();
            parts.reverse();
            parts.join(".")
        }
    };
    format!("{group}.{}.{}", resource.version, resource.names.kind)
}

fn kind_extension(resource: &Resource) -> Value {
    object([
        ("group", resource.group.clone().into()),
        ("version", resource.version.clone().into()),
        ("kind", resource.names.kind.clone().into()),
    ])
}

/// The schema of a kind, with the members that every object has.
fn schema(resource: &Resource) -> Value {
    let mut schema = match &resource.published {
        Some(published) => published.schema(&resource.version).unwrap_or_default(),
        None => Value::Null,
    };
    if !matches!(schema, Value::Object(_)) {
        schema = object([("type", "object".into())]);
    }
    if let Value::Object(members) = &mut schema {
        members.insert("x-kubernetes-group-version-kind", vec![kind_extension(resource)]);
        if matches!(resource.source, Source::Definition { .. }) {
            let properties = members.get_or_insert_with("properties", || Value::Object(Map::new()));
            if let Value::Object(properties) = properties {
                add_standard_properties(properties);
            }
        }
    }
    schema
}

fn add_standard_properties(properties: &mut Map) {
    let text = |description: &str| object([("type", "string".into()), ("description", description.into())]);
    properties.insert("apiVersion", text("APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"));
    properties.insert("kind", text("Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"));
    let metadata = object([
        ("type", "object".into()),
        ("description", "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata".into()),
    ]);
    properties.insert("metadata", metadata);
}

fn add_paths(resource: &Resource, paths: &mut Map) {
    let mut base = String::from(if resource.group.is_empty() { "/api" } else { "/apis" });
    if !resource.group.is_empty() {
        let _ = write!(base, "/{}", resource.group);
    }
    let _ = write!(base, "/{}", resource.version);
    let plural = &resource.names.plural;
    let collection = if resource.namespaced {
        format!("{base}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{base}/{plural}")
    };
    if resource.namespaced {
        paths.insert(format!("{base}/{plural}"), operations(resource, &["list"]));
    }
    paths.insert(collection.clone(), operations(resource, &["list", "create", "deletecollection"]));
    let one = format!("{collection}/{{name}}");
    paths.insert(one.clone(), operations(resource, &["get", "update", "patch", "delete"]));
    for subresource in &resource.subresources {
        paths.insert(format!("{one}/{}", subresource.name), operations(resource, &subresource.verbs));
    }
}

fn operations(resource: &Resource, verbs: &[&'static str]) -> Value {
    let mut operations = Map::new();
    for verb in verbs {
        let (method, action, parameters): (_, _, &[&str]) = match *verb {
            "list" => ("get", "list", &LIST_PARAMETERS),
            "get" => ("get", "get", &[]),
            "create" => ("post", "post", &WRITE_PARAMETERS),
            "update" => ("put", "put", &WRITE_PARAMETERS),
            "patch" => ("patch", "patch", &PATCH_PARAMETERS),
            "delete" => ("delete", "delete", &DELETE_PARAMETERS),
            "deletecollection" => ("delete", "deletecollection", &LIST_PARAMETERS),
            _ => continue,
        };
        operations.insert(method, operation(resource, action, parameters));
    }
    Value::Object(operations)
}

const WRITE_PARAMETERS: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const PATCH_PARAMETERS: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE_PARAMETERS: [&str; 4] =
    ["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
const LIST_PARAMETERS: [&str; 8] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "watch",
];

fn operation(resource: &Resource, action: &str, parameters: &[&str]) -> Value {
    let parameters: Vec<Value> = parameters.iter().map(|name| parameter(name)).collect();
    let schema = object([("$ref", format!("#/components/schemas/{}", schema_name(resource)).into())]);
    let content = object([("application/json", object([("schema", schema)]))]);
    let response = object([("description", "OK".into()), ("content", content)]);
    object([
        ("parameters", Value::Array(parameters)),
        ("responses", object([("200", response)])),
        ("x-kubernetes-action", action.into()),
        ("x-kubernetes-group-version-kind", kind_extension(resource)),
    ])
}

fn parameter(name: &str) -> Value {
    let kind = match name {
        "limit" | "gracePeriodSeconds" => "integer",
        "allowWatchBookmarks" | "watch" | "force" | "orphanDependents" => "boolean",
        _ => "string",
    };
    object([
        ("name", name.into()),
        ("in", "query".into()),
        ("schema", object([("type", kind.into()), ("uniqueItems", true.into())])),
    ])
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(key, value)| (Text::from(key), value)).collect())
}
