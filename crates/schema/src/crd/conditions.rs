//! The conditions of a definition that follow from what it says: whether its schemas are structural, and whether its
//! group approved it. The others follow from what else is served.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/nonstructuralschema and apiapproval, v1.36.

use meta::{FieldError, FieldPath, Value};

use super::structural;
use super::view::{flag, list, present, text};
use crate::parse::props;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    Unknown,
}

/// What a condition says, without its type and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub status: Truth,
    pub reason: &'static str,
    pub message: String,
}

/// The condition `NonStructuralSchema`, for definitions that were stored when less was asked of them.
pub fn non_structural(definition: &Value) -> Option<Condition> {
    let spec = definition.get("spec")?;
    let path = FieldPath::ROOT.field("spec");
    let mut errors = Vec::new();
    if flag(spec, "preserveUnknownFields") {
        errors.push(FieldError::invalid(&path.field("preserveUnknownFields"), true, "must be false"));
    }
    let versions = path.field("versions");
    for (index, version) in list(spec, "versions").iter().enumerate() {
        let schema = present(version, "schema").and_then(|schema| present(schema, "openAPIV3Schema"));
        let Some(schema) = schema else {
            continue;
        };
        let path = versions.index(index);
        let path = path.field("schema");
        let path = path.field("openAPIV3Schema");
        let Ok(props) = props(schema, &path) else {
            continue;
        };
        if let Some(error) = structural::conversion_error(&props) {
            let name = text(version, "name");
            let message = format!("failed to check validation schema for version {name}: {error}");
            return Some(Condition { status: Truth::Unknown, reason: "StructuralError", message });
        }
        errors.extend(structural::validate(&props, &path));
    }
    let message = aggregate(&errors)?;
    Some(Condition { status: Truth::True, reason: "Violations", message })
}

/// The condition `KubernetesAPIApprovalPolicyConformant`, for groups of the Kubernetes community.
pub fn api_approval(definition: &Value) -> Option<Condition> {
    super::approval::condition(definition)
}

/// Several errors in one text, each once.
pub(super) fn aggregate(errors: &[FieldError]) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in errors.iter().map(ToString::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        _ => Some(format!("[{}]", texts.join(", "))),
    }
}
