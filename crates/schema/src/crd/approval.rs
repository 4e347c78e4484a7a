//! Groups of the Kubernetes community need an annotation that says who approved the definition.
//!
//! Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go, v1.36.

use meta::{FieldError, FieldPath, Meta, Value, go_fmt};

use super::conditions::{Condition, Truth};
use super::view::{Definition, text};
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
    let approval = Approval::of(definition);
    if old.is_some_and(|old| Approval::of(old) == approval) {
        return Vec::new();
    }
    let metadata = FieldPath::ROOT.field("metadata");
    let annotations = metadata.field("annotations");
    let path = annotations.key(ANNOTATION);
    match approval {
        Approval::Missing => vec![FieldError::required(&path, approval.words(definition))],
        Approval::Invalid => {
            vec![FieldError::invalid(&path, annotation(definition), approval.words(definition))]
        }
        Approval::Bypassed | Approval::Approved => Vec::new(),
    }
}

/// The condition `KubernetesAPIApprovalPolicyConformant` of a definition, for groups that have it.
pub(super) fn condition(definition: &Value) -> Option<Condition> {
    let group = definition.get("spec").map_or("", |spec| text(spec, "group"));
    if !is_protected(group) {
        return None;
    }
    let approval = Approval::of(definition);
    let (status, reason) = match approval {
        Approval::Missing => (Truth::False, "MissingAnnotation"),
        Approval::Invalid => (Truth::False, "InvalidAnnotation"),
        Approval::Bypassed => (Truth::False, "UnapprovedAnnotation"),
        Approval::Approved => (Truth::True, "ApprovedAnnotation"),
    };
    Some(Condition { status, reason, message: approval.words(definition) })
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|protected| {
        group.strip_suffix(protected).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn annotation(definition: &Value) -> &str {
    Meta::of(definition).annotation(ANNOTATION).unwrap_or_default()
}

impl Approval {
    fn of(definition: &Value) -> Approval {
        let is_address =
            |text| Url::parse_request(text).is_some_and(|url| !url.host.is_empty() && !url.scheme.is_empty());
        match annotation(definition) {
            "" => Approval::Missing,
            text if text.starts_with("unapproved") => Approval::Bypassed,
            text if is_address(text) => Approval::Approved,
            _ => Approval::Invalid,
        }
    }

    fn words(&self, definition: &Value) -> String {
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        match self {
            Approval::Missing => {
                format!("protected groups must have approval annotation \"{ANNOTATION}\", {see}")
            }
            Approval::Invalid => format!(
                "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason \
                 starting with \"unapproved\", {see}"
            ),
            Approval::Bypassed => format!("not approved: {}", go_fmt::quote(annotation(definition))),
            Approval::Approved => format!("approved in {}", annotation(definition)),
        }
    }
}
