//! What a write may not decide: fields that are reset, generations, and the few things a kind does to itself.
//!
//! Runs after defaulting and before validation, as the reference's strategies do. Everything that is the same for
//! all kinds (uid, timestamps, managed fields) is done elsewhere.
//!
//! Upstream: `PrepareForCreate`, `PrepareForUpdate` and `Canonicalize` in kubernetes/pkg/registry/*/*/strategy.go and
//! the strategies of apiextensions-apiserver and kube-aggregator, v1.36.

use meta::{Map, Value};

use super::access::{int, items_mut, list, map_mut, present, text};
use super::decode::zero_value;
use super::defaults::label_with_name;
use super::resources::{Generation, resource_of};
use super::types::{Kind, Shape};

/// The finalizer that keeps a namespace until its content is gone.
const KUBERNETES: &str = "kubernetes";

/// Who sent a request; some kinds write it down.
#[derive(Clone, Debug, Default)]
pub struct Requester<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    pub groups: &'a [String],
    /// Further attributes, each with its values.
    pub extra: &'a [(String, Vec<String>)],
}

/// Makes a decoded and defaulted object fit to be created. `now` is the time as objects carry it.
pub fn prepare_create(kind: Kind, object: &mut Value, requester: &Requester<'_>, now: &str) {
    let Some(resource) = resource_of(kind) else { return };
    for path in resource.reset.iter().filter(|path| path[0] == "status") {
        reset(kind, object, path, None);
    }
    if resource.generation != Generation::None
        && let Some(metadata) = map_mut(object, &["metadata"])
    {
        metadata.insert("generation", 1_i64);
    }
    match kind.name() {
        "Namespace" => create_namespace(object),
        "ServiceAccount" => keep_secret_names(object),
        "Lease" => drop_coordination(object, None),
        "Service" => name_cluster_addresses(object),
        "CertificateSigningRequest" => stamp_requester(object, requester),
        "APIService" if present(object, &["spec", "service"]).is_none() => mark_local(object, now),
        _ => {}
    }
}

/// Completes an object whose name was generated after [`prepare_create`].
pub fn finish_create(kind: Kind, object: &mut Value) {
    if kind.name() == "Namespace" {
        label_with_name(object);
    }
}

/// Makes a decoded and defaulted object fit to replace `old`, through `subresource` or, when that is empty, the
/// resource itself. `now` is the time as objects carry it.
pub fn prepare_update(kind: Kind, subresource: &str, new: &mut Value, old: &Value, now: &str) {
    let Some(resource) = resource_of(kind) else { return };
    let subresource_reset = resource.subresources.iter().find(|candidate| candidate.name == subresource);
    let paths = subresource_reset.map_or(resource.reset, |found| found.reset);
    match (kind.name(), subresource) {
        ("CertificateSigningRequest", "status" | "approval") => {
            stamp_conditions(new, old, now);
            reset(kind, new, &["spec"], Some(old));
            if subresource == "approval" {
                reset(kind, new, &["status", "certificate"], Some(old));
            }
        }
        _ => {
            for path in paths {
                reset(kind, new, path, Some(old));
            }
        }
    }
    match (kind.name(), subresource) {
        // Finalizers of a namespace change through its own subresource only.
        ("Namespace", "") => reset(kind, new, &["spec"], Some(old)),
        ("Namespace", _) => label_with_name(new),
        ("ServiceAccount", _) => keep_secret_names(new),
        ("Lease", _) => drop_coordination(new, Some(old)),
        ("Secret", _) if text(new, &["type"]).is_empty() => reset(kind, new, &["type"], Some(old)),
        _ => {}
    }
    set_generation(resource.generation, subresource, new, old);
}

fn set_generation(rule: Generation, subresource: &str, new: &mut Value, old: &Value) {
    let changed = match rule {
        _ if !subresource.is_empty() => false,
        Generation::None => false,
        Generation::GrowsWith(fields) => fields.iter().any(|field| new.get(field) != old.get(field)),
        Generation::GrowsWithLabels => {
            let labels = ["metadata", "labels"];
            new.at(&labels) != old.at(&labels) || content(new).ne(content(old))
        }
    };
    let generation = int(old, &["metadata", "generation"]) + i64::from(changed);
    let Some(metadata) = map_mut(new, &["metadata"]) else { return };
    if generation == 0 {
        metadata.remove("generation");
    } else {
        metadata.insert("generation", generation);
    }
}

/// The members that are neither metadata nor the type.
fn content(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = object.as_object().into_iter().flat_map(Map::iter);
    members.filter(|(key, _)| !matches!(*key, "metadata" | "apiVersion" | "kind"))
}

