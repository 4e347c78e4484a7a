//! Lists of type set have no equal items, lists of type map no items with equal keys.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go, v1.36.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use meta::wire::json;
use meta::{FieldError, FieldPath, Map, Text, Value};

use crate::structural::{Facts, ListType, Members, Node, Schema};

impl Schema {
    /// Reports each item that repeats an earlier one; of several, the second.
    pub fn validate_list_types(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        visit(object, &self.root, &FieldPath::ROOT, &mut errors);
        errors
    }

    /// As [`Schema::validate_list_types`], but nothing when the `old` object has such errors, too.
    pub fn validate_list_types_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let errors = self.validate_list_types(object);
        if errors.is_empty() || !self.validate_list_types(old).is_empty() {
            return Vec::new();
        }
        errors
    }
}

fn visit(value: &Value, node: &Node, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if !node.facts.has(Facts::LIST_TYPES) {
        return;
    }
    match value {
        Value::Object(map) => {
            let mut members = Members::of(node);
            for (name, value) in map.iter() {
                if let Some(property) = members.declared(name) {
                    visit(value, property, &path.field(name), errors);
                }
                // The reference checks a declared member against both schemas when there are both.
                if let Some(node) = node.additional.schema() {
                    visit(value, node, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match node.list_type {
                ListType::Atomic => {}
                ListType::Set => check_set(items, path, errors),
                ListType::Map => check_map(items, &node.list_map_keys, path, errors),
            }
            if let Some(node) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    visit(item, node, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_set(items: &[Value], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for index in repeated(items.len(), |index| Identity::Value(&items[index])) {
        errors.push(FieldError::duplicate(&path.index(index), items[index].clone()));
    }
}

fn check_map(items: &[Value], keys: &[Text], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let stranger = items.iter().position(|item| !matches!(item, Value::Null | Value::Object(_)));
    if let Some(index) = stranger {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(&path.index(index), items[index].clone(), detail));
        return;
    }
    let repeated = match keys {
        [key] => repeated(items.len(), |index| match items[index].get(key) {
            Some(value) => Identity::Value(value),
            None => Identity::Missing,
        }),
        keys => repeated(items.len(), |index| Identity::Key(&items[index], keys)),
    };
    for index in repeated {
        errors.push(FieldError::duplicate(&path.index(index), key_of(&items[index], keys)));
    }
}

fn key_of(item: &Value, keys: &[Text]) -> Map {
    keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect()
}

/// What makes an item the same as another.
enum Identity<'a> {
    /// A list item, or the value of an only key.
    Value(&'a Value),
    /// The only key is not there.
    Missing,
    /// The values of several keys.
    Key(&'a Value, &'a [Text]),
}

impl Identity<'_> {
    /// Compounds are the same when they are written the same; scalars when type and value are.
    fn text(&self) -> String {
        match self {
            Identity::Value(Value::Float(number)) => format!("f{number:?}"),
            Identity::Value(value) => json::to_string(value),
            Identity::Missing => "-".to_owned(),
            Identity::Key(item, keys) => json::to_string(&key_of(item, keys).into()),
        }
    }

    /// The same answer as comparing texts, without making them where that is easy.
    fn equals(&self, other: &Identity<'_>) -> bool {
        match (self, other) {
            (Identity::Value(Value::String(left)), Identity::Value(Value::String(right))) => left == right,
            (Identity::Value(Value::Int(left)), Identity::Value(Value::Int(right))) => left == right,
            (Identity::Missing, Identity::Missing) => true,
            (Identity::Value(Value::String(_)), Identity::Value(_))
            | (Identity::Missing, _)
            | (_, Identity::Missing) => false,
            (Identity::Key(left, keys), Identity::Key(right, _)) => {
                keys.iter().all(|key| match (left.get(key), right.get(key)) {
                    (Some(left), Some(right)) => same_json(left, right),
                    (left, right) => left.is_none() && right.is_none(),
                })
            }
            _ => self.text() == other.text(),
        }
    }
}

fn same_json(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::String(_), _) | (_, Value::String(_)) => false,
        (left, right) => json::to_string(left) == json::to_string(right),
    }
}

/// Up to this length items are compared in pairs, which needs no memory.
const PAIRWISE: usize = 24;

/// The position of the second of each group of equal items.
fn repeated<'a>(length: usize, identity: impl Fn(usize) -> Identity<'a>) -> Vec<usize> {
    let mut second = Vec::new();
    if length <= PAIRWISE {
        for index in 1..length {
            let current = identity(index);
            let earlier = (0..index).filter(|earlier| identity(*earlier).equals(&current)).take(2).count();
            if earlier == 1 {
                second.push(index);
            }
        }
        return second;
    }
    let mut times: HashMap<String, usize> = HashMap::with_capacity(length);
    for index in 0..length {
        let seen = times.entry(identity(index).text()).or_default();
        *seen += 1;
        if *seen == 2 {
            second.push(index);
        }
    }
    second
}
