//! Server-side apply: lays a configuration over the live object and settles who owns what.
//!
//! Upstream: managedfields/internal/structuredmerge.go and structured-merge-diff/v6/merge/update.go, v1.36.

use std::fmt;

use meta::gvk::parse_api_version;
use meta::{Gvk, Map, Text, Value};

use super::compare::{self, Delta};
use super::conflict::{Conflict, ConflictError};
use super::entry::{self, Entry, Operation, Origin};
use super::fieldset::FieldSet;
use super::last_applied;
use super::managers::{
    Deltas, ManagerInfo, managed_fields, own_changes, own_entry, reconcile_all, set_managed_fields,
};
use super::merge::merge;
use super::prune::prune;
use super::reset::strip_system;
use super::typed::{self, Duplicates};
use super::typedef::TypeRef;
use super::versions::Versions;

/// Owns, until somebody applies, what was there when nobody was tracked.
const BEFORE_FIRST_APPLY_MANAGER: &str = "before-first-apply";

/// Who applies, and to what kind.
#[derive(Clone, Copy, Debug)]
pub struct ApplyRequest<'a> {
    pub info: ManagerInfo<'a>,
    /// The kind behind the URL.
    pub kind: &'a str,
    /// Takes fields from their owners instead of failing.
    pub force: bool,
}

/// Why a configuration was not applied.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyError {
    /// 400
    BadRequest(String),
    /// 409
    Conflict(ConflictError),
    /// 500, without a reason in the Status
    Internal(String),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::BadRequest(message) | ApplyError::Internal(message) => f.write_str(message),
            ApplyError::Conflict(conflict) => conflict.fmt(f),
        }
    }
}

impl std::error::Error for ApplyError {}

/// Applies `config` to `live` (`None` when the object does not exist) and returns the object to be admitted,
/// with its owners. Defaults are not filled in.
///
/// When the object stays as it is, only owners may have changed, and their times have not.
pub fn apply(
    live: Option<&Value>,
    config: Value,
    request: &ApplyRequest<'_>,
    versions: &dyn Versions,
) -> Result<Value, ApplyError> {
    check_request(&config, request)?;
    let entries = live_entries(live, request, versions)?;
    let attempt = Attempt { live, request, versions };
    if request.info.manager != last_applied::MANAGER {
        return Ok(attempt.run(config, entries, request.force)?);
    }
    let kept = config.clone();
    let mut object = match attempt.run(config, entries.clone(), request.force) {
        Err(Failure::Conflicts(conflicts)) => {
            let conflicts = last_applied::unexpected(conflicts, live, &request.info, versions);
            if !conflicts.is_empty() {
                return Err(Failure::Conflicts(conflicts).into());
            }
            attempt.run(kept.clone(), entries, true)?
        }
        other => other?,
    };
    last_applied::refresh(&mut object, kept);
    Ok(object)
}

/// Why one attempt failed; conflicts may yet be allowed.
enum Failure {
    Conflicts(Vec<Conflict>),
    Other(ApplyError),
}

impl From<Failure> for ApplyError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflicts(conflicts) => ApplyError::Conflict(ConflictError::new(conflicts)),
            Failure::Other(error) => error,
        }
    }
}

fn internal(message: String) -> Failure {
    Failure::Other(ApplyError::Internal(message))
}

fn check_request(config: &Value, request: &ApplyRequest<'_>) -> Result<(), ApplyError> {
    let gvk = gvk_of(config);
    if gvk.kind != request.kind || gvk.api_version() != request.info.api_version {
        return Err(ApplyError::BadRequest(format!("invalid object type: {gvk}")));
    }
    let given = managed_fields(config);
    if given.is_some_and(|entries| entries.iter().all(|entry| entry.as_object().is_some())) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

fn gvk_of(object: &Value) -> Gvk {
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    match parse_api_version(text("apiVersion")) {
        Ok(version) => version.with_kind(text("kind")),
        Err(_) => Gvk::default(),
    }
}

/// `namespace/name; group/version, Kind=kind`, as the reference names an object in internal errors.
fn name_of(object: &Value) -> String {
    let text = |name| object.at(&["metadata", name]).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("namespace"), text("name"), gvk_of(object))
}

/// The owners before the request. Of an object without any, all belongs to a manager of its own.
fn live_entries(
    live: Option<&Value>,
    request: &ApplyRequest<'_>,
    versions: &dyn Versions,
) -> Result<Vec<Entry>, ApplyError> {
    let Some(live) = live else { return Ok(Vec::new()) };
    let list = managed_fields(live).unwrap_or_default();
    let entries = entry::decode(list.to_vec(), Origin::Stored)
        .map_err(|error| ApplyError::Internal(format!("failed to decode managed fields: {error}")))?;
    if !entries.is_empty() {
        return Ok(entries);
    }
    let info = ManagerInfo { manager: BEFORE_FIRST_APPLY_MANAGER, ..request.info };
    own_changes(versions.empty(), live, entries, &info, versions).map_err(|error| {
        let reason = not_conforming(live, &info, versions).unwrap_or_else(|| error.to_string());
        ApplyError::Internal(format!("failed to create manager for existing fields: {reason}"))
    })
}

fn not_conforming(live: &Value, info: &ManagerInfo<'_>, versions: &dyn Versions) -> Option<String> {
    let ty = versions.type_of(info.api_version)?;
    let errors = typed::validate(ty, live, Duplicates::Allowed).err()?;
    Some(format!("failed to convert new object ({}) to smd typed: {errors}", name_of(live)))
}

