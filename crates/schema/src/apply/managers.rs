//! Keeps `metadata.managedFields` true to creates, updates and patches.
//!
//! Who changes a field takes it from whoever owned it. The cost is one walk over the old and new object and
//! one over the recorded owners; the owners' sets are changed in place.
//!
//! Upstream: managedfields/internal/{fieldmanager,managedfieldsupdater,capmanagers,skipnonapplied}.go and
//! structured-merge-diff/v6/merge/update.go, v1.36.

use std::fmt;

use jiff::Timestamp;
use meta::{Map, Text, Value};

use super::compare::{self, Delta};
use super::entry::{self, Entry, EntryError, Operation, Origin};
use super::fieldset::FieldSet;
use super::reconcile::reconcile;
use super::versions::{ConvertError, Versions};

/// So many entries of updates are kept; older ones are merged into one per version.
const MAX_UPDATE_MANAGERS: usize = 10;

/// Owns what the merged entries owned.
const OLD_UPDATES_MANAGER: &str = "ancient-changes";

/// Manager names from a user agent are cut to this.
const MAX_MANAGER_BYTES: usize = 128;

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub struct ManagerInfo<'a> {
    /// The field manager; the empty name is recorded as `unknown`.
    pub manager: &'a str,
    /// The version of the request.
    pub api_version: &'a str,
    /// Empty for the main resource.
    pub subresource: &'a str,
    pub now: Timestamp,
}

/// Why the owners of an object could not be determined. The object itself is not affected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackError {
    /// The version of the request has no type.
    UnknownVersion,
    /// The object, or the one it replaces, does not conform to its type.
    NotConforming,
    /// Which of the two objects that are compared, and why it has no form in another version.
    Convert(&'static str, ConvertError),
}

impl fmt::Display for TrackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrackError::UnknownVersion => f.write_str("the version has no type"),
            TrackError::NotConforming => f.write_str("the object does not conform to its type"),
            TrackError::Convert(which, error) => write!(f, "failed to convert {which} object: {error}"),
        }
    }
}

impl std::error::Error for TrackError {}

impl From<compare::NotConforming> for TrackError {
    fn from(_: compare::NotConforming) -> Self {
        TrackError::NotConforming
    }
}

/// The manager to record when a request names none: what the user agent says before the first `/`.
///
/// ```
/// use crest_schema::apply::manager_of_user_agent;
/// assert_eq!(manager_of_user_agent("kubectl/v1.36.4 (linux/amd64)"), "kubectl");
/// ```
pub fn manager_of_user_agent(user_agent: &str) -> String {
    let prefix = user_agent.split('/').next().unwrap_or_default();
    let mut manager = String::with_capacity(prefix.len().min(MAX_MANAGER_BYTES));
    for character in prefix.chars().filter(|character| is_printable(*character)) {
        if manager.len() + character.len_utf8() > MAX_MANAGER_BYTES {
            break;
        }
        manager.push(character);
    }
    manager
}

fn is_printable(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\0'..='\x7f' => false,
        other => !meta::go_fmt::quote(other.encode_utf8(&mut [0; 4])).starts_with("\"\\"),
    }
}

/// Records the owners of `new`, which replaces `live` (`None` when it is created).
///
/// `new` is the object as it will be admitted; its own `managedFields` are those the request gave. On an
/// error `managedFields` are removed, as the reference does rather than refuse the write.
pub fn track_update(
    live: Option<&Value>,
    new: &mut Value,
    info: &ManagerInfo<'_>,
    versions: &dyn Versions,
) -> Result<(), TrackError> {
    let given = take_managed_fields(new);
    let entries = live_or_given(live, given, info.subresource);
    let entries = updated_entries(live, new, entries, info, versions)?;
    set_managed_fields(new, entries);
    Ok(())
}

fn updated_entries(
    live: Option<&Value>,
    new: &Value,
    entries: Vec<Entry>,
    info: &ManagerInfo<'_>,
    versions: &dyn Versions,
) -> Result<Vec<Entry>, TrackError> {
    let creating = live.is_none_or(|live| uid(live).is_empty());
    if entries.is_empty() && !creating {
        return Ok(entries); // not tracked since its owners were cleared
    }
    let old = live.or_else(|| versions.empty());
    let mut entries = own_changes(old, new, entries, info, versions)?;
    cap_update_managers(&mut entries);
    Ok(entries)
}

