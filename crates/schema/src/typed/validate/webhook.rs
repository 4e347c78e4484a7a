//! Webhook configurations, and the rules and conditions they share with admission policies.

use meta::names::{dns1035_label, dns1123_subdomain, qualified_name};
use meta::{ErrorType, FieldError, FieldPath, Value};

use super::{ROOT, each, one_of, port, selector, shown};
use crate::typed::access::{int, list, present, text, texts};

pub(super) const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
pub(super) const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: &[&str] = &["*", "Cluster", "Namespaced"];
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const REVIEW_VERSIONS: &[&str] = &["v1", "v1beta1"];
const MAX_MATCH_CONDITIONS: usize = 64;
const URL_FORM: &str = "; desired format: https://host[/path]";

/// What an update may keep because the object already has it.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent exceptions, each asked for by its name")]
struct Leniency {
    side_effects: bool,
    unknown_review_versions: bool,
    repeated_names: bool,
    match_conditions: bool,
    selectors: bool,
}

impl Leniency {
    fn of(new: &Value, old: Option<&Value>) -> Self {
        let Some(old) = old else { return Leniency::default() };
        let hooks = list(old, &["webhooks"]);
        let conditions = |object: &Value| -> Vec<Option<Value>> {
            list(object, &["webhooks"]).iter().map(|hook| hook.get("matchConditions").cloned()).collect()
        };
        let mut names: Vec<_> = hooks.iter().map(|hook| text(hook, &["name"])).collect();
        names.sort_unstable();
        let known = |hook: &Value| {
            let versions = texts(hook, &["admissionReviewVersions"]);
            versions.is_empty() || versions.iter().any(|version| REVIEW_VERSIONS.contains(version))
        };
        Leniency {
            side_effects: !hooks.iter().all(|hook| NO_SIDE_EFFECTS.contains(&text(hook, &["sideEffects"]))),
            unknown_review_versions: !hooks.iter().all(known),
            repeated_names: names.windows(2).any(|pair| pair[0] == pair[1]),
            match_conditions: conditions(new) == conditions(old),
            selectors: hooks.iter().any(|hook| !selector_errors(hook).is_empty()),
        }
    }
}

pub(super) fn configuration(new: &Value, old: Option<&Value>, mutating: bool, errors: &mut Vec<FieldError>) {
    let leniency = Leniency::of(new, old);
    let hooks = ROOT.field("webhooks");
    let mut names = Vec::new();
    for (index, hook) in list(new, &["webhooks"]).iter().enumerate() {
        let path = hooks.index(index);
        webhook(hook, mutating, &leniency, &path, errors);
        review_versions(hook, &leniency, &path.field("admissionReviewVersions"), errors);
        let name = text(hook, &["name"]);
        if !leniency.repeated_names && !name.is_empty() {
            if names.contains(&name) {
                errors.push(FieldError::duplicate(&path.field("name"), name));
            }
            names.push(name);
        }
    }
}

fn webhook(
    hook: &Value,
    mutating: bool,
    leniency: &Leniency,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    qualified_domain(text(hook, &["name"]), &path.field("name"), errors);
    let rules = path.field("rules");
    for (index, rule) in list(hook, &["rules"]).iter().enumerate() {
        rule_with_operations(rule, &rules.index(index), errors);
    }
    let mut choice = |field: &str, supported: &[&str]| {
        if let Some(value) = present(hook, &[field]).and_then(Value::as_str) {
            one_of(errors, &path.field(field), value, supported);
        }
    };
    choice("failurePolicy", FAILURE_POLICIES);
    choice("matchPolicy", MATCH_POLICIES);
    let side_effects = if leniency.side_effects { SIDE_EFFECTS } else { NO_SIDE_EFFECTS };
    choice("sideEffects", side_effects);
    if present(hook, &["sideEffects"]).is_none() {
        let detail = format!("must specify one of {}", side_effects.join(", "));
        errors.push(FieldError::required(&path.field("sideEffects"), detail));
    }
    if present(hook, &["timeoutSeconds"]).is_some() {
        let timeout = int(hook, &["timeoutSeconds"]);
        if !(1..=30).contains(&timeout) {
            let detail = "the timeout value must be between 1 and 30 seconds";
            errors.push(FieldError::invalid(&path.field("timeoutSeconds"), timeout, detail));
        }
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = present(hook, &[field]) {
            selector::label_selector(selector, leniency.selectors, &path.field(field), errors);
        }
    }
    if mutating && let Some(policy) = present(hook, &["reinvocationPolicy"]).and_then(Value::as_str) {
        one_of(errors, &path.field("reinvocationPolicy"), policy, REINVOCATION_POLICIES);
    }
    client_config(hook, &path.field("clientConfig"), errors);
    if !leniency.match_conditions {
        match_conditions(hook, &path.field("matchConditions"), errors);
    }
}

