//! Removes what a manager applied before and does not apply any more, unless somebody else wants it.
//!
//! Upstream: structured-merge-diff/v6/merge/update.go (`prune`), v1.36.

use std::borrow::Cow;

use meta::{Map, Text, Value};

use super::entry::Entry;
use super::fieldset::{FieldSet, has_children};
use super::merge;
use super::typed;
use super::typedef::{TypeDef, TypeRef};
use super::versions::{ConvertError, Versions};

/// An object in a version.
#[derive(Clone)]
struct Versioned {
    object: Value,
    api_version: Text,
}

impl Versioned {
    fn convert(&self, api_version: &str, versions: &dyn Versions) -> Result<Cow<'_, Self>, ConvertError> {
        if self.api_version == api_version {
            return Ok(Cow::Borrowed(self));
        }
        let object = versions.convert(&self.object, api_version)?;
        Ok(Cow::Owned(Versioned { object, api_version: api_version.into() }))
    }
}

/// Prunes `merged`, an object in the version of `own`, the manager's new entry. `last` is what the manager
/// owned before, `others` are the other managers.
pub(super) fn prune(
    merged: Value,
    own: &Entry,
    last: &Entry,
    others: &[Entry],
    versions: &dyn Versions,
) -> Result<Value, String> {
    let in_version = |entry: &Entry| entry.api_version == own.api_version;
    if in_version(last) && others.iter().all(in_version) && last.fields.is_subset(&own.fields) {
        // Everything that would go would be put back.
        // DIFFERENCE: the reference removes a struct that is applied as `{}` again when it holds an empty list
        // and other fields that nobody owns.
        return Ok(merged);
    }
    let merged = Versioned { object: merged, api_version: own.api_version.clone() };
    let (Some(ty), false) = (versions.type_of(&last.api_version), last.fields.is_empty()) else {
        return Ok(merged.object);
    };
    let base = match merged.convert(&last.api_version, versions) {
        Ok(base) => base.into_owned(),
        Err(ConvertError::UnknownVersion) => return Ok(merged.object),
        Err(error) => {
            return Err(format!("failed to convert merged object to last applied version: {error}"));
        }
    };
    let last_fields = with_structs(&last.fields, ty);

    let mut pruned = base.clone();
    merge::remove(ty, &mut pruned.object, &last_fields);
    let pruned = add_back_owned(&base, pruned, others.iter().chain([own]), versions)
        .map_err(|error| format!("failed add back owned items: {error}"))?;
    let result = add_back_dangling(base, &pruned, ty, &last_fields, versions)
        .map_err(|error| format!("failed add back dangling items: {error}"))?;
    match result.convert(&own.api_version, versions) {
        Ok(converted) => Ok(converted.into_owned().object),
        Err(error) => Err(error.to_string()),
    }
}

/// Puts back what any manager owns, the applying one with its new configuration included.
fn add_back_owned<'a>(
    base: &Versioned,
    mut pruned: Versioned,
    entries: impl Iterator<Item = &'a Entry>,
    versions: &dyn Versions,
) -> Result<Versioned, String> {
    // The version of the object comes first: conversions of a pruned object may lack what they need.
    let mut owned: Vec<(Text, FieldSet)> = vec![(base.api_version.clone(), FieldSet::new())];
    for entry in entries {
        match owned.iter_mut().find(|(version, _)| *version == entry.api_version) {
            Some((_, fields)) => fields.union(entry.fields.clone()),
            None => owned.push((entry.api_version.clone(), entry.fields.clone())),
        }
    }
    let mut merged = base.clone();
    for (version, fields) in owned.iter().filter(|(_, fields)| !fields.is_empty()) {
        let Some(ty) = versions.type_of(version) else { continue };
        let in_version = |what: &str, object: &Versioned| match object.convert(version, versions) {
            Ok(converted) => Ok(Some(converted.into_owned())),
            Err(ConvertError::UnknownVersion) => Ok(None),
            Err(error) => Err(format!("failed to convert {what} object at version {version}: {error}")),
        };
        let Some(merged_there) = in_version("merged", &merged)? else { continue };
        merged = merged_there;
        let Some(pruned_there) = in_version("pruned", &pruned)? else { continue };
        let mut going = mentioned(ty, &merged.object);
        going.subtract(&mentioned(ty, &pruned_there.object));
        going.subtract(&with_structs(fields, ty));
        pruned = merged.clone();
        merge::remove(ty, &mut pruned.object, &going);
    }
    Ok(pruned)
}

/// Puts back what the manager had not applied itself: it may belong to nobody, but is not its to remove.
fn add_back_dangling(
    mut base: Versioned,
    pruned: &Versioned,
    ty: &TypeRef,
    last_fields: &FieldSet,
    versions: &dyn Versions,
) -> Result<Versioned, String> {
    let pruned = match pruned.convert(&base.api_version, versions) {
        Ok(pruned) => pruned,
        Err(ConvertError::UnknownVersion) => return Ok(base),
        Err(error) => {
            return Err(format!("failed to convert pruned object to last applied version: {error}"));
        }
    };
    let mut going = mentioned(ty, &base.object);
    going.subtract(&mentioned(ty, &pruned.object));
    merge::remove(ty, &mut base.object, &going.intersection(last_fields));
    Ok(base)
}

/// The fields of an object, with the structs that hold them.
fn mentioned(ty: &TypeRef, object: &Value) -> FieldSet {
    let mut fields = typed::all_fields(ty, object);
    name_structs(fields.root_mut(), Some(ty.def()));
    fields
}

fn with_structs(fields: &FieldSet, ty: &TypeRef) -> FieldSet {
    let mut fields = fields.clone();
    name_structs(fields.root_mut(), Some(ty.def()));
    fields
}

/// Makes each declared field that has members below it a member too. A set says of a struct only which of
/// its fields it has; to remove the last of them is to remove the struct.
fn name_structs(node: &mut Map, def: Option<&TypeDef>) {
    let Some(def) = def else { return };
    for (element, child) in node.iter_mut() {
        let Some(child) = child.as_object_mut().filter(|child| has_children(child)) else { continue };
        let below = match (element.split_once(':'), &def.map, &def.list) {
            (Some(("f", name)), Some(map), _) => {
                if map.field(name).is_some() {
                    child.insert(Text::const_new("."), Map::new());
                }
                map.member(name)
            }
            (Some(("k", _)), _, Some(list)) => Some(&list.element),
            _ => None,
        };
        name_structs(child, below.map(TypeRef::def));
    }
}
