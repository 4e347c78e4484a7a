//! The messages of `OpenAPI` v3.

use meta::Value;

use super::{Shape, any, bytes, delimited, double, external_docs, field, table, tag};

const DOCUMENT: [(&str, u32, Shape); 4] = [
    ("openapi", 1, Shape::Text),
    ("info", 2, Shape::Message(info)),
    ("paths", 4, Shape::Named(1, path_item)),
    ("components", 5, Shape::Message(components)),
];
const INFO: [(&str, u32, Shape); 2] = [("title", 1, Shape::Text), ("version", 6, Shape::Text)];
const COMPONENTS: [(&str, u32, Shape); 1] = [("schemas", 1, Shape::Named(1, schema))];
const PATH_ITEM: [(&str, u32, Shape); 6] = [
    ("get", 4, Shape::Message(operation)),
    ("put", 5, Shape::Message(operation)),
    ("post", 6, Shape::Message(operation)),
    ("delete", 7, Shape::Message(operation)),
    ("patch", 10, Shape::Message(operation)),
    ("parameters", 13, Shape::Messages(parameter)),
];
const OPERATION: [(&str, u32, Shape); 6] = [
    ("tags", 1, Shape::Texts),
    ("description", 3, Shape::Text),
    ("operationId", 5, Shape::Text),
    ("parameters", 6, Shape::Messages(parameter)),
    ("requestBody", 7, Shape::Message(request_body)),
    ("responses", 8, Shape::Named(2, response)),
];
const PARAMETER: [(&str, u32, Shape); 5] = [
    ("name", 1, Shape::Text),
    ("in", 2, Shape::Text),
    ("description", 3, Shape::Text),
    ("required", 4, Shape::Bool),
    ("schema", 10, Shape::Message(schema)),
];
const REQUEST_BODY: [(&str, u32, Shape); 2] =
    [("content", 2, Shape::Named(1, media_type)), ("required", 3, Shape::Bool)];
const RESPONSE: [(&str, u32, Shape); 2] =
    [("description", 1, Shape::Text), ("content", 3, Shape::Named(1, media_type))];
const MEDIA_TYPE: [(&str, u32, Shape); 1] = [("schema", 1, Shape::Message(schema))];
const REFERENCE: [(&str, u32, Shape); 1] = [("$ref", 1, Shape::Text)];
const SCHEMA: [(&str, u32, Shape); 30] = [
    ("nullable", 1, Shape::Bool),
    ("externalDocs", 6, Shape::Message(external_docs)),
    ("example", 7, Shape::Message(any)),
    ("title", 9, Shape::Text),
    ("multipleOf", 10, Shape::Double),
    ("maximum", 11, Shape::Double),
    ("exclusiveMaximum", 12, Shape::Bool),
    ("minimum", 13, Shape::Double),
    ("exclusiveMinimum", 14, Shape::Bool),
    ("maxLength", 15, Shape::Int),
    ("minLength", 16, Shape::Int),
    ("pattern", 17, Shape::Text),
    ("maxItems", 18, Shape::Int),
    ("minItems", 19, Shape::Int),
    ("uniqueItems", 20, Shape::Bool),
    ("maxProperties", 21, Shape::Int),
    ("minProperties", 22, Shape::Int),
    ("required", 23, Shape::Texts),
    ("enum", 24, Shape::Messages(any)),
    ("type", 25, Shape::Text),
    ("allOf", 26, Shape::Messages(schema)),
    ("oneOf", 27, Shape::Messages(schema)),
    ("anyOf", 28, Shape::Messages(schema)),
    ("not", 29, Shape::Message(plain_schema)),
    ("items", 30, Shape::Message(items_item)),
    ("properties", 31, Shape::Named(1, schema)),
    ("additionalProperties", 32, Shape::Message(additional_properties)),
    ("default", 33, Shape::Message(default)),
    ("description", 34, Shape::Text),
    ("format", 35, Shape::Text),
];

pub(in super::super) fn document(value: &Value, out: &mut Vec<u8>) {
    table(value, &DOCUMENT, Some(9), out);
}

fn info(value: &Value, out: &mut Vec<u8>) {
    table(value, &INFO, Some(7), out);
}

fn components(value: &Value, out: &mut Vec<u8>) {
    table(value, &COMPONENTS, Some(10), out);
}

fn path_item(value: &Value, out: &mut Vec<u8>) {
    table(value, &PATH_ITEM, Some(14), out);
}

fn operation(value: &Value, out: &mut Vec<u8>) {
    table(value, &OPERATION, Some(13), out);
}

fn parameter(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| table(value, &PARAMETER, Some(14), out));
}

fn request_body(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| table(value, &REQUEST_BODY, Some(4), out));
}

fn response(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| table(value, &RESPONSE, Some(5), out));
}

fn media_type(value: &Value, out: &mut Vec<u8>) {
    table(value, &MEDIA_TYPE, Some(5), out);
}

/// A schema, or the name of one.
fn schema(value: &Value, out: &mut Vec<u8>) {
    match value.get("$ref") {
        Some(_) => delimited(2, out, |out| table(value, &REFERENCE, None, out)),
        None => delimited(1, out, |out| plain_schema(value, out)),
    }
}

fn plain_schema(value: &Value, out: &mut Vec<u8>) {
    table(value, &SCHEMA, Some(36), out);
}

fn items_item(value: &Value, out: &mut Vec<u8>) {
    delimited(1, out, |out| schema(value, out));
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

/// Defaults that are no scalars have no place in the format; readers get an empty one.
fn default(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bool(value) => {
            tag(2, 0, out);
            out.push(u8::from(*value));
        }
        Value::String(text) => bytes(3, text.as_bytes(), out),
        Value::Float(number) => double(1, *number, out),
        number => field(1, &Shape::Double, number, out),
    }
}
