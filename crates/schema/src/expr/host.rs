//! Objects as expressions see them: read in place, by their schema.
//!
//! A schema node is the view of the values that it describes. Null properties are absent, fields have their escaped
//! names, lists compare and add up by their list type, and what the schema does not describe can only be compared.
//!
//! Upstream: apiserver/pkg/cel/common/valuesunstructured.go, v1.36.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use cel::{
    Data, EvalError, Evaluated, HostList, HostMap, ListView, Map, MapView, Opaque, Semantics, Str,
    Value as Cel,
};
use meta::Value;

use super::escape::{escape, unescape};
use super::scalar::{self, invalid};
use crate::compile::Compiler;
use crate::parse::Props;
use crate::structural::{ListType, Node, Types};

/// Whether a schema is that of a whole object. Embedded resources say of themselves what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Root,
    Inner,
}

/// What a schema describes.
pub(super) enum Kind<'n> {
    IntOrString,
    Bool,
    Int,
    Double,
    Text(Format),
    List(Option<&'n Node>),
    Map(&'n Node),
    Object(Fields<'n>),
    /// Nothing that expressions could see.
    Unknown,
}

/// How text is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Bytes,
    Duration,
    Date,
    DateTime,
}

impl<'n> Kind<'n> {
    pub(super) fn of(node: &'n Node, level: Level) -> Kind<'n> {
        if node.int_or_string {
            return Kind::IntOrString;
        }
        match node.declared_types {
            Types::BOOLEAN => Kind::Bool,
            Types::INTEGER => Kind::Int,
            Types::NUMBER => Kind::Double,
            Types::STRING => Kind::Text(Format::of(node)),
            Types::ARRAY => Kind::List(node.items.as_deref()),
            Types::OBJECT => match node.additional.schema() {
                Some(values) if node.properties.is_empty() && !is_resource(node, level) => Kind::Map(values),
                _ => Kind::Object(Fields::of(node, level)),
            },
            _ => Kind::Unknown,
        }
    }
}

impl Format {
    fn of(node: &Node) -> Format {
        let Some(checks) = &node.checks else { return Format::Plain };
        match checks.format_as_written.as_str() {
            "byte" => Format::Bytes,
            "duration" => Format::Duration,
            "date" => Format::Date,
            "date-time" => Format::DateTime,
            _ => Format::Plain,
        }
    }
}

fn is_resource(node: &Node, level: Level) -> bool {
    level == Level::Root || node.embedded_resource
}

/// Whether expressions can see values of a schema.
pub(crate) fn is_visible(node: &Node, level: Level) -> bool {
    match Kind::of(node, level) {
        Kind::Unknown => false,
        Kind::List(item) => item.is_some_and(|item| is_visible(item, Level::Inner)),
        Kind::Map(value) => is_visible(value, Level::Inner),
        _ => true,
    }
}

/// The fields of an object, with those that every resource has and shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'n> {
    node: &'n Node,
    adds_meta: bool,
}

impl<'n> Fields<'n> {
    fn of(node: &'n Node, level: Level) -> Fields<'n> {
        Fields { node, adds_meta: is_resource(node, level) && !declares_meta(node) }
    }

    /// The schema of a property.
    fn get(self, name: &str) -> Option<&'n Node> {
        if self.adds_meta
            && let Some((_, node)) = meta_fields().iter().find(|(field, _)| *field == name)
        {
            return Some(node);
        }
        self.node.property(name).map(|node| &**node)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = (&'n str, &'n Node)> {
        let added = if self.adds_meta { &meta_fields()[..] } else { &[] };
        let is_replaced = move |name: &str| added.iter().any(|(field, _)| *field == name);
        let declared = self.node.properties.iter().map(|(name, node)| (name.as_str(), &**node));
        let added = added.iter().map(|(name, node)| (*name, &**node));
        declared.filter(move |(name, _)| !is_replaced(name)).chain(added)
    }
}

/// Whether a schema itself declares all that resources show.
fn declares_meta(node: &Node) -> bool {
    let has_text = |node: &Node, name: &str| {
        node.property(name).is_some_and(|property| property.declared_types == Types::STRING)
    };
    has_text(node, "kind")
        && has_text(node, "apiVersion")
        && node.property("metadata").is_some_and(|metadata| {
            metadata.declared_types == Types::OBJECT
                && has_text(metadata, "name")
                && has_text(metadata, "generateName")
        })
}

/// What every resource shows, in place of what its schema says about it.
fn meta_fields() -> &'static [(&'static str, Arc<Node>); 3] {
    static FIELDS: OnceLock<[(&str, Arc<Node>); 3]> = OnceLock::new();
    FIELDS.get_or_init(|| {
        let text = || Props { type_name: "string", ..Props::default() };
        let properties = vec![("generateName", text()), ("name", text())];
        let metadata = Props { type_name: "object", properties, ..Props::default() };
        let mut compiler = Compiler::default();
        let text = compiler.compile(&text()).root;
        [("apiVersion", Arc::clone(&text)), ("kind", text), ("metadata", compiler.compile(&metadata).root)]
    })
}

