//! Stock kubectl on the built-in kinds, and what it says of mistakes.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its texts so")]

use expect_test::{Expect, expect};
use testkit::{Crest, Tool};

/// One object of each built-in kind that has a namespace, and the namespace.
const OBJECTS: &str = "apiVersion: v1
kind: Namespace
metadata:
  name: team
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: team
data:
  colour: blue
---
apiVersion: v1
kind: Secret
metadata:
  name: password
  namespace: team
data:
  word: aHVzaA==
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: leader
  namespace: team
spec:
  holderIdentity: me
  leaseDurationSeconds: 15
---
apiVersion: v1
kind: Event
metadata:
  name: happened
  namespace: team
involvedObject:
  kind: ConfigMap
  name: settings
  namespace: team
reason: Tested
message: it happened
type: Normal
";

fn start() -> Option<(Crest, Tool)> {
    let crest = Crest::start(env!("CARGO_BIN_EXE_crest"));
    let kubectl = Tool::kubectl(&crest)?;
    kubectl.write("objects.yaml", OBJECTS);
    Some((crest, kubectl))
}

/// Runs commands, each with what it reads, and compares everything they print.
fn check(kubectl: &Tool, commands: &[(&str, &str)], expected: &Expect) {
    let run = |(command, input): &(&str, &str)| kubectl.run_with(command, input).transcript(command);
    let shown: String = commands.iter().map(run).collect();
    expected.assert_eq(&shown);
}

