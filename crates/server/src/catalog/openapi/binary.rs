//! `OpenAPI` in protobuf, for clients that ask for nothing else.
//!
//! Written from the same trees as the JSON form; messages are tables of members. What has no field of its own
//! is carried as text, which readers take for YAML.
//!
//! Upstream: github.com/google/gnostic-models/openapiv2 and openapiv3, v0.7.0.

pub(super) mod v2;
pub(super) mod v3;

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

const EXTERNAL_DOCS: [(&str, u32, Shape); 2] = [("description", 1, Shape::Text), ("url", 2, Shape::Text)];

fn external_docs(value: &Value, out: &mut Vec<u8>) {
    table(value, &EXTERNAL_DOCS, Some(3), out);
}
