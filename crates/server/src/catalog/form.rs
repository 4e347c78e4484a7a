//! What objects of a kind look like, and what happens to them on their way into the store.
//!
//! Two forms of description, one interface: built-in kinds are described by types, custom ones by schemas.
//! Behaviour that a built-in kind has of its own is a small pure function in [`super::builtin`].

mod builtin;
mod custom;
mod versions;

use std::sync::Arc;

use jiff::Timestamp;
use meta::gvk::{GroupKind, parse_api_version};
use meta::names;
use meta::object::{
    FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS, validate_object_meta,
    validate_object_meta_update,
};
use meta::status::{Cause, Status, cause};
use meta::{FieldError, FieldPath, Map, Meta, Value};
use schema::apply::{
    ApplyError, ApplyRequest, ConvertError, ManagerInfo, ReplicasPath, ResetFields, TypeRef, Versions, apply,
    track_update,
};
use schema::scale::ScalePaths;
use schema::typed;

use super::Resource;
use crate::conversion::{Conversions, Views};
use crate::verbs::options::{DeleteOptions, WriteOptions};
use crate::verbs::write::{metadata_mut, set_or_remove};
use crate::verbs::{Call, NamedKind, unusable_patch};

/// The shape of a kind's objects.
pub enum Form {
    Builtin(BuiltinForm),
    Custom(CustomForm),
}

/// A built-in kind and the behaviour that is its own.
pub struct BuiltinForm {
    pub resource: &'static typed::BuiltinResource,
    pub kind: typed::Kind,
    pub ownership: Ownership,
    pub hooks: Hooks,
}

/// What a built-in kind does differently. Pure functions; each has a plain default.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Fills in what a body leaves out, beyond what the description of the kind knows.
    pub default: fn(&mut Value),
    pub prepare_create: fn(&mut Value),
    pub prepare_update: fn(&mut Value, &Value),
    /// Rules that the description of the kind does not hold.
    pub check: Option<Check>,
    /// What to tell about an object that is accepted.
    pub warnings: fn(&Value, Option<&Value>) -> Vec<String>,
    /// A deletion only marks the object, in this way; a loop of ours removes it.
    pub mark_deletion: Option<fn(&mut Value, &str, &DeleteOptions)>,
    /// Whether nothing of the kind's own keeps a deleted object.
    pub may_go: fn(&Value) -> bool,
    /// Names that cannot be deleted, and why.
    pub undeletable: fn(&str) -> Option<&'static str>,
    /// Objects are stored in another form than they are served in.
    pub storage: Option<StorageForm>,
}

/// The way into the form that objects are stored in, and back.
#[derive(Clone, Copy)]
pub struct StorageForm {
    pub to: fn(&mut Value),
    pub from: fn(&mut Value),
}

/// Rules of a kind: the subresource written to, the new object, the old one.
pub type Check = fn(&str, &Value, Option<&Value>) -> Vec<FieldError>;

impl Default for Hooks {
    fn default() -> Self {
        Hooks {
            default: |_| {},
            prepare_create: |_| {},
            prepare_update: |_, _| {},
            check: None,
            warnings: |_, _| Vec::new(),
            mark_deletion: None,
            may_go: |_| true,
            undeletable: |_| None,
            storage: None,
        }
    }
}

/// A kind from a definition, in one version.
pub struct CustomForm {
    /// `None`: a definition of old that says nothing.
    pub schema: Option<Arc<schema::Schema>>,
    pub ownership: Ownership,
    pub preserve_unknown: bool,
    pub status: bool,
    pub scale: Option<ScalePaths>,
    /// Where the replicas are in every version of the kind.
    pub replicas: Arc<[ReplicasPath]>,
    pub reads: Reads,
}

/// How stored objects of a definition are shown.
pub enum Reads {
    /// Every object was shaped by this very schema when it was written.
    AsStored,
    /// Objects may have been written under another version or an older definition.
    Converted(Arc<Views>),
}

/// What ownership of fields needs to know, for the main resource and its status.
pub struct Ownership {
    /// The version that requests are in.
    pub api_version: String,
    /// All versions of the kind.
    pub versions: Arc<[VersionOwnership]>,
    pub empty: Option<Value>,
}

