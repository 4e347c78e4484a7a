//! Groups of the Kubernetes community need an annotation that says who approved the definition.
//!
//! Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go, v1.36.

use meta::{FieldError, FieldPath, Meta, Value};

use super::view::Definition;
use crate::go_url::Url;

const ANNOTATION: &str = "api-approved.kubernetes.io";

#[derive(PartialEq, Eq)]
enum Approval {
    Missing,
    Invalid,
    Bypassed,
    Approved,
}

pub(super) fn validate(definition: &Value, view: &Definition<'_>, old: Option<&Value>) -> Vec<FieldError> {
    if !is_protected(view.group) {
        return Vec::new();
    }
    let approval = approval(definition);
    if old.is_some_and(|old| self::approval(old) == approval) {
        return Vec::new();
    }
    let metadata = FieldPath::ROOT.field("metadata");
    let annotations = metadata.field("annotations");
    let path = annotations.key(ANNOTATION);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match approval {
        Approval::Missing => {
            let detail = format!("protected groups must have approval annotation \"{ANNOTATION}\", {see}");
            vec![FieldError::required(&path, detail)]
        }
        Approval::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason \
                 starting with \"unapproved\", {see}"
            );
            vec![FieldError::invalid(&path, annotation(definition), detail)]
        }
        Approval::Bypassed | Approval::Approved => Vec::new(),
    }
}

/// The condition that tells whether a definition in a community group was approved: its status, reason and message.
/// `None` for other groups.
///
/// Upstream: apiextensions-apiserver/pkg/controller/apiapproval, v1.36.
pub fn approval_of(definition: &Value) -> Option<(bool, &'static str, String)> {
    let group = definition.at(&["spec", "group"]).and_then(Value::as_str).unwrap_or_default();
    if !is_protected(group) {
        return None;
    }
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let text = annotation(definition);
    Some(match approval(definition) {
        Approval::Missing => {
            let message = format!("protected groups must have approval annotation \"{ANNOTATION}\", {see}");
            (false, "MissingAnnotation", message)
        }
        Approval::Invalid => {
            let message = format!(
                "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason \
                 starting with \"unapproved\", {see}"
            );
            (false, "InvalidAnnotation", message)
        }
        Approval::Bypassed => (false, "UnapprovedAnnotation", format!("not approved: {}", meta::go_fmt::quote(text))),
        Approval::Approved => (true, "ApprovedAnnotation", format!("approved in {text}")),
    })
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|protected| {
        group.strip_suffix(protected).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn annotation(definition: &Value) -> &str {
    Meta::of(definition).annotation(ANNOTATION).unwrap_or_default()
}

fn approval(definition: &Value) -> Approval {
    match annotation(definition) {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed,
        text if Url::parse_request(text)
            .is_some_and(|url| !url.host.is_empty() && !url.scheme.is_empty()) =>
        {
            Approval::Approved
        }
        _ => Approval::Invalid,
    }
}
