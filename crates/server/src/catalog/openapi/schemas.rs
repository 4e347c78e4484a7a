//! The schemas of custom resources as they are published.
//!
//! `OpenAPI` v3 gets everything that a definition says; v2 knows no unions and no null, and clients of it
//! refuse what they do not know, so it gets less.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/openapi/{builder,v2}, pkg/apiserver/schema/{unfold,
//! kubeopenapi}.go, v1.36.

use meta::{Map, Value};

use super::{Dialect, object};
use crate::catalog::Resource;
use crate::catalog::form::Form;

pub(super) const API_VERSION_TEXT: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
pub(super) const KIND_TEXT: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA_TEXT: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA_TEXT: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION_TEXT: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND_TEXT: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// What a schema says about values: taken over as it is, in both dialects.
const VALIDATION: [&str; 16] = [
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "uniqueItems",
];
const GENERIC: [&str; 5] = ["description", "example", "externalDocs", "title", "type"];
const EXTENSIONS: [&str; 7] = [
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// The schema of a custom resource's kind.
pub(super) fn kind(resource: &Resource, dialect: Dialect) -> Value {
    let version = resource.published.as_ref().and_then(|published| published.version(&resource.version));
    let written = version.as_ref().and_then(|version| version.at(&["schema", "openAPIV3Schema"]));
    let keeps_all = matches!(&resource.form, Form::Custom(form) if form.preserve_unknown);
    let mut schema = match written {
        Some(Value::Object(written))
            if dialect == Dialect::V3
                || !(keeps_all || is_true(written, "x-kubernetes-preserve-unknown-fields")) =>
        {
            let mut schema = structural(written, dialect);
            add_properties(
                &mut schema,
                [
                    ("apiVersion", text_schema(API_VERSION_TEXT)),
                    ("kind", text_schema(KIND_TEXT)),
                    ("metadata", described_ref(OBJECT_META, METADATA_TEXT, dialect)),
                ],
            );
            schema
        }
        // Clients of v2 would refuse every field besides those that are named here.
        _ => [("type", Value::from("object"))].into_iter().collect(),
    };
    schema.insert("x-kubernetes-group-version-kind", vec![super::kind_value(resource, &resource.names.kind)]);
    add_selectable(resource, &mut schema);
    Value::Object(schema)
}

/// The schema of a list of a custom resource.
pub(super) fn list(resource: &Resource, dialect: Dialect) -> Value {
    let (kind, list_kind) = (&resource.names.kind, &resource.names.list_kind);
    let items = object([
        ("description", format!("List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md", resource.names.plural).into()),
        ("items", dialect.reference(&super::custom_name(resource, kind))),
        ("type", "array".into()),
    ]);
    let properties = object([
        ("apiVersion", text_schema(API_VERSION_TEXT)),
        ("items", items),
        ("kind", text_schema(KIND_TEXT)),
        ("metadata", described_ref(LIST_META, LIST_METADATA_TEXT, dialect)),
    ]);
    let Value::Object(mut schema) = object([
        ("description", format!("{list_kind} is a list of {kind}").into()),
        ("properties", properties),
        ("required", vec!["items".into()].into()),
        ("type", "object".into()),
        ("x-kubernetes-group-version-kind", vec![super::kind_value(resource, list_kind)].into()),
    ]) else {
        return Value::Null;
    };
    add_selectable(resource, &mut schema);
    Value::Object(schema)
}

fn add_selectable(resource: &Resource, schema: &mut Map) {
    let fields = resource.fields.0.iter().map(|field| object([("fieldPath", field.label.clone().into())]));
    let fields: Vec<Value> = fields.collect();
    if !fields.is_empty() {
        schema.insert("x-kubernetes-selectable-fields", fields);
    }
}

pub(super) fn text_schema(text: &str) -> Value {
    object([("description", text.into()), ("type", "string".into())])
}

/// A reference with a text beside it, for which v3 needs a union.
fn described_ref(name: &str, text: &str, dialect: Dialect) -> Value {
    match dialect {
        Dialect::V2 => {
            let Value::Object(mut reference) = dialect.reference(name) else { return Value::Null };
            reference.insert("description", text);
            Value::Object(reference)
        }
        Dialect::V3 => {
            object([("allOf", vec![dialect.reference(name)].into()), ("description", text.into())])
        }
    }
}

fn is_true(schema: &Map, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

fn add_properties<const N: usize>(schema: &mut Map, added: [(&str, Value); N]) {
    let properties = schema.get_or_insert_with("properties", || Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        for (name, property) in added {
            properties.insert(name, property);
        }
    }
}

/// A part of a schema that describes a value, not merely restricts one.
fn structural(written: &Map, dialect: Dialect) -> Map {
    let mut schema = Map::new();
    take(written, &GENERIC, &mut schema);
    take(written, &VALIDATION, &mut schema);
    take(written, &EXTENSIONS, &mut schema);
    if let Some(Value::Object(properties)) = written.get("properties") {
        schema.insert("properties", each(properties, |schema| structural(schema, dialect)));
    }
    for key in ["items", "additionalProperties"] {
        match written.get(key) {
            Some(Value::Object(inner)) => _ = schema.insert(key, structural(inner, dialect)),
            Some(other) if key == "additionalProperties" => _ = schema.insert(key, other.clone()),
            _ => {}
        }
    }
    match dialect {
        Dialect::V2 => simplify(written, &mut schema),
        Dialect::V3 => {
            take(written, &["default", "nullable"], &mut schema);
            take_unions(written, &mut schema);
            unfold_int_or_string(&mut schema);
        }
    }
    let hidden = dialect == Dialect::V2 && is_true(written, "x-kubernetes-preserve-unknown-fields");
    if is_true(written, "x-kubernetes-embedded-resource") && !hidden {
        embed(&mut schema, dialect);
    }
    schema
}

fn take(written: &Map, keys: &[&str], schema: &mut Map) {
    for key in keys {
        if let Some(value) = written.get(key) {
            schema.insert(*key, value.clone());
        }
    }
}

fn each(properties: &Map, publish: impl Fn(&Map) -> Map) -> Map {
    let publish = |(name, property): (&str, &Value)| match property {
        Value::Object(property) => (name.to_owned(), Value::Object(publish(property))),
        other => (name.to_owned(), other.clone()),
    };
    properties.iter().map(publish).collect()
}

fn take_unions(written: &Map, schema: &mut Map) {
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = written.get(key) {
            schema.insert(key, branches.iter().map(nested).collect::<Vec<_>>());
        }
    }
    if let Some(not) = written.get("not") {
        schema.insert("not", nested(not));
    }
}

/// A part of a schema that only restricts a value.
fn nested(written: &Value) -> Value {
    let Value::Object(written) = written else { return written.clone() };
    let mut schema = Map::new();
    take(written, &VALIDATION, &mut schema);
    // A type stands here only in the pattern of int-or-string, generic members and extensions never.
    take(written, &["type", "x-kubernetes-validations"], &mut schema);
    if let Some(Value::Object(properties)) = written.get("properties") {
        let publish = |(name, property): (&str, &Value)| (name.to_owned(), nested(property));
        schema.insert("properties", properties.iter().map(publish).collect::<Map>());
    }
    if let Some(items) = written.get("items") {
        schema.insert("items", nested(items));
    }
    take_unions(written, &mut schema);
    Value::Object(schema)
}

/// Says in words of `OpenAPI` that a value is an integer or a string, unless the schema says so itself.
fn unfold_int_or_string(schema: &mut Map) {
    if !is_true(schema, "x-kubernetes-int-or-string") {
        return;
    }
    let either = || {
        let types = ["integer", "string"].map(|name| object([("type", name.into())]));
        Value::Array(types.to_vec())
    };
    let first = schema.get("allOf").and_then(Value::as_array).and_then(<[Value]>::first);
    if schema.get("anyOf") == Some(&either()) || first.and_then(|first| first.get("anyOf")) == Some(&either())
    {
        return;
    }
    if !schema.contains_key("anyOf") {
        schema.insert("anyOf", either());
        return;
    }
    let all = schema.get_or_insert_with("allOf", || Value::Array(Vec::new()));
    if let Value::Array(all) = all {
        all.insert(0, object([("anyOf", either())]));
    }
}

/// What clients of v2 cannot cope with leaves.
fn simplify(written: &Map, schema: &mut Map) {
    let nullable = is_true(written, "nullable");
    let keeps_unknown = is_true(written, "x-kubernetes-preserve-unknown-fields");
    if nullable {
        schema.remove("type");
    }
    if nullable || keeps_unknown {
        schema.remove("items");
        schema.remove("properties");
    }
    let of_type = |schema: &Map, name: &str| schema.get("type").and_then(Value::as_str) == Some(name);
    let without_items = of_type(schema, "array") && !schema.contains_key("items");
    if without_items || (keeps_unknown && of_type(schema, "object")) {
        schema.remove("type");
    }
    let may_be_null = |schema: Option<&Value>| {
        schema.and_then(|schema| schema.get("nullable")).and_then(Value::as_bool) == Some(true)
    };
    if may_be_null(written.get("additionalProperties")) {
        schema.remove("required");
    }
    let properties = if schema.contains_key("properties") { written.get("properties") } else { None };
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| {
            let property = name.as_str().and_then(|name| properties?.get(name));
            !may_be_null(property)
        });
        if required.is_empty() {
            schema.remove("required");
        }
    }
}