/// What ownership needs to know of one version.
pub struct VersionOwnership {
    pub api_version: String,
    pub types: TypeRef,
    /// What writes to the resource itself cannot change.
    pub main: ResetFields,
    /// What writes to its status cannot change.
    pub status: ResetFields,
}

/// One endpoint of a kind, as ownership sees it.
struct Endpoint<'a> {
    ownership: &'a Ownership,
    status: bool,
    /// Where objects in other versions come from; `None`: they differ in the name of the version only.
    conversions: Option<&'a Conversions>,
}

impl Endpoint<'_> {
    fn version(&self, api_version: &str) -> Option<&VersionOwnership> {
        self.ownership.versions.iter().find(|version| version.api_version == api_version)
    }
}

impl Versions for Endpoint<'_> {
    fn type_of(&self, api_version: &str) -> Option<&TypeRef> {
        self.version(api_version).map(|version| &version.types)
    }

    /// An endpoint resets fields in its own version only.
    fn reset_fields(&self, api_version: &str) -> &ResetFields {
        let own = (api_version == self.ownership.api_version).then(|| self.version(api_version)).flatten();
        match own {
            Some(version) if self.status => &version.status,
            Some(version) => &version.main,
            None => ResetFields::none(),
        }
    }

    fn empty(&self) -> Option<&Value> {
        self.ownership.empty.as_ref()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        self.type_of(api_version).ok_or(ConvertError::UnknownVersion)?;
        if let Some(conversions) = self.conversions
            && meta::object::api_version(object) != api_version
        {
            return conversions.get(object, api_version);
        }
        let mut converted = object.clone();
        if let Value::Object(members) = &mut converted {
            members.insert("apiVersion", api_version);
        }
        Ok(converted)
    }
}

impl Form {
    /// Makes a body an object of the kind. Gives the paths of fields that do not belong, or why it is none.
    pub fn decode(
        &self,
        resource: &Resource,
        value: &mut Value,
        named: &NamedKind,
    ) -> Result<Vec<String>, String> {
        match self {
            Form::Builtin(form) => form.decode(resource, value, named),
            Form::Custom(form) => form.decode(resource, value, named),
        }
    }

    fn ownership(&self) -> &Ownership {
        match self {
            Form::Builtin(form) => &form.ownership,
            Form::Custom(form) => &form.ownership,
        }
    }

    /// Merges a strategic patch, which only built-in kinds understand.
    /// Gives the paths of fields that do not belong.
    pub fn strategic_merge(&self, object: &mut Value, patch: Map) -> Result<Vec<String>, Status> {
        let Form::Builtin(form) = self else { return Ok(Vec::new()) };
        let shown = patch.clone();
        let kept = ["apiVersion", "kind"].map(|key| object.get(key).cloned());
        typed::strategic_merge(form.kind, object, patch).map_err(|error| match error {
            typed::StrategicError::BadRequest(message) => Status::bad_request(message),
            typed::StrategicError::Unprocessable(_) => {
                Status::generic(422, "", &meta::gvk::GroupResource::new("", ""), "", "")
            }
            typed::StrategicError::Internal(message) => Status::unknown(500, message),
        })?;
        let cleared = clears_owners(object);
        let restored = typed::restore(form.kind, object);
        let restored = restored.map_err(|error| unusable_patch(&shown, &error.to_string()))?;
        if cleared {
            clear_owners(object);
        }
        if let Value::Object(members) = object {
            for (key, value) in ["apiVersion", "kind"].into_iter().zip(kept) {
                set_or_remove(members, key, value);
            }
        }
        form.default(object);
        Ok(restored.unknown)
    }

    /// Reads the binary form of an object of a built-in kind.
    pub fn read_binary(&self, body: &[u8]) -> Result<Value, String> {
        let Form::Builtin(form) = self else { return Err("not a built-in kind".to_owned()) };
        let envelope = typed::binary::Envelope::open(body).map_err(|error| error.to_string())?;
        let mut value =
            typed::binary::read(form.kind, envelope.message).map_err(|error| error.to_string())?;
        if let Value::Object(members) = &mut value {
            members.insert("apiVersion", envelope.api_version);
            members.insert("kind", envelope.kind);
        }
        Ok(value)
    }

