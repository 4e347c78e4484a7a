//! Reads messages into values.

use jiff::Timestamp;
use meta::wire::json;
use meta::{Map, Value, time};

use super::nested;
use super::wire::{BinaryError, Payload, fields};
use crate::typed::go_base64;
use crate::typed::types::{Field, Shape, Struct, TypeId};

/// How deep messages may be nested; schemas are the only types that contain themselves.
const MAX_DEPTH: usize = 1000;

pub(super) fn object(strukt: &'static Struct, message: &[u8]) -> Result<Value, BinaryError> {
    message_of(strukt, message, MAX_DEPTH)
}

fn message_of(strukt: &'static Struct, message: &[u8], depth: usize) -> Result<Value, BinaryError> {
    let depth = depth.checked_sub(1).ok_or(BinaryError::TooDeep)?;
    let mut map = Map::new();
    level(strukt, message, &mut Vec::new(), &mut map, depth)?;
    Ok(map.into())
}

/// Reads the fields of the struct itself, or those of the embedded struct that `outer` leads to.
fn level(
    strukt: &'static Struct,
    message: &[u8],
    outer: &mut Vec<u32>,
    map: &mut Map,
    depth: usize,
) -> Result<(), BinaryError> {
    for entry in fields(message) {
        let (number, payload) = entry?;
        let here = outer.len();
        let own =
            nested(strukt, outer).find(|field| field.embedded.len() == here && field.number == Some(number));
        if let Some(field) = own {
            add(field, payload, map, depth).map_err(|error| named(error, field.name))?;
            continue;
        }
        let deeper = nested(strukt, outer)
            .any(|field| field.embedded.get(here).is_some_and(|embedded| embedded.number == number));
        if deeper {
            outer.push(number);
            level(strukt, payload.bytes()?, outer, map, depth)?;
            outer.pop();
        }
    }
    Ok(())
}

fn named(error: BinaryError, name: &str) -> BinaryError {
    match error {
        BinaryError::WrongWireType { wire_type, field } if field.is_empty() => {
            BinaryError::WrongWireType { wire_type, field: name.to_owned() }
        }
        other => other,
    }
}

fn add(field: &Field, payload: Payload<'_>, map: &mut Map, depth: usize) -> Result<(), BinaryError> {
    match &field.ty.get().shape {
        Shape::List(element) => {
            let item = value(element.id, payload, depth)?;
            let list = map.get_or_insert_with(field.name, || Vec::new().into());
            if let Value::Array(items) = list {
                items.push(item);
            }
        }
        Shape::Map(element) => {
            let (key, member) = entry(element.id, payload.bytes()?, depth)?;
            let members = map.get_or_insert_with(field.name, || Map::new().into());
            if let Value::Object(members) = members {
                members.insert(key, member);
            }
        }
        _ => {
            map.insert(field.name, value(field.ty.id, payload, depth)?);
        }
    }
    Ok(())
}

/// An entry of a map: its key and its value.
fn entry(id: TypeId, message: &[u8], depth: usize) -> Result<(String, Value), BinaryError> {
    let (mut key, mut member) = (String::new(), Value::Null);
    for field in fields(message) {
        match field? {
            (1, payload) => payload.text()?.clone_into(&mut key),
            (2, payload) => {
                member = match &id.get().shape {
                    // A list cannot be a value of a map; it becomes the only field of a message.
                    Shape::List(element) => wrapped_list(element.id, payload.bytes()?, depth)?,
                    _ => value(id, payload, depth)?,
                }
            }
            _ => {}
        }
    }
    Ok((key, member))
}

fn wrapped_list(id: TypeId, message: &[u8], depth: usize) -> Result<Value, BinaryError> {
    let mut items = Vec::new();
    for field in fields(message) {
        if let (1, payload) = field? {
            items.push(value(id, payload, depth)?);
        }
    }
    Ok(items.into())
}

