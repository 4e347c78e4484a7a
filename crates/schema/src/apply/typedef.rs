//! What field ownership needs to know of a type: which parts are owned as a whole and which item by item.
//!
//! A [`TypeDef`] says for each JSON shape (scalar, list, map) whether and how the type takes it. Most types
//! take one shape; preserved unknown fields and int-or-string take several, and the value decides.
//! Types are shared by reference count, so `ObjectMeta` and the scalars exist once for all kinds.
//!
//! Upstream: structured-merge-diff/v6/schema/elements.go, kube-openapi/pkg/schemaconv, v1.36.

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use meta::{Text, Value};

use super::element;

/// What a scalar may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Numeric,
    String,
    Boolean,
    /// Any of them: int-or-string, quantities, times and every string with a format.
    Untyped,
}

/// How a list's items are owned.
#[derive(Clone, Debug)]
pub enum ListKind {
    /// The list is one value.
    Atomic,
    /// Each distinct scalar is owned.
    Set,
    /// Each item is owned under the values of its keys.
    Map(ListKeys),
}

/// The key fields of a list map.
#[derive(Clone, Debug)]
pub struct ListKeys {
    /// As the schema lists them; error texts show this order.
    pub(super) declared: Box<[Text]>,
    /// Sorted; path elements are built in this order.
    pub(super) sorted: Box<[ListKey]>,
}

/// A key field of a list map.
#[derive(Clone, Debug)]
pub(super) struct ListKey {
    pub name: Text,
    /// `"name":`, as it appears in path elements.
    pub encoded: Text,
}

#[derive(Clone, Debug)]
pub struct ListDef {
    pub kind: ListKind,
    pub element: TypeRef,
}

/// A named field of a map or struct.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Text,
    pub ty: TypeRef,
    /// Stands in for a missing list-map key; not used otherwise.
    pub default: Option<Value>,
    /// `f:name`, ready for use.
    pub(super) element: Text,
}

impl Field {
    pub fn new(name: impl Into<Text>, ty: TypeRef) -> Self {
        let name = name.into();
        Field { element: element::field(&name), name, ty, default: None }
    }

    #[must_use]
    pub fn with_default(mut self, default: impl Into<Value>) -> Self {
        self.default = Some(default.into());
        self
    }
}

/// Invariant: `fields` is strictly ascending by name, as the members of an object are.
#[derive(Clone, Debug, Default)]
pub struct MapDef {
    fields: Box<[Field]>,
    pub additional: Option<TypeRef>,
    pub atomic: bool,
}

impl MapDef {
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        let index = self.fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok()?;
        Some(&self.fields[index])
    }

    /// The type of a member: of its field, else of additional members; `None` when it is not declared.
    pub fn member(&self, name: &str) -> Option<&TypeRef> {
        self.field(name).map(|field| &field.ty).or(self.additional.as_ref())
    }

    /// Whether this is a map of nothing but unknown fields.
    pub(super) fn is_deduced(&self) -> bool {
        let untyped = |ty: &TypeRef| ty.def().scalar == Some(Scalar::Untyped);
        self.fields.is_empty() && self.additional.as_ref().is_some_and(untyped)
    }
}

/// The shapes a type takes. A definition without any shape takes no value.
#[derive(Clone, Debug, Default)]
pub struct TypeDef {
    pub scalar: Option<Scalar>,
    pub list: Option<ListDef>,
    pub map: Option<MapDef>,
}

impl TypeDef {
    pub fn scalar(scalar: Scalar) -> Self {
        TypeDef { scalar: Some(scalar), ..TypeDef::default() }
    }

    pub fn list(kind: ListKind, element: TypeRef) -> Self {
        TypeDef { list: Some(ListDef { kind, element }), ..TypeDef::default() }
    }

    /// A granular struct or map; of fields with the same name the last one wins.
    pub fn object(fields: impl IntoIterator<Item = Field>, additional: Option<TypeRef>) -> Self {
        let mut fields: Vec<Field> = fields.into_iter().collect();
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        fields.reverse();
        fields.dedup_by(|later, earlier| later.name == earlier.name);
        fields.reverse();
        let map = MapDef { fields: fields.into(), additional, atomic: false };
        TypeDef { map: Some(map), ..TypeDef::default() }
    }

    /// The same type, owned as a whole where it is a list or map.
    #[must_use]
    pub fn atomic(mut self) -> Self {
        if let Some(map) = &mut self.map {
            map.atomic = true;
        }
        if let Some(list) = &mut self.list {
            list.kind = ListKind::Atomic;
        }
        self
    }
}

/// The shape under which a value is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Map,
    Scalar,
    List,
}

