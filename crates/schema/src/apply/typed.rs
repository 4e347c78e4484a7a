//! A value against its type: does it conform, and which fields does it mention.
//!
//! Upstream: structured-merge-diff/v6/typed/{validate,tofieldset}.go, v1.36. The order of several errors
//! is that of the sorted members; the reference has a random one.

use std::collections::HashSet;
use std::fmt;

use meta::{Map, Text, Value};

use super::compare::{Branch, Fields};
use super::element;
use super::fieldset::FieldSet;
use super::reset::{ResetFields, Skip};
use super::typedef::{ListDef, ListKind, MapDef, Scalar, Shape, TypeDef, TypeRef};
use crate::go_text;

/// What does not conform, and where: `.spec.x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    pub path: String,
    pub message: String,
}

/// All errors of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeErrors(pub Vec<TypeError>);

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for TypeErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [error] = self.0.as_slice() {
            return error.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl std::error::Error for TypeErrors {}

/// Whether a list may hold several items with the same key. What clients apply may not; what is stored may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    Refused,
    Allowed,
}

/// Checks a value against its type, to the reference's words.
pub fn validate(ty: &TypeRef, value: &Value, duplicates: Duplicates) -> Result<(), TypeErrors> {
    if duplicates == Duplicates::Allowed && conforms(ty.def(), value) {
        return Ok(()); // the usual case, without the bookkeeping for messages
    }
    let mut check = Check { duplicates, path: Vec::new(), errors: Vec::new() };
    check.value(ty.def(), value);
    if check.errors.is_empty() { Ok(()) } else { Err(TypeErrors(check.errors)) }
}

/// Whether the value, taken as `shape`, has that shape; null has every shape.
pub(super) fn takes(def: &TypeDef, shape: Shape, value: &Value) -> bool {
    match (shape, value) {
        (_, Value::Null) | (Shape::Map, Value::Object(_)) | (Shape::List, Value::Array(_)) => true,
        (Shape::Scalar, value) => def.scalar.is_some_and(|scalar| takes_scalar(scalar, value)),
        _ => false,
    }
}

fn takes_scalar(scalar: Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Numeric => matches!(value, Value::Int(_) | Value::Float(_)),
        Scalar::String => matches!(value, Value::String(_)),
        Scalar::Boolean => matches!(value, Value::Bool(_)),
        Scalar::Untyped => !matches!(value, Value::Array(_) | Value::Object(_)),
    }
}

/// Whether the whole value conforms, duplicates allowed; says no more and therefore costs little.
pub(super) fn conforms(def: &TypeDef, value: &Value) -> bool {
    let Some(shape) = def.shape_of(value) else { return false };
    if !takes(def, shape, value) {
        return false;
    }
    match (shape, value, &def.map, &def.list) {
        (Shape::Map, Value::Object(object), Some(map), _) => {
            let mut fields = Fields::of(map);
            object
                .iter()
                .all(|(name, value)| fields.find(name).is_ok_and(|member| conforms(member.def, value)))
        }
        (Shape::List, Value::Array(items), _, Some(list)) => {
            let associative = !matches!(list.kind, ListKind::Atomic);
            let element = list.element.def();
            items
                .iter()
                .all(|item| (!associative || element::has_item(list, item)) && conforms(element, item))
        }
        _ => true,
    }
}

/// The set of fields that a value mentions, but for those of `reset`: leaves, list items, members of maps.
pub fn field_set(ty: &TypeRef, value: &Value, reset: &ResetFields) -> FieldSet {
    FieldSet::from_sorted(Mentions::default().of(ty.def(), value, Some(reset.root())).children)
}

/// Checks an applied configuration and finds the fields it mentions, those of the system included.
pub(super) fn configured_fields(
    ty: &TypeRef,
    config: &Value,
    reset: &ResetFields,
) -> Result<FieldSet, TypeErrors> {
    if !conforms(ty.def(), config) {
        validate(ty, config, Duplicates::Refused)?;
    }
    let mut mentions = Mentions::default();
    let branch = mentions.of(ty.def(), config, Some(reset.root_with_system()));
    if mentions.duplicates || mentions.skipped {
        validate(ty, config, Duplicates::Refused)?;
    }
    Ok(FieldSet::from_sorted(branch.children))
}

/// As [`field_set`], with everything.
pub(super) fn all_fields(ty: &TypeRef, value: &Value) -> FieldSet {
    FieldSet::from_sorted(Mentions::default().of(ty.def(), value, None).children)
}

#[derive(Default)]
struct Mentions {
    /// Whether a set or list map has several items with the same key.
    duplicates: bool,
    /// Whether there was something to skip, where duplicates would not be noticed.
    skipped: bool,
}

impl Mentions {
    fn of(&mut self, def: &TypeDef, value: &Value, skip: Option<&Skip>) -> Branch {
        let mut branch = Branch::default();
        match (def.shape_of(value), &def.map, &def.list) {
            (Some(Shape::Scalar), ..) => branch.member = true,
            (Some(Shape::Map), Some(map), _) if map.atomic => {
                branch.member = true;
                self.duplicates |= has_duplicates(def, value);
            }
            (Some(Shape::Map), Some(map), _) => self.members(map, value.as_object(), skip, &mut branch),
            (Some(Shape::List), _, Some(list)) if matches!(list.kind, ListKind::Atomic) => {
                branch.member = true;
                self.duplicates |= has_duplicates(def, value);
            }
            (Some(Shape::List), _, Some(list)) => {
                self.items(list, value.as_array().unwrap_or_default(), &mut branch);
            }
            _ => {}
        }
        branch
    }

