//! Deleting an object: at once, or marked as deleted until its finalizers are gone.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/delete.go, apiserver/pkg/registry/generic/registry/store.go,
//! apiserver/pkg/registry/rest/delete.go, v1.36.

use std::sync::Arc;

use meta::status::{Status, StatusDetails};
use meta::wire::negotiate::MediaType;
use meta::{Value, wire};
use registry::Object;
use schema::typed;

use super::body;
use super::options::{DeleteOptions, Propagation};
use super::write::{has_finalizers, is_deleting, metadata_mut, parse_resource_version};
use super::{Answer, Call, storage_status};
use crate::negotiate::Output;

const ORPHAN_FINALIZER: &str = "orphan";
const FOREGROUND_FINALIZER: &str = "foregroundDeletion";

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    let options = options(call)?;
    let mut live = call.live().await?;
    loop {
        let current = live.ok_or_else(|| call.not_found())?;
        match delete(call, &current, &options, &output).await? {
            Outcome::Done(answer) => return Ok(answer),
            Outcome::Lost(newer) => live = newer,
        }
    }
}

/// The options in the body, or in the query when there is no body.
pub(super) fn options(call: &Call) -> Result<DeleteOptions, Status> {
    if call.body.is_empty() {
        return DeleteOptions::from_query(&call.info.query);
    }
    let bad = |why: String| Status::bad_request(why);
    let mut value = match body::format(call)? {
        MediaType::Protobuf => {
            let envelope =
                typed::binary::Envelope::open(&call.body).map_err(|error| bad(error.to_string()))?;
            match delete_options_kind() {
                Some(kind) => {
                    typed::binary::read(kind, envelope.message).map_err(|error| bad(error.to_string()))?
                }
                None => Value::Null,
            }
        }
        MediaType::Json => {
            let parsed = wire::json::parse(&call.body);
            parsed
                .map_err(|error| bad(format!("couldn't get version/kind; json parse error: {error}")))?
                .value
        }
        MediaType::Yaml => wire::yaml::parse(&call.body).map_err(|error| bad(error.to_string()))?.value,
    };
    let named = meta::object::kind(&value);
    if !named.is_empty() && named != "DeleteOptions" {
        let version = meta::go_fmt::quote(meta::object::api_version(&value));
        return Err(bad(format!(
            "no kind \"{named}\" is registered for version {version} in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
        )));
    }
    if let Some(kind) = delete_options_kind() {
        typed::decode(kind, &mut value).map_err(|error| bad(error.to_string()))?;
    }
    DeleteOptions::from_value(&value)
}

fn delete_options_kind() -> Option<typed::Kind> {
    typed::kind("meta.k8s.io", "v1", "DeleteOptions")
}

pub(super) enum Outcome {
    Done(Answer),
    Lost(Option<Arc<Object>>),
}

/// Deletes one version of an object.
pub(super) async fn delete(
    call: &Call,
    current: &Arc<Object>,
    options: &DeleteOptions,
    output: &Output,
) -> Result<Outcome, Status> {
    check_preconditions(call, current, options)?;
    call.resource.form.may_delete(call, current)?;
    let mut object = call.tree(current).await?;
    if call.resource.form.marks_deletion() {
        return mark(call, current, object, options, output).await;
    }
    let finalizers_changed = record_propagation(&mut object, options);
    if !has_finalizers(&object) {
        return remove(call, current, object, options, output).await;
    }
    if is_deleting(&object) && !finalizers_changed {
        return Ok(Outcome::Done(Answer::Object {
            code: 200,
            object: current.clone(),
            output: output.clone(),
        }));
    }
    if !is_deleting(&object) {
        let now = call.now();
        let metadata = metadata_mut(&mut object);
        metadata.insert("deletionTimestamp", now);
        metadata.insert("deletionGracePeriodSeconds", 0_i64);
        if let Some(generation) = metadata.get("generation").and_then(Value::as_int)
            && generation > 0
        {
            metadata.insert("generation", generation + 1);
        }
    }
    keep(call, current, object, options, output).await
}

