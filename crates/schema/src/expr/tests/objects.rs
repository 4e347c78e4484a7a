//! Rules on objects: what they see, what they say, what is forgiven.

use expect_test::{Expect, expect};

use super::{judge, told, with_rules};
use crate::testing::{schema, value};

/// Rules that all hold for an object with these properties.
#[track_caller]
fn all_hold(properties: &str, object: &str, rules: &[&str]) {
    assert_eq!(told(&with_rules(properties, rules), object, None), "");
}

#[track_caller]
fn check(schema: &str, new: &str, old: Option<&str>, expected: &Expect) {
    expected.assert_eq(&told(&crate::testing::schema(schema), new, old));
}

#[test]
fn properties_have_escaped_names_and_nulls_are_absent() {
    all_hold(
        r#""a-b": {"type": "integer"}, "namespace": {"type": "string"}, "x.y/z": {"type": "string"},
           "a__b": {"type": "string"}, "n": {"type": "integer", "nullable": true}"#,
        r#"{"a-b": 1, "namespace": "ns", "x.y/z": "q", "a__b": "u", "n": null}"#,
        &[
            "self.a__dash__b == 1",
            "self.__namespace__ == 'ns' && self.namespace == 'ns'",
            "self.x__dot__y__slash__z == 'q'",
            "self.a__underscores__b == 'u'",
            "!has(self.n)",
        ],
    );
}

#[test]
fn formats_decide_how_text_is_read() {
    all_hold(
        r#""day": {"type": "string", "format": "date"}, "at": {"type": "string", "format": "date-time"},
           "go": {"type": "string", "format": "duration"}, "wordy": {"type": "string", "format": "duration"},
           "raw": {"type": "string", "format": "byte"}, "any": {"type": "string", "format": "uuid"}"#,
        r#"{"day": "2024-02-29", "at": "2024-02-29T12:00:00.5+01:00", "go": "1h30m", "wordy": "3 days",
            "raw": "aGk=", "any": "text"}"#,
        &[
            "self.day.getDayOfYear() == 59",
            "self.at == timestamp('2024-02-29T11:00:00.5Z')",
            "self.go == duration('90m')",
            "self.wordy == duration('72h')",
            "self.raw == b'hi'",
            "self.any == 'text'",
        ],
    );
}

#[test]
fn numbers_are_what_their_schema_says() {
    all_hold(
        r#""whole": {"type": "number"}, "n": {"type": "integer"}, "port": {"x-kubernetes-int-or-string": true},
           "name": {"x-kubernetes-int-or-string": true}"#,
        r#"{"whole": 3, "n": 3, "port": 80, "name": "http"}"#,
        &[
            "self.whole / 2.0 == 1.5",
            "self.n / 2 == 1",
            "type(self.port) == int && self.port == 80",
            "type(self.name) == string && self.name == 'http'",
        ],
    );
}

#[test]
fn lists_compare_and_add_up_by_their_type() {
    let keyed = r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}}"#;
    let set = r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}"#;
    let plain = r#"{"type": "array", "items": {"type": "integer"}}"#;
    all_hold(
        &format!(
            r#""sets": {{"type": "array", "items": {set}}}, "plain": {{"type": "array", "items": {plain}}},
               "maps": {{"type": "array", "items": {keyed}}}"#
        ),
        r#"{"sets": [[1, 2], [2, 1], [2, 3]], "plain": [[1, 2], [2, 1]],
            "maps": [[{"k": "a", "v": 1}, {"k": "b", "v": 2}], [{"k": "b", "v": 2}, {"k": "a", "v": 1}],
                     [{"k": "b", "v": 3}, {"k": "c", "v": 4}]]}"#,
        &[
            "self.sets[0] == self.sets[1]",
            "self.sets[0] + self.sets[2] == [1, 2, 3]",
            "self.plain[0] != self.plain[1]",
            "(self.plain[0] + self.plain[1]).size() == 4",
            "self.maps[0] == self.maps[1]",
            "(self.maps[0] + self.maps[2]).map(i, i.v) == [1, 3, 4]",
        ],
    );
}

