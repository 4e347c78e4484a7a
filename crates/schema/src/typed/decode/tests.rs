//! Decoding and printing as the reference does; the messages are recorded ones or follow from Go's sources.

use meta::wire::json;

use super::*;
use crate::typed::kind;

const CORE: &str = "";
const LEASES: &str = "coordination.k8s.io";
const DEFINITIONS: &str = "apiextensions.k8s.io";

fn run(group: &str, name: &str, body: &str) -> (Result<Decoded, DecodeError>, Value) {
    let mut object = json::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}")).value;
    let decoded = decode(kind(group, "v1", name).unwrap(), &mut object);
    (decoded, object)
}

#[track_caller]
fn check(group: &str, name: &str, body: &str, expected: &str) {
    let (decoded, object) = run(group, name, body);
    assert_eq!(decoded, Ok(Decoded::default()), "{body}");
    assert_eq!(json::to_string(&object), expected);
}

#[track_caller]
fn check_error(group: &str, name: &str, body: &str, expected: &str) {
    let (decoded, _) = run(group, name, body);
    assert_eq!(decoded.map_err(|error| error.to_string()), Err(expected.to_owned()), "{body}");
}

#[track_caller]
fn check_unknown(group: &str, name: &str, body: &str, expected: &[&str]) {
    let (decoded, _) = run(group, name, body);
    assert_eq!(decoded.unwrap().unknown, expected, "{body}");
}

