//! Tests of `parse`.

use meta::FieldPath;

use super::{Items, MAX_DEPTH, PropsOrBool, props};
use crate::testing::value;

fn error(text: &str) -> String {
    props(&value(text), &FieldPath::ROOT).unwrap_err().to_string()
}

#[test]
fn every_form_of_a_field_is_read() {
    let written = value(
        r#"{"type": "array", "items": [{"type": "string"}], "additionalItems": false, "maximum": 3,
            "multipleOf": 0.5, "enum": [null, 1], "default": null, "additionalProperties": {"title": "t"},
            "dependencies": {"a": ["b"], "c": {"type": "object"}}, "x-kubernetes-preserve-unknown-fields": false,
            "unknown": 1, "x-kubernetes-validations": [{"rule": "r", "optionalOldSelf": true}]}"#,
    );
    let read = props(&written, &FieldPath::ROOT).unwrap();
    assert!(matches!(&read.items, Some(Items::Each(list, _)) if list.len() == 1));
    assert!(matches!(&read.additional_properties, Some(PropsOrBool::Props(props)) if props.title == "t"));
    assert_eq!(read.additional_items, Some(PropsOrBool::Bool(false)));
    assert_eq!((read.maximum, read.multiple_of), (Some(3.0), Some(0.5)));
    assert_eq!((read.one_of_values.map(<[_]>::len), read.default), (Some(2), None));
    assert_eq!((read.dependencies.len(), read.preserve_unknown), (2, Some(false)));
    assert_eq!(read.rules[0].optional_old_self, Some(true));
}

#[test]
fn a_field_of_a_wrong_type_is_named() {
    assert_eq!(
        error(r#"{"properties": {"a": {"maxLength": "x"}}}"#),
        r#"properties[a].maxLength: Invalid value: "string": must be of type integer"#
    );
    assert_eq!(error(r#"{"allOf": [1]}"#), r#"allOf[0]: Invalid value: "integer": must be of type object"#);
}

#[test]
fn nesting_is_bounded() {
    let nested = |levels: usize| format!("{}{{}}{}", r#"{"items": "#.repeat(levels), "}".repeat(levels));
    assert!(props(&value(&nested(MAX_DEPTH)), &FieldPath::ROOT).is_ok());
    assert!(error(&nested(MAX_DEPTH + 1)).ends_with("schemas may nest at most 100 levels"));
}
