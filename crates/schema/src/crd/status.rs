//! The status of a definition: accepted names, and versions in which objects may be stored.

use meta::{FieldError, FieldPath, Value};

use super::names;
use super::view::{Definition, Names, present};

pub(super) fn validate(definition: &Value, view: &Definition<'_>) -> Vec<FieldError> {
    let mut errors = validate_names(definition);
    errors.extend(stored_versions(definition, view));
    errors
}

pub(super) fn validate_names(definition: &Value) -> Vec<FieldError> {
    let status = FieldPath::ROOT.field("status");
    let accepted = definition.at(&["status", "acceptedNames"]);
    names::validate(Names::of(accepted), &status.field("acceptedNames"))
}

fn stored_versions(definition: &Value, view: &Definition<'_>) -> Vec<FieldError> {
    let status = FieldPath::ROOT.field("status");
    let path = status.field("storedVersions");
    let stored = definition.get("status").and_then(|status| present(status, "storedVersions"));
    let shown = stored.cloned().unwrap_or_default();
    let stored = stored.and_then(Value::as_array).unwrap_or_default();
    if stored.is_empty() {
        return vec![FieldError::invalid(&path, shown, "must have at least one stored version")];
    }
    let mut errors = Vec::new();
    let has = |name: &str| stored.iter().any(|stored| stored.as_str() == Some(name));
    for version in view.versions.iter().filter(|version| version.storage && !has(version.name)) {
        let detail = format!("must have the storage version {}", version.name);
        errors.push(FieldError::invalid(&path, shown.clone(), detail));
    }
    for (index, name) in stored.iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        if view.versions.iter().any(|version| version.name == name) {
            continue;
        }
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.push(FieldError::invalid(&path.index(index), name, detail));
    }
    errors
}
