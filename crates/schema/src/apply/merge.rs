//! Lays an applied configuration over a live object, and takes fields out of an object.
//!
//! Both work on values that conform to the type; neither copies what it keeps.
//!
//! Upstream: structured-merge-diff/v6/typed/{merge,remove}.go, v6.3.3.

use std::collections::HashMap;

use meta::{Map, Text, Value};

use super::element;
use super::fieldset::{FieldSet, has_children, is_member};
use super::typedef::{ListDef, ListKind, MapDef, Shape, TypeDef, TypeRef};

/// The live value with the configuration in it. Nothing is removed; of a leaf in both the configuration's
/// counts; list items come in the order of the configuration where it mentions them.
pub fn merge(ty: &TypeRef, live: Value, config: Value) -> Value {
    merge_values(ty.def(), live, config)
}

fn merge_values(def: &TypeDef, live: Value, config: Value) -> Value {
    match (def.shape_of(&config), &def.map, &def.list) {
        (Some(Shape::Map), Some(map), _) if !map.atomic => merge_maps(map, live, config),
        (Some(Shape::List), _, Some(list)) if !matches!(list.kind, ListKind::Atomic) => {
            merge_lists(list, live, config)
        }
        _ => config,
    }
}

/// Null beside something that is not empty means no member, and so changes nothing.
fn merge_maps(map: &MapDef, live: Value, config: Value) -> Value {
    let live = match live {
        Value::Object(live) if !live.is_empty() => live,
        _ => return config,
    };
    let Value::Object(config) = config else { return Value::Object(live) };
    let mut merged = Vec::with_capacity(live.len().max(config.len()));
    let mut left = live.into_entries().into_iter().peekable();
    for (name, config) in config.into_entries() {
        while let Some(entry) = left.next_if(|(live_name, _)| *live_name < name) {
            merged.push(entry);
        }
        let value = match left.next_if(|(live_name, _)| *live_name == name) {
            Some((_, live)) => match map.member(&name) {
                Some(ty) => merge_values(ty.def(), live, config),
                None => config,
            },
            None => config,
        };
        merged.push((name, value));
    }
    merged.extend(left);
    Value::Object(Map::from_entries(merged))
}

fn merge_lists(list: &ListDef, live: Value, config: Value) -> Value {
    let live = match live {
        Value::Array(live) if !live.is_empty() => live,
        _ => return config,
    };
    let config = match config {
        Value::Array(config) if !config.is_empty() => config,
        _ => return Value::Array(live),
    };
    if live == config {
        return Value::Array(live);
    }
    let (live_keys, config_keys) = (keys(list, &live), keys(list, &config));
    if live_keys == config_keys {
        let pairs = live.into_iter().zip(config);
        let merged = pairs.map(|(live, config)| merge_values(list.element.def(), live, config));
        return Value::Array(merged.collect());
    }
    let order = Order::new(&live_keys, &config_keys);
    Value::Array(order.merge(list.element.def(), live, config))
}

/// Where the items of one key are.
#[derive(Clone, Copy)]
enum Place {
    Once(usize),
    /// Duplicates are replaced rather than merged.
    Often,
}

/// Two lists of keys. A configuration has each key once.
struct Order<'a> {
    live: &'a [Text],
    config: &'a [Text],
    live_places: HashMap<&'a Text, Place>,
    config_places: HashMap<&'a Text, usize>,
}

impl<'a> Order<'a> {
    fn new(live: &'a [Text], config: &'a [Text]) -> Self {
        let mut live_places = HashMap::with_capacity(live.len());
        for (index, key) in live.iter().enumerate() {
            live_places.entry(key).and_modify(|place| *place = Place::Often).or_insert(Place::Once(index));
        }
        let config_places = config.iter().enumerate().map(|(index, key)| (key, index)).collect();
        Order { live, config, live_places, config_places }
    }