impl TypeDef {
    /// The shape the value itself has, when the type takes it; otherwise the first shape the type takes.
    /// `None` only for a type without shapes.
    pub(super) fn shape_of(&self, value: &Value) -> Option<Shape> {
        match value {
            Value::Object(_) if self.map.is_some() => Some(Shape::Map),
            Value::Array(_) if self.list.is_some() => Some(Shape::List),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::String(_) if self.scalar.is_some() => {
                Some(Shape::Scalar)
            }
            _ => self.first_shape(),
        }
    }

    pub(super) fn first_shape(&self) -> Option<Shape> {
        if self.map.is_some() {
            Some(Shape::Map)
        } else if self.scalar.is_some() {
            Some(Shape::Scalar)
        } else {
            self.list.as_ref().map(|_| Shape::List)
        }
    }
}

/// A shared type. A type that contains itself is made with [`TypeRef::forward`]; such a cycle is never
/// freed, so forward references are for types that live as long as the process.
#[derive(Clone)]
pub struct TypeRef(Arc<OnceLock<TypeDef>>);

impl fmt::Debug for TypeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the definition: it may contain this reference.
        let def = self.def();
        f.write_str(if def.map.is_some() { "map" } else { "" })?;
        f.write_str(if def.list.is_some() { "list" } else { "" })?;
        f.write_str(if def.scalar.is_some() { "scalar" } else { "" })
    }
}

impl From<TypeDef> for TypeRef {
    fn from(def: TypeDef) -> Self {
        if let TypeDef { scalar: Some(scalar), list: None, map: None } = def {
            return TypeRef::scalar(scalar);
        }
        TypeRef(Arc::new(OnceLock::from(def)))
    }
}

impl TypeRef {
    /// A type that is named before it is defined.
    pub fn forward() -> Self {
        TypeRef(Arc::new(OnceLock::new()))
    }

    /// Gives a forward reference its meaning; the first definition stays.
    pub fn define(&self, def: TypeDef) {
        let _already_defined = self.0.set(def);
    }

    /// The definition; a type never defined takes no value.
    pub fn def(&self) -> &TypeDef {
        static UNDEFINED: TypeDef = TypeDef { scalar: None, list: None, map: None };
        self.0.get().unwrap_or(&UNDEFINED)
    }

    pub fn scalar(scalar: Scalar) -> Self {
        static SCALARS: LazyLock<[TypeRef; 4]> = LazyLock::new(|| {
            [Scalar::Numeric, Scalar::String, Scalar::Boolean, Scalar::Untyped]
                .map(|scalar| TypeRef(Arc::new(OnceLock::from(TypeDef::scalar(scalar)))))
        });
        SCALARS[scalar as usize].clone()
    }

    pub fn string() -> Self {
        TypeRef::scalar(Scalar::String)
    }

    pub fn numeric() -> Self {
        TypeRef::scalar(Scalar::Numeric)
    }

    pub fn boolean() -> Self {
        TypeRef::scalar(Scalar::Boolean)
    }

    /// Preserved unknown content: maps are granular all the way down, lists are atomic.
    pub fn deduced() -> Self {
        static DEDUCED: LazyLock<TypeRef> = LazyLock::new(|| untyped(false, Some(TypeRef::untyped_atomic())));
        DEDUCED.clone()
    }

    /// Unknown content owned as a whole.
    pub fn untyped_atomic() -> Self {
        static UNTYPED: LazyLock<TypeRef> = LazyLock::new(|| untyped(true, None));
        UNTYPED.clone()
    }

    pub fn atomic_list(element: TypeRef) -> Self {
        TypeDef::list(ListKind::Atomic, element).into()
    }

    pub fn set(element: TypeRef) -> Self {
        TypeDef::list(ListKind::Set, element).into()
    }

    /// A list of maps found by `keys`; defaults of keys come from the element's fields.
    pub fn list_map<K: Into<Text>>(keys: impl IntoIterator<Item = K>, element: TypeRef) -> Self {
        TypeDef::list(ListKind::map(keys), element).into()
    }

    pub fn object(fields: impl IntoIterator<Item = Field>) -> Self {
        TypeDef::object(fields, None).into()
    }

    pub fn atomic_object(fields: impl IntoIterator<Item = Field>) -> Self {
        TypeDef::object(fields, None).atomic().into()
    }

    /// A granular map with values of one type.
    pub fn map(element: TypeRef) -> Self {
        TypeDef::object([], Some(element)).into()
    }

    pub fn atomic_map(element: TypeRef) -> Self {
        TypeDef::object([], Some(element)).atomic().into()
    }

    /// `metadata` of every object.
    pub fn object_meta() -> Self {
        static OBJECT_META: LazyLock<TypeRef> = LazyLock::new(object_meta);
        OBJECT_META.clone()
    }

