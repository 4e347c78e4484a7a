//! Creating an object.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/create.go, apiserver/pkg/registry/rest/create.go, v1.36.

use std::sync::Arc;

use meta::Value;
use meta::status::Status;
use registry::{Guard, NewObject, Object};

use super::options::{WriteKind, WriteOptions};
use super::write::{drop_double_owners, match_namespace, metadata_mut, metadata_text, resource_version};
use super::{Answer, Call, body, storage_status};
use crate::catalog::resource::Source;
use crate::env;
use crate::negotiate::Output;

/// How often a name is made up anew when it turns out to be taken.
const GENERATED_NAME_TRIES: usize = 8;

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    body::format(call)?;
    let options = WriteOptions::parse(&call.info.query, WriteKind::Create)?;
    let object = body::object(call, options.field_validation)?;
    create(call, object, &options, Owners::Record, output).await
}

/// Who owns the fields of the new object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owners {
    /// Whoever makes this request.
    Record,
    /// An apply has written it down already.
    Settled,
}

/// Creates an object that has been decoded. Also the end of an update or apply of a missing object.
pub(super) async fn create(
    call: &Call,
    mut object: Value,
    options: &WriteOptions,
    owners: Owners,
    output: Output,
) -> Result<Answer, Status> {
    wipe_system_fields(&mut object);
    match_namespace(&mut object, call.namespace())?;
    drop_double_owners(&mut object, call);
    if owners == Owners::Record {
        call.resource.form.own(call, None, &mut object, options).await;
    }
    admit(call, &object).await?;
    if !is_generated(&object) {
        return store(call, object, options, output).await;
    }
    for _ in 1..GENERATED_NAME_TRIES {
        match store(call, object.clone(), options, output.clone()).await {
            Err(status) if status.reason == "AlreadyExists" => {}
            result => return result,
        }
    }
    store(call, object, options, output).await.map_err(|status| match &*status.reason {
        "AlreadyExists" => {
            Status::generate_name_conflict(&call.resource.group_resource(), &name_in(&status), 1)
        }
        _ => status,
    })
}

/// Whether the server makes up the name.
fn is_generated(object: &Value) -> bool {
    metadata_text(object, "name").is_empty() && !metadata_text(object, "generateName").is_empty()
}

fn name_in(status: &Status) -> String {
    status.details.as_ref().map(|details| details.name.clone()).unwrap_or_default()
}

/// One attempt, with a name of its own.
async fn store(
    call: &Call,
    mut object: Value,
    options: &WriteOptions,
    output: Output,
) -> Result<Answer, Status> {
    let code = 201;
    fill_system_fields(call, &mut object);
    call.resource.form.prepare_create(call, &mut object);
    let errors = call.resource.form.validate_create(call, &object);
    if !errors.is_empty() {
        let name = metadata_text(&object, "name");
        return Err(Status::invalid(&call.resource.form.invalid_kind(call, &object), name, &errors));
    }
    call.resource.form.warnings(&object, None).into_iter().for_each(|warning| call.warnings.add(warning));
    if resource_version(&object)? != 0 {
        return Err(Status::unknown(500, "resourceVersion should not be set on objects to be created"));
    }
    let key = registry::join_key(call.namespace(), metadata_text(&object, "name"));
    let taken = Status::already_exists(&call.resource.group_resource(), metadata_text(&object, "name"));
    if options.dry_run {
        if call.live_at(&key).await?.is_some() {
            return Err(taken);
        }
        let value = call.unstored(object).await?;
        return Ok(Answer::Value { code, value, output });
    }
    let stored = call.stored_form(object).await?;
    match commit(call, &key, metadata_text(&stored, "name"), call.encoded(&stored)).await? {
        Ok(stored) => Ok(Answer::Object { code, object: stored, output }),
        Err(registry::Error::AlreadyExists) => {
            let mut status = taken;
            if call.live_at(&key).await?.is_some_and(|existing| existing.deleting) {
                status.message = format!("object is being deleted: {}", status.message);
            }
            Err(status)
        }
        Err(error) => Err(storage_status(&error, call)),
    }
}

/// Stores a new object: a custom one only while its definition stays, in the same transaction. So nothing comes
/// into being behind the back of who deletes the objects of a definition, on whichever replica.
async fn commit(
    call: &Call,
    key: &str,
    name: &str,
    new: NewObject,
) -> Result<Result<Arc<Object>, registry::Error>, Status> {
    let (registry, cache) = (&call.server.registry, &call.resource.cache);
    let Some(published) = &call.resource.published else {
        return Ok(registry.create(cache, key, new).await);
    };
    let definitions = &published.definitions;
    loop {
        let definition = definitions.get(&published.name).filter(|found| found.uid() == published.uid);
        let object = definition.ok_or_else(super::not_found)?;
        if object.deleting {
            return Err(terminating(call, name));
        }
        let guard = Guard { cache: definitions, object: &object };
        match registry.create_if(cache, key, new.clone(), Some(guard)).await {
            Err(registry::Error::Overtaken) => {
                // Mostly a change that does not matter here, and soon seen.
                registry.fresh(definitions).await.map_err(|error| storage_status(&error, call))?;
            }
            done => return Ok(done),
        }
    }
}

fn terminating(call: &Call, name: &str) -> Status {
    let why = "create not allowed while custom resource definition is terminating";
    Status::forbidden(&call.resource.group_resource(), name, why)
}

/// What a client may not set on a new object.
fn wipe_system_fields(object: &mut Value) {
    let metadata = metadata_mut(object);
    for key in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(key);
    }
}

fn fill_system_fields(call: &Call, object: &mut Value) {
    let generated = is_generated(object);
    let now = call.now();
    let metadata = metadata_mut(object);
    metadata.insert("creationTimestamp", now);
    metadata.insert("uid", call.server.env.uid());
    if generated {
        let prefix = metadata.get("generateName").and_then(Value::as_str).unwrap_or_default().to_owned();
        metadata.insert("name", env::generate_name(&*call.server.env, &prefix));
    }
}

/// Whether an object may come into being here: its namespace must exist and stay.
///
/// Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go, v1.36.
async fn admit(call: &Call, object: &Value) -> Result<(), Status> {
    let name = metadata_text(object, "name");
    if let Source::Definition { terminating: true, .. } = call.resource.source {
        return Err(terminating(call, name));
    }
    if call.resource.namespaced {
        crate::namespaces::may_hold_new(call, call.namespace(), name).await?;
    }
    Ok(())
}
