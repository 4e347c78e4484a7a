//! Definitions as the reference prints them in messages: its internal Go structs as JSON, all fields, in the order
//! of their declaration.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/types.go and `types_jsonschema.go`, v1.36.

use meta::Value;
use meta::wire::json;

use super::view::{Definition, PerVersion, Version, flag, list, present, text};

/// All versions of a definition.
pub(super) fn versions(definition: &Definition<'_>) -> String {
    if definition.has_versions { array(definition.versions.iter().map(version)) } else { null() }
}

fn version(version: &Version<'_>) -> String {
    let PerVersion { schema, subresources, columns, selectable, has_columns, has_selectable } = &version.own;
    let schema = schema.as_ref().map(|field| {
        let root = field.root.as_ref().map_or_else(null, |(written, _)| self::schema(written));
        object(&[("OpenAPIV3Schema", root)])
    });
    let column = |column: &Value| {
        object(&[
            ("Name", quoted(text(column, "name"))),
            ("Type", quoted(text(column, "type"))),
            ("Format", quoted(text(column, "format"))),
            ("Description", quoted(text(column, "description"))),
            ("Priority", column.get("priority").and_then(Value::as_int).unwrap_or_default().to_string()),
            ("JSONPath", quoted(text(column, "jsonPath"))),
        ])
    };
    let field = |field: &Value| object(&[("JSONPath", quoted(text(field, "jsonPath")))]);
    let or_null = |is_there: bool, list: &[Value], print: &dyn Fn(&Value) -> String| {
        if is_there { array(list.iter().map(print)) } else { null() }
    };
    object(&[
        ("Name", quoted(version.name)),
        ("Served", version.served.to_string()),
        ("Storage", version.storage.to_string()),
        ("Deprecated", version.deprecated.to_string()),
        ("DeprecationWarning", version.deprecation_warning.map_or_else(null, quoted)),
        ("Schema", schema.unwrap_or_else(null)),
        ("Subresources", subresources.map_or_else(null, self::subresources)),
        ("AdditionalPrinterColumns", or_null(*has_columns, columns, &column)),
        ("SelectableFields", or_null(*has_selectable, selectable, &field)),
    ])
}

fn subresources(value: &Value) -> String {
    let scale = present(value, "scale").map(|scale| {
        object(&[
            ("SpecReplicasPath", quoted(text(scale, "specReplicasPath"))),
            ("StatusReplicasPath", quoted(text(scale, "statusReplicasPath"))),
            ("LabelSelectorPath", optional(scale, "labelSelectorPath")),
        ])
    });
    let status = present(value, "status").map_or_else(null, |_| "{}".to_owned());
    object(&[("Status", status), ("Scale", scale.unwrap_or_else(null))])
}

/// `items` when it is a list of schemas.
pub(super) fn items_each(parts: &[Value]) -> String {
    object(&[("Schema", null()), ("JSONSchemas", array(parts.iter().map(schema)))])
}

