//! Strategic merge patches: any patch on any object of a built-in kind ends with an object or an error.
#![no_main]

use crest_schema::typed;
use libfuzzer_sys::fuzz_target;
use meta::Value;
use meta::wire::json;

/// Objects with lists that are merged by a key, lists of primitives and maps.
const OBJECTS: [(&str, &str, &[u8]); 3] = [
    (
        "",
        "ConfigMap",
        br#"{"metadata":{"name":"a","labels":{"a":"b"},"finalizers":["a/b","c/d"],"ownerReferences":[{"uid":"u","name":"n"},{"uid":"v"}]},"data":{"k":"v"}}"#,
    ),
    (
        "",
        "Namespace",
        br#"{"metadata":{"name":"a"},"spec":{"finalizers":["kubernetes"]},"status":{"conditions":[{"type":"A","status":"True"}]}}"#,
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        br#"{"metadata":{"name":"a"},"spec":{"names":{"shortNames":["a"]},"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#,
    ),
];

fuzz_target!(|input: &[u8]| {
    let Some((first, patch)) = input.split_first() else { return };
    let (group, kind, object) = OBJECTS[usize::from(*first) % OBJECTS.len()];
    let kind = typed::kind(group, "v1", kind).expect("the kind is described");
    let Ok(parsed) = json::parse(patch) else { return };
    let Value::Object(patch) = parsed.value else { return };
    let mut object = json::parse(object).expect("the object is JSON").value;
    typed::decode(kind, &mut object).expect("the object is of its kind");
    if typed::strategic_merge(kind, &mut object, patch).is_ok() && typed::restore(kind, &mut object).is_ok() {
        let once = object.clone();
        typed::decode(kind, &mut object).expect("what was restored is of its kind");
        assert_eq!(object, once, "what was restored stays as it is");
    }
});
