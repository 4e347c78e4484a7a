//! From an `OpenAPI` schema to declared types, sizes, and views of data.
//!
//! A schema node is everything at once: it gives the type of a value, the largest size that the value can
//! have, and reads the value from JSON.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cel::ast::Name;
use cel::cost::estimate::{Estimate, SizeHints};
use cel::{
    Data, Duration, Env, EnvBuilder, EvalError, Evaluated, HostList, HostMap, ListView, Map, MapView,
    ObjectType, Opaque, Semantics, Str, Timestamp, Type, Value,
};
use serde_json::Value as Json;

/// The size of a request, which bounds what has no bound of its own.
pub(crate) const REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// A node of a schema.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) kind: Kind,
    /// The type as the schema writes it; empty where it writes none.
    pub(crate) type_name: String,
    pub(crate) nullable: bool,
    /// The most elements, characters or bytes that a value can have.
    max_elements: u64,
    /// The fewest bytes that a value takes in JSON.
    pub(crate) min_size: u64,
    /// The type of values; `None` where expressions cannot see them.
    pub(crate) ty: Option<Type>,
    pub(crate) rules: Vec<Json>,
    pub(crate) all_of: Vec<Schema>,
}

/// What a node describes.
#[derive(Debug)]
pub(crate) enum Kind {
    IntOrString,
    Bool,
    Int,
    Double,
    Text(Format),
    List { item: Option<Box<Schema>>, list_type: String, keys: Vec<Name> },
    Map { value: Box<Schema> },
    Object { fields: BTreeMap<String, Schema> },
    Unknown,
}

/// How the text of a field is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Plain,
    Bytes,
    Duration,
    Date,
    DateTime,
}

impl Schema {
    /// Reads a schema whose root type gets the name `name`.
    pub(crate) fn new(json: &Json, name: &str, is_resource_root: bool) -> Schema {
        let json = if is_resource_root { with_object_meta(json) } else { json.clone() };
        let number = |key: &str| json[key].as_i64().map(|value| u64::try_from(value).unwrap_or(0));
        let type_name = json["type"].as_str().unwrap_or_default();
        let format = match json["format"].as_str() {
            Some("byte") => Format::Bytes,
            Some("duration") => Format::Duration,
            Some("date") => Format::Date,
            Some("date-time") => Format::DateTime,
            _ => Format::Plain,
        };
        let kind = kind_of(&json, type_name, format, name);
        let max_length = number("maxLength");
        let (ty, max_elements, min_size) = match &kind {
            Kind::IntOrString => (Some(Type::Dyn), max_length.map_or(REQUEST_BYTES - 2, |n| n * 4), 1),
            Kind::Bool => (Some(Type::Bool), 0, 4),
            Kind::Int => (Some(Type::Int), 0, 1),
            Kind::Double => (Some(Type::Double), 0, 1),
            Kind::Text(Format::Bytes) => (Some(Type::Bytes), max_length.unwrap_or(REQUEST_BYTES - 2), 2),
            Kind::Text(Format::Duration) => (Some(Type::Duration), 32, 3),
            Kind::Text(Format::Date) => (Some(Type::Timestamp), 12, 12),
            Kind::Text(Format::DateTime) => (Some(Type::Timestamp), 32, 21),
            Kind::Text(Format::Plain) => (Some(Type::String), text_size(&json, max_length), 2),
            Kind::List { item, .. } => match item.as_ref().and_then(|item| Some((item, item.ty.clone()?))) {
                Some((item, ty)) => {
                    let unbounded = (REQUEST_BYTES - 2) / (item.min_size + 1);
                    (Some(Type::list(ty)), number("maxItems").unwrap_or(unbounded), 2)
                }
                None => (None, 0, 2),
            },
            Kind::Map { value } => match &value.ty {
                Some(ty) => {
                    let unbounded = (REQUEST_BYTES - 2) / (value.min_size + 6);
                    let ty = Type::map(Type::String, ty.clone());
                    (Some(ty), number("maxProperties").unwrap_or(unbounded), 2)
                }
                None => (None, 0, 2),
            },
            Kind::Object { fields } => (Some(Type::object(name)), 0, object_size(&json, fields)),
            Kind::Unknown => (None, 0, 0),
        };
        let list = |key: &str| json[key].as_array().cloned().unwrap_or_default();
        let all_of =
            list("allOf").iter().map(|part| Schema::new(&grafted(&json, part), name, false)).collect();
        Schema {
            kind,
            type_name: type_name.to_owned(),
            nullable: json["nullable"] == true,
            max_elements,
            min_size,
            ty,
            rules: list("x-kubernetes-validations"),
            all_of,
        }
    }

