//! Values and their types as Go's formatting verbs print them: the reference's messages show them that way.

use meta::Value;
use meta::go_fmt::{float_v, quote, type_name};

/// The verb of path elements: strings quoted, the rest plain.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let entries: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
            entries.concat()
        }
        scalar => plain(scalar),
    }
}

/// `%v` of a decoded JSON value.
///
/// ```
/// use meta::wire::json;
/// use crest_schema::go_text::plain;
/// let value = json::parse(br#"{"b":[1,"x",null],"a":true}"#).unwrap().value;
/// assert_eq!(plain(&value), "map[a:true b:[1 x <nil>]]");
/// ```
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => float_v(*value),
        Value::String(text) => text.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let entries: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", plain(value))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

/// `%#v`
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let entries: Vec<String> =
                fields.iter().map(|(name, value)| format!("{}:{}", quote(name), syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
        scalar => plain(scalar),
    }
}

/// The reflect kind of a decoded JSON value.
pub(crate) fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => type_name(other),
    }
}

/// A float in JSON: an exponent below 1e-6 and from 1e21.
pub(crate) fn json_float(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) { exponent(value) } else { format!("{value}") }
}

/// Scientific notation with a sign and at least two digits in the exponent.
fn exponent(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((digits, power)) = text.split_once('e') else { return text };
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    format!("{digits}e{sign}{power:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use meta::Map;

    #[test]
    fn values_are_printed_as_go_does() {
        let inner: Map = [("b", Value::from("x")), ("a", Value::Null)].into_iter().collect();
        let value = Value::Array(vec![inner.into(), Value::Float(1e21), Value::Float(0.5), Value::Int(7)]);
        assert_eq!(plain(&value), "[map[a:<nil> b:x] 1e+21 0.5 7]");
        assert_eq!(
            syntax(&value),
            r#"[]interface {}{map[string]interface {}{"a":interface {}(nil), "b":"x"}, 1e+21, 0.5, 7}"#
        );
        assert_eq!(json_float(1e-7), "1e-07");
        assert_eq!(json_float(100.0), "100");
    }
}
