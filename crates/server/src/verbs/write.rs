//! What all writes have in common: metadata that only the server sets, and the two ways into the store.

use std::sync::Arc;

use meta::status::Status;
use meta::{Map, Text, Value};
use registry::{NewObject, Object, codec};

use super::{Call, storage_status};

/// The metadata of an object, made when it is missing.
pub fn metadata_mut(object: &mut Value) -> &mut Map {
    if !matches!(object, Value::Object(_)) {
        *object = Value::Object(Map::new());
    }
    let Value::Object(members) = object else { unreachable!("made an object above") };
    let metadata = members.get_or_insert_with("metadata", || Value::Object(Map::new()));
    if !matches!(metadata, Value::Object(_)) {
        *metadata = Value::Object(Map::new());
    }
    let Value::Object(metadata) = metadata else { unreachable!("made an object above") };
    metadata
}

/// A text in an object's metadata; empty when it is missing.
pub fn metadata_text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default()
}

/// Sets or removes a member, whichever the value asks for.
pub fn set_or_remove(map: &mut Map, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            map.insert(key, value);
        }
        None => {
            map.remove(key);
        }
    }
}

/// The finalizers of an object that is not gone before they are.
pub fn has_finalizers(object: &Value) -> bool {
    object.at(&["metadata", "finalizers"]).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

pub fn is_deleting(object: &Value) -> bool {
    object.at(&["metadata", "deletionTimestamp"]).is_some_and(|value| !value.is_null())
}

/// Puts the namespace of the request into an object that has none, and refuses another one.
///
/// Upstream: apiserver/pkg/registry/rest/meta.go, v1.36.
pub fn match_namespace(object: &mut Value, namespace: &str) -> Result<(), Status> {
    let metadata = metadata_mut(object);
    let found = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else if found.is_empty() {
        metadata.insert("namespace", namespace);
    } else if found != namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// The resource version an object carries: 0 when it carries none.
pub fn resource_version(object: &Value) -> Result<u64, Status> {
    parse_resource_version(metadata_text(object, "resourceVersion"))
}

/// Reads a resource version, or fails as the reference does.
pub fn parse_resource_version(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|error: std::num::ParseIntError| {
        let cause = match error.kind() {
            std::num::IntErrorKind::PosOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Status::unknown(500, format!("strconv.ParseUint: parsing {}: {cause}", meta::go_fmt::quote(text)))
    })
}

/// When an object is looked through for owners that stand twice; the warning tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deduplication {
    /// As it came.
    Body,
    /// After it was changed here; a patch is only looked at then.
    Patched,
}

/// Drops owner references that stand twice, and says so.
pub fn drop_double_owners(object: &mut Value, call: &Call, when: Deduplication) {
    let Some(owners) = metadata_mut(object).get_mut("ownerReferences").and_then(Value::as_array_mut) else {
        return;
    };
    let mut seen: Vec<Value> = Vec::with_capacity(owners.len());
    let mut dropped: Vec<String> = Vec::new();
    owners.retain(|owner| {
        let new = !seen.contains(owner);
        if new {
            seen.push(owner.clone());
        } else {
            dropped.push(owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned());
        }
        new
    });
    if !dropped.is_empty() {
        let when = match when {
            Deduplication::Body => "",
            Deduplication::Patched => " after mutating admission happens",
        };
        call.warnings.add(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            dropped.join(", ")
        ));
    }
}

/// Gives up the record of who owns which field, for an object that is too large with it. False when there is
/// none: then nothing can be saved.
///
/// Upstream: apiserver/pkg/endpoints/handlers/{create,update,patch}.go (`isTooLargeError`), v1.36.
pub fn drop_owners(object: &mut Value) -> bool {
    metadata_mut(object).remove("managedFields").is_some()
}

impl Call {
    /// An object of this resource as it is to be stored.
    pub(super) async fn stored_form(&self, object: Value) -> Result<Value, Status> {
        let version = &self.resource.storage_api_version;
        let stored = self.resource.form.to_storage(object, version).await;
        let mut stored = stored.map_err(|error| error.status())?;
        if let Value::Object(members) = &mut stored {
            members.insert("apiVersion", version.clone());
            members.insert("kind", self.resource.names.kind.clone());
        }
        Ok(stored)
    }

    /// The text of an object in the form it is stored in.
    pub(super) fn encoded(&self, stored: &Value) -> NewObject {
        NewObject { text: codec::encode(stored).into(), time_to_live: self.resource.time_to_live }
    }

    /// What would be read of an object if it were written.
    pub(super) async fn unstored(&self, object: Value) -> Result<Value, Status> {
        let version = &self.resource.storage_api_version;
        self.resource.form.unstored(object, version).await.map_err(|error| error.status())
    }

    /// A stored object as a tree, in the version of this request.
    pub(super) async fn tree(&self, object: &Arc<Object>) -> Result<Value, Status> {
        let shown = self.resource.form.show(object).await.map_err(|error| error.status())?;
        tree_in_version(&shown, &self.resource.api_version())
    }

    /// Runs something that works out owners, with the objects it needs in other versions.
    pub(super) async fn with_conversions<T>(&self, attempt: impl FnMut() -> T) -> T {
        let converter = self.resource.form.asking_views().map(|views| views.converter());
        self.conversions.complete(converter, attempt).await
    }

    /// The object that a request names, with everything acknowledged before it.
    pub(super) async fn live(&self) -> Result<Option<Arc<Object>>, Status> {
        self.live_at(&self.key()).await
    }

    pub(super) async fn live_at(&self, key: &Text) -> Result<Option<Arc<Object>>, Status> {
        let registry = &self.server.registry;
        registry.fresh(&self.resource.cache).await.map_err(|error| storage_status(&error, self))?;
        Ok(self.resource.cache.get(key))
    }

    /// The time of this request as objects show it.
    pub(crate) fn now(&self) -> String {
        meta::time::format(self.server.env.now()).to_string()
    }
}

/// A stored object as a tree, under another version's name.
pub fn tree_in_version(object: &Object, api_version: &str) -> Result<Value, Status> {
    let parsed = meta::wire::json::parse(object.bytes());
    let mut value = parsed.map_err(|_| Status::internal_error("a stored object cannot be read"))?.value;
    if object.api_version() != api_version
        && let Value::Object(members) = &mut value
    {
        members.insert("apiVersion", api_version);
    }
    Ok(value)
}