/// Reads a value that is not a whole object.
pub(super) fn read<'a>(node: &'a Node, data: &'a Value) -> Evaluated<'a> {
    if data.is_null() {
        return if node.nullable {
            Ok(Cel::Null)
        } else {
            invalid("got null for schema with nullable=false")
        };
    }
    match (Kind::of(node, Level::Inner), data) {
        (Kind::Text(Format::Plain) | Kind::IntOrString, Value::String(text)) => Ok(Cel::str(text)),
        (Kind::IntOrString | Kind::Int, Value::Int(number)) => Ok(Cel::Int(*number)),
        (Kind::Bool, Value::Bool(value)) => Ok(Cel::Bool(*value)),
        (Kind::Double, number) => scalar::double(number),
        (Kind::Text(format), Value::String(text)) => scalar::text(format, text),
        (Kind::List(Some(_)), Value::Array(_)) => Ok(Cel::from(HostList { data, view: node })),
        (Kind::List(None), Value::Array(_)) => {
            Err(EvalError::new("invalid array type, expected Items with a non-empty Schema"))
        }
        (Kind::Map(_) | Kind::Object(_), Value::Object(_)) => Ok(Cel::from(HostMap { data, view: node })),
        (Kind::Unknown, _) if node.preserve_unknown => Ok(Cel::opaque(Preserved(data.clone()))),
        (kind, data) => scalar::mismatch(&kind, data),
    }
}

/// The view of whole objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootView<'n>(Fields<'n>);

impl<'n> RootView<'n> {
    pub(super) fn of(node: &'n Node) -> Self {
        RootView(Fields::of(node, Level::Root))
    }

    pub(super) fn read(&'n self, data: &'n Value) -> Evaluated<'n> {
        match data {
            Value::Object(_) => Ok(Cel::from(HostMap { data, view: self })),
            other => read(self.0.node, other),
        }
    }
}

/// The data that the views of this module are paired with.
fn value_of(data: &Data) -> &Value {
    data.downcast_ref().expect("schema nodes are views of values only")
}

impl ListView for Node {
    fn len(&self, data: &Data) -> usize {
        value_of(data).as_array().map_or(0, <[Value]>::len)
    }

    fn item<'a>(&'a self, data: &'a Data, index: usize) -> Evaluated<'a> {
        match (&self.items, value_of(data)) {
            (Some(node), Value::Array(items)) => read(node, &items[index]),
            _ => invalid("expected an array for the provided schema with type=array"),
        }
    }

    fn semantics(&self) -> Semantics<'_> {
        match self.list_type {
            ListType::Atomic => Semantics::Ordered,
            ListType::Set => Semantics::Set,
            ListType::Map => Semantics::Keyed(&self.list_map_names),
        }
    }

    fn equals_other(&self) -> Result<bool, EvalError> {
        Err(EvalError::no_such_overload())
    }
}

