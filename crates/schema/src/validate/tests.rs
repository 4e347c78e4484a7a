//! Tests of validation. Messages, fields and their order are the reference's.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{Purpose, accept, explain};
use crate::testing::{schema, value};

/// Validates the value of one property `x`.
#[track_caller]
fn check(written: &str, given: &str, expected: &Expect) {
    let schema = schema(&format!(r#"{{"properties": {{"x": {written}}}}}"#));
    let object = value(&format!(r#"{{"x": {given}}}"#));
    let errors = schema.validate_values(&object, None);
    let errors: Vec<String> = errors.iter().map(|error| format!("{} {error}", error.kind.reason())).collect();
    expected.assert_eq(&errors.join("\n"));
}

#[test]
fn types() {
    check(
        r#"{"type": "string"}"#,
        "5",
        &expect![[
            r#"FieldValueTypeInvalid x: Invalid value: "integer": x in body must be of type string: "integer""#
        ]],
    );
    check(
        r#"{"type": "integer"}"#,
        "5.5",
        &expect![[r#"
        FieldValueTypeInvalid x: Invalid value: "number": x in body must be of type integer: "number"
        FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer (default format) in x"#]],
    );
    check(r#"{"type": "integer"}"#, "5.0", &expect![""]);
    check(r#"{"type": "number"}"#, "5", &expect![""]);
    check(
        r#"{"type": "integer", "format": "int32"}"#,
        "true",
        &expect![[r#"FieldValueTypeInvalid x: Invalid value: "": x in body must be of type int32: """#]],
    );
    check(
        r#"{"type": "object"}"#,
        "[]",
        &expect![[
            r#"FieldValueTypeInvalid x: Invalid value: "array": x in body must be of type object: "array""#
        ]],
    );
    check(
        r#"{"type": "boolean"}"#,
        "null",
        &expect![[
            r#"FieldValueTypeInvalid x: Invalid value: "null": x in body must be of type boolean: "null""#
        ]],
    );
    check(r#"{"type": "boolean", "nullable": true}"#, "null", &expect![""]);
    check("{}", "null", &expect![""]);
    // A list passes where a formatted string is wanted.
    check(r#"{"type": "string", "format": "date"}"#, "[1]", &expect![""]);
}

#[test]
fn int_or_string() {
    let either = r#"{"x-kubernetes-int-or-string": true}"#;
    check(either, "5", &expect![""]);
    check(either, r#""5""#, &expect![""]);
    check(
        either,
        "true",
        &expect![[
            r#"FieldValueTypeInvalid x: Invalid value: "boolean": x in body must be of type integer,string: "boolean""#
        ]],
    );
    check(
        r#"{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^a", "minimum": 3}"#,
        "2",
        &expect!["FieldValueInvalid x: Invalid value: 2: x in body should be greater than or equal to 3"],
    );
}

#[test]
fn numbers() {
    check(
        r#"{"type": "integer", "minimum": 1, "maximum": 3, "exclusiveMaximum": true, "multipleOf": 2}"#,
        "3",
        &expect![[r"
        FieldValueInvalid x: Invalid value: 3: x in body should be a multiple of 2
        FieldValueInvalid x: Invalid value: 3: x in body should be less than 3"]],
    );
    check(
        r#"{"type": "number", "minimum": 1.5, "exclusiveMinimum": true}"#,
        "1.5",
        &expect!["FieldValueInvalid x: Invalid value: 1.5: x in body should be greater than 1.5"],
    );
    check(
        r#"{"type": "number", "multipleOf": 0.1}"#,
        "0.35",
        &expect!["FieldValueInvalid x: Invalid value: 0.35: x in body should be a multiple of 0.1"],
    );
    check(
        r#"{"type": "number", "maximum": 1000000}"#,
        "1234567.5",
        &expect![
            "FieldValueInvalid x: Invalid value: 1.2345675e+06: x in body should be less than or equal to 1e+06"
        ],
    );
    // Limits of whole numbers are cut to whole numbers.
    check(
        r#"{"type": "number", "maximum": 1.5}"#,
        "2",
        &expect!["FieldValueInvalid x: Invalid value: 2: x in body should be less than or equal to 1"],
    );
    check(
        r#"{"type": "number", "multipleOf": 0.5}"#,
        "2",
        &expect![
            "FieldValueInvalid x: Invalid value: 0: factor MultipleOf declared for x must be positive: 0"
        ],
    );
    check(
        r#"{"type": "integer", "maximum": 1.5}"#,
        "1",
        &expect![[
            r#"FieldValueInvalid <nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in x"#
        ]],
    );
    check(
        r#"{"type": "integer"}"#,
        "9223372036854775808",
        &expect![[r#"
        FieldValueTypeInvalid x: Invalid value: "number": x in body must be of type integer: "number"
        FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer (default format) in x"#]],
    );
    check(
        r#"{"type": "integer", "format": "int32"}"#,
        "2147483648",
        &expect![[
            r#"FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type integer with format int32 in x"#
        ]],
    );
    check(
        r#"{"type": "number", "format": "float"}"#,
        "1e39",
        &expect![[
            r#"FieldValueInvalid <nil>: Invalid value: "": Checked value must be of type number with format float in x"#
        ]],
    );
}

#[test]
fn strings() {
    check(
        r#"{"type": "string", "maxLength": 2}"#,
        r#""äöü""#,
        &expect!["FieldValueTooLong x: Too long: may not be more than 2 bytes"],
    );
    check(r#"{"type": "string", "maxLength": 3}"#, r#""äöü""#, &expect![""]);
    check(
        r#"{"type": "string", "maxLength": 1, "pattern": "^a"}"#,
        r#""bb""#,
        &expect!["FieldValueTooLong x: Too long: may not be more than 1 byte"],
    );
    check(
        r#"{"type": "string", "minLength": 3}"#,
        r#""ab""#,
        &expect![[r#"FieldValueInvalid x: Invalid value: "ab": x in body should be at least 3 chars long"#]],
    );
    check(
        r#"{"type": "string", "pattern": "^a"}"#,
        r#""ba""#,
        &expect![[r#"FieldValueInvalid x: Invalid value: "ba": x in body should match '^a'"#]],
    );
    check(
        r#"{"type": "string", "format": "date-time"}"#,
        r#""soon""#,
        &expect![[
            r#"FieldValueTypeInvalid x: Invalid value: "soon": x in body must be of type date-time: "soon""#
        ]],
    );
    check(r#"{"type": "string", "format": "quantity"}"#, r#""soon""#, &expect![""]);
}

#[test]
fn enums() {
    check(
        r#"{"enum": ["a", 1, {"b": null}]}"#,
        r#""c""#,
        &expect![[
            r#"FieldValueNotSupported x: Unsupported value: "c": supported values: "a", "1", "{\"b\":null}""#
        ]],
    );
    check(r#"{"enum": ["a", 1, {"b": null}]}"#, r#"{"b": null}"#, &expect![""]);
    check(
        r#"{"nullable": true, "enum": ["a", null]}"#,
        "null",
        &expect![[r#"FieldValueNotSupported x: Unsupported value: null: supported values: "a", "null""#]],
    );
    // Go converts before it compares.
    check(r#"{"enum": [1]}"#, "1.7", &expect![""]);
    check(
        r#"{"enum": [1.5]}"#,
        "1",
        &expect!["FieldValueNotSupported x: Unsupported value: 1: supported values: \"1.5\""],
    );
    check(r#"{"enum": ["A"]}"#, "65", &expect![""]);
}

#[test]
fn lists() {
    check(
        r#"{"items": {"type": "integer"}, "minItems": 3}"#,
        r#"[1, "a"]"#,
        &expect![[r#"
        FieldValueTypeInvalid x[1]: Invalid value: "string": x[1] in body must be of type integer: "string"
        FieldValueInvalid x: Invalid value: 2: x in body should have at least 3 items"#]],
    );
    check(
        r#"{"maxItems": 1}"#,
        "[1, 2]",
        &expect!["FieldValueTooMany x: Too many: 2: must have at most 1 item"],
    );
}

#[test]
fn objects() {
    check(
        r#"{"required": ["a", "b"], "properties": {"b": {"required": ["c"]}}}"#,
        r#"{"b": {}}"#,
        &expect![[r"
        FieldValueRequired x.b.c: Required value
        FieldValueRequired x.a: Required value"]],
    );
    check(
        r#"{"minProperties": 2, "additionalProperties": {"type": "integer"}}"#,
        r#"{"k.l": "a"}"#,
        &expect![[r#"
        FieldValueInvalid x: Invalid value: 1: x in body should have at least 2 properties
        FieldValueTypeInvalid x.k.l: Invalid value: "string": x.k.l in body must be of type integer: "string""#]],
    );
    check(
        r#"{"maxProperties": 0}"#,
        r#"{"a": 1}"#,
        &expect!["FieldValueTooMany x: Too many: 1: must have at most 0 items"],
    );
    check(
        r#"{"additionalProperties": false}"#,
        r#"{"a": 1}"#,
        &expect![[r#"FieldValueInvalid x: Invalid value: "a": x.a in body is a forbidden property"#]],
    );
}

#[test]
fn combinations_report_the_alternative_that_came_closest() {
    check(
        r#"{"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]}"#,
        r#""ab""#,
        &expect![[r#"
        FieldValueInvalid <nil>: Invalid value: "": "x" must validate at least one schema (anyOf)
        FieldValueTooLong x: Too long: may not be more than 1 byte"#]],
    );
    check(
        r#"{"oneOf": [{"minimum": 1}, {"minimum": 0}]}"#,
        "3",
        &expect![[
            r#"FieldValueInvalid <nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
        ]],
    );
    check(
        r#"{"oneOf": [{"minimum": 9}, {"minimum": 8}]}"#,
        "3",
        &expect![[r#"
        FieldValueInvalid <nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found none valid
        FieldValueInvalid x: Invalid value: 3: x in body should be greater than or equal to 9"#]],
    );
    check(
        r#"{"allOf": [{"minimum": 9}, {"maximum": 8}]}"#,
        "3",
        &expect![[r#"
        FieldValueInvalid x: Invalid value: 3: x in body should be greater than or equal to 9
        FieldValueInvalid <nil>: Invalid value: "": "x" must validate all the schemas (allOf)"#]],
    );
    check(
        r#"{"allOf": [{"minimum": 9}]}"#,
        "3",
        &expect![[r#"
        FieldValueInvalid x: Invalid value: 3: x in body should be greater than or equal to 9
        FieldValueInvalid <nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated"#]],
    );
    check(
        r#"{"not": {"minimum": 1}}"#,
        "3",
        &expect![[r#"FieldValueInvalid <nil>: Invalid value: "": "x" must not validate the schema (not)"#]],
    );
}

#[test]
fn equal_messages_are_reported_once() {
    check(
        r#"{"maximum": 1, "allOf": [{"maximum": 1}, {"maximum": 1}]}"#,
        "3",
        &expect![[r#"
        FieldValueInvalid x: Invalid value: 3: x in body should be less than or equal to 1
        FieldValueInvalid <nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated"#]],
    );
}

#[test]
fn errors_of_the_object_itself_have_no_field() {
    let schema = schema(r#"{"minProperties": 1, "required": ["spec"]}"#);
    let errors: Vec<String> =
        schema.validate_values(&value("{}"), None).iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        ["<nil>: Invalid value: 0:  in body should have at least 1 properties", "spec: Required value"]
    );
}

#[test]
fn the_status_is_validated_alone() {
    let schema = schema(
        r#"{"properties": {"spec": {"type": "integer"}, "status": {"properties": {"n": {"type": "integer"}},
            "anyOf": [{"required": ["z"]}]}}}"#,
    );
    let object = value(r#"{"spec": "bad", "status": {"n": "bad"}}"#);
    let errors: Vec<String> =
        schema.validate_status_values(&object, None).iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            r#"status: Invalid value: "": "" must validate at least one schema (anyOf)"#,
            "status.z: Required value",
            r#"status.n: Invalid value: "string": n in body must be of type integer: "string""#,
        ]
    );
}

/// Validates a change of an object.
#[track_caller]
fn check_update(written: &str, old: &str, new: &str, expected: &Expect) {
    let schema = schema(&format!(r#"{{"properties": {{"x": {written}}}}}"#));
    let object = |given| value(&format!(r#"{{"x": {given}}}"#));
    let errors = schema.validate_values(&object(new), Some(&object(old)));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expected.assert_eq(&errors.join("\n"));
}

#[test]
fn what_did_not_change_is_forgiven() {
    let two = r#"{"properties": {"a": {"maximum": 1}, "b": {"maximum": 1}}}"#;
    check_update(
        two,
        r#"{"a": 5, "b": 5}"#,
        r#"{"a": 5, "b": 6}"#,
        &expect!["x.b: Invalid value: 6: x.b in body should be less than or equal to 1"],
    );
    check_update(
        two,
        r#"{"a": 5}"#,
        r#"{"a": 5, "b": 5}"#,
        &expect!["x.b: Invalid value: 5: x.b in body should be less than or equal to 1"],
    );
    // Also when the type or an alternative is what is wrong.
    check_update(
        r#"{"properties": {"a": {"type": "string"}, "b": {}}}"#,
        r#"{"a": 5, "b": 1}"#,
        r#"{"a": 5, "b": 2}"#,
        &expect![""],
    );
    check_update(
        r#"{"properties": {"a": {"anyOf": [{"maximum": 1}]}, "b": {}}}"#,
        r#"{"a": 5, "b": 1}"#,
        r#"{"a": 5, "b": 2}"#,
        &expect![""],
    );
}

#[test]
fn alternatives_of_a_changed_value_forgive_nothing_inside() {
    check_update(
        r#"{"properties": {"a": {}, "b": {}}, "allOf": [{"properties": {"a": {"maximum": 1}}}]}"#,
        r#"{"a": 5, "b": 1}"#,
        r#"{"a": 5, "b": 2}"#,
        &expect![[r#"
            x.a: Invalid value: 5: x.a in body should be less than or equal to 1
            <nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated"#]],
    );
}

#[test]
fn a_required_field_is_demanded_when_its_object_changes() {
    let written = r#"{"properties": {"o": {"properties": {"a": {}}, "required": ["z"]}, "b": {}}}"#;
    check_update(written, r#"{"o": {"a": 1}, "b": 1}"#, r#"{"o": {"a": 1}, "b": 2}"#, &expect![""]);
    check_update(written, r#"{"o": {"a": 1}}"#, r#"{"o": {"a": 2}}"#, &expect!["x.o.z: Required value"]);
}

#[test]
fn items_are_forgiven_in_lists_of_type_map_only() {
    let item = r#""items": {"properties": {"k": {}, "v": {"maximum": 1}}}"#;
    let map = format!(
        r#"{{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], {item}}}"#
    );
    let (old, new) = (r#"[{"k": "a", "v": 5}]"#, r#"[{"k": "b", "v": 1}, {"k": "a", "v": 5}]"#);
    check_update(&map, old, new, &expect![""]);
    let atomic = format!(r#"{{"type": "array", {item}}}"#);
    check_update(
        &atomic,
        old,
        new,
        &expect!["x[1].v: Invalid value: 5: x[1].v in body should be less than or equal to 1"],
    );
    check_update(&atomic, old, old, &expect![""]);
}

/// Schemas with the keywords that interact, small enough to be met by random values.
fn any_schema() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#"{"type": "integer", "minimum": 0, "maximum": 3}"#.to_owned()),
        Just(r#"{"type": "string", "maxLength": 2, "pattern": "^a"}"#.to_owned()),
        Just(r#"{"type": "number", "multipleOf": 0.5}"#.to_owned()),
        Just(r#"{"type": "boolean", "nullable": true}"#.to_owned()),
        Just(r#"{"enum": [1, "a", null, {"a": 1}]}"#.to_owned()),
        Just(r#"{"x-kubernetes-int-or-string": true}"#.to_owned()),
        Just(r#"{"type": "string", "format": "date", "default": "2020-01-01"}"#.to_owned()),
        Just(r#"{"x-kubernetes-preserve-unknown-fields": true}"#.to_owned()),
        Just("{}".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(
                r#"{{"type": "object", "properties": {{"a": {a}, "b": {b}}}, "required": ["a"], "maxProperties": 2}}"#
            )),
            inner.clone().prop_map(|a| format!(r#"{{"type": "object", "additionalProperties": {a}}}"#)),
            inner.clone().prop_map(|a| format!(r#"{{"type": "array", "items": {a}, "maxItems": 2, "uniqueItems": true}}"#)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r#"{{"anyOf": [{a}, {b}]}}"#)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!(r#"{{"oneOf": [{a}, {b}]}}"#)),
            (inner.clone(), inner).prop_map(|(a, b)| format!(r#"{{"allOf": [{a}], "not": {b}}}"#)),
        ]
    })
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        (-2_i64..6).prop_map(|number| number.to_string()),
        Just("1.5".to_owned()),
        Just("2.0".to_owned()),
        Just("1e300".to_owned()),
        "[ab]{0,3}".prop_map(|text| format!("\"{text}\"")),
        Just("\"2020-01-01\"".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(("[abc]", inner), 0..3).prop_map(|members| {
                let members: Vec<String> =
                    members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    /// The quick walk and the thorough one agree, whatever they are given.
    #[test]
    fn both_walks_agree(written in any_schema(), given in any_json()) {
        let (schema, given) = (schema(&written), value(&given));
        for purpose in [Purpose::Object, Purpose::Default] {
            let quick = accept::accepts(&schema.root, &given, purpose);
            let thorough = explain::explain(&schema.root, &given, None, "", purpose);
            prop_assert_eq!(quick, thorough.is_empty(), "{:?}", thorough);
        }
    }

    /// Pruning and defaulting reach a fixed point, and an object that did not change is forgiven everything that a
    /// schema describes.
    #[test]
    fn the_passes_are_idempotent(written in any_schema(), given in any_json()) {
        let schema = schema(&format!(r#"{{"properties": {{"x": {written}}}}}"#));
        let mut object = value(&format!(r#"{{"x": {given}}}"#));
        schema.prune(&mut object, None);
        schema.default(&mut object);
        let once = object.clone();
        schema.prune(&mut object, None);
        schema.default(&mut object);
        prop_assert_eq!(&once, &object);
        let forgiven = schema.validate_values(&object, Some(&object));
        let described = !written.contains("preserve-unknown") && !written.contains("allOf")
            && !written.contains("anyOf") && !written.contains("oneOf") && written != "{}";
        if described && !written.contains("{}") && !written.contains("enum") {
            prop_assert!(forgiven.is_empty(), "{:?}", forgiven);
        }
    }
}
