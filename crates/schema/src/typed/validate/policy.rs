//! Admission policies and their bindings, as far as no expression is compiled.

use meta::names::{dns1035_label, dns1123_subdomain, path_segment, qualified_name};
use meta::{FieldError, FieldPath, Value};

use super::webhook::{
    FAILURE_POLICIES, MATCH_POLICIES, REINVOCATION_POLICIES, match_conditions, rule_with_operations,
};
use super::{ROOT, each, one_of, selector, shown};
use crate::typed::access::{list, present, text, texts};

const MUTATING_OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];
const ACTIONS: &[&str] = &["Audit", "Deny", "Warn"];
const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];
const MAX_AUDIT_ANNOTATIONS: usize = 20;
const MAX_AUDIT_EXPRESSION_BYTES: usize = 5 * 1024;
const NEITHER: &str = "validations or auditAnnotations must contain at least one item";
/// Words that are not identifiers in CEL.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

pub(super) fn validating(new: &Value, errors: &mut Vec<FieldError>) {
    let path = ROOT.field("spec");
    let Some(spec) = new.get("spec") else { return };
    common(spec, &path, false, errors);
    let validations = list(spec, &["validations"]);
    let annotations = list(spec, &["auditAnnotations"]);
    if validations.is_empty() && annotations.is_empty() {
        errors.push(FieldError::required(&path.field("validations"), NEITHER));
        errors.push(FieldError::required(&path.field("auditAnnotations"), NEITHER));
        return;
    }
    let validations_path = path.field("validations");
    for (index, rule) in validations.iter().enumerate() {
        validation(rule, &validations_path.index(index), errors);
    }
    audit_annotations(text(new, &["metadata", "name"]), annotations, &path.field("auditAnnotations"), errors);
}

pub(super) fn mutating(new: &Value, errors: &mut Vec<FieldError>) {
    let path = ROOT.field("spec");
    let Some(spec) = new.get("spec") else { return };
    common(spec, &path, true, errors);
    let mutations_path = path.field("mutations");
    let mutations = list(spec, &["mutations"]);
    if mutations.is_empty() {
        errors.push(FieldError::required(&mutations_path, "mutations must contain at least one item"));
    }
    for (index, rule) in mutations.iter().enumerate() {
        mutation(rule, &mutations_path.index(index), errors);
    }
    required_choice(spec, "reinvocationPolicy", REINVOCATION_POLICIES, &path, errors);
}

/// What both kinds of policy have.
fn common(spec: &Value, path: &FieldPath<'_>, mutating: bool, errors: &mut Vec<FieldError>) {
    required_choice(spec, "failurePolicy", FAILURE_POLICIES, path, errors);
    if let Some(kind) = present(spec, &["paramKind"]) {
        param_kind(kind, &path.field("paramKind"), errors);
    }
    let constraints_path = path.field("matchConstraints");
    match present(spec, &["matchConstraints"]) {
        None => errors.push(FieldError::required(&constraints_path, "")),
        Some(constraints) => {
            match_resources(constraints, &constraints_path, errors);
            if list(constraints, &["resourceRules"]).is_empty() {
                errors.push(FieldError::required(&constraints_path.field("resourceRules"), ""));
            }
            if mutating {
                mutating_operations(constraints, &constraints_path, errors);
            }
        }
    }
    match_conditions(spec, &path.field("matchConditions"), errors);
    let variables = path.field("variables");
    for (index, item) in list(spec, &["variables"]).iter().enumerate() {
        variable(item, &variables.index(index), errors);
    }
}

fn required_choice(
    holder: &Value,
    field: &str,
    supported: &[&str],
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    match text(holder, &[field]) {
        "" => errors.push(FieldError::required(&path.field(field), "")),
        value => one_of(errors, &path.field(field), value, supported),
    }
}

