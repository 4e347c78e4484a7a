//! The text of an object as it is stored: JSON, with what every reader looks for at the front.
//!
//! `apiVersion`, `kind` and `metadata` come first so that a skim can stop behind them; everything else follows
//! in sorted order. The resource version is left out: the store's revision is it.

use meta::{Map, Value, wire::json};

/// Encodes an object for the store.
pub fn encode(object: &Value) -> Vec<u8> {
    let Value::Object(members) = object else {
        return json::to_vec(object);
    };
    let mut text = Vec::with_capacity(1024);
    let mut first = true;
    for key in ["apiVersion", "kind"] {
        if let Some(value) = members.get(key) {
            member(key, &mut first, &mut text);
            json::encode(value, &mut text);
        }
    }
    if let Some(Value::Object(metadata)) = members.get("metadata") {
        member("metadata", &mut first, &mut text);
        encode_metadata(metadata, &mut text);
    }
    for (key, value) in members.iter() {
        if !matches!(key, "apiVersion" | "kind" | "metadata") {
            member(key, &mut first, &mut text);
            json::encode(value, &mut text);
        }
    }
    text.push(if first { b'{' } else { b'}' });
    if first {
        text.push(b'}');
    }
    text
}

fn encode_metadata(metadata: &Map, text: &mut Vec<u8>) {
    text.push(b'{');
    let mut first = true;
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
        if !first {
            text.push(b',');
        }
        first = false;
        json::encode_str(key, text);
        text.push(b':');
        json::encode(value, text);
    }
    text.push(b'}');
}

/// Starts a member, opening the object before the first one.
fn member(key: &str, first: &mut bool, text: &mut Vec<u8>) {
    text.push(if *first { b'{' } else { b',' });
    *first = false;
    json::encode_str(key, text);
    text.push(b':');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let value = json::parse(text.as_bytes()).unwrap().value;
        assert_eq!(String::from_utf8(encode(&value)).unwrap(), expected);
    }

    #[test]
    fn what_readers_look_for_comes_first_and_the_version_is_left_out() {
        check(
            r#"{"data":{"b":1,"a":2},"metadata":{"uid":"u","resourceVersion":"5","name":"n"},"kind":"A","apiVersion":"v1"}"#,
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n","uid":"u"},"data":{"a":2,"b":1}}"#,
        );
        check("{}", "{}");
        check(r#"{"metadata":{"resourceVersion":"1"}}"#, r#"{"metadata":{}}"#);
    }
}
