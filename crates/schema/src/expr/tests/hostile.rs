//! No object and no schema makes rules panic, and none makes them run for long.

use proptest::prelude::*;

use super::{judge, quoted};
use crate::crd;
use crate::testing::{schema, value};

/// Every kind of schema that a rule can see, with rules that touch all of it.
const EVERYTHING: &str = r#"{"type": "object", "x-kubernetes-validations": [
        {"rule": "self == oldSelf || self.spec.n > 0 || self.metadata.name != ''"},
        {"rule": "self.spec.list + self.spec.list == self.spec.list"},
        {"rule": "oldSelf.hasValue() && oldSelf.value().spec == self.spec", "optionalOldSelf": true}],
    "properties": {"spec": {"type": "object", "properties": {
        "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > oldSelf"}]},
        "d": {"type": "number", "x-kubernetes-validations": [{"rule": "self < 1.5"}]},
        "s": {"type": "string", "format": "date-time", "x-kubernetes-validations": [{"rule": "self.getHours() > 1"}]},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true, "x-kubernetes-validations": [{"rule": "self > 1"}]},
        "map": {"type": "object", "additionalProperties": {"type": "string",
            "x-kubernetes-validations": [{"rule": "self.size() > 1", "messageExpression": "self + self"}]}},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
            "x-kubernetes-validations": [{"rule": "self.all(i, i.k == 'a')", "fieldPath": ""}],
            "items": {"type": "object", "x-kubernetes-validations": [{"rule": "self.k == oldSelf.k"}],
                "properties": {"k": {"type": "string"}, "l": {"type": "boolean", "nullable": true}}}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        "sub": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-validations": [{"rule": "self.metadata.name == self.kind"}]}}}}}"#;

/// Values under the names of the schema, of whatever type.
fn any_value() -> impl Strategy<Value = String> {
    const NAMES: [&str; 12] =
        ["spec", "n", "d", "s", "any", "port", "map", "list", "set", "sub", "k", "metadata"];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        Just("1.5".to_owned()),
        Just("\"a\"".to_owned()),
        Just("\"2024-01-02T03:04:05Z\"".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            2 => proptest::collection::vec((0..NAMES.len(), inner.clone()), 0..6).prop_map(|members| {
                let member = |(index, value): &(usize, String)| format!("\"{}\": {value}", NAMES[*index]);
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }),
            1 => proptest::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

proptest! {
    /// Rules are only asked about objects that fit their schema, but they do not rely on it.
    #[test]
    fn no_object_is_a_panic(new in any_value(), old in any_value()) {
        let schema = schema(EVERYTHING);
        let (new, old) = (value(&format!(r#"{{"spec": {new}}}"#)), value(&format!(r#"{{"spec": {old}}}"#)));
        judge(&schema, &new, None);
        judge(&schema, &new, Some(&old));
        judge(&schema, &old, Some(&new));
        prop_assert!(judge(&schema, &new, Some(&new)).remaining >= 0);
    }
}

#[test]
fn rules_at_every_level_of_a_deep_schema_are_compiled() {
    let rule = r#""x-kubernetes-validations": [{"rule": "has(self.p)"}]"#;
    let mut written = r#"{"type": "object", "properties": {"p": {"type": "integer"}}}"#.to_owned();
    let mut object = r#"{"p": 1}"#.to_owned();
    for _ in 0..80 {
        written = format!(r#"{{"type": "object", {rule}, "properties": {{"p": {written}}}}}"#);
        object = format!(r#"{{"p": {object}}}"#);
    }
    let verdict = judge(&schema(&written), &value(&object), None);
    assert_eq!(verdict.errors, []);
    assert!(verdict.remaining > 0);
}

/// Giant and deeply nested expressions are refused by the language, not by the stack.
#[test]
fn giant_expressions_are_refused() {
    let nested = format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000));
    let chained = vec!["true"; 5_000].join(" == ");
    let long = format!("self == '{}'", "x".repeat(200_000));
    for rule in [nested, chained, long] {
        let definition = format!(
            r#"{{"metadata": {{"name": "as.b.c"}}, "spec": {{"group": "b.c", "scope": "Cluster",
                "names": {{"plural": "as", "kind": "A"}}, "versions": [{{"name": "v1", "served": true, "storage": true,
                "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{"spec": {{"type": "string",
                    "x-kubernetes-validations": [{{"rule": {}}}]}}}}}}}}}}]}}}}"#,
            quoted(&rule)
        );
        let mut definition = value(&definition);
        crd::default(&mut definition);
        crd::prepare_for_create(&mut definition);
        let errors = crd::validate(&definition);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].detail.starts_with("compilation failed: "), "{}", errors[0].detail);
    }
}
