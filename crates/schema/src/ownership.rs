//! What field ownership needs to know of a kind, made from its schema or its built-in description.
//!
//! Upstream: kube-openapi/pkg/schemaconv/openapi.go, v1.36.

use std::collections::HashMap;
use std::sync::Arc;

use crate::apply::{Field, ListKind, Scalar, TypeDef, TypeRef};
use crate::structural::{Additional, ListType, MapType, Node, Schema, Types};
use crate::typed::types as builtin;

/// The type of a custom resource. `preserve_unknown`: a definition of old, whose objects keep everything.
pub fn of_schema(schema: &Schema, preserve_unknown: bool) -> TypeRef {
    let mut converter = FromSchema { known: HashMap::new() };
    let def = converter.definition(&schema.root, preserve_unknown, true);
    def.into()
}

/// The type of a kind without a schema: everything is taken as it comes.
pub fn of_anything() -> TypeRef {
    TypeRef::root([], Some(TypeRef::deduced()))
}

/// Equal subtrees of a schema are one allocation; their types become one too.
struct FromSchema {
    known: HashMap<(*const Node, bool), TypeRef>,
}

impl FromSchema {
    fn type_of(&mut self, node: &Arc<Node>, preserve_unknown: bool) -> TypeRef {
        let key = (Arc::as_ptr(node), preserve_unknown);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let made: TypeRef = self.definition(node, preserve_unknown, node.embedded_resource).into();
        self.known.insert(key, made.clone());
        made
    }

    /// `resource`: the value is an object with a type and metadata of its own.
    fn definition(&mut self, node: &Node, preserve_unknown: bool, resource: bool) -> TypeDef {
        let preserve_unknown = preserve_unknown || node.preserve_unknown;
        if node.int_or_string {
            return TypeDef::scalar(Scalar::Untyped);
        }
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
            let formatted = node.checks.as_ref().is_some_and(|checks| checks.format.is_some());
            TypeDef::scalar(if formatted { Scalar::Untyped } else { Scalar::String })
        } else {
            TypeDef::scalar(Scalar::Numeric)
        }
    }

    fn object(&mut self, node: &Node, preserve_unknown: bool, resource: bool) -> TypeDef {
        let mut fields: Vec<Field> = Vec::new();
        for (name, property) in &node.properties {
            let mut field = Field::new(name.clone(), self.type_of(property, preserve_unknown));
            field.default = property.default.as_deref().cloned();
            fields.push(field);
        }
        if resource {
            fields.push(Field::new("apiVersion", TypeRef::string()));
            fields.push(Field::new("kind", TypeRef::string()));
            fields.push(Field::new("metadata", TypeRef::object_meta()));
        }
        let additional = match &node.additional {
            Additional::Schema(schema) => Some(self.type_of(schema, preserve_unknown)),
            Additional::Allowed => Some(TypeRef::deduced()),
            Additional::Denied => None,
            Additional::Unspecified if preserve_unknown || fields.is_empty() => Some(TypeRef::deduced()),
            Additional::Unspecified => None,
        };
        let def = TypeDef::object(fields, additional);
        if node.map_type == MapType::Atomic { def.atomic() } else { def }
    }

    fn list(&mut self, node: &Node, preserve_unknown: bool) -> TypeDef {
        let element = match &node.items {
            Some(items) => self.type_of(items, preserve_unknown),
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

/// The type of a built-in kind.
pub fn of_kind(kind: crate::typed::Kind) -> TypeRef {
    let mut converter = FromBuiltin { known: HashMap::new() };
    let mut def = converter.structure(kind.root());
    if let Some(map) = def.map.take() {
        let fields = map.fields().iter().filter(|field| !matches!(&*field.name, "apiVersion" | "kind" | "metadata"));
        return TypeRef::root(fields.cloned().collect::<Vec<_>>(), map.additional);
    }
    def.into()
}

struct FromBuiltin {
    known: HashMap<builtin::TypeId, TypeRef>,
}

impl FromBuiltin {
    fn type_of(&mut self, ty: builtin::TypeRef) -> TypeRef {
        if let Some(known) = self.known.get(&ty.id) {
            return known.clone();
        }
        let forward = TypeRef::forward(); // types may contain themselves
        self.known.insert(ty.id, forward.clone());
        let def = self.definition(&ty.get().shape);
        forward.define(def);
        forward
    }

    fn definition(&mut self, shape: &builtin::Shape) -> TypeDef {
        use builtin::Shape;
        match shape {
            Shape::Bool => TypeDef::scalar(Scalar::Boolean),
            Shape::Int32 | Shape::Int64 | Shape::Float => TypeDef::scalar(Scalar::Numeric),
            Shape::String | Shape::Bytes => TypeDef::scalar(Scalar::String),
            Shape::Time | Shape::MicroTime | Shape::IntOrString | Shape::Quantity => {
                TypeDef::scalar(Scalar::Untyped)
            }
            Shape::List(element) => TypeDef::list(ListKind::Atomic, self.type_of(*element)),
            Shape::Map(element) => TypeDef::object([], Some(self.type_of(*element))),
            Shape::Struct(structure) => self.structure(structure),
            Shape::Raw | Shape::SchemaOrBool(_) | Shape::SchemaOrArray(_) | Shape::SchemaOrStrings(_) => {
                TypeRef::untyped_atomic().def().clone()
            }
        }
    }

    fn structure(&mut self, structure: &builtin::Struct) -> TypeDef {
        let fields: Vec<Field> = structure.fields.iter().map(|field| self.field(field)).collect();
        let def = TypeDef::object(fields, None);
        if structure.atomic { def.atomic() } else { def }
    }

    fn field(&mut self, field: &builtin::Field) -> Field {
        let mut ty = self.type_of(field.ty);
        let kind = match &field.list {
            builtin::ListKind::Atomic => None,
            builtin::ListKind::Set => Some(ListKind::Set),
            builtin::ListKind::Map(keys) => Some(ListKind::map(keys.iter().copied())),
        };
        if let (Some(kind), &builtin::Shape::List(element)) = (kind, &field.ty.get().shape) {
            ty = TypeDef::list(kind, self.type_of(element)).into();
        }
        if field.atomic {
            ty = ty.def().clone().atomic().into();
        }
        let mut described = Field::new(field.name, ty);
        described.default =
            field.default.and_then(|text| meta::wire::json::parse(text.as_bytes()).ok()).map(|parsed| parsed.value);
        described
    }
}
