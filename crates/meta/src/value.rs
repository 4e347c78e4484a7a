//! The tree an object is read into: JSON with integers and floats kept apart.
//!
//! Maps are vectors sorted by key. Objects have few keys per level, are built once by a reader that mostly
//! meets the keys in order, are looked up by binary search, and leave in sorted order as Go's maps do.
//! Encoding lives in [`crate::wire`] modules; this file knows no format.

use std::cmp::Ordering;

/// A string that needs no allocation up to 24 bytes, which covers most keys and many values.
pub type Text = compact_str::CompactString;

/// One JSON value.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    /// A number written without fraction and exponent that fits 64 bits.
    Int(i64),
    /// Every other number.
    Float(f64),
    String(Text),
    Array(Vec<Value>),
    Object(Map),
}

impl Value {
    /// The name of the JSON type, as the reference's messages spell it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "integer",
            Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(value) => Some(value),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    /// The member of an object, or `None` when this is no object or has no such member.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_object_mut()?.get_mut(key)
    }

    /// Follows `keys` through nested objects.
    ///
    /// ```
    /// use crest_meta::{Map, Value};
    /// let inner: Map = [("name", Value::from("a"))].into_iter().collect();
    /// let object: Value = [("metadata", Value::Object(inner))].into_iter().collect::<Map>().into();
    /// assert_eq!(object.at(&["metadata", "name"]).and_then(Value::as_str), Some("a"));
    /// ```
    pub fn at(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::String(value.into())
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Self {
        Value::String(value)
    }
}

impl From<Map> for Value {
    fn from(value: Map) -> Self {
        Value::Object(value)
    }
}

impl From<Vec<Value>> for Value {
    fn from(value: Vec<Value>) -> Self {
        Value::Array(value)
    }
}

/// An object's members, sorted by key.
///
/// Invariant: `entries` is strictly ascending by key.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Map {
    entries: Vec<(Text, Value)>,
}

impl Map {
    pub fn new() -> Self {
        Map::default()
    }

    /// Takes members in any order; of several with the same key the last one wins.
    pub fn from_entries(mut entries: Vec<(Text, Value)>) -> Self {
        let ascending = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ascending {
            entries.sort_by(|left, right| left.0.cmp(&right.0)); // stable: the last written stays last
            entries.reverse();
            entries.dedup_by(|later, earlier| later.0 == earlier.0);
            entries.reverse();
        }
        Map { entries }
    }

    /// Takes members that a reader has kept strictly ascending.
    pub(crate) fn from_sorted(entries: Vec<(Text, Value)>) -> Self {
        debug_assert!(entries.windows(2).all(|pair| pair[0].0 < pair[1].0), "out of order");
        Map { entries }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        // Short maps are the rule; a linear scan beats binary search on them.
        if self.entries.len() <= 8 {
            for (index, (candidate, _)) in self.entries.iter().enumerate() {
                match candidate.as_str().cmp(key) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(index),
                    Ordering::Greater => return Err(index),
                }
            }
            return Err(self.entries.len());
        }
        self.entries.binary_search_by(|(candidate, _)| candidate.as_str().cmp(key))
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(key).ok().map(|index| &self.entries[index].1)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match self.find(key) {
            Ok(index) => Some(&mut self.entries[index].1),
            Err(_) => None,
        }
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Sets a member and returns the one it replaces.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.find(&key) {
            Ok(index) => Some(std::mem::replace(&mut self.entries[index].1, value)),
            Err(index) => {
                self.entries.insert(index, (key, value));
                None
            }
        }
    }

    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.find(key).ok().map(|index| self.entries.remove(index).1)
    }

    /// The member, made with `default` when it is missing.
    pub fn get_or_insert_with(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let index = match self.find(key) {
            Ok(index) => index,
            Err(index) => {
                self.entries.insert(index, (key.into(), default()));
                index
            }
        };
        &mut self.entries[index].1
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> + DoubleEndedIterator {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Value)> {
        self.entries.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.iter().map(|(_, value)| value)
    }

    pub fn into_entries(self) -> Vec<(Text, Value)> {
        self.entries
    }
}

impl<K: Into<Text>> FromIterator<(K, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Self {
        Map::from_entries(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_wins_and_order_is_sorted() {
        let map: Map =
            [("b", Value::Int(1)), ("a", Value::Int(2)), ("b", Value::Int(3))].into_iter().collect();
        assert_eq!(map.iter().collect::<Vec<_>>(), [("a", &Value::Int(2)), ("b", &Value::Int(3))]);
    }

    #[test]
    fn lookups_work_below_and_above_the_linear_limit() {
        for size in [0_i64, 1, 8, 9, 100] {
            let mut map: Map = (0..size).map(|n| (format!("k{n:03}"), Value::Int(n))).collect();
            for n in 0..size {
                assert_eq!(map.get(&format!("k{n:03}")), Some(&Value::Int(n)));
            }
            assert_eq!(map.get("absent"), None);
            assert_eq!(map.insert("absent", 1_i64), None);
            assert_eq!(map.insert("absent", 2_i64), Some(Value::Int(1)));
            assert_eq!(map.remove("absent"), Some(Value::Int(2)));
            assert_eq!(map.len(), usize::try_from(size).unwrap());
        }
    }
}
