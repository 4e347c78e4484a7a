//! Replacing an object, and what every change of a live object goes through.
//!
//! The closure that makes the new object from the live one runs again when another writer was faster.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/update.go, apiserver/pkg/registry/generic/registry/store.go,
//! apiserver/pkg/registry/rest/update.go, v1.36.

use std::sync::Arc;

use meta::gvk::GroupKind;
use meta::status::Status;
use meta::{FieldError, FieldPath, Value};
use registry::Object;

use super::options::{WriteKind, WriteOptions};
use super::write::{
    Deduplication, drop_double_owners, drop_owners, has_finalizers, is_deleting, match_namespace,
    metadata_mut, metadata_text, resource_version, set_or_remove,
};
use super::{Answer, Call, body, create, storage_status};
use crate::negotiate::Output;

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    let options = WriteOptions::parse(&call.info.query, WriteKind::Update)?;
    let object = read(call, &options)?;
    let expected_uid = metadata_text(&object, "uid").to_owned();
    let change = Change { call, options: &options, output, expected_uid, applies: false };
    // Read again in the rare case that the race is lost, rather than copied in all others.
    let mut object = Some(object);
    change
        .apply(|_| match object.take() {
            Some(object) => Ok(object),
            None => read(call, &options),
        })
        .await
}

fn read(call: &Call, options: &WriteOptions) -> Result<Value, Status> {
    let mut object = body::object(call, options.field_validation)?;
    match_namespace(&mut object, call.namespace())?;
    match_name(&mut object, call.name())?;
    drop_double_owners(&mut object, call, Deduplication::Body);
    Ok(object)
}

/// The name in a body, if it has one, must be the one in the path.
pub(super) fn match_name(object: &mut Value, name: &str) -> Result<(), Status> {
    let metadata = metadata_mut(object);
    match metadata.get("name").and_then(Value::as_str).unwrap_or_default() {
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        found if found == name => Ok(()),
        found => Err(Status::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        ))),
    }
}

/// A change of one object that is there, or of one that an update may create.
pub(super) struct Change<'a> {
    pub(super) call: &'a Call,
    pub(super) options: &'a WriteOptions,
    pub(super) output: Output,
    /// The object that the client means; empty: any of that name.
    pub(super) expected_uid: String,
    /// An apply: it has settled who owns what, and may create the object.
    pub(super) applies: bool,
}

