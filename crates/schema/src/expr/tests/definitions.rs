//! Rules in definitions: compiled, costed, and refused with their reasons.

use expect_test::{Expect, expect};
use meta::Value;

use crate::crd;
use crate::testing::value;

/// A definition with one version whose `spec` has this schema.
fn definition(spec: &str) -> Value {
    versions(&[spec])
}

fn versions(specs: &[&str]) -> Value {
    let version = |(index, spec): (usize, &&str)| {
        format!(
            r#"{{"name": "v{}", "served": true, "storage": {}, "schema": {{"openAPIV3Schema":
                {{"type": "object", "properties": {{"spec": {spec}}}}}}}}}"#,
            index + 1,
            index == 0
        )
    };
    let versions: Vec<String> = specs.iter().enumerate().map(version).collect();
    let mut definition = value(&format!(
        r#"{{"metadata": {{"name": "as.b.c", "resourceVersion": "1"}}, "spec": {{"group": "b.c", "scope": "Namespaced",
            "names": {{"plural": "as", "kind": "A"}}, "versions": [{}]}}}}"#,
        versions.join(",")
    ));
    crd::default(&mut definition);
    crd::prepare_for_create(&mut definition);
    definition
}

fn errors(found: &[meta::FieldError]) -> String {
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    let text = texts.join("\n").replace("spec.validation.openAPIV3Schema.properties[spec]", "SPEC");
    text.replace("x-kubernetes-validations", "RULES")
}

#[track_caller]
fn check(spec: &str, expected: &Expect) {
    expected.assert_eq(&errors(&crd::validate(&definition(spec))));
}

#[test]
fn expressions_are_compiled_where_they_stand() {
    check(
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "x-kubernetes-validations": [
            {"rule": "self.m > 0"}, {"rule": "self.n"}, {"rule": "self.n > 0", "messageExpression": "self.n"},
            {"rule": "self.n > 1", "reason": "FieldValueInvalid", "message": "<"}]}"#,
        &expect![[r#"
            SPEC.RULES[0].rule: Invalid value: {"Rule":"self.m \u003e 0","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field 'm'
             | self.m > 0
             | ....^
            SPEC.RULES[1].rule: Invalid value: {"Rule":"self.n","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool
            SPEC.RULES[2].messageExpression: Invalid value: {"Rule":"self.n \u003e 0","Message":"","MessageExpression":"self.n","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string"#]],
    );
}

#[test]
fn errors_of_a_version_are_told_at_the_version() {
    let found = crd::validate(&versions(&[
        r#"{"type": "integer", "x-kubernetes-validations": [{"rule": "self"}]}"#,
        r#"{"type": "integer"}"#,
    ]));
    assert_eq!(
        found[0].field,
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn costs_count_as_often_as_a_rule_can_run() {
    let bounded = |items: &str| {
        format!(
            r#"{{"type": "array"{items}, "items": {{"type": "string", "x-kubernetes-validations":
                [{{"rule": "self == 'a' || self == 'b' || self == 'c' || self == 'd' || self == 'e'"}}]}}}}"#
        )
    };
    check(&bounded(r#", "maxItems": 100"#), &expect![""]);
    check(
        &bounded(""),
        &expect![
            "SPEC.items.RULES[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.048576x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
        ],
    );
    check(
        r#"{"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [
            {"rule": "self.all(x, self.exists_one(y, x == y))"}]}"#,
        &expect![[r"
            SPEC.RULES[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)
            SPEC.RULES[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema
            spec.validation.openAPIV3Schema: Forbidden: RULES estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"]],
    );
}

#[test]
fn old_values_need_a_place_where_they_can_be_told() {
    let rule = r#""x-kubernetes-validations": [{"rule": "self == oldSelf"}]"#;
    check(
        &format!(r#"{{"type": "array", "maxItems": 9, "items": {{"type": "integer", {rule}}}}}"#),
        &expect![[
            r#"SPEC.items.RULES[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within SPEC"#
        ]],
    );
    check(
        &format!(
            r#"{{"type": "array", "maxItems": 9, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {{"type": "object", "required": ["k"], "properties": {{"k": {{"type": "integer", {rule}}}}}}}}}"#
        ),
        &expect![""],
    );
    check(
        r#"{"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0", "optionalOldSelf": false}]}"#,
        &expect![
            "SPEC.RULES[0].optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in rule"
        ],
    );
}

#[test]
fn rules_on_what_they_cannot_see_are_refused() {
    let hidden = r#""x-kubernetes-preserve-unknown-fields": true"#;
    let rule = r#""x-kubernetes-validations": [{"rule": "true"}]"#;
    let detail = expect![
        "SPEC.RULES: Internal error: internal error: failed to construct type information for RULES rules: unable to convert structural schema to CEL declarations"
    ];
    check(&format!("{{{hidden}, {rule}}}"), &detail);
    check(&format!(r#"{{"type": "array", "items": {{{hidden}}}, {rule}}}"#), &detail);
    // The schema around has rules and can be seen; what is inside cannot.
    check(
        &format!(
            r#"{{"type": "object", {rule}, "properties": {{"h": {{{hidden}, "properties": {{"x": {{"type": "integer",
                {rule}}}}}}}}}}}"#
        ),
        &expect![
            "SPEC.properties[h].properties[x].RULES: Internal error: internal error: failed to construct type information for RULES rules: unable to convert structural schema to CEL declarations"
        ],
    );
}

#[test]
fn other_errors_keep_expressions_from_being_compiled() {
    check(
        r#"{"type": "object", "x-kubernetes-validations": [{"rule": "nonsense"}], "properties": {
            "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self"}]},
            "b": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}}}}"#,
        &expect![[r#"
            SPEC.properties[b].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic
            SPEC.properties[a].RULES[0].rule: Invalid value: {"Rule":"self","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool"#]],
    );
}

#[test]
fn defaults_obey_the_rules() {
    check(
        r#"{"type": "object", "properties": {
            "n": {"type": "integer", "default": 0, "x-kubernetes-validations": [{"rule": "self > 0"}]},
            "o": {"type": "integer", "default": 0, "x-kubernetes-validations": [
                {"rule": "oldSelf.hasValue()", "optionalOldSelf": true, "message": "not out of nothing"}]},
            "p": {"type": "integer", "default": 0, "x-kubernetes-validations": [{"rule": "self"}]}}}"#,
        &expect![[r#"
            SPEC.properties[n].default: Invalid value: 0: failed rule: self > 0
            SPEC.properties[o].default: Invalid value: 0: not out of nothing
            SPEC.properties[p].default: Invalid value: "integer": rule compile error: cel expression must evaluate to a bool"#]],
    );
}

#[test]
fn an_unchanged_schema_keeps_its_costly_rules() {
    let costly = r#"{"type": "array", "items": {"type": "string", "x-kubernetes-validations":
        [{"rule": "self == 'a' || self == 'b' || self == 'c' || self == 'd' || self == 'e'"}]}}"#;
    let old = definition(costly);
    assert_eq!(crd::validate(&old).len(), 1);
    assert_eq!(crd::validate_update(&old, &old), []);
    let changed = definition(&costly.replace("'b'", "'f'"));
    assert_eq!(crd::validate_update(&changed, &old).len(), 1);
}
