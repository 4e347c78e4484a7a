//! Metadata as a client wrote it becomes metadata as the server keeps it.
//!
//! The reference decodes it into a Go struct and encodes it again: wrong types are refused with the decoder's
//! words, unknown fields are dropped and reported, empty fields vanish, times become UTC seconds. The type of
//! that struct is spelled out here as data.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go, v1.36;
//! `ObjectMeta` in apimachinery/pkg/apis/meta/v1/types.go.

use std::fmt;

use crate::{Map, Text, Value, go_fmt, time};

/// Whose metadata this is; it decides how errors name the place.
#[derive(Clone, Copy, Debug)]
pub enum MetaOwner<'a> {
    /// Of a custom resource or an embedded resource: decoded on its own.
    Custom,
    /// Of a built-in kind: decoded with the whole object.
    Typed { kind: &'a str },
}

/// What to do with known fields of a wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fail: for what clients send.
    Reject,
    /// Leave the field out: for what is in the store.
    Drop,
}

/// Metadata in the form the server keeps.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Coerced {
    pub metadata: Map,
    /// Paths such as `metadata.ownerReferences[0].x`, to be reported by strict validation.
    pub unknown: Vec<String>,
}

/// The first field of a wrong type, in the decoder's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoerceError {
    message: String,
}

impl fmt::Display for CoerceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CoerceError {}

/// Decodes metadata.
///
/// ```
/// use crest_meta::object::{Malformed, MetaOwner, coerce};
/// use crest_meta::wire::json;
/// let metadata = json::parse(br#"{"name": "a", "labels": {}, "x": 1}"#).unwrap().value;
/// let coerced = coerce(metadata, MetaOwner::Custom, Malformed::Reject).unwrap();
/// assert_eq!(json::to_string(&coerced.metadata.into()), r#"{"name":"a"}"#);
/// assert_eq!(coerced.unknown, ["metadata.x"]);
///
/// let wrong = json::parse(br#"{"name": 5}"#).unwrap().value;
/// assert_eq!(
///     coerce(wrong, MetaOwner::Custom, Malformed::Reject).unwrap_err().to_string(),
///     "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
/// );
/// ```
pub fn coerce(metadata: Value, owner: MetaOwner<'_>, malformed: Malformed) -> Result<Coerced, CoerceError> {
    let mut decoder = Decoder::default();
    let fields = match metadata {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Coerced::default()),
        other => return Err(wrong_root(&other, owner)),
    };
    if let MetaOwner::Typed { .. } = owner {
        decoder.fields.push("metadata");
    }
    if malformed == Malformed::Drop {
        return Ok(drop_malformed(fields));
    }
    let metadata = decoder.members(&OBJECT_META, fields, "metadata").map_err(CoerceError::from)?;
    match decoder.first_mismatch {
        Some(message) => Err(CoerceError { message }),
        None => Ok(Coerced { metadata, unknown: decoder.unknown }),
    }
}

fn wrong_root(found: &Value, owner: MetaOwner<'_>) -> CoerceError {
    let found = go_fmt::json_kind(found);
    let place = match owner {
        MetaOwner::Custom => "Go value".to_owned(),
        MetaOwner::Typed { kind } => format!("Go struct field {kind}.metadata"),
    };
    CoerceError { message: format!("json: cannot unmarshal {found} into {place} of type v1.ObjectMeta") }
}

/// Decodes each field on its own and keeps those that fit.
fn drop_malformed(fields: Map) -> Coerced {
    let mut coerced = Coerced::default();
    for (name, value) in fields.into_entries() {
        let mut decoder = Decoder::default();
        let single: Map = [(name, value)].into_iter().collect();
        let decoded = decoder.members(&OBJECT_META, single, "metadata");
        let (Ok(decoded), None) = (decoded, decoder.first_mismatch) else { continue };
        coerced.unknown.append(&mut decoder.unknown);
        for (name, value) in decoded.into_entries() {
            coerced.metadata.insert(name, value);
        }
    }
    coerced
}

