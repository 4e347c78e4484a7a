//! The cells of each kind.

use meta::wire::json;

use super::*;
use crate::typed::resources;

/// 2020-01-02T03:04:05Z plus ninety seconds.
const NOW: i64 = 1_577_934_335;

#[track_caller]
fn check(group: &str, kind: &str, object: &str, expected: &str) {
    let object = json::parse(object.as_bytes()).unwrap().value;
    let columns = Columns::of(group, kind);
    let cells = columns.cells(&object, NOW);
    assert_eq!(Value::from(cells), json::parse(expected.as_bytes()).unwrap().value, "{kind}");
}

#[test]
fn cells_follow_the_reference() {
    let meta = r#""metadata":{"name":"a","creationTimestamp":"2020-01-02T03:04:05Z"}"#;
    for (group, kind, object, expected) in [
        ("", "Namespace", r#"{META,"status":{"phase":"Active"}}"#, r#"["a","Active","90s"]"#),
        ("", "ConfigMap", r#"{META,"data":{"a":"1"},"binaryData":{"b":"","c":""}}"#, r#"["a",3,"90s"]"#),
        ("", "Secret", r#"{META,"type":"Opaque"}"#, r#"["a","Opaque",0,"90s"]"#),
        ("coordination.k8s.io", "Lease", r#"{META,"spec":{"holderIdentity":"h"}}"#, r#"["a","h","90s"]"#),
        ("coordination.k8s.io", "Lease", "{META}", r#"["a","","90s"]"#),
        ("rbac.authorization.k8s.io", "Role", "{META}", r#"["a","2020-01-02T03:04:05Z"]"#),
        ("", "ServiceAccount", r#"{"metadata":{"name":"a"}}"#, r#"["a","<unknown>"]"#),
        (
            "rbac.authorization.k8s.io",
            "RoleBinding",
            r#"{META,"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"User","name":"v"},{"kind":"ServiceAccount","name":"s","namespace":"n"}]}"#,
            r#"["a","Role/r","90s","u, v","","n/s"]"#,
        ),
        (
            "",
            "ResourceQuota",
            r#"{META,"status":{"hard":{"limits.cpu":"2","pods":"10","secrets":"5"},"used":{"pods":"1"}}}"#,
            r#"["a","pods: 1/10, secrets: 0/5","limits.cpu: 0/2","90s"]"#,
        ),
        (
            "apiregistration.k8s.io",
            "APIService",
            r#"{META,"spec":{"service":{"name":"s","namespace":"n"}},"status":{"conditions":[{"type":"Available","status":"False","reason":"ServiceNotFound"}]}}"#,
            r#"["a","n/s","False (ServiceNotFound)","90s"]"#,
        ),
        ("apiregistration.k8s.io", "APIService", r#"{META,"spec":{}}"#, r#"["a","Local","Unknown","90s"]"#),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            r#"{META,"webhooks":[{}]}"#,
            r#"["a",1,"90s"]"#,
        ),
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding",
            r#"{META,"spec":{"policyName":"p","paramRef":{"name":"x"}}}"#,
            r#"["a","p","*/x","90s"]"#,
        ),
        (
            "discovery.k8s.io",
            "EndpointSlice",
            r#"{META,"addressType":"IPv4","endpoints":[{"addresses":["1","2"]},{"addresses":["3","4","5"]}],"ports":[{"port":80},{"name":"x"},{}]}"#,
            r#"["a","IPv4","80,x,*","1,2,3 + 2 more...","90s"]"#,
        ),
        (
            "",
            "Service",
            r#"{META,"spec":{"type":"ClusterIP","clusterIPs":["10.0.0.1"],"ports":[{"port":443,"protocol":"TCP"}]}}"#,
            r#"["a","ClusterIP","10.0.0.1","<none>","443/TCP","90s","<none>"]"#,
        ),
    ] {
        let object = object.replace("META", meta);
        check(group, kind, &object, expected);
    }
}

#[test]
fn events_show_their_latest_time_in_both_groups() {
    check(
        "",
        "Event",
        r#"{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},"message":" m ","type":"Normal","reason":"R","eventTime":null,"firstTimestamp":"2020-01-02T03:04:05Z","lastTimestamp":null,"source":{"component":"c"},"reportingInstance":"i"}"#,
        r#"["90s","Normal","R","pod/p","","c, i","m","90s",1,"e"]"#,
    );
    check(
        "events.k8s.io",
        "Event",
        r#"{"metadata":{"name":"e"},"regarding":{"kind":"Pod"},"note":"m","eventTime":"2020-01-02T03:04:05.000000Z","series":{"count":4,"lastObservedTime":"2020-01-02T03:05:05.000000Z"},"reportingController":"c"}"#,
        r#"["30s","","","pod","","c","m","90s",4,"e"]"#,
    );
}

#[test]
fn every_kind_has_as_many_cells_as_columns() {
    let object = json::parse(br#"{"metadata":{}}"#).unwrap().value;
    for resource in resources() {
        assert_eq!(resource.columns().len(), resource.cells(&object, NOW).len(), "{}", resource.kind);
        assert!(resource.columns().iter().any(|column| column.format == "name"), "{}", resource.kind);
    }
}

#[test]
fn durations_are_rounded_as_kubectl_shows_them() {
    for (seconds, expected) in [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (121, "2m1s"),
        (600, "10m"),
        (10_800, "3h"),
        (10_860, "3h1m"),
        (28_800, "8h"),
        (172_800, "2d"),
        (176_400, "2d1h"),
        (691_200, "8d"),
        (63_072_000, "2y"),
        (63_158_400, "2y1d"),
        (252_288_000, "8y"),
    ] {
        assert_eq!(human_duration(seconds), expected, "{seconds}");
    }
}