/// A schema as written.
pub(super) fn schema(value: &Value) -> String {
    let flag = |name| flag(value, name).to_string();
    let text = |name| quoted(text(value, name));
    let any = |name| optional(value, name);
    let one = |name| present(value, name).map_or_else(null, schema);
    let each = |name| match present(value, name) {
        Some(Value::Array(parts)) => array(parts.iter().map(schema)),
        _ => null(),
    };
    let map = |name| match present(value, name) {
        Some(Value::Object(parts)) => {
            let parts: Vec<String> =
                parts.iter().map(|(name, part)| format!("{}:{}", quoted(name), schema(part))).collect();
            format!("{{{}}}", parts.join(","))
        }
        _ => null(),
    };
    object(&[
        ("ID", text("id")),
        ("Schema", text("$schema")),
        ("Ref", any("$ref")),
        ("Description", text("description")),
        ("Type", text("type")),
        ("Nullable", flag("nullable")),
        ("Format", text("format")),
        ("Title", text("title")),
        ("Default", any("default")),
        ("Maximum", any("maximum")),
        ("ExclusiveMaximum", flag("exclusiveMaximum")),
        ("Minimum", any("minimum")),
        ("ExclusiveMinimum", flag("exclusiveMinimum")),
        ("MaxLength", any("maxLength")),
        ("MinLength", any("minLength")),
        ("Pattern", text("pattern")),
        ("MaxItems", any("maxItems")),
        ("MinItems", any("minItems")),
        ("UniqueItems", flag("uniqueItems")),
        ("MultipleOf", any("multipleOf")),
        ("Enum", any("enum")),
        ("MaxProperties", any("maxProperties")),
        ("MinProperties", any("minProperties")),
        ("Required", any("required")),
        ("Items", items(present(value, "items"))),
        ("AllOf", each("allOf")),
        ("OneOf", each("oneOf")),
        ("AnyOf", each("anyOf")),
        ("Not", one("not")),
        ("Properties", map("properties")),
        ("AdditionalProperties", or_bool(present(value, "additionalProperties"))),
        ("PatternProperties", map("patternProperties")),
        ("Dependencies", dependencies(present(value, "dependencies"))),
        ("AdditionalItems", or_bool(present(value, "additionalItems"))),
        ("Definitions", map("definitions")),
        ("ExternalDocs", external_docs(present(value, "externalDocs"))),
        ("Example", any("example")),
        ("XPreserveUnknownFields", any("x-kubernetes-preserve-unknown-fields")),
        ("XEmbeddedResource", flag("x-kubernetes-embedded-resource")),
        ("XIntOrString", flag("x-kubernetes-int-or-string")),
        ("XListMapKeys", any("x-kubernetes-list-map-keys")),
        ("XListType", any("x-kubernetes-list-type")),
        ("XMapType", any("x-kubernetes-map-type")),
        ("XValidations", rules(value)),
    ])
}

fn items(value: Option<&Value>) -> String {
    match value {
        None => null(),
        Some(Value::Array(parts)) => items_each(parts),
        Some(part) => object(&[("Schema", schema(part)), ("JSONSchemas", null())]),
    }
}

fn or_bool(value: Option<&Value>) -> String {
    match value {
        None => null(),
        Some(Value::Bool(allows)) => object(&[("Allows", allows.to_string()), ("Schema", null())]),
        Some(part) => object(&[("Allows", "true".to_owned()), ("Schema", schema(part))]),
    }
}

fn dependencies(value: Option<&Value>) -> String {
    let Some(Value::Object(members)) = value else {
        return null();
    };
    let members: Vec<String> = members
        .iter()
        .map(|(name, member)| {
            let parts = match member {
                Value::Array(_) => [("Schema", null()), ("Property", json::to_string(member))],
                part => [("Schema", schema(part)), ("Property", null())],
            };
            format!("{}:{}", quoted(name), object(&parts))
        })
        .collect();
    format!("{{{}}}", members.join(","))
}

fn external_docs(value: Option<&Value>) -> String {
    value.map_or_else(null, |docs| {
        object(&[("Description", quoted(text(docs, "description"))), ("URL", quoted(text(docs, "url")))])
    })
}

fn rules(value: &Value) -> String {
    if present(value, "x-kubernetes-validations").is_none() {
        return null();
    }
    array(list(value, "x-kubernetes-validations").iter().map(rule))
}

/// One rule, as messages about rules show it.
pub(super) fn rule(value: &Value) -> String {
    object(&[
        ("Rule", quoted(text(value, "rule"))),
        ("Message", quoted(text(value, "message"))),
        ("MessageExpression", quoted(text(value, "messageExpression"))),
        ("Reason", optional(value, "reason")),
        ("FieldPath", quoted(text(value, "fieldPath"))),
        ("OptionalOldSelf", optional(value, "optionalOldSelf")),
    ])
}

fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn optional(value: &Value, name: &str) -> String {
    present(value, name).map_or_else(null, json::to_string)
}

fn quoted(text: &str) -> String {
    json::to_string(&text.into())
}

fn null() -> String {
    "null".to_owned()
}
