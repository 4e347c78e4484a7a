//! The compiled form of a definition's schema: a tree that every pass walks beside the object.
//!
//! One node type serves both the structural part (properties, items, defaults, extensions) and the schemas
//! nested under `allOf`, `anyOf`, `oneOf` and `not`; those simply have no extensions. What only people read
//! (descriptions, titles, examples) is not kept: publication reads the definition itself.
//!
//! Equal subtrees are one allocation, across all definitions ([`crate::compile`] sees to that), and each node knows
//! what its subtree contains, so that a pass with nothing to do below a node does not go there.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/structural.go, v1.36.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use meta::{Text, Value};

use crate::apply::TypeRef;
pub use crate::expr::Rules;
use crate::formats::Format;
use crate::pattern::Pattern;

/// A definition's schema, ready to prune, default and validate. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    pub root: Arc<Node>,
}

/// The schema of one value.
///
/// Invariant: `properties` is strictly ascending by name; `facts` describes the whole subtree.
#[derive(Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent keywords of the schema language")]
pub struct Node {
    /// The types a value may have; empty when the schema does not say.
    pub types: Types,
    /// As `types`, but without what `x-kubernetes-int-or-string` adds: defaults are checked against this.
    pub declared_types: Types,
    pub nullable: bool,
    pub preserve_unknown: bool,
    pub embedded_resource: bool,
    pub int_or_string: bool,
    pub list_type: ListType,
    pub map_type: MapType,
    pub facts: Facts,
    pub properties: Box<[(Text, Arc<Node>)]>,
    pub additional: Additional,
    pub items: Option<Arc<Node>>,
    /// The fields that identify an item of a list of type map.
    pub list_map_keys: Box<[Text]>,
    /// The same as expressions write them.
    pub list_map_names: Box<[cel::ast::Name]>,
    /// Already pruned.
    pub default: Option<Box<Value>>,
    /// What is demanded of the value itself; absent when only its type is.
    pub checks: Option<Box<Checks>>,
    /// The `x-kubernetes-validations` of this node.
    pub rules: Rules,
    /// What field ownership knows of it, once asked.
    pub(crate) owned: Owned,
}

/// A type that was made of a node. It follows from the rest, so nodes are equal whether or not they have it.
#[derive(Debug, Default)]
pub(crate) struct Owned(pub(crate) OnceLock<(bool, TypeRef)>);

impl PartialEq for Owned {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Numbers in a schema come from JSON and are never NaN. Being `Eq` lets `Arc` compare by address first, which
/// makes comparing nodes with shared children cheap.
impl Eq for Node {}

/// Up to this many properties are compared one by one: mostly their lengths differ, which costs next to nothing.
const SCANNED_PROPERTIES: usize = 12;

impl Node {
    /// The schema of a declared property.
    pub fn property(&self, name: &str) -> Option<&Arc<Node>> {
        if self.properties.len() <= SCANNED_PROPERTIES {
            return self.properties.iter().find(|(candidate, _)| candidate == name).map(|(_, node)| node);
        }
        let index = self.properties.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name)).ok()?;
        Some(&self.properties[index].1)
    }

    /// The schema of a member: a declared property, or else what is said about additional ones.
    pub fn member(&self, name: &str) -> Option<&Arc<Node>> {
        self.property(name).or_else(|| self.additional.schema())
    }
}

/// Finds the schemas of an object's members while they are visited in ascending order, in one pass over both.
pub(crate) struct Members<'a> {
    rest: &'a [(Text, Arc<Node>)],
    additional: Option<&'a Node>,
}

impl<'a> Members<'a> {
    /// How many properties are stepped over before a search takes over.
    const STEPS: usize = 8;

    pub(crate) fn of(node: &'a Node) -> Self {
        Members { rest: &node.properties, additional: node.additional.schema().map(Arc::as_ref) }
    }

