//! What apply needs to know of a built-in kind: which parts are owned as a whole and which item by item.
//!
//! Made from the descriptions when a kind is first applied to, and kept: types are shared by all kinds.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use meta::Value;
use meta::wire::json;

use super::types::{Field, Kind, ListKind, Shape, Struct, TypeId};
use crate::apply::{self, Scalar, TypeDef, TypeRef};

/// The type of `kind` for [`crate::apply`].
pub fn apply_type(kind: Kind) -> TypeRef {
    // Built under the lock, so that nobody sees a type that contains itself before it is complete.
    static KNOWN: LazyLock<Mutex<HashMap<TypeId, TypeRef>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    type_of(kind.type_id(), &mut known)
}

fn type_of(id: TypeId, known: &mut HashMap<TypeId, TypeRef>) -> TypeRef {
    match &id.get().shape {
        Shape::Bool => TypeRef::boolean(),
        Shape::Int32 | Shape::Int64 | Shape::Float => TypeRef::numeric(),
        Shape::String | Shape::Bytes => TypeRef::string(),
        Shape::Time | Shape::MicroTime | Shape::IntOrString | Shape::Quantity => {
            TypeRef::scalar(Scalar::Untyped)
        }
        Shape::Raw | Shape::SchemaOrBool(_) | Shape::SchemaOrArray(_) | Shape::SchemaOrStrings(_) => {
            TypeRef::deduced()
        }
        // Lists say where they are used how they are owned; elsewhere they are one value.
        Shape::List(element) => TypeRef::atomic_list(type_of(element.id, known)),
        Shape::Map(element) => TypeRef::map(type_of(element.id, known)),
        Shape::Struct(strukt) if strukt.name == "ObjectMeta" => TypeRef::object_meta(),
        Shape::Struct(strukt) => {
            if let Some(ty) = known.get(&id) {
                return ty.clone();
            }
            let ty = TypeRef::forward();
            known.insert(id, ty.clone());
            ty.define(struct_type(strukt, known));
            ty
        }
    }
}

fn struct_type(strukt: &Struct, known: &mut HashMap<TypeId, TypeRef>) -> TypeDef {
    let fields: Vec<_> = strukt.fields.iter().map(|field| field_of(field, known)).collect();
    let def = TypeDef::object(fields, None);
    if strukt.atomic { def.atomic() } else { def }
}

fn field_of(field: &Field, known: &mut HashMap<TypeId, TypeRef>) -> apply::Field {
    let ty = match &field.ty.get().shape {
        Shape::List(element) => {
            let element = type_of(element.id, known);
            match &field.list {
                ListKind::Atomic => TypeRef::atomic_list(element),
                ListKind::Set => TypeRef::set(element),
                ListKind::Map(keys) => TypeRef::list_map(keys.iter().copied(), element),
            }
        }
        Shape::Map(element) if field.atomic => TypeRef::atomic_map(type_of(element.id, known)),
        Shape::Struct(strukt) if field.atomic => struct_type(strukt, known).atomic().into(),
        _ => type_of(field.ty.id, known),
    };
    let declared = apply::Field::new(field.name, ty);
    match default_of(field) {
        Some(default) => declared.with_default(default),
        None => declared,
    }
}

/// What stands in for a missing key of a list map: the published default, or the zero value of what is always
/// there.
fn default_of(field: &Field) -> Option<Value> {
    if let Some(default) = field.default {
        return json::parse(default.as_bytes()).ok().map(|parsed| parsed.value);
    }
    if field.ty.pointer || field.omit_empty {
        return None;
    }
    match field.ty.get().shape {
        Shape::String => Some("".into()),
        Shape::Int32 | Shape::Int64 => Some(Value::Int(0)),
        Shape::Bool => Some(Value::Bool(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{ResetFields, field_set};
    use crate::typed::{kind, resources};

    fn owned(group: &str, name: &str, object: &str) -> String {
        let object = json::parse(object.as_bytes()).unwrap().value;
        let ty = apply_type(kind(group, "v1", name).unwrap());
        field_set(&ty, &object, &ResetFields::new(&[])).to_json()
    }

    #[test]
    fn lists_and_maps_are_owned_as_they_are_marked() {
        for (group, name, object, expected) in [
            ("", "ConfigMap", r#"{"data":{"a":"1"}}"#, r#"{"f:data":{"f:a":{}}}"#),
            ("rbac.authorization.k8s.io", "Role", r#"{"rules":[{"verbs":["get"]}]}"#, r#"{"f:rules":{}}"#),
            (
                "",
                "ServiceAccount",
                r#"{"secrets":[{"name":"a"}],"imagePullSecrets":[{"name":"b"}]}"#,
                r#"{"f:imagePullSecrets":{},"f:secrets":{"k:{\"name\":\"a\"}":{}}}"#,
            ),
            (
                "",
                "Service",
                r#"{"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}"#,
                r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:selector":{}}}"#,
            ),
            (
                "apiextensions.k8s.io",
                "CustomResourceDefinition",
                r#"{"spec":{"names":{"kind":"A","shortNames":["a"]},"versions":[{"name":"v1"}]}}"#,
                r#"{"f:spec":{"f:names":{"f:kind":{},"f:shortNames":{}},"f:versions":{}}}"#,
            ),
            (
                "",
                "Namespace",
                r#"{"metadata":{"labels":{"a":"b"},"finalizers":["x/y"]},"spec":{"finalizers":["kubernetes"]}}"#,
                r#"{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}},"f:labels":{"f:a":{}}},"f:spec":{"f:finalizers":{}}}"#,
            ),
        ] {
            assert_eq!(owned(group, name, object), expected, "{name}");
        }
    }

    #[test]
    fn every_resource_has_a_type() {
        for resource in resources() {
            let ty = apply_type(resource.kind());
            assert!(
                ty.def().map.as_ref().is_some_and(|map| map.field("metadata").is_some()),
                "{}",
                resource.kind
            );
        }
    }
}
