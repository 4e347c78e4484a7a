//! Conversions between types, and values as text.

use crate::compare::double_to_int;
use crate::env::{Function, Library, Overload};
use crate::error::EvalError;
use crate::text;
use crate::time::{Duration, Timestamp};
use crate::types::Type;
use crate::value::{Evaluated, Str, Value};

/// A conversion: the name of its function, the overloads by source type, what it does.
struct Conversion {
    name: &'static str,
    result: Type,
    overloads: &'static [(&'static str, Type)],
    convert: for<'v, 'a> fn(&'v [Value<'a>]) -> Evaluated<'a>,
}

const CONVERSIONS: &[Conversion] = &[
    Conversion {
        name: "bool",
        result: Type::Bool,
        overloads: &[("bool_to_bool", Type::Bool), ("string_to_bool", Type::String)],
        convert: to_bool,
    },
    Conversion {
        name: "bytes",
        result: Type::Bytes,
        overloads: &[("bytes_to_bytes", Type::Bytes), ("string_to_bytes", Type::String)],
        convert: to_bytes,
    },
    Conversion {
        name: "double",
        result: Type::Double,
        overloads: &[
            ("double_to_double", Type::Double),
            ("int64_to_double", Type::Int),
            ("string_to_double", Type::String),
            ("uint64_to_double", Type::Uint),
        ],
        convert: to_double,
    },
    Conversion {
        name: "duration",
        result: Type::Duration,
        overloads: &[
            ("duration_to_duration", Type::Duration),
            ("int64_to_duration", Type::Int),
            ("string_to_duration", Type::String),
        ],
        convert: to_duration,
    },
    Conversion {
        name: "int",
        result: Type::Int,
        overloads: &[
            ("int64_to_int64", Type::Int),
            ("double_to_int64", Type::Double),
            ("duration_to_int64", Type::Duration),
            ("string_to_int64", Type::String),
            ("timestamp_to_int64", Type::Timestamp),
            ("uint64_to_int64", Type::Uint),
        ],
        convert: to_int,
    },
    Conversion {
        name: "string",
        result: Type::String,
        overloads: &[
            ("string_to_string", Type::String),
            ("bool_to_string", Type::Bool),
            ("bytes_to_string", Type::Bytes),
            ("double_to_string", Type::Double),
            ("duration_to_string", Type::Duration),
            ("int64_to_string", Type::Int),
            ("timestamp_to_string", Type::Timestamp),
            ("uint64_to_string", Type::Uint),
        ],
        convert: to_string,
    },
    Conversion {
        name: "timestamp",
        result: Type::Timestamp,
        overloads: &[
            ("timestamp_to_timestamp", Type::Timestamp),
            ("int64_to_timestamp", Type::Int),
            ("string_to_timestamp", Type::String),
        ],
        convert: to_timestamp,
    },
    Conversion {
        name: "uint",
        result: Type::Uint,
        overloads: &[
            ("uint64_to_uint64", Type::Uint),
            ("double_to_uint64", Type::Double),
            ("int64_to_uint64", Type::Int),
            ("string_to_uint64", Type::String),
        ],
        convert: to_uint,
    },
];

pub(super) fn add(mut library: Library) -> Library {
    for conversion in CONVERSIONS {
        let overload = |(id, from): &(&str, Type)| {
            Overload::global(id, [from.clone()], conversion.result.clone()).implemented(conversion.convert)
        };
        let overloads = conversion.overloads.iter().map(overload);
        library = library.function(Function::new(conversion.name).overloads(overloads));
    }
    let a = Type::param("A");
    let type_of = Overload::global("type", [a.clone()], Type::type_of(a.clone())).implemented(type_of);
    let to_dyn = Overload::global("to_dyn", [a], Type::Dyn).implemented(|args| match args {
        [value] => Ok(value.clone()),
        _ => Err(EvalError::no_such_overload()),
    });
    let names: [(&str, Type); 12] = [
        ("bool", Type::Bool),
        ("bytes", Type::Bytes),
        ("double", Type::Double),
        ("google.protobuf.Duration", Type::Duration),
        ("google.protobuf.Timestamp", Type::Timestamp),
        ("int", Type::Int),
        ("list", Type::list(Type::param("A"))),
        ("map", Type::map(Type::param("A"), Type::param("B"))),
        ("null_type", Type::Null),
        ("string", Type::String),
        ("type", Type::Type(None)),
        ("uint", Type::Uint),
    ];
    for (name, ty) in names {
        library = library.type_name(name, ty);
    }
    library.function(Function::new("type").overload(type_of)).function(Function::new("dyn").overload(to_dyn))
}

fn type_of<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value] => Ok(Value::Type(Str::Borrowed(value.type_name()))),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn conversion_error(value: &Value<'_>, to: &str) -> EvalError {
    EvalError::new(format!("type conversion error from '{}' to '{to}'", value.type_name()))
}

fn int_overflow() -> EvalError {
    EvalError::new("integer overflow")
}

fn uint_overflow() -> EvalError {
    EvalError::new("unsigned integer overflow")
}

