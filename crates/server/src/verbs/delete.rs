//! Deleting an object: at once, or marked as deleted until its finalizers are gone.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/delete.go, apiserver/pkg/registry/generic/registry/store.go,
//! apiserver/pkg/registry/rest/delete.go, v1.36.

use std::sync::Arc;

use meta::Value;
use meta::status::{Status, StatusDetails};
use registry::Object;

use super::options::DeleteOptions;
use super::write::{has_finalizers, is_deleting, metadata_mut};
use super::{Answer, Call, delete_options, propagation, storage_status};
use crate::negotiate::Output;

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    let options = delete_options::read(call)?;
    let mut live = call.live().await?;
    loop {
        let current = live.ok_or_else(|| call.not_found())?;
        match delete(call, &current, &options, &output).await? {
            Outcome::Done(answer) => return Ok(answer),
            Outcome::Lost(newer) => live = newer,
        }
    }
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
    let form = &call.resource.form;
    form.may_delete(call, current)?;
    let mut object = call.tree(current).await?;
    if form.marks_deletion() && !is_deleting(&object) {
        form.mark_deletion(&mut object, &call.now(), options);
        return keep(call, current, object, options, output).await;
    }
    if !form.may_go(&object) {
        return Ok(Outcome::Done(kept(current.clone(), options, output)));
    }
    let rearranged = propagation::record(&mut object, call.resource.habits.never_owner, options);
    if !has_finalizers(&object) {
        return remove(call, current, object, options, output).await;
    }
    let now = call.now();
    let was_deleting = is_deleting(&object);
    let metadata = metadata_mut(&mut object);
    let without_grace = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_int) == Some(0);
    if was_deleting && without_grace && !rearranged && !options.dry_run {
        return Ok(Outcome::Done(kept(current.clone(), options, output)));
    }
    if !was_deleting {
        metadata.insert("deletionTimestamp", now);
        if let Some(generation) = metadata.get("generation").and_then(Value::as_int)
            && generation > 0
        {
            metadata.insert("generation", generation + 1);
        }
    }
    metadata.insert("deletionGracePeriodSeconds", 0_i64);
    keep(call, current, object, options, output).await
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
        let code = code_of_kept(options);
        return Ok(Outcome::Done(Answer::Value { code, value: object, output: output.clone() }));
    }
    let key = registry::join_key(current.namespace(), current.name());
    let stored = call.encoded(&call.stored_form(object).await?);
    let written = call.server.registry.replace(&call.resource.cache, &key, current.revision, stored).await;
    match written {
        Ok(object) => Ok(Outcome::Done(kept(object, options, output))),
        Err(registry::Error::Conflict(newer)) => Ok(Outcome::Lost(newer)),
        Err(error) => Err(storage_status(&error, call)),
    }
}

/// The answer when an object stays for now.
fn kept(object: Arc<Object>, options: &DeleteOptions, output: &Output) -> Answer {
    Answer::Object { code: code_of_kept(options), object, output: output.clone() }
}

/// The reference says that it only accepted the deletion to those alone who ask in the oldest way for
/// dependents to go too.
fn code_of_kept(options: &DeleteOptions) -> u16 {
    if options.orphan_dependents == Some(false) { 202 } else { 200 }
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

/// The object must be the one that the client means. Kinds that are marked first check it in words of their
/// own.
fn check_preconditions(call: &Call, current: &Object, options: &DeleteOptions) -> Result<(), Status> {
    let marks = call.resource.form.marks_deletion();
    let resource = if marks { call.resource.group_resource() } else { call.resource.kind_as_resource() };
    let conflict = |why: String| Err(Status::conflict(&resource, current.name(), why));
    let version = current.revision.to_string();
    let facts = [
        ("UID", &options.uid, current.uid(), "deleted and then recreated"),
        ("ResourceVersion", &options.resource_version, version.as_str(), "modified"),
    ];
    for (what, wanted, found, else_happened) in facts {
        match wanted {
            Some(wanted) if wanted != found && marks => {
                return conflict(format!(
                    "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                ));
            }
            Some(wanted) if wanted != found => {
                return conflict(format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have been {else_happened}"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}