#[test]
fn what_the_schema_does_not_describe_is_compared_but_not_seen() {
    let properties = r#""l": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"known": {"type": "integer"},
            "any": {"x-kubernetes-preserve-unknown-fields": true}}}}"#;
    all_hold(
        properties,
        r#"{"l": [{"known": 1, "any": {"a": [1]}, "x": 1}, {"known": 1, "any": {"a": [1]}, "x": 1},
                  {"known": 1, "any": {"a": [2]}, "x": 1}, {"known": 1, "any": {"a": [1]}, "x": 2}]}"#,
        &["self.l[0] == self.l[1]", "self.l[0] != self.l[2]", "self.l[0] != self.l[3]"],
    );
}

#[test]
fn resources_show_their_type_and_names() {
    all_hold(
        r#""e": {"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true}"#,
        r#"{"apiVersion": "v1", "kind": "A", "metadata": {"name": "n", "labels": {"a": "b"}},
            "e": {"apiVersion": "v2", "kind": "B", "metadata": {"generateName": "g-"}}}"#,
        &[
            "self.apiVersion == 'v1' && self.kind == 'A' && self.metadata.name == 'n'",
            "self.e.kind == 'B' && self.e.metadata.generateName == 'g-' && !has(self.e.metadata.name)",
        ],
    );
}

const LAWS: &str = r#"{"type": "object", "x-kubernetes-validations": [{"rule": "self.spec.n > 1"}], "properties": {
    "spec": {"type": "object", "x-kubernetes-validations": [
        {"rule": "self.n > 2", "message": " too small "},
        {"rule": "self.n > 3", "message": "unused", "messageExpression": "'n is %d'.format([self.n])"},
        {"rule": "self.n > 4", "message": "fallback", "messageExpression": "self.t[9]"},
        {"rule": "self.n > 5", "messageExpression": "'two\nlines'"},
        {"rule": "self.n > 6", "reason": "FieldValueForbidden", "fieldPath": ".n"},
        {"rule": "self.n > 7", "reason": "FieldValueRequired", "fieldPath": ".m['a.b']"},
        {"rule": "self.n > 8", "reason": "FieldValueDuplicate"}],
        "properties": {"n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 9"}]},
            "t": {"type": "array", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}}}}}}"#;

