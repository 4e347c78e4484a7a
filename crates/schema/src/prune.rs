//! Drops the fields that a structural schema does not name, and the nulls that it does not allow.
//!
//! Relies on a schema accepted by [`crate::crd`] and therefore never fails.
//! Leaves the content of `metadata` alone: see [`crate::coerce`] for that.
//! Idempotent.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go and defaulting/prunenulls.go, v1.36.

#[cfg(test)]
mod tests;

use meta::{FieldPath, Map, Value};

use crate::structural::{Additional, Members, Node, Schema};

impl Schema {
    /// Prunes an object of the kind, and removes each null where the schema neither allows it nor has a default.
    ///
    /// When `unknown` is given, the paths of what was pruned are added to it in ascending order, spelled as the
    /// reference does for `fieldValidation`: `spec.list[0].name`.
    pub fn prune(&self, object: &mut Value, unknown: Option<&mut Vec<String>>) {
        let mut pruner = Pruner { unknown, drops_nulls: true };
        let before = pruner.unknown.as_ref().map_or(0, |unknown| unknown.len());
        pruner.resource(object, &self.root, &FieldPath::ROOT);
        if let Some(unknown) = pruner.unknown {
            unknown[before..].sort_unstable();
        }
    }
}

/// Prunes an object that surrounds a default; nulls stay.
pub(crate) fn prune_defaults_in(object: &mut Value, root: &Node) {
    Pruner { unknown: None, drops_nulls: false }.resource(object, root, &FieldPath::ROOT);
}

/// Prunes a default value by the schema it belongs to; nulls stay. `is_resource` says whether it is a resource.
pub(crate) fn prune_default(value: &mut Value, node: &Node, is_resource: bool) {
    let mut pruner = Pruner { unknown: None, drops_nulls: false };
    match value {
        Value::Object(_) if is_resource => pruner.resource(value, node, &FieldPath::ROOT),
        value => pruner.value(value, Some(node), &FieldPath::ROOT),
    }
}

pub(crate) fn is_meta_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

struct Pruner<'r> {
    unknown: Option<&'r mut Vec<String>>,
    drops_nulls: bool,
}

impl Pruner<'_> {
    /// The root of an object is a resource whether or not the schema says so.
    fn resource(&mut self, object: &mut Value, node: &Node, path: &FieldPath<'_>) {
        if let Value::Object(map) = object {
            self.members(map, node, true, path);
        }
    }

    fn value(&mut self, value: &mut Value, node: Option<&Node>, path: &FieldPath<'_>) {
        let Some(node) = node else {
            return self.clear(value, path);
        };
        match value {
            Value::Object(map) => self.members(map, node, node.embedded_resource, path),
            Value::Array(items) if node.preserve_unknown => self.preserved_items(items, node, path),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(item, node.items.as_deref(), &path.index(index));
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, map: &mut Map, node: &Node, is_resource: bool, path: &FieldPath<'_>) {
        let mut members = Members::of(node);
        map.retain(|name, value| {
            if is_resource && is_meta_field(name) {
                return self.meta_member(value, members.next(name));
            }
            match members.declared(name) {
                Some(member) => self.member(value, member, &path.field(name)),
                None => self.undeclared(name, value, node, path),
            }
        });
    }

    /// Returns whether the member stays.
    fn member(&mut self, value: &mut Value, node: &Node, path: &FieldPath<'_>) -> bool {
        match value {
            Value::Null => !(self.drops_nulls && is_unwanted_null(node)),
            Value::Object(_) | Value::Array(_) => {
                self.value(value, Some(node), path);
                true
            }
            _ => true,
        }
    }

    fn undeclared(&mut self, name: &str, value: &mut Value, node: &Node, path: &FieldPath<'_>) -> bool {
        match &node.additional {
            Additional::Schema(member) => self.member(value, member, &path.field(name)),
            Additional::Allowed | Additional::Denied => {
                self.clear(value, &path.field(name));
                true
            }
            Additional::Unspecified if node.preserve_unknown => true,
            Additional::Unspecified => {
                if !is_meta_field(name) || !path.is_root() {
                    self.record(&path.field(name));
                }
                false
            }
        }
    }

    /// The type and the metadata of a resource are not pruned here, only rid of nulls.
    fn meta_member(&mut self, value: &mut Value, node: Option<&Node>) -> bool {
        match node {
            Some(node) if self.drops_nulls => keep_wanted_nulls(value, node),
            _ => true,
        }
    }

    /// Items of a preserving list are preserving as well.
    fn preserved_items(&mut self, items: &mut [Value], list: &Node, path: &FieldPath<'_>) {
        let Some(node) = list.items.as_deref() else {
            return;
        };
        for (index, item) in items.iter_mut().enumerate() {
            let path = &path.index(index);
            match item {
                Value::Object(map) if !node.preserve_unknown => self.preserved_members(map, node, path),
                Value::Array(items) => self.preserved_items(items, node, path),
                _ => self.value(item, Some(node), path),
            }
        }
    }

    /// As [`Pruner::members`] for a node that preserves only because of the list around it.
    fn preserved_members(&mut self, map: &mut Map, node: &Node, path: &FieldPath<'_>) {
        let mut members = Members::of(node);
        map.retain(|name, value| {
            let is_meta = node.embedded_resource && is_meta_field(name);
            match (members.declared(name), &node.additional) {
                (member, additional) if is_meta => {
                    self.meta_member(value, member.or(additional.schema().map(AsRef::as_ref)))
                }
                (Some(member), _) => self.member(value, member, &path.field(name)),
                (None, Additional::Unspecified) => true,
                (None, _) => self.undeclared(name, value, node, path),
            }
        });
    }

    /// Nothing is known about what is inside.
    fn clear(&mut self, value: &mut Value, path: &FieldPath<'_>) {
        match value {
            Value::Object(map) => {
                for name in map.keys() {
                    self.record(&path.field(name));
                }
                *map = Map::new();
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.clear(item, &path.index(index));
                }
            }
            _ => {}
        }
    }

    fn record(&mut self, path: &FieldPath<'_>) {
        if let Some(unknown) = &mut self.unknown {
            unknown.push(path.to_string());
        }
    }
}

fn is_unwanted_null(node: &Node) -> bool {
    !node.nullable && node.default.is_none()
}

/// Removes unwanted nulls below a value that is not pruned; returns whether the value itself stays.
fn keep_wanted_nulls(value: &mut Value, node: &Node) -> bool {
    match value {
        Value::Null => !is_unwanted_null(node),
        Value::Object(map) => {
            let mut members = Members::of(node);
            map.retain(|name, value| match members.next(name) {
                Some(member) => keep_wanted_nulls(value, member),
                None => true,
            });
            true
        }
        Value::Array(items) => {
            if let Some(node) = &node.items {
                for item in items {
                    keep_wanted_nulls(item, node); // a null item stays
                }
            }
            true
        }
        _ => true,
    }
}