/// Gives the manager of the request what changed between the objects, and takes it from the others.
pub(super) fn own_changes(
    old: Option<&Value>,
    new: &Value,
    mut entries: Vec<Entry>,
    info: &ManagerInfo<'_>,
    versions: &dyn Versions,
) -> Result<Vec<Entry>, TrackError> {
    let ty = versions.type_of(info.api_version).ok_or(TrackError::UnknownVersion)?;
    let delta = compare::compare(ty, old, Some(new), versions.reset_fields(info.api_version))?;
    reconcile_all(&mut entries, versions);
    let mut deltas = Deltas { request: info.api_version, of_request: delta, others: Vec::new() };
    deltas.take_from(&mut entries, old, new, versions)?;
    let changed = deltas.of_request.changed;
    if changed.is_empty() {
        return Ok(entries);
    }
    let mut own = own_entry(info, Operation::Update);
    own.fields = changed;
    own.time = entry::format_time(info.now);
    match entries.iter_mut().find(|known| known.is_same_manager(&own)) {
        Some(known) => {
            known.fields.union(own.fields);
            known.time = own.time;
        }
        None => entries.push(own),
    }
    Ok(entries)
}

pub(super) fn own_entry(info: &ManagerInfo<'_>, operation: Operation) -> Entry {
    Entry {
        manager: Text::from(if info.manager.is_empty() { "unknown" } else { info.manager }),
        operation,
        api_version: info.api_version.into(),
        time: Text::default(),
        fields: FieldSet::new(),
        subresource: info.subresource.into(),
    }
}

/// Adapts the sets to the present types and forgets those of unknown versions.
pub(super) fn reconcile_all(entries: &mut Vec<Entry>, versions: &dyn Versions) {
    entries.retain_mut(|entry| match versions.type_of(&entry.api_version) {
        Some(ty) => {
            reconcile(&mut entry.fields, ty);
            true
        }
        None => false,
    });
}

/// What changed, seen in each version in which something is owned.
pub(super) struct Deltas<'a> {
    pub request: &'a str,
    pub of_request: Delta,
    /// `None` for a version into which the object cannot be brought any more.
    pub others: Vec<(Text, Option<Delta>)>,
}

impl Deltas<'_> {
    /// Removes what changed or went from every entry, and entries that own nothing then.
    fn take_from(
        &mut self,
        entries: &mut Vec<Entry>,
        old: Option<&Value>,
        new: &Value,
        versions: &dyn Versions,
    ) -> Result<(), TrackError> {
        for entry in entries.iter_mut() {
            match self.in_version(&entry.api_version, old, new, versions)? {
                Some(delta) => {
                    entry.fields.subtract(&delta.changed);
                    entry.fields.subtract(&delta.removed);
                }
                None => entry.fields = FieldSet::new(),
            }
        }
        entries.retain(|entry| !entry.fields.is_empty());
        Ok(())
    }

    pub(super) fn in_version(
        &mut self,
        api_version: &str,
        old: Option<&Value>,
        new: &Value,
        versions: &dyn Versions,
    ) -> Result<Option<&Delta>, TrackError> {
        if api_version == self.request {
            return Ok(Some(&self.of_request));
        }
        let known = self.others.iter().position(|(version, _)| version == api_version);
        if known.is_none() {
            let delta = converted_delta(api_version, old, new, versions)?;
            self.others.push((api_version.into(), delta));
        }
        Ok(self.others[known.unwrap_or(self.others.len() - 1)].1.as_ref())
    }
}

/// DIFFERENCE: the reference gives up when the converted object has duplicates in a set or list map.
fn converted_delta(
    api_version: &str,
    old: Option<&Value>,
    new: &Value,
    versions: &dyn Versions,
) -> Result<Option<Delta>, TrackError> {
    let Some(ty) = versions.type_of(api_version) else { return Ok(None) };
    let convert = |which, object: &Value| match versions.convert(object, api_version) {
        Ok(converted) => Ok(Some(converted)),
        Err(ConvertError::UnknownVersion) => Ok(None),
        Err(error) => Err(TrackError::Convert(which, error)),
    };
    let old = match old {
        None => None,
        Some(old) => match convert("old", old)? {
            Some(old) => Some(old),
            None => return Ok(None),
        },
    };
    let Some(new) = convert("new", new)? else { return Ok(None) };
    let reset = versions.reset_fields(api_version);
    Ok(Some(compare::compare(ty, old.as_ref(), Some(&new), reset)?))
}

