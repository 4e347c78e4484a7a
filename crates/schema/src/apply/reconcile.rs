//! Brings owned fields in line with a type that has changed since they were recorded.
//!
//! A list or map that has become atomic is owned as a whole by whoever owned part of it. The other
//! direction needs nothing: the old owner keeps the field itself.
//!
//! Upstream: structured-merge-diff/v6/typed/reconcile_schema.go, v1.36.

use std::cmp::Ordering;

use meta::{Map, Value};

use super::fieldset::{FieldSet, has_children};
use super::typedef::{ListKind, MapDef, Shape, TypeDef, TypeRef};

/// Changes the set in place; costs a walk over its inner nodes and allocates nothing.
pub(super) fn reconcile(fields: &mut FieldSet, ty: &TypeRef) {
    descend(fields.root_mut(), ty.def());
}

fn descend(node: &mut Map, def: &TypeDef) {
    match (def.first_shape(), &def.map, &def.list) {
        (Some(Shape::Map), Some(map), _) if !map.is_deduced() => {
            let mut at = 0;
            for (element, child) in node.iter_mut() {
                if let Some(child) = inner(child)
                    && let Some(ty) = member(map, element, &mut at)
                {
                    settle(child, ty.def());
                }
            }
        }
        (Some(Shape::List), _, Some(list)) => {
            for (_, child) in node.iter_mut() {
                if let Some(child) = inner(child) {
                    settle(child, list.element.def());
                }
            }
        }
        _ => {}
    }
}

/// A node with children, of which an atomic type allows none.
fn settle(node: &mut Map, def: &TypeDef) {
    let atomic = match (def.first_shape(), &def.map, &def.list) {
        (Some(Shape::Map), Some(map), _) => map.atomic && !map.is_deduced(),
        (Some(Shape::List), _, Some(list)) => matches!(list.kind, ListKind::Atomic),
        _ => false,
    };
    if atomic { *node = Map::new() } else { descend(node, def) }
}

fn inner(node: &mut Value) -> Option<&mut Map> {
    node.as_object_mut().filter(|node| has_children(node))
}

/// The type below an element. Elements and fields are both sorted, so the search goes on from `at`.
fn member<'a>(map: &'a MapDef, element: &str, at: &mut usize) -> Option<&'a TypeRef> {
    let Some(name) = element.strip_prefix("f:") else { return map.additional.as_ref() };
    while let Some(field) = map.fields().get(*at) {
        match field.name.as_str().cmp(name) {
            Ordering::Less => *at += 1,
            Ordering::Equal => return Some(&field.ty),
            Ordering::Greater => break,
        }
    }
    map.additional.as_ref()
}
