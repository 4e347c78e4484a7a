//! Reads an object as the reference's decoder reads it into a typed struct, and leaves it as its encoder prints it.
//!
//! One walk, in place: wrong types become Go's errors, unknown fields leave and are reported, null becomes the zero
//! value, times, base64 and quantities become canonical, zero values come and go as `omitempty` says.
//!
//! DIFFERENCE: objects are walked in the order of their keys, not of the text, so of several errors another one may
//! be the first; and the text of a number that does not fit is printed from its value.
//!
//! Upstream: sigs.k8s.io/json (a case-sensitive encoding/json); the `UnmarshalJSON` of the types in apimachinery and
//! apiextensions, v1.36.

use meta::{Map, Value, time};

use super::types::{Field, Kind, Shape, Struct, TypeId, TypeRef};
use super::{Quantity, go_base64};

/// How many unknown fields are reported at most.
const MAX_UNKNOWN: usize = 100;

/// What a successful decoding has to tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Paths of the fields that the type does not have, in the order of the walk: `spec.a[0].b`.
    pub unknown: Vec<String>,
}

/// Why a body is not an object of its kind, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(String);

impl DecodeError {
    pub(super) fn new(text: String) -> Self {
        DecodeError(text)
    }
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}

/// Makes `object` what the reference would answer after reading it as `kind`.
///
/// On error the object is left half-way and must be dropped.
///
/// ```
/// use meta::wire::json;
/// use crest_schema::typed::{decode, kind};
/// let mut object = json::parse(br#"{"metadata":{"name":"a"},"data":{"k":null},"nope":1}"#).unwrap().value;
/// let decoded = decode(kind("", "v1", "ConfigMap").unwrap(), &mut object).unwrap();
/// assert_eq!(decoded.unknown, ["nope"]);
/// assert_eq!(json::to_string(&object), r#"{"data":{"k":""},"metadata":{"name":"a"}}"#);
/// ```
pub fn decode(kind: Kind, object: &mut Value) -> Result<Decoded, DecodeError> {
    let root = TypeRef { id: kind.type_id(), pointer: false };
    decode_type(root, object).map_err(|error| DecodeError(error.to_string()))
}

fn decode_type(ty: TypeRef, value: &mut Value) -> Result<Decoded, GoError> {
    let mut decoder = Decoder { saved: None, unknown: Vec::new() };
    decoder.value(ty, value, &Place::ROOT)?;
    match decoder.saved {
        Some(error) => Err(error),
        None => Ok(Decoded { unknown: decoder.unknown }),
    }
}

/// A decoding error that may still learn where it happened.
#[derive(Debug)]
enum GoError {
    Type { value: String, go_type: String, strukt: &'static str, fields: Vec<&'static str> },
    Said(String),
}

impl GoError {
    fn of_type(value: impl Into<String>, go_type: &str) -> Self {
        GoError::Type { value: value.into(), go_type: go_type.to_owned(), strukt: "", fields: Vec::new() }
    }

    fn at(mut self, place: &Place<'_>) -> Self {
        if let GoError::Type { strukt, fields, .. } = &mut self
            && let Some(innermost) = place.strukt()
        {
            *strukt = innermost;
            let mut all = Vec::new();
            place.fields(&mut all);
            all.append(fields);
            *fields = all;
        }
        self
    }
}

impl std::fmt::Display for GoError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GoError::Said(text) => f.write_str(text),
            GoError::Type { value, go_type, strukt, fields } if strukt.is_empty() && fields.is_empty() => {
                write!(f, "json: cannot unmarshal {value} into Go value of type {go_type}")
            }
            GoError::Type { value, go_type, strukt, fields } => {
                let path = fields.join(".");
                write!(
                    f,
                    "json: cannot unmarshal {value} into Go struct field {strukt}.{path} of type {go_type}"
                )
            }
        }
    }
}

