//! The rules that make a schema structural: every field has a place and a type outside of `allOf` and its siblings,
//! which only restrict values; `metadata` is left alone; the extensions go together.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go, complete.go and convert.go, v1.36.

use meta::{FieldError, FieldPath};

use crate::parse::{Items, Props, PropsOrBool};
use crate::pattern::Pattern;

pub(super) fn is_structural(props: &Props<'_>) -> bool {
    conversion_error(props).is_none() && validate(props, &FieldPath::ROOT).is_empty()
}

/// Everything that keeps a schema from being structural, sorted by text.
pub(super) fn validate(props: &Props<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    structural(props, Level::Root, path, &mut errors);
    value_completeness(props, props, path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// Why a schema has no structural form, in the reference's words: the first reason found.
pub(super) fn conversion_error(props: &Props<'_>) -> Option<String> {
    let unsupported = [
        (!props.id.is_empty(), "id"),
        (!props.schema.is_empty(), "schema"),
        (props.reference.is_some_and(|reference| !reference.is_empty()), "$ref"),
        (!props.pattern_properties.is_empty(), "patternProperties"),
        (!props.dependencies.is_empty(), "dependencies"),
        (props.additional_items.is_some(), "additionalItems"),
        (!props.definitions.is_empty(), "definitions"),
    ];
    if let Some((_, field)) = unsupported.iter().find(|(is_set, _)| *is_set) {
        return Some(format!("OpenAPIV3Schema '{field}' is not supported"));
    }
    let nested =
        props.not.as_deref().into_iter().chain(&props.all_of).chain(&props.any_of).chain(&props.one_of);
    if let Some(error) = nested.into_iter().find_map(conversion_error) {
        return Some(error);
    }
    if props.preserve_unknown == Some(false) {
        let error = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(error.to_owned());
    }
    match &props.items {
        Some(Items::Each(list, _)) if !list.is_empty() => {
            return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        }
        Some(Items::All(items)) => {
            if let Some(error) = conversion_error(items) {
                return Some(error);
            }
        }
        _ => {}
    }
    let properties = props.properties.iter().find_map(|(_, props)| conversion_error(props));
    let additional = props.additional_properties.as_ref().and_then(PropsOrBool::props);
    properties.or_else(|| additional.and_then(conversion_error))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn structural(props: &Props<'_>, level: Level, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    match props.items.as_ref().and_then(Items::single) {
        Some(items) => structural(items, Level::Item, &path.field("items"), errors),
        None if props.type_name == "array" => {
            errors.push(FieldError::required(&path.field("items"), "must be specified"));
        }
        None => {}
    }
    for (name, property) in &props.properties {
        structural(property, Level::Field, &path.field("properties").key(name), errors);
    }
    if let Some(additional) = &props.additional_properties {
        let path = path.field("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&path, "must not be used at the root"));
        }
        if let Some(additional) = additional.props() {
            structural(additional, Level::Field, &path, errors);
        }
    }
    extensions(props, path, errors);
    let skips_any_of = is_int_or_string(&props.any_of);
    let skips_first_all_of = props.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of));
    value_validation(props, skips_any_of, skips_first_all_of, path, errors);
    types(props, level, path, errors);
    meta_fields(props, level, path, errors);
    if props.embedded_resource && props.preserve_unknown != Some(true) && props.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&path.field("properties"), detail));
    }
}

fn extensions(props: &Props<'_>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let detail = "must be false if x-kubernetes-int-or-string is true";
    let conflicts = [
        (props.preserve_unknown == Some(true), "x-kubernetes-preserve-unknown-fields"),
        (props.embedded_resource, "x-kubernetes-embedded-resource"),
    ];
    for (_, field) in conflicts.iter().filter(|(is_set, _)| *is_set && props.int_or_string) {
        errors.push(FieldError::invalid(&path.field(field), true, detail));
    }
}

