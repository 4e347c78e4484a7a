//! What the verbs ask about namespaces.

use std::sync::Arc;

use meta::status::{Cause, Status, cause};
use registry::{Cache, Object};

use crate::verbs::{Call, storage_status};

/// A namespace that took new objects when it was looked at.
pub(crate) struct Open {
    pub namespaces: Arc<Cache>,
    pub namespace: Arc<Object>,
}

/// The namespace, if it takes new objects: it must exist and not be on its way out.
///
/// Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go, v1.36.
pub(crate) async fn may_hold_new(call: &Call, namespace: &str, name: &str) -> Result<Option<Open>, Status> {
    let catalog = call.server.catalog.load();
    let Some(namespaces) = catalog.resource("", "v1", "namespaces") else { return Ok(None) };
    let registry = &call.server.registry;
    // What is at hand is good enough for the usual answer, as in the reference: asking a shared store would double the
    // time of every create. That a namespace is missing or leaving, the store itself must say.
    registry.any_state(&namespaces.cache).await.map_err(|error| storage_status(&error, call))?;
    let mut found = namespaces.cache.get(namespace);
    if found.as_ref().is_none_or(|found| found.deleting) {
        registry.fresh(&namespaces.cache).await.map_err(|error| storage_status(&error, call))?;
        found = namespaces.cache.get(namespace);
    }
    let Some(found) = found else {
        return Err(Status::not_found(&namespaces.group_resource(), namespace));
    };
    if !found.deleting {
        return Ok(Some(Open { namespaces: namespaces.cache.clone(), namespace: found }));
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let status = Status::forbidden(&call.resource.group_resource(), name, why);
    Err(status.with_cause(Cause {
        reason: cause::NAMESPACE_TERMINATING.into(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    }))
}
