//! Tests of `list_type`.

use expect_test::{Expect, expect};

use crate::testing::{schema, value};

fn check(written: &str, list: &str, expected: &Expect) {
    let schema = schema(&format!(r#"{{"properties": {{"l": {written}}}}}"#));
    let object = value(&format!(r#"{{"l": {list}}}"#));
    let errors: Vec<String> = schema.validate_list_types(&object).iter().map(ToString::to_string).collect();
    expected.assert_eq(&errors.join("\n"));
}

#[test]
fn a_set_reports_the_second_of_equal_items() {
    let set = r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {}}"#;
    check(set, r#"["a", "b", "c"]"#, &expect![""]);
    check(set, r#"["a", "b", "a", "a"]"#, &expect![[r#"l[2]: Duplicate value: "a""#]]);
    check(set, r#"[1, 1.0, "1", true, null]"#, &expect![""]);
    check(set, r#"[{"a": 1}, {"a": 1.0}]"#, &expect![[r#"l[1]: Duplicate value: {"a":1}"#]]);
    let many: Vec<String> = (0..100).map(|n| (n % 60).to_string()).collect();
    let schema = schema(&format!(r#"{{"properties": {{"l": {set}}}}}"#));
    let object = value(&format!(r#"{{"l": [{}]}}"#, many.join(",")));
    assert_eq!(schema.validate_list_types(&object).len(), 40);
}

#[test]
fn a_map_reports_equal_keys() {
    let one = r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}"#;
    check(
        one,
        r#"[{"k": "a"}, {"k": "b"}, {"k": "a", "v": 1}]"#,
        &expect![[r#"l[2]: Duplicate value: {"k":"a"}"#]],
    );
    check(one, r#"[{"v": 1}, {"v": 2}]"#, &expect!["l[1]: Duplicate value: {}"]);
    check(one, r#"[{"k": null}, {}]"#, &expect![""]);
    check(
        one,
        r#"[{"k": "a"}, 5]"#,
        &expect!["l[1]: Invalid value: 5: must be an object for an array of list-type map"],
    );
    let two =
        r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]}"#;
    check(
        two,
        r#"[{"a": 1, "b": "x"}, {"a": 1}, {"a": 1, "b": "x"}, {"a": 1}]"#,
        &expect![[r#"
            l[2]: Duplicate value: {"a":1,"b":"x"}
            l[3]: Duplicate value: {"a":1}"#]],
    );
}

#[test]
fn lists_are_found_at_any_depth() {
    check(
        r#"{"items": {"additionalProperties": {"type": "array", "x-kubernetes-list-type": "set"}}}"#,
        r#"[{"m": [1, 1]}]"#,
        &expect!["l[0][m][1]: Duplicate value: 1"],
    );
}

#[test]
fn an_update_is_forgiven_when_the_old_object_has_duplicates_anywhere() {
    let schema = schema(r#"{"properties": {"l": {"type": "array", "x-kubernetes-list-type": "set"}}}"#);
    let (bad, worse) = (value(r#"{"l": [1, 1]}"#), value(r#"{"l": [2, 2, 3, 3]}"#));
    assert!(schema.validate_list_types_update(&worse, &bad).is_empty());
    assert_eq!(schema.validate_list_types_update(&worse, &value(r#"{"l": [1]}"#)).len(), 2);
}
