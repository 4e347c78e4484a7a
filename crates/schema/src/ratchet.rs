//! Which value of the old object a value of the new one corresponds to, and whether it is still the same.
//!
//! Members correspond by name, items of lists of type map by their keys, items of other lists not at all.
//! A member that the schema does not describe corresponds to nothing, and so its object never counts as unchanged.
//!
//! Upstream: apiserver/pkg/cel/common/equality.go and maplist.go, v1.36.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use meta::{Text, Value};

use crate::structural::{ListType, Node, Types};

/// Whether a value is what it was, in the sense in which validation forgives.
pub(crate) fn unchanged(node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| match (old.get(name), node.member(name)) {
                    (Some(old), Some(node)) => unchanged(node, value, old),
                    _ => false,
                })
        }
        (Value::Array(new), Value::Array(_)) if node.list_type == ListType::Map => {
            let old_items = OldItems::new(node, Some(old));
            let same_length = old.as_array().is_some_and(|old| old.len() == new.len());
            same_length
                && new.iter().all(|item| match (old_items.find(item), &node.items) {
                    (Some(old), Some(node)) => unchanged(node, item, old),
                    _ => false,
                })
        }
        (new, old) => new == old,
    }
}

/// Finds the old items of a list that new ones correspond to.
pub(crate) struct OldItems<'a> {
    keys: &'a [Text],
    by_key: HashMap<Vec<Key<'a>>, &'a Value>,
}

/// A scalar that identifies an item; numbers by their bits.
#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Text(&'a str),
    Int(i64),
    Float(u64),
    Bool(bool),
}

impl<'a> OldItems<'a> {
    pub(crate) fn new(list: &'a Node, old: Option<&'a Value>) -> Self {
        let mut by_key = HashMap::new();
        if let Some(items) = old.and_then(Value::as_array)
            && list.list_type == ListType::Map
            && list.declared_types == Types::ARRAY
            && !list.list_map_keys.is_empty()
        {
            for item in items {
                if let Some(key) = key_of(item, &list.list_map_keys) {
                    by_key.entry(key).or_insert(item); // the first of equal keys counts
                }
            }
        }
        OldItems { keys: &list.list_map_keys, by_key }
    }

    pub(crate) fn find<'b>(&self, item: &'b Value) -> Option<&'a Value>
    where
        'a: 'b,
    {
        if self.by_key.is_empty() {
            return None;
        }
        let key = key_of(item, self.keys)?;
        self.by_key.get(&key).copied()
    }
}

fn key_of<'v>(item: &'v Value, keys: &[Text]) -> Option<Vec<Key<'v>>> {
    let map = item.as_object()?;
    keys.iter()
        .map(|key| match map.get(key)? {
            Value::String(text) => Some(Key::Text(text)),
            Value::Int(number) => Some(Key::Int(*number)),
            Value::Float(number) => Some(Key::Float(number.to_bits())),
            Value::Bool(value) => Some(Key::Bool(*value)),
            _ => None,
        })
        .collect()
}
