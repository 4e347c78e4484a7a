//! Values and their types as Go's formatting verbs print them.

use meta::Value;
use meta::go_fmt::float_v;
use meta::wire::json;

use super::types::{Field, Shape, TypeId};

/// `%v` of a decoded JSON value.
///
/// ```
/// use meta::wire::json;
/// use crest_schema::typed::go_text::plain;
/// let value = json::parse(br#"{"b":[1,"x",null],"a":true}"#).unwrap().value;
/// assert_eq!(plain(&value), "map[a:true b:[1 x <nil>]]");
/// ```
pub fn plain(value: &Value) -> String {
    let joined = |texts: Vec<String>| texts.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => float_v(*value),
        Value::String(text) => text.to_string(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(plain).collect())),
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| format!("{key}:{}", plain(value)));
            format!("map[{}]", joined(members.collect()))
        }
    }
}

/// `%T` of a decoded JSON value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The reflect kind of a decoded JSON value.
pub(super) fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => type_name(other),
    }
}

/// JSON with the members of structs in the order in which Go declares them, which is that of their numbers.
pub(super) fn in_declared_order(id: TypeId, value: &Value) -> String {
    let joined = |texts: Vec<String>| texts.join(",");
    match (&id.get().shape, value) {
        (Shape::Struct(strukt), Value::Object(map)) => {
            let mut fields: Vec<(&Field, &Value)> =
                map.iter().filter_map(|(key, value)| Some((strukt.field(key)?, value))).collect();
            fields.sort_by_key(|(field, _)| field.number);
            let member = |(field, value): &(&Field, &Value)| {
                format!("\"{}\":{}", field.name, in_declared_order(field.ty.id, value))
            };
            format!("{{{}}}", joined(fields.iter().map(member).collect()))
        }
        (Shape::List(element), Value::Array(items)) => {
            let items = items.iter().map(|item| in_declared_order(element.id, item));
            format!("[{}]", joined(items.collect()))
        }
        (_, value) => json::to_string(value),
    }
}