/// Puts back what `old` has at `path`, or the zero value.
fn reset(kind: Kind, new: &mut Value, path: &[&str], old: Option<&Value>) {
    if path == ["metadata"] {
        if let Some(metadata) = old.and_then(|old| old.get("metadata")) {
            reset_metadata(new, metadata);
        }
        return;
    }
    let before = old.and_then(|old| old.at(path)).cloned().or_else(|| match path {
        [field] => zero_field(kind, field),
        _ => None,
    });
    let Some((last, parents)) = path.split_last() else { return };
    let Some(parent) = map_mut(new, parents) else { return };
    match before {
        Some(value) => parent.insert(*last, value),
        None => parent.remove(last),
    };
}

/// How the encoder prints a field that is not set; `None` when it does not.
fn zero_field(kind: Kind, name: &str) -> Option<Value> {
    let field = kind.root().field(name)?;
    let printed = !field.ty.pointer && matches!(field.ty.get().shape, Shape::Struct(_));
    printed.then(|| zero_value(field.ty.id))
}

/// A write of the status cannot touch what users say about the object.
fn reset_metadata(new: &mut Value, old: &Value) {
    let Some(metadata) = map_mut(new, &["metadata"]) else { return };
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        match old.get(field) {
            Some(value) => metadata.insert(field, value.clone()),
            None => metadata.remove(field),
        };
    }
}

fn create_namespace(object: &mut Value) {
    if let Some(status) = map_mut(object, &["status"]) {
        status.insert("phase", "Active");
    }
    let Some(spec) = map_mut(object, &["spec"]) else { return };
    let finalizers = spec.get_or_insert_with("finalizers", || Vec::new().into());
    if finalizers.is_null() {
        *finalizers = Vec::new().into();
    }
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|finalizer| finalizer.as_str() == Some(KUBERNETES))
    {
        finalizers.push(KUBERNETES.into());
    }
}

/// References to secrets say nothing but their name.
fn keep_secret_names(object: &mut Value) {
    for secret in items_mut(object, &["secrets"]).filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

/// Coordinated leader election is off by default; its fields stay only where they already are.
fn drop_coordination(object: &mut Value, old: Option<&Value>) {
    for field in ["strategy", "preferredHolder"] {
        if old.and_then(|old| present(old, &["spec", field])).is_none()
            && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        {
            spec.remove(field);
        }
    }
}

fn stamp_requester(object: &mut Value, requester: &Requester<'_>) {
    let strings =
        |values: &[String]| values.iter().map(|value| Value::from(value.as_str())).collect::<Vec<_>>();
    let Some(spec) = map_mut(object, &["spec"]) else { return };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    if !requester.name.is_empty() {
        spec.insert("username", requester.name);
    }
    if !requester.uid.is_empty() {
        spec.insert("uid", requester.uid);
    }
    if !requester.groups.is_empty() {
        spec.insert("groups", strings(requester.groups));
    }
    if !requester.extra.is_empty() {
        let extra: Map =
            requester.extra.iter().map(|(key, values)| (key.as_str(), strings(values).into())).collect();
        spec.insert("extra", extra);
    }
}

/// Conditions of a signing request get the times they lack.
fn stamp_conditions(new: &mut Value, old: &Value, now: &str) {
    for condition in items_mut(new, &["status", "conditions"]) {
        let (kind, status) = (text(condition, &["type"]).to_owned(), text(condition, &["status"]).to_owned());
        let same = list(old, &["status", "conditions"]).iter().find(|before| {
            text(before, &["type"]) == kind
                && text(before, &["status"]) == status
                && present(before, &["lastTransitionTime"]).is_some()
        });
        let transition = same.map_or(now, |before| text(before, &["lastTransitionTime"])).to_owned();
        let Some(condition) = condition.as_object_mut() else { continue };
        for (field, time) in [("lastUpdateTime", now), ("lastTransitionTime", &transition)] {
            if condition.get(field).is_none_or(Value::is_null) {
                condition.insert(field, time);
            }
        }
    }
}

/// The one address that older clients give stands first in the list that newer ones read.
fn name_cluster_addresses(object: &mut Value) {
    let Some(spec) = map_mut(object, &["spec"]) else { return };
    if let Some(address) = spec.get("clusterIP").and_then(Value::as_str).filter(|address| !address.is_empty())
        && spec.get("clusterIPs").and_then(Value::as_array).is_none_or(<[Value]>::is_empty)
    {
        let addresses = vec![Value::from(address)];
        spec.insert("clusterIPs", addresses);
    }
}

/// An API service without a backend is served by us and available at once.
fn mark_local(object: &mut Value, now: &str) {
    let condition: Map = [
        ("type", Value::from("Available")),
        ("status", "True".into()),
        ("lastTransitionTime", now.into()),
        ("reason", "Local".into()),
        ("message", "Local APIServices are always available".into()),
    ]
    .into_iter()
    .collect();
    if let Some(status) = map_mut(object, &["status"]) {
        status.insert("conditions", vec![Value::from(condition)]);
    }
}

#[cfg(test)]
mod tests;
