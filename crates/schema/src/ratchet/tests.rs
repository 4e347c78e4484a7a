//! Tests of `ratchet`.

use super::unchanged;
use crate::testing::{schema, value};

fn check(written: &str, new: &str, old: &str, expected: bool) {
    let schema = schema(written);
    assert_eq!(unchanged(&schema.root, &value(new), &value(old)), expected, "{new} from {old}");
}

#[test]
fn values_are_compared_by_structure() {
    let any = r#"{"properties": {"a": {}, "b": {}}}"#;
    check(any, r#"{"a": 1, "b": [1, 2]}"#, r#"{"b": [1, 2], "a": 1}"#, true);
    check(any, r#"{"a": 1}"#, r#"{"a": 1.0}"#, false);
    check(any, r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, false);
    check(any, r#"{"b": [1, 2]}"#, r#"{"b": [2, 1]}"#, false);
    check(any, r#"{"a": null}"#, r#"{"a": null}"#, true);
}

#[test]
fn what_the_schema_does_not_describe_is_never_unchanged() {
    check(r#"{"x-kubernetes-preserve-unknown-fields": true}"#, r#"{"a": 1}"#, r#"{"a": 1}"#, false);
    check(r#"{"additionalProperties": {}}"#, r#"{"a": 1}"#, r#"{"a": 1}"#, true);
}

#[test]
fn items_of_map_lists_are_found_by_their_keys() {
    let list = r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"properties": {"k": {}, "v": {}}}}"#;
    check(list, r#"[{"k": "a", "v": 1}, {"k": "b"}]"#, r#"[{"k": "b"}, {"k": "a", "v": 1}]"#, true);
    check(list, r#"[{"k": "a", "v": 1}]"#, r#"[{"k": "a", "v": 2}]"#, false);
    check(list, r#"[{"k": "a"}]"#, r#"[{"k": "b"}]"#, false);
    check(list, r#"[{"v": 1}]"#, r#"[{"v": 1}]"#, false);
    check(list, "[]", "[]", true);
}