fn types(props: &Props<'_>, level: Level, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let type_path = path.field("type");
    if props.embedded_resource && props.type_name != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match props.type_name {
            "" => FieldError::required(&type_path, detail),
            name => FieldError::invalid(&type_path, name, detail),
        });
    } else if props.type_name.is_empty() && !props.int_or_string && props.preserve_unknown != Some(true) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&type_path, detail));
    }
    if props.embedded_resource && props.additional_properties.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(&path.field("additionalProperties"), detail));
    }
    if level == Level::Root && !props.type_name.is_empty() && props.type_name != "object" {
        errors.push(FieldError::invalid(&type_path, props.type_name, "must be object at the root"));
    }
}

/// The fields that every resource has can hardly be specified.
fn meta_fields(props: &Props<'_>, level: Level, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || props.embedded_resource;
    let property = |name: &str| props.properties.iter().find(|(candidate, _)| *candidate == name);
    let properties = path.field("properties");
    for name in ["kind", "apiVersion"] {
        if let Some((_, property)) = property(name)
            && is_resource
            && property.type_name != "string"
        {
            let path = properties.key(name);
            errors.push(FieldError::invalid(&path.field("type"), property.type_name, "must be string"));
        }
    }
    let Some((_, metadata)) = property("metadata") else {
        return;
    };
    let path = properties.key("metadata");
    if is_resource && metadata.type_name != "object" {
        errors.push(FieldError::invalid(&path.field("type"), metadata.type_name, "must be object"));
    }
    if level == Level::Root && !restricts_names_only(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                      specified";
        errors.push(FieldError::forbidden(&path, detail));
    }
}

fn restricts_names_only(metadata: &Props<'_>) -> bool {
    // Everything but the type, a default (which is refused elsewhere) and the two properties.
    let other = Props { type_name: "", default: None, properties: Vec::new(), ..shallow(metadata) };
    let names = metadata.properties.iter().all(|(name, _)| matches!(*name, "name" | "generateName"));
    names && other == Props::default()
}