#[test]
fn failures_are_told_in_order_with_their_messages_reasons_and_fields() {
    check(
        LAWS,
        r#"{"spec": {"n": 1}}"#,
        None,
        &expect![[r"
            <nil>: Invalid value: failed rule: self.spec.n > 1
            spec: Invalid value: too small
            spec: Invalid value: n is 1
            spec: Invalid value: fallback
            spec: Invalid value: failed rule: self.n > 5
            spec.n: Forbidden: failed rule: self.n > 6
            spec.m[a.b]: Required value: failed rule: self.n > 7
            spec: Duplicate value
            spec.n: Invalid value: 1: failed rule: self > 9"]],
    );
}

#[test]
fn evaluations_without_an_answer_name_the_type_and_the_rule() {
    check(
        r#"{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self[3] == 1"}, {"rule": "1 / self[0] == 1", "message": "no"}]},
            "p": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": "self + 1 == 2"}]}}}"#,
        r#"{"l": [0], "p": "x"}"#,
        None,
        &expect![[r#"
            l: Invalid value: "array": index out of bounds: 3 evaluating rule: self[3] == 1
            l: Invalid value: "array": division by zero evaluating rule: no
            p: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self + 1 == 2"#]],
    );
}

const CHANGES: &str = r#"{"type": "object", "properties": {
    "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
    "once": {"type": "string", "x-kubernetes-validations": [{"rule": "oldSelf.hasValue() || self == 'first'",
        "optionalOldSelf": true, "messageExpression": "oldSelf.hasValue() ? 'was there' : 'was not there'"}]},
    "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
        "type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer",
            "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "may only grow"}]}}}},
    "loose": {"type": "array", "items": {"type": "integer",
        "x-kubernetes-validations": [{"rule": "self < 5"}]}},
    "map": {"type": "object", "additionalProperties": {"type": "integer",
        "x-kubernetes-validations": [{"rule": "self < 5"}, {"rule": "self >= oldSelf"}]}}}}"#;

#[test]
fn rules_about_changes_run_where_there_was_a_value() {
    let old = r#"{"fixed": "a", "list": [{"k": "x", "v": 2}, {"k": "y", "v": 3}], "map": {"m": 2}}"#;
    check(CHANGES, r#"{"fixed": "b", "map": {"n": 1}}"#, None, &expect![""]);
    check(
        CHANGES,
        r#"{"fixed": "b", "list": [{"k": "z", "v": 0}, {"k": "y", "v": 1}, {"k": "x", "v": 2}], "map": {"m": 1, "n": 0}}"#,
        Some(old),
        &expect![[r#"
            fixed: Invalid value: "b": is immutable
            list[1].v: Invalid value: 1: may only grow
            map[m]: Invalid value: 1: failed rule: self >= oldSelf"#]],
    );
}

/// The message is made with the old value as it is, so an expression for the optional one fails and says nothing.
#[test]
fn an_optional_old_value_is_not_optional_to_messages() {
    check(
        CHANGES,
        r#"{"once": "second"}"#,
        None,
        &expect![[r#"once: Invalid value: "second": failed rule: oldSelf.hasValue() || self == 'first'"#]],
    );
    check(CHANGES, r#"{"once": "second"}"#, Some(r#"{"once": "first"}"#), &expect![""]);
}

#[test]
fn failures_of_what_did_not_change_are_warnings() {
    // An item without a list key corresponds to nothing: its list decides.
    check(
        CHANGES,
        r#"{"loose": [9, 1], "map": {"a": 9, "b": 8}}"#,
        Some(r#"{"loose": [9, 1], "map": {"a": 9, "b": 7}}"#),
        &expect![[r"
            map[b]: Invalid value: 8: failed rule: self < 5
            warning: loose[0]: Invalid value: 9: failed rule: self < 5
            warning: map[a]: Invalid value: 9: failed rule: self < 5"]],
    );
    check(
        CHANGES,
        r#"{"loose": [9, 2]}"#,
        Some(r#"{"loose": [9, 1]}"#),
        &expect!["loose[0]: Invalid value: 9: failed rule: self < 5"],
    );
}

#[test]
fn a_rule_that_costs_too_much_is_the_last() {
    let schema = schema(
        r#"{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, self.all(z, x + y + z > 0)))"},
            {"rule": "false"}]}, "m": {"type": "string", "x-kubernetes-validations": [{"rule": "false"}]}}}"#,
    );
    let numbers: Vec<String> = (1..200).map(|number| number.to_string()).collect();
    let object = format!(r#"{{"l": [{}], "m": "x"}}"#, numbers.join(","));
    expect![[r#"l: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, self.all(z, x + y + z > 0)))"#]]
        .assert_eq(&told(&schema, &object, None));
    assert!(judge(&schema, &value(&object), None).remaining < 0);
}

#[test]
fn rules_of_an_object_share_a_budget() {
    let schema = schema(
        r#"{"type": "object", "properties": {"l": {"type": "array", "items": {"type": "array", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x + y > 0))"}]}}}}"#,
    );
    let numbers: Vec<String> = (1..370).map(|number| number.to_string()).collect();
    let list = format!("[{}]", numbers.join(","));
    let object = format!(r#"{{"l": [{}]}}"#, vec![list; 20].join(","));
    expect![[r#"l[10]: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run"#]]
        .assert_eq(&told(&schema, &object, None));
}

#[test]
fn a_broken_object_withholds_the_rules() {
    let schema = schema(
        r#"{"type": "object", "required": ["n"], "x-kubernetes-validations": [{"rule": "self.n > 0"}],
            "properties": {"n": {"type": "integer"}}}"#,
    );
    let errors = schema.validate(&value("{}"), None, None).errors;
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expect![[r"
        n: Required value
        <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"]]
    .assert_eq(&errors.join("\n"));
}
