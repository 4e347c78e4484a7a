//! The committed descriptions parse, and say what the reference's types say.

use super::*;

fn field(group: &str, name: &str, path: &[&str]) -> Field {
    let mut current = kind(group, "v1", name).unwrap_or_else(|| panic!("no kind {name}")).root();
    for (position, step) in path.iter().enumerate() {
        let field = current.field(step).unwrap_or_else(|| panic!("{name} has no {step}"));
        if position + 1 == path.len() {
            return field.clone();
        }
        let mut ty = field.ty.get();
        while let Shape::List(element) | Shape::Map(element) = &ty.shape {
            ty = element.get();
        }
        match &ty.shape {
            Shape::Struct(inner) => current = inner,
            other => panic!("{step} is {other:?}"),
        }
    }
    unreachable!("a path has steps")
}

#[test]
fn every_description_parses() {
    for (index, source) in PACKAGES.iter().enumerate() {
        assert!(!package(index).types.is_empty(), "{}", source.name);
    }
}

#[test]
fn go_names_are_spelled_as_go_prints_them() {
    for (group, name, path, expected) in [
        ("", "ConfigMap", &["data"][..], "map[string]string"),
        ("", "ConfigMap", &["binaryData"], "map[string][]uint8"),
        ("", "ConfigMap", &["metadata"], "v1.ObjectMeta"),
        ("", "ConfigMap", &["metadata", "uid"], "types.UID"),
        ("", "ConfigMap", &["metadata", "ownerReferences"], "[]v1.OwnerReference"),
        ("", "Secret", &["type"], "v1.SecretType"),
        ("", "ResourceQuota", &["spec", "hard"], "v1.ResourceList"),
        ("coordination.k8s.io", "Lease", &["spec", "renewTime"], "v1.MicroTime"),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            &["spec", "versions"],
            "[]v1.CustomResourceDefinitionVersion",
        ),
        ("authorization.k8s.io", "SubjectAccessReview", &["spec", "extra"], "map[string]v1.ExtraValue"),
    ] {
        assert_eq!(field(group, name, path).ty.get().go_name, expected, "{name} {path:?}");
    }
}

#[test]
fn list_and_patch_facts_are_kept() {
    let conditions = field("", "Namespace", &["status", "conditions"]);
    assert_eq!(conditions.list, ListKind::Map(vec!["type"]));
    assert_eq!(conditions.patch, Some(Patch { strategies: vec!["merge"], merge_key: Some("type") }));
    let finalizers = field("", "ConfigMap", &["metadata", "finalizers"]);
    assert_eq!(finalizers.list, ListKind::Set);
    assert_eq!(finalizers.patch.and_then(|patch| patch.merge_key), None);
    let ports = field("", "Service", &["spec", "ports"]);
    assert_eq!(ports.list, ListKind::Map(vec!["port", "protocol"]));
    assert!(field("", "Service", &["spec", "selector"]).atomic);
    assert_eq!(field("", "Service", &["spec", "ports", "protocol"]).default, Some("\"TCP\""));
}

#[test]
fn fields_of_embedded_structs_know_where_they_come_from() {
    let group = "admissionregistration.k8s.io";
    let scope =
        field(group, "ValidatingAdmissionPolicy", &["spec", "matchConstraints", "resourceRules", "scope"]);
    let embedded: Vec<_> = scope.embedded.iter().map(|outer| (outer.go_name, outer.number)).collect();
    assert_eq!((embedded, scope.number), (vec![("RuleWithOperations", 2), ("Rule", 2)], Some(4)));
    assert!(scope.ty.pointer);
}

#[test]
fn structs_are_not_kinds() {
    assert!(kind("", "v1", "NamespaceSpec").is_none());
    assert!(kind("", "v2", "Namespace").is_none());
    assert!(kind("example.com", "v1", "Namespace").is_none());
    assert_eq!(kind("events.k8s.io", "v1", "Event").map(Kind::group), Some("events.k8s.io"));
}