fn value(id: TypeId, payload: Payload<'_>, depth: usize) -> Result<Value, BinaryError> {
    Ok(match &id.get().shape {
        Shape::Bool => Value::Bool(payload.int()? != 0),
        #[expect(clippy::cast_possible_truncation, reason = "as every reader of this encoding does")]
        Shape::Int32 => i64::from(payload.int()? as i32).into(),
        Shape::Int64 => payload.int()?.into(),
        Shape::Float => payload.double()?.into(),
        Shape::String => payload.text()?.into(),
        Shape::Bytes => go_base64::encode(payload.bytes()?).into(),
        Shape::Struct(strukt) => message_of(strukt, payload.bytes()?, depth)?,
        Shape::Time => read_time(payload.bytes()?, false)?,
        Shape::MicroTime => read_time(payload.bytes()?, true)?,
        Shape::IntOrString => int_or_string(payload.bytes()?)?,
        Shape::Quantity => match find(payload.bytes()?, 1)? {
            Some(payload) => payload.text()?.into(),
            None => "0".into(),
        },
        Shape::Raw => raw(payload.bytes()?)?,
        Shape::SchemaOrBool(schema) => match find(payload.bytes()?, 2)? {
            Some(payload) => value(*schema, payload, depth)?,
            None => Value::Bool(flag(payload.bytes()?)?),
        },
        Shape::SchemaOrArray(schema) => {
            either(*schema, payload.bytes()?, depth, |payload| value(*schema, payload, depth))?
        }
        Shape::SchemaOrStrings(schema) => {
            either(*schema, payload.bytes()?, depth, |payload| Ok(payload.text()?.into()))?
        }
        Shape::List(_) | Shape::Map(_) => Value::Null,
    })
}

/// The last field with this number.
fn find(message: &[u8], number: u32) -> Result<Option<Payload<'_>>, BinaryError> {
    let mut found = None;
    for field in fields(message) {
        let (candidate, payload) = field?;
        if candidate == number {
            found = Some(payload);
        }
    }
    Ok(found)
}

fn flag(message: &[u8]) -> Result<bool, BinaryError> {
    find(message, 1)?.map_or(Ok(false), |payload| payload.int().map(|int| int != 0))
}

/// A schema in the first field, or a list in the second.
fn either(
    schema: TypeId,
    message: &[u8],
    depth: usize,
    item: impl Fn(Payload<'_>) -> Result<Value, BinaryError>,
) -> Result<Value, BinaryError> {
    let mut items = Vec::new();
    let mut single = Value::Null;
    for field in fields(message) {
        match field? {
            (1, payload) => single = value(schema, payload, depth)?,
            (2, payload) => items.push(item(payload)?),
            _ => {}
        }
    }
    Ok(if items.is_empty() { single } else { items.into() })
}

fn read_time(message: &[u8], micros: bool) -> Result<Value, BinaryError> {
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    for field in fields(message) {
        match field? {
            (1, payload) => seconds = payload.int()?,
            (2, payload) => nanos = payload.int()?,
            _ => {}
        }
    }
    let nanos = i32::try_from(nanos).unwrap_or(0);
    let Ok(time) = Timestamp::new(seconds, if micros { nanos } else { 0 }) else { return Ok(Value::Null) };
    Ok(if micros { time::format_micro(time) } else { time::format(time) }.into())
}

fn int_or_string(message: &[u8]) -> Result<Value, BinaryError> {
    let is_text = flag(message)?;
    if is_text {
        return Ok(find(message, 3)?.map_or(Ok(""), Payload::text)?.into());
    }
    Ok(find(message, 2)?.map_or(Ok(0), Payload::int)?.into())
}

/// JSON inside a message.
fn raw(message: &[u8]) -> Result<Value, BinaryError> {
    let bytes = find(message, 1)?.map_or(Ok(&b""[..]), Payload::bytes)?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    json::parse(bytes).map(|parsed| parsed.value).map_err(|error| BinaryError::NotJson(error.to_string()))
}
