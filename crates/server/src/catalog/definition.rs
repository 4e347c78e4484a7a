//! From a `CustomResourceDefinition` to the resources it defines, and the behaviour of definitions themselves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use meta::{Text, Value};
use registry::{Cache, FieldPathSpec, FieldPaths};
use schema::apply::{ReplicasPath, ResetFields, TypeRef};
use schema::compile::Compiler;
use schema::ownership;
use schema::scale::ScalePaths;
use schema::structural::Facts;

use super::builtin::CLEANUP_FINALIZER;
use super::form::{CustomForm, Form, Ownership, Reads, VersionOwnership};
use super::openapi::pieces::Pieces;
use super::resource::{Habits, Names, Published, Resource, Source, Subresource};
use super::{Announced, columns, version};
use crate::Server;
use crate::conditions::{self, Condition};
use crate::conversion::{Converter, Views};
use crate::verbs::write::{is_deleting, metadata_mut, metadata_text};

/// The verbs of every custom resource, in the order of the reference.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// A text somewhere in a definition; empty when it is missing.
pub fn text<'a>(definition: &'a Value, path: &[&str]) -> &'a str {
    definition.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// The versions of a definition.
pub fn versions(definition: &Value) -> &[Value] {
    definition.at(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The version that objects are stored in.
pub fn storage_version(definition: &Value) -> &str {
    versions(definition)
        .iter()
        .find(|version| flag(version, "storage"))
        .map_or("", |version| text(version, &["name"]))
}

/// Whether its names are taken and it may be served.
pub fn is_established(definition: &Value) -> bool {
    conditions::is_true(definition, "Established")
}

/// What a definition announces while it is not established.
pub(crate) fn announced(definition: &Value) -> Option<Announced> {
    if is_established(definition) {
        return None;
    }
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default();
    let served = versions.iter().filter(|version| flag(version, "served"));
    Some(Announced {
        group: text(definition, &["spec", "group"]).into(),
        versions: served.map(|version| text(version, &["name"]).into()).collect(),
    })
}

/// The resources that a definition brings: one for each served version; none before it is established.
pub(crate) fn resources(server: &Server, definitions: &Arc<Cache>, definition: &Value) -> Vec<Resource> {
    if !is_established(definition) {
        return Vec::new();
    }
    let registry = &server.registry;
    let compiled = compile(definition);
    let versions: Arc<[VersionOwnership]> = compiled.iter().map(Compiled::ownership).collect();
    let schemas = compiled.iter().map(|version| (version.api_version.clone(), version.schema.clone()));
    let kind = text(definition, &["status", "acceptedNames", "kind"]).into();
    let converter = Arc::new(Converter::of(definition, kind, schemas.collect(), &server.conversion));
    let replicas: Arc<[ReplicasPath]> = compiled.iter().map(Compiled::replicas).collect();
    let cache = registry.cache(
        text(definition, &["spec", "group"]),
        text(definition, &["status", "acceptedNames", "plural"]),
        &selectable_in_any(definition),
    );
    let kin = Kin { versions: &versions, replicas: &replicas, cache: &cache };
    // A definition that never changed, in one version, has shaped all its objects itself.
    let unchanged = compiled.len() == 1
        && meta::Meta::of(definition).generation() == 1
        && !compiled.iter().any(Compiled::drops_defaults);
    let served = compiled.iter().filter(|version| flag(version.written, "served"));
    let describe = |version: &Compiled<'_>| {
        let reads = if unchanged {
            Reads::AsStored
        } else {
            let (api_version, since) = (version.api_version.clone(), registry.applied());
            Reads::Converted(Arc::new(Views::new(next_description(), api_version, converter.clone(), since)))
        };
        describe(definitions, definition, version, &kin, reads)
    };
    served.map(describe).collect()
}

/// A number that no other description in this process has.
fn next_description() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A version with what is made of its schema.
struct Compiled<'a> {
    written: &'a Value,
    api_version: String,
    schema: Option<Arc<schema::Schema>>,
    types: TypeRef,
}

