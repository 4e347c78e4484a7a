//! Writes messages from decoded objects.

use jiff::Timestamp;
use meta::wire::json;
use meta::{Map, Value};

use super::nested;
use super::wire::{put_bytes, put_double, put_int, put_message};
use crate::typed::go_base64;
use crate::typed::types::{Field, Shape, Struct, TypeId};

pub(super) fn object(strukt: &'static Struct, object: &Value, out: &mut Vec<u8>) {
    if let Value::Object(map) = object {
        level(strukt, map, &mut Vec::new(), out);
    }
}

/// Writes the fields of the struct itself, or those of the embedded struct that `outer` leads to, in the order
/// of their numbers.
fn level(strukt: &'static Struct, map: &Map, outer: &mut Vec<u32>, out: &mut Vec<u8>) {
    let here = outer.len();
    // Each with the field itself, or nothing for an embedded struct.
    let mut numbered: Vec<(u32, Option<&'static Field>)> = Vec::with_capacity(strukt.fields.len());
    for field in nested(strukt, outer) {
        match (field.embedded.get(here), field.number) {
            (Some(embedded), Some(_)) => numbered.push((embedded.number, None)),
            (None, Some(number)) => numbered.push((number, Some(field))),
            (_, None) => {}
        }
    }
    numbered.sort_unstable_by_key(|(number, _)| *number);
    numbered.dedup_by_key(|(number, _)| *number);
    for (number, field) in numbered {
        let Some(field) = field else {
            outer.push(number);
            put_message(out, number, |out| level(strukt, map, outer, out));
            outer.pop();
            continue;
        };
        match map.get(field.name) {
            Some(Value::Null) | None if field.ty.pointer => {}
            Some(Value::Null) | None => put_zero(field.ty.id, number, out),
            Some(value) => put_field(field, number, value, out),
        }
    }
}

/// Go's zero value of a field that is no pointer is written, unless it is a list, a map or bytes.
fn put_zero(id: TypeId, number: u32, out: &mut Vec<u8>) {
    match &id.get().shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => put_int(out, number, 0),
        Shape::Float => put_double(out, number, 0.0),
        Shape::String | Shape::Time | Shape::MicroTime | Shape::Raw => put_bytes(out, number, b""),
        Shape::Struct(strukt) => {
            put_message(out, number, |out| level(strukt, &Map::new(), &mut Vec::new(), out));
        }
        Shape::IntOrString => put(id, number, &Value::Int(0), out),
        Shape::Quantity => put(id, number, &Value::from("0"), out),
        Shape::Bytes
        | Shape::List(_)
        | Shape::Map(_)
        | Shape::SchemaOrBool(_)
        | Shape::SchemaOrArray(_)
        | Shape::SchemaOrStrings(_) => {}
    }
}

fn put_field(field: &Field, number: u32, value: &Value, out: &mut Vec<u8>) {
    match (&field.ty.get().shape, value) {
        (Shape::List(element), Value::Array(items)) => {
            for item in items {
                put(element.id, number, item, out);
            }
        }
        (Shape::Map(element), Value::Object(members)) => {
            for (key, member) in members.iter() {
                put_message(out, number, |out| {
                    put_bytes(out, 1, key.as_bytes());
                    put_member(element.id, member, out);
                });
            }
        }
        _ => put(field.ty.id, number, value, out),
    }
}

/// The value of a map's entry. A list cannot be one; it becomes the only field of a message.
fn put_member(id: TypeId, member: &Value, out: &mut Vec<u8>) {
    match (&id.get().shape, member) {
        (Shape::List(element), _) => put_message(out, 2, |out| {
            for item in member.as_array().unwrap_or_default() {
                put(element.id, 1, item, out);
            }
        }),
        _ => put(id, 2, member, out),
    }
}

fn put(id: TypeId, number: u32, value: &Value, out: &mut Vec<u8>) {
    match (&id.get().shape, value) {
        (Shape::Bool, Value::Bool(bool)) => put_int(out, number, i64::from(*bool)),
        (Shape::Int32 | Shape::Int64, Value::Int(int)) => put_int(out, number, *int),
        (Shape::Float, Value::Float(float)) => put_double(out, number, *float),
        #[expect(
            clippy::cast_precision_loss,
            reason = "the field is a float; JSON showed it without a fraction"
        )]
        (Shape::Float, Value::Int(int)) => put_double(out, number, *int as f64),
        (Shape::String, Value::String(text)) => put_bytes(out, number, text.as_bytes()),
        (Shape::Bytes, Value::String(text)) => {
            put_bytes(out, number, &go_base64::decode(text.as_bytes()).unwrap_or_default());
        }
        (Shape::Struct(strukt), Value::Object(map)) => {
            put_message(out, number, |out| level(strukt, map, &mut Vec::new(), out));
        }
        (Shape::Time, _) => put_message(out, number, |out| time(value, false, out)),
        (Shape::MicroTime, _) => put_message(out, number, |out| time(value, true, out)),
        (Shape::IntOrString, Value::String(text)) => put_message(out, number, |out| {
            put_int(out, 1, 1);
            put_int(out, 2, 0);
            put_bytes(out, 3, text.as_bytes());
        }),
        (Shape::IntOrString, Value::Int(int)) => put_message(out, number, |out| {
            put_int(out, 1, 0);
            put_int(out, 2, *int);
            put_bytes(out, 3, b"");
        }),
        (Shape::Quantity, Value::String(text)) => {
            put_message(out, number, |out| put_bytes(out, 1, text.as_bytes()));
        }
        (Shape::Raw, Value::Null) => put_message(out, number, |_| {}),
        (Shape::Raw, _) => put_message(out, number, |out| put_bytes(out, 1, &json::to_vec(value))),
        (Shape::SchemaOrBool(_), Value::Bool(bool)) => {
            put_message(out, number, |out| put_int(out, 1, i64::from(*bool)));
        }
        (Shape::SchemaOrBool(schema), _) => put_message(out, number, |out| {
            put_int(out, 1, 1);
            put(*schema, 2, value, out);
        }),
        (Shape::SchemaOrArray(schema), Value::Array(items)) => put_message(out, number, |out| {
            for item in items {
                put(*schema, 2, item, out);
            }
        }),
        (Shape::SchemaOrStrings(_), Value::Array(items)) => put_message(out, number, |out| {
            items.iter().filter_map(Value::as_str).for_each(|item| put_bytes(out, 2, item.as_bytes()));
        }),
        (Shape::SchemaOrArray(schema) | Shape::SchemaOrStrings(schema), _) => {
            put_message(out, number, |out| put(*schema, 1, value, out));
        }
        // A decoded object has no other pairs; what does not fit is left out.
        _ => {}
    }
}

fn time(value: &Value, micros: bool, out: &mut Vec<u8>) {
    let Some(time) = value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { return };
    put_int(out, 1, time.as_second());
    put_int(out, 2, if micros { i64::from(time.subsec_nanosecond()) } else { 0 });
}
