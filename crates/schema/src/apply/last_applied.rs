//! The way from client-side to server-side apply, for `kubectl` alone.
//!
//! The annotation with the configuration last applied by the client says which fields it already manages:
//! conflicts over those are none. Once the server manages them, it keeps the annotation up to date for
//! clients that go back.
//!
//! Upstream: managedfields/internal/{lastappliedmanager,lastappliedupdater}.go, v1.36.

use meta::{Map, Value};

use super::compare;
use super::conflict::Conflict;
use super::fieldset::FieldSet;
use super::managers::ManagerInfo;
use super::typed::{self, Duplicates};
use super::versions::Versions;

/// The only manager for which the annotation counts.
pub(super) const MANAGER: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// All annotations of an object together, names and values.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// The conflicts that the annotation of the live object does not explain.
pub(super) fn unexpected(
    mut conflicts: Vec<Conflict>,
    live: Option<&Value>,
    info: &ManagerInfo<'_>,
    versions: &dyn Versions,
) -> Vec<Conflict> {
    let Some(applied) = live.and_then(|live| applied_and_kept(live, info, versions)) else {
        return conflicts;
    };
    for conflict in &mut conflicts {
        conflict.fields.subtract(&applied);
    }
    conflicts.retain(|conflict| !conflict.fields.is_empty());
    conflicts
}

/// The fields of the annotation that still have the values they were applied with.
fn applied_and_kept(live: &Value, info: &ManagerInfo<'_>, versions: &dyn Versions) -> Option<FieldSet> {
    let text = annotation(live)?;
    let applied = meta::wire::json::parse(text.as_bytes()).ok()?.value;
    if applied.get("apiVersion")?.as_str()? != info.api_version {
        return None;
    }
    let ty = versions.type_of(info.api_version)?;
    typed::validate(ty, &applied, Duplicates::Refused).ok()?;
    typed::validate(ty, live, Duplicates::Refused).ok()?;
    let mut fields = typed::all_fields(ty, &applied);
    let delta = compare::compare_all(ty, Some(&applied), Some(live)).ok()?;
    fields.subtract(&delta.changed);
    fields.subtract(&delta.removed);
    Some(fields)
}

/// Writes the configuration into the annotation of an object that has one.
pub(super) fn refresh(object: &mut Value, mut config: Value) {
    if annotation(object).is_none() {
        return;
    }
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let text = meta::wire::json::to_string(&config) + "\n";
    let Some(annotations) = annotations_mut(object) else { return };
    annotations.insert(ANNOTATION, text);
    let size = |(name, value): (&str, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > MAX_ANNOTATIONS_BYTES {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let text = object.at(&["metadata", "annotations", ANNOTATION])?.as_str()?;
    (!text.is_empty()).then_some(text)
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
