//! Resource quotas: which resources may be limited, by how much, in which scope.

use meta::names::qualified_name;
use meta::wire::json;
use meta::{FieldError, FieldPath, Value};

use super::{IMMUTABLE, ROOT, each, go_struct, invalid_as, shown};
use crate::typed::Quantity;
use crate::typed::access::{list, members, present, text, texts};

/// Resources counted in whole numbers.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources that pods use.
const COMPUTE: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const STORAGE: [&str; 4] =
    ["ephemeral-storage", "requests.storage", "requests.ephemeral-storage", "limits.ephemeral-storage"];
const POD_SCOPES: [&str; 5] =
    ["Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"];

pub(super) fn quota(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    amounts(new, "spec", "hard", errors);
    let scopes = texts(new, &["spec", "scopes"]);
    let path = spec.field("scopes");
    check_scopes(new, &scopes, &path, errors);
    if present(new, &["spec", "scopeSelector"]).is_some() {
        scope_selector(new, &spec, errors);
    }
    match old {
        None => status(new, errors),
        Some(old) => {
            let sorted = |mut scopes: Vec<&str>| {
                scopes.sort_unstable();
                scopes.dedup();
                scopes.join(",")
            };
            if sorted(texts(old, &["spec", "scopes"])) != sorted(scopes.clone()) {
                let value = new.at(&["spec", "scopes"]).cloned().unwrap_or_default();
                errors.push(FieldError::invalid(&path, value, IMMUTABLE));
            }
        }
    }
}

pub(super) fn status(new: &Value, errors: &mut Vec<FieldError>) {
    amounts(new, "status", "hard", errors);
    amounts(new, "status", "used", errors);
}

fn amounts(object: &Value, part: &str, field: &str, errors: &mut Vec<FieldError>) {
    let part_path = ROOT.field(part);
    let path = part_path.field(field);
    for (resource, amount) in members(object, &[part, field]) {
        let path = path.key(resource);
        resource_name(resource, &path, errors);
        let Ok(quantity) = Quantity::parse(amount.as_str().unwrap_or_default()) else { continue };
        if quantity.is_negative() {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(&path, amount.clone(), detail));
        }
        if is_whole_only(resource) && !quantity.is_whole() {
            errors.push(FieldError::invalid(&path, amount.clone(), "must be an integer"));
        }
    }
}

fn resource_name(name: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let messages = qualified_name(name);
    let well_formed = messages.is_empty();
    each(errors, path, name, messages);
    if name.contains('/') {
        return;
    }
    if well_formed && name != "storage" && !is_standard(name) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource type or fully qualified"));
    }
    if !is_standard(name) {
        errors.push(FieldError::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// A resource a quota may name without a domain.
fn is_standard(name: &str) -> bool {
    let huge_pages = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
    huge_pages || [&COUNTED[..], &COMPUTE, &STORAGE].iter().any(|names| names.contains(&name))
}

/// Counts are whole, and so are resources of others' making, `count/…` among them.
fn is_whole_only(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    let extended =
        !native && !name.starts_with("requests.") && qualified_name(&format!("requests.{name}")).is_empty();
    COUNTED.contains(&name) || extended
}

fn is_scope(scope: &str) -> bool {
    POD_SCOPES.contains(&scope) || matches!(scope, "BestEffort" | "VolumeAttributesClass")
}

/// Whether a quota on `resource` may be narrowed to `scope`.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ if POD_SCOPES.contains(&scope) => resource == "pods" || COMPUTE.contains(&resource),
        _ => true,
    }
}

/// How many of the limited resources do not fit the scope.
fn misfits(object: &Value, scope: &str) -> usize {
    members(object, &["spec", "hard"]).filter(|(name, _)| is_standard(name) && !fits(scope, name)).count()
}

fn check_scopes(object: &Value, scopes: &[&str], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let mut invalid = |detail: &str| errors.push(FieldError::invalid(path, shown(scopes), detail));
    for scope in scopes {
        if !is_scope(scope) {
            invalid("unsupported scope");
        }
        for _ in 0..misfits(object, scope) {
            invalid("unsupported scope applied to resource");
        }
    }
    if conflicting(scopes) {
        invalid("conflicting scopes");
    }
}

fn conflicting(scopes: &[&str]) -> bool {
    let both = |a: &str, b: &str| scopes.contains(&a) && scopes.contains(&b);
    both("BestEffort", "NotBestEffort") || both("Terminating", "NotTerminating")
}

fn scope_selector(object: &Value, spec: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let selector = spec.field("scopeSelector");
    let path = selector.field("matchExpressions");
    let requirements = list(object, &["spec", "scopeSelector", "matchExpressions"]);
    let mut scopes = Vec::new();
    for requirement in requirements {
        let scope = text(requirement, &["scopeName"]);
        let operator = text(requirement, &["operator"]);
        let values = texts(requirement, &["values"]);
        if !is_scope(scope) {
            errors.push(FieldError::invalid(&path.field("scopeName"), scope, "unsupported scope"));
        }
        for _ in 0..misfits(object, scope) {
            errors.push(invalid_as(
                &path,
                go_selector(requirements),
                "unsupported scope applied to resource",
            ));
        }
        let only_exists = is_scope(scope) && !matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if only_exists && operator != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                          ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                          ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.push(FieldError::invalid(&path.field("operator"), operator, detail));
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &path.field("values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::invalid(
                &path.field("values"),
                shown(&values),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let path = path.field("operator");
                errors.push(FieldError::invalid(&path, operator, "not a valid selector operator"));
            }
        }
        scopes.push(scope);
    }
    if conflicting(&scopes) {
        let value = object.at(&["spec", "scopes"]).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(&path, value, "conflicting scopes"));
    }
}

fn go_selector(requirements: &[Value]) -> String {
    let requirement = |requirement: &Value| {
        go_struct(&[
            ("ScopeName", json::to_string(&text(requirement, &["scopeName"]).into())),
            ("Operator", json::to_string(&text(requirement, &["operator"]).into())),
            ("Values", json::to_string(requirement.get("values").unwrap_or(&Value::Null))),
        ])
    };
    let all: Vec<String> = requirements.iter().map(requirement).collect();
    go_struct(&[("MatchExpressions", format!("[{}]", all.join(",")))])
}
