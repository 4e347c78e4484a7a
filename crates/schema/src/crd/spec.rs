//! The spec of a definition: group, scope, versions and what they consist of.

use meta::object::FIELD_IMMUTABLE;
use meta::{FieldError, FieldPath, go_fmt, names};

use super::columns;
use super::conversion;
use super::go_struct;
use super::names as kind_names;
use super::openapi;
use super::options::Options;
use super::view::{Definition, PerVersion, Version};
use crate::parse::Props;

pub(super) fn validate(definition: &Definition<'_>, options: &Options) -> Vec<FieldError> {
    let path = FieldPath::ROOT.field("spec");
    let mut errors = group(definition.group, &path);
    errors.extend(scope(definition.scope, &path.field("scope")));
    errors.extend(missing_schemas(definition, options, &path));
    if definition.preserve_unknown_fields && definition.schemas().any(has_defaults) {
        let detail = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(&path.field("preserveUnknownFields"), true, detail));
    }
    let structural = options.require_structural || demands_structural(definition);
    for (index, version) in definition.versions.iter().enumerate() {
        let versions = path.field("versions");
        errors.extend(self::version(definition, version, structural, options, &versions.index(index)));
    }
    errors.extend(versions(definition, &path));
    errors.extend(names_of(definition, &path));
    errors.extend(common(definition, structural, options, &path));
    errors.extend(conversion::validate(definition, options, &path.field("conversion")));
    errors
}

/// What a definition cannot change: its resource, and once it is established what objects depend on.
pub(super) fn validate_immutable(
    new: &Definition<'_>,
    old: &Definition<'_>,
    options: &Options,
) -> Vec<FieldError> {
    let path = FieldPath::ROOT.field("spec");
    let names = path.field("names");
    let mut errors = Vec::new();
    if options.require_immutable_names {
        immutable(new.scope, old.scope, &path.field("scope"), &mut errors);
        immutable(new.names.kind, old.names.kind, &names.field("kind"), &mut errors);
    }
    immutable(new.group, old.group, &path.field("group"), &mut errors);
    immutable(new.names.plural, old.names.plural, &names.field("plural"), &mut errors);
    errors
}

fn immutable(new: &str, old: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if new != old {
        errors.push(FieldError::invalid(path, new, FIELD_IMMUTABLE));
    }
}

fn group(group: &str, spec: &FieldPath<'_>) -> Vec<FieldError> {
    let path = spec.field("group");
    let problems = names::dns1123_subdomain(group);
    if group.is_empty() {
        vec![FieldError::required(&path, "")]
    } else if !problems.is_empty() {
        vec![FieldError::invalid(&path, group, problems.join(","))]
    } else if !group.contains('.') {
        vec![FieldError::invalid(&path, group, "should be a domain with at least one dot")]
    } else {
        Vec::new()
    }
}

fn scope(scope: &str, path: &FieldPath<'_>) -> Vec<FieldError> {
    one_of(scope, &["Cluster", "Namespaced"], path)
}

/// A required text of a closed list.
pub(super) fn one_of(text: &str, accepted: &[&str], path: &FieldPath<'_>) -> Vec<FieldError> {
    match text {
        "" => vec![FieldError::required(path, "")],
        text if accepted.contains(&text) => Vec::new(),
        text => vec![FieldError::not_supported(path, text, accepted)],
    }
}

fn missing_schemas(definition: &Definition<'_>, options: &Options, spec: &FieldPath<'_>) -> Vec<FieldError> {
    if definition.common.props().is_some() {
        return Vec::new();
    }
    let versions = spec.field("versions");
    let mut errors = Vec::new();
    for (index, version) in definition.versions.iter().enumerate() {
        if version.own.props().is_some() {
            continue;
        }
        let version_path = versions.index(index);
        let schema = version_path.field("schema");
        let path = schema.field("openAPIV3Schema");
        if options.require_schema {
            errors.push(FieldError::required(&path, ""));
        } else if version.served && !definition.preserve_unknown_fields {
            errors.push(FieldError::required(&path, "because otherwise all fields are pruned"));
        }
    }
    errors
}

fn has_defaults(props: &Props<'_>) -> bool {
    props.any(|props| props.default.is_some())
}

/// Pruning, defaults and extensions make no sense without a structural schema.
fn demands_structural(definition: &Definition<'_>) -> bool {
    let is_extended = |props: &Props<'_>| {
        props.default.is_some()
            || props.embedded_resource
            || props.preserve_unknown.is_some()
            || props.int_or_string
            || !props.list_map_keys.is_empty()
            || props.list_type.is_some()
            || !props.rules.is_empty()
    };
    !definition.preserve_unknown_fields || definition.schemas().any(|props| props.any(is_extended))
}

