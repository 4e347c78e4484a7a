//! No input makes the typed functions panic, and what they leave is stable.
//!
//! Objects are random, but follow the descriptions of their kind, and now and then they do not.

use meta::wire::json;
use meta::{Map, Value};
use proptest::prelude::*;

use super::types::{Shape, TypeId};
use super::*;

const NAMES: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "fieldsV1",
    "uid",
    "creationTimestamp",
    "spec",
    "status",
    "data",
    "binaryData",
    "stringData",
    "immutable",
    "type",
    "rules",
    "verbs",
    "subjects",
    "roleRef",
    "webhooks",
    "clientConfig",
    "url",
    "service",
    "port",
    "path",
    "ports",
    "targetPort",
    "hard",
    "scopes",
    "versions",
    "schema",
    "openAPIV3Schema",
    "properties",
    "items",
    "additionalProperties",
    "default",
    "conditions",
    "lastTransitionTime",
    "eventTime",
    "series",
    "extra",
    "request",
    "certificate",
    "usages",
    "limited",
    "limitResponse",
    "queuing",
    "handSize",
    "queues",
    "matchConstraints",
    "resourceRules",
    "operations",
    "paramRef",
    "$patch",
    "$retainKeys",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder/webhooks",
    "key",
    "values",
    "operator",
    "selector",
    "matchLabels",
    "matchExpressions",
    "é",
];
const TEXTS: &[&str] = &[
    "",
    "a",
    "*",
    "delete",
    "replace",
    "merge",
    "YQ==",
    "YQ",
    "2020-01-02T03:04:05Z",
    "2020-02-31T03:04:05Z",
    "1Gi",
    "1e999999999",
    "-",
    ".",
    "99999999999999999999999999999999999999999999",
    "kubernetes.io/tls",
    "Limited",
    "Queue",
    "https://u@h/?q#f",
    "/a//b",
    "//",
    "é",
    "a/b/c",
    "Role",
    "User",
    "In",
    "Exists",
];

/// Any JSON value, made of names and texts the types know.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![any::<i64>(), -1..100_i64].prop_map(Value::Int),
        any::<f64>().prop_filter("JSON has no others", |float| float.is_finite()).prop_map(Value::Float),
        prop::sample::select(TEXTS).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..8)
                .prop_map(|members| members.into_iter().collect::<Map>().into()),
        ]
    })
}

/// A source of choices that depends on nothing but its seed.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    fn text(&mut self) -> Value {
        TEXTS[self.below(TEXTS.len())].into()
    }

    /// A value of the type; deep ones are bare.
    fn of(&mut self, id: TypeId, depth: usize) -> Value {
        if self.below(12) == 0 {
            return Value::Null;
        }
        match &id.get().shape {
            Shape::Bool => Value::Bool(self.below(2) == 0),
            Shape::Int32 | Shape::Int64 | Shape::Float => {
                Value::Int([0, 1, -1, 8, 443, 70_000][self.below(6)])
            }
            Shape::Bytes => ["", "YQ==", "W10=", "YWI="][self.below(4)].into(),
            Shape::Time => "2020-01-02T03:04:05+01:00".into(),
            Shape::MicroTime => "2020-01-02T03:04:05.678901Z".into(),
            Shape::Quantity => ["1", "100m", "-1", "1.5Gi", "1e3"][self.below(5)].into(),
            Shape::List(element) => {
                (0..self.below(4)).map(|_| self.of(element.id, depth + 1)).collect::<Vec<_>>().into()
            }
            Shape::Map(element) => {
                let members = (0..self.below(3)).map(|_| {
                    let key = NAMES[self.below(NAMES.len())];
                    (key, self.of(element.id, depth + 1))
                });
                members.collect::<Map>().into()
            }
            Shape::Struct(strukt) => {
                let mut map = Map::new();
                for field in &strukt.fields {
                    if self.below(2 + depth) == 0 {
                        map.insert(field.name, self.of(field.ty.id, depth + 1));
                    }
                }
                map.into()
            }
            Shape::SchemaOrBool(schema) | Shape::SchemaOrArray(schema) if depth < 9 => {
                self.of(*schema, depth + 2)
            }
            _ => self.text(),
        }
    }
}