/// Kinds that are cleaned up by a loop of ours are marked first, whatever finalizers they have.
async fn mark(
    call: &Call,
    current: &Arc<Object>,
    mut object: Value,
    options: &DeleteOptions,
    output: &Output,
) -> Result<Outcome, Status> {
    if !is_deleting(&object) {
        call.resource.form.mark_deletion(&mut object, &call.now());
        return keep(call, current, object, options, output).await;
    }
    if call.resource.form.may_go(&object) && !has_finalizers(&object) {
        return remove(call, current, object, options, output).await;
    }
    call.resource.form.already_deleting(call)?;
    Ok(Outcome::Done(Answer::Object { code: 200, object: current.clone(), output: output.clone() }))
}

/// Writes the marked object.
async fn keep(
    call: &Call,
    current: &Arc<Object>,
    object: Value,
    options: &DeleteOptions,
    output: &Output,
) -> Result<Outcome, Status> {
    if options.dry_run {
        return Ok(Outcome::Done(Answer::Value { code: 200, value: object, output: output.clone() }));
    }
    let key = registry::join_key(current.namespace(), current.name());
    let stored = call.encoded(&call.stored_form(object).await?);
    let written = call.server.registry.replace(&call.resource.cache, &key, current.revision, stored).await;
    match written {
        Ok(object) => {
            let accepted = options.orphan_dependents == Some(false);
            let code = if accepted { 202 } else { 200 };
            Ok(Outcome::Done(Answer::Object { code, object, output: output.clone() }))
        }
        Err(registry::Error::Conflict(newer)) => Ok(Outcome::Lost(newer)),
        Err(error) => Err(storage_status(&error, call)),
    }
}

async fn remove(
    call: &Call,
    current: &Arc<Object>,
    object: Value,
    options: &DeleteOptions,
    output: &Output,
) -> Result<Outcome, Status> {
    if !options.dry_run {
        let key = registry::join_key(current.namespace(), current.name());
        match call.server.registry.remove(&call.resource.cache, &key, current).await {
            Ok(_) => {}
            Err(registry::Error::Conflict(newer)) => return Ok(Outcome::Lost(newer)),
            Err(error) => return Err(storage_status(&error, call)),
        }
    }
    if call.resource.habits.delete_returns_object {
        return Ok(Outcome::Done(Answer::Value { code: 200, value: object, output: output.clone() }));
    }
    let details = StatusDetails {
        name: current.name().to_owned(),
        group: call.resource.group.to_string(),
        kind: call.resource.names.plural.to_string(),
        uid: current.uid().to_owned(),
        ..StatusDetails::default()
    };
    Ok(Outcome::Done(Answer::Status { status: Status::success(details), media: output.media }))
}

fn check_preconditions(call: &Call, current: &Object, options: &DeleteOptions) -> Result<(), Status> {
    let conflict =
        |why: String| Err(Status::conflict(&call.resource.kind_as_resource(), current.name(), why));
    if let Some(uid) = &options.uid
        && uid != current.uid()
    {
        return conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            current.uid()
        ));
    }
    if let Some(version) = &options.resource_version
        && parse_resource_version(version).ok() != Some(current.revision.0)
    {
        return conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            current.revision
        ));
    }
    Ok(())
}

/// Writes down what is to happen to dependents, for whoever collects them. True when that changed the object.
fn record_propagation(object: &mut Value, options: &DeleteOptions) -> bool {
    let Some(wanted) = options.wanted_propagation() else { return false };
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_array).unwrap_or_default();
    let before: Vec<Value> = finalizers.to_vec();
    let mut after: Vec<Value> = before
        .iter()
        .filter(|finalizer| !matches!(finalizer.as_str(), Some(ORPHAN_FINALIZER | FOREGROUND_FINALIZER)))
        .cloned()
        .collect();
    match wanted {
        Propagation::Orphan => after.push(ORPHAN_FINALIZER.into()),
        Propagation::Foreground => after.push(FOREGROUND_FINALIZER.into()),
        Propagation::Background => {}
    }
    if before == after {
        return false;
    }
    let metadata = metadata_mut(object);
    if after.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers", after);
    }
    true
}