/// Where the walk is: the way back to the root, on the stack.
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Root,
    Field { strukt: &'static str, field: &'static Field },
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    const ROOT: Place<'static> = Place { parent: None, step: Step::Root };

    fn then(&'a self, step: Step<'a>) -> Place<'a> {
        Place { parent: Some(self), step }
    }

    /// The struct that holds the innermost field.
    fn strukt(&self) -> Option<&'static str> {
        match self.step {
            Step::Field { strukt, .. } => Some(strukt),
            _ => self.parent.and_then(Place::strukt),
        }
    }

    /// The names Go's errors show: fields and embedded structs, but neither map keys nor indexes.
    fn fields(&self, out: &mut Vec<&'static str>) {
        if let Some(parent) = self.parent {
            parent.fields(out);
        }
        if let Step::Field { field, .. } = self.step {
            out.extend(field.embedded.iter().map(|outer| outer.go_name));
            out.push(field.name);
        }
    }

    /// The path strict decoding reports.
    fn path_of(&self, name: &str) -> String {
        let mut path = String::new();
        self.write_path(&mut path);
        push_name(&mut path, name);
        path
    }

    fn write_path(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write_path(out);
        }
        match self.step {
            Step::Root => {}
            Step::Field { field, .. } => push_name(out, field.name),
            Step::Key(key) => push_name(out, key),
            Step::Index(index) => {
                out.push('[');
                out.push_str(&index.to_string());
                out.push(']');
            }
        }
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

struct Decoder {
    /// The first error that decoding can go on after. An error of a type's own reader ends it at once and wins.
    saved: Option<GoError>,
    unknown: Vec<String>,
}

impl Decoder {
    fn save(&mut self, error: GoError, place: &Place<'_>) {
        if self.saved.is_none() {
            self.saved = Some(error.at(place));
        }
    }

    fn value(&mut self, ty: TypeRef, value: &mut Value, place: &Place<'_>) -> Result<(), GoError> {
        if value.is_null() {
            if !ty.pointer {
                *value = zero_value(ty.id);
            }
            return Ok(());
        }
        let go_name = &ty.get().go_name;
        match &ty.get().shape {
            Shape::Struct(strukt) => match value {
                Value::Object(map) => return self.strukt(strukt, map, place),
                other => self.mismatch(other, go_name, place),
            },
            Shape::Map(element) => match value {
                Value::Object(map) => {
                    for (key, member) in map.iter_mut() {
                        self.value(*element, member, &place.then(Step::Key(key)))?;
                        settle_member(*element, member);
                    }
                    forget_empty(ty, map.is_empty(), value);
                }
                other => self.mismatch(other, go_name, place),
            },
            Shape::List(element) => match value {
                Value::Array(items) => {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.value(*element, item, &place.then(Step::Index(index)))?;
                    }
                    forget_empty(ty, items.is_empty(), value);
                }
                other => self.mismatch(other, go_name, place),
            },
            Shape::String if matches!(value, Value::String(_)) => {}
            Shape::Bool if matches!(value, Value::Bool(_)) => {}
            Shape::String | Shape::Bool => self.mismatch(value, go_name, place),
            Shape::Int32 | Shape::Int64 => {
                let narrow = matches!(ty.get().shape, Shape::Int32);
                if let Err(error) = check_int(value, narrow, go_name) {
                    self.save(error, place);
                }
            }
            Shape::Float => match value {
                Value::Int(_) => {}
                Value::Float(float) => {
                    if let Some(int) = as_int(*float) {
                        *value = Value::Int(int);
                    }
                }
                other => self.mismatch(other, go_name, place),
            },
            Shape::Bytes => match value {
                Value::String(text) => match go_base64::normalise(text) {
                    Ok(None) => {}
                    Ok(Some(canonical)) => *value = canonical.into(),
                    Err(error) => self.save(GoError::Said(error), place),
                },
                Value::Array(items) => match bytes_of(items) {
                    Ok(text) => *value = text.into(),
                    Err(error) => self.save(error, place),
                },
                other => self.mismatch(other, go_name, place),
            },
            _ => own_reader(ty, value).map_err(|error| error.at(place))?,
        }
        Ok(())
    }

    fn mismatch(&mut self, value: &Value, go_name: &str, place: &Place<'_>) {
        self.save(GoError::of_type(go_kind(value), go_name), place);
    }

    fn strukt(&mut self, strukt: &'static Struct, map: &mut Map, place: &Place<'_>) -> Result<(), GoError> {
        let mut failure = None;
        map.retain(|key, value| {
            if failure.is_some() {
                return true;
            }
            let Some(field) = strukt.field(key) else {
                self.report_unknown(key, place);
                return false;
            };
            let step = Step::Field { strukt: strukt.name, field };
            if let Err(error) = self.value(field.ty, value, &place.then(step)) {
                failure = Some(error);
            }
            !is_omitted(field, value)
        });
        if let Some(error) = failure {
            return Err(error);
        }
        add_zero_fields(strukt, map);
        Ok(())
    }

    fn report_unknown(&mut self, key: &str, place: &Place<'_>) {
        if self.unknown.len() < MAX_UNKNOWN {
            self.unknown.push(place.path_of(key));
        }
    }
}