/// The type of a field.
enum Type {
    /// A string with the name of its Go type.
    Text(&'static str),
    /// An integer that is left out when zero.
    Int,
    /// An integer that is left out only when absent.
    OptionalInt,
    OptionalBool,
    Time,
    TextMap,
    TextList,
    Structs(&'static Struct),
    /// Any value, kept as it is.
    Raw,
}

struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, Type)],
    /// Fields that are written even when empty.
    always: &'static [&'static str],
}

static OBJECT_META: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("annotations", Type::TextMap),
        ("creationTimestamp", Type::Time),
        ("deletionGracePeriodSeconds", Type::OptionalInt),
        ("deletionTimestamp", Type::Time),
        ("finalizers", Type::TextList),
        ("generateName", Type::Text("string")),
        ("generation", Type::Int),
        ("labels", Type::TextMap),
        ("managedFields", Type::Structs(&MANAGED_FIELDS)),
        ("name", Type::Text("string")),
        ("namespace", Type::Text("string")),
        ("ownerReferences", Type::Structs(&OWNER_REFERENCE)),
        ("resourceVersion", Type::Text("string")),
        ("selfLink", Type::Text("string")),
        ("uid", Type::Text("types.UID")),
    ],
    always: &[],
};

static OWNER_REFERENCE: Struct = Struct {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", Type::Text("string")),
        ("blockOwnerDeletion", Type::OptionalBool),
        ("controller", Type::OptionalBool),
        ("kind", Type::Text("string")),
        ("name", Type::Text("string")),
        ("uid", Type::Text("types.UID")),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED_FIELDS: Struct = Struct {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", Type::Text("string")),
        ("fieldsType", Type::Text("string")),
        ("fieldsV1", Type::Raw),
        ("manager", Type::Text("string")),
        ("operation", Type::Text("v1.ManagedFieldsOperationType")),
        ("subresource", Type::Text("string")),
        ("time", Type::Time),
    ],
    always: &[],
};

/// A malformed time ends the decoding at once, while other mismatches wait for the end.
struct Abort {
    message: String,
}

impl From<Abort> for CoerceError {
    fn from(abort: Abort) -> Self {
        CoerceError { message: abort.message }
    }
}

#[derive(Default)]
struct Decoder {
    /// The Go struct being decoded, and the fields that lead to the current value.
    structure: &'static str,
    fields: Vec<&'static str>,
    first_mismatch: Option<String>,
    unknown: Vec<String>,
}

impl Decoder {
    fn members(&mut self, structure: &'static Struct, members: Map, path: &str) -> Result<Map, Abort> {
        let outer = std::mem::replace(&mut self.structure, structure.name);
        let mut decoded: Vec<(Text, Value)> = Vec::new();
        for (name, value) in members.into_entries() {
            let Some((name, kind)) = structure.fields.iter().find(|(field, _)| *field == name) else {
                self.unknown.push(format!("{path}.{name}"));
                continue;
            };
            self.fields.push(name);
            let value = self.value(kind, value, path, name)?;
            self.fields.pop();
            if let Some(value) = value {
                decoded.push(((*name).into(), value));
            }
        }
        self.structure = outer;
        let mut decoded = Map::from_entries(decoded);
        for name in structure.always {
            decoded.get_or_insert_with(name, || Value::from(""));
        }
        Ok(decoded)
    }