    fn members(&mut self, map: &MapDef, object: Option<&Map>, skip: Option<&Skip>, branch: &mut Branch) {
        branch.children.reserve_exact(object.map_or(0, Map::len) + 1);
        let mut fields = Fields::of(map);
        for (name, value) in object.into_iter().flat_map(Map::iter) {
            let below = skip.and_then(|skip| skip.member(name));
            if below.is_some_and(Skip::is_all) {
                self.skipped = true;
                continue;
            }
            let Ok(member) = fields.find(name) else { continue };
            let mut child = self.of(member.def, value, below);
            // A declared container is no field of its own unless there is nothing in it.
            child.member |= member.field.is_none() || is_hollow(value);
            child.member &= !below.is_some_and(Skip::hides_container);
            branch.push(|| member.element(name), child);
        }
    }

    fn items(&mut self, list: &ListDef, items: &[Value], branch: &mut Branch) {
        // An item without an element is none that anybody can own, but makes the list one that has items.
        let keyed = items.iter().map(|item| (element::item(list, item).unwrap_or_default(), item));
        let mut keyed: Vec<(Text, &Value)> = keyed.collect();
        keyed.sort_by(|left, right| left.0.cmp(&right.0));
        branch.children.reserve_exact(keyed.len() + 1);
        for same_key in keyed.chunk_by(|left, right| left.0 == right.0) {
            let mut child = if let [(_, item)] = same_key {
                self.of(list.element.def(), item, None)
            } else {
                self.duplicates = true;
                Branch::default() // duplicates are owned together, as one leaf
            };
            child.member = true;
            branch.push(|| same_key[0].0.clone(), child);
        }
    }
}

/// Whether a set or list map in the value has several items with the same key. Only for what is owned as a whole:
/// elsewhere the fields show it.
fn has_duplicates(def: &TypeDef, value: &Value) -> bool {
    match (value, &def.map, &def.list) {
        (Value::Object(object), Some(map), _) => {
            let mut fields = Fields::of(map);
            object.iter().any(|(name, value)| {
                matches!(value, Value::Array(_) | Value::Object(_))
                    && fields.find(name).is_ok_and(|member| has_duplicates(member.def, value))
            })
        }
        (Value::Array(items), _, Some(list)) => {
            let element = list.element.def();
            if items.iter().any(|item| has_duplicates(element, item)) {
                return true;
            }
            let mut seen = HashSet::new();
            !matches!(list.kind, ListKind::Atomic)
                && items.iter().filter_map(|item| element::item(list, item).ok()).any(|key| !seen.insert(key))
        }
        _ => false,
    }
}

fn is_hollow(value: &Value) -> bool {
    matches!(value, Value::Null) || value.as_object().is_some_and(Map::is_empty)
}

/// A step of the path to what is being checked; it becomes text only for an error.
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Item(Text),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Item(element) => f.write_str(&element::display(element)),
        }
    }
}

struct Check<'a> {
    duplicates: Duplicates,
    path: Vec<Step<'a>>,
    errors: Vec<TypeError>,
}

impl<'a> Check<'a> {
    fn fail(&mut self, message: String) {
        let path = self.path.iter().map(Step::to_string).collect();
        self.errors.push(TypeError { path, message });
    }

    fn value(&mut self, def: &TypeDef, value: &'a Value) {
        match (def.shape_of(value), &def.map, &def.list, def.scalar) {
            (Some(Shape::Map), Some(map), ..) => match value {
                Value::Object(object) => self.members(map, object),
                Value::Null => {}
                other => self.fail(format!("expected map, got &{{{}}}", go_text::plain(other))),
            },
            (Some(Shape::List), _, Some(list), _) => match value {
                Value::Array(items) => self.items(list, items),
                Value::Null => {}
                other => self.fail(format!("expected list, got &{{{}}}", go_text::plain(other))),
            },
            (Some(Shape::Scalar), _, _, Some(scalar)) => self.scalar(scalar, value),
            _ => self.fail("schema error: invalid atom: inlined".to_owned()),
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        if value.is_null() || takes_scalar(scalar, value) {
            return;
        }
        self.fail(match scalar {
            Scalar::Numeric => {
                format!("expected numeric (int or float), got {}", meta::go_fmt::type_name(value))
            }
            Scalar::String => {
                format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_text::syntax(value))
            }
            Scalar::Boolean => format!("expected boolean, got &{{{}}}", go_text::plain(value)),
            Scalar::Untyped => format!("expected any scalar, got &{{{}}}", go_text::plain(value)),
        });
    }

    fn members(&mut self, map: &MapDef, object: &'a Map) {
        let mut fields = Fields::of(map);
        for (name, value) in object.iter() {
            self.path.push(Step::Field(name));
            let Ok(member) = fields.find(name) else {
                self.fail("field not declared in schema".to_owned());
                self.path.pop();
                return; // the reference looks no further in this map
            };
            self.value(member.def, value);
            self.path.pop();
        }
    }

    fn items(&mut self, list: &ListDef, items: &'a [Value]) {
        let mut seen = HashSet::new();
        for (position, item) in items.iter().enumerate() {
            let step = match &list.kind {
                ListKind::Atomic => Step::Index(position),
                _ => match element::item(list, item) {
                    Err(error) => return self.fail(format!("element {position}: {error}")),
                    Ok(element) => {
                        if !seen.insert(element.clone()) && self.duplicates == Duplicates::Refused {
                            self.fail(format!("duplicate entries for key {}", element::display(&element)));
                        }
                        Step::Item(element)
                    }
                },
            };
            self.path.push(step);
            self.value(list.element.def(), item);
            self.path.pop();
        }
    }
}

#[cfg(test)]
mod tests;
