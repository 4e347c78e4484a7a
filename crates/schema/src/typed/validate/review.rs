//! Access reviews and token requests.

use meta::{FieldError, FieldPath, Map, Value};

use super::{ROOT, invalid_as, selector};
use crate::typed::access::{int, list, members, present, text};
use crate::typed::declared_order::in_declared_order;
use crate::typed::types::meta_struct;

const TEN_MINUTES: i64 = 600;

pub(super) fn subject(new: &Value, errors: &mut Vec<FieldError>) {
    subject_spec(new, errors);
    empty_metadata(new, &["managedFields"], "must be empty", errors);
}

pub(super) fn self_subject(new: &Value, errors: &mut Vec<FieldError>) {
    attributes(new, errors);
    resource_attributes(new, errors);
    empty_metadata(new, &["managedFields"], "must be empty", errors);
}

pub(super) fn local_subject(new: &Value, errors: &mut Vec<FieldError>) {
    subject_spec(new, errors);
    empty_metadata(new, &["managedFields", "namespace"], "must be empty except for namespace", errors);
    let namespace = text(new, &["spec", "resourceAttributes", "namespace"]);
    if present(new, &["spec", "resourceAttributes"]).is_some()
        && namespace != text(new, &["metadata", "namespace"])
    {
        let path = ROOT.field("spec.resourceAttributes.namespace");
        errors.push(FieldError::invalid(&path, namespace, "must match metadata.namespace"));
    }
    if present(new, &["spec", "nonResourceAttributes"]).is_some() {
        let path = ROOT.field("spec.nonResourceAttributes");
        errors.push(FieldError::invalid(&path, go_url(new), "disallowed on this kind of request"));
    }
}

fn subject_spec(new: &Value, errors: &mut Vec<FieldError>) {
    attributes(new, errors);
    if text(new, &["spec", "user"]).is_empty() && list(new, &["spec", "groups"]).is_empty() {
        let spec = ROOT.field("spec");
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&spec.field("user"), "", detail));
    }
    resource_attributes(new, errors);
}

fn attributes(new: &Value, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    let has = |field: &str| present(new, &["spec", field]).is_some();
    match (has("resourceAttributes"), has("nonResourceAttributes")) {
        (true, true) => errors.push(FieldError::invalid(
            &spec.field("nonResourceAttributes"),
            go_url(new),
            "cannot be specified in combination with resourceAttributes",
        )),
        (false, false) => errors.push(FieldError::invalid(
            &spec.field("resourceAttributes"),
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
}

/// The reference's internal type has no JSON names, so its fields show up under their Go names.
fn go_url(review: &Value) -> Value {
    let field = |name: &str| Value::from(text(review, &["spec", "nonResourceAttributes", name]));
    [("Path", field("path")), ("Verb", field("verb"))].into_iter().collect::<Map>().into()
}

fn resource_attributes(new: &Value, errors: &mut Vec<FieldError>) {
    let attributes = ROOT.field("spec.resourceAttributes");
    for field in ["fieldSelector", "labelSelector"] {
        let Some(selector) = present(new, &["spec", "resourceAttributes", field]) else { continue };
        raw_or_requirements(selector, field == "labelSelector", &attributes.field(field), errors);
    }
}

fn raw_or_requirements(selector: &Value, labels: bool, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let raw = text(selector, &["rawSelector"]);
    let requirements = list(selector, &["requirements"]);
    let requirements_path = path.field("requirements");
    if !raw.is_empty() && !requirements.is_empty() {
        let detail = "may not specified at the same time as requirements";
        errors.push(FieldError::invalid(&path.field("rawSelector"), raw, detail));
    }
    if raw.is_empty() && requirements.is_empty() {
        let detail = format!("when {path} is specified, requirements or rawSelector is required");
        errors.push(FieldError::required(&requirements_path, detail));
    }
    for (index, requirement) in requirements.iter().enumerate() {
        let path = requirements_path.index(index);
        if labels {
            selector::operator(requirement, true, &path, errors);
            selector::key(requirement, &path, errors);
            selector::values(requirement, &path, errors);
            continue;
        }
        if text(requirement, &["key"]).is_empty() {
            errors.push(FieldError::required(&path.field("key"), "must be specified"));
        }
        selector::operator(requirement, true, &path, errors);
    }
}

fn empty_metadata(new: &Value, allowed: &[&str], detail: &str, errors: &mut Vec<FieldError>) {
    let filled =
        members(new, &["metadata"]).any(|(field, value)| !allowed.contains(&field) && !value.is_null());
    if filled {
        let metadata = new.get("metadata").unwrap_or(&Value::Null);
        let text = in_declared_order(meta_struct("ObjectMeta"), metadata);
        errors.push(invalid_as(&ROOT.field("metadata"), text, detail));
    }
}

pub(super) fn token_request(new: &Value, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    let path = spec.field("expirationSeconds");
    let seconds = int(new, &["spec", "expirationSeconds"]);
    if seconds < TEN_MINUTES {
        errors.push(FieldError::invalid(&path, seconds, "may not specify a duration less than 10 minutes"));
    }
    if seconds > 1 << 32 {
        errors.push(FieldError::invalid(
            &path,
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        ));
    }
}
