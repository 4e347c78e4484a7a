//! The guide "Extend the Kubernetes API with `CustomResourceDefinitions`", pasted with stock kubectl.
//!
//! Each test follows some chapters and compares what a person would see. What differs from run to run —
//! times, ages, uids, versions — is replaced by its name.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its texts so")]

use expect_test::{Expect, expect};
use testkit::{CRONTAB_DEFINITION, Crest, Tool};

/// The object of the guide.
const CRONTAB: &str = r#"apiVersion: "stable.example.com/v1"
kind: CronTab
metadata:
  name: my-new-cron-object
spec:
  cronSpec: "* * * * */5"
  image: my-awesome-cron-image
"#;

/// A server with the guide's files beside it.
fn start() -> Option<(Crest, Tool)> {
    let crest = Crest::start(env!("CARGO_BIN_EXE_crest"));
    let kubectl = Tool::kubectl(&crest)?;
    kubectl.write("resourcedefinition.yaml", CRONTAB_DEFINITION);
    kubectl.write("my-crontab.yaml", CRONTAB);
    Some((crest, kubectl))
}

/// Runs commands and compares everything they print, failures too.
fn check(kubectl: &Tool, commands: &[&str], expected: &Expect) {
    let run = |command: &&str| kubectl.run_words(words(command), "").transcript(command);
    let shown: String = commands.iter().map(run).collect();
    expected.assert_eq(&shown);
}

/// The words of a command; single quotes keep blanks together, as in a shell.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is a first word").push(letter),
        }
    }
    words
}

