//! Lists and maps: created by expressions, constant in programs, or borrowed from the host.

use std::collections::HashMap;
use std::sync::Arc;

use crate::compare::{double_to_int, double_to_uint, equal};
use crate::error::EvalError;
use crate::host::{HostList, HostMap, Semantics};
use crate::value::{Evaluated, Str, Value};

/// Maps with more entries than this get an index.
const UNINDEXED_ENTRIES_MAX: usize = 8;

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    Shared(Arc<Items<'a>>),
    Borrowed(&'a [Value<'a>]),
    Host(HostList<'a>),
}

/// Items that an expression put together.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    items: Vec<Value<'a>>,
    /// Taken over from the host's list on the left of `+`.
    semantics: Semantics<'a>,
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        List::Shared(Arc::new(Items { items, semantics: Semantics::Ordered }))
    }
}

impl<'a> List<'a> {
    #[expect(clippy::len_without_is_empty, reason = "emptiness is not asked for")]
    pub fn len(&self) -> usize {
        match self {
            List::Shared(shared) => shared.items.len(),
            List::Borrowed(items) => items.len(),
            List::Host(list) => list.view.len(list.data),
        }
    }

    /// The item at `index`; `None` beyond the end.
    pub fn get(&self, index: usize) -> Option<Evaluated<'a>> {
        match self {
            List::Shared(shared) => shared.items.get(index).cloned().map(Ok),
            List::Borrowed(items) => items.get(index).map(|item| Ok(item.borrowed())),
            List::Host(list) if index < list.view.len(list.data) => Some(list.view.item(list.data, index)),
            List::Host(_) => None,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Evaluated<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// All items; the first that cannot be read is the error.
    pub fn items(&self) -> Result<Vec<Value<'a>>, EvalError> {
        self.iter().collect()
    }

    pub(crate) fn borrowed(&'a self) -> List<'a> {
        match self {
            List::Shared(shared) if shared.semantics == Semantics::Ordered => List::Borrowed(&shared.items),
            other => other.clone(),
        }
    }

    pub(crate) fn semantics(&self) -> Semantics<'a> {
        match self {
            List::Shared(shared) => shared.semantics,
            List::Borrowed(_) => Semantics::Ordered,
            List::Host(list) => list.view.semantics(),
        }
    }

    /// Whether the list holds an equal value.
    pub(crate) fn contains(&self, wanted: &Value<'a>) -> Result<bool, EvalError> {
        let mut failure = None;
        for item in self.iter() {
            match item.and_then(|item| equal(&item, wanted)) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(false), Err)
    }

