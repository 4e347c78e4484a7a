//! Stored texts: the quick look into an object agrees with reading all of it.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use meta::wire::json;
use registry::{FieldPathSpec, FieldPaths, Object};
use store::Revision;

fuzz_target!(|stored: &[u8]| {
    let spec = FieldPathSpec { label: "spec.a".into(), path: vec!["spec".into(), "a".into()] };
    let paths = Arc::new(FieldPaths(vec![spec.clone()]));
    let Some(object) = Object::new(stored, Revision(42), &paths) else { return };
    let facts = (
        object.name(),
        object.namespace(),
        object.uid(),
        object.api_version(),
        object.labels(),
        object.field_is(&spec, "1"),
    );
    let _ = (facts, object.metadata(), object.body_without_type(), object.with_api_version("v2"));
    let _ = object.at_revision(Revision(43));
    // Only what the server wrote is ever stored: one value, each key once.
    let Ok(parsed) = json::parse(stored) else { return };
    if !parsed.duplicates.is_empty() || json::to_vec(&parsed.value) != stored {
        return;
    }
    let shown = json::parse(object.bytes()).expect("an object stays JSON when its version is put in");
    let version = shown.value.at(&["metadata", "resourceVersion"]).and_then(meta::Value::as_str);
    assert_eq!(version, Some("42"));
});
