//! What points into objects: printer columns, the scale subresource, selectable fields.

use std::collections::HashSet;

use meta::{FieldError, FieldPath, Value};

use super::view::{present, text};
use crate::field_path::{Brackets, resolve};
use crate::parse::Props;

/// How many fields of a kind can be selected by.
pub(super) const MAX_SELECTABLE: usize = 8;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

pub(super) fn printer(columns: &[Value], path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        errors.extend(printer_column(column, &path.index(index)));
    }
    errors
}

fn printer_column(column: &Value, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(&path.field("name"), ""));
    }
    let types = format!("must be one of {}", COLUMN_TYPES.join(","));
    match text(column, "type") {
        "" => errors.push(FieldError::required(&path.field("type"), types)),
        name if COLUMN_TYPES.contains(&name) => {}
        name => errors.push(FieldError::invalid(&path.field("type"), name, types)),
    }
    let format = text(column, "format");
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(&path.field("format"), format, detail));
    }
    let json_path = text(column, "jsonPath");
    if json_path.is_empty() {
        errors.push(FieldError::required(&path.field("JSONPath"), ""));
    } else {
        errors.extend(simple_path(json_path, &path.field("JSONPath")));
    }
    errors
}

/// The dialect of paths outside of expressions: it starts with a dot, and that is all that is asked.
fn simple_path(text: &str, path: &FieldPath<'_>) -> Option<FieldError> {
    (!text.starts_with('.'))
        .then(|| FieldError::invalid(path, text, "must be a simple json path starting with ."))
}

pub(super) fn subresources(subresources: Option<&Value>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let Some(scale) = subresources.and_then(|subresources| present(subresources, "scale")) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for (name, prefix) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let field = format!("scale.{name}");
        let path = path.field(&field);
        let text = text(scale, name);
        if text.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if let Some(error) = simple_path(text, &path) {
            errors.push(error);
        } else if !is_under(text, prefix) {
            errors.push(FieldError::invalid(&path, text, format!("should be a json path under {prefix}")));
        }
    }
    let selector = text(scale, "labelSelectorPath");
    if !selector.is_empty() {
        let path = path.field("scale.labelSelectorPath");
        if let Some(error) = simple_path(selector, &path) {
            errors.push(error);
        } else if !is_under(selector, ".spec") && !is_under(selector, ".status") {
            let detail = "should be a json path under either .spec or .status";
            let shown = meta::wire::json::to_string(&selector.into());
            errors.push(FieldError::invalid(&path, selector, detail).shown_as(shown));
        }
    }
    errors
}

fn is_under(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
}

pub(super) fn selectable(
    fields: &[Value],
    schema: &Props<'_>,
    may_be_many: bool,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = HashSet::new();
    for (index, field) in fields.iter().enumerate() {
        let item = path.index(index);
        let path = item.field("jsonPath");
        let text = text(field, "jsonPath");
        if text.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let found = match resolve(text, schema, Brackets::Refused) {
            Ok(found) => found,
            Err(error) => {
                errors.push(FieldError::invalid(&path, text, format!("is an invalid path: {error}")));
                continue;
            }
        };
        if found.first == "metadata" {
            errors.push(FieldError::invalid(&path, text, "must not point to fields in metadata"));
        }
        if !matches!(found.schema.type_name, "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            errors.push(FieldError::invalid(&path, text, detail));
        }
        if !seen.insert(found.path) {
            errors.push(FieldError::duplicate(&path, text));
        }
    }
    if seen.len() > MAX_SELECTABLE && !may_be_many {
        errors.push(FieldError::too_many(path, Some(seen.len()), MAX_SELECTABLE));
    }
    errors
}