fn selector_errors(hook: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = present(hook, &[field]) {
            selector::label_selector(selector, false, &ROOT, &mut errors);
        }
    }
    errors
}

fn qualified_domain(name: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let problems = dns1123_subdomain(name);
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !problems.is_empty() {
        errors.push(FieldError::invalid(path, name, problems.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn review_versions(hook: &Value, leniency: &Leniency, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let versions = texts(hook, &["admissionReviewVersions"]);
    let known = REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        errors.push(FieldError::required(path, format!("must specify one of {known}")));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&path.index(index), *version, "duplicate version"));
        } else {
            each(errors, &path.index(index), version, dns1035_label(version));
        }
    }
    let accepted = versions.iter().any(|version| REVIEW_VERSIONS.contains(version));
    if !accepted && !leniency.unknown_review_versions {
        let detail = format!("must include at least one of {known}");
        errors.push(FieldError::invalid(path, shown(&versions), detail));
    }
}

fn client_config(hook: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let url = present(hook, &["clientConfig", "url"]).and_then(Value::as_str);
    match (url, present(hook, &["clientConfig", "service"])) {
        (Some(url), None) => webhook_url(url, &path.field("url"), errors),
        (None, Some(service)) => webhook_service(service, &path.field("service"), errors),
        _ => errors.push(FieldError::required(path, "exactly one of url or service is required")),
    }
}

fn webhook_url(url: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let parts = Url::split(url);
    let mut invalid = |value: &str, detail: String| errors.push(FieldError::invalid(path, value, detail));
    if parts.scheme != "https" {
        invalid(&parts.scheme, format!("'https' is the only allowed URL scheme{URL_FORM}"));
    }
    if parts.host.is_empty() {
        invalid("", format!("host must be specified{URL_FORM}"));
    }
    if let Some(user) = parts.user {
        invalid(user, "user information is not permitted in the URL".to_owned());
    }
    if !parts.fragment.is_empty() {
        invalid(parts.fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !parts.query.is_empty() {
        invalid(parts.query, "query parameters are not permitted in the URL".to_owned());
    }
}

/// The parts of a URL that a webhook may not have, or must.
struct Url<'a> {
    scheme: String,
    user: Option<&'a str>,
    host: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> Url<'a> {
    fn split(url: &'a str) -> Self {
        let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let is_scheme = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        };
        let (scheme, rest) = match rest.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ => (String::new(), rest),
        };
        let authority = rest.strip_prefix("//").map_or("", |rest| rest.split('/').next().unwrap_or_default());
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        Url { scheme, user, host, query, fragment }
    }
}