/// A copy whose nested schemas are reduced to whether there are any.
fn shallow<'a>(props: &Props<'a>) -> Props<'a> {
    let some = |is_set: bool| if is_set { vec![Props::default()] } else { Vec::new() };
    Props {
        id: props.id,
        schema: props.schema,
        reference: props.reference,
        description: props.description,
        format: props.format,
        title: props.title,
        maximum: props.maximum,
        exclusive_maximum: props.exclusive_maximum,
        minimum: props.minimum,
        exclusive_minimum: props.exclusive_minimum,
        max_length: props.max_length,
        min_length: props.min_length,
        pattern: props.pattern,
        max_items: props.max_items,
        min_items: props.min_items,
        unique_items: props.unique_items,
        multiple_of: props.multiple_of,
        one_of_values: props.one_of_values,
        max_properties: props.max_properties,
        min_properties: props.min_properties,
        required: props.required.clone(),
        items: props.items.as_ref().map(|_| Items::Each(Vec::new(), &[])),
        all_of: some(!props.all_of.is_empty()),
        one_of: some(!props.one_of.is_empty()),
        any_of: some(!props.any_of.is_empty()),
        not: props.not.as_ref().map(|_| Box::default()),
        additional_properties: props.additional_properties.as_ref().map(|_| PropsOrBool::Bool(true)),
        example: props.example,
        nullable: props.nullable,
        preserve_unknown: props.preserve_unknown,
        embedded_resource: props.embedded_resource,
        int_or_string: props.int_or_string,
        list_map_keys: props.list_map_keys.clone(),
        list_type: props.list_type,
        map_type: props.map_type,
        has_dependencies: !props.rules.is_empty() || props.external_docs.is_some(),
        ..Props::default()
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, exactly.
fn is_int_or_string(any_of: &[Props<'_>]) -> bool {
    let only = |props: &Props<'_>, type_name| *props == Props { type_name, ..Props::default() };
    matches!(any_of, [first, second] if only(first, "integer") && only(second, "string"))
}

/// What restricts the value of `props`, itself structural or nested.
fn value_validation(
    props: &Props<'_>,
    skips_any_of: bool,
    skips_first_all_of: bool,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    if !skips_any_of {
        for (index, part) in props.any_of.iter().enumerate() {
            nested(part, false, &path.field("anyOf").index(index), errors);
        }
    }
    for (index, part) in props.all_of.iter().enumerate() {
        nested(part, skips_first_all_of && index == 0, &path.field("allOf").index(index), errors);
    }
    for (index, part) in props.one_of.iter().enumerate() {
        nested(part, false, &path.field("oneOf").index(index), errors);
    }
    if let Some(part) = &props.not {
        nested(part, false, &path.field("not"), errors);
    }
    if !props.pattern.is_empty()
        && let Some(problem) = Pattern::error(props.pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {problem}");
        errors.push(FieldError::invalid(&path.field("pattern"), props.pattern, detail));
    }
}

/// A schema under `allOf` and its siblings.
fn nested(props: &Props<'_>, skips_any_of: bool, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    value_validation(props, skips_any_of, false, path, errors);
    if let Some(items) = props.items.as_ref().and_then(Items::single) {
        nested(items, false, &path.field("items"), errors);
    }
    for (name, property) in &props.properties {
        nested(property, false, &path.field("properties").key(name), errors);
    }
    let (empty, undefined, falsy) = (
        "must be empty to be structural",
        "must be undefined to be structural",
        "must be false to be structural",
    );
    let additional = props.additional_properties.as_ref().is_some_and(PropsOrBool::allows);
    let forbidden = [
        (!props.type_name.is_empty(), "type", empty),
        (additional, "additionalProperties", undefined),
        (props.default.is_some(), "default", undefined),
        (!props.title.is_empty(), "title", empty),
        (!props.description.is_empty(), "description", empty),
        (props.nullable, "nullable", falsy),
        (props.preserve_unknown == Some(true), "x-kubernetes-preserve-unknown-fields", falsy),
        (props.embedded_resource, "x-kubernetes-embedded-resource", falsy),
        (props.int_or_string, "x-kubernetes-int-or-string", falsy),
        (!props.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", empty),
        (props.list_type.is_some(), "x-kubernetes-list-type", undefined),
        (props.map_type.is_some(), "x-kubernetes-map-type", undefined),
        (!props.rules.is_empty(), "x-kubernetes-validations", empty),
    ];
    for (_, field, detail) in forbidden.iter().filter(|(is_set, _, _)| *is_set) {
        errors.push(FieldError::forbidden(&path.field(field), *detail));
    }
    if props.properties.iter().any(|(name, _)| *name == "metadata") {
        let path = path.field("properties");
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(&path.key("metadata"), detail));
    }
}

/// Everything that a nested schema talks about exists in the schema around it. As in the reference, only the nested
/// schemas of the root are asked.
fn value_completeness(
    nested: &Props<'_>,
    outer: &Props<'_>,
    outer_path: &FieldPath<'_>,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    if let Some(part) = &nested.not {
        completeness(part, Some(outer), outer_path, &path.field("not"), errors);
    }
    let parts = [("allOf", &nested.all_of), ("anyOf", &nested.any_of), ("oneOf", &nested.one_of)];
    for (field, parts) in parts {
        for (index, part) in parts.iter().enumerate() {
            completeness(part, Some(outer), outer_path, &path.field(field).index(index), errors);
        }
    }
}

fn completeness(
    nested: &Props<'_>,
    outer: Option<&Props<'_>>,
    outer_path: &FieldPath<'_>,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let Some(outer) = outer else {
        errors.push(FieldError::required(outer_path, format!("because it is defined in {path}")));
        return;
    };
    value_completeness(nested, outer, outer_path, path, errors);
    if let Some(items) = nested.items.as_ref().and_then(Items::single) {
        let outer = outer.items.as_ref().and_then(Items::single);
        completeness(items, outer, &outer_path.field("items"), &path.field("items"), errors);
    }
    for (name, property) in &nested.properties {
        let outer = outer.properties.iter().find(|(candidate, _)| candidate == name).map(|(_, props)| props);
        let outer_path = outer_path.field("properties");
        let path = path.field("properties");
        completeness(property, outer, &outer_path.key(name), &path.key(name), errors);
    }
}
