//! Patches against a naive model of them: trees rebuilt by hand, one path at a time, straight from the RFCs and the
//! few points in which the reference leaves them.

use proptest::prelude::*;

use super::{JsonPatch, merge};
use crate::wire::json;
use crate::{Map, Value};

/// Small documents with few names, so that paths find something.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0_i64..3).prop_map(Value::Int),
        Just(Value::Null),
        prop::sample::select(vec!["x", "y"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array), object_of(inner)]
    })
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner, 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// Paths through those names and through lists, at least one step long.
fn path() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "0", "1", "2", "-"]), 1..4)
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<&'static str>, Value),
    Remove(Vec<&'static str>),
    Replace(Vec<&'static str>, Value),
    Test(Vec<&'static str>, Value),
    Move(Vec<&'static str>, Vec<&'static str>),
    Copy(Vec<&'static str>, Vec<&'static str>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (path(), document()).prop_map(|(path, value)| Step::Add(path, value)),
        path().prop_map(Step::Remove),
        (path(), document()).prop_map(|(path, value)| Step::Replace(path, value)),
        (path(), document()).prop_map(|(path, value)| Step::Test(path, value)),
        (path(), path()).prop_map(|(from, path)| Step::Move(from, path)),
        (path(), path()).prop_map(|(from, path)| Step::Copy(from, path)),
    ]
}

/// The step as a client writes it.
fn written(step: &Step) -> String {
    let pointer = |path: &[&str]| json::to_string(&format!("/{}", path.join("/")).into());
    let (op, path, rest) = match step {
        Step::Add(path, value) => ("add", path, format!(",\"value\":{}", json::to_string(value))),
        Step::Remove(path) => ("remove", path, String::new()),
        Step::Replace(path, value) => ("replace", path, format!(",\"value\":{}", json::to_string(value))),
        Step::Test(path, value) => ("test", path, format!(",\"value\":{}", json::to_string(value))),
        Step::Move(from, path) => ("move", path, format!(",\"from\":{}", pointer(from))),
        Step::Copy(from, path) => ("copy", path, format!(",\"from\":{}", pointer(from))),
    };
    format!("{{\"op\":\"{op}\",\"path\":{}{rest}}}", pointer(path))
}

/// What to do where a path ends.
enum Edit {
    Insert(Value),
    Set(Value),
    Delete,
}

/// The document with one place edited; `None` when there is no such place.
fn edited(document: &Value, path: &[&str], edit: &Edit) -> Option<Value> {
    let (step, rest) = path.split_first()?;
    match document {
        Value::Object(members) => {
            let mut members: Map = members.clone();
            let value = match (rest.is_empty(), edit) {
                (false, _) => edited(members.get(step)?, rest, edit)?,
                (true, Edit::Insert(value) | Edit::Set(value)) => value.clone(),
                (true, Edit::Delete) => {
                    members.remove(step)?;
                    return Some(Value::Object(members));
                }
            };
            members.insert(*step, value);
            Some(Value::Object(members))
        }
        Value::Array(items) => {
            let mut items = items.clone();
            let index: Option<usize> = step.parse().ok();
            match (rest.is_empty(), edit) {
                (true, Edit::Insert(value)) if *step == "-" => items.push(value.clone()),
                (true, Edit::Insert(value)) => {
                    let index = index.filter(|index| *index <= items.len())?;
                    items.insert(index, value.clone());
                }
                _ => {
                    let index = index.filter(|index| *index < items.len())?;
                    match (rest.is_empty(), edit) {
                        (true, Edit::Delete) => drop(items.remove(index)),
                        (true, Edit::Set(value) | Edit::Insert(value)) => items[index] = value.clone(),
                        (false, _) => items[index] = edited(&items[index], rest, edit)?,
                    }
                }
            }
            Some(Value::Array(items))
        }
        _ => None,
    }
}

/// The way to a place does not exist.
#[derive(Debug)]
struct Nowhere;

/// What a path leads to; `None` for a member that is missing from an object, which the reference takes for null.
fn found<'a>(document: &'a Value, path: &[&str]) -> Result<Option<&'a Value>, Nowhere> {
    let (step, rest) = path.split_first().ok_or(Nowhere)?;
    let value = match document {
        Value::Object(members) => members.get(step),
        Value::Array(items) => {
            let index = step.parse::<usize>().map_err(|_| Nowhere)?;
            Some(items.get(index).ok_or(Nowhere)?)
        }
        _ => return Err(Nowhere),
    };
    match (value, rest.is_empty()) {
        (value, true) => Ok(value),
        (Some(value), false) => found(value, rest),
        (None, false) => Err(Nowhere),
    }
}

fn model(document: &Value, steps: &[Step]) -> Option<Value> {
    let mut document = document.clone();
    for step in steps {
        document = match step {
            Step::Add(path, value) => edited(&document, path, &Edit::Insert(value.clone()))?,
            Step::Remove(path) => edited(&document, path, &Edit::Delete)?,
            Step::Replace(path, value) => {
                found(&document, path).ok()?;
                edited(&document, path, &Edit::Set(value.clone()))?
            }
            Step::Test(path, value) => {
                let null = Value::Null;
                (found(&document, path).ok()?.unwrap_or(&null) == value).then_some(document)?
            }
            Step::Copy(from, path) => {
                let value = found(&document, from).ok()?.cloned().unwrap_or_default();
                edited(&document, path, &Edit::Insert(value))?
            }
            Step::Move(from, path) => {
                let value = found(&document, from).ok()??.clone();
                let without = edited(&document, from, &Edit::Delete)?;
                edited(&without, path, &Edit::Insert(value))?
            }
        };
    }
    Some(document)
}

/// Merging as RFC 7396 writes it down.
fn merged(target: Option<&Value>, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut members = target.and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, change) in changes.iter() {
        if change.is_null() {
            members.remove(key);
        } else {
            let value = merged(members.get(key), change);
            members.insert(key, value);
        }
    }
    Value::Object(members)
}

/// Merge patches whose lists hold no objects: the reference takes nulls out of those.
fn merge_patch() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0_i64..3).prop_map(Value::Int),
        prop::collection::vec((0_i64..3).prop_map(Value::Int), 0..3).prop_map(Value::Array),
    ];
    object_of(leaf.prop_recursive(4, 24, 3, object_of))
}

proptest! {
    #[test]
    fn json_patches_do_what_the_model_does(
        document in object_of(document()),
        steps in prop::collection::vec(step(), 0..5),
    ) {
        let text = format!("[{}]", steps.iter().map(written).collect::<Vec<_>>().join(","));
        let patch = JsonPatch::decode(text.as_bytes()).unwrap();
        prop_assert_eq!(patch.apply(document.clone()).ok(), model(&document, &steps), "{}", text);
    }

    #[test]
    fn merge_patches_do_what_the_model_does(document in object_of(document()), patch in merge_patch()) {
        let mut patched = document.clone();
        merge::apply(&mut patched, patch.clone());
        prop_assert_eq!(patched, merged(Some(&document), &patch));
    }

    #[test]
    fn merging_a_patch_again_changes_nothing(document in object_of(document()), patch in merge_patch()) {
        let mut once = document;
        merge::apply(&mut once, patch.clone());
        let mut twice = once.clone();
        merge::apply(&mut twice, patch);
        prop_assert_eq!(twice, once);
    }
}