fn webhook_service(service: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    // The reference mixes the two up: a missing namespace is reported at the name, and the other way round.
    for (missing, reported) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, &[missing]).is_empty() {
            errors.push(FieldError::required(&path.field(reported), ""));
        }
    }
    port(errors, &path.field("port"), int(service, &["port"]));
    let path = path.field("path");
    let url_path = text(service, &["path"]);
    let mut invalid = |detail: String| errors.push(FieldError::invalid(&path, url_path, detail));
    match url_path {
        "" | "/" => return,
        "//" => return invalid("segment[0] may not be empty".to_owned()),
        _ if !url_path.starts_with('/') => invalid("must start with a '/'".to_owned()),
        _ => {}
    }
    // The first character is skipped even when it is not the slash it should be.
    let checked: String = url_path.chars().skip(1).collect();
    let checked = checked.strip_suffix('/').unwrap_or(&checked);
    for (index, step) in checked.split('/').enumerate() {
        if step.is_empty() {
            invalid(format!("segment[{index}] may not be empty"));
            continue;
        }
        for problem in dns1123_subdomain(step) {
            invalid(format!("segment[{index}]: {problem}"));
        }
    }
}

pub(super) fn rule_with_operations(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let operations = texts(rule, &["operations"]);
    let operations_path = path.field("operations");
    if operations.is_empty() {
        errors.push(FieldError::required(&operations_path, ""));
    }
    lone_star(&operations, "operations", &operations_path, errors);
    for (index, operation) in operations.iter().enumerate() {
        one_of(errors, &operations_path.index(index), operation, OPERATIONS);
    }
    for (field, words) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let values = texts(rule, &[field]);
        let path = path.field(field);
        if values.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        lone_star(&values, words, &path, errors);
        for (index, value) in values.iter().enumerate() {
            // Only the group may be empty: it is the core group.
            if value.is_empty() && field == "apiVersions" {
                errors.push(FieldError::required(&path.index(index), ""));
            }
        }
    }
    rule_resources(&texts(rule, &["resources"]), &path.field("resources"), errors);
    if let Some(scope) = present(rule, &["scope"]).and_then(Value::as_str) {
        one_of(errors, &path.field("scope"), scope, SCOPES);
    }
}

fn lone_star(values: &[&str], words: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if values.len() > 1 && values.contains(&"*") {
        let detail = format!("if '*' is present, must not specify other {words}");
        errors.push(FieldError::invalid(path, shown(values), detail));
    }
}

fn rule_resources(resources: &[&str], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let (mut any_subresource, mut any_resource) = (Vec::new(), Vec::new());
    let mut last_is_plain = false;
    for (index, resource) in resources.iter().enumerate() {
        if resource.is_empty() {
            errors.push(FieldError::required(&path.index(index), ""));
            continue;
        }
        let Some((name, subresource)) = resource.split_once('/') else {
            last_is_plain = *resource != "*";
            continue;
        };
        let mut covered = |by: String| {
            let detail = format!("if '{by}' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&path.index(index), *resource, detail));
        };
        if any_subresource.contains(&name) {
            covered(format!("{name}/*"));
        }
        if any_resource.contains(&subresource) {
            covered(format!("*/{subresource}"));
        }
        if subresource == "*" {
            any_subresource.push(name);
        }
        if name == "*" {
            any_resource.push(subresource);
        }
    }
    let mut invalid = |detail: &str| errors.push(FieldError::invalid(path, shown(resources), detail));
    if resources.len() > 1 && resources.contains(&"*/*") {
        invalid("if '*/*' is present, must not specify other resources");
    }
    if resources.contains(&"*") && last_is_plain {
        invalid("if '*' is present, must not specify other resources without subresources");
    }
}

/// Names and presence; that an expression compiles is checked where expressions are.
pub(super) fn match_conditions(holder: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let conditions = list(holder, &["matchConditions"]);
    if conditions.len() > MAX_MATCH_CONDITIONS {
        let detail = format!("must have at most {MAX_MATCH_CONDITIONS} items");
        errors.push(FieldError::new(ErrorType::TooMany, path, Value::Null, detail));
    }
    let mut names = Vec::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        if text(condition, &["expression"]).trim().is_empty() {
            errors.push(FieldError::required(&path.field("expression"), ""));
        }
        let name = text(condition, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(&path.field("name"), ""));
            continue;
        }
        each(errors, &path.field("name"), name, qualified_name(name));
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&path.field("name"), name));
        }
        names.push(name);
    }
}
