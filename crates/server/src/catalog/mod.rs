//! What is served, as one immutable snapshot.
//!
//! Built-ins and definitions are sources of the same descriptions. A change makes a new catalog that shares
//! everything unchanged with the old one and is swapped in as a whole, so that adding the thousandth
//! definition costs what the first did. A request takes one snapshot and uses only that.

pub mod builtin;
pub mod columns;
pub mod definition;
pub mod discovery;
pub mod form;
pub mod openapi;
pub mod packed;
pub mod resource;
pub mod version;

use std::sync::Arc;

use imbl::{HashMap, OrdMap};
use meta::Text;

pub use resource::Resource;

/// Invariant: `definitions` names exactly the resources that definitions brought.
#[derive(Clone, Default)]
pub struct Catalog {
    groups: OrdMap<Text, Arc<Group>>,
    definitions: HashMap<Text, Arc<Placement>>,
    announced: HashMap<Text, Announced>,
    documents: Arc<discovery::Documents>,
    builtin_pieces: Arc<openapi::pieces::BuiltinPieces>,
}

/// An API group.
#[derive(Clone)]
pub struct Group {
    pub name: Text,
    /// The best one first.
    pub versions: Vec<Arc<GroupVersion>>,
    /// Groups of ours answer for unknown resources in them with a Status, others do not.
    pub builtin: bool,
}

/// The resources of one version of a group.
#[derive(Clone)]
pub struct GroupVersion {
    pub group: Text,
    pub version: Text,
    pub resources: OrdMap<Text, Arc<Resource>>,
    pub(crate) fragments: Arc<discovery::Fragments>,
}

/// What a definition wants to serve and does not yet: lists of groups and versions name it nevertheless.
#[derive(Clone)]
pub struct Announced {
    pub group: Text,
    pub versions: Vec<Text>,
}

/// Where the resources of a definition are.
struct Placement {
    group: Text,
    plural: Text,
    versions: Vec<Text>,
}

impl Catalog {
    /// A catalog with these built-in resources, in order of importance of their versions.
    pub fn of_builtins(resources: Vec<Resource>) -> Self {
        let mut catalog = Catalog::default();
        for resource in resources {
            catalog.insert(&Arc::new(resource), true);
        }
        catalog
    }

    pub fn group(&self, name: &str) -> Option<&Arc<Group>> {
        self.groups.get(name)
    }

    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.groups.values()
    }

    pub fn group_version(&self, group: &str, version: &str) -> Option<&Arc<GroupVersion>> {
        self.group(group)?.versions.iter().find(|candidate| candidate.version == version)
    }

    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.group_version(group, version)?.resources.get(plural)
    }

    /// Any served version of a resource.
    pub fn any_version(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.group(group)?.versions.iter().find_map(|version| version.resources.get(plural))
    }

    /// Every resource once, in its best version.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups.values().flat_map(|group| {
            group.versions.iter().enumerate().flat_map(move |(index, version)| {
                let better = &group.versions[..index];
                version.resources.values().filter(move |resource| {
                    !better.iter().any(|b| b.resources.contains_key(&resource.names.plural))
                })
            })
        })
    }

    /// The names of the definitions that bring something.
    pub fn definitions(&self) -> impl Iterator<Item = &Text> {
        self.definitions.keys()
    }

    /// The same catalog with a definition's resources in place of those it had before.
    #[must_use]
    pub fn with_definition(&self, name: &str, resources: Vec<Resource>) -> Self {
        let mut catalog = self.without_definition(name);
        let Some(first) = resources.first() else { return catalog };
        let placement = Placement {
            group: first.group.clone(),
            plural: first.names.plural.clone(),
            versions: resources.iter().map(|resource| resource.version.clone()).collect(),
        };
        catalog.definitions.insert(name.into(), Arc::new(placement));
        for resource in resources {
            catalog.insert(&Arc::new(resource), false);
        }
        catalog
    }

    /// The same catalog with what a definition announces, if anything.
    #[must_use]
    pub fn announcing(mut self, name: &str, announced: Option<Announced>) -> Self {
        if let Some(announced) = announced {
            self.announced.insert(name.into(), announced);
        }
        self
    }

    /// The versions of a group as its documents list them, the best one first: those that are served, and those
    /// that only are announced.
    pub fn listed_versions(&self, group: &Group) -> Vec<Text> {
        let mut versions: Vec<Text> = group.versions.iter().map(|version| version.version.clone()).collect();
        let announced = self.announced.values().filter(|announced| announced.group == group.name);
        let more: Vec<&Text> = announced.flat_map(|announced| &announced.versions).collect();
        if !more.is_empty() {
            versions.extend(more.into_iter().cloned());
            versions.sort_by(|left, right| version::compare(right, left));
            versions.dedup();
        }
        versions
    }

    /// The same catalog without a definition's resources.
    #[must_use]
    pub fn without_definition(&self, name: &str) -> Self {
        let mut catalog = self.clone();
        catalog.documents = Arc::default();
        catalog.announced.remove(name);
        let Some(placement) = catalog.definitions.remove(name) else { return catalog };
        let Some(group) = catalog.groups.get(&placement.group) else { return catalog };
        let mut group = Group::clone(group);
        for version in &mut group.versions {
            if placement.versions.contains(&version.version) {
                *version = Arc::new(version.without(&placement.plural));
            }
        }
        group.versions.retain(|version| !version.resources.is_empty());
        if group.versions.is_empty() {
            catalog.groups.remove(&placement.group);
        } else {
            catalog.groups.insert(placement.group.clone(), Arc::new(group));
        }
        catalog
    }

    fn insert(&mut self, resource: &Arc<Resource>, builtin: bool) {
        let mut group = match self.groups.get(&resource.group) {
            Some(group) => Group::clone(group),
            None => Group { name: resource.group.clone(), versions: Vec::new(), builtin },
        };
        if let Some(version) = group.versions.iter_mut().find(|version| version.version == resource.version) {
            *version = Arc::new(version.with(resource.clone()));
        } else {
            let empty = GroupVersion {
                group: resource.group.clone(),
                version: resource.version.clone(),
                resources: OrdMap::new(),
                fragments: Arc::default(),
            };
            group.versions.push(Arc::new(empty.with(resource.clone())));
            group.versions.sort_by(|left, right| version::compare(&right.version, &left.version));
        }
        self.groups.insert(resource.group.clone(), Arc::new(group));
    }
}

impl GroupVersion {
    fn with(&self, resource: Arc<Resource>) -> Self {
        let mut changed = self.clone();
        changed.fragments = Arc::default();
        changed.resources.insert(resource.names.plural.clone(), resource);
        changed
    }

    fn without(&self, plural: &str) -> Self {
        let mut changed = self.clone();
        changed.fragments = Arc::default();
        changed.resources.remove(plural);
        changed
    }

    pub fn group_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}
