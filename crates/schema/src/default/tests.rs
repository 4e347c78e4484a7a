//! Tests of `default`.

use expect_test::{Expect, expect};

use crate::testing::{schema, text, value};

fn check(written: &str, object: &str, expected: &Expect) {
    let schema = schema(written);
    let mut object = value(object);
    schema.default(&mut object);
    expected.assert_eq(&text(&object));
    let once = object.clone();
    schema.default(&mut object);
    assert_eq!(object, once, "defaults are set once");
}

#[test]
fn missing_fields_get_their_defaults_and_present_ones_stay() {
    let written =
        r#"{"properties": {"a": {"default": 1}, "b": {"default": {"c": [1]}}, "d": {"type": "string"}}}"#;
    check(written, "{}", &expect![[r#"{"a":1,"b":{}}"#]]);
    check(written, r#"{"a": 2, "b": {}}"#, &expect![[r#"{"a":2,"b":{}}"#]]);
}

#[test]
fn defaults_inside_of_a_default_are_filled_in() {
    check(
        r#"{"properties": {"a": {"default": {}, "properties": {"b": {"default": {}, "properties": {"c": {"default": 1}}}}}}}"#,
        "{}",
        &expect![[r#"{"a":{"b":{"c":1}}}"#]],
    );
}

#[test]
fn nothing_appears_below_what_is_missing() {
    check(r#"{"properties": {"a": {"properties": {"b": {"default": 1}}}}}"#, "{}", &expect!["{}"]);
}

#[test]
fn items_and_map_values_get_defaults() {
    check(
        r#"{"properties": {"l": {"items": {"properties": {"p": {"default": "TCP"}}}},
            "m": {"additionalProperties": {"properties": {"q": {"default": 2}}}}}}"#,
        r#"{"l": [{}, {"p": "UDP"}], "m": {"x": {}}}"#,
        &expect![[r#"{"l":[{"p":"TCP"},{"p":"UDP"}],"m":{"x":{"q":2}}}"#]],
    );
}

#[test]
fn a_null_becomes_the_default_unless_it_is_allowed() {
    check(
        r#"{"properties": {"a": {"default": 1}, "b": {"default": 1, "nullable": true},
            "l": {"items": {"default": "x"}}, "m": {"additionalProperties": {"default": "y"}}}}"#,
        r#"{"a": null, "b": null, "l": [null], "m": {"k": null}}"#,
        &expect![[r#"{"a":1,"b":null,"l":["x"],"m":{"k":"y"}}"#]],
    );
}
