//! Descriptions of Go-like API types: read from `kinds/*.txt`, kept as an arena of nodes per package.
//!
//! The files hold one declaration per block:
//!
//! ```text
//! type SecretType string
//!
//! object Secret
//!   data map[string][]byte omitempty
//!   type SecretType        omitempty
//! ```
//!
//! `object` is a struct that also carries `apiVersion` and `kind`; a trailing `atomic` makes a struct one value for
//! apply. A field is its JSON name, its Go type and options: `@3` (its number in the binary encoding), `omitempty`,
//! `omitzero`, `required`,
//! `list=atomic|set|map(keys)`, `atomic` (a map or struct), `patch=merge(key)|replace|…` and `default=JSON`.
//! `inline T` takes over the fields of an embedded struct. Types of another package are written `meta.Condition`.
//! `Time`, `Quantity`, `JSON` and the like are types with their own encoding, see [`Shape`].
//!
//! A package is parsed when one of its kinds is first looked up; this takes tens of microseconds.

mod parse;

use std::sync::OnceLock;

/// Where a type is: its package and its place there. Small, copyable, valid for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    package: u8,
    index: u16,
}

impl TypeId {
    pub fn get(self) -> &'static Type {
        &package(usize::from(self.package)).types[usize::from(self.index)]
    }

    /// The name of the package that the type belongs to.
    pub fn package(self) -> &'static str {
        PACKAGES[usize::from(self.package)].name
    }

    /// Whether objects of this package are stored in the reference's binary format, which cannot tell an empty
    /// list from none.
    pub(crate) fn forgets_empty(self) -> bool {
        PACKAGES[usize::from(self.package)].binary
    }
}

/// A type, and whether it is used through a pointer, which makes absence different from its zero value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeRef {
    pub id: TypeId,
    pub pointer: bool,
}

impl TypeRef {
    pub fn get(self) -> &'static Type {
        self.id.get()
    }
}

/// One type: Go's name for it, as decoding errors print it, and its shape.
#[derive(Debug)]
pub struct Type {
    pub go_name: String,
    pub shape: Shape,
}

#[derive(Debug)]
pub enum Shape {
    Bool,
    Int32,
    Int64,
    Float,
    String,
    /// Base64 in JSON.
    Bytes,
    List(TypeRef),
    Map(TypeRef),
    Struct(Struct),
    /// RFC 3339 with seconds; null when unset.
    Time,
    /// RFC 3339 with exactly six fractional digits; null when unset.
    MicroTime,
    IntOrString,
    Quantity,
    /// Any JSON value, kept as it is.
    Raw,
    /// A schema or a boolean. This and the next two read their value with a decoder of their own: unknown
    /// fields below them are dropped silently.
    SchemaOrBool(TypeId),
    /// A schema or a list of schemas.
    SchemaOrArray(TypeId),
    /// A schema or a list of strings.
    SchemaOrStrings(TypeId),
}

#[derive(Debug)]
pub struct Struct {
    pub name: &'static str,
    /// Sorted by JSON name.
    pub fields: Vec<Field>,
    pub atomic: bool,
    /// Places of the fields that are printed although they are zero; found when first asked for.
    pub(crate) printed: OnceLock<Vec<u16>>,
}

impl Struct {
    pub fn field(&self, name: &str) -> Option<&Field> {
        let index = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.fields[index])
    }
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent markers of a Go field")]
pub struct Field {
    pub name: &'static str,
    pub ty: TypeRef,
    /// The number in the binary encoding; the type of an object has none.
    pub(crate) number: Option<u32>,
    pub omit_empty: bool,
    pub omit_zero: bool,
    pub required: bool,
    pub list: ListKind,
    /// A map or struct that apply treats as one value.
    pub atomic: bool,
    pub patch: Option<Patch>,
    /// JSON text of the value that is assumed when the field is absent; published, not applied by decoding.
    pub default: Option<&'static str>,
    /// The embedded structs the field comes from, outermost first.
    pub(crate) embedded: Vec<Embedded>,
}

/// A struct whose fields JSON shows as those of its holder. The binary encoding nests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Embedded {
    pub(crate) go_name: &'static str,
    pub(crate) number: u32,
}

/// How apply merges a list. A list without a marker is atomic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    Atomic,
    Set,
    Map(Vec<&'static str>),
}

