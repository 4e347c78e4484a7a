//! The schemas of built-in kinds, from the descriptions of their types.
//!
//! Every struct becomes a definition of its own, added when something refers to it. Of texts there are only
//! those of metadata, which people ask for with every kind.

use meta::{Map, Value, wire::json};
use schema::typed::types::{Field, ListKind, Shape, Struct, TypeId, TypeRef, meta_struct};
use schema::typed::{self, Kind};

use super::schemas::{API_VERSION_TEXT, KIND_TEXT, text_schema};
use super::{Dialect, object};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// What is said about the members of every object's metadata.
const METADATA_TEXTS: [(&str, &str); 15] = [
    ("annotations", "Texts that tools keep with an object. They cannot be selected by."),
    ("creationTimestamp", "When the server created the object. Set by the server."),
    ("deletionGracePeriodSeconds", "How long the object may take to end once it is deleted."),
    ("deletionTimestamp", "When the deletion of the object was asked for. Set by the server."),
    ("finalizers", "What must be done before a deleted object goes; it stays until the list is empty."),
    ("generateName", "The beginning of a name that the server completes when no name is given."),
    ("generation", "Counts the changes of what is wanted. Set by the server."),
    ("labels", "Texts that objects are grouped and selected by."),
    ("managedFields", "Who set which fields. Kept by the server for server-side apply."),
    (
        "name",
        "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    ),
    (
        "namespace",
        "The space in which the name is unique. Empty for objects of the cluster. Cannot be updated.",
    ),
    ("ownerReferences", "The objects that this one depends on. When all of them are gone, it goes too."),
    (
        "resourceVersion",
        "Changes with every write of the object. Clients compare it for equality and send it back.",
    ),
    ("selfLink", "No longer set."),
    ("uid", "Tells the object from others that had the same name before it. Set by the server."),
];

/// Definitions by name, growing as they are referred to.
pub(super) struct Definitions {
    dialect: Dialect,
    pub(super) found: Map,
}

impl Definitions {
    pub(super) fn new(dialect: Dialect) -> Self {
        Definitions { dialect, found: Map::new() }
    }

    /// Adds what the operations of every resource refer to.
    pub(super) fn add_common(&mut self) {
        for name in ["ObjectMeta", "ListMeta"] {
            self.structure(meta_struct(name));
        }
        for name in ["DeleteOptions", "Status"] {
            if let Some(kind) = typed::kind("meta.k8s.io", "v1", name) {
                self.kind(kind, "");
            }
        }
        self.leaf("Patch", object([("type", "object".into())]));
    }

    pub(super) fn add_scale(&mut self) {
        if let Some(kind) = typed::kind("autoscaling", "v1", "Scale") {
            self.kind(kind, "autoscaling");
        }
    }

    /// Adds a kind; gives the name of its definition.
    pub(super) fn kind(&mut self, kind: Kind, group: &str) -> String {
        let name = self.structure(kind.type_id());
        let known = object([("group", group.into()), ("kind", kind.name().into()), ("version", "v1".into())]);
        if let Some(Value::Object(schema)) = self.found.get_mut(&name) {
            schema.insert("x-kubernetes-group-version-kind", vec![known]);
        }
        name
    }

    /// Adds the list of a kind; gives the name of its definition.
    pub(super) fn list(&mut self, kind: Kind, group: &str, list_kind: &str) -> String {
        let item = self.kind(kind, group);
        let prefix = item.strip_suffix(kind.name()).unwrap_or_default();
        let name = format!("{prefix}{list_kind}");
        let metadata = self.structure(meta_struct("ListMeta"));
        let items = object([("items", self.dialect.reference(&item)), ("type", "array".into())]);
        let properties = object([
            ("apiVersion", text_schema(API_VERSION_TEXT)),
            ("items", items),
            ("kind", text_schema(KIND_TEXT)),
            ("metadata", self.dialect.reference(&metadata)),
        ]);
        let known = object([("group", group.into()), ("kind", list_kind.into()), ("version", "v1".into())]);
        let schema = object([
            ("properties", properties),
            ("required", vec!["items".into()].into()),
            ("type", "object".into()),
            ("x-kubernetes-group-version-kind", vec![known].into()),
        ]);
        self.found.insert(name.as_str(), schema);
        name
    }

    fn structure(&mut self, id: TypeId) -> String {
        let Shape::Struct(described) = &id.get().shape else { return String::new() };
        let name = definition_name(id, described.name);
        if !self.found.contains_key(&name) {
            self.found.insert(name.as_str(), Value::Null); // types refer to themselves
            let schema = self.members(described);
            self.found.insert(name.as_str(), schema);
        }
        name
    }

    fn members(&mut self, described: &'static Struct) -> Value {
        let mut properties = Map::new();
        for field in &described.fields {
            let mut schema = self.field(field);
            if let (Some(text), Value::Object(schema)) = (field_text(described, field), &mut schema) {
                self.describe(schema, text);
            }
            properties.insert(field.name, schema);
        }
        let required = described.fields.iter().filter(|field| field.required);
        let required: Vec<Value> = required.map(|field| field.name.into()).collect();
        let mut schema: Map =
            [("properties", Value::Object(properties)), ("type", "object".into())].into_iter().collect();
        if !required.is_empty() {
            schema.insert("required", required);
        }
        if described.atomic {
            schema.insert("x-kubernetes-map-type", "atomic");
        }
        Value::Object(schema)
    }

    /// v3 allows no member beside a reference.
    fn describe(&self, schema: &mut Map, text: &str) {
        if self.dialect == Dialect::V3
            && let Some(reference) = schema.remove("$ref")
        {
            schema.insert("allOf", vec![object([("$ref", reference)])]);
        }
        schema.insert("description", text);
    }

    fn field(&mut self, field: &Field) -> Value {
        let mut schema = self.shape(field.ty);
        let Value::Object(members) = &mut schema else { return schema };
        match (&field.ty.get().shape, &field.list) {
            (Shape::List(_), ListKind::Set) => _ = members.insert("x-kubernetes-list-type", "set"),
            (Shape::List(_), ListKind::Map(keys)) => {
                let keys = keys.iter().map(|key| Value::from(*key)).collect::<Vec<_>>();
                members.insert("x-kubernetes-list-map-keys", keys);
                members.insert("x-kubernetes-list-type", "map");
            }
            (Shape::Map(_), _) if field.atomic => _ = members.insert("x-kubernetes-map-type", "atomic"),
            _ => {}
        }
        if let Some(patch) = &field.patch {
            if let Some(key) = patch.merge_key {
                members.insert("x-kubernetes-patch-merge-key", key);
            }
            members.insert("x-kubernetes-patch-strategy", patch.strategies.join(","));
        }
        if self.dialect == Dialect::V3
            && !members.contains_key("$ref")
            && let Some(default) = field.default.and_then(|text| json::parse(text.as_bytes()).ok())
        {
            members.insert("default", default.value);
        }
        schema
    }

    fn shape(&mut self, ty: TypeRef) -> Value {
        let typed = |name: &str| object([("type", name.into())]);
        let formatted = |name: &str, format: &str| object([("format", format.into()), ("type", name.into())]);
        match &ty.get().shape {
            Shape::Bool => typed("boolean"),
            Shape::Int32 => formatted("integer", "int32"),
            Shape::Int64 => formatted("integer", "int64"),
            Shape::Float => formatted("number", "double"),
            Shape::String => typed("string"),
            Shape::Bytes => formatted("string", "byte"),
            Shape::List(item) => object([("items", self.shape(*item)), ("type", "array".into())]),
            Shape::Map(value) => {
                object([("additionalProperties", self.shape(*value)), ("type", "object".into())])
            }
            Shape::Struct(_) => {
                let name = self.structure(ty.id);
                self.dialect.reference(&name)
            }
            Shape::Time => self.leaf("Time", formatted("string", "date-time")),
            Shape::MicroTime => self.leaf("MicroTime", formatted("string", "date-time")),
            Shape::IntOrString => self.leaf(
                "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
                formatted("string", "int-or-string"),
            ),
            Shape::Quantity => self.leaf("io.k8s.apimachinery.pkg.api.resource.Quantity", typed("string")),
            Shape::Raw => match ty.get().go_name.as_str() {
                "v1.FieldsV1" => self.leaf("FieldsV1", typed("object")),
                "runtime.RawExtension" => {
                    self.leaf("io.k8s.apimachinery.pkg.runtime.RawExtension", typed("object"))
                }
                _ => object([]),
            },
            Shape::SchemaOrBool(_) | Shape::SchemaOrArray(_) | Shape::SchemaOrStrings(_) => object([]),
        }
    }

    /// Adds a definition that is no struct; gives a reference to it. Without a dot it is one of metadata's.
    fn leaf(&mut self, name: &str, schema: Value) -> Value {
        let name = if name.contains('.') { name.to_owned() } else { format!("{META}.{name}") };
        let reference = self.dialect.reference(&name);
        self.found.insert(name, schema);
        reference
    }
}

fn field_text(described: &Struct, field: &Field) -> Option<&'static str> {
    match (described.name, field.name) {
        (_, "apiVersion") if described.field("metadata").is_some() => Some(API_VERSION_TEXT),
        (_, "kind") if described.field("metadata").is_some() => Some(KIND_TEXT),
        ("ObjectMeta", name) => {
            METADATA_TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
        }
        _ => None,
    }
}

fn definition_name(id: TypeId, name: &str) -> String {
    match id.package() {
        "meta" => format!("{META}.{name}"),
        "apiextensions" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}"),
        "apiregistration" => format!("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.{name}"),
        package => format!("io.k8s.api.{package}.v1.{name}"),
    }
}