/// Merges the oldest entries of updates, version by version, until few enough are left.
fn cap_update_managers(entries: &mut Vec<Entry>) {
    let is_update = |entry: &Entry| entry.operation == Operation::Update;
    let mut count = entries.iter().filter(|entry| is_update(entry)).count();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    let all = std::mem::take(entries);
    let (mut updates, applies): (Vec<Entry>, Vec<Entry>) = all.into_iter().partition(is_update);
    *entries = applies;
    updates.sort_by_cached_key(|entry| (entry.time.clone(), entry.identifier()));
    let (mut buckets, updates): (Vec<Entry>, Vec<Entry>) = updates.into_iter().partition(is_bucket);
    // The bucket of a version is what was merged before, or else becomes its oldest entry.
    // DIFFERENCE: when its turn to be merged comes, the reference loses it.
    let mut oldest: Vec<Entry> = Vec::new();
    for entry in updates {
        let in_version = |candidate: &&mut Entry| candidate.api_version == entry.api_version;
        if count <= MAX_UPDATE_MANAGERS {
            entries.push(entry);
        } else if let Some(bucket) = buckets.iter_mut().find(in_version) {
            // A bucket that is younger than the first entry of its version does not take that one.
            if entry.time < bucket.time && !oldest.iter_mut().any(|first| in_version(&first)) {
                oldest.push(entry);
                continue;
            }
            bucket.fields.union(entry.fields);
            bucket.time = entry.time;
            count -= 1;
        } else if let Some(index) = oldest.iter_mut().position(|first| in_version(&first)) {
            let mut bucket = oldest.swap_remove(index);
            bucket.manager = Text::const_new(OLD_UPDATES_MANAGER);
            bucket.subresource = Text::default();
            bucket.fields.union(entry.fields);
            bucket.time = entry.time;
            buckets.push(bucket);
            count -= 1;
        } else {
            oldest.push(entry);
        }
    }
    entries.append(&mut oldest);
    entries.append(&mut buckets);
}

fn is_bucket(entry: &Entry) -> bool {
    entry.manager == OLD_UPDATES_MANAGER && entry.subresource.is_empty()
}

/// The entries to go on from: those the request gives when it may and does, else those of the live object.
fn live_or_given(live: Option<&Value>, given: Option<Value>, subresource: &str) -> Vec<Entry> {
    let stored = live.and_then(managed_fields).unwrap_or_default();
    let decode_stored = || entry::decode(stored.to_vec(), Origin::Stored).unwrap_or_default();
    let Some(Value::Array(given)) = given else { return decode_stored() };
    if given == stored && !given.is_empty() {
        return entry::decode(given, Origin::Stored).unwrap_or_default();
    }
    if !subresource.is_empty() {
        return decode_stored();
    }
    if is_reset(&given) {
        return Vec::new();
    }
    match entry::decode(given, Origin::Foreign) {
        Ok(entries) if !entries.is_empty() => entries,
        // Clients that do not understand the field must not destroy it by accident.
        _ => decode_stored(),
    }
}

/// An empty list, or one empty entry, asks for the owners to be cleared.
fn is_reset(given: &[Value]) -> bool {
    let is_blank = |value: &Value| matches!(value, Value::Null) || value.as_str() == Some("");
    match given {
        [] => true,
        [Value::Object(entry)] => entry.iter().all(|(name, value)| match name {
            "manager" | "operation" | "apiVersion" | "time" | "fieldsType" | "subresource" => is_blank(value),
            "fieldsV1" => value.is_null(),
            _ => true,
        }),
        _ => false,
    }
}

/// Whether a list of entries, such as a webhook returns, can be read.
pub fn validate_managed_fields(object: &Value) -> Result<(), EntryError> {
    let list = managed_fields(object).unwrap_or_default();
    entry::decode(list.to_vec(), Origin::Foreign).map(drop)
}

/// Puts back the times of the owners when nothing but them has changed, so that the write is none.
/// Returns whether it was so.
///
/// Upstream: apiserver/pkg/endpoints/handlers/fieldmanager/equality.go, v1.36.
pub fn restore_times_if_unchanged(live: &Value, new: &mut Value) -> bool {
    let (Some(old_list), Some(new_list)) = (managed_fields(live), managed_fields(new)) else { return false };
    let unchanged = old_list.len() == new_list.len()
        && old_list != new_list
        && old_list.iter().zip(new_list).all(|(old, new)| equal_without(old, new, "time"))
        && equal_without_managed_fields(live, new);
    if unchanged {
        let restored = old_list.to_vec();
        if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("managedFields", restored);
        }
    }
    unchanged
}

fn equal_without_managed_fields(left: &Value, right: &Value) -> bool {
    let metadata = |object| Value::get(object, "metadata");
    let same_metadata = match (metadata(left), metadata(right)) {
        (Some(left), Some(right)) => equal_without(left, right, "managedFields"),
        (left, right) => left.is_none() && right.is_none(),
    };
    same_metadata && equal_without(left, right, "metadata")
}

/// Whether two objects are equal but for one member.
fn equal_without(left: &Value, right: &Value, member: &str) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { return left == right };
    let others = |map: &Map| map.len() - usize::from(map.contains_key(member));
    let same = |(name, value): (&str, &Value)| name == member || right.get(name) == Some(value);
    others(left) == others(right) && left.iter().all(same)
}

fn uid(object: &Value) -> &str {
    object.at(&["metadata", "uid"]).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn managed_fields(object: &Value) -> Option<&[Value]> {
    object.at(&["metadata", "managedFields"])?.as_array()
}

pub(super) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

pub(super) fn set_managed_fields(object: &mut Value, entries: Vec<Entry>) {
    if entries.is_empty() {
        return;
    }
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.get_or_insert_with("metadata", || Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields", entry::encode(entries));
    }
}

#[cfg(test)]
mod tests;