fn param_kind(kind: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let version_path = path.field("apiVersion");
    let api_version = text(kind, &["apiVersion"]);
    let mut joined = |value: &str, problems: Vec<String>| {
        if !problems.is_empty() {
            errors.push(FieldError::invalid(&version_path, value, problems.join(",")));
        }
    };
    match api_version.split('/').collect::<Vec<_>>()[..] {
        [""] => errors.push(FieldError::required(&version_path, "")),
        [version] => joined(version, dns1035_label(version)),
        [group, version] => {
            if !group.is_empty() {
                joined(group, dns1123_subdomain(group));
            }
            if version.is_empty() {
                joined(api_version, vec!["version must be specified".to_owned()]);
            } else {
                joined(version, dns1035_label(version));
            }
        }
        _ => joined(api_version, vec![format!("unexpected GroupVersion string: {api_version}")]),
    }
    let name = text(kind, &["kind"]);
    let problems = dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.push(FieldError::required(&path.field("kind"), ""));
    } else if !problems.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
        errors.push(FieldError::invalid(&path.field("kind"), name, detail));
    }
}

fn match_resources(resources: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    required_choice(resources, "matchPolicy", MATCH_POLICIES, path, errors);
    for field in ["namespaceSelector", "objectSelector"] {
        match present(resources, &[field]) {
            None => errors.push(FieldError::required(&path.field(field), "")),
            Some(selector) => selector::label_selector(selector, false, &path.field(field), errors),
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        let rules = path.field(field);
        for (index, rule) in list(resources, &[field]).iter().enumerate() {
            let path = rules.index(index);
            resource_names(rule, &path.field("resourceNames"), errors);
            rule_with_operations(rule, &path, errors);
        }
    }
}

fn resource_names(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let names = texts(rule, &["resourceNames"]);
    for (index, name) in names.iter().enumerate() {
        each(errors, &path.index(index), name, path_segment(name));
        if names[..index].contains(name) {
            errors.push(FieldError::duplicate(&path.index(index), *name));
        }
    }
}

/// There is nothing to mutate in an object that goes.
fn mutating_operations(resources: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let rules = path.field("resourceRules");
    let path = rules.field("operations");
    for rule in list(resources, &["resourceRules"]) {
        for operation in texts(rule, &["operations"]) {
            one_of(errors, &path, operation, MUTATING_OPERATIONS);
        }
    }
}

fn variable(variable: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let name = text(variable, &["name"]);
    if name.trim().is_empty() {
        errors.push(FieldError::required(&path.field("name"), "name is not specified"));
    } else if !meta::names::c_identifier(name).is_empty() || RESERVED.contains(&name) {
        errors.push(FieldError::invalid(&path.field("name"), name, "must be a valid CEL identifier"));
    }
    if text(variable, &["expression"]).trim().is_empty() {
        errors.push(FieldError::required(&path.field("expression"), "expression is not specified"));
    }
}

fn validation(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if text(rule, &["expression"]).trim().is_empty() {
        errors.push(FieldError::required(&path.field("expression"), "expression is not specified"));
    }
    for field in ["messageExpression", "message"] {
        let value = text(rule, &[field]);
        let detail = match value.trim() {
            "" if !value.is_empty() => "must be non-empty if specified",
            trimmed if field == "message" && trimmed.contains(['\n', '\r']) => "must not contain line breaks",
            _ => continue,
        };
        errors.push(FieldError::invalid(&path.field(field), value, detail));
    }
    if let Some(reason) = present(rule, &["reason"]).and_then(Value::as_str) {
        one_of(errors, &path.field("reason"), reason, REASONS);
    }
}

fn audit_annotations(
    policy: &str,
    annotations: &[Value],
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    if annotations.len() > MAX_AUDIT_ANNOTATIONS {
        let detail = format!("must not have more than {MAX_AUDIT_ANNOTATIONS} auditAnnotations");
        errors.push(FieldError::invalid(path, annotations.to_vec(), detail));
    }
    let mut keys = Vec::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let path = path.index(index);
        let key = text(annotation, &["key"]);
        if policy.is_empty() {
            errors.push(FieldError::invalid(&path.field("key"), key, "requires metadata.name be non-empty"));
        } else {
            let qualified = format!("{policy}/{key}");
            each(errors, &path.field("key"), &qualified, qualified_name(&qualified));
        }
        let expression_path = path.field("valueExpression");
        match text(annotation, &["valueExpression"]).trim().len() {
            0 => errors.push(FieldError::required(&expression_path, "valueExpression is not specified")),
            length if length > MAX_AUDIT_EXPRESSION_BYTES => {
                let detail = format!("must not exceed {MAX_AUDIT_EXPRESSION_BYTES} bytes in length");
                errors.push(FieldError::required(&expression_path, detail));
            }
            _ => {}
        }
        if keys.contains(&key) {
            errors.push(FieldError::duplicate(&path.field("key"), key));
        }
        keys.push(key);
    }
}

