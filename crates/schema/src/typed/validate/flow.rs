//! Priority and fairness: flow schemas and priority levels.
//!
//! That the mandatory objects keep their fixed specs is left to whoever creates them.

use meta::names::{NameUse, dns1123_subdomain, name_is_dns_label};
use meta::{FieldError, FieldPath, Map, Value};

use super::{ROOT, each, shown};
use crate::typed::access::{flag, int, list, present, text, texts};

const MAX_PRECEDENCE: i64 = 10_000;
const MAX_QUEUES: i64 = 10_000_000;
/// Hands are dealt from one hash of this many bits.
const MAX_HASH_BITS: f64 = 60.0;
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

pub(super) fn schema(new: &Value, errors: &mut Vec<FieldError>) {
    let path = ROOT.field("spec");
    let precedence = int(new, &["spec", "matchingPrecedence"]);
    let precedence_path = path.field("matchingPrecedence");
    let mut invalid = |detail: String| errors.push(FieldError::invalid(&precedence_path, precedence, detail));
    if precedence <= 0 {
        invalid("must be a positive value".to_owned());
    }
    if precedence > MAX_PRECEDENCE {
        invalid(format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && text(new, &["metadata", "name"]) != "exempt" {
        invalid("only the schema named 'exempt' may have matchingPrecedence 1".to_owned());
    }
    if let Some(method) = present(new, &["spec", "distinguisherMethod"]) {
        let path = path.field("distinguisherMethod");
        let (kind, supported) = (text(method, &["type"]), ["ByNamespace", "ByUser"]);
        if !supported.contains(&kind) {
            // The whole method is shown, not its type.
            let value: Map = [("Type", kind.into())].into_iter().collect();
            errors.push(FieldError::not_supported(&path.field("type"), value, &supported));
        }
    }
    let level = path.field("priorityLevelConfiguration");
    match text(new, &["spec", "priorityLevelConfiguration", "name"]) {
        "" => errors.push(FieldError::required(&level.field("name"), "must reference a priority level")),
        name => each(errors, &level.field("name"), name, dns1123_subdomain(name)),
    }
    let rules = path.field("rules");
    for (index, rule) in list(new, &["spec", "rules"]).iter().enumerate() {
        policy_rule(rule, &rules.index(index), errors);
    }
    conditions(new, errors);
}

pub(super) fn conditions(new: &Value, errors: &mut Vec<FieldError>) {
    let status = ROOT.field("status");
    let path = status.field("conditions");
    let mut seen = Vec::new();
    for (index, condition) in list(new, &["status", "conditions"]).iter().enumerate() {
        let item = path.index(index);
        let kind = text(condition, &["type"]);
        if seen.contains(&kind) {
            errors.push(FieldError::duplicate(&item.field("type"), kind));
        }
        if kind.is_empty() {
            errors.push(FieldError::required(&item.field("type"), ""));
        }
        seen.push(kind);
    }
}

fn policy_rule(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let subjects = path.field("subjects");
    if list(rule, &["subjects"]).is_empty() {
        errors.push(FieldError::required(&subjects, "subjects must contain at least one value"));
    }
    for (index, item) in list(rule, &["subjects"]).iter().enumerate() {
        subject(item, &subjects.index(index), errors);
    }
    let (resource, other) = (list(rule, &["resourceRules"]), list(rule, &["nonResourceRules"]));
    if resource.is_empty() && other.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(FieldError::required(path, detail));
    }
    let rules = path.field("resourceRules");
    for (index, rule) in resource.iter().enumerate() {
        resource_rule(rule, &rules.index(index), errors);
    }
    let rules = path.field("nonResourceRules");
    for (index, rule) in other.iter().enumerate() {
        url_rule(rule, &rules.index(index), errors);
    }
}

fn subject(subject: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    const KINDS: [(&str, &str); 3] =
        [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = text(subject, &["kind"]);
    let Some((_, wanted)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        let kinds = ["Group", "ServiceAccount", "User"];
        return errors.push(FieldError::not_supported(&path.field("kind"), kind, &kinds));
    };
    let wanted_path = path.field(wanted);
    match present(subject, &[wanted]) {
        None => {
            let detail = format!("{wanted} is required when subject kind is '{kind}'");
            errors.push(FieldError::required(&wanted_path, detail));
        }
        Some(named) => subject_name(named, kind, &wanted_path, errors),
    }
    for (name, field) in KINDS {
        if field != *wanted && present(subject, &[field]).is_some() {
            let detail = format!("{field} is forbidden when subject kind is not '{name}'");
            errors.push(FieldError::forbidden(&path.field(field), detail));
        }
    }
}

fn subject_name(subject: &Value, kind: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let name = text(subject, &["name"]);
    let account = kind == "ServiceAccount";
    if name.is_empty() {
        errors.push(FieldError::required(&path.field("name"), ""));
    } else if account && name != "*" {
        each(errors, &path.field("name"), name, dns1123_subdomain(name));
    }
    if account {
        let path = path.field("namespace");
        match text(subject, &["namespace"]) {
            "" => errors.push(FieldError::required(&path, "must specify namespace for service account")),
            namespace => each(errors, &path, namespace, name_is_dns_label(namespace, NameUse::Whole)),
        }
    }
}

/// A list that holds something, and either the star or other things.
fn star_or_others(
    rule: &Value,
    field: &str,
    words: (&str, &str),
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let values = texts(rule, &[field]);
    let path = path.field(field);
    if values.is_empty() {
        errors.push(FieldError::required(&path, words.0));
    } else if values.len() > 1 && values.contains(&"*") {
        let detail = format!("if '*' is present, must not specify other {}", words.1);
        errors.push(FieldError::invalid(&path, shown(&values), detail));
    }
}

fn verbs(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    star_or_others(rule, "verbs", ("verbs must contain at least one value", "verbs"), path, errors);
    let verbs = texts(rule, &["verbs"]);
    if !verbs.contains(&"*") && verbs.iter().any(|verb| !VERBS.contains(verb)) {
        errors.push(FieldError::not_supported(&path.field("verbs"), shown(&verbs), &VERBS));
    }
}

fn resource_rule(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    verbs(rule, path, errors);
    let groups = ("resource rules must supply at least one api group", "api groups");
    star_or_others(rule, "apiGroups", groups, path, errors);
    let resources = ("resource rules must supply at least one resource", "resources");
    star_or_others(rule, "resources", resources, path, errors);
    let namespaces = texts(rule, &["namespaces"]);
    if namespaces.is_empty() && flag(rule, &["clusterScope"]) {
        return;
    }
    let none = "resource rules that are not cluster scoped must supply at least one namespace";
    star_or_others(rule, "namespaces", (none, "namespaces"), path, errors);
    if !namespaces.contains(&"*") {
        let path = path.field("namespaces");
        for (index, namespace) in namespaces.iter().enumerate() {
            for problem in name_is_dns_label(namespace, NameUse::Whole) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {problem}");
                errors.push(FieldError::invalid(&path.index(index), *namespace, detail));
            }
        }
    }
}

fn url_rule(rule: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    verbs(rule, path, errors);
    let words = ("nonResourceURLs must contain at least one value", "non-resource URLs");
    star_or_others(rule, "nonResourceURLs", words, path, errors);
    let urls = texts(rule, &["nonResourceURLs"]);
    if urls.contains(&"*") {
        return;
    }
    let path = path.field("nonResourceURLs");
    for (index, url) in urls.iter().enumerate() {
        let stars = url.matches('*').count();
        let detail = match *url {
            "" => "must not be empty",
            "/" => continue,
            _ if !url.starts_with('/') => "must start with slash",
            _ if url.contains(' ') => "must not contain white-space",
            _ if url.contains("//") => "must not contain double slash",
            _ if stars > 1 || (stars == 1 && !url.ends_with("/*")) => "wildcard can only do suffix matching",
            _ => continue,
        };
        errors.push(FieldError::invalid(&path.index(index), *url, detail));
    }
}

pub(super) fn priority_level(new: &Value, errors: &mut Vec<FieldError>) {
    let path = ROOT.field("spec");
    let kind = text(new, &["spec", "type"]);
    if (text(new, &["metadata", "name"]) == "exempt") != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(FieldError::invalid(&path.field("type"), kind, detail));
    }
    let limited = present(new, &["spec", "limited"]);
    let exempt = present(new, &["spec", "exempt"]);
    match kind {
        "Exempt" => {
            if limited.is_some() {
                let detail = "must be nil if the type is not Limited";
                errors.push(FieldError::forbidden(&path.field("limited"), detail));
            }
            if let Some(exempt) = exempt {
                shares(exempt, &path.field("exempt"), errors);
            }
        }
        "Limited" => {
            if exempt.is_some() {
                errors
                    .push(FieldError::forbidden(&path.field("exempt"), "must be nil if the type is Limited"));
            }
            match limited {
                None => {
                    let detail = "must not be empty when type is Limited";
                    errors.push(FieldError::required(&path.field("limited"), detail));
                }
                Some(limited) => limited_level(limited, &path.field("limited"), errors),
            }
        }
        "" => errors.push(FieldError::required(&path.field("type"), "")),
        _ => errors.push(FieldError::not_supported(&path.field("type"), kind, &["Exempt", "Limited"])),
    }
    conditions(new, errors);
}