#[test]
fn a_definition_is_created_used_and_deleted() {
    let Some((_crest, kubectl)) = start() else { return };
    check(
        &kubectl,
        &[
            "apply -f resourcedefinition.yaml",
            "apply -f my-crontab.yaml",
            "get crontab",
            "get ct -o yaml",
            "delete -f resourcedefinition.yaml",
            "get crontabs",
            "apply -f resourcedefinition.yaml",
            "get crontabs",
        ],
        &expect![[r#"
            $ kubectl apply -f resourcedefinition.yaml
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl apply -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object created
            $ kubectl get crontab
            NAME                 AGE
            my-new-cron-object   AGE
            $ kubectl get ct -o yaml
            apiVersion: v1
            items:
            - apiVersion: stable.example.com/v1
              kind: CronTab
              metadata:
                annotations:
                  kubectl.kubernetes.io/last-applied-configuration: |
                    {"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"annotations":{},"name":"my-new-cron-object","namespace":"default"},"spec":{"cronSpec":"* * * * */5","image":"my-awesome-cron-image"}}
                creationTimestamp: "TIME"
                generation: 1
                name: my-new-cron-object
                namespace: default
                resourceVersion: VERSION
                uid: UID
              spec:
                cronSpec: '* * * * */5'
                image: my-awesome-cron-image
            kind: List
            metadata:
              resourceVersion: ""
            $ kubectl delete -f resourcedefinition.yaml
            customresourcedefinition.apiextensions.k8s.io "crontabs.stable.example.com" deleted
            $ kubectl get crontabs
            Error from server (NotFound): Unable to list "stable.example.com/v1, Resource=crontabs": the server could not find the requested resource (get crontabs.stable.example.com)
            [exit 1]
            $ kubectl apply -f resourcedefinition.yaml
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl get crontabs
            No resources found in default namespace.
        "#]],
    );
}

#[test]
fn an_object_is_found_by_every_name_of_its_kind() {
    let Some((_crest, kubectl)) = start() else { return };
    kubectl.ok("create -f resourcedefinition.yaml");
    kubectl.ok("create -f my-crontab.yaml");
    check(
        &kubectl,
        &[
            "get crd",
            "get crontabs",
            "get CronTab",
            "get ct",
            "get crontabs.stable.example.com",
            "get crontabs.v1.stable.example.com my-new-cron-object",
            "get ct/my-new-cron-object -o name",
            "get ct -A",
            "get ct -n kube-system",
            "api-resources --api-group=stable.example.com",
            "describe ct my-new-cron-object",
            "explain crontab.spec.image",
        ],
        &expect![[r#"
            $ kubectl get crd
            NAME                          CREATED AT
            crontabs.stable.example.com   TIME
            $ kubectl get crontabs
            NAME                 AGE
            my-new-cron-object   AGE
            $ kubectl get CronTab
            NAME                 AGE
            my-new-cron-object   AGE
            $ kubectl get ct
            NAME                 AGE
            my-new-cron-object   AGE
            $ kubectl get crontabs.stable.example.com
            NAME                 AGE
            my-new-cron-object   AGE
            $ kubectl get crontabs.v1.stable.example.com my-new-cron-object
            NAME                 AGE
            my-new-cron-object   AGE
            $ kubectl get ct/my-new-cron-object -o name
            crontab.stable.example.com/my-new-cron-object
            $ kubectl get ct -A
            NAMESPACE   NAME                 AGE
            default     my-new-cron-object   AGE
            $ kubectl get ct -n kube-system
            No resources found in kube-system namespace.
            $ kubectl api-resources --api-group=stable.example.com
            NAME       SHORTNAMES   APIVERSION              NAMESPACED   KIND
            crontabs   ct           stable.example.com/v1   true         CronTab
            $ kubectl describe ct my-new-cron-object
            Name:         my-new-cron-object
            Namespace:    default
            Labels:       <none>
            Annotations:  <none>
            API Version:  stable.example.com/v1
            Kind:         CronTab
            Metadata:
              Creation Timestamp:  TIME
              Generation:          1
              Resource Version:    VERSION
              UID:                 UID
            Spec:
              Cron Spec:  * * * * */5
              Image:      my-awesome-cron-image
            Events:       <none>
            $ kubectl explain crontab.spec.image
            GROUP:      stable.example.com
            KIND:       CronTab
            VERSION:    v1

            FIELD: image <string>


            DESCRIPTION:
                <empty>

        "#]],
    );
}

#[test]
fn categories_group_kinds() {
    let Some((_crest, kubectl)) = start() else { return };
    let definition = CRONTAB_DEFINITION.replace("    - ct\n", "    - ct\n    categories:\n    - all\n");
    kubectl.write("resourcedefinition.yaml", &definition);
    kubectl.ok("apply -f resourcedefinition.yaml");
    kubectl.ok("apply -f my-crontab.yaml");
    check(
        &kubectl,
        &["get all", "get all -o name", "delete all --all", "get all"],
        &expect![[r#"
            $ kubectl get all
            NAME                                            AGE
            crontab.stable.example.com/my-new-cron-object   AGE
            $ kubectl get all -o name
            crontab.stable.example.com/my-new-cron-object
            $ kubectl delete all --all
            crontab.stable.example.com "my-new-cron-object" deleted from default namespace
            $ kubectl get all
            No resources found in default namespace.
        "#]],
    );
}

#[test]
fn finalizers_hold_an_object_back() {
    let Some((_crest, kubectl)) = start() else { return };
    kubectl.ok("apply -f resourcedefinition.yaml");
    let held = CRONTAB.replace("metadata:\n", "metadata:\n  finalizers:\n  - stable.example.com/finalizer\n");
    kubectl.write("my-crontab.yaml", &held);
    kubectl.ok("apply -f my-crontab.yaml");
    check(
        &kubectl,
        &[
            "delete ct my-new-cron-object --wait=false",
            "get ct my-new-cron-object -o jsonpath={.metadata.finalizers}{\"\\n\"}{.metadata.deletionTimestamp}{\"\\n\"}",
            "patch ct my-new-cron-object --type=merge -p {\"metadata\":{\"finalizers\":[\"other.example.com/late\"]}}",
            "patch ct my-new-cron-object --type=merge -p {\"metadata\":{\"finalizers\":null}}",
            "get ct my-new-cron-object",
        ],
        &expect![[r#"
            $ kubectl delete ct my-new-cron-object --wait=false
            crontab.stable.example.com "my-new-cron-object" deleted from default namespace
            $ kubectl get ct my-new-cron-object -o jsonpath={.metadata.finalizers}{"\n"}{.metadata.deletionTimestamp}{"\n"}
            ["stable.example.com/finalizer"]
            TIME
            $ kubectl patch ct my-new-cron-object --type=merge -p {"metadata":{"finalizers":["other.example.com/late"]}}
            The CronTab "my-new-cron-object" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"other.example.com/late"}
            [exit 1]
            $ kubectl patch ct my-new-cron-object --type=merge -p {"metadata":{"finalizers":null}}
            crontab.stable.example.com/my-new-cron-object patched
            $ kubectl get ct my-new-cron-object
            Error from server (NotFound): crontabs.stable.example.com "my-new-cron-object" not found
            [exit 1]
        "#]],
    );
}

#[test]
fn unknown_fields_are_refused_warned_about_or_pruned() {
    let Some((_crest, kubectl)) = start() else { return };
    kubectl.ok("apply -f resourcedefinition.yaml");
    kubectl.write("my-crontab.yaml", &format!("{CRONTAB}  someRandomField: 42\n"));
    check(
        &kubectl,
        &[
            "create -f my-crontab.yaml",
            "create --validate=warn --dry-run=server -f my-crontab.yaml",
            "create --validate=false -f my-crontab.yaml -o yaml",
        ],
        &expect![[r#"
            $ kubectl create -f my-crontab.yaml
            Error from server (BadRequest): error when creating "my-crontab.yaml": CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: unknown field "spec.someRandomField"
            [exit 1]
            $ kubectl create --validate=warn --dry-run=server -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object created (server dry run)
            Warning: unknown field "spec.someRandomField"
            $ kubectl create --validate=false -f my-crontab.yaml -o yaml
            apiVersion: stable.example.com/v1
            kind: CronTab
            metadata:
              creationTimestamp: "TIME"
              generation: 1
              name: my-new-cron-object
              namespace: default
              resourceVersion: VERSION
              uid: UID
            spec:
              cronSpec: '* * * * */5'
              image: my-awesome-cron-image
        "#]],
    );
}

#[test]
fn objects_are_validated_and_given_defaults() {
    let Some((_crest, kubectl)) = start() else { return };
    let definition = CRONTAB_DEFINITION
        .replace(
            "                cronSpec:\n                  type: string\n",
            "                cronSpec:\n                  type: string\n                  pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$'\n                  default: \"5 0 * * *\"\n",
        )
        .replace(
            "                  type: integer\n",
            "                  type: integer\n                  minimum: 1\n                  maximum: 10\n                  default: 1\n",
        );
    kubectl.write("resourcedefinition.yaml", &definition);
    kubectl.ok("apply -f resourcedefinition.yaml");
    let wrong = CRONTAB.replace("* * * * */5", "* * * *") + "  replicas: 15\n";
    kubectl.write("wrong.yaml", &wrong);
    kubectl.write("good.yaml", &CRONTAB.replace("  cronSpec: \"* * * * */5\"\n", ""));
    check(
        &kubectl,
        &[
            "apply -f wrong.yaml",
            "apply -f good.yaml",
            "get ct my-new-cron-object -o jsonpath={.spec}{\"\\n\"}",
        ],
        &expect![[r#"
            $ kubectl apply -f wrong.yaml
            The CronTab "my-new-cron-object" is invalid:
            * spec.cronSpec: Invalid value: "* * * *": spec.cronSpec in body should match '^(\d+|\*)(/\d+)?(\s+(\d+|\*)(/\d+)?){4}$'
            * spec.replicas: Invalid value: 15: spec.replicas in body should be less than or equal to 10
            [exit 1]
            $ kubectl apply -f good.yaml
            crontab.stable.example.com/my-new-cron-object created
            $ kubectl get ct my-new-cron-object -o jsonpath={.spec}{"\n"}
            {"cronSpec":"5 0 * * *","image":"my-awesome-cron-image","replicas":1}
        "#]],
    );
}

#[test]
fn an_object_is_changed_in_all_the_ways_kubectl_has() {
    let Some((_crest, kubectl)) = start() else { return };
    kubectl.ok("apply -f resourcedefinition.yaml");
    kubectl.write("changed.yaml", &CRONTAB.replace("my-awesome", "my-changed"));
    check(
        &kubectl,
        &[
            "create --dry-run=server -f my-crontab.yaml",
            "get ct",
            "apply -f my-crontab.yaml",
            "apply -f my-crontab.yaml",
            "apply -f changed.yaml",
            "patch ct my-new-cron-object --type=merge -p {\"spec\":{\"replicas\":3}}",
            "patch ct my-new-cron-object --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":4}]",
            "patch ct my-new-cron-object --type=json -p [{\"op\":\"test\",\"path\":\"/spec/replicas\",\"value\":9}]",
            "patch ct my-new-cron-object -p {\"spec\":{\"replicas\":3}}",
            "get ct my-new-cron-object -o jsonpath={.spec}{\"\\n\"}{.metadata.generation}{\"\\n\"}",
            "label ct my-new-cron-object tier=gold",
            "label ct my-new-cron-object tier=gold",
            "annotate ct my-new-cron-object note=hello",
            "get ct --show-labels",
            "get ct -l tier=gold -o name",
            "get ct -l tier!=gold",
            "get ct --field-selector metadata.name=my-new-cron-object -o name",
            "get ct --field-selector spec.image=x",
            "replace -f my-crontab.yaml",
            "scale --replicas=5 crontabs/my-new-cron-object",
            "delete ct my-new-cron-object --dry-run=server",
            "delete ct my-new-cron-object",
            "delete ct my-new-cron-object",
            "delete ct my-new-cron-object --ignore-not-found",
        ],
        &expect![[r#"
            $ kubectl create --dry-run=server -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object created (server dry run)
            $ kubectl get ct
            No resources found in default namespace.
            $ kubectl apply -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object created
            $ kubectl apply -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object unchanged
            $ kubectl apply -f changed.yaml
            crontab.stable.example.com/my-new-cron-object configured
            $ kubectl patch ct my-new-cron-object --type=merge -p {"spec":{"replicas":3}}
            crontab.stable.example.com/my-new-cron-object patched
            $ kubectl patch ct my-new-cron-object --type=json -p [{"op":"replace","path":"/spec/replicas","value":4}]
            crontab.stable.example.com/my-new-cron-object patched
            $ kubectl patch ct my-new-cron-object --type=json -p [{"op":"test","path":"/spec/replicas","value":9}]
            The request is invalid: the server rejected our request due to an error in our request
            [exit 1]
            $ kubectl patch ct my-new-cron-object -p {"spec":{"replicas":3}}
            error: application/strategic-merge-patch+json is not supported by stable.example.com/v1, Kind=CronTab: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
            [exit 1]
            $ kubectl get ct my-new-cron-object -o jsonpath={.spec}{"\n"}{.metadata.generation}{"\n"}
            {"cronSpec":"* * * * */5","image":"my-changed-cron-image","replicas":4}
            4
            $ kubectl label ct my-new-cron-object tier=gold
            crontab.stable.example.com/my-new-cron-object labeled
            $ kubectl label ct my-new-cron-object tier=gold
            crontab.stable.example.com/my-new-cron-object not labeled
            $ kubectl annotate ct my-new-cron-object note=hello
            crontab.stable.example.com/my-new-cron-object annotated
            $ kubectl get ct --show-labels
            NAME                 AGE   LABELS
            my-new-cron-object   AGE   tier=gold
            $ kubectl get ct -l tier=gold -o name
            crontab.stable.example.com/my-new-cron-object
            $ kubectl get ct -l tier!=gold
            No resources found in default namespace.
            $ kubectl get ct --field-selector metadata.name=my-new-cron-object -o name
            crontab.stable.example.com/my-new-cron-object
            $ kubectl get ct --field-selector spec.image=x
            Error from server (BadRequest): Unable to find "stable.example.com/v1, Resource=crontabs" that match label selector "", field selector "spec.image=x": field label not supported: spec.image
            [exit 1]
            $ kubectl replace -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object replaced
            $ kubectl scale --replicas=5 crontabs/my-new-cron-object
            Error from server (NotFound): crontabs.stable.example.com "my-new-cron-object" not found
            [exit 1]
            $ kubectl delete ct my-new-cron-object --dry-run=server
            crontab.stable.example.com "my-new-cron-object" deleted from default namespace (server dry run)
            $ kubectl delete ct my-new-cron-object
            crontab.stable.example.com "my-new-cron-object" deleted from default namespace
            $ kubectl delete ct my-new-cron-object
            Error from server (NotFound): crontabs.stable.example.com "my-new-cron-object" not found
            [exit 1]
            $ kubectl delete ct my-new-cron-object --ignore-not-found
        "#]],
    );
}

#[test]
fn a_definition_is_waited_for_and_refused_when_wrong() {
    let Some((_crest, kubectl)) = start() else { return };
    kubectl.write("wrong.yaml", &CRONTAB_DEFINITION.replace("name: crontabs.stable", "name: crontab.stable"));
    kubectl.write(
        "nonstructural.yaml",
        &CRONTAB_DEFINITION.replace("                  type: integer\n", "                  minimum: 1\n"),
    );
    check(
        &kubectl,
        &[
            "apply -f wrong.yaml",
            "apply -f nonstructural.yaml",
            "apply -f resourcedefinition.yaml",
            "wait --for=condition=Established crd/crontabs.stable.example.com",
            "get crd crontabs.stable.example.com -o jsonpath={.status.acceptedNames}{\"\\n\"}{.status.storedVersions}{\"\\n\"}",
        ],
        &expect![[r#"
            $ kubectl apply -f wrong.yaml
            The CustomResourceDefinition "crontab.stable.example.com" is invalid: metadata.name: Invalid value: "crontab.stable.example.com": must be spec.names.plural+"."+spec.group
            [exit 1]
            $ kubectl apply -f nonstructural.yaml
            The CustomResourceDefinition "crontabs.stable.example.com" is invalid: spec.validation.openAPIV3Schema.properties[spec].properties[replicas].type: Required value: must not be empty for specified object fields
            [exit 1]
            $ kubectl apply -f resourcedefinition.yaml
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl wait --for=condition=Established crd/crontabs.stable.example.com
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com condition met
            $ kubectl get crd crontabs.stable.example.com -o jsonpath={.status.acceptedNames}{"\n"}{.status.storedVersions}{"\n"}
            {"kind":"CronTab","listKind":"CronTabList","plural":"crontabs","shortNames":["ct"],"singular":"crontab"}
            ["v1"]
        "#]],
    );
}

#[test]
fn columns_are_printed_as_defined() {
    let Some((_crest, kubectl)) = start() else { return };
    let columns = "      additionalPrinterColumns:
      - name: Spec
        type: string
        description: The cron spec defining the interval a CronJob is run
        jsonPath: .spec.cronSpec
      - name: Replicas
        type: integer
        description: The number of jobs launched by the CronJob
        jsonPath: .spec.replicas
      - name: Image
        type: string
        priority: 1
        jsonPath: .spec.image
      - name: Age
        type: date
        jsonPath: .metadata.creationTimestamp
  scope: Namespaced
";
    let definition = CRONTAB_DEFINITION.replace("  scope: Namespaced\n", columns);
    kubectl.write("resourcedefinition.yaml", &definition);
    kubectl.write("my-crontab.yaml", &format!("{CRONTAB}  replicas: 1\n"));
    kubectl.ok("apply -f resourcedefinition.yaml");
    kubectl.ok("apply -f my-crontab.yaml");
    check(
        &kubectl,
        &["get crontab my-new-cron-object", "get ct -o wide"],
        &expect![[r#"
        $ kubectl get crontab my-new-cron-object
        NAME                 SPEC          REPLICAS   AGE
        my-new-cron-object   * * * * */5   1          AGE
        $ kubectl get ct -o wide
        NAME                 SPEC          REPLICAS   IMAGE                   AGE
        my-new-cron-object   * * * * */5   1          my-awesome-cron-image   AGE
    "#]],
    );
}

#[test]
fn objects_are_selected_by_fields_of_their_own() {
    let Some((_crest, kubectl)) = start() else { return };
    let shirts = |name: &str, colour: &str, size: &str| {
        format!(
            "---\napiVersion: stable.example.com/v1\nkind: Shirt\nmetadata:\n  name: {name}\nspec:\n  color: {colour}\n  size: {size}\n"
        )
    };
    kubectl.write(
        "shirt-resource-definition.yaml",
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shirts.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names:
    plural: shirts
    singular: shirt
    kind: Shirt
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color:
                type: string
              size:
                type: string
    selectableFields:
    - jsonPath: .spec.color
    - jsonPath: .spec.size
    additionalPrinterColumns:
    - jsonPath: .spec.color
      name: Color
      type: string
    - jsonPath: .spec.size
      name: Size
      type: string
",
    );
    let all = shirts("example1", "blue", "S")
        + &shirts("example2", "blue", "M")
        + &shirts("example3", "green", "M");
    kubectl.write("shirt-resources.yaml", &all);
    check(
        &kubectl,
        &[
            "apply -f shirt-resource-definition.yaml",
            "apply -f shirt-resources.yaml",
            "get shirts.stable.example.com",
            "get shirts.stable.example.com --field-selector spec.color=blue",
            "get shirts.stable.example.com --field-selector spec.color=green,spec.size=M",
        ],
        &expect![[r#"
            $ kubectl apply -f shirt-resource-definition.yaml
            customresourcedefinition.apiextensions.k8s.io/shirts.stable.example.com created
            $ kubectl apply -f shirt-resources.yaml
            shirt.stable.example.com/example1 created
            shirt.stable.example.com/example2 created
            shirt.stable.example.com/example3 created
            $ kubectl get shirts.stable.example.com
            NAME       COLOR   SIZE
            example1   blue    S
            example2   blue    M
            example3   green   M
            $ kubectl get shirts.stable.example.com --field-selector spec.color=blue
            NAME       COLOR   SIZE
            example1   blue    S
            example2   blue    M
            $ kubectl get shirts.stable.example.com --field-selector spec.color=green,spec.size=M
            NAME       COLOR   SIZE
            example3   green   M
        "#]],
    );
}

#[test]
fn status_and_scale_are_handled_apart() {
    let Some((_crest, kubectl)) = start() else { return };
    let definition = CRONTAB_DEFINITION
        .replace(
            "  scope: Namespaced\n",
            "      subresources:
        status: {}
        scale:
          specReplicasPath: .spec.replicas
          statusReplicasPath: .status.replicas
          labelSelectorPath: .status.labelSelector
  scope: Namespaced
",
        )
        .replace(
            "  type: integer\n",
            "  type: integer
            status:
              type: object
              properties:
                replicas:
                  type: integer
                labelSelector:
                  type: string
",
        );
    kubectl.write("resourcedefinition.yaml", &definition);
    kubectl.write("my-crontab.yaml", &format!("{CRONTAB}  replicas: 3\n"));
    check(
        &kubectl,
        &[
            "apply -f resourcedefinition.yaml",
            "apply -f my-crontab.yaml",
            "scale --replicas=5 crontabs/my-new-cron-object",
            "get crontabs my-new-cron-object -o jsonpath={.spec.replicas}{\"\\n\"}",
            "patch ct my-new-cron-object --type=merge -p {\"status\":{\"replicas\":2}}",
            "patch ct my-new-cron-object --subresource=status --type=merge -p {\"status\":{\"replicas\":2}}",
            "get ct my-new-cron-object --subresource=scale -o jsonpath={.spec.replicas}/{.status.replicas}{\"\\n\"}",
            "get ct my-new-cron-object -o jsonpath={.metadata.generation}{\"\\n\"}",
        ],
        &expect![[r#"
            $ kubectl apply -f resourcedefinition.yaml
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl apply -f my-crontab.yaml
            crontab.stable.example.com/my-new-cron-object created
            $ kubectl scale --replicas=5 crontabs/my-new-cron-object
            crontab.stable.example.com/my-new-cron-object scaled
            $ kubectl get crontabs my-new-cron-object -o jsonpath={.spec.replicas}{"\n"}
            5
            $ kubectl patch ct my-new-cron-object --type=merge -p {"status":{"replicas":2}}
            crontab.stable.example.com/my-new-cron-object patched (no change)
            $ kubectl patch ct my-new-cron-object --subresource=status --type=merge -p {"status":{"replicas":2}}
            crontab.stable.example.com/my-new-cron-object patched
            $ kubectl get ct my-new-cron-object --subresource=scale -o jsonpath={.spec.replicas}/{.status.replicas}{"\n"}
            5/2
            $ kubectl get ct my-new-cron-object -o jsonpath={.metadata.generation}{"\n"}
            2
        "#]],
    );
}
