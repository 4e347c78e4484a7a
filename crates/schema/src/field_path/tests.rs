//! Tests of `field_path`.

use expect_test::{Expect, expect};
use meta::FieldPath;

use super::{Brackets, resolve};
use crate::parse::props;
use crate::testing::value;

fn check(path: &str, expected: &Expect) {
    let written = value(
        r#"{"properties": {"spec": {"properties": {"a": {"type": "string"}, "b.c": {"type": "integer"},
            "m": {"additionalProperties": {"type": "boolean"}}}}}}"#,
    );
    let schema = props(&written, &FieldPath::ROOT).unwrap();
    expected.assert_eq(&match resolve(path, &schema, Brackets::Allowed) {
        Ok(found) => format!("{} {}", found.path, found.schema.type_name),
        Err(error) => error,
    });
}

#[test]
fn paths_lead_through_properties_and_maps() {
    check(".spec.a", &expect!["spec.a string"]);
    check(".spec['b.c']", &expect!["spec.b.c integer"]);
    check(".spec.m['x y']", &expect!["spec.m[x y] boolean"]);
    check(".spec.m.x", &expect!["spec.m[x] boolean"]);
    check("", &expect![" "]);
}

#[test]
fn other_paths_are_refused() {
    check("spec", &expect!["expected [ or . but got: spec"]);
    check(".spec.z", &expect!["does not refer to a valid field"]);
    check(".spec.a.b", &expect!["does not refer to a valid field"]);
    check(".", &expect!["unexpected end of JSON path"]);
    check(".spec[0]", &expect!["expected single quoted string but got 0"]);
    check(".spec['a'", &expect!["unexpected end of JSON path"]);
    check(".spec['a'x", &expect!["expected ] but got x"]);
    check(r".spec['\q']", &expect![r"invalid string literal: invalid escape char \q"]);
    let schema = props(&value("{}"), &FieldPath::ROOT).map(|_| ()).is_ok();
    assert!(schema);
}

#[test]
fn brackets_may_be_refused() {
    let written = value(r#"{"properties": {"a": {}}}"#);
    let schema = props(&written, &FieldPath::ROOT).unwrap();
    let error = resolve("['a']", &schema, Brackets::Refused).err().unwrap();
    assert_eq!(error, "array notation is not allowed");
}
