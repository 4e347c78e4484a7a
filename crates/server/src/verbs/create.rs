//! Creating an object.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/create.go, apiserver/pkg/registry/rest/create.go, v1.36.

use std::sync::Arc;

use meta::status::Status;
use meta::{Text, Value};
use registry::{Cache, Guard, NewObject, Object};

use super::options::{WriteKind, WriteOptions};
use super::write::{
    Deduplication, drop_double_owners, drop_owners, match_namespace, metadata_mut, metadata_text,
    resource_version,
};
use super::{Answer, Call, body, storage_status};
use crate::catalog::resource::Source;
use crate::env;
use crate::namespaces::{Open, may_hold_new};
use crate::negotiate::Output;

/// How often a name is made up anew when it turns out to be taken.
const GENERATED_NAME_TRIES: usize = 8;

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    body::format(call)?;
    let options = WriteOptions::parse(&call.info.query, WriteKind::Create)?;
    let object = body::object(call, options.field_validation)?;
    create(call, object, &options, Origin::Create, output).await
}

/// What led to the creation of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Create,
    /// An update of a missing object, by somebody who may not be allowed to create one.
    Update,
    /// The same for an apply, which has settled already who owns what.
    Apply,
}

/// Creates an object that has been decoded. Also the end of an update or apply of a missing object.
pub(super) async fn create(
    call: &Call,
    mut object: Value,
    options: &WriteOptions,
    origin: Origin,
    output: Output,
) -> Result<Answer, Status> {
    wipe_system_fields(&mut object);
    match_namespace(&mut object, call.namespace())?;
    let when = if origin == Origin::Apply { Deduplication::Patched } else { Deduplication::Body };
    drop_double_owners(&mut object, call, when);
    if origin != Origin::Apply {
        call.resource.form.own(call, None, &mut object, options).await;
    }
    admit(call, &object).await?;
    if !is_generated(&object) {
        return store(call, object, options, origin, output).await;
    }
    for _ in 1..GENERATED_NAME_TRIES {
        match store(call, object.clone(), options, origin, output.clone()).await {
            Err(status) if status.reason == "AlreadyExists" => {}
            result => return result,
        }
    }
    store(call, object, options, origin, output).await
}

/// Whether the server makes up the name.
fn is_generated(object: &Value) -> bool {
    metadata_text(object, "name").is_empty() && !metadata_text(object, "generateName").is_empty()
}

/// One attempt, with a name of its own.
async fn store(
    call: &Call,
    mut object: Value,
    options: &WriteOptions,
    origin: Origin,
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
    if origin != Origin::Create {
        call.server.may_also_create(call).await?;
    }
    if origin == Origin::Apply {
        call.resource.form.settle(&mut object);
    }
    call.resource.form.warnings(&object, None).into_iter().for_each(|warning| call.warnings.add(warning));
    let key = registry::join_key(call.namespace(), metadata_text(&object, "name"));
    if options.dry_run {
        if call.live_at(&key).await?.is_some() {
            return Err(taken(call, &key, &object).await);
        }
        let value = call.unstored(object).await?;
        return Ok(Answer::Value { code, value, output });
    }
    // A version that cannot be read is as good as none; it is not stored in either case.
    if resource_version(&object).is_ok_and(|version| version != 0) {
        return Err(Status::unknown(500, "resourceVersion should not be set on objects to be created"));
    }
    let mut object = call.stored_form(object).await?;
    let mut written = commit(call, &key, &object).await?;
    if let Err(registry::Error::TooLarge { .. }) = written
        && origin != Origin::Apply
        && drop_owners(&mut object)
    {
        written = commit(call, &key, &object).await?;
    }
    match written {
        Ok(stored) => Ok(Answer::Object { code, object: stored, output }),
        Err(registry::Error::AlreadyExists) => Err(taken(call, &key, &object).await),
        Err(error) => Err(storage_status(&error, call)),
    }
}

/// Stores a new object while its namespace and, of a custom one, its definition stay, in the same transaction. So
/// nothing comes into being behind the back of who empties a namespace or a definition, on whichever replica.
async fn commit(
    call: &Call,
    key: &str,
    object: &Value,
) -> Result<Result<Arc<Object>, registry::Error>, Status> {
    let new: NewObject = call.encoded(object);
    let (registry, cache) = (&call.server.registry, &call.resource.cache);
    let name = metadata_text(object, "name");
    loop {
        let definition = definition(call, name)?;
        let open = open_namespace(call, name).await?;
        let of_definition = definition.as_ref().map(|(cache, object)| Guard { cache, object });
        let of_namespace =
            open.as_ref().map(|open| Guard { cache: &open.namespaces, object: &open.namespace });
        let guards: Vec<Guard<'_>> = of_definition.into_iter().chain(of_namespace).collect();
        match registry.create_if(cache, key, new.clone(), &guards).await {
            Err(registry::Error::Overtaken) => {
                // Mostly a change that does not matter here, and soon seen.
                for guard in guards {
                    registry.fresh(guard.cache).await.map_err(|error| storage_status(&error, call))?;
                }
            }
            done => return Ok(done),
        }
    }
}

/// The definition of a custom resource as it is now.
fn definition<'a>(call: &'a Call, name: &str) -> Result<Option<(&'a Cache, Arc<Object>)>, Status> {
    let Some(published) = &call.resource.published else { return Ok(None) };
    let definitions = &published.definitions;
    let definition = definitions.get(&published.name).filter(|found| found.uid() == published.uid);
    let definition = definition.ok_or_else(super::not_found)?;
    if definition.deleting {
        return Err(terminating(call, name));
    }
    Ok(Some((definitions, definition)))
}

/// The namespace that a new object comes into, which takes it; `None` for resources of the cluster.
async fn open_namespace(call: &Call, name: &str) -> Result<Option<Open>, Status> {
    if !call.resource.namespaced {
        return Ok(None);
    }
    may_hold_new(call, call.namespace(), name).await
}

fn terminating(call: &Call, name: &str) -> Status {
    let why = "create not allowed while custom resource definition is terminating";
    Status::forbidden(&call.resource.group_resource(), name, why)
}

/// What is said when the name is taken. Whoever gave a prefix is told that it did not help, even if the name
/// was given too.
async fn taken(call: &Call, key: &Text, object: &Value) -> Status {
    let (resource, name) = (call.resource.group_resource(), metadata_text(object, "name"));
    let mut status = if metadata_text(object, "generateName").is_empty() {
        Status::already_exists(&resource, name)
    } else {
        Status::generate_name_conflict(&resource, name, 1)
    };
    let existing = call.live_at(key).await.ok().flatten();
    if existing.is_some_and(|existing| existing.deleting) {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
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
    open_namespace(call, name).await.map(drop)
}
