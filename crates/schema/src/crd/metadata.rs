//! A definition is named after its resource and its group.

use meta::object::{NamespaceRule, validate_object_meta, validate_object_meta_update};
use meta::{FieldError, FieldPath, Meta, Value, names};

use super::view::Definition;

pub(super) fn validate(definition: &Value, view: &Definition<'_>) -> Vec<FieldError> {
    let meta = Meta::of(definition);
    let path = FieldPath::ROOT.field("metadata");
    let mut errors =
        validate_object_meta(meta, NamespaceRule::Forbidden, names::name_is_dns_subdomain, &path);
    let wanted = format!("{}.{}", view.names.plural, view.group);
    let detail = r#"must be spec.names.plural+"."+spec.group"#;
    // Behind the other errors of the same field; the check of generateName compares, too.
    for (field, name) in [("generateName", meta.generate_name()), ("name", meta.name())] {
        if !name.is_empty() && name != wanted {
            let path = path.field(field);
            let field = path.to_string();
            let last = errors.iter().rposition(|error| error.field == field).map_or(0, |last| last + 1);
            errors.insert(last, FieldError::invalid(&path, name, detail));
        }
    }
    errors
}

pub(super) fn validate_update(definition: &Value, old: &Value) -> Vec<FieldError> {
    let path = FieldPath::ROOT.field("metadata");
    validate_object_meta_update(Meta::of(definition), Meta::of(old), &path)
}