/// The types that read their value themselves.
fn own_reader(ty: TypeRef, value: &mut Value) -> Result<(), GoError> {
    match &ty.get().shape {
        Shape::Time => read_time(value, false),
        Shape::MicroTime => read_time(value, true),
        Shape::IntOrString => match value {
            Value::String(_) => Ok(()),
            other => check_int(other, true, "int32"),
        },
        Shape::Quantity => {
            let text = match &*value {
                Value::String(text) => text.trim().to_owned(),
                other => meta::wire::json::to_string(other),
            };
            let changed = Quantity::normalise(&text).map_err(|error| GoError::Said(error.to_owned()))?;
            *value = changed.unwrap_or(text).into();
            Ok(())
        }
        Shape::SchemaOrBool(schema) => match value {
            Value::Bool(_) => Ok(()),
            Value::Object(_) => nested(*schema, value),
            _ => Err(GoError::Said("boolean or JSON schema expected".to_owned())),
        },
        Shape::SchemaOrArray(schema) => match value {
            Value::Object(_) => nested(*schema, value),
            Value::Array(items) if !items.is_empty() => {
                items.iter_mut().try_for_each(|item| nested(*schema, item))
            }
            _ => {
                *value = Value::Null;
                Ok(())
            }
        },
        Shape::SchemaOrStrings(schema) => match value {
            Value::Object(_) => nested(*schema, value),
            Value::Array(items) if !items.is_empty() => items.iter_mut().try_for_each(read_string),
            _ => {
                *value = Value::Null;
                Ok(())
            }
        },
        _ => Ok(()),
    }
}

/// A value read by a decoder of its own: unknown fields go unnoticed.
fn nested(id: TypeId, value: &mut Value) -> Result<(), GoError> {
    decode_type(TypeRef { id, pointer: false }, value).map(|_| ())
}

fn read_string(value: &mut Value) -> Result<(), GoError> {
    match value {
        Value::String(_) => Ok(()),
        Value::Null => {
            *value = "".into();
            Ok(())
        }
        other => Err(GoError::of_type(go_kind(other), "string")),
    }
}

fn read_time(value: &mut Value, micro: bool) -> Result<(), GoError> {
    let Value::String(text) = &*value else {
        return Err(GoError::of_type(go_kind(value), "string"));
    };
    if is_canonical_time(text.as_bytes(), micro) {
        return Ok(());
    }
    let parsed = if micro { time::parse_micro(text) } else { time::parse(text) };
    let parsed = parsed.map_err(|error| GoError::Said(error.to_string()))?;
    *value = match (time::is_zero(parsed), micro) {
        (true, _) => Value::Null,
        (false, true) => time::format_micro(parsed).into(),
        (false, false) => time::format(parsed).into(),
    };
    Ok(())
}

/// Whether a time is surely printed as it is written; most are. The last days of months are left to the reader.
fn is_canonical_time(text: &[u8], micro: bool) -> bool {
    let pattern: &[u8] = if micro { b"dddd-dd-ddTdd:dd:dd.ddddddZ" } else { b"dddd-dd-ddTdd:dd:ddZ" };
    let fits =
        |(byte, wanted): (&u8, &u8)| if *wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted };
    let two = |at: usize| (text[at] - b'0') * 10 + text[at + 1] - b'0';
    text.len() == pattern.len()
        && text.iter().zip(pattern).all(fits)
        && !text.starts_with(b"000")
        && (1..=12).contains(&two(5))
        && (1..=28).contains(&two(8))
        && two(11) < 24
        && two(14) < 60
        && two(17) < 60
}

