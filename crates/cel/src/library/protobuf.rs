//! The well-known message types that can be written as literals.

use crate::ast::Name;
use crate::collections::Entries;
use crate::env::{Constructor, Library, ObjectType};
use crate::error::EvalError;
use crate::time::{Duration, Timestamp};
use crate::types::Type;
use crate::value::{Evaluated, Value};

type Fields<'a> = Vec<(Name, Value<'a>)>;

pub(super) fn add(mut library: Library) -> Library {
    let wrappers: [(&str, Type, Constructor); 9] = [
        ("BoolValue", Type::Bool, |fields| Ok(value_or(fields, Value::Bool(false)))),
        ("BytesValue", Type::Bytes, |fields| Ok(value_or(fields, Value::bytes(Vec::new())))),
        ("DoubleValue", Type::Double, |fields| Ok(value_or(fields, Value::Double(0.0)))),
        ("FloatValue", Type::Double, |fields| Ok(float(fields))),
        ("Int32Value", Type::Int, int32),
        ("Int64Value", Type::Int, |fields| Ok(value_or(fields, Value::Int(0)))),
        ("StringValue", Type::String, |fields| Ok(value_or(fields, Value::str("")))),
        ("UInt32Value", Type::Uint, uint32),
        ("UInt64Value", Type::Uint, |fields| Ok(value_or(fields, Value::Uint(0)))),
    ];
    for (name, ty, constructor) in wrappers {
        let name = format!("google.protobuf.{name}");
        let object = ObjectType::new(&name, [("value", ty.clone())]).constructed(constructor);
        library = library.type_name(&name, Type::wrapper(ty)).object(object);
    }
    let parts = || [("seconds", Type::Int), ("nanos", Type::Int)];
    let any = || Type::Dyn;
    library
        .object(
            ObjectType::new("google.protobuf.Timestamp", parts()).constructed(|fields| timestamp(&fields)),
        )
        .object(ObjectType::new("google.protobuf.Duration", parts()).constructed(|fields| duration(&fields)))
        .type_name("google.protobuf.Value", any())
        .object(
            ObjectType::new(
                "google.protobuf.Value",
                [
                    ("null_value", Type::Int),
                    ("number_value", Type::Double),
                    ("string_value", Type::String),
                    ("bool_value", Type::Bool),
                    ("struct_value", Type::map(Type::String, any())),
                    ("list_value", Type::list(any())),
                ],
            )
            .constructed(|fields| Ok(json_value(fields))),
        )
        .type_name("google.protobuf.Struct", Type::map(Type::String, any()))
        .object(
            ObjectType::new("google.protobuf.Struct", [("fields", Type::map(Type::String, any()))])
                .constructed(|fields| Ok(value_or(fields, Entries::new().into()))),
        )
        .type_name("google.protobuf.ListValue", Type::list(any()))
        .object(
            ObjectType::new("google.protobuf.ListValue", [("values", Type::list(any()))])
                .constructed(|fields| Ok(value_or(fields, Value::list(Vec::new())))),
        )
}

/// The only field, or what it is when not set.
fn value_or<'a>(fields: Fields<'a>, default: Value<'a>) -> Value<'a> {
    fields.into_iter().next_back().map_or(default, |(_, value)| value)
}

fn overflow(message: &str, problem: &str) -> EvalError {
    EvalError::new(format!(
        "field type conversion error for google.protobuf.{message}.value value type: {problem}"
    ))
}

/// A number that is kept with single precision.
#[expect(clippy::cast_possible_truncation, reason = "the loss of precision is what the type means")]
fn float(fields: Fields<'_>) -> Value<'_> {
    match value_or(fields, Value::Double(0.0)) {
        Value::Double(value) => Value::Double(f64::from(value as f32)),
        other => other,
    }
}

fn int32(fields: Fields<'_>) -> Evaluated<'_> {
    match value_or(fields, Value::Int(0)) {
        Value::Int(value) if i32::try_from(value).is_err() => Err(overflow("Int32Value", "integer overflow")),
        other => Ok(other),
    }
}

fn uint32(fields: Fields<'_>) -> Evaluated<'_> {
    match value_or(fields, Value::Uint(0)) {
        Value::Uint(value) if u32::try_from(value).is_err() => {
            Err(overflow("UInt32Value", "unsigned integer overflow"))
        }
        other => Ok(other),
    }
}

fn json_value(fields: Fields<'_>) -> Value<'_> {
    match fields.into_iter().next_back() {
        Some((name, value)) if &*name != "null_value" => value,
        _ => Value::Null,
    }
}

fn int_field(fields: &[(Name, Value<'_>)], name: &str) -> i64 {
    let field = fields.iter().rev().find(|(known, _)| &**known == name);
    field.and_then(|(_, value)| value.as_int()).unwrap_or(0)
}

fn timestamp<'a>(fields: &[(Name, Value<'a>)]) -> Evaluated<'a> {
    let nanos = u32::try_from(int_field(fields, "nanos")).ok();
    nanos
        .and_then(|nanos| Timestamp::new(int_field(fields, "seconds"), nanos))
        .map(Value::Timestamp)
        .ok_or_else(|| EvalError::new("timestamp overflow"))
}

fn duration<'a>(fields: &[(Name, Value<'a>)]) -> Evaluated<'a> {
    let nanos = int_field(fields, "seconds")
        .checked_mul(1_000_000_000)
        .and_then(|seconds| seconds.checked_add(int_field(fields, "nanos")));
    nanos
        .map(|nanos| Value::Duration(Duration::from_nanos(nanos)))
        .ok_or_else(|| EvalError::new("duration overflow"))
}
