//! Tests of `compile`.

use std::sync::Arc;

use super::Compiler;
use crate::parse::props;
use crate::structural::Facts;
use crate::testing::{schema, text, value};

#[test]
fn equal_subtrees_are_one() {
    let shared = schema(
        r#"{"properties": {
            "a": {"type": "object", "description": "one", "properties": {"x": {"type": "string", "pattern": "^a$"}}},
            "b": {"type": "object", "description": "two", "properties": {"x": {"type": "string", "pattern": "^a$"}}},
            "c": {"type": "object", "properties": {"x": {"type": "string", "pattern": "^b$"}}}}}"#,
    );
    let node = |name| shared.root.property(name).unwrap();
    assert!(Arc::ptr_eq(node("a"), node("b")));
    assert!(!Arc::ptr_eq(node("a"), node("c")));
}

#[test]
fn versions_of_one_definition_share_what_is_equal() {
    let written = value(r#"{"properties": {"spec": {"type": "object"}}}"#);
    let props = props(&written, &meta::FieldPath::ROOT).unwrap();
    let mut compiler = Compiler::default();
    let (first, second) = (compiler.compile(&props), compiler.compile(&props));
    assert!(Arc::ptr_eq(&first.root, &second.root));
}

#[test]
fn facts_tell_what_a_subtree_contains() {
    let schema = schema(
        r#"{"properties": {"a": {"items": {"properties": {"b": {"default": 1}}}},
            "c": {"x-kubernetes-embedded-resource": true}, "d": {"x-kubernetes-list-type": "set"},
            "e": {"x-kubernetes-validations": [{"rule": "true"}]}, "f": {}}}"#,
    );
    let has = |name, fact| schema.root.property(name).unwrap().facts.has(fact);
    assert!(has("a", Facts::DEFAULTS) && has("c", Facts::EMBEDDED));
    assert!(has("d", Facts::LIST_TYPES) && has("e", Facts::RULES) && !has("f", Facts::DEMANDS));
    assert!(!has("a", Facts::EMBEDDED) && schema.root.facts.has(Facts::RULES));
}

/// Defaults are pruned when a definition is compiled, so that filling them in needs no second look.
#[test]
fn defaults_are_pruned_by_the_schema_around_them() {
    let schema = schema(
        r#"{"properties": {
            "a": {"type": "object", "default": {"known": 1, "other": 2}, "properties": {"known": {}}},
            "l": {"type": "array", "items": {"default": {"x": 1}, "type": "object"}},
            "e": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
                "metadata": {"type": "object", "default": {"labels": {"a": "b"}, "colour": 1}}}}}}"#,
    );
    let mut object = value(r#"{"e": {}, "l": [null]}"#);
    schema.default(&mut object);
    assert_eq!(text(&object), r#"{"a":{"known":1},"e":{"metadata":{"labels":{"a":"b"}}},"l":[{}]}"#);
}
