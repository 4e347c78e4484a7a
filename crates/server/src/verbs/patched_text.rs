//! The text of a patched object, as errors of the reference show it.
//!
//! The reference patches the encoded object piece by piece: what a patch touches is written anew with sorted
//! keys, the rest stands as a typed encoder wrote it, in the order of the fields of its structs.

use meta::wire::json;
use meta::{Map, Value};

/// The order of the fields of `metadata` and of what it holds; other structs are small or rarely shown.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
const MANAGER: [&str; 7] =
    ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];

/// The text of an object of a custom kind, which is written with sorted keys in any case.
pub(super) fn of_custom(object: &Value) -> String {
    escaped(&json::to_string(object))
}

/// The text of an object of a built-in kind; `touched` says whether the patch reached into its metadata.
pub(super) fn of_builtin(object: &Value, touched: bool) -> String {
    let mut text = Vec::new();
    let Value::Object(members) = object else { return of_custom(object) };
    text.push(b'{');
    for (index, (key, value)) in members.iter().enumerate() {
        start_member(key, index == 0, &mut text);
        match value {
            Value::Object(metadata) if key == "metadata" => {
                encode_metadata(metadata, touched, &mut text);
            }
            other => json::encode(other, &mut text),
        }
    }
    text.push(b'}');
    escaped(&String::from_utf8(text).unwrap_or_default())
}

/// Go's encoder writes what could end a script or a line in JavaScript as escapes. Outside of strings JSON has none
/// of these characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}

fn encode_metadata(metadata: &Map, touched: bool, text: &mut Vec<u8>) {
    let sorted: Vec<&str> = metadata.keys().collect();
    let order: &[&str] = if touched { &sorted } else { &METADATA };
    encode_in_order(metadata, order, text, |key, value, text| match (key, value) {
        ("ownerReferences", Value::Array(items)) => encode_items(items, &OWNER, text),
        ("managedFields", Value::Array(items)) => encode_items(items, &MANAGER, text),
        (_, other) => json::encode(other, text),
    });
}

fn encode_items(items: &[Value], order: &[&str], text: &mut Vec<u8>) {
    text.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        match item {
            Value::Object(members) => {
                encode_in_order(members, order, text, |_, value, text| json::encode(value, text));
            }
            other => json::encode(other, text),
        }
    }
    text.push(b']');
}

fn encode_in_order(
    members: &Map,
    order: &[&str],
    text: &mut Vec<u8>,
    encode: impl Fn(&str, &Value, &mut Vec<u8>),
) {
    text.push(b'{');
    let found = order.iter().filter_map(|key| Some((*key, members.get(key)?)));
    for (index, (key, value)) in found.enumerate() {
        start_member(key, index == 0, text);
        encode(key, value, text);
    }
    text.push(b'}');
}

fn start_member(key: &str, first: bool, text: &mut Vec<u8>) {
    if !first {
        text.push(b',');
    }
    json::encode_str(key, text);
    text.push(b':');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_patch_does_not_touch_keeps_the_order_of_its_struct() {
        let parse = |text: &str| json::parse(text.as_bytes()).unwrap().value;
        let object = parse(
            r#"{"kind":"A","apiVersion":"v1","metadata":{"uid":"u","name":"n","managedFields":[{"time":"t","manager":"m"}]}}"#,
        );
        assert_eq!(
            of_builtin(&object, false),
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n","uid":"u","managedFields":[{"manager":"m","time":"t"}]}}"#
        );
        assert_eq!(
            of_builtin(&object, true),
            r#"{"apiVersion":"v1","kind":"A","metadata":{"managedFields":[{"manager":"m","time":"t"}],"name":"n","uid":"u"}}"#
        );
    }
    #[test]
    fn what_would_end_a_script_is_escaped() {
        let object = json::parse("{\"a\":\"<&>\u{2028}\"}".as_bytes()).unwrap().value;
        assert_eq!(of_custom(&object), r#"{"a":"\u003c\u0026\u003e\u2028"}"#);
    }
}
