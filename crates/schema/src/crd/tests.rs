//! Tests of the judgement of definitions. Messages and fields are the reference's.

mod hostile;
mod schemas;
mod specs;
mod updates;

use expect_test::Expect;
use meta::Value;
use meta::patch::JsonPatch;

use crate::testing::value;

/// A definition that is fine, in the form in which a client sends it.
const DEFINITION: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object"}}}}}]}}"#;

/// The definition with a JSON patch applied.
fn definition(patch: &str) -> Value {
    JsonPatch::decode(patch.as_bytes()).unwrap().apply(value(DEFINITION)).unwrap()
}

/// A definition whose only version has the schema.
fn with_schema(schema: &str) -> Value {
    definition(&format!(
        r#"[{{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": {schema}}}]"#
    ))
}

/// A definition whose `spec` has one property `x` with the schema.
fn with_property(schema: &str) -> Value {
    with_schema(&format!(
        r#"{{"type": "object", "properties": {{"spec": {{"type": "object", "properties": {{"x": {schema}}}}}}}}}"#
    ))
}

fn prepared(mut definition: Value) -> Value {
    super::default(&mut definition);
    super::prepare_for_create(&mut definition);
    definition
}

/// What is wrong with a new definition, one error a line. The path of the property `x` is shortened.
fn errors(definition: Value) -> String {
    let errors = super::validate(&prepared(definition));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let property = "spec.validation.openAPIV3Schema.properties[spec].properties[x]";
    errors.join("\n").replace(property, "X").replace("spec.validation.openAPIV3Schema", "ROOT")
}

#[track_caller]
fn check(definition: Value, expected: &Expect) {
    expected.assert_eq(&errors(definition));
}