/// What the versions of a kind share.
struct Kin<'a> {
    versions: &'a Arc<[VersionOwnership]>,
    replicas: &'a Arc<[ReplicasPath]>,
    cache: &'a Arc<Cache>,
}

impl Compiled<'_> {
    /// A create drops the status with its defaults; a read brings these back.
    fn drops_defaults(&self) -> bool {
        let status = self.written.at(&["subresources", "status"]).is_some();
        let schema = self.schema.as_ref().and_then(|schema| schema.root.property("status"));
        status && schema.is_some_and(|schema| schema.facts.has(Facts::DEFAULTS))
    }

    fn scale(&self) -> Option<ScalePaths> {
        self.written.at(&["subresources", "scale"]).map(ScalePaths::of)
    }

    fn replicas(&self) -> ReplicasPath {
        let scale = self.scale();
        let path: Option<Vec<&str>> = scale.as_ref().map(|scale| scale.wanted_path().collect());
        ReplicasPath::new(self.api_version.as_str(), path.as_deref())
    }

    fn ownership(&self) -> VersionOwnership {
        static NOT_STATUS: LazyLock<ResetFields> = LazyLock::new(|| ResetFields::new(&[&["status"]]));
        static ONLY_STATUS: LazyLock<ResetFields> =
            LazyLock::new(|| ResetFields::new(&[&["spec"], &["metadata"]]));
        let status = self.written.at(&["subresources", "status"]).is_some();
        VersionOwnership {
            api_version: self.api_version.clone(),
            types: self.types.clone(),
            main: if status { NOT_STATUS.clone() } else { ResetFields::none().clone() },
            status: ONLY_STATUS.clone(),
        }
    }
}

/// Compiles all versions together, so that what is equal in them is kept once.
fn compile(definition: &Value) -> Vec<Compiled<'_>> {
    let group = text(definition, &["spec", "group"]);
    let mut compiler = Compiler::default();
    let versions = versions(definition).iter().map(|written| {
        let schema = written.at(&["schema", "openAPIV3Schema"]).and_then(|schema| {
            let props = schema::parse::props(schema, &meta::FieldPath::ROOT).ok()?;
            Some(Arc::new(compiler.compile(&props)))
        });
        let types = match &schema {
            Some(schema) => ownership::of_schema(schema, preserves_unknown(definition)),
            None => ownership::of_anything(),
        };
        Compiled { written, api_version: format!("{group}/{}", text(written, &["name"])), schema, types }
    });
    versions.collect()
}

/// Whether objects keep everything: definitions of old.
fn preserves_unknown(definition: &Value) -> bool {
    definition.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool) == Some(true)
}

fn describe(
    definitions: &Arc<Cache>,
    definition: &Value,
    version: &Compiled<'_>,
    kin: &Kin<'_>,
    reads: Reads,
) -> Resource {
    let group = text(definition, &["spec", "group"]);
    let status = version.written.at(&["subresources", "status"]).is_some();
    let scale = version.scale();
    let names = accepted_names(definition);
    let subresources = subresources(status, scale.is_some());
    let form = CustomForm {
        schema: version.schema.clone(),
        ownership: Ownership {
            api_version: version.api_version.clone(),
            versions: kin.versions.clone(),
            empty: None,
        },
        preserve_unknown: preserves_unknown(definition),
        status,
        scale,
        replicas: kin.replicas.clone(),
        reads,
    };
    let columns = columns::of_version(version.written);
    Resource {
        group: group.into(),
        version: text(version.written, &["name"]).into(),
        cache: kin.cache.clone(),
        fields: selectable(version.written),
        namespaced: text(definition, &["spec", "scope"]) == "Namespaced",
        verbs: VERBS.to_vec(),
        subresources,
        form: Form::Custom(form),
        storage_api_version: format!("{group}/{}", storage_version(definition)).into(),
        source: Source::Definition {
            name: metadata_text(definition, "name").into(),
            terminating: is_deleting(definition),
        },
        deprecation: deprecation(definition, version.written, &names),
        time_to_live: None,
        shown: columns::wanted(&columns),
        columns,
        habits: Habits { untyped_lists: true, ..Habits::default() },
        published: Some(Published {
            definitions: definitions.clone(),
            name: metadata_text(definition, "name").into(),
            uid: metadata_text(definition, "uid").into(),
            generation: meta::Meta::of(definition).generation(),
            pieces: Pieces::default(),
        }),
        names,
    }
}

