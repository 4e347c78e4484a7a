//! The messages of `OpenAPI` v2.

use meta::{Map, Value};

use super::{Shape, any, delimited, external_docs, field, fields, named_value, table, tag};

const DOCUMENT: [(&str, u32, Shape); 7] = [
    ("swagger", 1, Shape::Text),
    ("info", 2, Shape::Message(info)),
    ("paths", 8, Shape::Named(2, path_item)),
    ("definitions", 9, Shape::Named(1, schema)),
    ("parameters", 10, Shape::Named(1, parameter)),
    ("security", 12, Shape::Messages(security_requirement)),
    ("securityDefinitions", 13, Shape::Named(1, security_definition)),
];
const INFO: [(&str, u32, Shape); 2] = [("title", 1, Shape::Text), ("version", 2, Shape::Text)];
const PATH_ITEM: [(&str, u32, Shape); 6] = [
    ("get", 2, Shape::Message(operation)),
    ("put", 3, Shape::Message(operation)),
    ("post", 4, Shape::Message(operation)),
    ("delete", 5, Shape::Message(operation)),
    ("patch", 8, Shape::Message(operation)),
    ("parameters", 9, Shape::Messages(parameters_item)),
];
const OPERATION: [(&str, u32, Shape); 8] = [
    ("tags", 1, Shape::Texts),
    ("description", 3, Shape::Text),
    ("operationId", 5, Shape::Text),
    ("produces", 6, Shape::Texts),
    ("consumes", 7, Shape::Texts),
    ("parameters", 8, Shape::Messages(parameters_item)),
    ("responses", 9, Shape::Named(1, response_value)),
    ("schemes", 10, Shape::Texts),
];
const RESPONSE: [(&str, u32, Shape); 2] =
    [("description", 1, Shape::Text), ("schema", 2, Shape::Message(schema_item))];
const REFERENCE: [(&str, u32, Shape); 2] = [("$ref", 1, Shape::Text), ("description", 2, Shape::Text)];
const BODY_PARAMETER: [(&str, u32, Shape); 5] = [
    ("description", 1, Shape::Text),
    ("name", 2, Shape::Text),
    ("in", 3, Shape::Text),
    ("required", 4, Shape::Bool),
    ("schema", 5, Shape::Message(schema)),
];
const QUERY_PARAMETER: [(&str, u32, Shape); 6] = [
    ("required", 1, Shape::Bool),
    ("in", 2, Shape::Text),
    ("description", 3, Shape::Text),
    ("name", 4, Shape::Text),
    ("type", 6, Shape::Text),
    ("uniqueItems", 20, Shape::Bool),
];
const PATH_PARAMETER: [(&str, u32, Shape); 6] = [
    ("required", 1, Shape::Bool),
    ("in", 2, Shape::Text),
    ("description", 3, Shape::Text),
    ("name", 4, Shape::Text),
    ("type", 5, Shape::Text),
    ("uniqueItems", 19, Shape::Bool),
];
const API_KEY: [(&str, u32, Shape); 4] = [
    ("type", 1, Shape::Text),
    ("name", 2, Shape::Text),
    ("in", 3, Shape::Text),
    ("description", 4, Shape::Text),
];
const SCHEMA: [(&str, u32, Shape); 27] = [
    ("$ref", 1, Shape::Text),
    ("format", 2, Shape::Text),
    ("title", 3, Shape::Text),
    ("description", 4, Shape::Text),
    ("default", 5, Shape::Message(any)),
    ("multipleOf", 6, Shape::Double),
    ("maximum", 7, Shape::Double),
    ("exclusiveMaximum", 8, Shape::Bool),
    ("minimum", 9, Shape::Double),
    ("exclusiveMinimum", 10, Shape::Bool),
    ("maxLength", 11, Shape::Int),
    ("minLength", 12, Shape::Int),
    ("pattern", 13, Shape::Text),
    ("maxItems", 14, Shape::Int),
    ("minItems", 15, Shape::Int),
    ("uniqueItems", 16, Shape::Bool),
    ("maxProperties", 17, Shape::Int),
    ("minProperties", 18, Shape::Int),
    ("required", 19, Shape::Texts),
    ("enum", 20, Shape::Messages(any)),
    ("additionalProperties", 21, Shape::Message(additional_properties)),
    ("type", 22, Shape::Message(type_item)),
    ("items", 23, Shape::Message(items_item)),
    ("allOf", 24, Shape::Messages(schema)),
    ("properties", 25, Shape::Named(1, schema)),
    ("externalDocs", 29, Shape::Message(external_docs)),
    ("example", 30, Shape::Message(any)),
];

