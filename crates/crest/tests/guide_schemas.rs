//! The chapters of the guide about schemas and versions, pasted with stock kubectl.
//!
//! `guide.rs` has the others. Definitions are the guide's with a schema of the chapter; what they say and what becomes
//! of objects is compared as a person would see it.

use expect_test::{Expect, expect};
use testkit::{Crest, Tool};

fn start() -> Option<(Crest, Tool)> {
    let crest = Crest::start(env!("CARGO_BIN_EXE_crest"));
    let kubectl = Tool::kubectl(&crest)?;
    Some((crest, kubectl))
}

/// Runs commands, each with what it reads, and compares everything they print, failures too.
fn check(kubectl: &Tool, commands: &[(&str, &str)], expected: &Expect) {
    let run =
        |(command, input): &(&str, &str)| kubectl.run_words(command.split(' '), input).transcript(command);
    expected.assert_eq(&commands.iter().map(run).collect::<String>());
}

/// The guide's definition with this schema, in JSON, of objects below `spec` and beside it.
fn definition(properties: &str) -> String {
    format!(
        r#"{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {{"name": "crontabs.stable.example.com"}},
            "spec": {{"group": "stable.example.com", "scope": "Namespaced",
                "names": {{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]}},
                "versions": [{{"name": "v1", "served": true, "storage": true,
                    "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {properties}}}}}}}]}}}}"#
    )
}

fn object(name: &str, members: &str) -> String {
    format!(
        r#"{{"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {{"name": "{name}"}}, {members}}}"#
    )
}

const APPLY: &str = "apply -f -";
const SPEC: &str = "get ct -o jsonpath={range.items[*]}{.metadata.name}{'\\t'}{.spec}{'\\n'}{end}";

#[test]
fn a_schema_must_be_structural() {
    let Some((_crest, kubectl)) = start() else { return };
    // The guide's two schemas that are not, and the one that says the same structurally.
    let first = definition(
        r#"{"foo": {"pattern": "abc"}, "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"},
            "finalizers": {"type": "array", "items": {"type": "string", "pattern": "my-finalizer"}}}}}, "anyOf": [
            {"properties": {"bar": {"type": "integer", "minimum": 42}}, "required": ["bar"], "description": "foo bar object"}]"#,
    );
    let second = definition(
        r#"{"foo": {"type": "string", "pattern": "abc"}, "bar": {"type": "integer"}}, "anyOf": [
        {"properties": {"bar": {"minimum": 42}}, "required": ["bar"]}]"#,
    );
    let (low, high) = (object("low", r#""bar": 41"#), object("high", r#""bar": 42, "foo": "abcd""#));
    check(
        &kubectl,
        &[("create -f -", &first), ("create -f -", &second), (APPLY, &low), (APPLY, &high)],
        &expect![[r#"
            $ kubectl create -f -
            The CustomResourceDefinition "crontabs.stable.example.com" is invalid:
            * spec.validation.openAPIV3Schema.anyOf[0].description: Forbidden: must be empty to be structural
            * spec.validation.openAPIV3Schema.anyOf[0].properties[bar].type: Forbidden: must be empty to be structural
            * spec.validation.openAPIV3Schema.properties[bar]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[bar]
            * spec.validation.openAPIV3Schema.properties[foo].type: Required value: must not be empty for specified object fields
            * spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified
            [exit 1]
            $ kubectl create -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl apply -f -
            The CronTab "low" is invalid:
            * <nil>: Invalid value: "": "" must validate at least one schema (anyOf)
            * bar: Invalid value: 41: bar in body should be greater than or equal to 42
            [exit 1]
            $ kubectl apply -f -
            crontab.stable.example.com/high created
        "#]],
    );
}

#[test]
fn fields_that_no_schema_names_are_pruned_unless_it_says_otherwise() {
    let Some((_crest, kubectl)) = start() else { return };
    let pruning =
        definition(r#"{"spec": {"type": "object", "properties": {"cronSpec": {"type": "string"}}}}"#);
    let random = object("pruned", r#""spec": {"cronSpec": "* * * * */5", "someRandomField": 42}"#);
    let preserving = definition(
        r#"{"spec": {"type": "object", "properties": {"json": {"x-kubernetes-preserve-unknown-fields": true},
            "mixed": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "spec": {"type": "object", "properties": {"foo": {"type": "string"}, "bar": {"type": "string"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}"#,
    );
    let mixed = object(
        "mixed",
        r#""spec": {"json": {"any": ["thing"]}, "mixed": {"spec": {"foo": "abc", "bar": "def", "something": "x"},
            "status": {"something": "x"}, "else": 1}}"#,
    );
    check(
        &kubectl,
        &[
            (APPLY, &pruning),
            (APPLY, &random),
            ("create --validate=false -f -", &random),
            (SPEC, ""),
            ("delete ct --all", ""),
            (APPLY, &preserving),
            ("create --validate=ignore -f -", &mixed),
            (SPEC, ""),
        ],
        &expect![[r#"
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl apply -f -
            Error from server (BadRequest): error when creating "STDIN": CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: unknown field "spec.someRandomField"
            [exit 1]
            $ kubectl create --validate=false -f -
            crontab.stable.example.com/pruned created
            $ kubectl get ct -o jsonpath={range.items[*]}{.metadata.name}{'\t'}{.spec}{'\n'}{end}
            pruned	{"cronSpec":"* * * * */5"}
            $ kubectl delete ct --all
            crontab.stable.example.com "pruned" deleted from default namespace
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com configured
            $ kubectl create --validate=ignore -f -
            crontab.stable.example.com/mixed created
            $ kubectl get ct -o jsonpath={range.items[*]}{.metadata.name}{'\t'}{.spec}{'\n'}{end}
            mixed	{"json":{"any":["thing"]},"mixed":{"else":1,"spec":{"bar":"def","foo":"abc"},"status":{"something":"x"}}}
        "#]],
    );
}

#[test]
fn numbers_or_strings_and_embedded_objects_are_kept_as_they_are() {
    let Some((_crest, kubectl)) = start() else { return };
    let schema = definition(
        r#"{"spec": {"type": "object", "properties": {
            "port": {"x-kubernetes-int-or-string": true},
            "bounded": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "maxLength": 3},
            "foo": {"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "type": "object"}}}}"#,
    );
    let good = object(
        "good",
        r#""spec": {"port": "http", "bounded": 80, "foo": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"a": 1}}}"#,
    );
    let bad = object(
        "bad",
        r#""spec": {"port": 1.5, "bounded": "long", "foo": {"kind": "Pod", "metadata": {"name": "a/b"}}}"#,
    );
    check(
        &kubectl,
        &[(APPLY, &schema), (APPLY, &good), (APPLY, &bad), (SPEC, "")],
        &expect![[r#"
        $ kubectl apply -f -
        customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
        $ kubectl apply -f -
        crontab.stable.example.com/good created
        $ kubectl apply -f -
        The CronTab "bad" is invalid:
        * spec.bounded: Too long: may not be more than 3 bytes
        * spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"
        * spec.foo.apiVersion: Required value
        * spec.foo.metadata.name: Invalid value: "a/b": may not contain '/'
        [exit 1]
        $ kubectl get ct -o jsonpath={range.items[*]}{.metadata.name}{'\t'}{.spec}{'\n'}{end}
        good	{"bounded":80,"foo":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"a":1}},"port":"http"}
    "#]],
    );
}

#[test]
fn what_was_wrong_before_and_stays_the_same_is_forgiven() {
    let Some((_crest, kubectl)) = start() else { return };
    let loose = definition(
        r#"{"spec": {"type": "object", "properties": {"image": {"type": "string"}, "replicas": {"type": "integer"}}}}"#,
    );
    let tight = definition(
        r#"{"spec": {"type": "object", "properties": {"image": {"type": "string", "maxLength": 3}, "replicas": {"type": "integer"}}}}"#,
    );
    let old = object("old", r#""spec": {"image": "long-image", "replicas": 1}"#);
    let other = object("old", r#""spec": {"image": "long-image", "replicas": 2}"#);
    let worse = object("old", r#""spec": {"image": "longer-image", "replicas": 2}"#);
    check(
        &kubectl,
        &[(APPLY, &loose), (APPLY, &old), (APPLY, &tight), (APPLY, &other), (APPLY, &worse), (SPEC, "")],
        &expect![[r#"
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl apply -f -
            crontab.stable.example.com/old created
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com configured
            $ kubectl apply -f -
            crontab.stable.example.com/old configured
            $ kubectl apply -f -
            The CronTab "old" is invalid: spec.image: Too long: may not be more than 3 bytes
            [exit 1]
            $ kubectl get ct -o jsonpath={range.items[*]}{.metadata.name}{'\t'}{.spec}{'\n'}{end}
            old	{"image":"long-image","replicas":2}
        "#]],
    );
}

#[test]
fn rules_say_what_values_together_may_be() {
    let Some((_crest, kubectl)) = start() else { return };
    let schema = definition(
        r#"{"spec": {"type": "object",
            "x-kubernetes-validations": [
                {"rule": "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas", "message": "replicas should be in the range minReplicas..maxReplicas."},
                {"rule": "!has(self.note) || self.note.size() < self.replicas", "messageExpression": "\"note of %d letters\".format([self.note.size()])", "fieldPath": ".note", "reason": "FieldValueForbidden"}],
            "properties": {"replicas": {"type": "integer"}, "minReplicas": {"type": "integer"}, "maxReplicas": {"type": "integer"}, "note": {"type": "string", "maxLength": 9},
                "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}]},
                "once": {"type": "string", "x-kubernetes-validations": [{"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": true, "message": "must begin as new"}]}},
            "required": ["minReplicas", "replicas", "maxReplicas"]}}"#,
    );
    let outside = object("a", r#""spec": {"minReplicas": 0, "replicas": 20, "maxReplicas": 10}"#);
    let note =
        object("a", r#""spec": {"minReplicas": 0, "replicas": 3, "maxReplicas": 10, "note": "letters"}"#);
    let begun = object(
        "a",
        r#""spec": {"minReplicas": 0, "replicas": 3, "maxReplicas": 10, "fixed": "x", "once": "old"}"#,
    );
    let good = object(
        "a",
        r#""spec": {"minReplicas": 0, "replicas": 3, "maxReplicas": 10, "fixed": "x", "once": "new"}"#,
    );
    let changed = object(
        "a",
        r#""spec": {"minReplicas": 0, "replicas": 3, "maxReplicas": 10, "fixed": "y", "once": "later"}"#,
    );
    // The guide's rule that costs too much, for want of limits.
    let costly = definition(
        r#"{"spec": {"type": "array", "items": {"type": "array", "items": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "self.all(x, x.all(y, y.contains('a string')))"}]}}"#,
    );
    check(
        &kubectl,
        &[
            (APPLY, &schema),
            (APPLY, &outside),
            (APPLY, &note),
            (APPLY, &begun),
            (APPLY, &good),
            (APPLY, &changed),
            ("apply --dry-run=server -f -", &costly),
        ],
        &expect![[r#"
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl apply -f -
            The CronTab "a" is invalid: spec: Invalid value: replicas should be in the range minReplicas..maxReplicas.
            [exit 1]
            $ kubectl apply -f -
            The CronTab "a" is invalid: spec.note: Forbidden: note of 7 letters
            [exit 1]
            $ kubectl apply -f -
            The CronTab "a" is invalid: spec.once: Invalid value: "old": must begin as new
            [exit 1]
            $ kubectl apply -f -
            crontab.stable.example.com/a created
            $ kubectl apply -f -
            The CronTab "a" is invalid: spec.fixed: Invalid value: "y": fixed is immutable
            [exit 1]
            $ kubectl apply --dry-run=server -f -
            The CustomResourceDefinition "crontabs.stable.example.com" is invalid:
            * spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)
            * spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema
            * spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)
            [exit 1]
        "#]],
    );
}

#[test]
fn defaults_fill_in_what_is_missing_and_null_where_it_may_not_be() {
    let Some((_crest, kubectl)) = start() else { return };
    let schema = definition(
        r#"{"spec": {"type": "object", "properties": {"cronSpec": {"type": "string", "default": "5 0 * * *"},
            "replicas": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1},
            "foo": {"type": "string", "nullable": false, "default": "default"}, "bar": {"type": "string", "nullable": true}, "baz": {"type": "string"}}}}"#,
    );
    let given = object("given", r#""spec": {"image": "my-awesome-cron-image"}"#);
    let null = object("null", r#""spec": {"foo": null, "bar": null, "baz": null}"#);
    check(
        &kubectl,
        &[(APPLY, &schema), ("create --validate=warn -f -", &given), ("create -f -", &null), (SPEC, "")],
        &expect![[r#"
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl create --validate=warn -f -
            crontab.stable.example.com/given created
            Warning: unknown field "spec.image"
            $ kubectl create -f -
            crontab.stable.example.com/null created
            $ kubectl get ct -o jsonpath={range.items[*]}{.metadata.name}{'\t'}{.spec}{'\n'}{end}
            given	{"cronSpec":"5 0 * * *","foo":"default","replicas":1}
            null	{"bar":null,"cronSpec":"5 0 * * *","foo":"default","replicas":1}
        "#]],
    );
}

#[test]
fn schemas_are_published_for_those_who_ask() {
    let Some((_crest, kubectl)) = start() else { return };
    let schema = definition(
        r#"{"spec": {"type": "object", "description": "What is wanted.", "required": ["cronSpec"], "properties": {
            "cronSpec": {"type": "string", "pattern": "^x", "description": "When it runs."},
            "ports": {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer", "format": "int32"}}}},
            "any": {"x-kubernetes-preserve-unknown-fields": true}, "scale": {"x-kubernetes-int-or-string": true}}}}"#,
    );
    check(
        &kubectl,
        &[
            (APPLY, &schema),
            ("get ct", ""),
            ("explain ct", ""),
            ("explain ct.spec --recursive", ""),
            ("explain ct.spec --output=plaintext-openapiv2", ""),
            ("explain ct.spec.ports.port", ""),
            ("explain ct.spec.nothing", ""),
        ],
        &expect![[r#"
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com created
            $ kubectl get ct
            No resources found in default namespace.
            $ kubectl explain ct
            GROUP:      stable.example.com
            KIND:       CronTab
            VERSION:    v1

            DESCRIPTION:
                <empty>
            FIELDS:
              apiVersion	<string>
                APIVersion defines the versioned schema of this representation of an object.
                Servers should convert recognized schemas to the latest internal value, and
                may reject unrecognized values. More info:
                https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources

              kind	<string>
                Kind is a string value representing the REST resource this object
                represents. Servers may infer this from the endpoint the client submits
                requests to. Cannot be updated. In CamelCase. More info:
                https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds

              metadata	<ObjectMeta>
                Standard object's metadata. More info:
                https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata

              spec	<Object>
                What is wanted.


            $ kubectl explain ct.spec --recursive
            GROUP:      stable.example.com
            KIND:       CronTab
            VERSION:    v1

            FIELD: spec <Object>


            DESCRIPTION:
                What is wanted.

            FIELDS:
              any	<Object>
              cronSpec	<string> -required-
              ports	<[]Object>
                port	<integer>
              scale	<Object>

            $ kubectl explain ct.spec --output=plaintext-openapiv2
            KIND:     CronTab
            VERSION:  stable.example.com/v1

            RESOURCE: spec <Object>

            DESCRIPTION:
                 What is wanted.

            FIELDS:
               any	<>

               cronSpec	<string> -required-
                 When it runs.

               ports	<[]Object>

               scale	<>

            $ kubectl explain ct.spec.ports.port
            GROUP:      stable.example.com
            KIND:       CronTab
            VERSION:    v1

            FIELD: port <integer>


            DESCRIPTION:
                <empty>

            $ kubectl explain ct.spec.nothing
            GROUP:      stable.example.com
            KIND:       CronTab
            VERSION:    v1

            error: field "nothing" does not exist
            [exit 1]
        "#]],
    );
}

/// A definition with two versions; which is stored, and what is said of the older one.
fn versions(v1beta1: &str, v1: &str, more: &str) -> String {
    format!(
        r#"{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {{"name": "crontabs.example.com"}},
            "spec": {{"group": "example.com", "scope": "Namespaced",
                "names": {{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]}},
                "versions": [
                    {{"name": "v1beta1", {v1beta1}, "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{"host": {{"type": "string"}}, "port": {{"type": "string"}}}}}}}}}},
                    {{"name": "v1", {v1}, "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{"host": {{"type": "string"}}, "port": {{"type": "string"}}}}}}}}}}
                    {more}]}}}}"#
    )
}

#[test]
fn several_versions_are_served_deprecated_stored_and_given_up() {
    let Some((_crest, kubectl)) = start() else { return };
    let first = versions(r#""served": true, "storage": true"#, r#""served": true, "storage": false"#, "");
    let deprecated = versions(
        r#""served": true, "storage": false, "deprecated": true"#,
        r#""served": true, "storage": true"#,
        r#", {"name": "v1alpha1", "served": true, "storage": false, "deprecated": true,
            "deprecationWarning": "example.com/v1alpha1 CronTab is deprecated; see http://example.com/v1alpha1-v1",
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}"#,
    );
    let one = r#"{"apiVersion": "example.com/v1beta1", "kind": "CronTab", "metadata": {"name": "one"}, "host": "h"}"#;
    let without = r#"[{"op": "remove", "path": "/spec/versions/0"}]"#;
    kubectl.write("without.json", without);
    let stored = "get crd crontabs.example.com -o jsonpath={.status.storedVersions}";
    let remove = "patch crd crontabs.example.com --type=json --patch-file=without.json";
    check(
        &kubectl,
        &[
            (APPLY, &first),
            ("create -f -", one),
            ("get ct one -o jsonpath={.apiVersion}", ""),
            ("get crontabs.v1beta1.example.com one -o jsonpath={.apiVersion}", ""),
            (stored, ""),
            (APPLY, &deprecated),
            (stored, ""),
            ("get crontabs.v1beta1.example.com", ""),
            ("get crontabs.v1alpha1.example.com", ""),
            ("get crontabs.v1.example.com", ""),
            ("api-versions", ""),
            (remove, ""),
            // Every object is written again, then the version may be forgotten and removed.
            ("annotate ct one migrated=yes", ""),
            (
                "patch crd crontabs.example.com --subresource=status --type=merge -p {\"status\":{\"storedVersions\":[\"v1\"]}}",
                "",
            ),
            (remove, ""),
            ("get crontabs.v1beta1.example.com", ""),
            ("get ct one -o jsonpath={.apiVersion}/{.host}", ""),
        ],
        &expect![[r#"
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.example.com created
            $ kubectl create -f -
            crontab.example.com/one created
            $ kubectl get ct one -o jsonpath={.apiVersion}
            example.com/v1
            $ kubectl get crontabs.v1beta1.example.com one -o jsonpath={.apiVersion}
            example.com/v1beta1
            $ kubectl get crd crontabs.example.com -o jsonpath={.status.storedVersions}
            ["v1beta1"]
            $ kubectl apply -f -
            customresourcedefinition.apiextensions.k8s.io/crontabs.example.com configured
            $ kubectl get crd crontabs.example.com -o jsonpath={.status.storedVersions}
            ["v1beta1","v1"]
            $ kubectl get crontabs.v1beta1.example.com
            NAME   AGE
            one    AGE
            Warning: example.com/v1beta1 CronTab is deprecated; use example.com/v1 CronTab
            $ kubectl get crontabs.v1alpha1.example.com
            NAME   AGE
            one    AGE
            Warning: example.com/v1alpha1 CronTab is deprecated; see http://example.com/v1alpha1-v1
            $ kubectl get crontabs.v1.example.com
            NAME   AGE
            one    AGE
            $ kubectl api-versions
            apiextensions.k8s.io/v1
            coordination.k8s.io/v1
            discovery.k8s.io/v1
            events.k8s.io/v1
            example.com/v1
            example.com/v1alpha1
            example.com/v1beta1
            v1
            $ kubectl patch crd crontabs.example.com --type=json --patch-file=without.json
            The CustomResourceDefinition "crontabs.example.com" is invalid: status.storedVersions[0]: Invalid value: "v1beta1": missing from spec.versions; v1beta1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1beta1 and removes v1beta1 from status.storedVersions
            [exit 1]
            $ kubectl annotate ct one migrated=yes
            crontab.example.com/one annotated
            $ kubectl patch crd crontabs.example.com --subresource=status --type=merge -p {"status":{"storedVersions":["v1"]}}
            customresourcedefinition.apiextensions.k8s.io/crontabs.example.com patched
            $ kubectl patch crd crontabs.example.com --type=json --patch-file=without.json
            customresourcedefinition.apiextensions.k8s.io/crontabs.example.com patched
            $ kubectl get crontabs.v1beta1.example.com
            Error from server (NotFound): Unable to list "example.com/v1beta1, Resource=crontabs": the server could not find the requested resource (get crontabs.example.com)
            [exit 1]
            $ kubectl get ct one -o jsonpath={.apiVersion}/{.host}
            example.com/v1/h
        "#]],
    );
}