struct Attempt<'a> {
    live: Option<&'a Value>,
    request: &'a ApplyRequest<'a>,
    versions: &'a dyn Versions,
}

impl Attempt<'_> {
    fn run(&self, config: Value, mut entries: Vec<Entry>, force: bool) -> Result<Value, Failure> {
        let (info, versions) = (&self.request.info, self.versions);
        let unknown = || internal(format!("no corresponding type for {}", gvk_of(&config)));
        let ty = versions.type_of(info.api_version).ok_or_else(unknown)?;
        let reset = versions.reset_fields(info.api_version);
        let mut own = own_entry(info, Operation::Apply);
        own.fields = typed::configured_fields(ty, &config, reset).map_err(|errors| {
            internal(format!("failed to create typed patch object ({}): {errors}", name_of(&config)))
        })?;
        let base = self.base(ty)?;

        reconcile_all(&mut entries, versions);
        let last = entries.iter().position(|known| known.is_same_manager(&own));
        let last = last.map(|index| entries.remove(index));
        let mut new = merge(ty, base, config);
        if let Some(last) = &last {
            new = prune(new, &own, last, &entries, versions)
                .map_err(|error| internal(format!("failed to prune fields: {error}")))?;
        }
        let failed = |_| internal("failed to compare objects".to_owned());
        let delta = compare::compare(ty, self.old(), Some(&new), reset).map_err(failed)?;
        self.take_fields(&mut entries, delta, &new, force)?;

        strip_system(&mut own.fields);
        let unchanged = self.live.is_some_and(|live| same_but_managed_fields(live, &new));
        own.time = match last {
            Some(last) if unchanged => last.time,
            None if unchanged => own.time,
            _ => entry::format_time(info.now),
        };
        if !own.fields.is_empty() {
            entries.push(own);
        }
        set_managed_fields(&mut new, entries);
        Ok(new)
    }

    fn old(&self) -> Option<&Value> {
        self.live.or_else(|| self.versions.empty())
    }

    /// A copy of what the configuration is laid over, without owners.
    fn base(&self, ty: &TypeRef) -> Result<Value, Failure> {
        let base = self.old().map_or(Value::Null, without_managed_fields);
        if self.live.is_some() {
            typed::validate(ty, &base, Duplicates::Allowed).map_err(|errors| {
                internal(format!("failed to create typed live object ({}): {errors}", name_of(&base)))
            })?;
        }
        Ok(base)
    }

    /// Takes what the configuration changes from its owners, or finds that it may not.
    fn take_fields(
        &self,
        entries: &mut Vec<Entry>,
        delta: Delta,
        new: &Value,
        force: bool,
    ) -> Result<(), Failure> {
        let old = self.old();
        let mut deltas =
            Deltas { request: self.request.info.api_version, of_request: delta, others: Vec::new() };
        let mut conflicts = Vec::new();
        for entry in entries.iter_mut() {
            let delta = deltas.in_version(&entry.api_version, old, new, self.versions);
            let Some(delta) = delta.map_err(|error| internal(error.to_string()))? else {
                entry.fields = FieldSet::new();
                continue;
            };
            if !force {
                let contested = entry.fields.intersection(&delta.changed);
                if !contested.is_empty() {
                    conflicts.push(Conflict::new(entry, contested));
                }
            }
            entry.fields.subtract(&delta.changed);
            entry.fields.subtract(&delta.removed);
        }
        if !conflicts.is_empty() {
            return Err(Failure::Conflicts(conflicts));
        }
        entries.retain(|entry| !entry.fields.is_empty());
        Ok(())
    }
}

/// A copy without the owners, which are the larger part of many objects.
fn without_managed_fields(object: &Value) -> Value {
    let Value::Object(members) = object else { return object.clone() };
    let copy = |(name, value): (&str, &Value)| match (name, value) {
        ("metadata", Value::Object(metadata)) => {
            let kept = metadata.iter().filter(|(name, _)| *name != "managedFields");
            let metadata: Map = kept.map(|(name, value)| (name, value.clone())).collect();
            (Text::from(name), Value::Object(metadata))
        }
        _ => (Text::from(name), value.clone()),
    };
    Value::Object(members.iter().map(copy).collect())
}

/// Whether an object is the same as one without owners.
fn same_but_managed_fields(live: &Value, new: &Value) -> bool {
    let (Some(live), Some(new)) = (live.as_object(), new.as_object()) else { return false };
    let same_metadata = |live: &Value, new: &Value| match (live.as_object(), new.as_object()) {
        (Some(live), Some(new)) => {
            let kept = || live.iter().filter(|(name, _)| *name != "managedFields");
            kept().count() == new.len() && kept().zip(new.iter()).all(same_member)
        }
        _ => compare::same(live, new),
    };
    live.len() == new.len()
        && live.iter().zip(new.iter()).all(|((live_name, live), (new_name, new))| match live_name {
            "metadata" => live_name == new_name && same_metadata(live, new),
            _ => same_member(((live_name, live), (new_name, new))),
        })
}

fn same_member(((left_name, left), (right_name, right)): ((&str, &Value), (&str, &Value))) -> bool {
    left_name == right_name && compare::same(left, right)
}

#[cfg(test)]
mod tests;