/// A document; its large members are added by [`add_named`].
pub(in super::super) fn document(members: &Map, out: &mut Vec<u8>) {
    fields(members, &DOCUMENT, None, out);
}

/// The members that a document consists of for the most part.
#[derive(Clone, Copy)]
pub(in super::super) enum Part {
    Paths,
    Definitions,
}

/// Adds to a document's part what one version of a group brings. Messages of a part may come in pieces:
/// readers join them.
pub(in super::super) fn add_named(part: Part, members: Map, out: &mut Vec<u8>) {
    let key = match part {
        Part::Paths => "paths",
        Part::Definitions => "definitions",
    };
    let members: Map = [(key, Value::Object(members))].into_iter().collect();
    fields(&members, &DOCUMENT, None, out);
}

fn info(value: &Value, out: &mut Vec<u8>) {
    table(value, &INFO, Some(7), out);
}

fn path_item(value: &Value, out: &mut Vec<u8>) {
    table(value, &PATH_ITEM, Some(10), out);
}

fn operation(value: &Value, out: &mut Vec<u8>) {
    table(value, &OPERATION, Some(13), out);
}

fn schema(value: &Value, out: &mut Vec<u8>) {
    table(value, &SCHEMA, Some(31), out);
}

fn schema_item(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| schema(value, out));
}

fn items_item(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| schema(value, out));
}

fn type_item(value: &Value, out: &mut Vec<u8>) {
    field(1, &Shape::Text, value, out);
}

fn additional_properties(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bool(allowed) => {
            tag(2, 0, out); // a choice is written even when it is false
            out.push(u8::from(*allowed));
        }
        other => delimited(1, out, |out| schema(other, out)),
    }
}

fn response_value(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| table(value, &RESPONSE, Some(5), out));
}

fn parameters_item(value: &Value, out: &mut Vec<u8>) {
    match value.get("$ref") {
        Some(_) => delimited(2, out, |out| table(value, &REFERENCE, None, out)),
        None => delimited(1, out, |out| parameter(value, out)),
    }
}

fn parameter(value: &Value, out: &mut Vec<u8>) {
    let place = value.get("in").and_then(Value::as_str);
    match place {
        Some("body") => delimited(1, out, |out| table(value, &BODY_PARAMETER, Some(6), out)),
        Some("path") => delimited(2, out, |out| {
            delimited(4, out, |out| table(value, &PATH_PARAMETER, Some(22), out));
        }),
        _ => delimited(2, out, |out| {
            delimited(3, out, |out| table(value, &QUERY_PARAMETER, Some(23), out));
        }),
    }
}

fn security_definition(value: &Value, out: &mut Vec<u8>) {
    delimited(2, out, |out| table(value, &API_KEY, Some(5), out));
}

fn security_requirement(value: &Value, out: &mut Vec<u8>) {
    let Value::Object(members) = value else { return };
    for (name, scopes) in members.iter() {
        delimited(1, out, |out| {
            named_value(name, scopes, |scopes, out| field(1, &Shape::Texts, scopes, out), out);
        });
    }
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;

    #[test]
    fn a_document_is_nested_messages() {
        let value = json::parse(br#"{"swagger":"2.0","definitions":{"A":{"type":"object","x-y":true}}}"#);
        let Value::Object(members) = value.unwrap().value else { panic!("an object") };
        let mut out = Vec::new();
        document(&members, &mut out);
        let expected = [
            &[0x0a, 3][..],
            b"2.0",
            &[0x4a, 35, 0x0a, 33, 0x0a, 1],
            b"A",
            &[0x12, 28, 0xb2, 0x01, 8, 0x0a, 6],
            b"object",
            &[0xfa, 0x01, 14, 0x0a, 3],
            b"x-y",
            &[0x12, 7, 0x12, 5],
            b"true\n",
        ];
        // One byte off somewhere shows in all lengths around it.
        assert_eq!(out, expected.concat());
    }
}
