//! Values and their types as Go's formatting verbs print them.

use meta::Value;
use meta::go_fmt::float_v;

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