/// An object of the kind; one in four has something in it that may not fit.
fn object(kind: Kind, seed: u64, stray: Value) -> Value {
    let mut choices = Choices(seed | 1);
    let mut object = match choices.of(kind.type_id(), 0) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if choices.below(4) == 0 {
        object.insert(NAMES[choices.below(NAMES.len())], stray);
    }
    object.into()
}

fn kind_and_object() -> impl Strategy<Value = (Kind, Value)> {
    (a_kind(), any::<u64>(), value()).prop_map(|(kind, seed, stray)| (kind, object(kind, seed, stray)))
}

fn a_kind() -> impl Strategy<Value = Kind> {
    (0..resources().len()).prop_map(|index| resources()[index].kind())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_decoded_stays_as_it_is((kind, mut object) in kind_and_object()) {
        if decode(kind, &mut object).is_ok() {
            let once = object.clone();
            prop_assert_eq!(decode(kind, &mut object), Ok(Decoded::default()));
            prop_assert_eq!(&object, &once);
        }
    }

    #[test]
    fn every_decoded_object_can_be_handled((kind, mut object) in kind_and_object(), seed: u64, stray in value()) {
        let mut old = self::object(kind, seed, stray);
        if decode(kind, &mut object).is_err() || decode(kind, &mut old).is_err() {
            return Ok(());
        }
        default(kind, &mut object);
        default(kind, &mut old);
        prepare_update(kind, "", &mut object, &old, "2020-01-02T03:04:05Z");
        prepare_create(kind, &mut old, &Requester::default(), "2020-01-02T03:04:05Z");
        for subresource in ["", "status", "finalize", "approval"] {
            validate(kind, subresource, &object, Some(&old));
        }
        if let Some(resource) = resource_of(kind) {
            prop_assert_eq!(resource.cells(&object, 0).len(), resource.columns().len());
        }
        // What was handled is still an object of its kind.
        prop_assert!(decode(kind, &mut object).is_ok());
        prop_assert!(decode(kind, &mut old).is_ok());
    }

    #[test]
    fn decoded_objects_survive_the_binary_encoding((kind, mut object) in kind_and_object()) {
        if decode(kind, &mut object).is_err() {
            return Ok(());
        }
        let message = binary::write(kind, &object);
        let mut again = binary::read(kind, &message).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(decode(kind, &mut again).is_ok(), "{}", json::to_string(&again));
        if kind.name() != "CustomResourceDefinition" {
            // The encoding cannot tell an empty list from none, and definitions do; nor does it say kind and version.
            for field in ["apiVersion", "kind"] {
                if let Value::Object(map) = &mut object {
                    map.remove(field);
                }
            }
            prop_assert_eq!(again, object);
        }
    }

    #[test]
    fn any_bytes_can_be_read(kind in a_kind(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // Only that it ends; most bytes are no message.
        let _ = binary::read(kind, &bytes);
        let _ = binary::Envelope::open(&bytes);
    }

    #[test]
    fn any_patch_can_be_applied((kind, mut object) in kind_and_object(), seed: u64, stray in value()) {
        let patch = self::object(kind, seed, stray);
        if decode(kind, &mut object).is_ok()
            && let Value::Object(patch) = patch
            && strategic_merge(kind, &mut object, patch).is_ok()
        {
            // The patch may have spoiled the types; then restoring says so.
            let _ = restore(kind, &mut object);
        }
    }

    #[test]
    fn any_text_is_a_quantity_or_not(text in "[-+0-9.eEinumkKMGTP]{0,12}") {
        if let Ok(quantity) = Quantity::parse(&text) {
            let printed = quantity.to_string();
            prop_assert_eq!(Quantity::parse(&printed).map(|again| again.to_string()), Ok(printed));
        }
    }
}
