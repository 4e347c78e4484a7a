//! Fills in the defaults of a schema.
//!
//! Runs after [`crate::prune`]: what is null by then and not nullable has a default. Visits only what can have one.
//! Idempotent.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go, v1.36.

#[cfg(test)]
mod tests;

use meta::{Map, Value};

use crate::structural::{Facts, Members, Node, Schema};

impl Schema {
    /// Sets each missing field that has a default, also inside of defaults that are set.
    pub fn default(&self, object: &mut Value) {
        fill(object, &self.root);
    }
}

fn fill(value: &mut Value, node: &Node) {
    if !node.facts.has(Facts::DEFAULTS) {
        return;
    }
    match value {
        Value::Object(map) => fill_members(map, node),
        Value::Array(items) => {
            let Some(node) = node.items.as_deref() else {
                return;
            };
            for item in items {
                replace_null(item, node);
                fill(item, node);
            }
        }
        _ => {}
    }
}

fn fill_members(map: &mut Map, node: &Node) {
    for (name, property) in &node.properties {
        let Some(default) = &property.default else {
            continue;
        };
        match map.get(name) {
            None => {}
            Some(Value::Null) if !property.nullable => {}
            Some(_) => continue,
        }
        map.insert(name.clone(), (**default).clone());
    }
    let mut members = Members::of(node);
    for (name, value) in map.iter_mut() {
        match members.declared(name) {
            Some(property) => fill(value, property),
            None => {
                if let Some(node) = node.additional.schema() {
                    replace_null(value, node);
                    fill(value, node);
                }
            }
        }
    }
}

/// A null where none may be becomes the default, if there is one.
fn replace_null(value: &mut Value, node: &Node) {
    if let (Value::Null, false, Some(default)) = (&value, node.nullable, &node.default) {
        *value = (**default).clone();
    }
}