    /// A whole object: its own `fields` beside apiVersion, kind and metadata, which are always the standard
    /// ones. `additional` is the type of undeclared top-level members, when they are kept.
    pub fn root(fields: impl IntoIterator<Item = Field>, additional: Option<TypeRef>) -> Self {
        let standard = [
            Field::new("apiVersion", TypeRef::string()),
            Field::new("kind", TypeRef::string()),
            Field::new("metadata", TypeRef::object_meta()),
        ];
        TypeDef::object(fields.into_iter().chain(standard), additional).into()
    }
}

impl ListKind {
    pub fn map<K: Into<Text>>(keys: impl IntoIterator<Item = K>) -> Self {
        let declared: Box<[Text]> = keys.into_iter().map(Into::into).collect();
        let mut sorted = declared.to_vec();
        sorted.sort();
        let encode = |name: Text| ListKey { encoded: element::encode_key(&name), name };
        ListKind::Map(ListKeys { declared, sorted: sorted.into_iter().map(encode).collect() })
    }
}

/// A type that takes everything and contains itself.
fn untyped(atomic: bool, list_element: Option<TypeRef>) -> TypeRef {
    let this = TypeRef::forward();
    let element = list_element.unwrap_or_else(|| this.clone());
    this.define(TypeDef {
        scalar: Some(Scalar::Untyped),
        list: Some(ListDef { kind: ListKind::Atomic, element }),
        map: Some(MapDef { fields: Box::default(), additional: Some(this.clone()), atomic }),
    });
    this
}

fn object_meta() -> TypeRef {
    let string = TypeRef::string;
    let time = || TypeRef::scalar(Scalar::Untyped);
    let entry = TypeRef::object([
        Field::new("apiVersion", string()),
        Field::new("fieldsType", string()),
        Field::new("fieldsV1", TypeRef::map(TypeRef::deduced())),
        Field::new("manager", string()),
        Field::new("operation", string()),
        Field::new("subresource", string()),
        Field::new("time", time()),
    ]);
    let owner_reference = TypeRef::atomic_object([
        Field::new("apiVersion", string()).with_default(""),
        Field::new("blockOwnerDeletion", TypeRef::boolean()),
        Field::new("controller", TypeRef::boolean()),
        Field::new("kind", string()).with_default(""),
        Field::new("name", string()).with_default(""),
        Field::new("uid", string()).with_default(""),
    ]);
    TypeRef::object([
        Field::new("annotations", TypeRef::map(string())),
        Field::new("creationTimestamp", time()),
        Field::new("deletionGracePeriodSeconds", TypeRef::numeric()),
        Field::new("deletionTimestamp", time()),
        Field::new("finalizers", TypeRef::set(string())),
        Field::new("generateName", string()),
        Field::new("generation", TypeRef::numeric()),
        Field::new("labels", TypeRef::map(string())),
        Field::new("managedFields", TypeRef::atomic_list(entry)),
        Field::new("name", string()),
        Field::new("namespace", string()),
        Field::new("ownerReferences", TypeRef::list_map(["uid"], owner_reference)),
        Field::new("resourceVersion", string()),
        Field::new("selfLink", string()),
        Field::new("uid", string()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_order_they_were_given_in() {
        let def =
            TypeDef::object([Field::new("b", TypeRef::string()), Field::new("a", TypeRef::numeric())], None);
        let map = def.map.unwrap();
        assert_eq!(map.field("a").unwrap().ty.def().scalar, Some(Scalar::Numeric));
        assert_eq!(map.field("b").unwrap().ty.def().scalar, Some(Scalar::String));
        assert!(map.member("c").is_none());
    }

    #[test]
    fn a_type_may_contain_itself() {
        let node = TypeRef::forward();
        node.define(TypeDef::object([Field::new("next", node.clone())], None));
        let next = node.def().map.as_ref().unwrap().member("next").unwrap();
        assert!(next.def().map.as_ref().unwrap().member("next").is_some());
    }

    #[test]
    fn the_value_decides_between_the_shapes_a_type_takes() {
        let deduced = TypeRef::deduced();
        assert_eq!(deduced.def().shape_of(&Value::Int(1)), Some(Shape::Scalar));
        assert_eq!(deduced.def().shape_of(&Value::Array(vec![])), Some(Shape::List));
        assert_eq!(deduced.def().shape_of(&Value::Null), Some(Shape::Map));
        assert_eq!(TypeRef::string().def().shape_of(&Value::Array(vec![])), Some(Shape::Scalar));
        assert_eq!(TypeRef::forward().def().shape_of(&Value::Null), None);
    }
}
