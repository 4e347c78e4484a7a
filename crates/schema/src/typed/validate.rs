//! What the reference demands of an object of a kind, beside its metadata.
//!
//! Works on decoded, defaulted and prepared objects. Errors come in a stable order: fields as the reference visits
//! them, members of maps by key. Rules that need an expression compiled belong to the admission part.
//!
//! Upstream: kubernetes/pkg/apis/*/validation/*.go; kube-aggregator/pkg/apis/apiregistration/validation, v1.36.

mod certificate;
mod core;
mod event;
mod flow;
mod metadata;
mod network;
mod policy;
mod quota;
mod rbac;
mod registration;
mod review;
mod selector;
mod webhook;

use meta::names::{self, NameFn};
use meta::{FieldError, FieldPath, Value};

use super::resources::{NameRule, resource_of};
use super::types::Kind;

const ROOT: FieldPath<'static> = FieldPath::ROOT;
const IMMUTABLE: &str = "field is immutable";

/// What is wrong with `new`, which is created or, when there is an `old`, replaces it through `subresource` (empty
/// for the resource itself). Metadata is not looked at: see `name_rule` and the checks all kinds share.
pub fn validate(kind: Kind, subresource: &str, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let e = &mut errors;
    match (kind.name(), subresource) {
        ("Namespace", _) => core::namespace(new, subresource, e),
        ("ConfigMap", _) => core::config_map(new, old, e),
        ("Secret", _) => core::secret(new, old, e),
        ("Event", _) => event::event(kind.group(), new, old, e),
        ("Lease", _) => core::lease(new, e),
        ("Service", "") => network::service(new, old, e),
        ("EndpointSlice", _) => network::endpoint_slice(new, old, e),
        ("ResourceQuota", "status") => quota::status(new, e),
        ("ResourceQuota", _) => quota::quota(new, old, e),
        ("Role", _) => rbac::role(new, true, e),
        ("ClusterRole", _) => rbac::cluster_role(new, e),
        ("RoleBinding", _) => rbac::binding(new, old, true, e),
        ("ClusterRoleBinding", _) => rbac::binding(new, old, false, e),
        ("ValidatingWebhookConfiguration", _) => webhook::configuration(new, old, false, e),
        ("MutatingWebhookConfiguration", _) => webhook::configuration(new, old, true, e),
        ("ValidatingAdmissionPolicy", "") => policy::validating(new, e),
        ("MutatingAdmissionPolicy", "") => policy::mutating(new, e),
        ("ValidatingAdmissionPolicyBinding", _) => policy::binding(new, true, e),
        ("MutatingAdmissionPolicyBinding", _) => policy::binding(new, false, e),
        ("APIService", "status") => registration::status(new, e),
        ("APIService", _) => registration::service(new, e),
        ("CertificateSigningRequest", _) => certificate::request(new, old, subresource, e),
        ("FlowSchema" | "PriorityLevelConfiguration", "status") => flow::conditions(new, e),
        ("FlowSchema", _) => flow::schema(new, e),
        ("PriorityLevelConfiguration", _) => flow::priority_level(new, e),
        ("SubjectAccessReview", _) => review::subject(new, e),
        ("SelfSubjectAccessReview", _) => review::self_subject(new, e),
        ("LocalSubjectAccessReview", _) => review::local_subject(new, e),
        ("TokenRequest", _) => review::token_request(new, e),
        _ => {}
    }
    errors
}

pub use metadata::validate_metadata;

/// The check of names and `generateName` of a kind.
///
/// ```
/// use crest_schema::typed::{kind, name_rule};
/// use meta::names::NameUse;
/// let check = name_rule(kind("", "v1", "Namespace").unwrap());
/// assert!(!check("a.b", NameUse::Whole).is_empty());
/// ```
pub fn name_rule(kind: Kind) -> NameFn {
    match resource_of(kind).map_or(NameRule::Any, |resource| resource.name_rule) {
        NameRule::DnsSubdomain => names::name_is_dns_subdomain,
        NameRule::DnsLabel => names::name_is_dns_label,
        NameRule::DnsLabel1035 => names::name_is_dns1035_label,
        NameRule::PathSegment => names::name_is_path_segment,
        NameRule::Any => |_, _| Vec::new(),
    }
}

/// Adds one error per message about `value`.
fn each(errors: &mut Vec<FieldError>, path: &FieldPath<'_>, value: &str, messages: Vec<String>) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
}

/// Adds an error unless `value` is one of `supported`.
fn one_of(errors: &mut Vec<FieldError>, path: &FieldPath<'_>, value: &str, supported: &[&str]) {
    if !supported.contains(&value) {
        errors.push(FieldError::not_supported(path, value, supported));
    }
}

/// Adds an error unless `port` is one.
fn port(errors: &mut Vec<FieldError>, path: &FieldPath<'_>, port: i64) {
    if !(1..=65_535).contains(&port) {
        errors.push(FieldError::invalid(
            path,
            port,
            "port is not valid: must be between 1 and 65535, inclusive",
        ));
    }
}

/// An error whose value is shown as this text: what the reference prints of its own structs, which have other names
/// and another order than JSON.
fn invalid_as(path: &FieldPath<'_>, text: String, detail: &str) -> FieldError {
    FieldError::invalid(path, Value::Null, detail).shown_as(text)
}

/// A struct as Go prints it in JSON: the given fields in the given order, values already encoded.
fn go_struct(fields: &[(&str, String)]) -> String {
    let members: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// A list of strings as an error shows it.
fn shown(values: &[&str]) -> Value {
    values.iter().map(|value| Value::from(*value)).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests;
