//! Merge patches: objects are merged, null removes, everything else replaces.
//!
//! Upstream: evanphx/json-patch v4 `MergePatch` and apiserver/pkg/endpoints/handlers/patch.go, v1.36.

use super::{Decoded, Strictness};
use crate::wire::json;
use crate::{Map, Status, Value, go_fmt};

/// Reads the body of a merge patch. Errors are the reference's answers.
pub fn from_request(bytes: &[u8], strictness: Strictness) -> Result<Decoded<Value>, Status> {
    let invalid = || Status::bad_request("Invalid JSON Patch");
    let parsed = json::parse(bytes);
    if strictness == Strictness::Ignore {
        return match parsed {
            Ok(parsed) if matches!(parsed.value, Value::Object(_) | Value::Array(_)) => {
                Ok(Decoded { patch: parsed.value, strict_errors: Vec::new() })
            }
            _ => Err(invalid()),
        };
    }
    let parsed = parsed.map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    match &parsed.value {
        Value::Object(_) => {}
        Value::Null => return Err(invalid()),
        other => {
            let found = go_fmt::json_kind(other);
            return Err(Status::bad_request(format!(
                "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
    }
    let quoted = parsed.duplicates.iter().map(|path| go_fmt::quote(path));
    let strict_errors = quoted.map(|path| format!("duplicate field {path}")).collect();
    Ok(Decoded { patch: parsed.value, strict_errors })
}

/// Applies a merge patch.
///
/// ```
/// use crest_meta::{patch::merge, wire::json};
/// let parse = |text: &str| json::parse(text.as_bytes()).unwrap().value;
/// let mut target = parse(r#"{"a": 1, "b": {"c": 2}}"#);
/// merge::apply(&mut target, parse(r#"{"a": null, "b": {"d": 3}}"#));
/// assert_eq!(target, parse(r#"{"b": {"c": 2, "d": 3}}"#));
/// ```
pub fn apply(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => merge_members(target, patch),
        (target, patch) => {
            *target = patch;
            prune_nulls(target);
        }
    }
}

fn merge_members(target: &mut Map, patch: Map) {
    for (key, change) in patch.into_entries() {
        if change.is_null() {
            target.remove(&key);
            continue;
        }
        if let Some(current) = target.get_mut(&key) {
            merge_value(current, change);
        } else {
            let mut added = change;
            prune_nulls(&mut added);
            target.insert(key, added);
        }
    }
}

fn merge_value(current: &mut Value, change: Value) {
    match (current, change) {
        (Value::Object(current), Value::Object(change)) => merge_members(current, change),
        // DIFFERENCE from the RFC, as in the reference: an array that replaces an object keeps its nulls.
        (current @ Value::Object(_), change) => *current = change,
        (current, change) => {
            *current = change;
            prune_nulls(current);
        }
    }
}

/// Removes null members, also of objects in arrays; nulls that are elements stay.
fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, member| {
            prune_nulls(member);
            !member.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap().value
    }

    #[test]
    fn merges_as_the_reference_does() {
        for (target, patch, expected) in [
            (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":null,"x":null}}"#, r#"{"a":{"c":2}}"#),
            (r#"{"a":[1]}"#, r#"{"a":[null,{"z":null}]}"#, r#"{"a":[null,{}]}"#),
            ("{}", r#"{"a":{"b":null,"c":[{"d":null,"e":1}]}}"#, r#"{"a":{"c":[{"e":1}]}}"#),
            (r#"{"a":5}"#, r#"{"a":{"keep":1,"drop":null}}"#, r#"{"a":{"keep":1}}"#),
            (r#"{"a":null}"#, r#"{"a":{"drop":null}}"#, r#"{"a":{}}"#),
            // An array in place of an object keeps its nulls.
            (r#"{"a":{}}"#, r#"{"a":[{"z":null}]}"#, r#"{"a":[{"z":null}]}"#),
            (r#"{"a":1}"#, r#"[{"z":null},null]"#, "[{},null]"),
            (r#"{"a":1}"#, "{}", r#"{"a":1}"#),
        ] {
            let mut value = parse(target);
            apply(&mut value, parse(patch));
            assert_eq!(json::to_string(&value), expected, "{target} + {patch}");
        }
    }

    #[test]
    fn bodies_are_refused_in_the_reference_s_words() {
        let unmarshal = "error decoding patch: json: cannot unmarshal";
        for (body, report, ignore) in [
            ("[]", format!("{unmarshal} array into Go value of type map[string]interface {{}}"), ""),
            (
                "5",
                format!("{unmarshal} number into Go value of type map[string]interface {{}}"),
                "Invalid JSON Patch",
            ),
            ("null", "Invalid JSON Patch".to_owned(), "Invalid JSON Patch"),
            ("", "error decoding patch: unexpected end of JSON input".to_owned(), "Invalid JSON Patch"),
            ("{}", String::new(), ""),
        ] {
            for (strictness, expected) in
                [(Strictness::Report, report.as_str()), (Strictness::Ignore, ignore)]
            {
                let found = from_request(body.as_bytes(), strictness).err();
                assert_eq!(found.map_or(String::new(), |status| status.message), expected, "{body}");
            }
        }
        let decoded = from_request(br#"{"s":{"a":1,"a":2}}"#, Strictness::Report).unwrap();
        assert_eq!(decoded.strict_errors, [r#"duplicate field "s.a""#]);
    }
}