#[test]
fn built_in_kinds_are_applied_shown_and_deleted() {
    let Some((_crest, kubectl)) = start() else { return };
    check(
        &kubectl,
        &[
            ("get namespaces", ""),
            ("apply -f objects.yaml", ""),
            ("apply -f objects.yaml", ""),
            ("get cm,secret,lease,events -n team", ""),
            ("get cm -A --no-headers", ""),
            ("get cm settings -n team -o yaml --show-managed-fields=false", ""),
            ("describe cm settings -n team", ""),
            ("describe secret password -n team", ""),
            ("describe lease leader -n team", ""),
            ("describe ns team", ""),
            ("events -n team", ""),
            ("delete lease leader -n team", ""),
            ("delete ns team", ""),
            ("get cm,secret,events -n team", ""),
            ("get ns team", ""),
        ],
        &expect![[r#"
            $ kubectl get namespaces
            NAME              STATUS   AGE
            default           Active   AGE
            kube-node-lease   Active   AGE
            kube-public       Active   AGE
            kube-system       Active   AGE
            $ kubectl apply -f objects.yaml
            namespace/team created
            configmap/settings created
            secret/password created
            lease.coordination.k8s.io/leader created
            event/happened created
            $ kubectl apply -f objects.yaml
            namespace/team unchanged
            configmap/settings unchanged
            secret/password unchanged
            lease.coordination.k8s.io/leader unchanged
            event/happened unchanged
            $ kubectl get cm,secret,lease,events -n team
            NAME                 DATA   AGE
            configmap/settings   1      AGE

            NAME              TYPE     DATA   AGE
            secret/password   Opaque   1      AGE

            NAME                               HOLDER   AGE
            lease.coordination.k8s.io/leader   me       AGE

            LAST SEEN   TYPE     REASON   OBJECT               MESSAGE
            <unknown>   Normal   Tested   configmap/settings   it happened
            $ kubectl get cm -A --no-headers
            team   settings   1     AGE
            $ kubectl get cm settings -n team -o yaml --show-managed-fields=false
            apiVersion: v1
            data:
              colour: blue
            kind: ConfigMap
            metadata:
              annotations:
                kubectl.kubernetes.io/last-applied-configuration: |
                  {"apiVersion":"v1","data":{"colour":"blue"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"settings","namespace":"team"}}
              creationTimestamp: "TIME"
              name: settings
              namespace: team
              resourceVersion: VERSION
              uid: UID
            $ kubectl describe cm settings -n team
            Name:         settings
            Namespace:    team
            Labels:       <none>
            Annotations:  <none>

            Data
            ====
            colour:
            ----
            blue


            BinaryData
            ====

            Events:  <none>
            $ kubectl describe secret password -n team
            Name:         password
            Namespace:    team
            Labels:       <none>
            Annotations:  <none>

            Type:  Opaque

            Data
            ====
            word:  4 bytes
            $ kubectl describe lease leader -n team
            Name:         leader
            Namespace:    team
            Labels:       <none>
            Annotations:  <none>
            API Version:  coordination.k8s.io/v1
            Kind:         Lease
            Metadata:
              Creation Timestamp:  TIME
              Resource Version:    VERSION
              UID:                 UID
            Spec:
              Holder Identity:         me
              Lease Duration Seconds:  15
            Events:                    <none>
            $ kubectl describe ns team
            Name:         team
            Labels:       kubernetes.io/metadata.name=team
            Annotations:  <none>
            Status:       Active

            No resource quota.
            $ kubectl events -n team
            LAST SEEN   TYPE     REASON   OBJECT               MESSAGE
            <unknown>   Normal   Tested   ConfigMap/settings   it happened
            $ kubectl delete lease leader -n team
            lease.coordination.k8s.io "leader" deleted from team namespace
            $ kubectl delete ns team
            namespace "team" deleted
            $ kubectl get cm,secret,events -n team
            No resources found in team namespace.
            $ kubectl get ns team
            Error from server (NotFound): namespaces "team" not found
            [exit 1]
        "#]],
    );
}

#[test]
fn the_server_introduces_itself() {
    let Some((_crest, kubectl)) = start() else { return };
    check(
        &kubectl,
        &[
            ("get --raw /healthz", ""),
            ("api-versions", ""),
            ("api-resources --namespaced=false -o name", ""),
            ("api-resources --namespaced=true --verbs=create,watch -o name", ""),
        ],
        &expect![[r#"
            $ kubectl get --raw /healthz
            ok
            $ kubectl api-versions
            apiextensions.k8s.io/v1
            coordination.k8s.io/v1
            discovery.k8s.io/v1
            events.k8s.io/v1
            v1
            $ kubectl api-resources --namespaced=false -o name
            namespaces
            customresourcedefinitions.apiextensions.k8s.io
            $ kubectl api-resources --namespaced=true --verbs=create,watch -o name
            configmaps
            events
            resourcequotas
            secrets
            services
            leases.coordination.k8s.io
            endpointslices.discovery.k8s.io
            events.events.k8s.io
        "#]],
    );
    let version = kubectl.ok("version -o json");
    let version: serde_json::Value = serde_json::from_str(&version).unwrap();
    assert_eq!(version["serverVersion"]["major"], "1");
    assert_eq!(version["serverVersion"]["minor"], "36");
}

#[test]
fn mistakes_are_explained() {
    let Some((_crest, kubectl)) = start() else { return };
    check(
        &kubectl,
        &[
            ("get foo", ""),
            ("get cm missing", ""),
            ("get cm -n nowhere", ""),
            ("delete cm missing", ""),
            (
                "create -f -",
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"nowhere"}}"#,
            ),
            ("create -f -", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Bad_Name"}}"#),
            (
                "create -f -",
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}"#,
            ),
            (
                "create -f -",
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"dta":{"a":"1"}}"#,
            ),
            ("create -f -", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","lables":{}}}"#),
            ("create -f -", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"once"}}"#),
            ("create -f -", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"once"}}"#),
            (
                "replace -f -",
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"once","resourceVersion":"1"}}"#,
            ),
            ("create ns-typo x", ""),
            (
                "create -f -",
                r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"no base64!"}}"#,
            ),
            ("get cm -l a=b=c", ""),
            ("get cm --field-selector data.a=b", ""),
            ("delete ns default", ""),
        ],
        &expect![[r#"
            $ kubectl get foo
            error: the server doesn't have a resource type "foo"
            [exit 1]
            $ kubectl get cm missing
            Error from server (NotFound): configmaps "missing" not found
            [exit 1]
            $ kubectl get cm -n nowhere
            No resources found in nowhere namespace.
            $ kubectl delete cm missing
            Error from server (NotFound): configmaps "missing" not found
            [exit 1]
            $ kubectl create -f -
            Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found
            [exit 1]
            $ kubectl create -f -
            The ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
            [exit 1]
            $ kubectl create -f -
            Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string
            [exit 1]
            $ kubectl create -f -
            Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"
            [exit 1]
            $ kubectl create -f -
            Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.lables"
            [exit 1]
            $ kubectl create -f -
            configmap/once created
            $ kubectl create -f -
            Error from server (AlreadyExists): error when creating "STDIN": configmaps "once" already exists
            [exit 1]
            $ kubectl replace -f -
            Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled on configmaps "once": the object has been modified; please apply your changes to the latest version and try again
            [exit 1]
            $ kubectl create ns-typo x
            error: Unexpected args: [ns-typo x]
            See 'kubectl create -h' for help and examples
            [exit 1]
            $ kubectl create -f -
            Error from server (BadRequest): error when creating "STDIN": Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 2
            [exit 1]
            $ kubectl get cm -l a=b=c
            Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "a=b=c", field selector "": found '=', expected: ',' or 'end of string'
            [exit 1]
            $ kubectl get cm --field-selector data.a=b
            Error from server (BadRequest): Unable to find "/v1, Resource=configmaps" that match label selector "", field selector "data.a=b": "data.a" is not a known field selector: only "metadata.name", "metadata.namespace"
            [exit 1]
            $ kubectl delete ns default
            Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be deleted
            [exit 1]
        "#]],
    );
}