    /// The declared property, for names that come in ascending order.
    pub(crate) fn declared(&mut self, name: &str) -> Option<&'a Node> {
        let mut steps = 0;
        while let Some(((candidate, node), rest)) = self.rest.split_first() {
            match candidate.as_str().cmp(name) {
                Ordering::Less => self.rest = rest,
                Ordering::Equal => {
                    self.rest = rest;
                    return Some(node);
                }
                Ordering::Greater => return None,
            }
            steps += 1;
            if steps == Self::STEPS {
                let skipped = self.rest.partition_point(|(candidate, _)| candidate.as_str() < name);
                self.rest = &self.rest[skipped..];
            }
        }
        None
    }

    /// The declared property, or the schema of all others.
    pub(crate) fn next(&mut self, name: &str) -> Option<&'a Node> {
        self.declared(name).or(self.additional)
    }
}

/// What a schema says about members that it does not name.
#[derive(Debug, Default, PartialEq)]
pub enum Additional {
    /// Nothing: such members are pruned.
    #[default]
    Unspecified,
    /// `additionalProperties: false`
    Denied,
    /// `additionalProperties: true`
    Allowed,
    Schema(Arc<Node>),
}

impl Additional {
    pub fn schema(&self) -> Option<&Arc<Node>> {
        match self {
            Additional::Schema(node) => Some(node),
            _ => None,
        }
    }

    pub fn is_specified(&self) -> bool {
        !matches!(self, Additional::Unspecified)
    }
}

/// `x-kubernetes-list-type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ListType {
    /// Also when nothing is said.
    #[default]
    Atomic,
    Set,
    Map,
}

/// `x-kubernetes-map-type`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Also when nothing is said.
    #[default]
    Granular,
    Atomic,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Types(u8);

impl Types {
    pub const NONE: Types = Types(0);
    pub const STRING: Types = Types(1);
    pub const NUMBER: Types = Types(2);
    pub const INTEGER: Types = Types(4);
    pub const BOOLEAN: Types = Types(8);
    pub const ARRAY: Types = Types(16);
    pub const OBJECT: Types = Types(32);
    pub const INTEGER_OR_STRING: Types = Types(Self::INTEGER.0 | Self::STRING.0);

    pub fn contains(self, other: Types) -> bool {
        self.0 & other.0 == other.0 && other.0 != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set of the one type that the schema names; empty for anything else.
    pub fn named(name: &str) -> Types {
        match name {
            "string" => Types::STRING,
            "number" => Types::NUMBER,
            "integer" => Types::INTEGER,
            "boolean" => Types::BOOLEAN,
            "array" => Types::ARRAY,
            "object" => Types::OBJECT,
            _ => Types::NONE,
        }
    }

    /// As messages spell it.
    pub fn spelled(self) -> &'static str {
        match self {
            Types::STRING => "string",
            Types::NUMBER => "number",
            Types::INTEGER => "integer",
            Types::BOOLEAN => "boolean",
            Types::ARRAY => "array",
            Types::OBJECT => "object",
            Types::INTEGER_OR_STRING => "integer,string",
            _ => "",
        }
    }
}

/// What occurs in a subtree, the node itself included. Schemas under `allOf` and its siblings do not count:
/// none of the passes that ask these questions looks there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts(u8);

impl Facts {
    pub const NONE: Facts = Facts(0);
    /// A default.
    pub const DEFAULTS: Facts = Facts(1);
    /// An embedded resource.
    pub const EMBEDDED: Facts = Facts(2);
    /// A list of type set or map.
    pub const LIST_TYPES: Facts = Facts(4);
    /// A rule of `x-kubernetes-validations`.
    pub const RULES: Facts = Facts(8);
    /// Any demand on values beyond being acceptable to every schema: a type, a check.
    pub const DEMANDS: Facts = Facts(16);

    pub fn has(self, other: Facts) -> bool {
        self.0 & other.0 != 0
    }

