//! The table agrees with the descriptions and with recorded discovery documents.

use meta::wire::json;

use super::*;

fn find(group: &str, plural: &str) -> &'static BuiltinResource {
    let found = resources().iter().find(|resource| resource.group == group && resource.plural == plural);
    found.unwrap_or_else(|| panic!("no resource {plural}.{group}"))
}

#[test]
fn every_resource_has_a_described_kind_and_a_sane_name() {
    for resource in resources() {
        assert_eq!(resource.kind().name(), resource.kind);
        assert_eq!(resource.singular, resource.kind.to_lowercase());
        assert!(std::ptr::eq(resource_of(resource.kind()).unwrap(), resource));
        assert!(resource.verbs.is_sorted());
        assert!(resource.subresources.is_sorted_by_key(|subresource| subresource.name));
        assert!(group_priority(resource.group).is_some(), "{}", resource.group);
        for subresource in resource.subresources {
            if let Some((group, kind)) = subresource.kind {
                assert!(crate::typed::kind(group, "v1", kind).is_some());
            }
        }
    }
}

#[test]
fn the_generic_control_plane_has_twenty_nine_resources_in_order() {
    assert_eq!(resources().iter().filter(|resource| !resource.workload).count(), 29);
    for pair in resources().windows(2) {
        assert!(pair[0].group != pair[1].group || pair[0].plural < pair[1].plural, "{}", pair[1].plural);
    }
}

#[test]
fn fields_that_are_reset_exist() {
    for resource in resources() {
        let all =
            resource.subresources.iter().flat_map(|subresource| subresource.reset).chain(resource.reset);
        for path in all {
            assert!(resource.kind().root().field(path[0]).is_some(), "{} {path:?}", resource.kind);
        }
    }
}

#[test]
fn hashes_are_those_of_discovery() {
    for (group, plural, expected) in [
        ("", "configmaps", Some("qFsyl6wFWjQ=")),
        ("", "namespaces", Some("Q3oi5N2YM8M=")),
        ("", "events", Some("r2yiGXH7wu8=")),
        ("events.k8s.io", "events", Some("r2yiGXH7wu8=")),
        ("apiextensions.k8s.io", "customresourcedefinitions", Some("jfWCUB31mvA=")),
        ("authorization.k8s.io", "subjectaccessreviews", None),
    ] {
        assert_eq!(find(group, plural).storage_version_hash().as_deref(), expected, "{plural}.{group}");
    }
}

#[test]
fn selectors_read_the_fields_they_name() {
    let read = |group: &str, plural: &str, object: &str, label: &str| {
        let object = json::parse(object.as_bytes()).unwrap().value;
        find(group, plural).selector_field(&object, label)
    };
    let event = r#"{"metadata":{"name":"e","namespace":"n"},"involvedObject":{"kind":"Pod"},"reportingComponent":"c"}"#;
    for (label, expected) in [
        ("metadata.name", Some("e")),
        ("metadata.namespace", Some("n")),
        ("involvedObject.kind", Some("Pod")),
        ("involvedObject.name", Some("")),
        ("source", Some("c")),
        ("reportingComponent", Some("c")),
        ("message", None),
        ("regarding.kind", None),
    ] {
        assert_eq!(read("", "events", event, label).as_deref(), expected, "{label}");
    }
    let event = r#"{"regarding":{"kind":"Pod"},"reportingController":"c"}"#;
    assert_eq!(read("events.k8s.io", "events", event, "regarding.kind").as_deref(), Some("Pod"));
    assert_eq!(read("events.k8s.io", "events", event, "reportingController").as_deref(), Some("c"));
    assert_eq!(read("events.k8s.io", "events", event, "source"), None);
    assert_eq!(
        read("", "namespaces", r#"{"status":{"phase":"Active"}}"#, "status.phase").as_deref(),
        Some("Active")
    );
    assert_eq!(read("", "namespaces", "{}", "metadata.namespace"), None);
    assert_eq!(read("", "secrets", r#"{"type":"Opaque"}"#, "type").as_deref(), Some("Opaque"));
    assert_eq!(read("", "configmaps", "{}", "data"), None);
}

#[test]
fn selectors_find_their_fields_in_stored_objects() {
    for (group, plural, label, expected) in [
        ("", "namespaces", "status.phase", &["status", "phase"][..]),
        ("", "events", "involvedObject.kind", &["involvedObject", "kind"]),
        ("", "events", "source", &["source", "component"]),
        ("events.k8s.io", "events", "regarding.kind", &["involvedObject", "kind"]),
        ("events.k8s.io", "events", "reportingController", &["reportingComponent"]),
        ("events.k8s.io", "events", "metadata.name", &["metadata", "name"]),
    ] {
        assert_eq!(find(group, plural).stored_path(label), expected, "{label}");
    }
}
