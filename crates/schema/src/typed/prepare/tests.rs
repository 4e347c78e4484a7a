//! What is reset, kept and counted when objects are written.

use meta::wire::json;

use super::*;
use crate::typed::kind;

const NOW: &str = "2020-01-02T03:04:05Z";

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

#[track_caller]
fn check_create(group: &str, name: &str, object: &str, expected: &str) {
    let mut object = parse(object);
    let groups = ["g".to_owned()];
    let requester = Requester { name: "u", uid: "", groups: &groups, extra: &[] };
    prepare_create(kind(group, "v1", name).unwrap(), &mut object, &requester, NOW);
    assert_eq!(json::to_string(&object), expected, "{name}");
}

#[track_caller]
fn check_update(group: &str, name: &str, subresource: &str, old: &str, new: &str, expected: &str) {
    let (old, mut new) = (parse(old), parse(new));
    prepare_update(kind(group, "v1", name).unwrap(), subresource, &mut new, &old, NOW);
    assert_eq!(json::to_string(&new), expected, "{name}");
}

#[test]
fn creation_decides_status_and_generation() {
    check_create(
        "",
        "Namespace",
        r#"{"metadata":{},"spec":{"finalizers":["a/b"]},"status":{"phase":"Terminating","conditions":[]}}"#,
        r#"{"metadata":{},"spec":{"finalizers":["a/b","kubernetes"]},"status":{"phase":"Active"}}"#,
    );
    check_create(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        r#"{"metadata":{"generation":7},"status":{"storedVersions":["v1"]}}"#,
        r#"{"metadata":{"generation":1},"status":{"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":null}}"#,
    );
    check_create(
        "",
        "ServiceAccount",
        r#"{"secrets":[{"name":"a","namespace":"b"}]}"#,
        r#"{"secrets":[{"name":"a"}]}"#,
    );
    check_create(
        "coordination.k8s.io",
        "Lease",
        r#"{"spec":{"strategy":"x","holderIdentity":"h"}}"#,
        r#"{"spec":{"holderIdentity":"h"}}"#,
    );
    check_create(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        r#"{"spec":{"request":"","username":"forged","uid":"1"},"status":{"conditions":[{"type":"Approved"}]}}"#,
        r#"{"spec":{"groups":["g"],"request":"","username":"u"},"status":{}}"#,
    );
    check_create(
        "apiregistration.k8s.io",
        "APIService",
        r#"{"spec":{}}"#,
        r#"{"spec":{},"status":{"conditions":[{"lastTransitionTime":"2020-01-02T03:04:05Z","message":"Local APIServices are always available","reason":"Local","status":"True","type":"Available"}]}}"#,
    );
    check_create("", "ConfigMap", r#"{"metadata":{"generation":7}}"#, r#"{"metadata":{"generation":7}}"#);
}

#[test]
fn a_write_of_the_resource_leaves_its_status() {
    check_update(
        "",
        "Namespace",
        "",
        r#"{"metadata":{},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"#,
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{},"status":{"phase":"Terminating"}}"#,
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"#,
    );
    check_update(
        "",
        "Namespace",
        "finalize",
        r#"{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating"}}"#,
        r#"{"metadata":{"name":"n"},"spec":{},"status":{}}"#,
        r#"{"metadata":{"labels":{"kubernetes.io/metadata.name":"n"},"name":"n"},"spec":{},"status":{"phase":"Terminating"}}"#,
    );
}

#[test]
fn a_write_of_the_status_leaves_the_rest() {
    check_update(
        "apiregistration.k8s.io",
        "APIService",
        "status",
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{"group":"g"},"status":{}}"#,
        r#"{"metadata":{"annotations":{"c":"d"}},"spec":{"group":"x"},"status":{"conditions":[]}}"#,
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{"group":"g"},"status":{"conditions":[]}}"#,
    );
    check_update(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "approval",
        r#"{"spec":{"request":"x"},"status":{"certificate":"c"}}"#,
        r#"{"spec":{"request":"y"},"status":{"certificate":"z","conditions":[{"type":"Approved","status":"True"}]}}"#,
        r#"{"metadata":{},"spec":{"request":"x"},"status":{"certificate":"c","conditions":[{"lastTransitionTime":"2020-01-02T03:04:05Z","lastUpdateTime":"2020-01-02T03:04:05Z","status":"True","type":"Approved"}]}}"#,
    );
}

#[test]
fn generations_grow_with_what_they_count() {
    let group = "admissionregistration.k8s.io";
    for (name, new, generation) in [
        ("ValidatingWebhookConfiguration", r#"{"metadata":{"labels":{"a":"b"}},"webhooks":[]}"#, 3),
        ("ValidatingWebhookConfiguration", r#"{"metadata":{"generation":9},"webhooks":[{}]}"#, 4),
    ] {
        let old = r#"{"metadata":{"generation":3},"webhooks":[]}"#;
        let (old, mut new) = (parse(old), parse(new));
        prepare_update(kind(group, "v1", name).unwrap(), "", &mut new, &old, NOW);
        assert_eq!(int(&new, &["metadata", "generation"]), generation);
    }
    let old = r#"{"metadata":{"generation":3,"labels":{"a":"b"}},"addressType":"IPv4"}"#;
    for (new, generation) in [
        (r#"{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}},"addressType":"IPv4"}"#, 3),
        (r#"{"metadata":{},"addressType":"IPv4"}"#, 4),
        (r#"{"metadata":{"labels":{"a":"b"}},"addressType":"IPv6"}"#, 4),
    ] {
        let mut object = parse(new);
        prepare_update(
            kind("discovery.k8s.io", "v1", "EndpointSlice").unwrap(),
            "",
            &mut object,
            &parse(old),
            NOW,
        );
        assert_eq!(int(&object, &["metadata", "generation"]), generation, "{new}");
    }
    check_update(
        "",
        "ConfigMap",
        "",
        r#"{"metadata":{}}"#,
        r#"{"metadata":{"generation":5}}"#,
        r#"{"metadata":{}}"#,
    );
}