#[test]
fn wrong_types_give_the_errors_of_go() {
    for (group, name, body, expected) in [
        (
            CORE,
            "ConfigMap",
            r#"{"metadata":"x"}"#,
            "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            CORE,
            "ConfigMap",
            r#"{"metadata":{"name":1}}"#,
            "number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            CORE,
            "ConfigMap",
            r#"{"data":{"k":1}}"#,
            "number into Go struct field ConfigMap.data of type string",
        ),
        (
            CORE,
            "ConfigMap",
            r#"{"data":[]}"#,
            "array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            CORE,
            "ConfigMap",
            r#"{"immutable":"yes"}"#,
            "string into Go struct field ConfigMap.immutable of type bool",
        ),
        (
            CORE,
            "ConfigMap",
            r#"{"metadata":{"ownerReferences":[{"uid":true}]}}"#,
            "bool into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID",
        ),
        (
            CORE,
            "ConfigMap",
            r#"{"metadata":{"creationTimestamp":3}}"#,
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (CORE, "Secret", r#"{"type":{}}"#, "object into Go struct field Secret.type of type v1.SecretType"),
        (CORE, "Secret", r#"{"data":{"a":1}}"#, "number into Go struct field Secret.data of type []uint8"),
        (
            LEASES,
            "Lease",
            r#"{"spec":{"leaseDurationSeconds":"15"}}"#,
            "string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
        ),
        (
            LEASES,
            "Lease",
            r#"{"spec":{"leaseDurationSeconds":99999999999}}"#,
            "number 99999999999 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
        ),
        (
            LEASES,
            "Lease",
            r#"{"spec":{"leaseDurationSeconds":1.5}}"#,
            "number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
        ),
        (
            "meta.k8s.io",
            "DeleteOptions",
            r#"{"gracePeriodSeconds":"x"}"#,
            "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            "autoscaling",
            "Scale",
            r#"{"spec":{"replicas":"x"}}"#,
            "string into Go struct field ScaleSpec.spec.replicas of type int32",
        ),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            r#"{"webhooks":[{"rules":[{"apiGroups":"x"}]}]}"#,
            "string into Go struct field RuleWithOperations.webhooks.rules.Rule.apiGroups of type []string",
        ),
    ] {
        check_error(group, name, body, &format!("json: cannot unmarshal {expected}"));
    }
}

#[test]
fn readers_of_their_own_end_decoding_with_their_words() {
    for (group, name, body, expected) in [
        (CORE, "ConfigMap", r#"{"binaryData":{"k":"!!"}}"#, "illegal base64 data at input byte 0"),
        (CORE, "Secret", r#"{"data":{"k":"1"}}"#, "illegal base64 data at input byte 0"),
        (
            LEASES,
            "Lease",
            r#"{"spec":{"renewTime":"2020-01-02T03:04:05.1Z"}}"#,
            r#"parsing time "2020-01-02T03:04:05.1Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".1Z" as ".000000""#,
        ),
        (
            CORE,
            "ResourceQuota",
            r#"{"spec":{"hard":{"pods":"many"}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        // A wrong type is only noted, so the reader that gives up later is the one that is heard.
        (
            CORE,
            "ConfigMap",
            r#"{"data":1,"metadata":{"creationTimestamp":"x"}}"#,
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
        ),
        (CORE, "ConfigMap", r#"{"binaryData":{"k":"!!"},"data":1}"#, "illegal base64 data at input byte 0"),
    ] {
        check_error(group, name, body, expected);
    }
}

#[test]
fn schemas_below_items_are_read_apart() {
    let inside = |schema: &str| {
        format!(
            r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{{"properties":{{"a":{schema}}}}}}}}}]}}}}"#
        )
    };
    let name = "CustomResourceDefinition";
    let path = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties";
    check_error(
        DEFINITIONS,
        name,
        &inside(r#"{"type":1}"#),
        &format!("json: cannot unmarshal number into Go struct field {path}.type of type string"),
    );
    check_error(
        DEFINITIONS,
        name,
        &inside(r#"{"items":{"properties":{"b":{"type":1}}}}"#),
        &format!(
            "json: cannot unmarshal number into Go struct field {path}.items.properties.type of type string"
        ),
    );
    check_error(
        DEFINITIONS,
        name,
        &inside(r#"{"additionalProperties":"x"}"#),
        "boolean or JSON schema expected",
    );
    let at = "spec.versions[0].schema.openAPIV3Schema.properties.a";
    check_unknown(DEFINITIONS, name, &inside(r#"{"nope":1}"#), &[&format!("{at}.nope")]);
    check_unknown(
        DEFINITIONS,
        name,
        &inside(r#"{"items":{"nope":1},"additionalProperties":{"nope":1}}"#),
        &[],
    );
}

#[test]
fn unknown_fields_are_named_by_their_path() {
    check_unknown(
        CORE,
        "ConfigMap",
        r#"{"nope":1,"metadata":{"bogus":2,"labels":{"a":"b"}}}"#,
        &["metadata.bogus", "nope"],
    );
    check_unknown(CORE, "ConfigMap", r#"{"Data":{"a":"b"}}"#, &["Data"]);
    check_unknown(
        CORE,
        "ConfigMap",
        r#"{"metadata":{"ownerReferences":[{"x":1,"apiVersion":"v1","kind":"A","name":"a","uid":"1"},{"y":1}]}}"#,
        &["metadata.ownerReferences[0].x", "metadata.ownerReferences[1].y"],
    );
    let many = (0..200).map(|n| format!(r#","n{n}":1"#)).collect::<Vec<_>>().concat();
    let (decoded, _) = run(CORE, "ConfigMap", &format!(r#"{{"data":{{}}{many}}}"#));
    assert_eq!(decoded.unwrap().unknown.len(), MAX_UNKNOWN);
}

#[test]
fn zero_values_come_and_go_as_the_encoder_has_them() {
    check(
        CORE,
        "Namespace",
        r#"{"apiVersion":"v1","kind":"Namespace"}"#,
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{},"spec":{},"status":{}}"#,
    );
    check(
        CORE,
        "ConfigMap",
        r#"{"metadata":{"name":"a","labels":{},"creationTimestamp":null,"generation":0,"finalizers":[]},"data":{},"immutable":false,"binaryData":null}"#,
        r#"{"immutable":false,"metadata":{"name":"a"}}"#,
    );
    check(
        CORE,
        "Event",
        r#"{"metadata":{"name":"e"}}"#,
        r#"{"eventTime":null,"firstTimestamp":null,"involvedObject":{},"lastTimestamp":null,"metadata":{"name":"e"},"reportingComponent":"","reportingInstance":"","source":{}}"#,
    );
    check(
        "events.k8s.io",
        "Event",
        "{}",
        r#"{"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null,"deprecatedSource":{},"eventTime":null,"metadata":{},"regarding":{}}"#,
    );
    check(
        DEFINITIONS,
        "CustomResourceDefinition",
        r#"{"spec":{"group":"g","versions":[{"name":"v1"}]}}"#,
        r#"{"metadata":{},"spec":{"group":"g","names":{"kind":"","plural":""},"scope":"","versions":[{"name":"v1","served":false,"storage":false}]},"status":{"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":null}}"#,
    );
    check("rbac.authorization.k8s.io", "Role", r#"{"rules":[]}"#, r#"{"metadata":{},"rules":null}"#);
    check(
        DEFINITIONS,
        "CustomResourceDefinition",
        r#"{"spec":{"versions":[],"names":null}}"#,
        r#"{"metadata":{},"spec":{"group":"","names":{"kind":"","plural":""},"scope":"","versions":[]},"status":{"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":null}}"#,
    );
}

#[test]
fn values_become_canonical() {
    check(
        LEASES,
        "Lease",
        r#"{"spec":{"renewTime":"2020-01-02T03:04:05.100000+01:00","holderIdentity":""}}"#,
        r#"{"metadata":{},"spec":{"holderIdentity":"","renewTime":"2020-01-02T02:04:05.100000Z"}}"#,
    );
    check(
        CORE,
        "ResourceQuota",
        r#"{"spec":{"hard":{"cpu":0.5,"memory":" 1024Mi ","pods":10}}}"#,
        r#"{"metadata":{},"spec":{"hard":{"cpu":"500m","memory":"1Gi","pods":"10"}},"status":{}}"#,
    );
    check(
        CORE,
        "Secret",
        r#"{"data":{"a":"YQ\n==","b":null}}"#,
        r#"{"data":{"a":"YQ==","b":""},"metadata":{}}"#,
    );
    check(
        CORE,
        "Service",
        r#"{"spec":{"ports":[{"port":80,"targetPort":"http"},{"port":81}]}}"#,
        r#"{"metadata":{},"spec":{"ports":[{"port":80,"targetPort":"http"},{"port":81,"targetPort":0}]},"status":{"loadBalancer":{}}}"#,
    );
}

#[test]
fn times_become_canonical_and_canonical_ones_stay() {
    for (text, expected) in [
        ("2020-01-02T03:04:05Z", r#""2020-01-02T03:04:05Z""#),
        ("2020-02-29T23:59:59Z", r#""2020-02-29T23:59:59Z""#),
        ("2020-01-02T3:04:05.5+01:00", r#""2020-01-02T02:04:05Z""#),
        ("0001-01-01T00:00:00Z", "null"),
    ] {
        let body = format!(r#"{{"status":{{"conditions":[{{"lastTransitionTime":"{text}"}}]}}}}"#);
        let (decoded, object) = run(CORE, "Namespace", &body);
        decoded.unwrap();
        let conditions = object.at(&["status", "conditions"]).and_then(Value::as_array).unwrap();
        assert_eq!(json::to_string(conditions[0].get("lastTransitionTime").unwrap()), expected, "{text}");
    }
    for text in
        ["2020-13-02T03:04:05Z", "2020-02-30T03:04:05Z", "2020-01-02T24:04:05Z", "2020-01-02T03:60:05Z"]
    {
        let body = format!(r#"{{"metadata":{{"creationTimestamp":"{text}"}}}}"#);
        let (decoded, _) = run(CORE, "Namespace", &body);
        assert!(decoded.unwrap_err().to_string().ends_with("out of range"), "{text}");
    }
}

#[test]
fn bytes_may_be_numbers_and_members_of_maps_stay_when_empty() {
    check(
        CORE,
        "Secret",
        r#"{"data":{"a":[97,null],"b":[]}}"#,
        r#"{"data":{"a":"YQA=","b":""},"metadata":{}}"#,
    );
    check_error(
        CORE,
        "Secret",
        r#"{"data":{"a":[300]}}"#,
        "json: cannot unmarshal number 300 into Go struct field Secret.data of type uint8",
    );
    check(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        r#"{"spec":{"extra":{"a":null,"b":[]},"request":null}}"#,
        r#"{"metadata":{},"spec":{"extra":{"a":[],"b":[]},"request":null,"signerName":""},"status":{}}"#,
    );
}

#[test]
fn schemas_keep_raw_values_and_drop_what_cannot_be_read() {
    let schema = r#"{"default":{"b":null},"enum":[null,1],"maximum":5.0,"items":[],"additionalProperties":false,"not":null,"dependencies":{"a":["b"],"c":3},"x-kubernetes-preserve-unknown-fields":false,"nullable":false}"#;
    let expected = r#"{"additionalProperties":false,"default":{"b":null},"dependencies":{"a":["b"],"c":null},"enum":[null,1],"maximum":5,"x-kubernetes-preserve-unknown-fields":false}"#;
    let (_, object) = run(
        DEFINITIONS,
        "CustomResourceDefinition",
        &format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#),
    );
    let version = &object.at(&["spec", "versions"]).and_then(Value::as_array).unwrap()[0];
    assert_eq!(json::to_string(version.at(&["schema", "openAPIV3Schema"]).unwrap()), expected);
}

#[test]
fn decoding_twice_changes_nothing() {
    for (group, name, body) in [
        (
            CORE,
            "Event",
            r#"{"eventTime":"2020-01-02T03:04:05.100000Z","series":{"count":1,"lastObservedTime":null}}"#,
        ),
        (CORE, "Service", r#"{"spec":{"ports":[{"port":1}]}}"#),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", r#"{"spec":{"rules":[{"subjects":[]}]}}"#),
        (
            DEFINITIONS,
            "CustomResourceDefinition",
            r#"{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"type":"string"}}}}]}}"#,
        ),
    ] {
        let (_, mut object) = run(group, name, body);
        let once = object.clone();
        decode(kind(group, "v1", name).unwrap(), &mut object).unwrap();
        assert_eq!(object, once, "{name}");
    }
}