fn version(
    definition: &Definition<'_>,
    version: &Version<'_>,
    structural: bool,
    options: &Options,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let problems = names::dns1035_label(version.name);
    if !problems.is_empty() {
        errors.push(FieldError::invalid(&path.field("name"), version.name, problems.join(",")));
    }
    errors.extend(deprecation(version, &path.field("deprecationWarning")));
    let has_status = if definition.has_own_subresources() {
        version.own.has_status()
    } else {
        definition.common.has_status()
    };
    if let Some(schema) = &version.own.schema {
        let terms = openapi::Terms::new(has_status, structural, version.name, options);
        errors.extend(openapi::validate(schema, &terms, &path.field("schema")));
    }
    errors.extend(columns::subresources(version.own.subresources, &path.field("subresources")));
    errors.extend(columns::printer(version.own.columns, &path.field("additionalPrinterColumns")));
    errors.extend(own_selectable(version, options, path));
    errors
}

fn own_selectable(version: &Version<'_>, options: &Options, path: &FieldPath<'_>) -> Vec<FieldError> {
    if version.own.selectable.is_empty() {
        return Vec::new();
    }
    let Some(props) = version.own.props() else {
        let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
        return vec![FieldError::invalid(&path.field("selectableFields"), "", detail)];
    };
    selectable(&version.own, props, version.name, options, path)
}

fn selectable(
    fields: &PerVersion<'_>,
    props: &Props<'_>,
    version: &str,
    options: &Options,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    if let Some(error) = super::structural::conversion_error(props) {
        // DIFFERENCE: the reference goes on to the fields and crashes.
        return vec![FieldError::invalid(&path.field("schema.openAPIV3Schema"), "", error)];
    }
    let may_be_many = options.too_many_selectable.contains(version);
    columns::selectable(fields.selectable, props, may_be_many, &path.field("selectableFields"))
}

fn deprecation(version: &Version<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let Some(warning) = version.deprecation_warning else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    if version.deprecated {
        if warning.len() > 256 {
            problems.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            problems.push("must not be an empty string".to_owned());
        }
        let unprintable = warning.char_indices().find(|(_, character)| !is_print(*character));
        if let Some((index, _)) = unprintable {
            problems.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    } else {
        problems.push("can only be set for deprecated versions".to_owned());
    }
    let shown = meta::wire::json::to_string(&warning.into());
    let error = |problem| FieldError::invalid(path, warning, problem).shown_as(shown.clone());
    problems.into_iter().map(error).collect()
}

/// Go's `unicode.IsPrint`: what its quoting leaves alone, and the two characters that quoting escapes anyway.
fn is_print(character: char) -> bool {
    matches!(character, '"' | '\\') || !go_fmt::quote(character.encode_utf8(&mut [0; 4])).contains('\\')
}

/// Rules about the versions as a whole.
fn versions(definition: &Definition<'_>, spec: &FieldPath<'_>) -> Vec<FieldError> {
    let path = spec.field("versions");
    let mut problems = Vec::new();
    let mut seen = std::collections::HashSet::new();
    if !definition.versions.iter().all(|version| seen.insert(version.name)) {
        problems.push("must contain unique version names");
    }
    if definition.versions.iter().filter(|version| version.storage).count() != 1 {
        problems.push("must have exactly one version marked as storage version");
    }
    let mut errors: Vec<FieldError> = problems
        .into_iter()
        .map(|problem| {
            FieldError::invalid(&path, meta::Value::Null, problem).shown_as(go_struct::versions(definition))
        })
        .collect();
    let problems = names::dns1035_label(definition.version);
    if !definition.version.is_empty() && !problems.is_empty() {
        errors.push(FieldError::invalid(&spec.field("version"), definition.version, problems.join(",")));
    }
    errors
}

fn names_of(definition: &Definition<'_>, spec: &FieldPath<'_>) -> Vec<FieldError> {
    let path = spec.field("names");
    let names = definition.names;
    let required = [
        ("plural", names.plural),
        ("singular", names.singular),
        ("kind", names.kind),
        ("listKind", names.list_kind),
    ];
    let missing = required.iter().filter(|(_, name)| name.is_empty());
    let mut errors: Vec<FieldError> =
        missing.map(|(field, _)| FieldError::required(&path.field(field), "")).collect();
    errors.extend(kind_names::validate(names, &path));
    errors
}

/// What all versions share.
fn common(
    definition: &Definition<'_>,
    structural: bool,
    options: &Options,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    let common = &definition.common;
    let mut errors = Vec::new();
    if let Some(schema) = &common.schema {
        let has_status =
            common.has_status() || definition.versions.iter().any(|version| version.own.has_status());
        let terms = openapi::Terms::new(has_status, structural, definition.version, options);
        errors.extend(openapi::validate(schema, &terms, &path.field("validation")));
    }
    errors.extend(columns::subresources(common.subresources, &path.field("subresources")));
    errors.extend(columns::printer(common.columns, &path.field("additionalPrinterColumns")));
    if !common.selectable.is_empty() {
        match &common.schema {
            None => {
                let detail = "may only be set when validations.schema is included";
                errors.push(FieldError::invalid(&path.field("selectableFields"), "", detail));
            }
            // Without a schema nothing can be selected; that it is missing is reported elsewhere.
            Some(schema) => {
                if let Some(props) = schema.props() {
                    errors.extend(selectable(common, props, "", options, path));
                }
            }
        }
    }
    if definition.preserve_unknown_fields {
        errors.extend(conversion::forbids_preserving(definition, &path.field("conversion")));
    }
    errors
}
