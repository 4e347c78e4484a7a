//! What a deletion writes down about the objects that depend on the deleted one: finalizers, for whoever
//! collects them.
//!
//! Upstream: apiserver/pkg/registry/generic/registry/store.go (`deletionFinalizersForGarbageCollection`),
//! kubernetes/pkg/registry/core/namespace/storage/storage.go, v1.36.

use meta::Value;
use meta::object::{FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS};

use super::options::{DeleteOptions, Propagation};
use super::write::metadata_mut;

/// Writes down what is to happen to dependents. Without a wish the finalizers stay as they are, except on an
/// object that never has dependents (`never_owner`): there both go, whatever is wished. True when that changed the
/// object.
pub(super) fn record(object: &mut Value, never_owner: bool, options: &DeleteOptions) -> bool {
    if never_owner {
        return set(object, None);
    }
    let wanted = match (options.orphan_dependents, options.propagation) {
        (Some(true), _) => Some(Propagation::Orphan),
        (Some(false), _) => None,
        (None, None) => return false,
        (None, wished) => wished,
    };
    set(object, wanted)
}

/// The same for namespaces, which take the old way of asking for dependents to go as a wish for the
/// foreground.
pub(crate) fn record_on_namespace(namespace: &mut Value, options: &DeleteOptions) {
    let wanted = match (options.orphan_dependents, options.propagation) {
        (Some(true), _) => Some(Propagation::Orphan),
        (Some(false), _) => Some(Propagation::Foreground),
        (None, None) => return,
        (None, wished) => wished,
    };
    set(namespace, wanted);
}

/// Leaves the finalizer that stands for a way of treating dependents, and not the other one. The list stays as
/// it is when it holds the right ones in whatever order. True when that changed the object.
fn set(object: &mut Value, wanted: Option<Propagation>) -> bool {
    let kept = match wanted {
        Some(Propagation::Orphan) => Some(FINALIZER_ORPHAN_DEPENDENTS),
        Some(Propagation::Foreground) => Some(FINALIZER_DELETE_DEPENDENTS),
        Some(Propagation::Background) | None => None,
    };
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_array).unwrap_or_default();
    let ours = [FINALIZER_ORPHAN_DEPENDENTS, FINALIZER_DELETE_DEPENDENTS];
    let is_ours = |name: &Value| name.as_str().is_some_and(|name| ours.contains(&name));
    let has = |wanted: &str| finalizers.iter().any(|name| name.as_str() == Some(wanted));
    if ours.into_iter().all(|name| has(name) == (kept == Some(name))) {
        return false;
    }
    let mut after: Vec<Value> = finalizers.iter().filter(|name| !is_ours(name)).cloned().collect();
    after.extend(kept.map(Value::from));
    let metadata = metadata_mut(object);
    if after.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers", after);
    }
    true
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;

    fn check(before: &str, options: &DeleteOptions, never_owner: bool, expected: &str) {
        let text = format!("{{\"metadata\":{{\"finalizers\":{before}}}}}");
        let mut object = json::parse(text.as_bytes()).unwrap().value;
        record(&mut object, never_owner, options);
        let found = object.at(&["metadata", "finalizers"]).map_or("none".to_owned(), json::to_string);
        assert_eq!(found, expected, "{before} {options:?}");
    }

    #[test]
    fn a_wish_decides_and_no_wish_keeps() {
        let wish = |propagation| DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        let old_wish = |orphan| DeleteOptions { orphan_dependents: Some(orphan), ..DeleteOptions::default() };
        let nothing = DeleteOptions::default();
        for (before, options, expected) in [
            ("[]", &nothing, "[]"),
            (r#"["orphan"]"#, &nothing, r#"["orphan"]"#),
            (r#"["a"]"#, &wish(Propagation::Orphan), r#"["a","orphan"]"#),
            (r#"["orphan","a"]"#, &wish(Propagation::Orphan), r#"["orphan","a"]"#),
            (r#"["orphan","a"]"#, &wish(Propagation::Foreground), r#"["a","foregroundDeletion"]"#),
            (r#"["orphan"]"#, &wish(Propagation::Background), "none"),
            (r#"["foregroundDeletion","b"]"#, &old_wish(false), r#"["b"]"#),
            (r#"["b"]"#, &old_wish(true), r#"["b","orphan"]"#),
        ] {
            check(before, options, false, expected);
        }
        check(r#"["orphan","a"]"#, &wish(Propagation::Orphan), true, r#"["a"]"#);
    }

    #[test]
    fn a_namespace_takes_the_old_wish_for_the_foreground() {
        let mut namespace = json::parse(br#"{"metadata":{"finalizers":["orphan"]}}"#).unwrap().value;
        let options = DeleteOptions { orphan_dependents: Some(false), ..DeleteOptions::default() };
        record_on_namespace(&mut namespace, &options);
        assert_eq!(json::to_string(&namespace), r#"{"metadata":{"finalizers":["foregroundDeletion"]}}"#);
    }
}
