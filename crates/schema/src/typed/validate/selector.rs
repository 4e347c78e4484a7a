//! Label selectors inside objects.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, v1.36.

use meta::names::{label_value, qualified_name};
use meta::{FieldError, FieldPath, Value};

use super::each;
use crate::typed::access::{list, members, text, texts};

/// `any_value` lets values of expressions pass that are no label values, for objects that already have such.
pub(super) fn label_selector(
    selector: &Value,
    any_value: bool,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let labels = path.field("matchLabels");
    for (key, value) in members(selector, &["matchLabels"]) {
        let value = value.as_str().unwrap_or_default();
        each(errors, &labels, key, qualified_name(key));
        each(errors, &labels, value, label_value(value));
    }
    let expressions = path.field("matchExpressions");
    for (index, expression) in list(selector, &["matchExpressions"]).iter().enumerate() {
        let path = expressions.index(index);
        operator(expression, false, &path, errors);
        key(expression, &path, errors);
        if !any_value {
            values(expression, &path, errors);
        }
    }
}

pub(super) fn key(requirement: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let key = text(requirement, &["key"]);
    each(errors, &path.field("key"), key, qualified_name(key));
}

pub(super) fn values(requirement: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let path = path.field("values");
    for (index, value) in texts(requirement, &["values"]).into_iter().enumerate() {
        each(errors, &path.index(index), value, label_value(value));
    }
}

/// The operator and whether it goes with the values. `any_operator` lets operators pass that only newer clients know.
pub(super) fn operator(
    requirement: &Value,
    any_operator: bool,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let valueless = list(requirement, &["values"]).is_empty();
    match text(requirement, &["operator"]) {
        "In" | "NotIn" if valueless => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(&path.field("values"), detail));
        }
        "Exists" | "DoesNotExist" if !valueless => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&path.field("values"), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        operator if !any_operator => {
            let path = path.field("operator");
            errors.push(FieldError::invalid(&path, operator, "not a valid selector operator"));
        }
        _ => {}
    }
}
