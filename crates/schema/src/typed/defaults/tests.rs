//! What each kind gets, beside what it had.

use meta::wire::json;

use super::*;
use crate::typed::kind;

#[track_caller]
fn check(group: &str, name: &str, object: &str, expected: &str) {
    let kind = kind(group, "v1", name).unwrap();
    let mut object = json::parse(object.as_bytes()).unwrap().value;
    default(kind, &mut object);
    assert_eq!(json::to_string(&object), expected);
    let once = object.clone();
    default(kind, &mut object);
    assert_eq!(object, once, "defaulting twice changes {name}");
}

const ADMISSION: &str = "admissionregistration.k8s.io";

#[test]
fn core_kinds() {
    check(
        "",
        "Namespace",
        r#"{"metadata":{"name":"a"},"spec":{},"status":{}}"#,
        r#"{"metadata":{"labels":{"kubernetes.io/metadata.name":"a"},"name":"a"},"spec":{},"status":{"phase":"Active"}}"#,
    );
    check(
        "",
        "Namespace",
        r#"{"metadata":{"generateName":"a"}}"#,
        r#"{"metadata":{"generateName":"a"},"status":{"phase":"Active"}}"#,
    );
    check(
        "",
        "Secret",
        r#"{"data":{"a":"YQ==","b":"YQ=="},"stringData":{"b":"é"},"type":"x"}"#,
        r#"{"data":{"a":"YQ==","b":"w6k="},"type":"x"}"#,
    );
    check("", "ConfigMap", "{}", "{}");
    check(
        "",
        "Service",
        r#"{"spec":{"ports":[{"port":80,"targetPort":0},{"port":81,"protocol":"UDP","targetPort":"x"}]}}"#,
        r#"{"spec":{"internalTrafficPolicy":"Cluster","ports":[{"port":80,"protocol":"TCP","targetPort":80},{"port":81,"protocol":"UDP","targetPort":"x"}],"sessionAffinity":"None","type":"ClusterIP"}}"#,
    );
}

#[test]
fn bindings_get_their_api_groups() {
    check(
        RBAC_GROUP,
        "RoleBinding",
        r#"{"roleRef":{"apiGroup":"","kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s"}]}"#,
        r#"{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s"}]}"#,
    );
}

#[test]
fn webhooks_and_policies() {
    check(
        ADMISSION,
        "MutatingWebhookConfiguration",
        r#"{"webhooks":[{"clientConfig":{"service":{"name":"s"}},"rules":[{"apiGroups":["*"]}],"timeoutSeconds":3}]}"#,
        r#"{"webhooks":[{"clientConfig":{"service":{"name":"s","port":443}},"failurePolicy":"Fail","matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},"reinvocationPolicy":"Never","rules":[{"apiGroups":["*"],"scope":"*"}],"timeoutSeconds":3}]}"#,
    );
    check(
        ADMISSION,
        "ValidatingAdmissionPolicy",
        r#"{"spec":{"matchConstraints":{"resourceRules":[{}]}}}"#,
        r#"{"spec":{"failurePolicy":"Fail","matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},"resourceRules":[{"scope":"*"}]}}}"#,
    );
    check(
        ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        r#"{"spec":{"policyName":"p"}}"#,
        r#"{"spec":{"policyName":"p"}}"#,
    );
}

#[test]
fn the_rest() {
    check(
        "apiregistration.k8s.io",
        "APIService",
        r#"{"spec":{"service":{}}}"#,
        r#"{"spec":{"service":{"port":443}}}"#,
    );
    check("apiregistration.k8s.io", "APIService", r#"{"spec":{}}"#, r#"{"spec":{}}"#);
    check(
        "authentication.k8s.io",
        "TokenRequest",
        r#"{"spec":{"expirationSeconds":null}}"#,
        r#"{"spec":{"expirationSeconds":3600}}"#,
    );
    check(
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        r#"{"spec":{"matchingPrecedence":0}}"#,
        r#"{"spec":{"matchingPrecedence":1000}}"#,
    );
    check(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        r#"{"spec":{"limited":{"limitResponse":{"queuing":{"queues":1,"handSize":0}},"nominalConcurrencyShares":null},"type":"Limited"}}"#,
        r#"{"spec":{"limited":{"lendablePercent":0,"limitResponse":{"queuing":{"handSize":8,"queueLengthLimit":50,"queues":1}},"nominalConcurrencyShares":30},"type":"Limited"}}"#,
    );
}