impl Change<'_> {
    /// Makes the new object with `produce`, which gets the live one (in the version of the request), and
    /// writes it. On a lost race it starts again from what is there then.
    pub(super) async fn apply(
        &self,
        mut produce: impl FnMut(Option<&Value>) -> Result<Value, Status>,
    ) -> Result<Answer, Status> {
        let call = self.call;
        let mut live = call.live().await?;
        loop {
            let Some(current) = live else { return self.on_missing(&mut produce).await };
            let tree = call.tree(&current).await?;
            self.check_uid(metadata_text(&tree, "uid"))?;
            let new = call.with_conversions(|| produce(Some(&tree))).await?;
            match self.write(&current, &tree, new).await? {
                Outcome::Done(answer) => return Ok(answer),
                Outcome::Lost(newer) => live = newer,
            }
        }
    }

    async fn on_missing(
        &self,
        produce: &mut impl FnMut(Option<&Value>) -> Result<Value, Status>,
    ) -> Result<Answer, Status> {
        let call = self.call;
        let creates = call.resource.habits.update_creates || self.applies;
        if !creates || !call.subresource().is_empty() {
            return Err(call.not_found());
        }
        self.check_uid("")?;
        let mut object = call.with_conversions(|| produce(None)).await?;
        let uid = metadata_text(&object, "uid");
        if self.applies && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Status::conflict(&call.resource.group_resource(), call.name(), why));
        }
        resource_version(&object)?;
        metadata_mut(&mut object).remove("resourceVersion");
        let origin = if self.applies { create::Origin::Apply } else { create::Origin::Update };
        create::create(call, object, self.options, origin, self.output.clone()).await
    }

    /// The client may say which object it means; none is not it.
    fn check_uid(&self, found: &str) -> Result<(), Status> {
        if self.expected_uid.is_empty() || self.expected_uid == found {
            return Ok(());
        }
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {found}",
            self.call.resource.reference_key(&self.call.key()),
            self.expected_uid
        );
        Err(Status::conflict(&self.call.resource.group_resource(), self.call.name(), why))
    }

    async fn write(&self, current: &Arc<Object>, live: &Value, mut new: Value) -> Result<Outcome, Status> {
        let call = self.call;
        self.check_version(current, &new)?;
        let form = &call.resource.form;
        if !self.applies {
            form.own(call, Some(live), &mut new, self.options).await;
        }
        drop_double_owners(&mut new, call, Deduplication::Patched);
        keep_system_fields(live, &mut new);
        form.prepare_update(call, &mut new, live);
        keep_identity(live, &mut new);
        set_or_remove(
            metadata_mut(&mut new),
            "resourceVersion",
            live.at(&["metadata", "resourceVersion"]).cloned(),
        );
        let errors = form.validate_update(call, &new, live);
        if !errors.is_empty() {
            let kind = form.invalid_kind(call, &new);
            return Err(Status::invalid(&kind, metadata_text(&new, "name"), &errors));
        }
        form.warnings(&new, Some(live)).into_iter().for_each(|warning| call.warnings.add(warning));
        if self.applies {
            form.settle(&mut new);
        }
        schema::apply::restore_times_if_unchanged(live, &mut new);
        let last = is_deleting(live) && !has_finalizers(&new) && form.may_go(&new);
        if self.options.dry_run {
            let value = call.unstored(new).await?;
            return Ok(Outcome::Done(Answer::Value { code: 200, value, output: self.output.clone() }));
        }
        if last {
            return self.remove(current, new).await;
        }
        if *live == new && current.api_version() == call.resource.storage_api_version {
            return Ok(Outcome::Done(self.answer(current.clone())));
        }
        let Some(stored) = self.stored_change(current, live, new).await? else {
            return Ok(Outcome::Done(self.answer(current.clone())));
        };
        match self.replace(current, stored).await {
            Ok(object) => Ok(Outcome::Done(self.answer(object))),
            Err(registry::Error::Conflict(newer)) => Ok(Outcome::Lost(newer)),
            Err(error) => Err(storage_status(&error, call)),
        }
    }

    /// Writes the object, without its owners if it is too large with them; an apply insists on them.
    async fn replace(&self, current: &Object, mut stored: Value) -> Result<Arc<Object>, registry::Error> {
        let (call, key) = (self.call, self.call.key());
        let (registry, cache) = (&call.server.registry, &call.resource.cache);
        match registry.replace(cache, &key, current.revision, call.encoded(&stored)).await {
            Err(registry::Error::TooLarge { .. }) if !self.applies && drop_owners(&mut stored) => {
                registry.replace(cache, &key, current.revision, call.encoded(&stored)).await
            }
            written => written,
        }
    }

    /// The new object as it is to be stored; `None` when that is no change. Where a webhook converts, the two are
    /// compared as it would store them.
    async fn stored_change(
        &self,
        current: &Object,
        live: &Value,
        new: Value,
    ) -> Result<Option<Value>, Status> {
        let call = self.call;
        let asks = call.resource.form.asking_views().is_some();
        if !asks || call.resource.api_version() == call.resource.storage_api_version {
            return call.stored_form(new).await.map(Some);
        }
        let both = futures_util::future::try_join(call.stored_form(live.clone()), call.stored_form(new));
        let (before, after) = Box::pin(both).await?;
        let same = before == after && current.api_version() == call.resource.storage_api_version;
        Ok((!same).then_some(after))
    }

    /// An update that takes away the last reason to keep a deleted object removes it; the answer is the
    /// object as it would have been written, even if somebody else was faster.
    async fn remove(&self, current: &Arc<Object>, new: Value) -> Result<Outcome, Status> {
        let call = self.call;
        match call.server.registry.remove(&call.resource.cache, &call.key(), current).await {
            Ok(_) | Err(registry::Error::Conflict(None)) => {
                Ok(Outcome::Done(Answer::Value { code: 200, value: new, output: self.output.clone() }))
            }
            Err(registry::Error::Conflict(newer)) => Ok(Outcome::Lost(newer)),
            Err(error) => Err(storage_status(&error, call)),
        }
    }

    /// A client that names the version it has seen loses against anybody who was faster.
    fn check_version(&self, current: &Object, new: &Value) -> Result<(), Status> {
        let call = self.call;
        let version = resource_version(new)?;
        if version == 0 && call.resource.habits.unconditional_update {
            return Ok(());
        }
        if version == 0 {
            let metadata = FieldPath::ROOT.field("metadata");
            let path = metadata.field("resourceVersion");
            let error = FieldError::invalid(&path, Value::Int(0), "must be specified for an update");
            let resource = call.resource.group_resource();
            let kind = GroupKind::new(resource.group, resource.resource);
            return Err(Status::invalid(&kind, call.name(), &[error]));
        }
        if version != current.revision.0 {
            return Err(Status::modified(&call.resource.group_resource(), call.name()));
        }
        Ok(())
    }

    fn answer(&self, object: Arc<Object>) -> Answer {
        Answer::Object { code: 200, object, output: self.output.clone() }
    }
}

enum Outcome {
    Done(Answer),
    /// Somebody else changed or removed the object; this is what there is now.
    Lost(Option<Arc<Object>>),
}

/// What no update can change, taken over before a kind's own rules run.
fn keep_system_fields(live: &Value, new: &mut Value) {
    let generation = live.at(&["metadata", "generation"]).cloned();
    set_or_remove(metadata_mut(new), "generation", generation);
}

/// What no update can change, taken over after a kind's own rules ran.
fn keep_identity(live: &Value, new: &mut Value) {
    let old = |key: &str| live.at(&["metadata", key]).cloned();
    let metadata = metadata_mut(new);
    metadata.remove("selfLink"); // is not stored
    if metadata.get("uid").and_then(Value::as_str).unwrap_or_default().is_empty() {
        set_or_remove(metadata, "uid", old("uid"));
    }
    if let Some(created) = old("creationTimestamp") {
        metadata.insert("creationTimestamp", created);
    }
    if let Some(deleted) = old("deletionTimestamp") {
        metadata.insert("deletionTimestamp", deleted);
    }
    if let Some(grace) = old("deletionGracePeriodSeconds")
        && !metadata.contains_key("deletionGracePeriodSeconds")
    {
        metadata.insert("deletionGracePeriodSeconds", grace);
    }
}
