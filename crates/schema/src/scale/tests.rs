//! Tests of `scale`.

use expect_test::{Expect, expect};

use super::ScalePaths;
use crate::testing::value;

fn check(object: &str, expected: &Expect) {
    let scale = ScalePaths::of(&value(
        r#"{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector"}"#,
    ));
    let object = value(object);
    let mut errors = scale.validate_spec(&object);
    errors.extend(scale.validate_status(&object));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expected.assert_eq(&errors.join("\n"));
}

#[test]
fn replicas_are_small_whole_numbers_if_they_are_there() {
    check("{}", &expect![""]);
    check(r#"{"spec": {"replicas": 3}, "status": {"replicas": 0, "selector": "a=b"}}"#, &expect![""]);
    check(
        r#"{"spec": {"replicas": -1}, "status": {"replicas": 2147483648}}"#,
        &expect![[r"
            .spec.replicas: Invalid value: -1: should be a non-negative integer
            .status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"]],
    );
}

#[test]
fn other_types_are_refused_in_the_words_of_the_accessor() {
    check(
        r#"{"spec": {"replicas": "x"}, "status": {"replicas": 1.5, "selector": {"a": [1]}}}"#,
        &expect![[r#"
            .spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64
            .status.replicas: Invalid value: 0: .status.replicas accessor error: 1.5 is of the type float64, expected int64
            .status.selector: Invalid value: "": .status.selector accessor error: map[a:[1]] is of the type map[string]interface {}, expected string"#]],
    );
    check(
        r#"{"spec": "x"}"#,
        &expect![
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected map[string]interface{}"
        ],
    );
}