fn to_bool<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Bool(_)] => Ok(value.clone()),
        [value @ Value::String(text)] => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(conversion_error(value, "bool")),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn to_bytes<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Bytes(_)] => Ok(value.clone()),
        [Value::String(text)] => Ok(Value::bytes(text.as_bytes())),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the conversion is defined to round")]
fn to_double<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Double(_)] => Ok(value.clone()),
        [Value::Int(value)] => Ok(Value::Double(*value as f64)),
        [Value::Uint(value)] => Ok(Value::Double(*value as f64)),
        [value @ Value::String(text)] => {
            parse_double(text).map(Value::Double).ok_or_else(|| conversion_error(value, "double"))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Reads a number as Go does: underscores between digits, hexadecimal with exponent, infinities by name.
fn parse_double(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    if digits.starts_with("0x") || digits.starts_with("0X") {
        return parse_hexadecimal(text);
    }
    let is_name = digits.starts_with(['i', 'I', 'n', 'N']);
    let mut plain = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        match byte {
            b'_' if digit(at.checked_sub(1)) && digit(Some(at + 1)) => {}
            b'_' => return None,
            _ => plain.push(char::from(*byte)),
        }
    }
    let value: f64 = plain.parse().ok()?;
    (is_name || value.is_finite()).then_some(value)
}

/// `-0x1.8p-2`; the exponent is required.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let negative = text.starts_with('-');
    let body = text.trim_start_matches(['+', '-']).get(2..)?.replace('_', "");
    let (mantissa, exponent) = body.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && decimals.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(decimals.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let scale = exponent.checked_sub(4 * i32::try_from(decimals.len()).ok()?)?;
    let value = value * 2_f64.powi(scale);
    value.is_finite().then_some(if negative { -value } else { value })
}

fn to_duration<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Duration(_)] => Ok(value.clone()),
        // Declared, but not possible: as in the reference.
        [value @ Value::Int(_)] => Err(conversion_error(value, "google.protobuf.Duration")),
        [value @ Value::String(text)] => Duration::parse(text)
            .map(Value::Duration)
            .ok_or_else(|| conversion_error(value, "google.protobuf.Duration")),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn to_int<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Int(_)] => Ok(value.clone()),
        [Value::Uint(value)] => i64::try_from(*value).map(Value::Int).map_err(|_| int_overflow()),
        [Value::Double(value)] => {
            // The bounds themselves are refused, as in the reference.
            let inside = *value > -9_223_372_036_854_775_808.0;
            double_to_int(value.trunc()).filter(|_| inside).map(Value::Int).ok_or_else(int_overflow)
        }
        [Value::Duration(span)] => Ok(Value::Int(span.nanos())),
        [Value::Timestamp(instant)] => Ok(Value::Int(instant.seconds())),
        [value @ Value::String(text)] => {
            text.parse().map(Value::Int).map_err(|_| conversion_error(value, "int"))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn to_uint<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Uint(_)] => Ok(value.clone()),
        [Value::Int(value)] => u64::try_from(*value).map(Value::Uint).map_err(|_| uint_overflow()),
        [Value::Double(value)] => {
            crate::compare::double_to_uint(value.trunc()).map(Value::Uint).ok_or_else(uint_overflow)
        }
        [value @ Value::String(text)] => {
            let unsigned = !text.starts_with('+');
            let parsed = text.parse().ok().filter(|_| unsigned);
            parsed.map(Value::Uint).ok_or_else(|| conversion_error(value, "uint"))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn to_string<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::String(_)] => Ok(value.clone()),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::string(text)),
            Err(_) => Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [value] => plain(value).map(Value::from).ok_or_else(EvalError::no_such_overload),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn to_timestamp<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [value @ Value::Timestamp(_)] => Ok(value.clone()),
        [Value::Int(seconds)] => Timestamp::new(*seconds, 0)
            .map(Value::Timestamp)
            .ok_or_else(|| EvalError::new("timestamp overflow")),
        [value @ Value::String(text)] => Timestamp::parse(text)
            .map(Value::Timestamp)
            .ok_or_else(|| conversion_error(value, "google.protobuf.Timestamp")),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// A scalar as `string()` prints it; `None` for what has no such form.
pub(super) fn plain(value: &Value<'_>) -> Option<String> {
    Some(match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => text::double(*value),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.to_owned(),
        Value::Timestamp(instant) => instant.to_string(),
        Value::Duration(span) => span.to_string(),
        Value::Type(name) => name.to_string(),
        _ => return None,
    })
}

/// A value for an error text.
pub(crate) fn display(value: &Value<'_>) -> String {
    plain(value).unwrap_or_else(|| match value {
        // The reference shows its number.
        Value::Null => "0".to_owned(),
        other => other.type_name().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("1_0.5", Some(10.5)),
            ("0x1p-2", Some(0.25)),
            ("-0x1.8p1", Some(-3.0)),
            ("+Inf", Some(f64::INFINITY)),
            ("infinity", Some(f64::INFINITY)),
            (".5", Some(0.5)),
            ("1e999", None),
            ("_1", None),
            ("0x1", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(parse_double(text), expected, "{text}");
        }
    }
}