fn accepted_names(definition: &Value) -> Names {
    let names = definition.at(&["status", "acceptedNames"]).cloned().unwrap_or_default();
    let one = |key: &str| Text::from(text(&names, &[key]));
    let many = |key: &str| {
        let list = names.get(key).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(Text::from).collect()
    };
    Names {
        plural: one("plural"),
        singular: one("singular"),
        kind: one("kind"),
        list_kind: one("listKind"),
        short_names: many("shortNames"),
        categories: many("categories"),
    }
}

fn subresources(status: bool, scale: bool) -> Vec<Subresource> {
    let mut subresources = Vec::new();
    if status {
        subresources.push(Subresource {
            name: "status".into(),
            kind: None,
            verbs: SUBRESOURCE_VERBS.to_vec(),
        });
    }
    if scale {
        let kind = Some(meta::gvk::Gvk::new("autoscaling", "v1", "Scale"));
        subresources.push(Subresource { name: "scale".into(), kind, verbs: SUBRESOURCE_VERBS.to_vec() });
    }
    subresources
}

/// The fields that any version offers to selectors.
fn selectable_in_any(definition: &Value) -> FieldPaths {
    let mut all = FieldPaths::default();
    for field in versions(definition).iter().flat_map(|version| selectable(version).0) {
        if all.find(&field.label).is_none() {
            all.0.push(field);
        }
    }
    all
}

/// The fields that a version offers to selectors.
fn selectable(version: &Value) -> FieldPaths {
    let fields = version.get("selectableFields").and_then(Value::as_array).unwrap_or_default();
    let paths = fields.iter().filter_map(|field| field.get("jsonPath").and_then(Value::as_str));
    FieldPaths(
        paths
            .map(|path| path.trim_start_matches('.'))
            .map(|path| FieldPathSpec { label: path.into(), path: path.split('.').map(Text::from).collect() })
            .collect(),
    )
}

/// What is said to users of a version that should no longer be used.
fn deprecation(definition: &Value, version: &Value, names: &Names) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(given) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(given.to_owned());
    }
    let (group, name) = (text(definition, &["spec", "group"]), text(version, &["name"]));
    let mut warning = format!("{group}/{name} {} is deprecated", names.kind);
    if let Some(better) = better_version(definition, name) {
        use std::fmt::Write;
        let _ = write!(warning, "; use {group}/{better} {}", names.kind);
    }
    Some(warning)
}

/// The best version that is served and not deprecated, if it is better than this one.
fn better_version<'a>(definition: &'a Value, than: &str) -> Option<&'a str> {
    let candidates =
        versions(definition).iter().filter(|version| flag(version, "served") && !flag(version, "deprecated"));
    let best = candidates
        .map(|version| text(version, &["name"]))
        .max_by(|left, right| version::compare(left, right))?;
    version::compare(best, than).is_gt().then_some(best)
}

/// A deleted definition stays until its objects are gone.
pub(super) fn mark_deletion(definition: &mut Value, now: &str) {
    let metadata = metadata_mut(definition);
    metadata.insert("deletionTimestamp", now);
    let finalizers = metadata.get_or_insert_with("finalizers", || Value::Array(Vec::new()));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|name| name.as_str() == Some(CLEANUP_FINALIZER))
    {
        finalizers.push(CLEANUP_FINALIZER.into());
    }
    conditions::set(
        definition,
        &Condition {
            kind: "Terminating",
            status: "True",
            reason: "InstanceDeletionPending",
            message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        },
        now,
    );
}
