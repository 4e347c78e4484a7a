//! Strategic merge patch: a merge patch that knows which lists are merged item by item, and obeys directives.
//!
//! The fields' `patchStrategy` and `patchMergeKey` come from the descriptions. The order of merged lists follows the
//! reference: items of the patch in its order, others where they were.
//!
//! Upstream: apimachinery/pkg/util/strategicpatch/patch.go (with parallel lists merged and unmatched nulls ignored, as
//! the server uses it); apiserver/pkg/endpoints/handlers/patch.go, v1.36.

mod order;

use meta::go_fmt::type_name;
use meta::{Map, Value};

use super::types::{Field, Kind, Shape, Struct, TypeId, TypeRef};
use crate::go_text::{kind_name, plain};

const MARKER: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Why a patch cannot be applied; the kind of error decides the code of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrategicError {
    /// The patch is malformed: 400.
    BadRequest(&'static str),
    /// The patch asks for what is not supported: 422.
    Unprocessable(&'static str),
    /// Everything else, which the reference answers with 500.
    Internal(String),
}

impl std::fmt::Display for StrategicError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StrategicError::BadRequest(text) | StrategicError::Unprocessable(text) => f.write_str(text),
            StrategicError::Internal(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StrategicError {}

const BAD_PRIMITIVE_LIST: StrategicError =
    StrategicError::BadRequest("invalid patch format of primitive list");
const BAD_RETAIN_KEYS: StrategicError = StrategicError::BadRequest("invalid patch format of retainKeys");
const BAD_SET_ORDER: StrategicError =
    StrategicError::BadRequest("invalid patch format of setElementOrder list");
const LIST_OF_LISTS: StrategicError = StrategicError::Unprocessable("lists of lists are not supported");

fn internal<T>(text: impl Into<String>) -> Result<T, StrategicError> {
    Err(StrategicError::Internal(text.into()))
}

fn no_merge_key<T>(item: &Map, key: &str) -> Result<T, StrategicError> {
    internal(format!("map: {} does not contain declared merge key: {key}", plain(&item.clone().into())))
}

/// Applies `patch` to a decoded object of `kind`. The result has to be restored: see [`super::restore`].
///
/// ```
/// use meta::{Value, wire::json};
/// use crest_schema::typed::{kind, strategic_merge};
/// let parse = |text: &str| json::parse(text.as_bytes()).unwrap().value;
/// let mut object = parse(r#"{"metadata":{"finalizers":["a/b"]}}"#);
/// let Value::Object(patch) = parse(r#"{"metadata":{"finalizers":["c/d"]}}"#) else { unreachable!() };
/// strategic_merge(kind("", "v1", "ConfigMap").unwrap(), &mut object, patch).unwrap();
/// assert_eq!(json::to_string(&object), r#"{"metadata":{"finalizers":["c/d","a/b"]}}"#);
/// ```
pub fn strategic_merge(kind: Kind, object: &mut Value, patch: Map) -> Result<(), StrategicError> {
    let original = match std::mem::take(object) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    *object = merge_map(original, patch, Schema::of(kind.type_id()))?.into();
    Ok(())
}

/// What the fields below a map are.
#[derive(Clone, Copy)]
enum Schema {
    Struct(&'static Struct),
    /// A map or a scalar: the name of Go's kind, for messages.
    Other(&'static str),
}

impl Schema {
    fn of(id: TypeId) -> Self {
        match &id.get().shape {
            Shape::Struct(strukt) => Schema::Struct(strukt),
            Shape::Map(_) => Schema::Other("map"),
            Shape::List(_) | Shape::Bytes => Schema::Other("slice"),
            Shape::Bool => Schema::Other("bool"),
            Shape::Int32 => Schema::Other("int32"),
            Shape::Int64 => Schema::Other("int64"),
            Shape::Float => Schema::Other("float64"),
            Shape::String => Schema::Other("string"),
            _ => Schema::Other("struct"),
        }
    }

    fn field(self, key: &str) -> Result<&'static Field, StrategicError> {
        match self {
            Schema::Struct(strukt) => strukt.field(key).ok_or_else(|| {
                let field = meta::go_fmt::quote(key);
                let text =
                    format!("unable to find api field in struct {} for the json field {field}", strukt.name);
                StrategicError::Internal(text)
            }),
            Schema::Other(kind) => {
                internal(format!("merging an object in json but data type is not struct, instead is: {kind}"))
            }
        }
    }

    /// The field that holds a list, and the type of its items.
    fn list(self, key: &str) -> Result<(&'static Field, TypeRef), StrategicError> {
        let field = self.field(key)?;
        match field.ty.get().shape {
            Shape::List(element) => Ok((field, element)),
            _ => internal("expected slice or array type, but got: struct"),
        }
    }
}

/// Whether a field's list or map is merged, replaced, or left to the default.
fn strategy(field: &Field) -> &'static str {
    let strategies = field.patch.as_ref().map_or(&[][..], |patch| &patch.strategies);
    strategies.iter().copied().find(|strategy| *strategy != "retainKeys").unwrap_or("")
}

fn merge_key(field: &Field) -> &'static str {
    field.patch.as_ref().and_then(|patch| patch.merge_key).unwrap_or("")
}

fn merge_map(mut original: Map, mut patch: Map, schema: Schema) -> Result<Map, StrategicError> {
    if let Some(directive) = patch.get(MARKER) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(MARKER);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => bad_patch_type(directive, &patch),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order::set_element_orders(&mut original, &mut patch, schema)?;
    for (key, value) in patch.into_entries() {
        let (key, deletion) = match key.strip_prefix(DELETE_FROM) {
            Some(rest) => (rest.strip_prefix('/').ok_or(BAD_PRIMITIVE_LIST)?, true),
            None => (key.as_str(), false),
        };
        if value.is_null() {
            original.remove(key);
            continue;
        }
        merge_member(&mut original, key, value, deletion, schema)?;
    }
    Ok(original)
}

fn bad_patch_type<T>(directive: &Value, map: &Map) -> Result<T, StrategicError> {
    internal(format!("unknown patch type: {} in map: {}", plain(directive), plain(&map.clone().into())))
}

fn merge_member(
    original: &mut Map,
    key: &str,
    value: Value,
    deletion: bool,
    schema: Schema,
) -> Result<(), StrategicError> {
    let merged = match (original.get_mut(key).map(std::mem::take), value) {
        (Some(Value::Object(before)), Value::Object(value)) => {
            let field = schema.field(key)?;
            let replaced = strategy(field) == "replace";
            let map = if replaced { value } else { merge_map(before, value, Schema::of(field.ty.id))? };
            Some(map.into())
        }
        (Some(Value::Array(before)), Value::Array(value)) => {
            let (field, element) = schema.list(key)?;
            let items = if strategy(field) == "merge" || deletion {
                merge_list(before, value, Schema::of(element.id), merge_key(field), deletion)?.items
            } else {
                value
            };
            Some(items.into())
        }
        (before, _) if deletion => before,
        (Some(before), value) if type_name(&before) == type_name(&value) => without_directives(value),
        (_, mut value) => {
            discard_nulls(&mut value);
            without_directives(value)
        }
    };
    match merged {
        Some(value) => original.insert(key, value),
        None => original.remove(key),
    };
    Ok(())
}

/// `$retainKeys` names what may stay; everything in the patch must be among it.
fn retain_keys(original: &mut Map, patch: &mut Map) -> Result<(), StrategicError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(keys) = keys else { return Err(BAD_RETAIN_KEYS) };
    let retained = |key: &str| keys.iter().any(|retained| retained.as_str() == Some(key));
    for (key, value) in patch.iter() {
        if !value.is_null() && !key.starts_with(DELETE_FROM) && !key.starts_with(SET_ORDER) && !retained(key)
        {
            return Err(BAD_RETAIN_KEYS);
        }
    }
    original.retain(|key, _| retained(key));
    Ok(())
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, member| {
            discard_nulls(member);
            !member.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// The value as it is stored; `None` when it is nothing but a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(MARKER) => None,
        Value::Object(map) => {
            let members = map.into_entries().into_iter();
            let kept = members.filter_map(|(key, value)| without_directives(value).map(|value| (key, value)));
            Some(Map::from_entries(kept.collect()).into())
        }
        Value::Array(items) => {
            Some(items.into_iter().filter_map(without_directives).collect::<Vec<_>>().into())
        }
        other => Some(other),
    }
}

/// A merged list, and what the reference then takes for the live list when it sets an order: deletions and additions
/// happen in place there, so that additions may show up in the room that deletions left.
struct MergedList {
    items: Vec<Value>,
    live: Vec<Value>,
}

fn merge_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    schema: Schema,
    key: &str,
    deletion: bool,
) -> Result<MergedList, StrategicError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(MergedList { items: original, live: Vec::new() });
    }
    let live = original.clone();
    if !holds_maps(&original, &patch)? {
        if deletion {
            let items = original.into_iter().filter(|item| !patch.contains(item)).collect();
            return Ok(MergedList { items, live });
        }
        let mut merged: Vec<Value> = Vec::with_capacity(original.len() + patch.len());
        for item in original.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return Ok(MergedList { items: order::arrange(merged, &patch, &original, key)?, live });
    }
    if key.is_empty() {
        return internal("cannot merge lists without merge key for struct");
    }
    let room = live.len();
    let Directed { original, patch, replaced } = apply_item_directives(original, patch, key)?;
    let mut merged = original.clone();
    for item in &patch {
        let Value::Object(item) = item else { return internal("value is not a map") };
        let Some(identity) = item.get(key) else { return no_merge_key(item, key) };
        match find(&merged, key, identity)? {
            Some(index) => {
                let before = std::mem::take(&mut merged[index]);
                let Value::Object(before) = before else { return internal("value is not a map") };
                merged[index] = merge_map(before, item.clone(), schema)?.into();
            }
            None => merged.push(item.clone().into()),
        }
    }
    let live = if replaced { live } else { merged.iter().take(room).cloned().collect() };
    Ok(MergedList { items: order::arrange(merged, &patch, &original, key)?, live })
}