/// What the keys of a map or object lead to.
#[derive(Clone, Copy)]
enum Members<'n> {
    Any(&'n Node),
    Fields(Fields<'n>),
}

impl<'n> Members<'n> {
    fn of(node: &'n Node) -> Members<'n> {
        match Kind::of(node, Level::Inner) {
            Kind::Map(values) => Members::Any(values),
            _ => Members::Fields(Fields::of(node, Level::Inner)),
        }
    }

    fn schema(self, name: &str) -> Option<&'n Node> {
        match self {
            Members::Any(node) => Some(node),
            Members::Fields(fields) => fields.get(name),
        }
    }

    fn get(self, data: &'n Data, key: &str) -> Option<Evaluated<'n>> {
        let entries = value_of(data).as_object()?;
        match self {
            Members::Any(node) => entries.get(key).map(|found| read(node, found)),
            Members::Fields(fields) => {
                let name = unescape(key)?;
                let found = entries.get(&name).filter(|found| !found.is_null())?;
                Some(read(fields.get(&name)?, found))
            }
        }
    }

    fn keys(self, data: &Data) -> Vec<Str<'_>> {
        let Some(entries) = value_of(data).as_object() else { return Vec::new() };
        match self {
            Members::Any(_) => entries.keys().map(Str::Borrowed).collect(),
            Members::Fields(fields) => {
                let seen = entries.keys().filter(|key| fields.get(key).is_some());
                seen.map(|key| escape(key).map_or(Str::Borrowed(key), |name| Str::Shared(name.into())))
                    .collect()
            }
        }
    }

    fn equals(self, data: &'n Data, other: &Map<'_>) -> Result<bool, EvalError> {
        let Some(entries) = value_of(data).as_object() else { return Err(EvalError::no_such_overload()) };
        if entries.len() != other.len() {
            return Ok(false);
        }
        for (key, value) in entries.iter() {
            let is_same = match self.schema(key) {
                Some(node) if !is_opaque(node) => match (self.get(data, key), other.get_str(key)) {
                    (Some(own), Some(theirs)) => cel::equal(&own?, &theirs?)?,
                    (own, theirs) => own.is_none() && theirs.is_none(),
                },
                // What expressions cannot see is compared as it is.
                schema => {
                    let Map::Host(theirs) = other else { return Err(EvalError::no_such_overload()) };
                    let theirs = value_of(theirs.data).get(key);
                    theirs.map_or(schema.is_none(), |theirs| theirs == value)
                }
            };
            if !is_same {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn is_opaque(node: &Node) -> bool {
    node.preserve_unknown && node.declared_types.is_empty() && !node.int_or_string
}

impl MapView for Node {
    fn len(&self, data: &Data) -> usize {
        value_of(data).as_object().map_or(0, meta::Map::len)
    }

    fn get<'a>(&'a self, data: &'a Data, key: &str) -> Option<Evaluated<'a>> {
        Members::of(self).get(data, key)
    }

    fn keys<'a>(&'a self, data: &'a Data) -> Vec<Str<'a>> {
        Members::of(self).keys(data)
    }

    fn equals(&self, data: &Data, other: &Map<'_>) -> Option<Result<bool, EvalError>> {
        Some(Members::of(self).equals(data, other))
    }

    fn equals_other(&self) -> Result<bool, EvalError> {
        Err(EvalError::no_such_overload())
    }
}

impl MapView for RootView<'_> {
    fn len(&self, data: &Data) -> usize {
        value_of(data).as_object().map_or(0, meta::Map::len)
    }

    fn get<'a>(&'a self, data: &'a Data, key: &str) -> Option<Evaluated<'a>> {
        Members::Fields(self.0).get(data, key)
    }

    fn keys<'a>(&'a self, data: &'a Data) -> Vec<Str<'a>> {
        Members::Fields(self.0).keys(data)
    }

    fn equals(&self, data: &Data, other: &Map<'_>) -> Option<Result<bool, EvalError>> {
        Some(Members::Fields(self.0).equals(data, other))
    }

    fn equals_other(&self) -> Result<bool, EvalError> {
        Err(EvalError::no_such_overload())
    }
}

/// A value that the schema says nothing about. It can only be compared.
#[derive(Debug)]
struct Preserved(Value);

impl Opaque for Preserved {
    fn type_name(&self) -> &'static str {
        "unknown"
    }

    fn equals(&self, other: &Cel<'_>) -> Option<bool> {
        other.downcast::<Preserved>().map(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
