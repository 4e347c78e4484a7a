//! What a schema is to expressions: types, and the sizes that costs are estimated from.
//!
//! The declaration of a node is made when its rules are compiled and dropped afterwards; programs read objects by
//! the schema itself ([`super::host`]).
//!
//! Upstream: apiserver/pkg/cel/common/schemas.go and types.go, v1.36.

use std::sync::{Arc, OnceLock};

use cel::ast::Name;
use cel::cost::estimate::{Estimate, SizeHints};
use cel::{Env, EnvBuilder, ObjectType, Type};
use meta::Value;

use super::escape::{escape, is_reserved};
use super::host::{Format, Kind, Level};
use crate::structural::{Checks, Node};

/// The size of a request, which bounds what has no bound of its own.
pub(super) const REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// The type of a value and how large it can be.
#[derive(Debug)]
pub(crate) struct Declaration {
    shape: Shape,
    /// The most characters, bytes, items or entries that a value can have; 0 for what is not counted.
    max_elements: u64,
    /// The fewest bytes that a value takes in JSON.
    min_bytes: u64,
}

#[derive(Debug)]
enum Shape {
    Plain(Type),
    List(Box<Declaration>),
    Map(Box<Declaration>),
    /// Fields by the names that expressions use.
    Object(Vec<(Name, Declaration)>),
}

impl Declaration {
    /// The declaration of values of a schema; `None` when expressions cannot see them.
    pub(crate) fn of(node: &Node, level: Level) -> Option<Declaration> {
        let limits = node.checks.as_deref();
        let max_length = limits.and_then(|checks| checks.sizes().max_length).map(count);
        let text_bytes = max_length.map(|length| length.saturating_mul(4));
        let plain =
            |ty, max_elements, min_bytes| Declaration { shape: Shape::Plain(ty), max_elements, min_bytes };
        Some(match Kind::of(node, level) {
            Kind::IntOrString => plain(Type::Dyn, text_bytes.unwrap_or(REQUEST_BYTES - 2), 1),
            Kind::Bool => plain(Type::Bool, 0, 4),
            Kind::Int => plain(Type::Int, 0, 1),
            Kind::Double => plain(Type::Double, 0, 1),
            Kind::Text(Format::Bytes) => plain(Type::Bytes, max_length.unwrap_or(REQUEST_BYTES - 2), 2),
            Kind::Text(Format::Duration) => plain(Type::Duration, 32, 3),
            Kind::Text(Format::Date) => plain(Type::Timestamp, 12, 12),
            Kind::Text(Format::DateTime) => plain(Type::Timestamp, 32, 21),
            Kind::Text(Format::Plain) => {
                plain(Type::String, text_bytes.unwrap_or_else(|| longest_option(limits)), 2)
            }
            Kind::List(item) => {
                let item = Declaration::of(item?, Level::Inner)?;
                let bound = limits.and_then(|checks| checks.sizes().max_items).map(count);
                let max_elements = bound.unwrap_or((REQUEST_BYTES - 2) / (item.min_bytes + 1));
                Declaration { shape: Shape::List(Box::new(item)), max_elements, min_bytes: 2 }
            }
            Kind::Map(value) => {
                let value = Declaration::of(value, Level::Inner)?;
                let bound = limits.and_then(|checks| checks.sizes().max_properties).map(count);
                let max_elements = bound.unwrap_or((REQUEST_BYTES - 2) / (value.min_bytes + 6));
                Declaration { shape: Shape::Map(Box::new(value)), max_elements, min_bytes: 2 }
            }
            Kind::Object(fields) => object(limits, fields.iter()),
            Kind::Unknown => return None,
        })
    }

    /// How often values occur at most, where nothing but the size of a request bounds it.
    pub(crate) fn max_cardinality(&self) -> u64 {
        REQUEST_BYTES / (self.min_bytes + 1)
    }