/// Whether the items are maps; all must be of one type.
fn holds_maps(original: &[Value], patch: &[Value]) -> Result<bool, StrategicError> {
    let mut all = original.iter().chain(patch);
    let Some(first) = all.next() else { return internal("no elements in any of the given slices") };
    if matches!(first, Value::Array(_)) {
        return Err(LIST_OF_LISTS);
    }
    if all.any(|item| type_name(item) != type_name(first)) {
        let shown = [original, patch].map(|list| plain(&list.to_vec().into())).join(" ");
        return internal(format!("list element types are not identical: [{shown}]"));
    }
    Ok(matches!(first, Value::Object(_)))
}

/// A list and its patch after the directives among the items were obeyed.
struct Directed {
    original: Vec<Value>,
    patch: Vec<Value>,
    replaced: bool,
}

/// Obeys items that are directives: deleted ones go, and `replace` makes the patch the list.
fn apply_item_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<Directed, StrategicError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(map) = &item else { return internal("value is not a map") };
        match map.get(MARKER) {
            None => rest.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let Some(identity) = map.get(key) else { return no_merge_key(map, key) };
                    while let Some(index) = find(&original, key, identity)? {
                        original.remove(index);
                    }
                }
                Some("replace") => replace = true,
                Some("merge") => return internal("merging lists cannot yet be specified in the patch"),
                _ => return bad_patch_type(directive, map),
            },
        }
    }
    let (original, patch) = if replace { (rest, Vec::new()) } else { (original, rest) };
    Ok(Directed { original, patch, replaced: replace })
}

/// The item whose `key` is `identity`.
fn find(items: &[Value], key: &str, identity: &Value) -> Result<Option<usize>, StrategicError> {
    for (index, item) in items.iter().enumerate() {
        let Value::Object(map) = item else { return internal(format!("value for key {index} is not a map")) };
        if map.get(key) == Some(identity) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

fn bad_type<T>(expected: &str, actual: &Value) -> Result<T, StrategicError> {
    internal(format!("expected a {expected}, but received a {}", kind_name(actual)))
}

#[cfg(test)]
mod tests;
