//! What the tests of this module share: objects from JSON, a small kind, and its versions.

use meta::Value;

use super::typedef::{Field, Scalar, TypeRef};
use super::versions::SingleVersion;
use super::{FieldSet, ResetFields};

/// Reads relaxed JSON: single quotes stand for double ones.
pub(crate) fn json(text: &str) -> Value {
    meta::wire::json::parse(text.replace('\'', "\"").as_bytes()).expect("the test's JSON is valid").value
}

pub(crate) fn text(value: &Value) -> String {
    meta::wire::json::to_string(value).replace('"', "'")
}

pub(crate) fn set(text: &str) -> FieldSet {
    FieldSet::from_value(json(text)).expect("the test's field set is valid")
}

/// The fields `x`, `y`: numbers, `s`: string, `list`: atomic, `set`, `items`: list map by `name`, `ports`:
/// list map by `port` and `protocol`, `map`: granular, `whole`: atomic struct, `any`: preserved, `ios`.
pub(crate) fn spec() -> TypeRef {
    let item = TypeRef::object([
        Field::new("name", TypeRef::string()),
        Field::new("a", TypeRef::numeric()),
        Field::new("b", TypeRef::string()),
    ]);
    let port = TypeRef::object([
        Field::new("port", TypeRef::numeric()),
        Field::new("protocol", TypeRef::string()).with_default("TCP"),
        Field::new("host", TypeRef::string()),
    ]);
    TypeRef::object([
        Field::new("x", TypeRef::numeric()),
        Field::new("y", TypeRef::numeric()),
        Field::new("s", TypeRef::string()),
        Field::new("flag", TypeRef::boolean()),
        Field::new("ios", TypeRef::scalar(Scalar::Untyped)),
        Field::new("list", TypeRef::atomic_list(TypeRef::string())),
        Field::new("set", TypeRef::set(TypeRef::string())),
        Field::new("items", TypeRef::list_map(["name"], item.clone())),
        Field::new("ports", TypeRef::list_map(["port", "protocol"], port)),
        Field::new("map", TypeRef::map(TypeRef::string())),
        Field::new("maps", TypeRef::map(item)),
        Field::new("whole", TypeRef::atomic_object([Field::new("p", TypeRef::string())])),
        Field::new("nested", TypeRef::object([Field::new("deep", TypeRef::map(TypeRef::string()))])),
        Field::new("any", TypeRef::deduced()),
    ])
}

pub(crate) fn widget_type() -> TypeRef {
    TypeRef::root([Field::new("spec", spec()), Field::new("status", spec())], None)
}

/// The main endpoint of a kind `Widget` in `g/v1` with a status subresource.
pub(crate) fn widgets() -> SingleVersion {
    SingleVersion {
        api_version: "g/v1".to_owned(),
        ty: widget_type(),
        reset: ResetFields::new(&[&["status"]]),
        empty: None,
    }
}