    #[must_use]
    pub fn with(self, other: Facts) -> Facts {
        Facts(self.0 | other.0)
    }
}

/// The value validations of a node. What few nodes have is kept in groups of its own: a large schema has a
/// thousand of these.
#[derive(Debug, Default, PartialEq)]
pub struct Checks {
    pub format: Option<Format>,
    /// The format as written, also when it has no meaning for the type: checks of defaults look at it.
    pub format_as_written: Text,
    pub pattern: Option<Arc<Pattern>>,
    pub one_of_values: Option<Box<Enum>>,
    pub required: Box<[Text]>,
    pub unique_items: bool,
    pub(crate) numbers: Option<Box<NumberChecks>>,
    pub(crate) sizes: Option<Box<SizeChecks>>,
    pub(crate) combined: Option<Box<Combined>>,
}

/// Demands on numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NumberChecks {
    pub maximum: Option<Bound>,
    pub minimum: Option<Bound>,
    pub multiple_of: Option<f64>,
}

/// Demands on how long or large something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SizeChecks {
    pub max_length: Option<i64>,
    pub min_length: Option<i64>,
    pub max_items: Option<i64>,
    pub min_items: Option<i64>,
    pub max_properties: Option<i64>,
    pub min_properties: Option<i64>,
}

/// Schemas that a value must meet besides.
#[derive(Debug, Default, PartialEq)]
pub struct Combined {
    pub all_of: Box<[Arc<Node>]>,
    pub any_of: Box<[Arc<Node>]>,
    pub one_of: Box<[Arc<Node>]>,
    pub not: Option<Arc<Node>>,
}

impl Checks {
    /// Demands on numbers; none when there are none.
    pub fn numbers(&self) -> NumberChecks {
        self.numbers.as_deref().copied().unwrap_or_default()
    }

    /// Demands on sizes; none when there are none.
    pub fn sizes(&self) -> &SizeChecks {
        static NONE: SizeChecks = SizeChecks {
            max_length: None,
            min_length: None,
            max_items: None,
            min_items: None,
            max_properties: None,
            min_properties: None,
        };
        self.sizes.as_deref().unwrap_or(&NONE)
    }
}

/// A group of checks, unless it says nothing.
pub(crate) fn unless_empty<T: Default + PartialEq>(group: T) -> Option<Box<T>> {
    (group != T::default()).then(|| Box::new(group))
}

/// A limit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub limit: f64,
    pub exclusive: bool,
}

/// The values of an `enum`, with an index for long lists of strings.
#[derive(Debug, PartialEq)]
pub struct Enum {
    /// In the order of the schema, as messages list them.
    pub values: Box<[Value]>,
    /// Positions of the strings in `values`, ascending by string; empty for short lists.
    by_text: Box<[u32]>,
}

impl Enum {
    /// Below this a scan is as fast as a search.
    const INDEXED_FROM: usize = 16;

    pub fn new(values: Vec<Value>) -> Self {
        let mut by_text: Vec<u32> = Vec::new();
        if values.len() >= Self::INDEXED_FROM {
            by_text.extend(
                (0_u32..).zip(&values).filter(|(_, value)| value.as_str().is_some()).map(|(index, _)| index),
            );
            by_text.sort_unstable_by_key(|&index| values[index as usize].as_str());
        }
        Enum { values: values.into(), by_text: by_text.into() }
    }

    pub fn contains_text(&self, text: &str) -> bool {
        if self.by_text.is_empty() {
            return self.values.iter().any(|value| value.as_str() == Some(text));
        }
        let position = |&index: &u32| self.values[index as usize].as_str().cmp(&Some(text));
        self.by_text.binary_search_by(position).is_ok()
    }
}

/// One entry of `x-kubernetes-validations`, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rule {
    pub rule: Text,
    pub message: Text,
    pub message_expression: Text,
    pub reason: Option<Text>,
    pub field_path: Text,
    pub optional_old_self: Option<bool>,
}
