//! What typed metadata looks like, as data, and the decoding of a value into that form in place.
//!
//! The effect is that of decoding into Go's `ObjectMeta` and encoding it again: unknown fields vanish, null and
//! empty ones too, times are in UTC. The first field of a wrong type is the one that is reported.
//! A well-formed value is only looked at.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/types.go and sigs.k8s.io/json, v1.36.

use meta::wire::json;
use meta::{FieldPath, Map, Text, Value};

use super::Malformed;
use super::time;

/// Decodes `metadata` of the object at `owner`.
///
/// On failure with [`Malformed::Refuse`] the value is left in an unspecified, well-formed state.
pub(super) fn coerce(
    metadata: &mut Value,
    malformed: Malformed,
    unknown: Option<&mut Vec<String>>,
    owner: &FieldPath<'_>,
) -> Result<(), String> {
    if let Value::Null = metadata {
        *metadata = Map::new().into();
        return Ok(());
    }
    let Value::Object(map) = metadata else {
        return Err(match malformed {
            Malformed::Refuse => {
                format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", kind(metadata))
            }
            Malformed::Drop => format!("invalid metadata: expected object, got {}", go_type(metadata)),
        });
    };
    let mut decoder = Decoder { malformed, unknown, first_error: None };
    decoder.structure(map, &OBJECT_META, &owner.field("metadata"), &mut Vec::new())?;
    match decoder.first_error {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

enum Shape {
    Text,
    Integer,
    Boolean,
    Time,
    TextMap,
    Texts,
    Structures(&'static Structure),
    /// Any JSON.
    Raw,
}

struct Structure {
    name: &'static str,
    go_type: &'static str,
    /// Ascending by name.
    fields: &'static [Field],
}

struct Field {
    name: &'static str,
    shape: Shape,
    /// Present even when empty.
    always: bool,
    /// Present when zero, if it was given: a pointer in Go.
    pointer: bool,
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, always: false, pointer: false }
}

const fn always(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, always: true, pointer: false }
}

const fn pointer(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, always: false, pointer: true }
}

static OBJECT_META: Structure = Structure {
    name: "ObjectMeta",
    go_type: "v1.ObjectMeta",
    fields: &[
        field("annotations", Shape::TextMap),
        field("creationTimestamp", Shape::Time),
        pointer("deletionGracePeriodSeconds", Shape::Integer),
        pointer("deletionTimestamp", Shape::Time),
        field("finalizers", Shape::Texts),
        field("generateName", Shape::Text),
        field("generation", Shape::Integer),
        field("labels", Shape::TextMap),
        field("managedFields", Shape::Structures(&MANAGED_FIELDS_ENTRY)),
        field("name", Shape::Text),
        field("namespace", Shape::Text),
        field("ownerReferences", Shape::Structures(&OWNER_REFERENCE)),
        field("resourceVersion", Shape::Text),
        field("selfLink", Shape::Text),
        field("uid", Shape::Text),
    ],
};

static OWNER_REFERENCE: Structure = Structure {
    name: "OwnerReference",
    go_type: "v1.OwnerReference",
    fields: &[
        always("apiVersion", Shape::Text),
        pointer("blockOwnerDeletion", Shape::Boolean),
        pointer("controller", Shape::Boolean),
        always("kind", Shape::Text),
        always("name", Shape::Text),
        always("uid", Shape::Text),
    ],
};

static MANAGED_FIELDS_ENTRY: Structure = Structure {
    name: "ManagedFieldsEntry",
    go_type: "v1.ManagedFieldsEntry",
    fields: &[
        field("apiVersion", Shape::Text),
        field("fieldsType", Shape::Text),
        pointer("fieldsV1", Shape::Raw),
        field("manager", Shape::Text),
        field("operation", Shape::Text),
        field("subresource", Shape::Text),
        pointer("time", Shape::Time),
    ],
};

/// What a decoded value is worth.
enum Decoded {
    Kept,
    /// The zero value of its type: left out unless the field is a pointer or always present.
    Zero,
    /// Null, or of a wrong type.
    Absent,
}

struct Decoder<'r> {
    malformed: Malformed,
    unknown: Option<&'r mut Vec<String>>,
    /// Decoding goes on after a type error, and the first one counts. Errors of times end it at once.
    first_error: Option<String>,
}

/// Where the decoder is, for messages: the innermost structure and the names of the fields down to here.
struct Place<'a> {
    structure: &'static Structure,
    fields: &'a [&'static str],
}