fn shares(level: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let nominal = int(level, &["nominalConcurrencyShares"]);
    if nominal < 0 {
        let path = path.field("nominalConcurrencyShares");
        errors.push(FieldError::invalid(&path, nominal, "must be a non-negative integer"));
    }
    lendable(level, path, errors);
}

fn lendable(level: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let percent = int(level, &["lendablePercent"]);
    if !(0..=100).contains(&percent) {
        let path = path.field("lendablePercent");
        errors.push(FieldError::invalid(&path, percent, "must be between 0 and 100, inclusive"));
    }
}

fn limited_level(level: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let nominal = int(level, &["nominalConcurrencyShares"]);
    if nominal < 0 {
        let path = path.field("nominalConcurrencyShares");
        errors.push(FieldError::invalid(&path, nominal, "must be a non-negative integer"));
    }
    let response = path.field("limitResponse");
    let queuing = present(level, &["limitResponse", "queuing"]);
    match (text(level, &["limitResponse", "type"]), queuing) {
        ("Reject", Some(_)) => {
            let detail = "must be nil if limited.limitResponse.type is not Limited";
            errors.push(FieldError::forbidden(&response.field("queuing"), detail));
        }
        ("Queue", None) => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            errors.push(FieldError::required(&response.field("queuing"), detail));
        }
        ("Queue", Some(queuing)) => queues(queuing, &response.field("queuing"), errors),
        ("Reject", None) => {}
        ("", _) => errors.push(FieldError::required(&response.field("type"), "")),
        (kind, _) => {
            errors.push(FieldError::not_supported(&response.field("type"), kind, &["Queue", "Reject"]));
        }
    }
    lendable(level, path, errors);
    let borrowing = int(level, &["borrowingLimitPercent"]);
    if borrowing < 0 {
        let detail = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid(&path.field("borrowingLimitPercent"), borrowing, detail));
    }
}

fn queues(queuing: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let (limit, queues, hand) =
        (int(queuing, &["queueLengthLimit"]), int(queuing, &["queues"]), int(queuing, &["handSize"]));
    let mut invalid = |field: &str, value: i64, detail: String| {
        errors.push(FieldError::invalid(&path.field(field), value, detail));
    };
    if limit <= 0 {
        invalid("queueLengthLimit", limit, "must be positive".to_owned());
    }
    if queues <= 0 {
        invalid("queues", queues, "must be positive".to_owned());
    } else if queues > MAX_QUEUES {
        invalid("queues", queues, format!("must not be greater than {MAX_QUEUES}"));
    }
    #[expect(clippy::cast_precision_loss, reason = "both fit 32 bits")]
    let bits = ((queues as f64).log2() * hand as f64).ceil();
    if hand <= 0 {
        invalid("handSize", hand, "must be positive".to_owned());
    } else if hand > queues {
        invalid("handSize", hand, format!("should not be greater than queues ({queues})"));
    } else if bits > MAX_HASH_BITS {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {MAX_HASH_BITS}"
        );
        invalid("handSize", hand, detail);
    }
}
