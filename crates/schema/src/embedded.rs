//! Resources embedded in an object have a type and, if any, valid metadata.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go, v1.36.

#[cfg(test)]
mod tests;

use meta::gvk::parse_api_version;
use meta::object::{Malformed, MetaOwner, NamespaceRule, coerce, validate_object_meta};
use meta::{FieldError, FieldPath, Map, Meta, Value, names};

use crate::structural::{Facts, Members, Node, Schema};

impl Schema {
    /// Checks the embedded resources of an object. The object itself is no embedded resource.
    pub fn validate_embedded(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        visit(object, &self.root, self.root.embedded_resource, &FieldPath::ROOT, &mut errors);
        errors
    }
}

/// Checks a value by its schema; `is_resource` says whether the value itself is one.
pub(crate) fn validate(
    value: &Value,
    node: &Node,
    is_resource: bool,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(value, node, is_resource, path, &mut errors);
    errors
}

fn visit(value: &Value, node: &Node, is_resource: bool, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if !is_resource && !node.facts.has(Facts::EMBEDDED) {
        return;
    }
    match value {
        Value::Object(map) => {
            if is_resource {
                resource(map, path, errors);
            }
            let mut members = Members::of(node);
            for (name, value) in map.iter() {
                if let Some(property) = members.declared(name) {
                    visit(value, property, property.embedded_resource, &path.field(name), errors);
                } else if let Some(node) = node.additional.schema() {
                    visit(value, node, node.embedded_resource, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    visit(item, node, node.embedded_resource, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn resource(map: &Map, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if !map.contains_key(name) {
            errors.push(FieldError::required(&path.field(name), ""));
        }
    }
    if let Some(api_version) = map.get("apiVersion")
        && let Some(detail) = api_version_problem(api_version)
    {
        errors.push(FieldError::invalid(&path.field("apiVersion"), api_version.clone(), detail));
    }
    if let Some(kind) = map.get("kind")
        && let Some(detail) = kind_problem(kind)
    {
        errors.push(FieldError::invalid(&path.field("kind"), kind.clone(), detail));
    }
    if let Some(metadata) = map.get("metadata") {
        check_metadata(metadata, &path.field("metadata"), errors);
    }
}

fn api_version_problem(value: &Value) -> Option<String> {
    match value.as_str() {
        None => Some("must be a string".to_owned()),
        Some("") => Some("must not be empty".to_owned()),
        Some(text) => parse_api_version(text).err().map(|error| error.to_string()),
    }
}

fn kind_problem(value: &Value) -> Option<String> {
    let kind = match value.as_str() {
        None => return Some("must be a string".to_owned()),
        Some("") => return Some("must not be empty".to_owned()),
        Some(kind) => kind,
    };
    let problems = names::dns1035_label(&kind.to_lowercase());
    (!problems.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {}", problems.join(",")))
}

fn check_metadata(metadata: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    match coerce(metadata.clone(), MetaOwner::Custom, Malformed::Reject) {
        Err(error) => errors.push(FieldError::invalid(path, metadata.clone(), error.to_string())),
        Ok(coerced) => {
            let mut metadata = coerced.metadata;
            // An embedded resource needs no name, but the check demands one.
            metadata.get_or_insert_with("name", || "fakename".into());
            let meta = Meta::new(&metadata);
            let rule =
                if meta.namespace().is_empty() { NamespaceRule::Forbidden } else { NamespaceRule::Required };
            errors.extend(validate_object_meta(meta, rule, names::name_is_path_segment, path));
        }
    }
}