impl Decoder<'_> {
    fn structure(
        &mut self,
        map: &mut Map,
        structure: &'static Structure,
        path: &FieldPath<'_>,
        fields: &mut Vec<&'static str>,
    ) -> Result<(), String> {
        let is_top = fields.is_empty();
        let mut fatal = None;
        map.retain(|name, value| {
            let Ok(index) = structure.fields.binary_search_by(|field| field.name.cmp(name)) else {
                if let Some(unknown) = &mut self.unknown {
                    unknown.push(path.field(name).to_string());
                }
                return false;
            };
            let field = &structure.fields[index];
            fields.push(field.name);
            let decoded = self.value(value, field, structure, &path.field(name), fields);
            fields.pop();
            if is_top && self.malformed == Malformed::Drop {
                let failed = decoded.is_err() || self.first_error.take().is_some();
                return !failed && decoded.is_ok_and(|decoded| stays(&decoded, field, value));
            }
            match decoded {
                Ok(decoded) => stays(&decoded, field, value),
                Err(error) => {
                    fatal.get_or_insert(error);
                    true
                }
            }
        });
        for field in structure.fields.iter().filter(|field| field.always) {
            map.get_or_insert_with(field.name, || "".into());
        }
        fatal.map_or(Ok(()), Err)
    }

    fn value(
        &mut self,
        value: &mut Value,
        field: &'static Field,
        structure: &'static Structure,
        path: &FieldPath<'_>,
        fields: &mut Vec<&'static str>,
    ) -> Result<Decoded, String> {
        let place = Place { structure, fields };
        match (&field.shape, value) {
            (_, Value::Null) => Ok(Decoded::Absent),
            (Shape::Raw, _) => Ok(Decoded::Kept),
            (Shape::Text, Value::String(text)) => Ok(zero_if(text.is_empty())),
            (Shape::Boolean, Value::Bool(_)) => Ok(Decoded::Kept),
            (Shape::Integer, value) => Ok(self.integer(value, &place)),
            (Shape::Time, value) => time::normalize(value).map(|()| Decoded::Kept),
            (Shape::TextMap, Value::Object(map)) => {
                for (_, value) in map.iter_mut() {
                    self.text(value, &place);
                }
                Ok(zero_if(map.is_empty()))
            }
            (Shape::Texts, Value::Array(items)) => {
                for item in items.iter_mut() {
                    self.text(item, &place);
                }
                Ok(zero_if(items.is_empty()))
            }
            (Shape::Structures(structure), Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.item(item, structure, &path.index(index), fields)?;
                }
                Ok(zero_if(items.is_empty()))
            }
            (shape, value) => {
                self.wrong(kind(value), &go_type_of(shape), &place);
                Ok(Decoded::Absent)
            }
        }
    }

    fn item(
        &mut self,
        item: &mut Value,
        structure: &'static Structure,
        path: &FieldPath<'_>,
        fields: &mut Vec<&'static str>,
    ) -> Result<(), String> {
        if let Value::Null = item {
            *item = Map::new().into();
        }
        match item {
            Value::Object(map) => self.structure(map, structure, path, fields),
            other => {
                // The structure is not entered, so the message names the one around it.
                self.wrong(kind(other), structure.go_type, &Place { structure: &OBJECT_META, fields });
                Ok(())
            }
        }
    }

    /// A member of a map or list of strings: null is the empty string.
    fn text(&mut self, value: &mut Value, place: &Place<'_>) {
        match value {
            Value::String(_) => {}
            Value::Null => *value = "".into(),
            _ => {
                self.wrong(kind(value), "string", place);
                *value = "".into();
            }
        }
    }

    fn integer(&mut self, value: &mut Value, place: &Place<'_>) -> Decoded {
        if let Value::Float(_) = value {
            // Whole numbers are written without a fraction and read back as integers.
            let written = json::to_string(value);
            match written.parse::<i64>() {
                Ok(number) => *value = Value::Int(number),
                Err(_) => {
                    self.wrong(&format!("number {written}"), "int64", place);
                    return Decoded::Absent;
                }
            }
        }
        match value {
            Value::Int(number) => zero_if(*number == 0),
            other => {
                self.wrong(kind(other), "int64", place);
                Decoded::Absent
            }
        }
    }

    fn wrong(&mut self, found: &str, expected: &str, place: &Place<'_>) {
        self.first_error.get_or_insert_with(|| {
            let (structure, field) = (place.structure.name, place.fields.join("."));
            format!(
                "json: cannot unmarshal {found} into Go struct field {structure}.{field} of type {expected}"
            )
        });
    }
}

fn stays(decoded: &Decoded, field: &Field, value: &mut Value) -> bool {
    match decoded {
        Decoded::Kept => true,
        Decoded::Zero => field.always || field.pointer,
        Decoded::Absent => {
            *value = Value::String(Text::default());
            field.always
        }
    }
}

fn zero_if(zero: bool) -> Decoded {
    if zero { Decoded::Zero } else { Decoded::Kept }
}

/// The JSON kind of a value, as the decoder's messages spell it.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn go_type_of(shape: &Shape) -> String {
    match shape {
        Shape::Text => "string".to_owned(),
        Shape::Integer => "int64".to_owned(),
        Shape::Boolean => "bool".to_owned(),
        Shape::Time => "v1.Time".to_owned(),
        Shape::TextMap => "map[string]string".to_owned(),
        Shape::Texts => "[]string".to_owned(),
        Shape::Structures(structure) => format!("[]{}", structure.go_type),
        Shape::Raw => "v1.FieldsV1".to_owned(),
    }
}