    /// `self + other`, in the manner of the left side.
    pub(crate) fn concat(&self, other: &List<'a>) -> Evaluated<'a> {
        let mut items = self.items()?;
        match self.semantics() {
            Semantics::Ordered => items.extend(other.items()?),
            Semantics::Set => {
                for item in other.iter() {
                    let item = item?;
                    if position(&items, |known| equal(known, &item).unwrap_or(false)).is_none() {
                        items.push(item);
                    }
                }
            }
            Semantics::Keyed(keys) => {
                let own: Vec<_> = items.iter().map(|item| key_of(item, keys)).collect();
                for item in other.iter() {
                    let item = item?;
                    let key = key_of(&item, keys);
                    match own.iter().rposition(|known| same_key(known, &key)) {
                        Some(at) => items[at] = item,
                        None => items.push(item),
                    }
                }
            }
        }
        Ok(Value::List(List::Shared(Arc::new(Items { items, semantics: self.semantics() }))))
    }

    /// Equality in the manner of the left side.
    pub(crate) fn equals(&self, other: &List<'_>) -> Result<bool, EvalError> {
        if self.len() != other.len() {
            return Ok(false);
        }
        match self.semantics() {
            Semantics::Ordered => {
                for (own, theirs) in self.iter().zip(other.iter()) {
                    if !equal(&own?, &theirs?)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Semantics::Set => {
                let own = self.items()?;
                for item in other.iter() {
                    let item = item?;
                    if position(&own, |known| equal(known, &item).unwrap_or(false)).is_none() {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Semantics::Keyed(keys) => {
                let own = self.items()?;
                let own_keys: Vec<_> = own.iter().map(|item| key_of(item, keys)).collect();
                for item in other.iter() {
                    let item = item?;
                    let key = key_of(&item, keys);
                    match own_keys.iter().rposition(|known| same_key(known, &key)) {
                        Some(at) if equal(&own[at], &item)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
        }
    }
}

fn position<'v, 'a>(items: &'v [Value<'a>], fits: impl FnMut(&'v Value<'a>) -> bool) -> Option<usize> {
    items.iter().position(fits)
}

/// The values of the key fields of one item.
fn key_of<'a>(item: &Value<'a>, keys: &[crate::ast::Name]) -> Vec<Option<Value<'a>>> {
    let field = |key: &crate::ast::Name| item.as_map()?.get_str(key)?.ok();
    keys.iter().map(field).collect()
}

fn same_key(left: &[Option<Value<'_>>], right: &[Option<Value<'_>>]) -> bool {
    left.iter().zip(right).all(|pair| match pair {
        (Some(left), Some(right)) => equal(left, right).unwrap_or(false),
        (None, None) => true,
        _ => false,
    })
}

/// A map.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    Shared(Arc<Entries<'a>>),
    Borrowed(&'a Entries<'a>),
    Host(HostMap<'a>),
}

/// Entries in the order in which they were added. Keys that are equal across number types are the same key.
#[derive(Clone, Debug, Default)]
pub struct Entries<'a> {
    list: Vec<(Value<'a>, Value<'a>)>,
    /// Places of the entries, once there are many.
    texts: HashMap<Arc<str>, usize>,
    scalars: HashMap<Scalar, usize>,
    is_indexed: bool,
}

/// A key other than text in a form that hashes, the same for equal numbers of different types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scalar {
    Bool(bool),
    Int(i64),
    Uint(u64),
}

impl Scalar {
    fn new(value: &Value<'_>) -> Option<Scalar> {
        match value {
            Value::Bool(value) => Some(Scalar::Bool(*value)),
            Value::Int(value) => Some(Scalar::Int(*value)),
            Value::Uint(value) => Some(i64::try_from(*value).map_or(Scalar::Uint(*value), Scalar::Int)),
            Value::Double(value) => {
                double_to_int(*value).map(Scalar::Int).or_else(|| double_to_uint(*value).map(Scalar::Uint))
            }
            _ => None,
        }
    }
}

impl<'a> Entries<'a> {
    pub fn new() -> Self {
        Entries::default()
    }

    #[expect(clippy::len_without_is_empty, reason = "emptiness is not asked for")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Value<'a>, Value<'a>)> {
        self.list.iter()
    }

    /// Adds an entry or replaces the one of the same key; says whether there was one.
    pub fn insert(&mut self, key: Value<'a>, value: Value<'a>) -> bool {
        if let Some(at) = self.position(&key) {
            self.list[at].1 = value;
            return true;
        }
        self.list.push((key, value));
        if self.list.len() > UNINDEXED_ENTRIES_MAX {
            let from = if self.is_indexed { self.list.len() - 1 } else { 0 };
            self.index(from);
        }
        false
    }

    fn index(&mut self, from: usize) {
        self.is_indexed = true;
        for (at, (key, _)) in self.list.iter().enumerate().skip(from) {
            if let Value::String(text) = key {
                self.texts.insert((&**text).into(), at);
            } else if let Some(scalar) = Scalar::new(key) {
                self.scalars.insert(scalar, at);
            }
        }
    }

    /// Takes the entry of this key out.
    pub(crate) fn remove(&mut self, key: &Value<'_>) {
        if let Some(at) = self.position(key) {
            self.list.remove(at);
            self.texts.clear();
            self.scalars.clear();
            self.is_indexed = false;
        }
    }

    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.position(key).map(|at| &self.list[at].1)
    }

    fn position(&self, key: &Value<'_>) -> Option<usize> {
        if self.is_indexed {
            if let Value::String(text) = key {
                return self.texts.get(&**text).copied();
            }
            if let Some(scalar) = Scalar::new(key) {
                return self.scalars.get(&scalar).copied();
            }
        }
        self.list.iter().position(|(known, _)| equal(known, key).unwrap_or(false))
    }
}

impl<'a> FromIterator<(Value<'a>, Value<'a>)> for Entries<'a> {
    fn from_iter<T: IntoIterator<Item = (Value<'a>, Value<'a>)>>(iter: T) -> Self {
        let mut entries = Entries::new();
        for (key, value) in iter {
            entries.insert(key, value);
        }
        entries
    }
}

impl<'a> From<Entries<'a>> for Map<'a> {
    fn from(entries: Entries<'a>) -> Self {
        Map::Shared(Arc::new(entries))
    }
}

impl<'a> From<Entries<'a>> for Value<'a> {
    fn from(entries: Entries<'a>) -> Self {
        Value::Map(entries.into())
    }
}

impl<'a> Map<'a> {
    #[expect(clippy::len_without_is_empty, reason = "emptiness is not asked for")]
    pub fn len(&self) -> usize {
        match self {
            Map::Shared(entries) => entries.len(),
            Map::Borrowed(entries) => entries.len(),
            Map::Host(map) => map.view.len(map.data),
        }
    }

    /// The value of a key; `None` when there is none.
    pub fn get(&self, key: &Value<'_>) -> Option<Evaluated<'a>> {
        match self {
            Map::Shared(entries) => entries.get(key).cloned().map(Ok),
            Map::Borrowed(entries) => entries.get(key).map(|value| Ok(value.borrowed())),
            Map::Host(map) => match key {
                Value::String(text) => map.view.get(map.data, text),
                _ => Some(Err(EvalError::no_such_overload())),
            },
        }
    }

    /// The value of a text key.
    pub fn get_str(&self, key: &str) -> Option<Evaluated<'a>> {
        match self {
            Map::Host(map) => map.view.get(map.data, key),
            other => other.get(&Value::str(key)),
        }
    }

    pub fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Shared(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            Map::Borrowed(entries) => entries.iter().map(|(key, _)| key.borrowed()).collect(),
            Map::Host(map) => {
                let keys: Vec<Str<'a>> = map.view.keys(map.data);
                keys.into_iter().map(Value::String).collect()
            }
        }
    }

    pub(crate) fn borrowed(&'a self) -> Map<'a> {
        match self {
            Map::Shared(entries) => Map::Borrowed(entries),
            other => other.clone(),
        }
    }

    pub(crate) fn equals(&self, other: &Map<'_>) -> Result<bool, EvalError> {
        if let Map::Host(map) = self
            && let Some(answer) = map.view.equals(map.data, other)
        {
            return answer;
        }
        if self.len() != other.len() {
            return Ok(false);
        }
        for key in self.keys() {
            let (Some(own), Some(theirs)) = (self.get(&key), other.get(&key)) else {
                return Ok(false);
            };
            if !equal(&own?, &theirs?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
