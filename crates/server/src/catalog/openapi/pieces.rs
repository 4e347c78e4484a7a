//! The pieces that documents are put together from: one for each definition and dialect, another for what is
//! built in. Made when a document first needs them and kept compressed with what they describe, so that a
//! document after a change costs the change and a copy of the rest.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, OnceLock};

use meta::Map;

use super::builtin::Definitions;
use super::{Dialect, add_members, binary, custom_name, paths, schemas};
use crate::catalog::form::{BuiltinForm, CustomForm, Form};
use crate::catalog::packed::Piece;
use crate::catalog::{Catalog, GroupVersion, Resource};

const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// What one definition adds to documents, in one version.
#[derive(Default)]
pub struct Pieces {
    v2: OnceLock<Members>,
    v2_binary: OnceLock<Piece>,
    v3: OnceLock<Members>,
}

/// Members of the two maps of a document, as JSON.
pub struct Members {
    pub(super) paths: Piece,
    pub(super) definitions: Piece,
}

/// The same before it is written.
struct Parts {
    paths: Map,
    definitions: Map,
}

impl From<Parts> for Members {
    fn from(parts: Parts) -> Self {
        Members { paths: json(&parts.paths), definitions: json(&parts.definitions) }
    }
}

fn json(members: &Map) -> Piece {
    let mut text = Vec::new();
    add_members(members, &mut text);
    Piece::of(&text)
}

fn binary(parts: Parts) -> Piece {
    let mut message = Vec::new();
    binary::v2::add_named(binary::v2::Part::Paths, parts.paths, &mut message);
    binary::v2::add_named(binary::v2::Part::Definitions, parts.definitions, &mut message);
    Piece::of(&message)
}

impl Pieces {
    pub(super) fn members(&self, resource: &Resource, dialect: Dialect) -> &Members {
        let kept = match dialect {
            Dialect::V2 => &self.v2,
            Dialect::V3 => &self.v3,
        };
        kept.get_or_init(|| custom(resource, dialect).into())
    }

    pub(super) fn binary(&self, resource: &Resource) -> &Piece {
        self.v2_binary.get_or_init(|| binary(custom(resource, Dialect::V2)))
    }
}

fn custom(resource: &Resource, dialect: Dialect) -> Parts {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    let kind = custom_name(resource, &resource.names.kind);
    let list = custom_name(resource, &resource.names.list_kind);
    definitions.insert(kind.as_str(), schemas::kind(resource, dialect));
    definitions.insert(list.as_str(), schemas::list(resource, dialect));
    let names = paths::Names { kind, list, scale: SCALE.to_owned() };
    paths::add(resource, &names, dialect, &mut paths);
    Parts { paths, definitions }
}

/// What all documents refer to.
pub(super) fn common(dialect: Dialect) -> &'static Piece {
    static COMMON: [LazyLock<Piece>; 2] = [
        LazyLock::new(|| json(&common_definitions(Dialect::V2))),
        LazyLock::new(|| json(&common_definitions(Dialect::V3))),
    ];
    &COMMON[dialect as usize]
}

fn common_definitions(dialect: Dialect) -> Map {
    let mut definitions = Definitions::new(dialect);
    definitions.add_common();
    definitions.found
}

/// What documents refer to that tell of a scale.
pub(super) fn scale(dialect: Dialect) -> &'static Piece {
    static SCALE: [LazyLock<Piece>; 2] = [
        LazyLock::new(|| json(&scale_definitions(Dialect::V2))),
        LazyLock::new(|| json(&scale_definitions(Dialect::V3))),
    ];
    &SCALE[dialect as usize]
}

/// The same in the binary form.
pub(super) fn scale_binary() -> &'static Piece {
    static SCALE: LazyLock<Piece> =
        LazyLock::new(|| binary(Parts { paths: Map::new(), definitions: scale_definitions(Dialect::V2) }));
    &SCALE
}

fn scale_definitions(dialect: Dialect) -> Map {
    let common = common_definitions(dialect);
    let mut definitions = Definitions::new(dialect);
    definitions.add_scale();
    definitions.found.retain(|name, _| !common.contains_key(name));
    definitions.found
}

/// What is built in, for `OpenAPI` v2. It stays the same while definitions come and go.
#[derive(Default)]
pub struct BuiltinPieces {
    json: OnceLock<(Members, HashSet<String>)>,
    binary: OnceLock<Piece>,
}

impl BuiltinPieces {
    pub(super) fn json(&self, catalog: &Catalog) -> &Members {
        &self.both(catalog).0
    }

    fn both(&self, catalog: &Catalog) -> &(Members, HashSet<String>) {
        self.json.get_or_init(|| {
            let parts = builtin_parts(catalog);
            let names = parts.definitions.keys().map(str::to_owned).collect();
            (parts.into(), names)
        })
    }

    pub(super) fn binary(&self, catalog: &Catalog) -> &Piece {
        self.binary.get_or_init(|| binary(builtin_parts(catalog)))
    }

    /// Whether a definition of this name is built in.
    pub(super) fn has(&self, catalog: &Catalog, name: &str) -> bool {
        self.both(catalog).1.contains(name)
    }
}

/// The parts of all built-in resources, with what all documents refer to.
fn builtin_parts(catalog: &Catalog) -> Parts {
    let mut definitions = Definitions::new(Dialect::V2);
    definitions.add_common();
    let mut paths = Map::new();
    for resource in catalog.groups().flat_map(|group| &group.versions).flat_map(|v| v.resources.values()) {
        add_builtin(resource, Dialect::V2, &mut definitions, &mut paths);
    }
    Parts { paths, definitions: definitions.found }
}

/// The parts of the built-in resources in a version, without what all documents refer to.
pub(super) fn builtin_of_version(version: &GroupVersion) -> Members {
    let mut definitions = Definitions::new(Dialect::V3);
    let mut paths = Map::new();
    for resource in version.resources.values() {
        add_builtin(resource, Dialect::V3, &mut definitions, &mut paths);
    }
    let common = common_definitions(Dialect::V3);
    definitions.found.retain(|name, _| !common.contains_key(name));
    Parts { paths, definitions: definitions.found }.into()
}

fn add_builtin(resource: &Resource, dialect: Dialect, definitions: &mut Definitions, paths: &mut Map) {
    let Form::Builtin(BuiltinForm { kind, .. }) = &resource.form else { return };
    let names = paths::Names {
        kind: definitions.kind(*kind, &resource.group),
        list: definitions.list(*kind, &resource.group, &resource.names.list_kind),
        scale: SCALE.to_owned(),
    };
    paths::add(resource, &names, dialect, paths);
}

/// The custom resources among some, with the pieces of each.
pub(super) fn customs<'a>(
    resources: impl Iterator<Item = &'a Arc<Resource>>,
) -> impl Iterator<Item = (&'a Resource, &'a Pieces)> {
    resources.filter_map(|resource| Some((&**resource, &resource.published.as_ref()?.pieces)))
}

pub(super) fn has_scale(resource: &Resource) -> bool {
    matches!(&resource.form, Form::Custom(CustomForm { scale: Some(_), .. }))
}

/// Whether the built-in definitions already have the scale.
pub(super) fn is_scale_built_in(catalog: &Catalog) -> bool {
    catalog.builtin_pieces.has(catalog, SCALE)
}
