//! Values: what expressions are made of and evaluate to.
//!
//! A value borrows from the program (constants) and from the host's data for `'a`; only what an
//! evaluation creates is allocated, and shared from then on. See [`crate::host`] for how lists and maps
//! of another crate are read in place.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::collections::{List, Map};
use crate::error::EvalError;
use crate::time::{Duration, Timestamp};

/// The result of evaluating something.
pub type Evaluated<'a> = Result<Value<'a>, EvalError>;

/// A value of the language.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Str<'a>),
    Bytes(ByteStr<'a>),
    Timestamp(Timestamp),
    Duration(Duration),
    List(List<'a>),
    Map(Map<'a>),
    /// A type, by its name.
    Type(Str<'a>),
    Optional(Option<Arc<Value<'a>>>),
    /// A value of a type that a library or the host defines.
    Opaque(Arc<dyn Opaque>),
}

/// A value whose inside only its library understands.
pub trait Opaque: Any + fmt::Debug + Send + Sync {
    /// The name of its type.
    fn type_name(&self) -> &'static str;

    /// Whether it equals another value; `None` when the two cannot be compared.
    fn equals(&self, other: &Value<'_>) -> Option<bool>;

    /// For downcasting.
    fn as_any(&self) -> &dyn Any;

    /// Its size where it has one: it counts for costs.
    fn size(&self) -> Option<u64> {
        None
    }

    /// Whether `optional.ofNonZeroValue` takes it for nothing.
    fn is_zero(&self) -> bool {
        false
    }
}

/// Text that is borrowed or shared.
#[derive(Clone)]
pub enum Str<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Str::Borrowed(text) => text,
            Str::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Bytes that are borrowed or shared.
#[derive(Clone)]
pub enum ByteStr<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<[u8]>),
}

impl Deref for ByteStr<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            ByteStr::Borrowed(bytes) => bytes,
            ByteStr::Shared(bytes) => bytes,
        }
    }
}

impl fmt::Debug for ByteStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<'a> Value<'a> {
    /// Text that lives as long as the evaluation.
    pub fn str(text: &'a str) -> Self {
        Value::String(Str::Borrowed(text))
    }

    /// Text created now.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Value::String(Str::Shared(text.into()))
    }

    /// Bytes created now.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Value::Bytes(ByteStr::Shared(bytes.into()))
    }

    pub fn list(items: Vec<Value<'a>>) -> Self {
        Value::List(List::from(items))
    }

    pub fn some(value: Value<'a>) -> Self {
        Value::Optional(Some(Arc::new(value)))
    }

    pub const NONE: Value<'static> = Value::Optional(None);

    pub fn opaque(value: impl Opaque) -> Self {
        Value::Opaque(Arc::new(value))
    }

    /// The inside of a value that a library defined.
    pub fn downcast<T: 'static>(&self) -> Option<&T> {
        match self {
            Value::Opaque(opaque) => opaque.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// The same value, borrowing instead of sharing where it can.
    #[must_use]
    pub fn borrowed(&'a self) -> Value<'a> {
        match self {
            Value::String(text) => Value::String(Str::Borrowed(text)),
            Value::Bytes(bytes) => Value::Bytes(ByteStr::Borrowed(bytes)),
            Value::Type(name) => Value::Type(Str::Borrowed(name)),
            Value::List(list) => Value::List(list.borrowed()),
            Value::Map(map) => Value::Map(map.borrowed()),
            other => other.clone(),
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&List<'a>> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    pub fn as_map(&self) -> Option<&Map<'a>> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The name of the value's type, as `type()` shows it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Type(_) => "type",
            Value::Optional(_) => crate::types::OPTIONAL,
            Value::Opaque(opaque) => opaque.type_name(),
        }
    }

    /// What costs call the value's size: characters, bytes, entries; otherwise 1.
    pub fn size(&self) -> u64 {
        match self {
            Value::String(text) => character_count(text),
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Opaque(opaque) => opaque.size().unwrap_or(1),
            _ => 1,
        }
    }

    /// Whether `optional.ofNonZeroValue` takes the value for nothing.
    pub fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Int(value) => *value == 0,
            Value::Uint(value) => *value == 0,
            Value::Double(value) => *value == 0.0,
            Value::String(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::Timestamp(instant) => instant.is_zero(),
            Value::Type(_) => false,
            Value::Duration(span) => span.nanos() == 0,
            Value::List(list) => list.len() == 0,
            Value::Map(map) => map.len() == 0,
            Value::Optional(inner) => inner.as_ref().is_none_or(|inner| inner.is_zero()),
            Value::Opaque(opaque) => opaque.is_zero(),
        }
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Double(value)
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Value::string(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::str(value)
    }
}

/// Characters in a text. ASCII, the usual case, is its own count.
pub(crate) fn character_count(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}