    /// The value as the server keeps it; `None` when it is left out.
    fn value(&mut self, kind: &Type, value: Value, path: &str, name: &str) -> Result<Option<Value>, Abort> {
        Ok(match (kind, value) {
            (_, Value::Null) => None,
            (Type::Raw, value) | (Type::OptionalBool, value @ Value::Bool(_)) => Some(value),
            (Type::Text(_), Value::String(text)) => (!text.is_empty()).then_some(Value::String(text)),
            (Type::Int, value) => self.integer(value).filter(|number| *number != 0).map(Value::Int),
            (Type::OptionalInt, value) => self.integer(value).map(Value::Int),
            (Type::Time, value) => self.time(&value)?,
            (Type::TextMap, Value::Object(entries)) => self.text_map(entries),
            (Type::TextList, Value::Array(items)) => {
                let items: Vec<Value> = items.into_iter().map(|item| self.text(item)).collect();
                (!items.is_empty()).then_some(Value::Array(items))
            }
            (Type::Structs(structure), Value::Array(items)) => {
                let list = format!("{path}.{name}");
                let items = self.structs(structure, items, &list)?;
                (!items.is_empty()).then_some(Value::Array(items))
            }
            (kind, value) => {
                self.mismatch(&value, &kind.go_name());
                None
            }
        })
    }

    fn text_map(&mut self, entries: Map) -> Option<Value> {
        let entries = entries.into_entries().into_iter();
        let entries: Map = entries.map(|(key, value)| (key, self.text(value))).collect();
        (!entries.is_empty()).then_some(Value::Object(entries))
    }

    /// An element of a list or map of strings. Null is the empty string.
    fn text(&mut self, value: Value) -> Value {
        match value {
            Value::String(_) => value,
            Value::Null => Value::from(""),
            other => {
                self.mismatch(&other, "string");
                Value::from("")
            }
        }
    }

    fn structs(
        &mut self,
        structure: &'static Struct,
        items: Vec<Value>,
        list: &str,
    ) -> Result<Vec<Value>, Abort> {
        let mut decoded = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let members = match item {
                Value::Object(members) => members,
                Value::Null => Map::new(),
                other => {
                    self.mismatch(&other, &format!("v1.{}", structure.name));
                    Map::new()
                }
            };
            let path = format!("{list}[{index}]");
            decoded.push(Value::Object(self.members(structure, members, &path)?));
        }
        Ok(decoded)
    }

    fn integer(&mut self, value: Value) -> Option<i64> {
        match value {
            Value::Int(number) => Some(number),
            // Whole floats lose their point when they are encoded for the decoder.
            Value::Float(number) => {
                let text = crate::wire::json::to_string(&Value::Float(number));
                let parsed = text.parse().ok();
                if parsed.is_none() {
                    self.mismatch_text(&format!("number {text}"), "int64");
                }
                parsed
            }
            other => {
                self.mismatch(&other, "int64");
                None
            }
        }
    }

    fn time(&mut self, value: &Value) -> Result<Option<Value>, Abort> {
        let Value::String(text) = value else {
            // A time decodes itself, as a string of its own.
            let found = go_fmt::json_kind(value);
            let place = self.place();
            let message = format!("json: cannot unmarshal {found} into {place} of type string");
            return Err(Abort { message });
        };
        let time = time::parse(text).map_err(|error| Abort { message: error.to_string() })?;
        Ok((!time::is_zero(time)).then(|| Value::String(time::format(time))))
    }

    fn place(&self) -> String {
        format!("Go struct field {}.{}", self.structure, self.fields.join("."))
    }

    fn mismatch(&mut self, found: &Value, wanted: &str) {
        self.mismatch_text(go_fmt::json_kind(found), wanted);
    }

    fn mismatch_text(&mut self, found: &str, wanted: &str) {
        let message = format!("json: cannot unmarshal {found} into {} of type {wanted}", self.place());
        self.first_mismatch.get_or_insert(message);
    }
}

