//! Roles and bindings.

use meta::names::{dns1123_subdomain, path_segment};
use meta::{FieldError, FieldPath, Map, Value};

use super::{ROOT, each, one_of, selector, shown};
use crate::typed::access::{list, present, text, texts};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(new: &Value, namespaced: bool, errors: &mut Vec<FieldError>) {
    let rules = ROOT.field("rules");
    for (index, rule) in list(new, &["rules"]).iter().enumerate() {
        policy_rule(rule, namespaced, &rules.index(index), errors);
    }
}

pub(super) fn cluster_role(new: &Value, errors: &mut Vec<FieldError>) {
    role(new, false, errors);
    if present(new, &["aggregationRule"]).is_none() {
        return;
    }
    let aggregation = ROOT.field("aggregationRule");
    let path = aggregation.field("clusterRoleSelectors");
    let selectors = list(new, &["aggregationRule", "clusterRoleSelectors"]);
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(&path, detail));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        let before = errors.len();
        selector::label_selector(selector, false, &path, errors);
        // What is wrong with a selector also keeps it from being one.
        if errors.len() > before {
            errors.push(FieldError::invalid(&path, Value::Null, "invalid label selector."));
        }
    }
}

fn policy_rule(rule: &Value, namespaced: bool, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let is_empty = |field: &str| list(rule, &[field]).is_empty();
    if is_empty("verbs") {
        errors.push(FieldError::required(&path.field("verbs"), "verbs must contain at least one value"));
    }
    let urls = texts(rule, &["nonResourceURLs"]);
    if !urls.is_empty() {
        let path = path.field("nonResourceURLs");
        let mut invalid = |detail: &str| errors.push(FieldError::invalid(&path, shown(&urls), detail));
        if namespaced {
            invalid("namespaced rules cannot apply to non-resource URLs");
        }
        if !["apiGroups", "resources", "resourceNames"].into_iter().all(is_empty) {
            invalid("rules cannot apply to both regular resources and non-resource URLs");
        }
        return;
    }
    if is_empty("apiGroups") {
        let detail = "resource rules must supply at least one api group";
        errors.push(FieldError::required(&path.field("apiGroups"), detail));
    }
    if is_empty("resources") {
        let detail = "resource rules must supply at least one resource";
        errors.push(FieldError::required(&path.field("resources"), detail));
    }
}

pub(super) fn binding(new: &Value, old: Option<&Value>, namespaced: bool, errors: &mut Vec<FieldError>) {
    let role = ROOT.field("roleRef");
    one_of(errors, &role.field("apiGroup"), text(new, &["roleRef", "apiGroup"]), &[GROUP]);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    one_of(errors, &role.field("kind"), text(new, &["roleRef", "kind"]), kinds);
    match text(new, &["roleRef", "name"]) {
        "" => errors.push(FieldError::required(&role.field("name"), "")),
        name => each(errors, &role.field("name"), name, path_segment(name)),
    }
    let subjects = ROOT.field("subjects");
    for (index, subject) in list(new, &["subjects"]).iter().enumerate() {
        check_subject(subject, namespaced, &subjects.index(index), errors);
    }
    if let Some(old) = old
        && old.get("roleRef") != new.get("roleRef")
    {
        errors.push(FieldError::invalid(&role, go_role_ref(new), "cannot change roleRef"));
    }
}

/// The reference's internal type has no JSON names, so its fields show up under their Go names.
fn go_role_ref(binding: &Value) -> Value {
    let fields = [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")];
    fields
        .into_iter()
        .map(|(go, json)| (go, text(binding, &["roleRef", json]).into()))
        .collect::<Map>()
        .into()
}

fn check_subject(subject: &Value, namespaced: bool, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let name = text(subject, &["name"]);
    let group = text(subject, &["apiGroup"]);
    if name.is_empty() {
        errors.push(FieldError::required(&path.field("name"), ""));
    }
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            if !name.is_empty() {
                each(errors, &path.field("name"), name, dns1123_subdomain(name));
            }
            one_of(errors, &path.field("apiGroup"), group, &[""]);
            if !namespaced && text(subject, &["namespace"]).is_empty() {
                errors.push(FieldError::required(&path.field("namespace"), ""));
            }
        }
        "User" | "Group" => one_of(errors, &path.field("apiGroup"), group, &[GROUP]),
        kind => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(&path.field("kind"), kind, &kinds));
        }
    }
}