#[test]
fn objects_are_made_from_arguments() {
    let Some((_crest, kubectl)) = start() else { return };
    // These send protobuf, and patch by the rules of each kind.
    check(
        &kubectl,
        &[
            ("create namespace team", ""),
            ("create configmap settings --from-literal=colour=blue -n team", ""),
            ("create secret generic password --from-literal=word=hush -n team", ""),
            ("create configmap settings --from-literal=colour=blue -n team", ""),
            ("create configmap x --from-literal=a=b -n nowhere", ""),
            ("create configmap x --from-literal=a=b --dry-run=server", ""),
            (r#"patch cm settings -n team -p {"data":{"size":"M"}}"#, ""),
            (r#"patch cm settings -n team -p {"data":{"size":"M"}}"#, ""),
            ("label cm settings -n team tier=gold", ""),
            ("get cm settings -n team -o jsonpath={.data}", ""),
            ("get secret password -n team -o jsonpath={.data.word}", ""),
            ("create -f -", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}"#),
            ("delete cm --all -n team", ""),
        ],
        &expect![[r#"
            $ kubectl create namespace team
            namespace/team created
            $ kubectl create configmap settings --from-literal=colour=blue -n team
            configmap/settings created
            $ kubectl create secret generic password --from-literal=word=hush -n team
            secret/password created
            $ kubectl create configmap settings --from-literal=colour=blue -n team
            error: failed to create configmap: configmaps "settings" already exists
            [exit 1]
            $ kubectl create configmap x --from-literal=a=b -n nowhere
            error: failed to create configmap: namespaces "nowhere" not found
            [exit 1]
            $ kubectl create configmap x --from-literal=a=b --dry-run=server
            configmap/x created (server dry run)
            $ kubectl patch cm settings -n team -p {"data":{"size":"M"}}
            configmap/settings patched
            $ kubectl patch cm settings -n team -p {"data":{"size":"M"}}
            configmap/settings patched (no change)
            $ kubectl label cm settings -n team tier=gold
            configmap/settings labeled
            $ kubectl get cm settings -n team -o jsonpath={.data}
            {"colour":"blue","size":"M"}
            $ kubectl get secret password -n team -o jsonpath={.data.word}
            aHVzaA==
            $ kubectl create -f -
            error: resource mapping not found for name: "x" namespace: "" from "STDIN": no matches for kind "Pod" in version "v1"
            ensure CRDs are installed first
            [exit 1]
            $ kubectl delete cm --all -n team
            configmap "settings" deleted from team namespace
        "#]],
    );
}