fn check_int(value: &Value, narrow: bool, go_name: &str) -> Result<(), GoError> {
    match value {
        Value::Int(int) if !narrow || i32::try_from(*int).is_ok() => Ok(()),
        Value::Int(_) | Value::Float(_) => {
            Err(GoError::of_type(format!("number {}", number_text(value)), go_name))
        }
        other => Err(GoError::of_type(go_kind(other), go_name)),
    }
}

/// Bytes given as a list of numbers, which Go takes too.
fn bytes_of(items: &[Value]) -> Result<String, GoError> {
    let byte = |item: &Value| {
        let number = || GoError::of_type(format!("number {}", number_text(item)), "uint8");
        match item {
            Value::Null => Ok(0),
            Value::Int(int) => u8::try_from(*int).map_err(|_| number()),
            Value::Float(_) => Err(number()),
            other => Err(GoError::of_type(go_kind(other), "uint8")),
        }
    };
    let bytes = items.iter().map(byte).collect::<Result<Vec<u8>, GoError>>()?;
    Ok(go_base64::encode(&bytes))
}

/// A number as it was most likely written.
fn number_text(value: &Value) -> String {
    match value {
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9.3e18 => format!("{float:.1}"),
        other => meta::wire::json::to_string(other),
    }
}

/// A float that Go prints without a fraction.
fn as_int(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within ±2^53")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}

/// Go's word for what was found.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn forget_empty(ty: TypeRef, empty: bool, value: &mut Value) {
    if empty && ty.id.forgets_empty() {
        *value = Value::Null;
    }
}

/// The binary format reads back an empty value for a member without one.
fn settle_member(ty: TypeRef, member: &mut Value) {
    if member.is_null() && ty.id.forgets_empty() {
        match ty.get().shape {
            Shape::Bytes => *member = "".into(),
            Shape::List(_) => *member = Vec::new().into(),
            _ => {}
        }
    }
}

/// Whether the encoder leaves the field out.
fn is_omitted(field: &Field, value: &Value) -> bool {
    (field.omit_empty && is_empty(field, value)) || (field.omit_zero && value.is_null())
}

/// Go's notion of empty, which structs never are.
fn is_empty(field: &Field, value: &Value) -> bool {
    if field.ty.pointer {
        return value.is_null();
    }
    match (&field.ty.get().shape, value) {
        (Shape::Bool, Value::Bool(bool)) => !bool,
        (Shape::Int32 | Shape::Int64 | Shape::Float, Value::Int(int)) => *int == 0,
        (Shape::String | Shape::Bytes, Value::String(text)) => text.is_empty(),
        (Shape::List(_), Value::Array(items)) => items.is_empty(),
        (Shape::Map(_), Value::Object(map)) => map.is_empty(),
        (Shape::List(_) | Shape::Map(_) | Shape::Bytes, Value::Null) => true,
        _ => false,
    }
}

fn add_zero_fields(strukt: &'static Struct, map: &mut Map) {
    let printed = strukt.printed.get_or_init(|| {
        let fields = strukt.fields.iter().enumerate();
        let printed = fields.filter(|(_, field)| !is_omitted(field, &zero_field(field)));
        printed.map(|(place, _)| u16::try_from(place).expect("structs are small")).collect()
    });
    for place in printed {
        let field = &strukt.fields[usize::from(*place)];
        map.get_or_insert_with(field.name, || zero_field(field));
    }
}

fn zero_field(field: &Field) -> Value {
    if field.ty.pointer { Value::Null } else { zero_value(field.ty.id) }
}

/// How the zero value of a type is printed.
pub(super) fn zero_value(id: TypeId) -> Value {
    match &id.get().shape {
        Shape::Bool | Shape::SchemaOrBool(_) => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => Value::Int(0),
        Shape::String => "".into(),
        Shape::Quantity => "0".into(),
        Shape::Struct(strukt) => {
            let mut map = Map::new();
            add_zero_fields(strukt, &mut map);
            map.into()
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests;