    /// Records who owns the fields of a new or changed object.
    pub async fn own(&self, call: &Call, live: Option<&Value>, new: &mut Value, options: &WriteOptions) {
        let subresource = call.target().subresource.as_str();
        let (manager, now) = (call.manager(options), call.server.env.now());
        let Some(views) = self.asking_views() else {
            return self.own_as(&manager, subresource, live, new, now);
        };
        let owned = call.conversions.complete(Some(views.converter()), || {
            let mut attempt = new.clone();
            self.track(&manager, subresource, live, &mut attempt, now, Some(&call.conversions));
            attempt
        });
        *new = owned.await;
    }

    /// The same for a writer that is no request.
    pub fn own_as(
        &self,
        manager: &str,
        subresource: &str,
        live: Option<&Value>,
        new: &mut Value,
        now: Timestamp,
    ) {
        self.track(manager, subresource, live, new, now, None);
    }

    fn track(
        &self,
        manager: &str,
        subresource: &str,
        live: Option<&Value>,
        new: &mut Value,
        now: Timestamp,
        conversions: Option<&Conversions>,
    ) {
        let ownership = self.ownership();
        let info = ManagerInfo { manager, api_version: &ownership.api_version, subresource, now };
        let endpoint = Endpoint { ownership, status: subresource == "status", conversions };
        // Without owners rather than without the write, as in the reference.
        let _ = track_update(live, new, &info, &endpoint);
    }

    /// Lays an applied configuration over the live object. What comes back has its owners recorded.
    pub fn apply(
        &self,
        call: &Call,
        live: Option<&Value>,
        configuration: Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let subresource = call.target().subresource.as_str();
        let ownership = self.ownership();
        let request = ApplyRequest {
            info: ManagerInfo {
                manager: &options.field_manager,
                api_version: &ownership.api_version,
                subresource,
                now: call.server.env.now(),
            },
            kind: &call.resource.names.kind,
            force: options.force == Some(true),
        };
        let conversions = self.asking_views().map(|_| &call.conversions);
        let endpoint = Endpoint { ownership, status: subresource == "status", conversions };
        let mut object = apply(live, configuration, &request, &endpoint).map_err(apply_status)?;
        if let Form::Builtin(form) = self {
            form.restore(&call.resource, &mut object)?;
        }
        self.default(&mut object);
        Ok(object)
    }

