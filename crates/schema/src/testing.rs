//! What the tests of this crate share: values and schemas from JSON text.

use meta::Value;
use meta::wire::json;

use crate::Schema;

/// A value from its JSON.
pub(crate) fn value(text: &str) -> Value {
    match json::parse(text.as_bytes()) {
        Ok(parsed) => parsed.value,
        Err(error) => panic!("{error}: {text}"),
    }
}

/// A compiled schema from its JSON.
pub(crate) fn schema(text: &str) -> Schema {
    Schema::compile(&value(text)).unwrap()
}

/// The JSON of a value.
pub(crate) fn text(value: &Value) -> String {
    json::to_string(value)
}
