//! The quick walk: does the value fit? Allocates nothing.

use meta::{Map, Value};

use super::Purpose;
use super::checks::{
    Range, enum_contains, format_for, has_duplicates, is_above, is_below, is_too_long, is_too_short,
    number_passes, text_format, type_mismatch, types_for,
};
use crate::structural::{Additional, Checks, Combined, Facts, Members, Node};

pub(super) fn accepts(node: &Node, value: &Value, purpose: Purpose) -> bool {
    if !node.facts.has(Facts::DEMANDS) {
        return true;
    }
    let checks = node.checks.as_deref();
    let types = types_for(node, purpose);
    if let Value::Null = value {
        return (types.is_empty() || node.nullable)
            && checks.is_none_or(|checks| checks.one_of_values.is_none());
    }
    let format = format_for(checks, purpose);
    if type_mismatch(types, format, value).is_some() {
        return false;
    }
    let own = match checks {
        Some(checks) => {
            let numbers = match value {
                Value::Int(_) | Value::Float(_) => number_passes(checks, types, format, value),
                _ => true,
            };
            numbers && passes(checks, value, purpose)
        }
        None => Range::of(types, format).holds_value(value),
    };
    own && match value {
        Value::Object(map) => accepts_members(node, map, purpose),
        Value::Array(items) => match &node.items {
            Some(node) => items.iter().all(|item| accepts(node, item, purpose)),
            None => true,
        },
        _ => true,
    }
}

fn accepts_members(node: &Node, map: &Map, purpose: Purpose) -> bool {
    let mut members = Members::of(node);
    map.iter().all(|(name, value)| match members.declared(name) {
        Some(member) => accepts(member, value, purpose),
        None => match &node.additional {
            Additional::Schema(member) => accepts(member, value, purpose),
            Additional::Denied => false,
            Additional::Allowed | Additional::Unspecified => true,
        },
    })
}

fn passes(checks: &Checks, value: &Value, purpose: Purpose) -> bool {
    let own = match value {
        Value::String(text) => passes_text(checks, text, purpose),
        Value::Array(items) => {
            let repeats = checks.unique_items && has_duplicates(items);
            !repeats
                && !is_above(items.len(), checks.sizes().max_items)
                && !is_below(items.len(), checks.sizes().min_items)
        }
        Value::Object(map) => {
            !is_above(map.len(), checks.sizes().max_properties)
                && !is_below(map.len(), checks.sizes().min_properties)
                && checks.required.iter().all(|name| map.contains_key(name))
        }
        _ => true,
    };
    own && checks.one_of_values.as_ref().is_none_or(|values| enum_contains(values, value))
        && passes_combinations(checks, value, purpose)
}

fn passes_text(checks: &Checks, text: &str, purpose: Purpose) -> bool {
    checks.sizes().max_length.is_none_or(|limit| !is_too_long(text, limit))
        && checks.sizes().min_length.is_none_or(|limit| !is_too_short(text, limit))
        && checks.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
        && text_format(checks, purpose).is_none_or(|rule| rule(text))
}

fn passes_combinations(checks: &Checks, value: &Value, purpose: Purpose) -> bool {
    let Some(combined) = &checks.combined else { return true };
    let Combined { all_of, any_of, one_of, not } = &**combined;
    let fits = |node: &Node| accepts(node, value, purpose);
    all_of.iter().all(|node| fits(node))
        && (any_of.is_empty() || any_of.iter().any(|node| fits(node)))
        && (one_of.is_empty() || one_of.iter().filter(|node| fits(node)).take(2).count() == 1)
        && not.as_ref().is_none_or(|node| !fits(node))
}
