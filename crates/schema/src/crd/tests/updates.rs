//! Changes of definitions: what cannot change, and which old mistakes are forgiven.

use expect_test::{Expect, expect};
use meta::{Map, Value};

use super::{definition, prepared, with_property};
use crate::testing::value;

/// What is wrong when `new` replaces `old`, which was stored without being judged.
#[track_caller]
fn check(old: Value, new: Value, expected: &Expect) {
    let mut old = prepared(old);
    let mut new = new;
    let status = r#"{"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]}"#;
    old.as_object_mut().unwrap().insert("status", value(status));
    for definition in [&mut old, &mut new] {
        let metadata = definition.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
        metadata.insert("resourceVersion", "1");
    }
    super::super::default(&mut new);
    super::super::prepare_for_update(&mut new, &old);
    let errors = super::super::validate_update(&new, &old);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let property = "spec.validation.openAPIV3Schema.properties[spec].properties[x]";
    expected.assert_eq(&errors.join("\n").replace(property, "X"));
}

#[test]
fn what_objects_depend_on_cannot_change() {
    check(
        definition("[]"),
        definition(
            r#"[{"op": "replace", "path": "/spec/scope", "value": "Cluster"},
                {"op": "replace", "path": "/spec/names", "value": {"plural": "gadgets", "kind": "Gadget"}},
                {"op": "replace", "path": "/spec/group", "value": "example.org"}]"#,
        ),
        &expect![[r#"
            spec.scope: Invalid value: "Cluster": field is immutable
            spec.names.kind: Invalid value: "Gadget": field is immutable
            spec.group: Invalid value: "example.org": field is immutable
            spec.names.plural: Invalid value: "gadgets": field is immutable"#]],
    );
}

#[test]
fn a_version_that_is_stored_cannot_go() {
    check(
        definition("[]"),
        definition(r#"[{"op": "replace", "path": "/spec/versions/0/name", "value": "v2"}]"#),
        &expect![[
            r#"status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"#
        ]],
    );
}

#[test]
fn mistakes_of_the_old_definition_are_forgiven_by_kind() {
    let pairs = [
        // (old mistake, the same kind of mistake)
        (r#"{"type": "text"}"#, r#"{"type": "words"}"#),
        (
            r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}"#,
            r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "title": "t"}}"#,
        ),
        (
            r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}}}"#,
            r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["j"],
                "items": {"type": "object", "properties": {"j": {"type": "string"}}}}"#,
        ),
        (r#"{"type": "object", "default": {"a": 1}}"#, r#"{"type": "object", "default": {"b": 1}}"#),
    ];
    for (old, new) in pairs {
        check(with_property(old), with_property(new), &expect![""]);
    }
    check(
        with_property(r#"{"type": "object"}"#),
        with_property(r#"{"type": "object", "default": {"b": 1}}"#),
        &expect![[r#"X.default: Invalid value: {"b":1}: must not have unknown fields"#]],
    );
}

#[test]
fn other_mistakes_are_not_forgiven() {
    let mistake = r#"{"type": "object", "uniqueItems": true}"#;
    check(
        with_property(mistake),
        with_property(mistake),
        &expect![
            "X.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        ],
    );
}

#[test]
fn an_unchanged_lack_of_approval_is_forgiven() {
    let unapproved = || {
        definition(
            r#"[{"op": "replace", "path": "/spec/group", "value": "x.k8s.io"},
                {"op": "replace", "path": "/metadata/name", "value": "widgets.x.k8s.io"}]"#,
        )
    };
    check(unapproved(), unapproved(), &expect![""]);
}

#[test]
fn a_ca_bundle_is_checked_once_the_definition_is_established() {
    let with = |bundle: &str| {
        definition(&format!(
            r#"[{{"op": "add", "path": "/spec/conversion", "value": {{"strategy": "Webhook", "webhook": {{
                "clientConfig": {{"url": "https://h", "caBundle": "{bundle}"}}, "conversionReviewVersions": ["v1"]}}}}}}]"#
        ))
    };
    check(
        definition("[]"),
        with("Z2FyYmFnZQ=="),
        &expect![[
            r#"spec.conversion.webhookClientConfig.caBundle: Invalid value: "Z2FyYmFnZQ==": unable to load root certificates: unable to parse bytes as PEM block"#
        ]],
    );
    check(with("Z2FyYmFnZQ=="), with("b3RoZXI="), &expect![""]);
}

#[test]
fn the_generation_counts_changes_of_the_spec() {
    let old = prepared(definition("[]"));
    let generation = |mut new: Value| {
        super::super::prepare_for_update(&mut new, &old);
        new.at(&["metadata", "generation"]).and_then(Value::as_int)
    };
    assert_eq!(generation(old.clone()), Some(1));
    let mut changed = old.clone();
    changed.get_mut("spec").and_then(Value::as_object_mut).unwrap().insert("conversion", Map::new());
    assert_eq!(generation(changed), Some(2));
}

#[test]
fn a_new_storage_version_is_added_to_the_stored_ones() {
    let old = prepared(definition("[]"));
    let mut new = definition(r#"[{"op": "replace", "path": "/spec/versions/0/name", "value": "v2"}]"#);
    super::super::prepare_for_update(&mut new, &old);
    assert_eq!(crate::testing::text(new.get("status").unwrap()), r#"{"storedVersions":["v1","v2"]}"#);
}

#[test]
fn conditions_follow_from_the_definition() {
    let flat = definition(
        r#"[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": {"properties": {"a": {}}}}]"#,
    );
    let condition = crate::crd::non_structural(&flat).unwrap();
    assert_eq!((condition.status, condition.reason), (crate::crd::Truth::True, "Violations"));
    expect![[r"
        [spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields, spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"]]
    .assert_eq(&condition.message);
    assert_eq!(crate::crd::non_structural(&definition("[]")), None);
    assert_eq!(crate::crd::api_approval(&definition("[]")), None);
    let bypassed = definition(
        r#"[{"op": "replace", "path": "/spec/group", "value": "x.k8s.io"}, {"op": "add", "path": "/metadata/annotations",
            "value": {"api-approved.kubernetes.io": "unapproved"}}]"#,
    );
    let condition = crate::crd::api_approval(&bypassed).unwrap();
    assert_eq!(
        (condition.reason, condition.message.as_str()),
        ("UnapprovedAnnotation", r#"not approved: "unapproved""#)
    );
}