impl Type {
    fn go_name(&self) -> String {
        match self {
            Type::Text(name) => (*name).to_owned(),
            Type::Int | Type::OptionalInt => "int64".to_owned(),
            Type::OptionalBool => "bool".to_owned(),
            Type::Time => "v1.Time".to_owned(),
            Type::TextMap => "map[string]string".to_owned(),
            Type::TextList => "[]string".to_owned(),
            Type::Structs(structure) => format!("[]v1.{}", structure.name),
            Type::Raw => "v1.FieldsV1".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::wire::json;

    fn run(text: &str, owner: MetaOwner<'_>, malformed: Malformed) -> String {
        match coerce(json::parse(text.as_bytes()).unwrap().value, owner, malformed) {
            Ok(coerced) => {
                let metadata = json::to_string(&coerced.metadata.into());
                if coerced.unknown.is_empty() {
                    metadata
                } else {
                    format!("{metadata} {:?}", coerced.unknown)
                }
            }
            Err(error) => error.to_string(),
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&run(text, MetaOwner::Custom, Malformed::Reject));
    }

    #[test]
    fn empty_fields_vanish_and_times_become_utc_seconds() {
        check("null", expect!["{}"]);
        check(
            r#"{"name":"","generation":3.0,"labels":{},"annotations":{"a":null},"finalizers":[null],"ownerReferences":[null],"managedFields":[{}],"deletionGracePeriodSeconds":0,"creationTimestamp":"2024-01-01T01:00:00.5+01:00","deletionTimestamp":"0001-01-01T00:00:00Z"}"#,
            expect![[
                r#"{"annotations":{"a":""},"creationTimestamp":"2024-01-01T00:00:00Z","deletionGracePeriodSeconds":0,"finalizers":[""],"generation":3,"managedFields":[{}],"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]}"#
            ]],
        );
    }

    #[test]
    fn unknown_fields_are_dropped_and_reported() {
        check(
            r#"{"Name":"a","ownerReferences":[{"x":1,"controller":true}],"managedFields":[{"fieldsV1":{"f:a":{}},"y":1}]}"#,
            expect![[
                r#"{"managedFields":[{"fieldsV1":{"f:a":{}}}],"ownerReferences":[{"apiVersion":"","controller":true,"kind":"","name":"","uid":""}]} ["metadata.Name", "metadata.managedFields[0].y", "metadata.ownerReferences[0].x"]"#
            ]],
        );
    }

    #[test]
    fn wrong_types_are_refused_in_the_decoder_s_words() {
        check(r#""str""#, expect!["json: cannot unmarshal string into Go value of type v1.ObjectMeta"]);
        for (text, expected) in [
            (r#"{"labels":{"a":1}}"#, "number into Go struct field ObjectMeta.labels of type string"),
            (r#"{"labels":[]}"#, "array into Go struct field ObjectMeta.labels of type map[string]string"),
            (r#"{"uid":true,"name":1}"#, "number into Go struct field ObjectMeta.name of type string"),
            (r#"{"uid":true}"#, "bool into Go struct field ObjectMeta.uid of type types.UID"),
            (r#"{"generation":1.5}"#, "number 1.5 into Go struct field ObjectMeta.generation of type int64"),
            (
                r#"{"ownerReferences":[{"name":{}}]}"#,
                "object into Go struct field OwnerReference.ownerReferences.name of type string",
            ),
            (
                r#"{"ownerReferences":[1]}"#,
                "number into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
            ),
            (
                r#"{"creationTimestamp":1}"#,
                "number into Go struct field ObjectMeta.creationTimestamp of type string",
            ),
        ] {
            let found = run(text, MetaOwner::Custom, Malformed::Reject);
            assert_eq!(found, format!("json: cannot unmarshal {expected}"));
        }
        check(
            r#"{"annotations":1,"creationTimestamp":"x"}"#,
            expect![[r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#]],
        );
    }

    #[test]
    fn built_in_kinds_name_the_place_from_the_root() {
        let owner = MetaOwner::Typed { kind: "ConfigMap" };
        assert_eq!(
            run(r#""str""#, owner, Malformed::Reject),
            "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta"
        );
        assert_eq!(
            run(r#"{"name":5}"#, owner, Malformed::Reject),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"
        );
    }

    #[test]
    fn stored_objects_only_lose_what_is_malformed() {
        assert_eq!(
            run(r#"{"name":"a","labels":{"x":1},"z":1}"#, MetaOwner::Custom, Malformed::Drop),
            r#"{"name":"a"} ["metadata.z"]"#
        );
    }
}
