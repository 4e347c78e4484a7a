//! The errors of each kind, as the reference words them.

use meta::names::NameUse;
use meta::wire::json;

use super::*;
use crate::typed::kind;

const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")).value
}

fn errors(group: &str, name: &str, subresource: &str, new: &str, old: Option<&str>) -> Vec<String> {
    let old = old.map(parse);
    let errors = validate(kind(group, "v1", name).unwrap(), subresource, &parse(new), old.as_ref());
    errors.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(group: &str, name: &str, new: &str, expected: &[&str]) {
    assert_eq!(errors(group, name, "", new, None), expected, "{name}: {new}");
}

#[track_caller]
fn check_update(group: &str, name: &str, old: &str, new: &str, expected: &[&str]) {
    assert_eq!(errors(group, name, "", new, Some(old)), expected, "{name}: {new}");
}

#[test]
fn config_maps() {
    check("", "ConfigMap", r#"{"data":{"a.b-_1":"x"},"binaryData":{"k":"AAEC"}}"#, &[]);
    check(
        "",
        "ConfigMap",
        r#"{"data":{"..":"y","in valid":"x","k":"z"},"binaryData":{"k":"AAEC"}}"#,
        &[
            r#"data[..]: Invalid value: "..": must not be '..'"#,
            r#"data[in valid]: Invalid value: "in valid": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"#,
            r#"data[k]: Invalid value: "k": duplicate of key present in binaryData"#,
        ],
    );
    let sized =
        |bytes: usize| format!(r#"{{"data":{{"k":"{}"}},"binaryData":{{"b":"AAEC"}}}}"#, "x".repeat(bytes));
    check("", "ConfigMap", &sized(1024 * 1024 - 3), &[]);
    check("", "ConfigMap", &sized(1024 * 1024 - 2), &["[]: Too long: may not be more than 1048576 bytes"]);
}

#[test]
fn immutable_data_stays() {
    let old = r#"{"data":{"k":"1"},"immutable":true}"#;
    let frozen = |field: &str| format!("{field}: Forbidden: field is immutable when `immutable` is set");
    check_update("", "ConfigMap", old, old, &[]);
    check_update("", "ConfigMap", old, r#"{"data":{"k":"2"},"immutable":true}"#, &[&frozen("data")]);
    check_update(
        "",
        "ConfigMap",
        old,
        r#"{"data":{"k":"1"},"binaryData":{"b":"AA=="},"immutable":true}"#,
        &[&frozen("binaryData")],
    );
    check_update("", "ConfigMap", old, r#"{"data":{"k":"1"}}"#, &[&frozen("immutable")]);
    check_update("", "ConfigMap", r#"{"data":{"k":"1"}}"#, old, &[]);
    check_update(
        "",
        "Secret",
        r#"{"data":{"k":"YQ=="},"immutable":true,"type":"Opaque"}"#,
        r#"{"immutable":true,"type":"x"}"#,
        &[r#"type: Invalid value: "x": field is immutable"#, &frozen("data")],
    );
}

#[test]
fn secrets_hold_what_their_type_promises() {
    for (kind, data, expected) in [
        ("Opaque", "{}", &[][..]),
        ("example.com/own", "{}", &[]),
        ("kubernetes.io/tls", "{}", &["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/tls", r#"{"tls.crt":"","tls.key":""}"#, &[]),
        (
            "kubernetes.io/basic-auth",
            "{}",
            &["data[username]: Required value", "data[password]: Required value"],
        ),
        ("kubernetes.io/basic-auth", r#"{"password":""}"#, &[]),
        ("kubernetes.io/ssh-auth", r#"{"ssh-privatekey":""}"#, &["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/dockercfg", "{}", &["data[.dockercfg]: Required value"]),
        ("kubernetes.io/dockerconfigjson", r#"{".dockerconfigjson":"e30="}"#, &[]),
        (
            "kubernetes.io/dockerconfigjson",
            r#"{".dockerconfigjson":"W10="}"#,
            &[
                r#"data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}"#,
            ],
        ),
        (
            "kubernetes.io/service-account-token",
            "{}",
            &["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
    ] {
        check("", "Secret", &format!(r#"{{"type":"{kind}","data":{data}}}"#), expected);
    }
}

#[test]
fn namespaces() {
    let fields = |finalizer: &str| format!(r#"{{"spec":{{"finalizers":["kubernetes","{finalizer}"]}}}}"#);
    check("", "Namespace", &fields("a.b/c"), &[]);
    let detail =
        r#"Invalid value: "own": name is neither a standard finalizer name nor is it fully qualified"#;
    check("", "Namespace", &fields("own"), &[&format!("spec.finalizers: {detail}")]);
    assert_eq!(
        errors("", "Namespace", "finalize", &fields("own"), Some("{}")),
        [format!("spec.finalizers[1]: {detail}")]
    );
    let gone = r#"{"metadata":{"deletionTimestamp":"2020-01-02T03:04:05Z"},"status":{"phase":"Active"}}"#;
    assert_eq!(
        errors("", "Namespace", "status", gone, Some("{}")),
        [
            r#"status.Phase: Invalid value: "Active": may only be 'Terminating' if `deletionTimestamp` is not empty"#
        ],
    );
}

#[test]
fn leases() {
    check("coordination.k8s.io", "Lease", r#"{"spec":{"leaseDurationSeconds":1,"leaseTransitions":0}}"#, &[]);
    check(
        "coordination.k8s.io",
        "Lease",
        r#"{"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}}"#,
        &[
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
}

#[test]
fn events_of_the_core_group_are_checked_leniently() {
    check("", "Event", r#"{"metadata":{"namespace":"default"},"involvedObject":{}}"#, &[]);
    check("", "Event", r#"{"metadata":{"namespace":"a"},"involvedObject":{"namespace":"a"}}"#, &[]);
    check(
        "",
        "Event",
        r#"{"metadata":{"namespace":"a"},"involvedObject":{"namespace":"b"}}"#,
        &[r#"involvedObject.namespace: Invalid value: "b": does not match event.namespace"#],
    );
    check(
        "",
        "Event",
        r#"{"metadata":{"namespace":"default"},"eventTime":"2020-01-02T03:04:05.000000Z","reportingComponent":"c","action":"a"}"#,
        &["reportingInstance: Required value", "reason: Required value"],
    );
}

#[test]
fn events_of_the_new_group_are_checked_strictly() {
    let good = r#"{"metadata":{"namespace":"default"},"eventTime":"2020-01-02T03:04:05.000000Z","reportingController":"c","reportingInstance":"i","action":"a","reason":"r","type":"Normal"}"#;
    check("events.k8s.io", "Event", good, &[]);
    check(
        "events.k8s.io",
        "Event",
        r#"{"metadata":{"namespace":"default"},"type":"Odd","deprecatedCount":1,"series":{"count":1}}"#,
        &[
            r#"series.count: Invalid value: "": should be at least 2"#,
            "series.lastObservedTime: Required value",
            "eventTime: Required value",
            r#"type: Invalid value: "": has invalid value: Odd"#,
            r#"count: Invalid value: "": needs to be unset"#,
        ],
    );
    check_update(
        "events.k8s.io",
        "Event",
        good,
        &good.replace(r#""reason":"r""#, r#""reason":"s""#),
        &[r#"reason: Invalid value: "s": field is immutable"#; 2],
    );
}

#[test]
fn quotas() {
    check(
        "",
        "ResourceQuota",
        r#"{"spec":{"hard":{"pods":"1","cpu":"500m","count/widgets.example.com":"3","requests.storage":"1Gi"}}}"#,
        &[],
    );
    check(
        "",
        "ResourceQuota",
        r#"{"spec":{"hard":{"count/x.example.com":"1500m","cpu":"-1","pods":"1500m","widgets":"1"}}}"#,
        &[
            r#"spec.hard[count/x.example.com]: Invalid value: "1500m": must be an integer"#,
            r#"spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0"#,
            r#"spec.hard[pods]: Invalid value: "1500m": must be an integer"#,
            r#"spec.hard[widgets]: Invalid value: "widgets": must be a standard resource type or fully qualified"#,
            r#"spec.hard[widgets]: Invalid value: "widgets": must be a standard resource for quota"#,
        ],
    );
    check(
        "",
        "ResourceQuota",
        r#"{"spec":{"hard":{"secrets":"1"},"scopes":["BestEffort","NotBestEffort"]}}"#,
        &[
            r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource"#,
            r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource"#,
            r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes"#,
        ],
    );
    check_update(
        "",
        "ResourceQuota",
        r#"{"spec":{"scopes":["BestEffort"]}}"#,
        r#"{"spec":{}}"#,
        &["spec.scopes: Invalid value: null: field is immutable"],
    );
}

#[test]
fn roles() {
    check(RBAC, "Role", r#"{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}"#, &[]);
    check(
        RBAC,
        "Role",
        r#"{"rules":[{"verbs":null},{"verbs":["get"],"nonResourceURLs":["/x"],"resources":["y"]}]}"#,
        &[
            "rules[0].verbs: Required value: verbs must contain at least one value",
            "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            r#"rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs"#,
            r#"rules[1].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs"#,
        ],
    );
    check(
        RBAC,
        "ClusterRole",
        r#"{"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}],"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}"#,
        &[],
    );
    check(
        RBAC,
        "ClusterRole",
        r#"{"aggregationRule":{}}"#,
        &[
            "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
        ],
    );
}

#[test]
fn bindings() {
    let binding = |kind: &str, subjects: &str| {
        format!(r#"{{"roleRef":{{"apiGroup":"{RBAC}","kind":"{kind}","name":"r"}},"subjects":[{subjects}]}}"#)
    };
    check(RBAC, "RoleBinding", &binding("Role", r#"{"kind":"ServiceAccount","name":"a"}"#), &[]);
    check(
        RBAC,
        "ClusterRoleBinding",
        &binding(
            "Role",
            r#"{"kind":"ServiceAccount","name":"a"},{"kind":"User","name":""},{"kind":"Robot","name":"x"}"#,
        ),
        &[
            r#"roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole""#,
            "subjects[0].namespace: Required value",
            "subjects[1].name: Required value",
            r#"subjects[1].apiGroup: Unsupported value: "": supported values: "rbac.authorization.k8s.io""#,
            r#"subjects[2].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group""#,
        ],
    );
    check_update(
        RBAC,
        "RoleBinding",
        &binding("ClusterRole", ""),
        &binding("Role", ""),
        &[
            r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"r"}: cannot change roleRef"#,
        ],
    );
}

fn hook(fields: &str) -> String {
    let known = r#""name":"a.example.com","clientConfig":{"url":"https://h/p"},"sideEffects":"None","admissionReviewVersions":["v1"]"#;
    format!(r#"{{"webhooks":[{{{known}{fields}}}]}}"#)
}

#[test]
fn webhooks() {
    check(ADMISSION, "ValidatingWebhookConfiguration", &hook(""), &[]);
    for (fields, expected) in [
        (
            r#","timeoutSeconds":31"#,
            &[
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            ][..],
        ),
        (
            r#","failurePolicy":"Maybe""#,
            &[r#"webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore""#],
        ),
        (
            r#","name":"notqualified""#,
            &[
                r#"webhooks[0].name: Invalid value: "notqualified": should be a domain with at least three segments separated by dots"#,
            ],
        ),
        (
            r#","clientConfig":{"url":"http://u:p@h/x?q#f"}"#,
            &[
                r#"webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]"#,
                r#"webhooks[0].clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL"#,
                r#"webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL"#,
                r#"webhooks[0].clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL"#,
            ],
        ),
        (
            r#","clientConfig":{"service":{"name":"s","namespace":"n","port":0,"path":"no-slash//x"}}"#,
            &[
                "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                r#"webhooks[0].clientConfig.service.path: Invalid value: "no-slash//x": must start with a '/'"#,
                r#"webhooks[0].clientConfig.service.path: Invalid value: "no-slash//x": segment[1] may not be empty"#,
            ],
        ),
        (
            r#","clientConfig":{}"#,
            &["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            r#","admissionReviewVersions":["v2"]"#,
            &[
                r#"webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1"#,
            ],
        ),
        (
            r#","rules":[{"operations":["CREATE","*","BOGUS"],"apiGroups":["*","x"],"apiVersions":["*"],"resources":["*","pods","pods/*","pods/status"],"scope":"Odd"}]"#,
            &[
                r#"webhooks[0].rules[0].operations: Invalid value: ["CREATE","*","BOGUS"]: if '*' is present, must not specify other operations"#,
                r#"webhooks[0].rules[0].operations[2]: Unsupported value: "BOGUS": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE""#,
                r#"webhooks[0].rules[0].apiGroups: Invalid value: ["*","x"]: if '*' is present, must not specify other API groups"#,
                r#"webhooks[0].rules[0].resources[3]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status"#,
                r#"webhooks[0].rules[0].resources: Invalid value: ["*","pods","pods/*","pods/status"]: if '*' is present, must not specify other resources without subresources"#,
                r#"webhooks[0].rules[0].scope: Unsupported value: "Odd": supported values: "*", "Cluster", "Namespaced""#,
            ],
        ),
        (
            r#","namespaceSelector":{"matchExpressions":[{"key":"a","operator":"Bogus"}]}"#,
            &[
                r#"webhooks[0].namespaceSelector.matchExpressions[0].operator: Invalid value: "Bogus": not a valid selector operator"#,
            ],
        ),
    ] {
        check(ADMISSION, "ValidatingWebhookConfiguration", &hook(fields), expected);
    }
    check(
        ADMISSION,
        "MutatingWebhookConfiguration",
        &hook(r#","reinvocationPolicy":"Always""#),
        &[
            r#"webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never""#,
        ],
    );
    let twice = hook("").replace("}]}", r#"},{"name":"a.example.com"}]}"#);
    assert!(
        errors(ADMISSION, "ValidatingWebhookConfiguration", "", &twice, None)
            .contains(&r#"webhooks[1].name: Duplicate value: "a.example.com""#.to_owned())
    );
    let stored = hook(r#","sideEffects":"Some""#);
    check_update(ADMISSION, "ValidatingWebhookConfiguration", &stored, &stored, &[]);
}

#[test]
fn policies() {
    let rules = r#""resourceRules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["x"]}]"#;
    let constraints = format!(
        r#""matchConstraints":{{"matchPolicy":"Exact","namespaceSelector":{{}},"objectSelector":{{}},{rules}}}"#
    );
    let policy = |fields: &str| {
        format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"failurePolicy":"Fail",{constraints},{fields}}}}}"#)
    };
    check(ADMISSION, "ValidatingAdmissionPolicy", &policy(r#""validations":[{"expression":"true"}]"#), &[]);
    check(
        ADMISSION,
        "ValidatingAdmissionPolicy",
        &policy(
            r#""variables":[{"name":"1bad","expression":"1"}],"auditAnnotations":[{"key":"k","valueExpression":"'a'"},{"key":"k","valueExpression":" "}]"#,
        ),
        &[
            r#"spec.variables[0].name: Invalid value: "1bad": must be a valid CEL identifier"#,
            "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
            r#"spec.auditAnnotations[1].key: Duplicate value: "k""#,
        ],
    );
    check(
        ADMISSION,
        "MutatingAdmissionPolicy",
        &policy(
            r#""reinvocationPolicy":"Always","mutations":[{"patchType":"JSONPatch","applyConfiguration":{"expression":"Object{}"}}]"#,
        ),
        &[
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
            r#"spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch"#,
            r#"spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never""#,
        ],
    );
    check(
        ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        r#"{"spec":{"paramRef":{}}}"#,
        &[
            "spec.policyName: Required value",
            "spec.paramRef: Required value: one of name or selector must be specified",
            "spec.paramRef.parameterNotFoundAction: Required value",
            "spec.validationActions: Required value: at least one validation action is required",
        ],
    );
}

#[test]
fn api_services() {
    let service = |fields: &str| {
        format!(
            r#"{{"metadata":{{"name":"v1.g.io"}},"spec":{{"group":"g.io","version":"v1","groupPriorityMinimum":1,"versionPriority":1{fields}}}}}"#
        )
    };
    check("apiregistration.k8s.io", "APIService", &service(""), &[]);
    for (fields, expected) in [
        (
            r#","version":"v2""#,
            &[r#"metadata.name: Invalid value: "v1.g.io": must be `spec.version+"."+spec.group`: "v2.g.io""#]
                [..],
        ),
        (
            r#","versionPriority":1001"#,
            &["spec.versionPriority: Invalid value: 1001: must be positive and less than 1000"],
        ),
        (
            r#","insecureSkipTLSVerify":true"#,
            &[
                "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
            ],
        ),
        (
            r#","service":{"port":70000}"#,
            &[
                "spec.service.namespace: Required value",
                "spec.service.name: Required value",
                "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
            ],
        ),
    ] {
        check("apiregistration.k8s.io", "APIService", &service(fields), expected);
    }
}

#[test]
fn signing_requests() {
    let group = "certificates.k8s.io";
    let name = "CertificateSigningRequest";
    let pem = crate::typed::go_base64::encode(
        b"-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n",
    );
    let request = |fields: &str| {
        format!(r#"{{"spec":{{"request":"{pem}","signerName":"a.b/c","usages":["any"]}}{fields}}}"#)
    };
    check(group, name, &request(""), &[]);
    check(
        group,
        name,
        r#"{"spec":{"request":"AA==","signerName":"Bad/x/y","usages":["any","any","odd"],"expirationSeconds":5}}"#,
        &[
            r#"spec.request: Invalid value: "AA==": PEM block type must be CERTIFICATE REQUEST"#,
            r#"spec.usages[2]: Unsupported value: "odd": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping""#,
            r#"spec.usages[1]: Duplicate value: "any""#,
            r#"spec.signerName: Invalid value: "Bad/x/y": must be a fully qualified domain and path of the form 'example.com/signer-name'"#,
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)",
        ],
    );
    let approved = request(r#","status":{"conditions":[{"type":"Approved","status":"True"}]}"#);
    check_update(
        group,
        name,
        &request(""),
        &approved,
        &[r#"status.conditions: Forbidden: updates may not add a condition of type "Approved""#],
    );
    assert_eq!(errors(group, name, "approval", &approved, Some(&request(""))), [""; 0]);
    assert_eq!(
        errors(group, name, "approval", &request(""), Some(&approved)),
        [r#"status.conditions: Forbidden: updates may not remove a condition of type "Approved""#],
    );
    let certified = request(r#","status":{"certificate":"AA=="}"#);
    assert_eq!(
        errors(group, name, "status", &certified, Some(&request(""))),
        [
            r#"status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block"#
        ],
    );
}

#[test]
fn flow_schemas_and_priority_levels() {
    let group = "flowcontrol.apiserver.k8s.io";
    check(
        group,
        "FlowSchema",
        r#"{"spec":{"matchingPrecedence":9,"priorityLevelConfiguration":{"name":"p"},"rules":[{"subjects":[{"kind":"User","user":{"name":"u"}}],"resourceRules":[{"verbs":["get"],"apiGroups":["*"],"resources":["x"],"namespaces":["*"]}]}]}}"#,
        &[],
    );
    check(
        group,
        "FlowSchema",
        r#"{"spec":{"matchingPrecedence":1,"priorityLevelConfiguration":{},"rules":[{"subjects":[{"kind":"Group","user":{"name":"u"}}],"nonResourceRules":[{"verbs":["*","get"],"nonResourceURLs":["x","/a*"]}]}]}}"#,
        &[
            "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
            "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
            "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
            "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
            r#"spec.rules[0].nonResourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs"#,
            r#"spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "x": must start with slash"#,
            r#"spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a*": wildcard can only do suffix matching"#,
        ],
    );
    let level = |queuing: &str| {
        format!(
            r#"{{"spec":{{"type":"Limited","limited":{{"limitResponse":{{"type":"Queue","queuing":{queuing}}}}}}}}}"#
        )
    };
    check(
        group,
        "PriorityLevelConfiguration",
        &level(r#"{"queues":64,"handSize":8,"queueLengthLimit":50}"#),
        &[],
    );
    check(
        group,
        "PriorityLevelConfiguration",
        &level(r#"{"queues":512,"handSize":8,"queueLengthLimit":0}"#),
        &[
            "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: 0: must be positive",
            "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy bits of deckSize 512 and handSize 8 should not be greater than 60",
        ],
    );
    check(
        group,
        "PriorityLevelConfiguration",
        r#"{"spec":{"type":"Exempt","limited":{}}}"#,
        &[
            r#"spec.type: Invalid value: "Exempt": must be 'Exempt' if and only if `name` is 'exempt'"#,
            "spec.limited: Forbidden: must be nil if the type is not Limited",
        ],
    );
}

#[test]
fn reviews() {
    let group = "authorization.k8s.io";
    check(
        group,
        "SelfSubjectAccessReview",
        r#"{"metadata":{"managedFields":[]},"spec":{"resourceAttributes":{}}}"#,
        &[],
    );
    check(
        group,
        "SelfSubjectAccessReview",
        r#"{"spec":{"resourceAttributes":{},"nonResourceAttributes":{"path":"/x","verb":"get"}}}"#,
        &[
            r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes"#,
        ],
    );
    check(
        group,
        "SubjectAccessReview",
        r#"{"spec":{}}"#,
        &[
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            r#"spec.user: Invalid value: "": at least one of user or group must be specified"#,
        ],
    );
    check(
        group,
        "LocalSubjectAccessReview",
        r#"{"metadata":{"namespace":"a"},"spec":{"user":"u","resourceAttributes":{"namespace":"b","labelSelector":{"rawSelector":"a","requirements":[{"key":"a","operator":"New"}]}}}}"#,
        &[
            r#"spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements"#,
            r#"spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace"#,
        ],
    );
    check(
        "authentication.k8s.io",
        "TokenRequest",
        r#"{"spec":{"expirationSeconds":10}}"#,
        &["spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes"],
    );
}

#[test]
fn names_follow_the_rule_of_their_kind() {
    for (group, name, text, valid) in [
        ("", "Namespace", "a.b", false),
        ("", "ConfigMap", "a.b", true),
        ("", "ConfigMap", "Not_DNS", false),
        (RBAC, "Role", "system:x_Y", true),
        (RBAC, "Role", "a/b", false),
        ("", "Event", "whatever/x", true),
    ] {
        let rule = name_rule(kind(group, "v1", name).unwrap());
        assert_eq!(rule(text, NameUse::Whole).is_empty(), valid, "{name} {text}");
    }
}

#[test]
fn services() {
    let service = |spec: &str| {
        format!(
            r#"{{"spec":{{"type":"ClusterIP","sessionAffinity":"None","clusterIP":"None","clusterIPs":["None"],{spec}}}}}"#
        )
    };
    let port = r#"{"port":80,"protocol":"TCP","targetPort":80}"#;
    for (spec, expected) in [
        (format!(r#""ports":[{port}]"#), &[][..]),
        (
            format!(r#""ports":[{port},{}]"#, r#"{"name":"a","port":80,"protocol":"TCP","targetPort":"-x--"}"#),
            &[
                "spec.ports[0].name: Required value",
                "spec.ports[1].targetPort: Invalid value: \"-x--\": must not contain consecutive hyphens",
                "spec.ports[1].targetPort: Invalid value: \"-x--\": must not begin or end with a hyphen",
                r#"spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#,
            ],
        ),
        (
            r#""externalIPs":["010.0.0.1","::ffff:1.2.3.4","1.2","0.0.0.0","fe80::1","224.0.0.9","10.1.1.1"]"#
                .to_owned(),
            &[
                "spec.externalIPs[0]: Invalid value: \"010.0.0.1\": must not have leading 0s",
                "spec.externalIPs[1]: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address",
                "spec.externalIPs[2]: Invalid value: \"1.2\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                "spec.externalIPs[3]: Invalid value: \"0.0.0.0\": may not be unspecified (0.0.0.0)",
                "spec.externalIPs[4]: Invalid value: \"fe80::1\": may not be in the link-local range (169.254.0.0/16, fe80::/10)",
                "spec.externalIPs[5]: Invalid value: \"224.0.0.9\": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
            ],
        ),
        (
            r#""type":"ExternalName""#.to_owned(),
            &[
                "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                "spec.externalName: Required value",
            ],
        ),
        (
            r#""ipFamilies":["IPv4","IPv4"],"ipFamilyPolicy":"x""#.to_owned(),
            &[
                "spec.ipFamilies[1]: Duplicate value: \"IPv4\"",
                "spec.ipFamilyPolicy: Unsupported value: \"x\": supported values: \"PreferDualStack\", \"RequireDualStack\", \"SingleStack\"",
            ],
        ),
    ] {
        check("", "Service", &service(&spec), expected);
    }
    check(
        "",
        "Service",
        r#"{"spec":{"type":"ClusterIP","sessionAffinity":"None"}}"#,
        &["spec.ports: Required value"],
    );
}

#[test]
fn endpoint_slices() {
    let slice = |address_type: &str, address: &str| {
        format!(
            r#"{{"addressType":"{address_type}","endpoints":[{{"addresses":["{address}"]}}],"ports":[{{"name":"","protocol":"TCP"}}]}}"#
        )
    };
    for (address_type, address, expected) in [
        ("IPv4", "10.0.0.1", &[][..]),
        ("IPv6", "2001:db8::1", &[]),
        ("FQDN", "a.example.com.", &[]),
        (
            "IPv6",
            "10.0.0.1",
            &["endpoints[0].addresses: Invalid value: \"10.0.0.1\": must be an IPv6 address"],
        ),
        (
            "IPv4",
            "127.0.0.1",
            &[
                "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ],
        ),
        (
            "FQDN",
            "localhost",
            &[
                "endpoints[0].addresses[0]: Invalid value: \"localhost\": should be a domain with at least two segments separated by dots",
            ],
        ),
        ("", "x", &["addressType: Required value"]),
    ] {
        check("discovery.k8s.io", "EndpointSlice", &slice(address_type, address), expected);
    }
    let (bad, unlike) = (slice("IPv4", "x"), slice("IPv6", "x"));
    check_update("discovery.k8s.io", "EndpointSlice", &bad, &bad, &[]);
    check_update(
        "discovery.k8s.io",
        "EndpointSlice",
        &bad,
        &unlike,
        &["addressType: Invalid value: \"IPv6\": field is immutable"],
    );
}