    /// What becomes of an applied object when it is written: it was validated as it stood, with nulls and empty
    /// lists that no stored object of its kind has.
    pub fn settle(&self, object: &mut Value) {
        let Form::Custom(form) = self else { return };
        let metadata = metadata_mut(object);
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            let empty = match metadata.get(field) {
                Some(Value::Object(members)) => members.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Null) => true,
                _ => false,
            };
            if empty {
                metadata.remove(field);
            }
        }
        if let Some(schema) = form.schema.as_ref().filter(|_| !form.preserve_unknown && has_null(object)) {
            schema.prune(object, None);
        }
    }

    /// Fills in what the kind fills in.
    pub fn default(&self, object: &mut Value) {
        match self {
            Form::Builtin(form) => form.default(object),
            Form::Custom(form) => {
                if let Some(schema) = &form.schema {
                    schema.default(object);
                }
            }
        }
    }

    /// Completes a new object before it is validated.
    pub fn prepare_create(&self, call: &Call, object: &mut Value) {
        match self {
            Form::Builtin(form) => {
                let user = call.permitted.user();
                let extra: Vec<_> =
                    user.extra.iter().map(|(key, values)| (key.clone(), values.clone())).collect();
                let requester = typed::Requester {
                    name: &user.name,
                    uid: &user.uid,
                    groups: &user.groups,
                    extra: &extra,
                };
                typed::prepare_create(form.kind, object, &requester, &call.now());
                typed::finish_create(form.kind, object);
                (form.hooks.prepare_create)(object);
            }
            Form::Custom(form) => {
                if form.status
                    && let Value::Object(members) = object
                {
                    members.remove("status");
                }
                metadata_mut(object).insert("generation", 1_i64);
            }
        }
    }

    /// Takes over from the old object what this endpoint may not change, and counts the change.
    pub fn prepare_update(&self, call: &Call, new: &mut Value, old: &Value) {
        let subresource = call.target().subresource.as_str();
        match self {
            Form::Builtin(form) => {
                typed::prepare_update(form.kind, subresource, new, old, &call.now());
                if subresource.is_empty() {
                    (form.hooks.prepare_update)(new, old);
                }
            }
            Form::Custom(form) => form.prepare_update(subresource, new, old),
        }
    }

    /// Everything that is wrong with a new object.
    pub fn validate_create(&self, call: &Call, object: &Value) -> Vec<FieldError> {
        let (path, rule) = (metadata_path(), call.resource.namespace_rule());
        let metadata = Meta::of(object);
        match self {
            Form::Builtin(form) => {
                let errors = if let Some(check) = form.hooks.check {
                    check("", object, None)
                } else {
                    let mut errors = typed::validate_metadata(form.kind, "", object, None);
                    errors.extend(typed::validate(form.kind, "", object, None));
                    errors
                };
                if !errors.is_empty() {
                    return errors;
                }
                validate_object_meta(metadata, rule, names::name_is_path_segment, &path)
            }
            Form::Custom(form) => {
                let mut errors = validate_type(&call.resource, object);
                if !errors.is_empty() {
                    form.check_foreign(call, object, None, &mut errors);
                    return errors;
                }
                let mut errors = validate_object_meta(metadata, rule, names::name_is_dns_subdomain, &path);
                form.check(call, object, None, &mut errors);
                errors
            }
        }
    }

    /// Everything that is wrong with a changed object.
    pub fn validate_update(&self, call: &Call, new: &Value, old: &Value) -> Vec<FieldError> {
        let (path, rule) = (metadata_path(), call.resource.namespace_rule());
        let (metadata, before) = (Meta::of(new), Meta::of(old));
        let mut errors = validate_object_meta(metadata, rule, names::name_is_path_segment, &path);
        let changes = validate_object_meta_update(metadata, before, &path);
        errors.extend(changes.iter().cloned());
        let subresource = call.target().subresource.as_str();
        match self {
            Form::Builtin(BuiltinForm { hooks: Hooks { check: Some(check), .. }, .. }) => {
                errors.extend(check(subresource, new, Some(old)));
            }
            Form::Builtin(form) => {
                errors.extend(typed::validate_metadata(form.kind, subresource, new, Some(old)));
                errors.extend(typed::validate(form.kind, subresource, new, Some(old)));
            }
            Form::Custom(form) => {
                let wrong_type = validate_type(&call.resource, new);
                if wrong_type.is_empty() {
                    errors.extend(changes); // the kind's own rules look at them again
                    form.check(call, new, Some(old), &mut errors);
                } else {
                    errors.extend(wrong_type);
                    form.check_foreign(call, new, Some(old), &mut errors);
                }
            }
        }
        errors
    }

    /// What to tell about an object that has been accepted.
    pub fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match self {
            Form::Builtin(form) => {
                let mut warnings = typed::warnings(form.kind, new, old);
                warnings.extend((form.hooks.warnings)(new, old));
                warnings
            }
            Form::Custom(_) => warn_of_finalizers(new, old),
        }
    }

    /// The kind that an Invalid names: a wrong one in a body is shown as it is. Both groups of events have one
    /// kind inside the reference.
    pub fn invalid_kind(&self, call: &Call, object: &Value) -> GroupKind {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or(&call.resource.names.kind);
        let group = match self {
            Form::Builtin(_) => call.resource.internal_group(),
            Form::Custom(_) => parse_api_version(meta::object::api_version(object)).unwrap_or_default().group,
        };
        GroupKind::new(group, kind)
    }

    pub fn may_go(&self, object: &Value) -> bool {
        match self {
            Form::Builtin(form) => (form.hooks.may_go)(object),
            Form::Custom(_) => true,
        }
    }

    /// Whether a deletion only marks the object.
    pub fn marks_deletion(&self) -> bool {
        matches!(self, Form::Builtin(form) if form.hooks.mark_deletion.is_some())
    }

    pub fn mark_deletion(&self, object: &mut Value, now: &str, options: &DeleteOptions) {
        if let Form::Builtin(form) = self
            && let Some(mark) = form.hooks.mark_deletion
        {
            mark(object, now, options);
        }
    }

    /// Refuses the deletion of what must stay.
    pub fn may_delete(&self, call: &Call, object: &registry::Object) -> Result<(), Status> {
        let Form::Builtin(form) = self else { return Ok(()) };
        match (form.hooks.undeletable)(object.name()) {
            Some(why) => Err(Status::forbidden(&call.resource.group_resource(), object.name(), why)),
            None => Ok(()),
        }
    }
}

