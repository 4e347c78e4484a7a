//! Schemas made to hurt: the work and the stack they take are bounded.

use meta::FieldPath;
use proptest::prelude::*;

use super::{errors, prepared, with_property, with_schema};
use crate::Schema;
use crate::parse::{MAX_DEPTH, MAX_NODES, props};
use crate::testing::value;

/// `levels` schemas inside each other, each the value of `field` of the one around it.
fn nested(field: &str, levels: usize) -> String {
    let (open, close) = match field {
        "properties" => (r#"{"type": "object", "properties": {"p": "#, "}}"),
        "items" => (r#"{"type": "array", "items": "#, "}"),
        "not" => (r#"{"not": "#, "}"),
        _ => (r#"{"allOf": ["#, "]}"),
    };
    format!("{}{{\"maximum\": 1}}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn the_deepest_schemas_are_judged_and_deeper_ones_refused() {
    for field in ["properties", "items", "not", "allOf"] {
        let deepest = MAX_DEPTH - 10;
        errors(with_property(&nested(field, deepest)));
        let refused = errors(with_property(&nested(field, MAX_DEPTH)));
        assert!(refused.ends_with("schemas may nest at most 100 levels"), "{refused}");
        let written = value(&nested(field, deepest));
        let schema = Schema::compile(&written).unwrap();
        let mut object = value(&format!("{}2{}", r#"{"p": "#.repeat(deepest), "}".repeat(deepest)));
        schema.prune(&mut object, Some(&mut Vec::new()));
        schema.default(&mut object);
        schema.validate(&object, Some(&object), None);
    }
}

#[test]
fn a_schema_of_too_many_parts_is_refused() {
    let parts = vec!["{}"; MAX_NODES].join(",");
    let written = value(&format!(r#"{{"anyOf": [{parts}]}}"#));
    let error = props(&written, &FieldPath::ROOT).unwrap_err();
    assert!(error.to_string().ends_with("a schema may have at most 200000 nodes"));
}

/// `allOf` in `allOf` has as many parts as are written, not their product.
#[test]
fn nested_combinations_cost_what_they_are() {
    let mut part = r#"{"maxLength": 3}"#.to_owned();
    for _ in 0..12 {
        part = format!(r#"{{"allOf": [{part}, {part}]}}"#);
    }
    let schema = Schema::compile(&value(&format!(r#"{{"properties": {{"s": {part}}}}}"#))).unwrap();
    assert!(schema.validate_values(&value(r#"{"s": "abc"}"#), None).is_empty());
    let errors = schema.validate_values(&value(r#"{"s": "abcd"}"#), None);
    // Equal messages are reported once.
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn long_enums_are_searched_not_scanned() {
    let values: Vec<String> = (0..20_000).map(|n| format!("\"v{n}\"")).collect();
    let schema = Schema::compile(&value(&format!(
        r#"{{"properties": {{"l": {{"items": {{"enum": [{}]}}}}}}}}"#,
        values.join(",")
    )));
    let object = value(&format!(r#"{{"l": [{}]}}"#, values.join(",")));
    assert!(schema.unwrap().validate_values(&object, None).is_empty());
}

#[test]
fn a_pattern_that_would_fill_the_memory_is_refused() {
    let errors = errors(with_property(r#"{"type": "string", "pattern": "(\\pL{30}){30}"}"#));
    assert!(errors.contains("X.pattern: Invalid value"), "{errors}");
    assert!(errors.ends_with("error parsing regexp: expression too large"), "{errors}");
}

#[test]
fn a_definition_that_is_no_object_at_all_is_no_panic() {
    for text in [
        "null",
        "[]",
        "1",
        r#"{"spec": 1}"#,
        r#"{"spec": {"versions": {}, "names": []}}"#,
        r#"{"metadata": 3}"#,
    ] {
        let definition = prepared(value(text));
        super::super::validate(&definition);
        super::super::validate_update(&definition, &definition);
        super::super::warnings_on_create(&definition);
    }
    assert!(errors(with_schema("[]")).contains("must be of type object"));
}

/// Keywords with values of any type, nested anyhow.
fn any_schema() -> impl Strategy<Value = String> {
    const KEYWORDS: [&str; 24] = [
        "type",
        "properties",
        "items",
        "additionalProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "default",
        "enum",
        "required",
        "pattern",
        "format",
        "maximum",
        "maxLength",
        "nullable",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
        "metadata",
    ];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("3".to_owned()),
        Just("\"object\"".to_owned()),
        Just("\"array\"".to_owned()),
        Just("\"map\"".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned()),
        Just("[\"a\"]".to_owned()),
        Just("\"(\"".to_owned()),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        prop_oneof![
            proptest::collection::vec((0..KEYWORDS.len(), inner.clone()), 0..5).prop_map(|members| {
                let members: Vec<String> = members
                    .iter()
                    .map(|(index, value)| format!("\"{}\": {value}", KEYWORDS[*index]))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
            proptest::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

proptest! {
    /// Nothing that a schema may hold makes judging or using it panic; what is accepted compiles.
    #[test]
    fn no_schema_is_a_panic(written in any_schema()) {
        let definition = prepared(with_property(&written));
        let errors = super::super::validate(&definition);
        super::super::validate_update(&definition, &definition);
        super::super::non_structural(&definition);
        let schema = Schema::compile(&value(&written));
        prop_assert!(!errors.is_empty() || schema.is_ok());
        if let Ok(schema) = schema {
            let mut object = value(&written);
            schema.prune(&mut object, Some(&mut Vec::new()));
            schema.default(&mut object);
            schema.validate(&object, Some(&value(&written)), None);
        }
    }
}
