//! The description of one served resource: everything the verbs need to know of a kind.

use std::sync::Arc;
use std::time::Duration;

use meta::gvk::{GroupKind, GroupResource};
use meta::json_path::JsonPath;
use meta::object::NamespaceRule;
use meta::wire::json::Wanted;
use meta::{Text, Value};
use registry::{Cache, FieldPaths};

use super::form::Form;
use super::openapi::pieces::Pieces;

/// One resource in one version. Built-ins and definitions are described alike.
pub struct Resource {
    pub group: Text,
    pub version: Text,
    pub names: Names,
    pub namespaced: bool,
    /// As discovery lists them.
    pub verbs: Vec<&'static str>,
    pub subresources: Vec<Subresource>,
    pub form: Form,
    pub cache: Arc<Cache>,
    /// What this version lets clients select by, besides name and namespace.
    pub fields: FieldPaths,
    /// The version that objects are stored in, with its group.
    pub storage_api_version: Text,
    pub source: Source,
    /// Sent with every answer for a version that should no longer be used.
    pub deprecation: Option<String>,
    /// Objects remove themselves after this time.
    pub time_to_live: Option<Duration>,
    pub columns: Vec<Column>,
    /// What of an object the columns show.
    pub shown: Wanted,
    pub habits: Habits,
    /// Where the schema that is published can be read; it is not kept twice.
    pub published: Option<Published>,
}

/// The definition that a resource comes from, as it is stored.
pub struct Published {
    pub definitions: Arc<Cache>,
    pub name: Text,
    /// Tells this state of the definition from every other one.
    pub uid: Text,
    pub generation: i64,
    /// What it adds to documents.
    pub pieces: Pieces,
}

impl Published {
    /// A version as the definition writes it.
    pub fn version(&self, version: &str) -> Option<Value> {
        let definition = self.definitions.get(&self.name)?;
        let definition = meta::wire::json::parse(definition.bytes()).ok()?.value;
        let versions = super::definition::versions(&definition);
        let named = |candidate: &&Value| super::definition::text(candidate, &["name"]) == version;
        versions.iter().find(named).cloned()
    }
}

/// The names of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub plural: Text,
    pub singular: Text,
    pub kind: Text,
    pub list_kind: Text,
    pub short_names: Vec<Text>,
    pub categories: Vec<Text>,
}

/// A part of an object with a path of its own.
#[derive(Clone, Debug)]
pub struct Subresource {
    pub name: Text,
    /// What requests and answers hold, when that is not the resource's own kind.
    pub kind: Option<meta::gvk::Gvk>,
    pub verbs: Vec<&'static str>,
}

/// Where a description comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Builtin,
    /// A definition, by its name; `terminating` once it is being deleted.
    Definition {
        name: Text,
        terminating: bool,
    },
}

/// A column of the tables that people read.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub format: String,
    pub description: String,
    pub priority: i64,
    pub cell: Cell,
}

/// How a cell is made of an object.
#[derive(Clone, Debug)]
pub enum Cell {
    Name,
    Age,
    /// What a path leads to, if it is of the type.
    Path(JsonPath, ColumnType),
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Integer,
    Number,
    Boolean,
    String,
    Date,
    /// Definitions of old may say anything; nothing is of such a type.
    Unknown,
}

impl ColumnType {
    pub fn of(name: &str) -> Self {
        match name {
            "integer" => ColumnType::Integer,
            "number" => ColumnType::Number,
            "boolean" => ColumnType::Boolean,
            "string" => ColumnType::String,
            "date" => ColumnType::Date,
            _ => ColumnType::Unknown,
        }
    }
}

/// Ways in which the reference treats kinds differently for no deeper reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent habits, each named where it is set")]
pub struct Habits {
    /// Items of a list carry `apiVersion` and `kind`, and its metadata always a `continue`.
    pub untyped_lists: bool,
    /// A deletion is answered with the object, not with a Status.
    pub delete_returns_object: bool,
    /// An update of a missing object creates it.
    pub update_creates: bool,
    /// An update may leave the resource version out.
    pub unconditional_update: bool,
    /// Nothing depends on its objects: their deletion says nothing about dependents.
    pub never_owner: bool,
}

impl Resource {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.names.plural.clone())
    }

    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.names.kind.clone())
    }

    /// The reference's errors about preconditions name the kind where others name the resource.
    pub fn kind_as_resource(&self) -> GroupResource {
        GroupResource::new(self.internal_group(), self.names.kind.clone())
    }

    /// The group of the kind inside the reference, which some errors name: both groups of events are one there.
    pub fn internal_group(&self) -> Text {
        if self.is_builtin() && self.names.kind == "Event" { Text::default() } else { self.group.clone() }
    }

    /// Where objects are in the reference's store, as some errors tell: its own kinds are kept by their names
    /// alone, all others with their groups.
    pub fn reference_key(&self, key: &str) -> String {
        let by_group = !self.is_builtin()
            || matches!(self.group.as_str(), "apiextensions.k8s.io" | "apiregistration.k8s.io");
        let plural = &self.names.plural;
        if by_group {
            format!("/registry/{}/{plural}/{key}", self.group)
        } else {
            format!("/registry/{plural}/{key}")
        }
    }

    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    pub fn is_builtin(&self) -> bool {
        self.source == Source::Builtin
    }

    /// Whether its objects live in namespaces, as the validation of metadata asks it.
    pub fn namespace_rule(&self) -> NamespaceRule {
        if self.namespaced { NamespaceRule::Required } else { NamespaceRule::Forbidden }
    }

    /// Tells clients whether stored objects have changed their form; nothing for kinds that are not stored.
    pub fn storage_version_hash(&self) -> Option<String> {
        match &self.form {
            Form::Builtin(form) => form.resource.storage_version_hash(),
            Form::Custom(_) => {
                let (group, version) = self.storage_api_version.split_once('/').unwrap_or_default();
                Some(schema::typed::storage_version_hash(group, version, &self.names.kind))
            }
        }
    }
}