    /// Declares the object types that values can have.
    pub(crate) fn declare(&self, mut builder: EnvBuilder) -> EnvBuilder {
        match &self.kind {
            Kind::Object { fields } => {
                if let Some(Type::Object(name)) = &self.ty {
                    let field = |(name, schema): (&String, &Schema)| {
                        let ty = schema.ty.clone()?;
                        // Words that the grammar takes for names need no escaping.
                        let plain = RESERVED.contains(&name.as_str()).then(|| (name.clone(), ty.clone()));
                        Some([Some((escape(name)?, ty)), plain].into_iter().flatten())
                    };
                    let fields = fields.iter().filter_map(field).flatten();
                    builder = builder.object(ObjectType::new(name, fields));
                }
                fields.values().fold(builder, |builder, field| field.declare(builder))
            }
            Kind::List { item: Some(item), .. } => item.declare(builder),
            Kind::Map { value } => value.declare(builder),
            _ => builder,
        }
    }

    /// Reads a value.
    pub(crate) fn value<'a>(&'a self, data: &'a Json) -> Evaluated<'a> {
        let wrong = |what: &str| Err(EvalError::new(format!("invalid data, {what}")));
        if data.is_null() {
            return if self.nullable {
                Ok(Value::Null)
            } else {
                wrong("got null for schema with nullable=false")
            };
        }
        match (&self.kind, data) {
            (Kind::IntOrString, Json::String(text)) => Ok(Value::str(text)),
            (Kind::IntOrString | Kind::Int, Json::Number(number)) if number.is_i64() => {
                Ok(Value::Int(number.as_i64().unwrap_or(0)))
            }
            (Kind::IntOrString, _) => wrong("expected XIntOrString value to be either a string or integer"),
            (Kind::Bool, Json::Bool(value)) => Ok(Value::Bool(*value)),
            (Kind::Double, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or(0.0))),
            (Kind::Text(format), Json::String(text)) => read_text(*format, text),
            (Kind::List { item: Some(_), .. }, Json::Array(_)) => {
                Ok(Value::from(HostList { data, view: self }))
            }
            (Kind::List { .. }, Json::Array(_)) => {
                Err(EvalError::new("invalid array type, expected Items with a non-empty Schema"))
            }
            (Kind::Map { .. } | Kind::Object { .. }, Json::Object(_)) => {
                Ok(Value::from(HostMap { data, view: self }))
            }
            (Kind::Map { .. } | Kind::Object { .. }, _) => {
                wrong("expected a map for the provided schema with type=object")
            }
            (Kind::List { .. }, _) => wrong("expected an array for the provided schema with type=array"),
            (Kind::Unknown, data) => Ok(Value::opaque(Preserved(data.clone()))),
            _ => wrong("the value does not fit the schema"),
        }
    }

    fn child(&self, name: &str) -> Option<&Schema> {
        match (&self.kind, name) {
            (Kind::List { item: Some(item), .. }, "@items" | "@values") => Some(item),
            (Kind::Map { value }, "@items" | "@values") => Some(value),
            (Kind::Map { .. }, "@keys") => Some(key_schema()),
            (Kind::Object { fields }, name) => fields
                .iter()
                .find(|(field, schema)| schema.ty.is_some() && escape(field).as_deref() == Some(name))
                .map(|(_, schema)| schema),
            _ => None,
        }
    }
}

/// Sizes by path. The first element is dropped whatever it is: the reference does not look at it.
impl SizeHints for Schema {
    fn size(&self, path: &[Name]) -> Option<Estimate> {
        let (_, rest) = path.split_first()?;
        let found = rest.iter().try_fold(self, |schema, name| schema.child(name))?;
        Some(Estimate { min: 0, max: found.max_elements })
    }
}

/// Keys are text of which nothing is known, not even that they have a size.
fn key_schema() -> &'static Schema {
    static KEY: OnceLock<Schema> = OnceLock::new();
    KEY.get_or_init(|| Schema {
        max_elements: 0,
        ..Schema::new(&serde_json::json!({"type": "string"}), "", false)
    })
}

