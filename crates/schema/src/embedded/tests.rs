//! Tests of `embedded`.

use expect_test::{Expect, expect};
use meta::object::Malformed;

use crate::testing::{schema, text, value};

const WRITTEN: &str = r#"{"properties": {"e": {"type": "object", "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true}, "l": {"type": "array", "items": {"type": "object",
    "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}}"#;

fn check(object: &str, expected: &Expect) {
    let errors = schema(WRITTEN).validate_embedded(&value(object));
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expected.assert_eq(&errors.join("\n"));
}

#[test]
fn an_embedded_resource_has_a_type() {
    check(r#"{"e": {"apiVersion": "v1", "kind": "Pod"}}"#, &expect![""]);
    check(
        r#"{"e": {}}"#,
        &expect![[r"
            e.apiVersion: Required value
            e.kind: Required value"]],
    );
    check(
        r#"{"e": {"apiVersion": "a/b/c", "kind": "_"}}"#,
        &expect![[r#"
            e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c
            e.kind: Invalid value: "_": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"#]],
    );
    check(
        r#"{"l": [{"apiVersion": "", "kind": 1}]}"#,
        &expect![[r#"
            l[0].apiVersion: Invalid value: "": must not be empty
            l[0].kind: Invalid value: 1: must be a string"#]],
    );
}

#[test]
fn its_metadata_is_valid_though_it_needs_no_name() {
    check(r#"{"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}}"#, &expect![""]);
    check(
        r#"{"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b", "labels": {"a b": "c"}}}}"#,
        &expect![[r#"
            e.metadata.name: Invalid value: "a/b": may not contain '/'
            e.metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"#]],
    );
}

#[test]
fn its_metadata_is_coerced() {
    let schema = schema(WRITTEN);
    let mut object = value(
        r#"{"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {}, "x": 1}}}"#,
    );
    let mut unknown = Vec::new();
    schema.coerce_embedded(&mut object, Malformed::Reject, Some(&mut unknown)).unwrap();
    assert_eq!(text(&object), r#"{"e":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}"#);
    assert_eq!(unknown, ["e.metadata.x"]);
}

#[test]
fn what_is_malformed_is_refused_from_clients_and_dropped_from_the_store() {
    let schema = schema(WRITTEN);
    let sent = value(r#"{"e": {"apiVersion": 1, "kind": "Pod", "metadata": {"name": 5, "uid": "u"}}}"#);
    let error = schema.coerce_embedded(&mut sent.clone(), Malformed::Reject, None).unwrap_err();
    assert_eq!(error.to_string(), "e.apiVersion: Invalid value: 1: must be a string");
    let mut stored = sent;
    schema.coerce_embedded(&mut stored, Malformed::Drop, None).unwrap();
    assert_eq!(text(&stored), r#"{"e":{"kind":"Pod","metadata":{"uid":"u"}}}"#);
}
