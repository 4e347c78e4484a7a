//! What field ownership needs to know of a custom resource, made from its schema.
//!
//! Upstream: kube-openapi/pkg/schemaconv/openapi.go, v1.36.

use std::collections::HashMap;
use std::sync::Arc;

use crate::apply::{Field, ListKind, Scalar, TypeDef, TypeRef};
use crate::structural::{Additional, ListType, MapType, Node, Schema, Types};

/// The type of a custom resource. `preserve_unknown`: a definition of old, whose objects keep everything.
pub fn of_schema(schema: &Schema, preserve_unknown: bool) -> TypeRef {
    FromSchema { known: HashMap::new() }.type_of(&schema.root, preserve_unknown, true)
}

/// The type of a kind without a schema: everything is taken as it comes.
pub fn of_anything() -> TypeRef {
    TypeRef::root([], Some(TypeRef::deduced()))
}

/// Equal subtrees of schemas are one allocation; their types become one too.
struct FromSchema {
    /// Those that keep unknown fields. Others are kept with the node.
    known: HashMap<(*const Node, bool), TypeRef>,
}

impl FromSchema {
    /// `resource`: the value is an object with a type and metadata of its own.
    fn type_of(&mut self, node: &Arc<Node>, preserve_unknown: bool, resource: bool) -> TypeRef {
        if !preserve_unknown {
            let mut make = || self.definition(node, false, resource).into();
            let (made_for, ty) = node.owned.0.get_or_init(|| (resource, make()));
            // Nothing but the root of one kind that is a part of another is asked for in both ways.
            return if *made_for == resource { ty.clone() } else { make() };
        }
        let key = (Arc::as_ptr(node), resource);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let made: TypeRef = self.definition(node, preserve_unknown, resource).into();
        self.known.insert(key, made.clone());
        made
    }

    fn inner(&mut self, node: &Arc<Node>, preserve_unknown: bool) -> TypeRef {
        self.type_of(node, preserve_unknown, node.embedded_resource)
    }

    fn definition(&mut self, node: &Node, preserve_unknown: bool, resource: bool) -> TypeDef {
        let preserve_unknown = preserve_unknown || node.preserve_unknown;
        let types = node.declared_types;
        if types.is_empty() {
            return TypeDef {
                scalar: Some(Scalar::Untyped),
                list: self.list(node, preserve_unknown).list,
                map: self.object(node, preserve_unknown, resource).map,
            };
        }
        if types.contains(Types::OBJECT) {
            self.object(node, preserve_unknown, resource)
        } else if types.contains(Types::ARRAY) {
            self.list(node, preserve_unknown)
        } else if types.contains(Types::BOOLEAN) {
            TypeDef::scalar(Scalar::Boolean)
        } else if types.contains(Types::STRING) {
            let format = node.checks.as_ref().map_or("", |checks| checks.format_as_written.as_str());
            TypeDef::scalar(if matches!(format, "" | "byte") { Scalar::String } else { Scalar::Untyped })
        } else {
            TypeDef::scalar(Scalar::Numeric)
        }
    }

    fn object(&mut self, node: &Node, preserve_unknown: bool, resource: bool) -> TypeDef {
        let mut fields: Vec<Field> = Vec::new();
        for (name, property) in &node.properties {
            let mut field = Field::new(name.clone(), self.inner(property, preserve_unknown));
            field.default = property.default.as_deref().cloned();
            fields.push(field);
        }
        if resource {
            fields.push(Field::new("apiVersion", TypeRef::string()));
            fields.push(Field::new("kind", TypeRef::string()));
            fields.push(Field::new("metadata", TypeRef::object_meta()));
        }
        let additional = match &node.additional {
            Additional::Schema(schema) => Some(self.inner(schema, preserve_unknown)),
            Additional::Allowed => Some(TypeRef::deduced()),
            Additional::Unspecified if preserve_unknown || fields.is_empty() => Some(TypeRef::deduced()),
            Additional::Denied | Additional::Unspecified => None,
        };
        let def = TypeDef::object(fields, additional);
        if node.map_type == MapType::Atomic { def.atomic() } else { def }
    }

    fn list(&mut self, node: &Node, preserve_unknown: bool) -> TypeDef {
        let element = match &node.items {
            Some(items) => self.inner(items, preserve_unknown),
            None => TypeRef::deduced(),
        };
        let kind = match node.list_type {
            ListType::Atomic => ListKind::Atomic,
            ListType::Set => ListKind::Set,
            ListType::Map => ListKind::map(node.list_map_keys.iter().cloned()),
        };
        TypeDef::list(kind, element)
    }
}