/// How a strategic merge patch treats a field: `merge`, `replace`, `retainKeys`, and the key of list items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub strategies: Vec<&'static str>,
    pub merge_key: Option<&'static str>,
}

/// A top-level kind with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    id: TypeId,
}

impl Kind {
    pub fn type_id(self) -> TypeId {
        self.id
    }

    pub fn name(self) -> &'static str {
        self.root().name
    }

    /// The API group; kinds that every group serves, like `DeleteOptions`, have `meta.k8s.io`.
    pub fn group(self) -> &'static str {
        PACKAGES[usize::from(self.id.package)].group
    }

    pub fn version(self) -> &'static str {
        "v1"
    }

    pub fn root(self) -> &'static Struct {
        match &self.id.get().shape {
            Shape::Struct(root) => root,
            _ => unreachable!("only objects become kinds"),
        }
    }
}

/// The kind with this name, or `None` when it is not built in.
///
/// ```
/// use crest_schema::typed::kind;
/// assert_eq!(kind("", "v1", "ConfigMap").map(|kind| kind.name()), Some("ConfigMap"));
/// assert!(kind("", "v1", "ConfigMapList").is_none());
/// ```
pub fn kind(group: &str, version: &str, kind: &str) -> Option<Kind> {
    if version != "v1" {
        return None;
    }
    let position = PACKAGES.iter().position(|source| source.group == group)?;
    package(position).object(kind).map(|id| Kind { id })
}

/// A struct that all kinds share.
pub fn meta_struct(name: &str) -> TypeId {
    package(0).find(name).expect("the described struct").0
}

struct Source {
    name: &'static str,
    group: &'static str,
    text: &'static str,
    binary: bool,
    parsed: OnceLock<Package>,
}

const fn source(name: &'static str, group: &'static str, text: &'static str) -> Source {
    // Definitions and API services are stored as JSON, all others in the binary format.
    let binary = !matches!(name.as_bytes(), b"apiextensions" | b"apiregistration");
    Source { name, group, text, binary, parsed: OnceLock::new() }
}

/// Every package, those that others refer to first.
static PACKAGES: [Source; 14] = [
    source("meta", "meta.k8s.io", include_str!("kinds/meta.txt")),
    source("core", "", include_str!("kinds/core.txt")),
    source("apiextensions", "apiextensions.k8s.io", include_str!("kinds/apiextensions.txt")),
    source("apiregistration", "apiregistration.k8s.io", include_str!("kinds/apiregistration.txt")),
    source("coordination", "coordination.k8s.io", include_str!("kinds/coordination.txt")),
    source("events", "events.k8s.io", include_str!("kinds/events.txt")),
    source("rbac", "rbac.authorization.k8s.io", include_str!("kinds/rbac.txt")),
    source(
        "admissionregistration",
        "admissionregistration.k8s.io",
        include_str!("kinds/admissionregistration.txt"),
    ),
    source("certificates", "certificates.k8s.io", include_str!("kinds/certificates.txt")),
    source("flowcontrol", "flowcontrol.apiserver.k8s.io", include_str!("kinds/flowcontrol.txt")),
    source("authentication", "authentication.k8s.io", include_str!("kinds/authentication.txt")),
    source("authorization", "authorization.k8s.io", include_str!("kinds/authorization.txt")),
    source("autoscaling", "autoscaling", include_str!("kinds/autoscaling.txt")),
    source("discovery", "discovery.k8s.io", include_str!("kinds/discovery.txt")),
];

/// The parsed types of one package and the places of its named ones.
#[derive(Debug)]
struct Package {
    types: Vec<Type>,
    /// Sorted by name; true for objects.
    names: Vec<(&'static str, u16, bool)>,
    index: u8,
}

impl Package {
    fn find(&self, name: &str) -> Option<(TypeId, bool)> {
        let at = self.names.binary_search_by(|(candidate, ..)| (*candidate).cmp(name)).ok()?;
        let (_, index, object) = self.names[at];
        Some((TypeId { package: self.index, index }, object))
    }

    fn object(&self, name: &str) -> Option<TypeId> {
        self.find(name).and_then(|(id, object)| object.then_some(id))
    }
}

fn package(index: usize) -> &'static Package {
    let source = &PACKAGES[index];
    source.parsed.get_or_init(|| parse::package(index, source.text))
}

#[cfg(test)]
mod tests;
