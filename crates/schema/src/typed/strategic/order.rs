//! The order of merged lists, and the directive that sets it.

use meta::{Map, Value};

use super::{BAD_SET_ORDER, MARKER, SET_ORDER, Schema, StrategicError, bad_type, find, holds_maps, internal};
use super::{merge_key, merge_list, no_merge_key, strategy, without_directives};
use crate::go_text::plain;

const LIST: &str = "[]interface {}";

/// Obeys every `$setElementOrder/field`: the list is merged right away, put in order and taken out of the patch.
pub(super) fn set_element_orders(
    original: &mut Map,
    patch: &mut Map,
    schema: Schema,
) -> Result<(), StrategicError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(SET_ORDER)).map(str::to_owned).collect();
    for directive in directives {
        let wanted = match patch.remove(&directive) {
            Some(Value::Array(items)) => items,
            Some(other) => return bad_type(LIST, &other),
            None => continue,
        };
        let key = directive[SET_ORDER.len()..].strip_prefix('/').ok_or(BAD_SET_ORDER)?;
        let before = take_list(original.get(key))?;
        let change = take_list(patch.get(key))?;
        let (field, element) = schema.list(key)?;
        let identity = merge_key(field);
        check_order(change.as_deref().unwrap_or_default(), &wanted, identity)?;
        let is_empty = |list: &Option<Vec<Value>>| list.as_ref().is_none_or(Vec::is_empty);
        let nothing = is_empty(&before) && is_empty(&change);
        let mut live = before.clone().unwrap_or_default();
        let merged = match (before, change) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
            (Some(before), Some(change)) if strategy(field) == "merge" => {
                let merged = merge_list(before, change, Schema::of(element.id), identity, false)?;
                live = merged.live;
                merged.items
            }
            (Some(_), Some(change)) => change,
        };
        if nothing {
            return internal("no elements in any of the given slices");
        }
        let arranged = arrange(merged, &wanted, &live, identity)?;
        original.insert(key, arranged);
        patch.remove(key);
    }
    Ok(())
}

fn take_list(value: Option<&Value>) -> Result<Option<Vec<Value>>, StrategicError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.clone())),
        Some(other) => bad_type(LIST, other),
    }
}

/// The items of the patch must be in the wanted order, and among the wanted.
fn check_order(change: &[Value], wanted: &[Value], key: &str) -> Result<(), StrategicError> {
    if change.is_empty() || wanted.is_empty() {
        return Ok(());
    }
    let deleted =
        |item: &&Value| !key.is_empty() && item.get(MARKER).and_then(Value::as_str) == Some("delete");
    let mut items = change.iter().filter(|item| !deleted(item)).peekable();
    let mut left = wanted.iter().peekable();
    while let (Some(item), Some(candidate)) = (items.peek(), left.peek()) {
        if item.get(MARKER).is_some() {
            items.next();
            continue;
        }
        if same(item, candidate, key)? {
            items.next();
        }
        left.next();
    }
    // Other directives count as items once the wanted ones are used up.
    if items.peek().is_some() {
        let (change, wanted) = (plain(&change.to_vec().into()), plain(&wanted.to_vec().into()));
        return internal(format!(
            "The order in patch list:\n{change}\n doesn't match {SET_ORDER} list:\n{wanted}\n"
        ));
    }
    Ok(())
}

fn same(left: &Value, right: &Value, key: &str) -> Result<bool, StrategicError> {
    if key.is_empty() {
        return Ok(left == right);
    }
    Ok(identity(left, key)? == identity(right, key)?)
}

fn identity<'a>(item: &'a Value, key: &str) -> Result<&'a Value, StrategicError> {
    match item {
        Value::Object(map) => map.get(key).map_or_else(|| no_merge_key(map, key), Ok),
        other => bad_type("map[string]interface {}", other),
    }
}

/// Puts the items that `wanted` names in its order and leaves the others where `live` has them.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    live: &[Value],
    key: &str,
) -> Result<Vec<Value>, StrategicError> {
    let mut named = Vec::with_capacity(merged.len());
    let mut others = Vec::new();
    if merged.is_empty() {
        return Ok(merged);
    }
    let maps = holds_maps(&merged, &[])?;
    if maps {
        wanted.iter().chain(live).try_for_each(|item| identity(item, key).map(|_| ()))?;
    }
    let position = |list: &[Value], item: &Value| -> Option<usize> {
        let of = |value: &Value| if maps { value.get(key).cloned() } else { Some(value.clone()) };
        let wanted = of(item);
        list.iter().position(|candidate| of(candidate) == wanted)
    };
    for item in merged {
        let is_named = if key.is_empty() {
            wanted.contains(&item)
        } else {
            find(wanted, key, identity(&item, key)?)?.is_some()
        };
        if is_named { named.push(item) } else { others.push(item) }
    }
    named.sort_by_key(|item| position(wanted, item));
    others.sort_by_key(|item| position(live, item));
    Ok(interleave(others, named, |item| position(live, item)))
}

/// Merges two ordered lists: of two heads that are both live, the one that comes first there goes first; else the
/// named one does.
fn interleave(others: Vec<Value>, named: Vec<Value>, live: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut out = Vec::with_capacity(others.len() + named.len());
    let (mut others, mut named) = (others.into_iter().peekable(), named.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return out,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(name)) => {
                live(other).zip(live(name)).is_some_and(|(other, name)| other < name)
            }
        };
        out.extend(if other_first { others.next() } else { named.next() });
    }
}