fn mutation(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let (patch_type, wanted, other) = match text(rule, &["patchType"]) {
        "" => return errors.push(FieldError::required(&path.field("patchType"), "")),
        kind @ "JSONPatch" => (kind, "jsonPatch", "applyConfiguration"),
        kind @ "ApplyConfiguration" => (kind, "applyConfiguration", "jsonPatch"),
        kind => {
            let supported = ["ApplyConfiguration", "JSONPatch"];
            return errors.push(FieldError::not_supported(&path.field("patchType"), kind, &supported));
        }
    };
    let wanted_path = path.field(wanted);
    match present(rule, &[wanted]) {
        None => {
            let detail = format!("must be specified when patchType is {patch_type}");
            errors.push(FieldError::required(&wanted_path, detail));
        }
        Some(patch) if text(patch, &["expression"]).trim().is_empty() => {
            errors.push(FieldError::required(&wanted_path.field("expression"), ""));
        }
        Some(_) => {}
    }
    if present(rule, &[other]).is_some() {
        let detail = format!("must not be specified when patchType is {patch_type}");
        errors.push(FieldError::invalid(&path.field(other), format!("{{{other}}}"), detail));
    }
}

pub(super) fn binding(new: &Value, validating: bool, errors: &mut Vec<FieldError>) {
    let path = ROOT.field("spec");
    let Some(spec) = new.get("spec") else { return };
    match text(spec, &["policyName"]) {
        "" => errors.push(FieldError::required(&path.field("policyName"), "")),
        name => each(errors, &path.field("policyName"), name, dns1123_subdomain(name)),
    }
    if let Some(param) = present(spec, &["paramRef"]) {
        param_ref(param, &path.field("paramRef"), errors);
    }
    if let Some(resources) = present(spec, &["matchResources"]) {
        let path = path.field("matchResources");
        match_resources(resources, &path, errors);
        if !validating {
            mutating_operations(resources, &path, errors);
        }
    }
    if validating {
        actions(&texts(spec, &["validationActions"]), &path.field("validationActions"), errors);
    }
}

fn param_ref(param: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    const BOTH: &str = "name and selector are mutually exclusive";
    let name = text(param, &["name"]);
    let selector = present(param, &["selector"]);
    if !name.is_empty() {
        each(errors, &path.field("name"), name, path_segment(name));
        if selector.is_some() {
            errors.push(FieldError::forbidden(&path.field("name"), BOTH));
        }
    }
    match selector {
        Some(selector) => {
            selector::label_selector(selector, false, &path.field("selector"), errors);
            if !name.is_empty() {
                errors.push(FieldError::forbidden(&path.field("selector"), BOTH));
            }
        }
        None if name.is_empty() => {
            errors.push(FieldError::required(path, "one of name or selector must be specified"));
        }
        None => {}
    }
    required_choice(param, "parameterNotFoundAction", &["Deny", "Allow"], path, errors);
}

fn actions(actions: &[&str], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for (index, action) in actions.iter().enumerate() {
        one_of(errors, &path.index(index), action, ACTIONS);
        if actions[..index].contains(action) {
            errors.push(FieldError::duplicate(&path.index(index), *action));
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in \
                      the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, shown(actions), detail));
    }
    if actions.is_empty() {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
}
