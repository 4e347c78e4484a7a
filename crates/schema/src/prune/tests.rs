//! Tests of `prune`.

use expect_test::{Expect, expect};

use crate::testing::{schema, text, value};

/// Prunes `object` and shows what is left and what was unknown.
fn check(written: &str, object: &str, expected: &Expect) {
    let schema = schema(written);
    let mut object = value(object);
    let mut unknown = Vec::new();
    schema.prune(&mut object, Some(&mut unknown));
    expected.assert_eq(&format!("{} unknown: {}", text(&object), unknown.join(" ")));
    let once = object.clone();
    schema.prune(&mut object, None);
    assert_eq!(object, once, "pruning twice changes nothing more");
}

#[test]
fn unknown_fields_go_but_a_preserving_subtree_keeps_them() {
    check(
        r#"{"properties": {"a": {"type": "string"}, "b": {"x-kubernetes-preserve-unknown-fields": true}}}"#,
        r#"{"a": "x", "c": 1, "b": {"d": {"e": 1}}}"#,
        &expect![[r#"{"a":"x","b":{"d":{"e":1}}} unknown: c"#]],
    );
}

#[test]
fn a_specified_property_inside_a_preserving_object_is_pruned_again() {
    check(
        r#"{"x-kubernetes-preserve-unknown-fields": true,
            "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}"#,
        r#"{"free": {"x": 1}, "spec": {"a": "1", "b": 2}}"#,
        &expect![[r#"{"free":{"x":1},"spec":{"a":"1"}} unknown: spec.b"#]],
    );
}

#[test]
fn items_of_a_preserving_list_keep_unknown_fields_but_their_properties_do_not() {
    check(
        r#"{"properties": {"l": {"type": "array", "x-kubernetes-preserve-unknown-fields": true,
            "items": {"type": "object", "properties": {"a": {"type": "object"}}}}}}"#,
        r#"{"l": [{"a": {"x": 1}, "b": 2}, [{"c": 1}]]}"#,
        &expect![[r#"{"l":[{"a":{},"b":2},[{"c":1}]]} unknown: l[0].a.x"#]],
    );
}

#[test]
fn lists_and_maps_are_walked_and_paths_are_spelled_with_dots() {
    check(
        r#"{"properties": {"l": {"items": {"properties": {"a": {}}}},
            "m": {"additionalProperties": {"properties": {"a": {}}}}}}"#,
        r#"{"l": [{"a": 1}, {"b": 2}], "m": {"x.y": {"a": 1, "z": 2}}}"#,
        &expect![[r#"{"l":[{"a":1},{}],"m":{"x.y":{"a":1}}} unknown: l[1].b m.x.y.z"#]],
    );
}

#[test]
fn additional_properties_as_a_boolean_keep_names_and_empty_objects() {
    for allows in ["true", "false"] {
        check(
            &format!(r#"{{"properties": {{"m": {{"additionalProperties": {allows}}}}}}}"#),
            r#"{"m": {"a": 1, "b": {"c": 1}, "d": [{"e": 1}]}}"#,
            &expect![[r#"{"m":{"a":1,"b":{},"d":[{}]}} unknown: m.b.c m.d[0].e"#]],
        );
    }
}

#[test]
fn an_object_in_the_place_of_a_scalar_loses_its_fields() {
    check(
        r#"{"properties": {"a": {"type": "string"}}}"#,
        r#"{"a": {"b": 1}}"#,
        &expect![[r#"{"a":{}} unknown: a.b"#]],
    );
}

#[test]
fn type_and_metadata_of_resources_are_left_alone() {
    check(
        r#"{"properties": {"e": {"x-kubernetes-embedded-resource": true, "properties": {"spec": {}}},
            "plain": {"type": "object"}}}"#,
        r#"{"apiVersion": "v1", "kind": "K", "metadata": {"x": 1},
            "e": {"kind": "E", "metadata": {"x": 1}, "other": 1}, "plain": {"metadata": {}, "kind": "K"}}"#,
        &expect![[
            r#"{"apiVersion":"v1","e":{"kind":"E","metadata":{"x":1}},"kind":"K","metadata":{"x":1},"plain":{}} unknown: e.other plain.kind plain.metadata"#
        ]],
    );
}

#[test]
fn nulls_go_unless_they_are_allowed_or_have_a_default() {
    check(
        r#"{"properties": {"plain": {"type": "string"}, "nullable": {"type": "string", "nullable": true},
            "default": {"type": "string", "default": "x"}, "map": {"additionalProperties": {"type": "string"}},
            "list": {"items": {"type": "string"}}, "free": {"x-kubernetes-preserve-unknown-fields": true}}}"#,
        r#"{"plain": null, "nullable": null, "default": null, "map": {"a": null, "b": "c"}, "list": [null],
            "free": {"a": null}}"#,
        &expect![[
            r#"{"default":null,"free":{"a":null},"list":[null],"map":{"b":"c"},"nullable":null} unknown: "#
        ]],
    );
}

#[test]
fn nulls_in_specified_metadata_go_too() {
    check(
        r#"{"properties": {"metadata": {"properties": {"name": {"type": "string"}}}}}"#,
        r#"{"metadata": {"name": null, "labels": null}}"#,
        &expect![[r#"{"metadata":{"labels":null}} unknown: "#]],
    );
}
