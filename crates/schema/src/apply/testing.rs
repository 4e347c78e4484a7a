//! What the tests of this module share: objects from JSON, a small kind, and its versions.

use meta::{Map, Value};
use proptest::prelude::*;

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

/// Configurations of the kind: any of its fields, with few names and values so that they meet.
pub(crate) fn config() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["a", "b", "c"]).prop_map(Value::from);
    let number = || (0_i64..3).prop_map(Value::Int);
    let words = || prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c", "d"]), 0..4);
    let list = |words: std::collections::BTreeSet<&'static str>| {
        Value::Array(words.into_iter().rev().map(Value::from).collect())
    };
    let map = |entries: std::collections::BTreeMap<&'static str, Value>| {
        Value::Object(entries.into_iter().collect())
    };
    let strings = move || {
        prop::collection::btree_map(prop::sample::select(vec!["k", "l", "m"]), word(), 0..3).prop_map(map)
    };
    let items = (words(), prop::collection::vec((any::<bool>(), number(), any::<bool>(), word()), 4))
        .prop_map(|(names, fields)| {
            let item = |(name, (has_a, a, has_b, b)): (&str, (bool, Value, bool, Value))| {
                let mut item: Map = [("name", Value::from(name))].into_iter().collect();
                has_a.then(|| item.insert("a", a));
                has_b.then(|| item.insert("b", b));
                Value::Object(item)
            };
            Value::Array(names.into_iter().zip(fields).map(item).collect())
        });
    let fields = (
        (prop::option::of(number()), prop::option::of(word()), prop::option::of(any::<bool>())),
        (prop::option::of(words().prop_map(list)), prop::option::of(words().prop_map(list))),
        (prop::option::of(items), prop::option::of(strings()), prop::option::of(strings())),
    );
    fields.prop_map(|((x, s, flag), (list, set), (items, map, deep))| {
        let nested = deep.map(|deep| Value::Object([("deep", deep)].into_iter().collect()));
        let members = [
            ("x", x),
            ("s", s),
            ("flag", flag.map(Value::Bool)),
            ("list", list),
            ("set", set),
            ("items", items),
            ("map", map),
            ("nested", nested),
        ];
        let spec: Map = members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let mut object = json("{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a'}}");
        object.as_object_mut().expect("is an object").insert("spec", spec);
        object
    })
}
