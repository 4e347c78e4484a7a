//! What the tests of this module share: objects from JSON, a small kind, and its versions.

use meta::{Map, Value};
use proptest::prelude::*;

use super::typedef::{Field, Scalar, TypeRef};
use super::versions::{ConvertError, SingleVersion, Versions};
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

/// `g/v2` calls `spec.x` `spec.z`; there are no other versions.
pub(crate) struct TwoVersions([TypeRef; 2]);

impl TwoVersions {
    pub(crate) fn new() -> Self {
        let ty = |name: &str| {
            let number = TypeRef::numeric;
            let spec = TypeRef::object([
                Field::new(name, number()),
                Field::new("y", number()),
                Field::new("map", TypeRef::map(TypeRef::string())),
            ]);
            TypeRef::root([Field::new("spec", spec)], None)
        };
        TwoVersions([ty("x"), ty("z")])
    }
}

impl Versions for TwoVersions {
    fn type_of(&self, api_version: &str) -> Option<&TypeRef> {
        ["g/v1", "g/v2"].iter().position(|known| *known == api_version).map(|index| &self.0[index])
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        let (from, to) = if api_version == "g/v1" { ("z", "x") } else { ("x", "z") };
        let mut object = object.clone();
        let members = object.as_object_mut().expect("is an object");
        members.insert("apiVersion", api_version);
        if let Some(spec) = members.get_mut("spec").and_then(Value::as_object_mut)
            && let Some(value) = spec.remove(from)
        {
            spec.insert(to, value);
        }
        Ok(object)
    }
}

/// Any JSON, with names that mean something here.
pub(crate) fn anything() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "apiVersion",
        "kind",
        "metadata",
        "managedFields",
        "uid",
        "labels",
        "spec",
        "status",
        "x",
        "s",
        "set",
        "items",
        "ports",
        "name",
        "port",
        "map",
        "maps",
        "whole",
        "nested",
        "any",
        "list",
        "manager",
        "operation",
        "fieldsType",
        "fieldsV1",
        "time",
        "f:spec",
        "f:x",
        ".",
        "k:{}",
        "v:1",
        "i:0",
        "junk",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-2_i64..3).prop_map(Value::Int),
        Just(Value::Float(0.5)),
        prop::sample::select(vec!["", "a", "Apply", "Update", "g/v1", "Widget", "FieldsV1"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
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
