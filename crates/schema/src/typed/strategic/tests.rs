//! Patches as the reference applies them; several are recorded answers.

use meta::wire::json;

use super::*;
use crate::typed::kind;

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

fn run(group: &str, name: &str, object: &str, patch: &str) -> Result<String, StrategicError> {
    let Value::Object(patch) = parse(patch) else { panic!("not a map: {patch}") };
    let mut object = parse(object);
    strategic_merge(kind(group, "v1", name).unwrap(), &mut object, patch)?;
    Ok(json::to_string(&object))
}

#[track_caller]
fn check(object: &str, patch: &str, expected: &str) {
    assert_eq!(run("", "ConfigMap", object, patch).as_deref(), Ok(expected), "{patch}");
}

#[test]
fn maps_are_merged() {
    let object = r#"{"data":{"j":"2","k":"1"}}"#;
    check(object, r#"{"data":{"k":null,"n":"3","gone":null}}"#, r#"{"data":{"j":"2","n":"3"}}"#);
    check(object, r#"{"data":{"$patch":"replace","only":"1"}}"#, r#"{"data":{"only":"1"}}"#);
    check(object, r#"{"data":{"$patch":"delete"}}"#, r#"{"data":{}}"#);
    check(object, r#"{"binaryData":{"a":"AA==","b":null},"data":null}"#, r#"{"binaryData":{"a":"AA=="}}"#);
    check(object, r#"{"metadata":{"$patch":"delete"}}"#, object);
    check(object, r#"{"data":"x"}"#, r#"{"data":"x"}"#);
    check(object, r#"{"$patch":"replace","kind":"ConfigMap"}"#, r#"{"kind":"ConfigMap"}"#);
}

#[test]
fn primitive_lists_are_merged_and_ordered() {
    let object = |items: &str| format!(r#"{{"metadata":{{"finalizers":[{items}]}}}}"#);
    let live = object(r#""a","b""#);
    for (patch, expected) in [
        (r#""finalizers":["c"]"#, r#""c","a","b""#),
        (r#""finalizers":["b"]"#, r#""a","b""#),
        (r#""$deleteFromPrimitiveList/finalizers":["a"]"#, r#""b""#),
        (r#""$setElementOrder/finalizers":["c","b"],"finalizers":["c"]"#, r#""c","a","b""#),
        (r#""$setElementOrder/finalizers":["b","a"]"#, r#""b","a""#),
        (
            r#""$setElementOrder/finalizers":["b","c"],"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]"#,
            r#""b","c""#,
        ),
    ] {
        check(&live, &format!(r#"{{"metadata":{{{patch}}}}}"#), &object(expected));
    }
    check(
        r#"{"metadata":{}}"#,
        r#"{"metadata":{"finalizers":["a"]}}"#,
        r#"{"metadata":{"finalizers":["a"]}}"#,
    );
    check(
        r#"{"metadata":{}}"#,
        r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}}"#,
        r#"{"metadata":{}}"#,
    );
    check(
        &object(r#""example.com/b""#),
        r#"{"metadata":{"$setElementOrder/finalizers":["c","example.com/b"],"finalizers":["c"]}}"#,
        &object(r#""c","example.com/b""#),
    );
}

#[test]
fn lists_of_maps_are_merged_by_their_key() {
    let object = |items: &str| format!(r#"{{"metadata":{{"ownerReferences":[{items}]}}}}"#);
    let live = object(r#"{"kind":"A","uid":"1"},{"kind":"B","uid":"2"}"#);
    for (patch, expected) in [
        (
            r#"{"uid":"3","kind":"C"}"#,
            r#"{"kind":"C","uid":"3"},{"kind":"A","uid":"1"},{"kind":"B","uid":"2"}"#,
        ),
        (r#"{"uid":"2","name":"b"}"#, r#"{"kind":"A","uid":"1"},{"kind":"B","name":"b","uid":"2"}"#),
        (r#"{"uid":"1","kind":null}"#, r#"{"uid":"1"},{"kind":"B","uid":"2"}"#),
        (r#"{"$patch":"delete","uid":"1"}"#, r#"{"kind":"B","uid":"2"}"#),
        (r#"{"$patch":"replace"},{"uid":"9"}"#, r#"{"uid":"9"}"#),
    ] {
        check(&live, &object(patch), &object(expected));
    }
}

#[test]
fn other_lists_are_replaced() {
    let group = "rbac.authorization.k8s.io";
    let patched = run(
        group,
        "Role",
        r#"{"rules":[{"verbs":["get"]},{"verbs":["list"]}]}"#,
        r#"{"rules":[{"verbs":["watch"]}]}"#,
    );
    assert_eq!(patched.as_deref(), Ok(r#"{"rules":[{"verbs":["watch"]}]}"#));
    let patched = run(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        r#"{"spec":{"names":{"kind":"A"}}}"#,
        r#"{"spec":{"names":{"shortNames":["a"]}}}"#,
    );
    assert_eq!(patched.as_deref(), Ok(r#"{"spec":{"names":{"kind":"A","shortNames":["a"]}}}"#));
}

#[test]
fn bad_patches_are_refused_with_the_reference_words() {
    let object = r#"{"data":{"a":"1"},"metadata":{"labels":{"a":"b"},"name":"n","ownerReferences":[{"uid":"1"}],"finalizers":["a"]}}"#;
    for (patch, expected) in [
        (
            r#"{"$patch":"bogus"}"#,
            StrategicError::Internal("unknown patch type: bogus in map: map[$patch:bogus]".to_owned()),
        ),
        (
            r#"{"data":{"$patch":"bogus"}}"#,
            StrategicError::Internal("unknown patch type: bogus in map: map[$patch:bogus]".to_owned()),
        ),
        (r#"{"metadata":{"$retainKeys":["name"],"labels":{"q":"r"}}}"#, BAD_RETAIN_KEYS),
        (r#"{"metadata":{"$retainKeys":"x"}}"#, BAD_RETAIN_KEYS),
        (r#"{"metadata":{"$deleteFromPrimitiveList":["a"]}}"#, BAD_PRIMITIVE_LIST),
        (
            r#"{"metadata":{"ownerReferences":[{"kind":"A"}]}}"#,
            StrategicError::Internal("map: map[kind:A] does not contain declared merge key: uid".to_owned()),
        ),
        (
            r#"{"metadata":{"$setElementOrder/ownerReferences":[{"name":"x"}],"ownerReferences":[{"uid":"u"}]}}"#,
            StrategicError::Internal("map: map[name:x] does not contain declared merge key: uid".to_owned()),
        ),
        (
            r#"{"metadata":{"$setElementOrder/finalizers":["a"],"finalizers":["b"]}}"#,
            StrategicError::Internal(
                "The order in patch list:\n[b]\n doesn't match $setElementOrder list:\n[a]\n".to_owned(),
            ),
        ),
    ] {
        assert_eq!(run("", "ConfigMap", object, patch), Err(expected), "{patch}");
    }
    assert_eq!(
        run("", "ConfigMap", object, r#"{"metadata":{"$retainKeys":["name"]}}"#).as_deref(),
        Ok(r#"{"data":{"a":"1"},"metadata":{"name":"n"}}"#)
    );
}
