//! Short ways into a decoded object: what is absent reads as its zero value, as in a Go struct.

use meta::{Map, Value};

/// The string at `path`, empty when there is none.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    object.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// The integer at `path`, zero when there is none.
pub(super) fn int(object: &Value, path: &[&str]) -> i64 {
    object.at(path).and_then(Value::as_int).unwrap_or_default()
}

/// The boolean at `path`, false when there is none.
pub(super) fn flag(object: &Value, path: &[&str]) -> bool {
    object.at(path).and_then(Value::as_bool).unwrap_or_default()
}

/// The items at `path`, none when there is no list.
pub(super) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    object.at(path).and_then(Value::as_array).unwrap_or_default()
}

/// The strings of the list at `path`.
pub(super) fn texts<'a>(object: &'a Value, path: &[&str]) -> Vec<&'a str> {
    list(object, path).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}

/// The members of the map at `path`.
pub(super) fn members<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a str, &'a Value)> {
    object.at(path).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// What is at `path`, unless it is null.
pub(super) fn present<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    object.at(path).filter(|value| !value.is_null())
}

/// The map at `path`, made where it is missing; `None` when something else is in the way.
pub(super) fn map_mut<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Map> {
    let mut map = object.as_object_mut()?;
    for key in path {
        let member = map.get_or_insert_with(key, || Map::new().into());
        if member.is_null() {
            *member = Map::new().into();
        }
        map = member.as_object_mut()?;
    }
    Some(map)
}

/// The items at `path`, for changing them; none when there is no list.
pub(super) fn items_mut<'a>(object: &'a mut Value, path: &[&str]) -> impl Iterator<Item = &'a mut Value> {
    let list = path.iter().try_fold(object, |value, key| value.get_mut(key));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}
