//! Which of the names that a definition asks for it gets. Pure.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/status/naming_controller.go, v1.36.

use meta::{Map, Value};

use crate::verbs::write::set_or_remove;

/// The two sets in which the names of a group must be unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Resource,
    Kind,
}

/// Why a definition does not get all its names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub reason: &'static str,
    pub message: String,
}

/// The names that a definition has from now on, given those it wants, those it had, and whether another
/// definition of its group holds a name. Of several conflicts the last is told, as in the reference.
pub(super) fn accept(
    wanted: &Value,
    before: &Value,
    held: &dyn Fn(Role, &str) -> bool,
) -> (Map, Option<Conflict>) {
    let mut accepted = before.as_object().cloned().unwrap_or_default();
    for required in ["plural", "kind"] {
        accepted.get_or_insert_with(required, || "".into());
    }
    let mut conflict = None;
    let mut take = |role, key: &'static str, reason| {
        let asked = Asked { role, before, held };
        let conflicts = asked.conflicts(key, wanted);
        if conflicts.is_empty() {
            set_or_remove(&mut accepted, key, wanted.get(key).cloned());
        } else {
            conflict = Some(Conflict { reason, message: aggregate(conflicts) });
        }
    };
    take(Role::Resource, "plural", "PluralConflict");
    take(Role::Resource, "singular", "SingularConflict");
    take(Role::Resource, "shortNames", "ShortNamesConflict");
    take(Role::Kind, "kind", "KindConflict");
    take(Role::Kind, "listKind", "ListKindConflict");
    set_or_remove(&mut accepted, "categories", wanted.get("categories").cloned());
    (accepted, conflict)
}

/// The names of resources in a `names` or `acceptedNames`.
pub(super) fn resource_names(names: &Value) -> impl Iterator<Item = &str> {
    ["plural", "singular", "shortNames"].into_iter().flat_map(|key| names_at(names, key))
}

/// The names of kinds in a `names` or `acceptedNames`.
pub(super) fn kind_names(names: &Value) -> impl Iterator<Item = &str> {
    ["kind", "listKind"].into_iter().flat_map(|key| names_at(names, key))
}

/// The name or names at a key.
fn names_at<'a>(names: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    let value = names.get(key);
    let several = value.and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str);
    value.and_then(Value::as_str).into_iter().chain(several).filter(|name| !name.is_empty())
}

struct Asked<'a> {
    role: Role,
    before: &'a Value,
    held: &'a dyn Fn(Role, &str) -> bool,
}

impl Asked<'_> {
    /// What stands against the names at a key. One that the definition has there already is its own; one that
    /// it has elsewhere is in use like anybody's.
    fn conflicts(&self, key: &str, wanted: &Value) -> Vec<String> {
        let fresh = names_at(wanted, key).filter(|name| !names_at(self.before, key).any(|own| own == *name));
        fresh
            .filter(|name| self.has_elsewhere(name) || (self.held)(self.role, name))
            .map(|name| format!("\"{name}\" is already in use"))
            .collect()
    }

    fn has_elsewhere(&self, name: &str) -> bool {
        match self.role {
            Role::Resource => resource_names(self.before).any(|own| own == name),
            Role::Kind => kind_names(self.before).any(|own| own == name),
        }
    }
}

/// Several errors as the reference says them in one, each once.
fn aggregate(mut errors: Vec<String>) -> String {
    let mut seen = std::collections::HashSet::new();
    errors.retain(|error| seen.insert(error.clone()));
    match errors.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        meta::wire::json::parse(text.as_bytes()).expect("JSON").value
    }

    #[test]
    fn names_are_taken_unless_in_use() {
        let others = |role, name: &str| match role {
            Role::Resource => ["taken", "tk"].contains(&name),
            Role::Kind => name == "Taken",
        };
        for (wanted, before, accepted, conflict) in [
            (r#"{"plural":"as","kind":"A"}"#, "{}", r#"{"kind":"A","plural":"as"}"#, None),
            (
                r#"{"plural":"taken","kind":"A"}"#,
                "{}",
                r#"{"kind":"A","plural":""}"#,
                Some(("PluralConflict", r#""taken" is already in use"#)),
            ),
            // The last of several conflicts is told.
            (
                r#"{"plural":"as","shortNames":["tk"],"kind":"Taken"}"#,
                "{}",
                r#"{"kind":"","plural":"as"}"#,
                Some(("KindConflict", r#""Taken" is already in use"#)),
            ),
            (
                r#"{"plural":"as","shortNames":["tk","a","taken","tk"],"kind":"A"}"#,
                r#"{"plural":"as","kind":"A","shortNames":["b"]}"#,
                r#"{"kind":"A","plural":"as","shortNames":["b"]}"#,
                Some(("ShortNamesConflict", r#"["tk" is already in use, "taken" is already in use]"#)),
            ),
            // What it has in another place counts as in use.
            (
                r#"{"plural":"as","singular":"as","kind":"A"}"#,
                r#"{"plural":"zz","singular":"as","kind":"A"}"#,
                r#"{"kind":"A","plural":"zz","singular":"as"}"#,
                Some(("PluralConflict", r#""as" is already in use"#)),
            ),
            // What is no longer wanted goes.
            (
                r#"{"plural":"as","kind":"A"}"#,
                r#"{"plural":"as","kind":"A","shortNames":["a"],"categories":["all"]}"#,
                r#"{"kind":"A","plural":"as"}"#,
                None,
            ),
        ] {
            let (names, found) = accept(&value(wanted), &value(before), &others);
            let shown = String::from_utf8(meta::wire::json::to_vec(&Value::Object(names))).expect("text");
            assert_eq!(shown, accepted, "{wanted} after {before}");
            assert_eq!(
                found.map(|c| (c.reason, c.message)),
                conflict.map(|(r, m)| (r, m.to_owned())),
                "{wanted}"
            );
        }
    }
}
