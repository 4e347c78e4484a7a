//! What a schema may say.

use expect_test::expect;

use super::{check, with_property, with_schema};

#[test]
fn every_schema_has_a_type() {
    check(
        with_schema(
            r#"{"properties": {"a": {}, "l": {"type": "array", "items": {}}, "m": {"type": "array"}}}"#,
        ),
        &expect![[r"
            ROOT.properties[a].type: Required value: must not be empty for specified object fields
            ROOT.properties[l].items.type: Required value: must not be empty for specified array items
            ROOT.properties[m].items: Required value: must be specified
            ROOT.type: Required value: must not be empty at the root"]],
    );
    check(
        with_schema(r#"{"type": "array", "items": {"type": "string"}}"#),
        &expect![[r#"ROOT.type: Invalid value: "array": must be object at the root"#]],
    );
    check(
        with_property(r#"{"type": "text"}"#),
        &expect![[
            r#"X.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#
        ]],
    );
    check(
        with_property(r#"{"type": "null"}"#),
        &expect![[r#"
            X.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"
            X.type: Forbidden: type cannot be set to null, use nullable as an alternative"#]],
    );
}

#[test]
fn nested_schemas_only_restrict_values() {
    check(
        with_property(
            r#"{"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"type": "object",
                "title": "t", "description": "d", "nullable": true, "default": {}, "properties": {"a": {
                "x-kubernetes-int-or-string": true, "additionalProperties": true}}}]}"#,
        ),
        &expect![[r"
            X.anyOf[0].default: Forbidden: must be undefined to be structural
            X.anyOf[0].description: Forbidden: must be empty to be structural
            X.anyOf[0].nullable: Forbidden: must be false to be structural
            X.anyOf[0].properties[a].additionalProperties: Forbidden: must be undefined to be structural
            X.anyOf[0].properties[a].x-kubernetes-int-or-string: Forbidden: must be false to be structural
            X.anyOf[0].title: Forbidden: must be empty to be structural
            X.anyOf[0].type: Forbidden: must be empty to be structural"]],
    );
    check(
        with_property(r#"{"type": "object", "not": {"properties": {"metadata": {}}}}"#),
        &expect!["X.not.properties[metadata]: Forbidden: must not be specified in a nested context"],
    );
}

#[test]
fn what_nested_schemas_talk_about_exists_at_the_root() {
    check(
        with_schema(
            r#"{"type": "object", "anyOf": [{"properties": {"a": {"items": {"maximum": 1}}}}, {"required": ["b"]}],
                "properties": {"c": {"type": "object", "anyOf": [{"properties": {"z": {}}}]}}}"#,
        ),
        &expect!["ROOT.properties[a]: Required value: because it is defined in ROOT.anyOf[0].properties[a]"],
    );
}

#[test]
fn fields_that_definitions_do_not_have() {
    check(
        with_property(
            r#"{"type": "object", "id": "i", "additionalItems": true, "patternProperties": {"a": {}},
                "definitions": {"a": {}}, "dependencies": {}, "$ref": "r", "uniqueItems": true, "items": [{}]}"#,
        ),
        &expect![[r"
            X.id: Forbidden: id is not supported
            X.additionalItems: Forbidden: additionalItems is not supported
            X.patternProperties: Forbidden: patternProperties is not supported
            X.definitions: Forbidden: definitions is not supported
            X.dependencies: Forbidden: dependencies is not supported
            X.$ref: Forbidden: $ref is not supported
            X.items: Forbidden: items must be a schema object and not an array
            X.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"]],
    );
    check(
        with_property(r#"{"type": "object", "$schema": "s"}"#),
        &expect![[r#"ROOT: Invalid value: "": OpenAPIV3Schema 'schema' is not supported"#]],
    );
}

#[test]
fn additional_properties_stand_alone_but_the_booleans_are_tolerated() {
    check(with_property(r#"{"type": "object", "additionalProperties": false}"#), &expect![""]);
    let beside = |additional: &str| {
        with_property(&format!(
            r#"{{"type": "object", "properties": {{"a": {{"type": "string"}}}}, "additionalProperties": {additional}}}"#
        ))
    };
    check(beside("true"), &expect![""]);
    check(
        beside("false"),
        &expect![
            "X.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
        ],
    );
    check(
        beside(r#"{"type": "string"}"#),
        &expect![
            "X.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
        ],
    );
    check(
        with_schema(r#"{"type": "object", "additionalProperties": {"type": "string"}}"#),
        &expect!["ROOT.additionalProperties: Forbidden: must not be used at the root"],
    );
}

#[test]
fn int_or_string_allows_types_in_two_patterns() {
    check(
        with_property(
            r#"{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}"#,
        ),
        &expect![""],
    );
    check(
        with_property(
            r#"{"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]},
                {"pattern": "^a$"}]}"#,
        ),
        &expect![""],
    );
    check(
        with_property(
            r#"{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "string"}, {"type": "integer"}]}"#,
        ),
        &expect![[r"
            X.anyOf[0].type: Forbidden: must be empty to be structural
            X.anyOf[1].type: Forbidden: must be empty to be structural"]],
    );
    check(
        with_property(
            r#"{"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true,
                "x-kubernetes-embedded-resource": true}"#,
        ),
        &expect![[r"
            X.type: Required value: must be object if x-kubernetes-embedded-resource is true
            X.x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true
            X.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true"]],
    );
}

#[test]
fn embedded_resources_are_objects_that_say_what_they_hold() {
    check(
        with_property(r#"{"type": "object", "x-kubernetes-embedded-resource": true}"#),
        &expect![
            "X.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        ],
    );
    check(
        with_property(
            r#"{"type": "string", "x-kubernetes-embedded-resource": true, "additionalProperties": {"type": "string"},
                "x-kubernetes-preserve-unknown-fields": false}"#,
        ),
        &expect!["X.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    );
    check(
        with_property(
            r#"{"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"kind": {"type": "integer"},
                "metadata": {"type": "object", "properties": {"e": {"type": "object",
                "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}}}"#,
        ),
        &expect![[r#"
            X.properties[kind].type: Invalid value: "integer": must be string
            X.properties[metadata].properties[e].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta"#]],
    );
}

#[test]
fn metadata_can_only_restrict_names() {
    check(
        with_schema(
            r#"{"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}}"#,
        ),
        &expect![""],
    );
    let forbidden = expect![
        "ROOT.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"
    ];
    for metadata in [
        r#"{"type": "object", "properties": {"labels": {"type": "object"}}}"#,
        r#"{"type": "object", "description": "d"}"#,
        r#"{"type": "object", "required": ["name"]}"#,
        r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": true}"#,
    ] {
        check(
            with_schema(&format!(r#"{{"type": "object", "properties": {{"metadata": {metadata}}}}}"#)),
            &forbidden,
        );
    }
}

#[test]
fn list_types_go_with_their_items() {
    check(
        with_property(
            r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "nullable": true}}"#,
        ),
        &expect![[r"
            X.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set
            X.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"]],
    );
    check(
        with_property(
            r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b", "z", "a"],
                "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "object"},
                "b": {"type": "string", "nullable": true}}}}"#,
        ),
        &expect![[r#"
            X.items.properties[a].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map
            X.x-kubernetes-list-map-keys: Invalid value: ["a","b","z","a"]: entries must all be names of item properties
            X.items.properties[a].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map
            X.x-kubernetes-list-map-keys: Invalid value: ["a","b","z","a"]: must not contain duplicate entries
            X.items.properties[b].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property
            X.items.properties[b].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable"#]],
    );
    check(
        with_property(
            r#"{"type": "string", "x-kubernetes-list-type": "map", "x-kubernetes-map-type": "odd"}"#,
        ),
        &expect![[r#"
            X.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified
            X.x-kubernetes-map-type: Unsupported value: "odd": supported values: "atomic", "granular"
            X.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified
            X.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map
            X.items: Required value: must have a schema if x-kubernetes-list-type is map"#]],
    );
    check(
        with_property(
            r#"{"type": "array", "x-kubernetes-list-map-keys": ["a"], "items": {"type": "object"}}"#,
        ),
        &expect![
            "X.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"
        ],
    );
}

#[test]
fn patterns_are_gos() {
    check(
        with_property(r#"{"type": "string", "pattern": "a(?=b)"}"#),
        &expect![[
            r#"X.pattern: Invalid value: "a(?=b)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"#
        ]],
    );
}

#[test]
fn defaults_fit_their_schemas() {
    check(
        with_property(r#"{"type": "string", "default": 5}"#),
        &expect![[r#"X.default: Invalid value: "integer":  in body must be of type string: "integer""#]],
    );
    check(
        with_property(
            r#"{"type": "object", "required": ["b"], "properties": {"b": {"type": "string", "default": "x"}}, "default": {"c": 1}}"#,
        ),
        &expect![[r#"
            X.default: Invalid value: {"c":1}: must not have unknown fields
            X.default.b: Required value"#]],
    );
    check(
        with_property(r#"{"type": "array", "items": {"type": "integer"}, "default": [1, "a"]}"#),
        &expect![[
            r#"X.default.[1]: Invalid value: "string": [1] in body must be of type integer: "string""#
        ]],
    );
    // Nothing looks below additionalProperties.
    check(
        with_property(r#"{"type": "object", "additionalProperties": {"type": "string", "default": 5}}"#),
        &expect![""],
    );
    check(
        with_schema(
            r#"{"type": "object", "properties": {"apiVersion": {"type": "string", "default": "a"}}}"#,
        ),
        &expect!["ROOT.properties[apiVersion].default: Forbidden: must not be set in top-level apiVersion"],
    );
}

#[test]
fn defaults_inside_of_metadata_make_valid_metadata() {
    let with_labels = |labels: &str| {
        with_property(&format!(
            r#"{{"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
                "properties": {{"metadata": {{"type": "object", "properties": {{"labels": {{"type": "object",
                "x-kubernetes-preserve-unknown-fields": true, "default": {labels}}}}}}}}}}}"#
        ))
    };
    check(with_labels(r#"{"a": "b"}"#), &expect![""]);
    check(
        with_labels(r#"{"a": 1}"#),
        &expect![[
            r#"X.properties[metadata].properties[labels].default: Invalid value: {"a":1}: must result in valid metadata: metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"#
        ]],
    );
    check(
        with_labels(r#"{"a": "b c"}"#),
        &expect![[
            r#"X.properties[metadata].properties[labels].default: Invalid value: {"a":"b c"}: must result in valid metadata: metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#
        ]],
    );
}

#[test]
fn rules_are_checked_as_far_as_that_goes_without_compiling_them() {
    check(
        with_property(
            r#"{"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [
                {"rule": " "}, {"rule": "true", "message": " "}, {"rule": "true", "message": "a\nb"},
                {"rule": "true\n", "messageExpression": " ", "reason": "Odd"}, {"rule": "a\nb"},
                {"rule": "true", "fieldPath": ".z"}, {"rule": "true", "fieldPath": ".a"}]}"#,
        ),
        &expect![[r#"
            X.x-kubernetes-validations[0].rule: Required value: rule is not specified
            X.x-kubernetes-validations[1].message: Invalid value: " ": must be non-empty if specified
            X.x-kubernetes-validations[2].message: Invalid value: "a\nb": must not contain line breaks
            X.x-kubernetes-validations[3].messageExpression: Required value: messageExpression must be non-empty if specified
            X.x-kubernetes-validations[3].reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"
            X.x-kubernetes-validations[4].message: Required value: message must be specified if rule contains line breaks
            X.x-kubernetes-validations[5].fieldPath: Invalid value: ".z": must be a valid path"#]],
    );
}

#[test]
fn hardly_any_keyword_value_is_checked() {
    check(
        with_property(
            r#"{"type": "string", "minLength": -1, "maxLength": -5, "enum": ["a", "a"], "multipleOf": 0,
                "format": "nonsense", "minimum": 5, "maximum": 1}"#,
        ),
        &expect![""],
    );
}