fn kind_of(json: &Json, type_name: &str, format: Format, name: &str) -> Kind {
    let nested = |json: &Json, suffix: &str| {
        let embedded = json["x-kubernetes-embedded-resource"] == true;
        Schema::new(json, &format!("{name}.{suffix}"), embedded)
    };
    if json["x-kubernetes-int-or-string"] == true {
        return Kind::IntOrString;
    }
    match type_name {
        "boolean" => Kind::Bool,
        "integer" => Kind::Int,
        "number" => Kind::Double,
        "string" => Kind::Text(format),
        "array" => Kind::List {
            item: json["items"].as_object().map(|_| Box::new(nested(&json["items"], "@idx"))),
            list_type: json["x-kubernetes-list-type"].as_str().unwrap_or_default().to_owned(),
            keys: texts(&json["x-kubernetes-list-map-keys"])
                .iter()
                .map(|key| Name::from(key.as_str()))
                .collect(),
        },
        "object" if json["additionalProperties"].is_object() => {
            Kind::Map { value: Box::new(nested(&json["additionalProperties"], "@elem")) }
        }
        "object" => {
            let properties = json["properties"].as_object();
            let field = |(key, property): (&String, &Json)| {
                let suffix = escape(key).unwrap_or_else(|| key.clone());
                (key.clone(), nested(property, &suffix))
            };
            let fields = properties.map(|properties| properties.iter().map(field).collect());
            Kind::Object { fields: fields.unwrap_or_default() }
        }
        _ => Kind::Unknown,
    }
}