/// What a failed apply means to a client.
pub fn apply_status(error: ApplyError) -> Status {
    match error {
        ApplyError::BadRequest(message) => Status::bad_request(message),
        ApplyError::Internal(message) => Status::unknown(500, message),
        ApplyError::Conflict(conflict) => {
            let causes = conflict.causes.into_iter().map(|cause| Cause {
                reason: cause::FIELD_MANAGER_CONFLICT.into(),
                message: cause.message,
                field: cause.field,
            });
            Status::apply_conflict(causes.collect(), conflict.message)
        }
    }
}

/// Whether an object says that nobody owns any of its fields. That it does must survive decoding, which drops what
/// is empty: it is an order to forget the owners there are.
fn clears_owners(object: &Value) -> bool {
    object.at(&["metadata", "managedFields"]).and_then(Value::as_array).is_some_and(<[Value]>::is_empty)
}

fn clear_owners(object: &mut Value) {
    metadata_mut(object).insert("managedFields", Value::Array(Vec::new()));
}

/// Whether there is a null anywhere but among the owners of fields, which have none.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => {
            members.iter().any(|(key, value)| key != "managedFields" && has_null(value))
        }
        _ => false,
    }
}

/// A new finalizer of a custom resource should say whose it is.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go, v1.36.
fn warn_of_finalizers(new: &Value, old: Option<&Value>) -> Vec<String> {
    let old = old.map(Meta::of);
    let known = |name: &str| {
        name.contains('/')
            || matches!(name, "kubernetes" | FINALIZER_ORPHAN_DEPENDENTS | FINALIZER_DELETE_DEPENDENTS)
            || old.is_some_and(|old| old.has_finalizer(name))
    };
    let mut added: Vec<&str> = Meta::of(new).finalizers().filter(|name| !known(name)).collect();
    added.sort_unstable();
    added.dedup();
    let warn = |name: &str| {
        format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers",
            meta::go_fmt::quote(name)
        )
    };
    added.into_iter().map(warn).collect()
}

/// The path of every object's metadata.
fn metadata_path() -> FieldPath<'static> {
    FieldPath::ROOT.field("metadata")
}

/// The metadata of the old object, with the owners that the new one records.
fn take_metadata(new: &mut Value, old: &Value) {
    let owners = metadata_mut(new).remove("managedFields");
    let mut metadata = old.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    set_or_remove(&mut metadata, "managedFields", owners);
    *metadata_mut(new) = metadata;
}

/// A write to the status takes the status and nothing else.
fn take_only_status(new: &mut Value, old: &Value) {
    let status = match new {
        Value::Object(members) => members.remove("status"),
        _ => None,
    };
    take_metadata(new, old);
    let metadata = new.get("metadata").cloned().unwrap_or_default();
    *new = old.clone();
    if let Value::Object(members) = new {
        members.insert("metadata", metadata);
        set_or_remove(members, "status", status);
    }
}

/// Whether two objects differ in a member that is not one of these.
fn differ_outside(old: &Value, new: &Value, ignored: &[&str]) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return old != new };
    let counts = |(key, _): &(&str, &Value)| !ignored.contains(key);
    !old.iter().filter(counts).eq(new.iter().filter(counts))
}

/// A custom resource must say what it is, and say it right.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go, v1.36.
fn validate_type(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let mut errors = Vec::new();
    if kind != resource.names.kind.as_str() {
        let detail = format!("must be {}", resource.names.kind);
        errors.push(FieldError::invalid(&FieldPath::ROOT.field("kind"), kind, detail));
    }
    let expected = resource.api_version();
    if api_version != expected {
        let detail = format!("must be {expected}");
        errors.push(FieldError::invalid(&FieldPath::ROOT.field("apiVersion"), api_version, detail));
    }
    errors
}
