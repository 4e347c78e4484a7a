//! The built-in resources as descriptions, with the little behaviour that some of them have of their own.

use std::sync::Arc;
use std::time::Duration;

use meta::wire::json::Wanted;
use meta::{FieldError, Map, Text, Value};
use registry::{FieldPathSpec, FieldPaths, Registry};
use schema::apply::ResetFields;
use schema::{crd, typed};

use super::form::{BuiltinForm, Form, Hooks, Ownership, StorageForm, VersionOwnership};
use super::resource::{Cell, Column, Habits, Names, Resource, Source, Subresource};
use crate::verbs::options::DeleteOptions;
use crate::verbs::propagation;
use crate::verbs::write::metadata_mut;

/// The resources that this version of Crest serves; the table of descriptions knows more.
const SERVED: [(&str, &str); 10] = [
    ("", "namespaces"),
    ("", "configmaps"),
    ("", "secrets"),
    ("", "resourcequotas"),
    ("", "events"),
    ("", "services"),
    ("discovery.k8s.io", "endpointslices"),
    ("events.k8s.io", "events"),
    ("coordination.k8s.io", "leases"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
];

/// How long events are kept unless told otherwise.
pub const EVENT_TTL: Duration = Duration::from_hours(1);

/// The finalizer of a definition whose objects are still there.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The finalizer of a namespace that is not yet empty.
pub const NAMESPACE_FINALIZER: &str = "kubernetes";

/// Namespaces that cannot be deleted.
pub const IMMORTAL_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Describes all built-in resources.
pub fn resources(registry: &Registry, event_ttl: Duration) -> Vec<Resource> {
    let served =
        |resource: &&'static typed::BuiltinResource| SERVED.contains(&(resource.group, resource.plural));
    typed::resources().iter().filter(served).map(|resource| describe(registry, resource, event_ttl)).collect()
}

fn describe(
    registry: &Registry,
    described: &'static typed::BuiltinResource,
    event_ttl: Duration,
) -> Resource {
    // Both groups of events share one store, in the form of the core group.
    let storage_group = if described.kind == "Event" { "" } else { described.group };
    let api_version = api_version(described.group, described.version());
    let kind = described.kind();
    let types = typed::apply_type(kind);
    let status = described.subresources.iter().find(|sub| sub.name == "status");
    let form = BuiltinForm {
        resource: described,
        kind,
        ownership: Ownership {
            api_version: api_version.clone(),
            versions: Arc::new([VersionOwnership {
                api_version: api_version.clone(),
                types,
                main: ResetFields::new(described.reset),
                status: ResetFields::new(status.map_or(&[], |sub| sub.reset)),
            }]),
            empty: Some(empty_object(kind)),
        },
        hooks: hooks(described),
    };
    let texts = |texts: &[&'static str]| texts.iter().map(|text| Text::from(*text)).collect();
    Resource {
        group: described.group.into(),
        version: described.version().into(),
        names: Names {
            plural: described.plural.into(),
            singular: described.singular.into(),
            kind: described.kind.into(),
            list_kind: described.list_kind().into(),
            short_names: texts(described.short_names),
            categories: texts(described.categories),
        },
        namespaced: described.namespaced,
        verbs: described.verbs.to_vec(),
        subresources: described.subresources.iter().map(|sub| subresource(described, sub)).collect(),
        cache: {
            let (group, path) = storage_place(storage_group, described.plural);
            registry.cache(group, path, &selectable_in_any(storage_group, described))
        },
        fields: selectable(described),
        storage_api_version: self::api_version(storage_group, described.version()).into(),
        source: Source::Builtin,
        deprecation: None,
        time_to_live: (described.kind == "Event").then_some(event_ttl),
        shown: Wanted::whole(),
        columns: described.columns().iter().map(column).collect(),
        habits: Habits {
            untyped_lists: false,
            delete_returns_object: described.delete_returns_object,
            update_creates: described.put_creates,
            unconditional_update: described.unconditional_update,
            never_owner: described.kind == "Event",
        },
        published: None,
        form: Form::Builtin(form),
    }
}

/// Where the reference keeps the objects of a built-in resource: below its plural name, without the group, but for
/// the two groups that were servers of their own and some names that are older than their resources.
///
/// Upstream: `kubernetes/pkg/kubeapiserver/default_storage_factory_builder.go` (`SpecialDefaultResourcePrefixes`), v1.36.
fn storage_place<'a>(group: &'a str, plural: &'a str) -> (&'a str, &'a str) {
    match (group, plural) {
        ("apiextensions.k8s.io" | "apiregistration.k8s.io", _) => (group, plural),
        ("", "replicationcontrollers") => ("", "controllers"),
        ("", "endpoints") => ("", "services/endpoints"),
        ("", "nodes") => ("", "minions"),
        ("", "services") => ("", "services/specs"),
        ("networking.k8s.io", "ingresses") => ("", "ingress"),
        _ => ("", plural),
    }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// An object of a kind before anybody has said anything about it.
fn empty_object(kind: typed::Kind) -> Value {
    let mut empty = Value::Object(Map::new());
    let _ = typed::decode(kind, &mut empty); // nothing in it can be of a wrong type
    empty
}

fn subresource(resource: &typed::BuiltinResource, sub: &typed::Subresource) -> Subresource {
    let kind = sub.kind.map(|(group, kind)| {
        let group = if group.is_empty() { resource.group } else { group };
        meta::gvk::Gvk::new(group, "v1", kind)
    });
    Subresource { name: sub.name.into(), kind, verbs: sub.verbs.to_vec() }
}

/// The fields of all resources that share a store, as the two groups of events do.
fn selectable_in_any(storage_group: &str, resource: &typed::BuiltinResource) -> FieldPaths {
    let mut all = FieldPaths::default();
    let shares = |other: &&typed::BuiltinResource| {
        other.plural == resource.plural
            && other.storage.map_or(other.group, |(group, _)| group) == storage_group
    };
    for field in typed::resources().iter().filter(shares).flat_map(|resource| selectable(resource).0) {
        if all.find(&field.label).is_none() {
            all.0.push(field);
        }
    }
    all
}

fn selectable(resource: &typed::BuiltinResource) -> FieldPaths {
    let fields = resource.selectable.iter().map(|label| FieldPathSpec {
        label: Text::from(*label),
        path: resource.stored_path(label).into_iter().map(Text::from).collect(),
    });
    FieldPaths(fields.collect())
}

fn column(column: &typed::columns::Column) -> Column {
    Column {
        name: column.name.to_owned(),
        kind: column.kind.to_owned(),
        format: column.format.to_owned(),
        description: column.description.to_owned(),
        priority: i64::from(column.priority),
        cell: Cell::Name, // built-in kinds make all their cells at once
    }
}

fn hooks(described: &typed::BuiltinResource) -> Hooks {
    match described.kind {
        "Event" if !described.group.is_empty() => Hooks {
            storage: Some(StorageForm { to: typed::event_to_core, from: typed::event_from_core }),
            ..Hooks::default()
        },
        "Namespace" => Hooks {
            mark_deletion: Some(mark_namespace),
            may_go: |namespace| {
                let finalizers = namespace.at(&["spec", "finalizers"]).and_then(Value::as_array);
                finalizers.is_none_or(<[Value]>::is_empty)
            },
            undeletable: |name| {
                IMMORTAL_NAMESPACES.contains(&name).then_some("this namespace may not be deleted")
            },
            ..Hooks::default()
        },
        "CustomResourceDefinition" => Hooks {
            default: crd::default,
            prepare_create: |definition| {
                crd::prepare_for_create(definition);
                complete(definition);
            },
            prepare_update: crd::prepare_for_update,
            check: Some(check_definition),
            warnings: |new, old| match old {
                None => crd::warnings_on_create(new),
                Some(old) => crd::warnings_on_update(new, old),
            },
            mark_deletion: Some(|definition, now, _| super::definition::mark_deletion(definition, now)),
            ..Hooks::default()
        },
        _ => Hooks::default(),
    }
}

/// Adds what a typed encoder would print although nobody said it.
fn complete(definition: &mut Value) {
    if let Some(kind) = typed::kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition") {
        let _ = typed::decode(kind, definition); // it has been decoded before
    }
}

fn check_definition(subresource: &str, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match (subresource, old) {
        (_, None) => crd::validate(new),
        ("status", Some(old)) => crd::validate_status_update(new, old),
        (_, Some(old)) => crd::validate_update(new, old),
    }
}

fn mark_namespace(namespace: &mut Value, now: &str, options: &DeleteOptions) {
    propagation::record_on_namespace(namespace, options);
    metadata_mut(namespace).insert("deletionTimestamp", now);
    if let Value::Object(members) = namespace {
        let status = members.get_or_insert_with("status", || Value::Object(Map::new()));
        if let Value::Object(status) = status {
            status.insert("phase", "Terminating");
        }
    }
}