fn embed(schema: &mut Map, dialect: Dialect) {
    add_properties(
        schema,
        [
            ("apiVersion", text_schema(EMBEDDED_API_VERSION_TEXT)),
            ("kind", text_schema(EMBEDDED_KIND_TEXT)),
            ("metadata", described_ref(OBJECT_META, METADATA_TEXT, dialect)),
        ],
    );
    let required = schema.get_or_insert_with("required", || Value::Array(Vec::new()));
    if let Value::Array(required) = required {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known.as_str() == Some(name)) {
                required.push(name.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;

    fn check(written: &str, v3: &str, v2: &str) {
        let Value::Object(written) = json::parse(written.as_bytes()).unwrap().value else {
            panic!("an object")
        };
        for (dialect, expected) in [(Dialect::V3, v3), (Dialect::V2, v2)] {
            let published = Value::Object(structural(&written, dialect));
            assert_eq!(json::to_string(&published), expected, "{dialect:?}");
        }
    }

    #[test]
    fn unions_and_defaults_are_for_v3_only() {
        check(
            r#"{"type":"integer","default":1,"anyOf":[{"minimum":1}],"not":{"enum":[5]},"maximum":9,"x-kubernetes-validations":[{"rule":"self > 0"}]}"#,
            r#"{"anyOf":[{"minimum":1}],"default":1,"maximum":9,"not":{"enum":[5]},"type":"integer","x-kubernetes-validations":[{"rule":"self \u003e 0"}]}"#,
            r#"{"maximum":9,"type":"integer","x-kubernetes-validations":[{"rule":"self \u003e 0"}]}"#,
        );
    }

    #[test]
    fn what_may_be_null_has_no_type_in_v2_and_is_not_required() {
        check(
            r#"{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","nullable":true},"b":{"type":"string"}}}"#,
            r#"{"properties":{"a":{"nullable":true,"type":"string"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}"#,
            r#"{"properties":{"a":{},"b":{"type":"string"}},"required":["b"],"type":"object"}"#,
        );
    }

    #[test]
    fn what_keeps_unknown_fields_is_opaque_in_v2() {
        check(
            r#"{"type":"object","properties":{"a":{"type":"string"}},"x-kubernetes-preserve-unknown-fields":true}"#,
            r#"{"properties":{"a":{"type":"string"}},"type":"object","x-kubernetes-preserve-unknown-fields":true}"#,
            r#"{"x-kubernetes-preserve-unknown-fields":true}"#,
        );
    }

    #[test]
    fn int_or_string_is_spelled_out_once() {
        let either = r#""anyOf":[{"type":"integer"},{"type":"string"}]"#;
        let v2 = r#"{"x-kubernetes-int-or-string":true}"#;
        let unfolded = format!("{{{either},\"x-kubernetes-int-or-string\":true}}");
        check(r#"{"x-kubernetes-int-or-string":true}"#, &unfolded, v2);
        check(&unfolded, &unfolded, v2);
        check(
            r#"{"x-kubernetes-int-or-string":true,"anyOf":[{"minimum":1}]}"#,
            &format!(
                "{{\"allOf\":[{{{either}}}],\"anyOf\":[{{\"minimum\":1}}],\"x-kubernetes-int-or-string\":true}}"
            ),
            v2,
        );
    }

    #[test]
    fn embedded_objects_have_the_members_of_objects() {
        let Value::Object(written) =
            json::parse(br#"{"type":"object","x-kubernetes-embedded-resource":true}"#).unwrap().value
        else {
            panic!("an object")
        };
        let published = Value::Object(structural(&written, Dialect::V2));
        assert_eq!(
            published.at(&["properties", "metadata", "$ref"]).and_then(Value::as_str),
            Some("#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
        );
        assert_eq!(json::to_string(published.get("required").unwrap()), r#"["kind","apiVersion"]"#);
    }
}