    fn merge(&self, element: &TypeDef, live: Vec<Value>, config: Vec<Value>) -> Vec<Value> {
        let mut live: Vec<Option<Value>> = live.into_iter().map(Some).collect();
        let mut config: Vec<Option<Value>> = config.into_iter().map(Some).collect();
        let merge_at = |at: Turn| match at {
            Turn::Live(at) => live[at].take(),
            Turn::Config(at) => {
                let partner = match self.live_places.get(&self.config[at]) {
                    Some(Place::Once(index)) => live[*index].take(),
                    Some(Place::Often) | None => None,
                };
                match (partner, config[at].take()) {
                    (Some(live), Some(config)) => Some(merge_values(element, live, config)),
                    (_, config) => config,
                }
            }
        };
        self.turns().into_iter().filter_map(merge_at).collect()
    }

    /// The order of the merged list: that of the configuration for its items; the others stay between the
    /// neighbours they had, as far as those kept their order.
    fn turns(&self) -> Vec<Turn> {
        let mut turns = Vec::with_capacity(self.live.len().max(self.config.len()));
        let mut done = vec![false; self.config.len()];
        let mut shared = self.config.iter().filter(|key| self.live_places.contains_key(key));
        let mut next_shared = shared.next();
        let (mut live_at, mut config_at) = (0, 0);
        while live_at < self.live.len() || config_at < self.config.len() {
            let (live, config) = (self.live.get(live_at), self.config.get(config_at));
            let in_config = live.and_then(|key| self.config_places.get(key)).copied();
            if live == config {
                next_shared = shared.next();
                live_at += 1;
            } else {
                match (live, in_config) {
                    // Its place is where the configuration has it.
                    (Some(live), Some(_))
                        if config.is_some() && next_shared.is_some_and(|next| next != live) =>
                    {
                        live_at += 1;
                        continue;
                    }
                    (Some(_), None) => {
                        turns.push(Turn::Live(live_at));
                        live_at += 1;
                        continue;
                    }
                    (Some(_), Some(index)) if done[index] => live_at += 1,
                    _ => {}
                }
                if next_shared.is_some() && next_shared == config {
                    next_shared = shared.next();
                }
            }
            if config.is_some() {
                turns.push(Turn::Config(config_at));
                done[config_at] = true;
                config_at += 1;
            }
        }
        turns
    }
}

/// Whose item comes next.
enum Turn {
    Live(usize),
    Config(usize),
}

/// The items' elements; the lists conform, so every item has one.
fn keys(list: &ListDef, items: &[Value]) -> Vec<Text> {
    items.iter().map(|item| element::item(list, item).unwrap_or_default()).collect()
}

/// Takes the members of `fields` out of the value, each with all that is in it. A container that lost
/// something and has nothing left becomes null.
pub fn remove(ty: &TypeRef, value: &mut Value, fields: &FieldSet) {
    remove_from(ty.def(), value, fields.as_map());
}

fn remove_from(def: &TypeDef, value: &mut Value, fields: &Map) {
    let left = match (def.shape_of(value), &def.map, &def.list, &mut *value) {
        (Some(Shape::Map), Some(map), _, Value::Object(object)) if !map.atomic => {
            object.retain(|name, value| {
                let node = fields.get(&element::field(name)).and_then(Value::as_object);
                keep(node, map.member(name), value)
            });
            !object.is_empty()
        }
        (Some(Shape::List), _, Some(list), Value::Array(items)) if !matches!(list.kind, ListKind::Atomic) => {
            items.retain_mut(|item| {
                let key = element::item(list, item).unwrap_or_default();
                keep(fields.get(&key).and_then(Value::as_object), Some(&list.element), item)
            });
            !items.is_empty()
        }
        (Some(Shape::Scalar), ..) => true,
        // Of what is one leaf no part can be taken.
        _ => false,
    };
    if !left {
        *value = Value::Null;
    }
}

fn keep(node: Option<&Map>, ty: Option<&TypeRef>, value: &mut Value) -> bool {
    match node {
        None => true,
        Some(node) if is_member(node) => false,
        Some(node) => {
            if let Some(ty) = ty
                && has_children(node)
            {
                remove_from(ty.def(), value, node);
            }
            true
        }
    }
}
