//! `OpenAPI` v2 in protobuf, for clients that ask for nothing else.
//!
//! Written from the same trees as the JSON form; messages are tables of members. What has no field of its own
//! is carried as text, which readers take for YAML.
//!
//! Upstream: github.com/google/gnostic-models/openapiv2/OpenAPIv2.proto.

use meta::{Map, Value, wire::json};

/// Writes the inside of a message.
type Write = fn(&Value, &mut Vec<u8>);

/// How a member is written.
enum Shape {
    Text,
    Bool,
    Int,
    Double,
    Texts,
    Message(Write),
    Messages(Write),
    /// A message with a field `.0`, in which members repeat with their names.
    Named(u32, Write),
}

type Fields = [(&'static str, u32, Shape)];

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
const EXTERNAL_DOCS: [(&str, u32, Shape); 2] = [("description", 1, Shape::Text), ("url", 2, Shape::Text)];
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
pub(super) fn document(members: &Map, out: &mut Vec<u8>) {
    fields(members, &DOCUMENT, None, out);
}

/// The members that a document consists of for the most part.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Paths,
    Definitions,
}

/// Adds to a document's part what one version of a group brings. Messages of a part may come in pieces:
/// readers join them.
pub(super) fn add_named(part: Part, members: Map, out: &mut Vec<u8>) {
    let key = match part {
        Part::Paths => "paths",
        Part::Definitions => "definitions",
    };
    let members: Map = [(key, Value::Object(members))].into_iter().collect();
    fields(&members, &DOCUMENT, None, out);
}

fn fields(members: &Map, fields: &Fields, extensions: Option<u32>, out: &mut Vec<u8>) {
    for (key, number, shape) in fields {
        if let Some(value) = members.get(key) {
            field(*number, shape, value, out);
        }
    }
    let Some(number) = extensions else { return };
    for (key, value) in members.iter().filter(|(key, _)| key.starts_with("x-")) {
        delimited(number, out, |out| named_value(key, value, any, out));
    }
}

fn field(number: u32, shape: &Shape, value: &Value, out: &mut Vec<u8>) {
    match (shape, value) {
        (Shape::Text, Value::String(text)) => bytes(number, text.as_bytes(), out),
        (Shape::Bool, Value::Bool(true)) => {
            tag(number, 0, out);
            out.push(1);
        }
        (Shape::Int, Value::Int(count)) => {
            tag(number, 0, out);
            varint(count.cast_unsigned(), out);
        }
        (Shape::Double, Value::Float(value)) => double(number, *value, out),
        #[expect(clippy::cast_precision_loss, reason = "the format knows no integers here")]
        (Shape::Double, Value::Int(value)) => double(number, *value as f64, out),
        (Shape::Texts, Value::Array(items)) => {
            for text in items.iter().filter_map(Value::as_str) {
                bytes(number, text.as_bytes(), out);
            }
        }
        (Shape::Message(write), value) => delimited(number, out, |out| write(value, out)),
        (Shape::Messages(write), Value::Array(items)) => {
            for item in items {
                delimited(number, out, |out| write(item, out));
            }
        }
        (Shape::Named(inner, write), Value::Object(members)) => delimited(number, out, |out| {
            for (name, value) in members.iter() {
                delimited(*inner, out, |out| named_value(name, value, *write, out));
            }
        }),
        _ => {}
    }
}

fn named_value(name: &str, value: &Value, write: Write, out: &mut Vec<u8>) {
    bytes(1, name.as_bytes(), out);
    delimited(2, out, |out| write(value, out));
}

fn tag(number: u32, wire_type: u32, out: &mut Vec<u8>) {
    varint(u64::from(number << 3 | wire_type), out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn double(number: u32, value: f64, out: &mut Vec<u8>) {
    tag(number, 1, out);
    out.extend_from_slice(&value.to_le_bytes());
}

fn bytes(number: u32, text: &[u8], out: &mut Vec<u8>) {
    tag(number, 2, out);
    varint(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// A message whose length is known only when it is written.
fn delimited(number: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inside = Vec::new();
    write(&mut inside);
    bytes(number, &inside, out);
}

fn table(value: &Value, table: &Fields, extensions: Option<u32>, out: &mut Vec<u8>) {
    if let Value::Object(members) = value {
        fields(members, table, extensions, out);
    }
}

fn any(value: &Value, out: &mut Vec<u8>) {
    let mut text = json::to_vec(value);
    text.push(b'\n');
    bytes(2, &text, out);
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

fn external_docs(value: &Value, out: &mut Vec<u8>) {
    table(value, &EXTERNAL_DOCS, Some(3), out);
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