    /// The environment of rules on values of this type, which they know by `name`.
    pub(super) fn environment(&self, name: &str, old_self: OldSelf) -> Arc<Env> {
        static BASE: OnceLock<Arc<Env>> = OnceLock::new();
        let mut objects = Vec::new();
        let ty = self.declare(name, &mut objects);
        let builder = BASE.get_or_init(cel::k8s::environment).extend();
        let builder = objects.into_iter().fold(builder, EnvBuilder::object);
        let old = match old_self {
            OldSelf::Plain => ty.clone(),
            OldSelf::Optional => Type::optional(ty.clone()),
        };
        builder.variable("self", ty).variable("oldSelf", old).build()
    }

    /// The type, whose objects are named after their place.
    fn declare(&self, name: &str, objects: &mut Vec<ObjectType>) -> Type {
        match &self.shape {
            Shape::Plain(ty) => ty.clone(),
            Shape::List(item) => Type::list(item.declare(&format!("{name}.@idx"), objects)),
            Shape::Map(value) => Type::map(Type::String, value.declare(&format!("{name}.@elem"), objects)),
            Shape::Object(fields) => {
                let mut types: Vec<(Name, Type)> = Vec::with_capacity(fields.len());
                for (field, declaration) in fields {
                    let ty = declaration.declare(&format!("{name}.{field}"), objects);
                    if let Some(plain) = reserved_word(field) {
                        // The grammar takes these words for names after a dot.
                        types.push((plain.into(), ty.clone()));
                    }
                    types.push((Arc::clone(field), ty));
                }
                objects.push(ObjectType::new(name, types));
                Type::object(name)
            }
        }
    }

    fn child(&self, step: &str) -> Option<&Declaration> {
        match (&self.shape, step) {
            (Shape::List(child) | Shape::Map(child), "@items" | "@values") => Some(child),
            (Shape::Map(_), "@keys") => Some(keys()),
            (Shape::Object(fields), step) => {
                fields.iter().find(|(name, _)| &**name == step).map(|(_, declaration)| declaration)
            }
            _ => None,
        }
    }
}

/// What `oldSelf` is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OldSelf {
    Plain,
    Optional,
}

/// Sizes by path. The first step is dropped whatever it is: the reference does not look at it.
impl SizeHints for Declaration {
    fn size(&self, path: &[Name]) -> Option<Estimate> {
        let (_, steps) = path.split_first()?;
        let found = steps.iter().try_fold(self, |declaration, step| declaration.child(step))?;
        Some(Estimate { min: 0, max: found.max_elements })
    }
}

/// Keys are text of which nothing is known, not even that they have a size.
fn keys() -> &'static Declaration {
    static KEYS: Declaration =
        Declaration { shape: Shape::Plain(Type::String), max_elements: 0, min_bytes: 2 };
    &KEYS
}

/// An object: braces, and every required property that has no default.
fn object<'n>(limits: Option<&Checks>, properties: impl Iterator<Item = (&'n str, &'n Node)>) -> Declaration {
    let required = limits.map_or(&[][..], |checks| &checks.required);
    let mut fields = Vec::new();
    let mut min_bytes: u64 = 2;
    for (name, node) in properties {
        let Some(declaration) = Declaration::of(node, Level::Inner) else { continue };
        if node.default.is_none() && required.iter().any(|required| required == name) {
            min_bytes = min_bytes.saturating_add(name.len() as u64 + declaration.min_bytes + 4);
        }
        if let Some(escaped) = escape(name) {
            fields.push((Name::from(&*escaped), declaration));
        }
    }
    Declaration { shape: Shape::Object(fields), max_elements: 0, min_bytes }
}

fn longest_option(limits: Option<&Checks>) -> u64 {
    let Some(options) = limits.and_then(|checks| checks.one_of_values.as_ref()) else {
        return REQUEST_BYTES - 2;
    };
    options.values.iter().filter_map(Value::as_str).map(|option| option.len() as u64).max().unwrap_or(0)
}

/// A limit as written; a negative one allows nothing.
pub(super) fn count(limit: i64) -> u64 {
    u64::try_from(limit).unwrap_or(0)
}

/// The word of the language that an escaped name stands for, if it does.
fn reserved_word(escaped: &str) -> Option<&str> {
    let word = escaped.strip_prefix("__")?.strip_suffix("__")?;
    is_reserved(word).then_some(word)
}
