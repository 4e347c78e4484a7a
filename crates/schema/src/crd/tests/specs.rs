//! The spec around the schemas.

use expect_test::expect;

use super::{DEFINITION, check, definition, prepared, with_schema};
use crate::testing::{text, value};

#[test]
fn a_good_definition_is_completed_and_accepted() {
    check(definition("[]"), &expect![""]);
    let prepared = prepared(value(DEFINITION));
    let spec = prepared.get("spec").unwrap();
    assert_eq!(
        text(spec.get("names").unwrap()),
        r#"{"kind":"Widget","listKind":"WidgetList","plural":"widgets","singular":"widget"}"#
    );
    assert_eq!(text(spec.get("conversion").unwrap()), r#"{"strategy":"None"}"#);
    assert_eq!(text(prepared.get("status").unwrap()), r#"{"storedVersions":["v1"]}"#);
}

#[test]
fn the_name_is_that_of_resource_and_group() {
    check(
        definition(r#"[{"op": "replace", "path": "/metadata/name", "value": "Other"}]"#),
        &expect![[r#"
            metadata.name: Invalid value: "Other": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
            metadata.name: Invalid value: "Other": must be spec.names.plural+"."+spec.group"#]],
    );
}

#[test]
fn group_scope_and_names() {
    check(
        definition(
            r#"[{"op": "replace", "path": "/spec/group", "value": "local"},
                {"op": "replace", "path": "/metadata/name", "value": "widgets.local"},
                {"op": "remove", "path": "/spec/scope"},
                {"op": "replace", "path": "/spec/names", "value": {"plural": "widgets", "kind": "Widget",
                    "listKind": "Widget", "shortNames": ["ok", "_"], "categories": [""]}}]"#,
        ),
        &expect![[r#"
            spec.group: Invalid value: "local": should be a domain with at least one dot
            spec.scope: Required value
            spec.names.shortNames[1]: Invalid value: "_": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
            spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same
            spec.names.categories[0]: Invalid value: "": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"#]],
    );
    check(
        definition(
            r#"[{"op": "replace", "path": "/spec/names", "value": {}}, {"op": "replace", "path": "/metadata/name", "value": ".example.com"}]"#,
        ),
        &expect![[r#"
            metadata.name: Invalid value: ".example.com": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
            spec.names.plural: Required value
            spec.names.singular: Required value
            spec.names.kind: Required value
            spec.names.listKind: Required value"#]],
    );
}

#[test]
fn exactly_one_version_is_stored_and_the_versions_are_shown_as_go_prints_them() {
    check(
        definition(r#"[{"op": "replace", "path": "/spec/versions/0/storage", "value": false}]"#),
        &expect![[r#"
            spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version
            status.storedVersions: Invalid value: null: must have at least one stored version"#]],
    );
    check(
        definition(r#"[{"op": "remove", "path": "/spec/versions"}]"#),
        &expect![[r"
            spec.versions: Invalid value: null: must have exactly one version marked as storage version
            status.storedVersions: Invalid value: null: must have at least one stored version"]],
    );
    check(
        definition(
            r#"[{"op": "add", "path": "/spec/versions/-", "value": {"name": "v1", "served": false, "storage": false,
                "deprecated": true, "deprecationWarning": "old", "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "n", "type": "string", "jsonPath": ".a"}],
                "schema": {"openAPIV3Schema": {"type": "object", "nullable": true}}}}]"#,
        ),
        &expect![[r#"
            spec.versions[1].schema.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":true,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":null,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":null,"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled
            spec.versions[1].schema.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root
            spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":{"OpenAPIV3Schema":{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":null,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":{"spec":{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":null,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":null,"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}},"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}},"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null},{"Name":"v1","Served":false,"Storage":false,"Deprecated":true,"DeprecationWarning":"old","Schema":{"OpenAPIV3Schema":{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":true,"Format":"","Title":"","Default":null,"Maximum":null,"ExclusiveMaximum":false,"Minimum":null,"ExclusiveMinimum":false,"MaxLength":null,"MinLength":null,"Pattern":"","MaxItems":null,"MinItems":null,"UniqueItems":false,"MultipleOf":null,"Enum":null,"MaxProperties":null,"MinProperties":null,"Required":null,"Items":null,"AllOf":null,"OneOf":null,"AnyOf":null,"Not":null,"Properties":null,"AdditionalProperties":null,"PatternProperties":null,"Dependencies":null,"AdditionalItems":null,"Definitions":null,"ExternalDocs":null,"Example":null,"XPreserveUnknownFields":null,"XEmbeddedResource":false,"XIntOrString":false,"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null}},"Subresources":{"Status":{},"Scale":null},"AdditionalPrinterColumns":[{"Name":"n","Type":"string","Format":"","Description":"","Priority":0,"JSONPath":".a"}],"SelectableFields":null}]: must contain unique version names"#]],
    );
}

#[test]
fn what_versions_share_is_reported_once_at_the_top_and_what_not_at_the_version() {
    let second = |schema: &str| {
        definition(&format!(
            r#"[{{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/type", "value": "x"}},
                {{"op": "add", "path": "/spec/versions/-", "value": {{"name": "v2", "served": true, "storage": false,
                "schema": {{"openAPIV3Schema": {schema}}}}}}}]"#
        ))
    };
    check(
        second(r#"{"type": "object", "properties": {"spec": {"type": "x"}}}"#),
        &expect![[
            r#"ROOT.properties[spec].type: Unsupported value: "x": supported values: "array", "boolean", "integer", "number", "object", "string""#
        ]],
    );
    check(
        second(r#"{"type": "object"}"#),
        &expect![[
            r#"spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Unsupported value: "x": supported values: "array", "boolean", "integer", "number", "object", "string""#
        ]],
    );
}

#[test]
fn a_version_needs_a_schema_and_a_deprecation_to_be_warned_of() {
    check(
        definition(
            r#"[{"op": "remove", "path": "/spec/versions/0/schema"},
                {"op": "add", "path": "/spec/versions/0/deprecationWarning", "value": "a<b"}]"#,
        ),
        &expect![[r#"
            spec.versions[0].schema.openAPIV3Schema: Required value
            spec.versions[0].deprecationWarning: Invalid value: "a\u003cb": can only be set for deprecated versions"#]],
    );
    check(
        definition(
            r#"[{"op": "add", "path": "/spec/versions/0/deprecated", "value": true},
                {"op": "add", "path": "/spec/versions/0/deprecationWarning", "value": "a\tb"}]"#,
        ),
        &expect![[
            r#"spec.versions[0].deprecationWarning: Invalid value: "a\tb": must only contain printable UTF-8 characters; non-printable character found at index 1"#
        ]],
    );
}

#[test]
fn columns_scale_and_selectable_fields_point_into_objects() {
    check(
        definition(
            r#"[{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns", "value": [{},
                    {"name": "n", "type": "odd", "format": "odd", "jsonPath": "spec"}]},
                {"op": "add", "path": "/spec/versions/0/subresources", "value": {"scale": {
                    "specReplicasPath": ".status.x", "labelSelectorPath": ".metadata.x"}}},
                {"op": "add", "path": "/spec/versions/0/selectableFields", "value": [{}, {"jsonPath": ".spec"},
                    {"jsonPath": ".spec"}, {"jsonPath": ".spec.z"}, {"jsonPath": ".metadata.name"}]}]"#,
        ),
        &expect![[r#"
            spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec
            spec.subresources.scale.statusReplicasPath: Required value
            spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.x": should be a json path under either .spec or .status
            spec.additionalPrinterColumns[0].name: Required value
            spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string
            spec.additionalPrinterColumns[0].JSONPath: Required value
            spec.additionalPrinterColumns[1].type: Invalid value: "odd": must be one of boolean,date,integer,number,string
            spec.additionalPrinterColumns[1].format: Invalid value: "odd": must be one of byte,date,date-time,double,float,int32,int64,password
            spec.additionalPrinterColumns[1].JSONPath: Invalid value: "spec": must be a simple json path starting with .
            spec.selectableFields[0].jsonPath: Required value
            spec.selectableFields[1].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.
            spec.selectableFields[2].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.
            spec.selectableFields[2].jsonPath: Duplicate value: ".spec"
            spec.selectableFields[3].jsonPath: Invalid value: ".spec.z": is an invalid path: does not refer to a valid field
            spec.selectableFields[4].jsonPath: Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field"#]],
    );
}

#[test]
fn conversion_is_none_or_a_webhook_with_an_address() {
    let with = |conversion: &str| {
        definition(&format!(r#"[{{"op": "add", "path": "/spec/conversion", "value": {conversion}}}]"#))
    };
    check(
        with(r#"{"strategy": "Magic"}"#),
        &expect![[
            r#"spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook""#
        ]],
    );
    check(
        with(r#"{"strategy": "Webhook"}"#),
        &expect![[r"
            spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook
            spec.conversion.conversionReviewVersions: Required value"]],
    );
    check(
        with(
            r#"{"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://u@h/?q#f"},
                "conversionReviewVersions": ["v2", "v2", "_"]}}"#,
        ),
        &expect![[r#"
            spec.conversion.webhookClientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]
            spec.conversion.webhookClientConfig.url: Invalid value: "u": user information is not permitted in the URL
            spec.conversion.webhookClientConfig.url: Invalid value: "f": fragments are not permitted in the URL
            spec.conversion.webhookClientConfig.url: Invalid value: "q": query parameters are not permitted in the URL
            spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version
            spec.conversion.conversionReviewVersions[2]: Invalid value: "_": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
            spec.conversion.conversionReviewVersions: Invalid value: ["v2","v2","_"]: must include at least one of v1, v1beta1"#]],
    );
    check(
        with(
            r#"{"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "n", "path": "a//B/", "port": 0}},
                "conversionReviewVersions": ["v1"]}}"#,
        ),
        &expect![[r#"
            spec.conversion.webhookClientConfig.service.name: Required value
            spec.conversion.webhookClientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive
            spec.conversion.webhookClientConfig.service.path: Invalid value: "a//B/": must start with a '/'
            spec.conversion.webhookClientConfig.service.path: Invalid value: "a//B/": segment[0] may not be empty
            spec.conversion.webhookClientConfig.service.path: Invalid value: "a//B/": segment[1] may not be empty
            spec.conversion.webhookClientConfig.service.path: Invalid value: "a//B/": segment[2]: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#]],
    );
    check(
        with(r#"{"strategy": "None", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}}"#),
        &expect![[r"
            spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook
            spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook"]],
    );
}

#[test]
fn community_groups_need_an_approval() {
    let approved = |annotation: &str| {
        definition(&format!(
            r#"[{{"op": "replace", "path": "/spec/group", "value": "x.k8s.io"}},
                {{"op": "replace", "path": "/metadata", "value": {{"name": "widgets.x.k8s.io",
                "annotations": {{"api-approved.kubernetes.io": "{annotation}"}}}}}}]"#
        ))
    };
    check(approved("unapproved, experimental"), &expect![""]);
    check(approved("https://github.com/kubernetes/kubernetes/pull/1"), &expect![""]);
    check(
        approved(""),
        &expect![[
            r#"metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111"#
        ]],
    );
    check(
        approved("yes"),
        &expect![[
            r#"metadata.annotations[api-approved.kubernetes.io]: Invalid value: "yes": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111"#
        ]],
    );
}

#[test]
fn keeping_unknown_fields_at_large_is_a_thing_of_the_past() {
    check(
        definition(r#"[{"op": "add", "path": "/spec/preserveUnknownFields", "value": true}]"#),
        &expect![
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        ],
    );
}

#[test]
fn formats_without_meaning_are_warned_of() {
    let definition = with_schema(
        r#"{"type": "object", "properties": {"a": {"type": "string", "format": "odd"},
            "b": {"type": "integer", "format": "uint8"}, "c": {"type": "string", "format": "date-time"}}}"#,
    );
    let warnings = super::super::warnings_on_create(&definition);
    assert_eq!(warnings, [r#"unrecognized format "odd""#, r#"unrecognized format "uint8""#]);
    assert!(super::super::warnings_on_update(&definition, &definition).is_empty());
}