fn texts(json: &Json) -> Vec<String> {
    let list = json.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn text_size(json: &Json, max_length: Option<u64>) -> u64 {
    let options = texts(&json["enum"]);
    match max_length {
        Some(length) => length * 4,
        None if !options.is_empty() => options.iter().map(|option| option.len() as u64).max().unwrap_or(0),
        None => REQUEST_BYTES - 2,
    }
}

/// Braces, and every required property that has no default.
fn object_size(json: &Json, fields: &BTreeMap<String, Schema>) -> u64 {
    let required = texts(&json["required"]);
    let is_counted =
        |name: &&String| required.contains(name) && json["properties"][name.as_str()]["default"].is_null();
    let size = |(name, schema): (&String, &Schema)| name.len() as u64 + schema.min_size + 4;
    let counted = fields.iter().filter(|(name, schema)| schema.ty.is_some() && is_counted(name));
    2 + counted.map(size).sum::<u64>()
}

/// What a resource always has and shows.
fn with_object_meta(json: &Json) -> Json {
    let mut json = json.clone();
    let has_text = |parent: &Json, name: &str| parent["properties"][name]["type"] == "string";
    let metadata = &json["properties"]["metadata"];
    if has_text(&json, "kind")
        && has_text(&json, "apiVersion")
        && has_text(metadata, "name")
        && has_text(metadata, "generateName")
    {
        return json;
    }
    let text = serde_json::json!({"type": "string"});
    let metadata = serde_json::json!({"type": "object", "properties": {"name": text, "generateName": text}});
    if !json["properties"].is_object() {
        json["properties"] = serde_json::json!({});
    }
    json["properties"]["kind"] = text.clone();
    json["properties"]["apiVersion"] = text;
    json["properties"]["metadata"] = metadata;
    json
}

/// The shape of one schema with the rules of another: of a branch of `allOf`, say.
fn grafted(shape: &Json, rules: &Json) -> Json {
    const MOVED: [&str; 5] =
        ["x-kubernetes-validations", "allOf", "properties", "items", "additionalProperties"];
    let Some(shape_keys) = shape.as_object() else { return shape.clone() };
    let mut out: serde_json::Map<String, Json> = shape_keys
        .iter()
        .filter(|(key, _)| !MOVED.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    for key in ["x-kubernetes-validations", "allOf"] {
        if let Some(found) = rules.get(key) {
            out.insert(key.to_owned(), found.clone());
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(found) = shape.get(key) {
            out.insert(key.to_owned(), grafted(found, &rules[key]));
        }
    }
    if let Some(properties) = shape["properties"].as_object() {
        let graft =
            |(name, found): (&String, &Json)| (name.clone(), grafted(found, &rules["properties"][name]));
        out.insert("properties".to_owned(), Json::Object(properties.iter().map(graft).collect()));
    }
    Json::Object(out)
}

/// Words that are not names of variables.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A property as a field name; `None` when it cannot be one.
pub(crate) fn escape(name: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(allowed) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

fn json_of(data: &Data) -> &Json {
    data.downcast_ref().expect("schema views are paired with JSON only")
}

impl ListView for Schema {
    fn equals_other(&self) -> Result<bool, EvalError> {
        Err(EvalError::no_such_overload())
    }

    fn len(&self, data: &Data) -> usize {
        json_of(data).as_array().map_or(0, Vec::len)
    }

    fn item<'a>(&'a self, data: &'a Data, index: usize) -> Evaluated<'a> {
        match &self.kind {
            Kind::List { item: Some(item), .. } => item.value(&json_of(data)[index]),
            _ => Err(EvalError::new("not a list")),
        }
    }

    fn semantics(&self) -> Semantics<'_> {
        match &self.kind {
            Kind::List { list_type, .. } if list_type == "set" => Semantics::Set,
            Kind::List { list_type, keys, .. } if list_type == "map" => Semantics::Keyed(keys),
            _ => Semantics::Ordered,
        }
    }
}

impl MapView for Schema {
    fn equals_other(&self) -> Result<bool, EvalError> {
        Err(EvalError::no_such_overload())
    }

    fn len(&self, data: &Data) -> usize {
        json_of(data).as_object().map_or(0, serde_json::Map::len)
    }

    fn get<'a>(&'a self, data: &'a Data, key: &str) -> Option<Evaluated<'a>> {
        let entries = json_of(data).as_object()?;
        match &self.kind {
            Kind::Map { value } => entries.get(key).map(|found| value.value(found)),
            Kind::Object { fields } => {
                // A field's name may also be written as it is, where the grammar allows it.
                let fits = |name: &String| name == key || escape(name).as_deref() == Some(key);
                let (name, schema) = fields.iter().find(|(name, _)| fits(name))?;
                let found = entries.get(name).filter(|found| !found.is_null())?;
                Some(schema.value(found))
            }
            _ => None,
        }
    }

    fn keys<'a>(&'a self, data: &'a Data) -> Vec<Str<'a>> {
        let Some(entries) = json_of(data).as_object() else { return Vec::new() };
        match &self.kind {
            Kind::Map { .. } => entries.keys().map(|key| Str::Borrowed(key)).collect(),
            Kind::Object { fields } => entries
                .keys()
                .filter(|key| fields.contains_key(*key))
                .map(|key| Str::Shared(escape(key).unwrap_or_else(|| key.clone()).into()))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn equals(&self, data: &Data, other: &Map<'_>) -> Option<Result<bool, EvalError>> {
        let entries = json_of(data).as_object()?;
        if entries.len() != other.len() {
            return Some(Ok(false));
        }
        for (key, raw) in entries {
            let is_visible = match &self.kind {
                Kind::Map { .. } => true,
                Kind::Object { fields } => fields.contains_key(key),
                _ => false,
            };
            if !is_visible {
                // What expressions cannot see is compared as it is.
                let Map::Host(theirs) = other else { return Some(Err(EvalError::no_such_overload())) };
                if json_of(theirs.data).get(key).is_some_and(|theirs| theirs != raw) {
                    return Some(Ok(false));
                }
                continue;
            }
            match (self.get(data, key), other.get_str(key)) {
                (Some(own), Some(theirs)) => match own.and_then(|own| cel::equal(&own, &theirs?)) {
                    Ok(true) => {}
                    decided => return Some(decided),
                },
                (None, None) => {}
                _ => return Some(Ok(false)),
            }
        }
        Some(Ok(true))
    }
}

/// A value that the schema says nothing about. It can only be compared.
#[derive(Debug)]
struct Preserved(Json);

impl Opaque for Preserved {
    fn type_name(&self) -> &'static str {
        "unknown"
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        other.downcast::<Preserved>().map(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn read_text(format: Format, text: &str) -> Evaluated<'_> {
    let invalid = |what: &str| EvalError::new(format!("Invalid {what} {text}"));
    match format {
        Format::Plain => Ok(Value::str(text)),
        Format::Bytes => Ok(Value::bytes(super::spec::base64(text))),
        Format::Duration => Duration::parse(text)
            .or_else(|| lenient_duration(text))
            .map(Value::Duration)
            .ok_or_else(|| invalid("duration")),
        Format::Date => Timestamp::parse(&format!("{text}T00:00:00Z"))
            .map(Value::Timestamp)
            .ok_or_else(|| invalid("date formatted string")),
        Format::DateTime => Timestamp::parse(text)
            .or_else(|| Timestamp::parse(&format!("{text}Z")))
            .map(Value::Timestamp)
            .ok_or_else(|| invalid("date-time formatted string")),
    }
}

/// `1 hour`, `2 days`: numbers with units spelled out.
fn lenient_duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_once(' ')?;
    let nanos: i64 = match unit.trim_end_matches('s') {
        "second" | "sec" => 1_000_000_000,
        "minute" | "min" => 60_000_000_000,
        "hour" => 3_600_000_000_000,
        "day" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(nanos).map(Duration::from_nanos)
}

/// The environment of a rule at this node.
pub(crate) fn environment(schema: &Schema, optional_old_self: bool) -> Option<Arc<Env>> {
    static BASE: OnceLock<Arc<Env>> = OnceLock::new();
    let ty = schema.ty.clone()?;
    let old = if optional_old_self { Type::optional(ty.clone()) } else { ty.clone() };
    let builder = BASE.get_or_init(cel::k8s::environment).extend();
    Some(schema.declare(builder).variable("self", ty).variable("oldSelf", old).build())
}
