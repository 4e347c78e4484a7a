//! Namespaces, config maps, secrets and leases.

use meta::names::{config_map_key, qualified_name};
use meta::wire::json;
use meta::{FieldError, FieldPath, Value};

use super::{IMMUTABLE, ROOT, each};
use crate::typed::access::{flag, int, list, members, present, text};
use crate::typed::go_base64;

/// The limit for the data of a config map or a secret.
const MAX_DATA_BYTES: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

pub(super) fn namespace(new: &Value, subresource: &str, errors: &mut Vec<FieldError>) {
    if subresource == "status" {
        return namespace_phase(new, errors);
    }
    let spec = ROOT.field("spec");
    let path = spec.field("finalizers");
    for (index, finalizer) in list(new, &["spec", "finalizers"]).iter().enumerate() {
        // Only the subresource says which one is wrong.
        let item = path.index(index);
        let path = if subresource == "finalize" { &item } else { &path };
        finalizer_name(finalizer.as_str().unwrap_or_default(), path, errors);
    }
}

fn finalizer_name(name: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    each(errors, path, name, qualified_name(name));
    standard_finalizer(name, path, errors);
}

/// A finalizer is one that everybody knows, or says whose it is.
pub(super) fn standard_finalizer(name: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn namespace_phase(new: &Value, errors: &mut Vec<FieldError>) {
    let (expected, detail) = match present(new, &["metadata", "deletionTimestamp"]) {
        None => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
        Some(_) => ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
    };
    let phase = text(new, &["status", "phase"]);
    if phase != expected {
        // The reference spells the field like this.
        errors.push(FieldError::invalid(&ROOT.field("status").field("Phase"), phase, detail));
    }
}

/// What may not change once `immutable` was set.
fn frozen(new: &Value, old: Option<&Value>, fields: &[&str], errors: &mut Vec<FieldError>) {
    let Some(old) = old.filter(|old| flag(old, &["immutable"])) else { return };
    if !flag(new, &["immutable"]) {
        errors.push(FieldError::forbidden(&ROOT.field("immutable"), FROZEN));
    }
    for field in fields {
        if new.get(field) != old.get(field) {
            errors.push(FieldError::forbidden(&ROOT.field(field), FROZEN));
        }
    }
}

pub(super) fn config_map(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    frozen(new, old, &["data", "binaryData"], errors);
    let mut size = 0;
    let data = ROOT.field("data");
    for (key, value) in members(new, &["data"]) {
        let path = data.key(key);
        each(errors, &path, key, config_map_key(key));
        if new.at(&["binaryData", key]).is_some() {
            errors.push(FieldError::invalid(&path, key, "duplicate of key present in binaryData"));
        }
        size += value.as_str().map_or(0, str::len);
    }
    let binary = ROOT.field("binaryData");
    for (key, value) in members(new, &["binaryData"]) {
        each(errors, &binary.key(key), key, config_map_key(key));
        size += value.as_str().map_or(0, go_base64::decoded_len);
    }
    if size > MAX_DATA_BYTES {
        // The whole object is meant; the reference writes a path without a name so.
        errors.push(FieldError::too_long(&ROOT.key(""), "", MAX_DATA_BYTES));
    }
}

pub(super) fn secret(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let kind = text(new, &["type"]);
    if let Some(old) = old
        && kind != text(old, &["type"])
    {
        errors.push(FieldError::invalid(&ROOT.field("type"), kind, IMMUTABLE));
    }
    frozen(new, old, &["data"], errors);
    let data = ROOT.field("data");
    let mut size = 0;
    for (key, value) in members(new, &["data"]) {
        each(errors, &data.key(key), key, config_map_key(key));
        size += value.as_str().map_or(0, go_base64::decoded_len);
    }
    if size > MAX_DATA_BYTES {
        errors.push(FieldError::too_long(&data, "", MAX_DATA_BYTES));
    }
    secret_content(new, kind, errors);
}

/// What a secret of a well-known type must hold.
fn secret_content(new: &Value, kind: &str, errors: &mut Vec<FieldError>) {
    let data = ROOT.field("data");
    let has = |key: &str| new.at(&["data", key]).is_some();
    let mut require = |keys: &[&str]| {
        errors.extend(keys.iter().map(|key| FieldError::required(&data.key(key), "")));
    };
    match kind {
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if text(new, &["metadata", "annotations", name]).is_empty() {
                let metadata = ROOT.field("metadata");
                errors.push(FieldError::required(&metadata.field("annotations").key(name), ""));
            }
        }
        "kubernetes.io/dockercfg" => docker_config(new, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(new, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            require(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth" if text(new, &["data", "ssh-privatekey"]).is_empty() => {
            require(&["ssh-privatekey"]);
        }
        "kubernetes.io/tls" => {
            let missing: Vec<_> = ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).collect();
            require(&missing);
        }
        _ => {}
    }
}

fn docker_config(new: &Value, key: &str, errors: &mut Vec<FieldError>) {
    let data = ROOT.field("data");
    let path = data.key(key);
    let Some(encoded) = new.at(&["data", key]) else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    let bytes = go_base64::decode(encoded.as_str().unwrap_or_default().as_bytes()).unwrap_or_default();
    let problem = match json::parse(&bytes).map(|parsed| parsed.value) {
        Err(error) => Some(error.to_string()),
        Ok(Value::Object(_) | Value::Null) => None,
        Ok(other) => {
            let found = match other {
                Value::Bool(_) => "bool",
                Value::Int(_) | Value::Float(_) => "number",
                Value::String(_) => "string",
                _ => "array",
            };
            Some(format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"))
        }
    };
    if let Some(problem) = problem {
        errors.push(FieldError::invalid(&path, "<secret contents redacted>", problem));
    }
}

pub(super) fn lease(new: &Value, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    let duration =
        present(new, &["spec", "leaseDurationSeconds"]).map(|_| int(new, &["spec", "leaseDurationSeconds"]));
    if let Some(duration) = duration.filter(|duration| *duration <= 0) {
        errors.push(FieldError::invalid(
            &spec.field("leaseDurationSeconds"),
            duration,
            "must be greater than 0",
        ));
    }
    let transitions = int(new, &["spec", "leaseTransitions"]);
    if transitions < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&spec.field("leaseTransitions"), transitions, detail));
    }
    let strategy_path = spec.field("strategy");
    if let Some(strategy) = present(new, &["spec", "strategy"]).and_then(Value::as_str) {
        // The reference names the field twice.
        let path = strategy_path.field("strategy");
        if strategy.contains('/') {
            each(errors, &path, strategy, qualified_name(strategy));
        } else {
            super::one_of(errors, &path, strategy, &["OldestEmulationVersion"]);
        }
    }
    if !text(new, &["spec", "preferredHolder"]).is_empty() && text(new, &["spec", "strategy"]).is_empty() {
        let detail = "may only be specified if `strategy` is defined";
        errors.push(FieldError::forbidden(&spec.field("preferredHolder"), detail));
    }
}
