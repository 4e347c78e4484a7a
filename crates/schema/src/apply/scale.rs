//! Owners of replicas, seen from an object and from its scale subresource.
//!
//! A Scale is an object of another kind, so its owners are translated: on the way in, who owns the object's
//! replicas owns the Scale's; on the way out, who owns the Scale's replicas owns the object's.
//!
//! Upstream: apimachinery/pkg/util/managedfields/scalehandler.go, v1.36.

use std::sync::LazyLock;

use meta::{Text, Value};

use super::element;
use super::entry::{self, Entry, EntryError, Origin};
use super::fieldset::FieldSet;
use super::typedef::{Field, TypeRef};

const SCALE_API_VERSION: &str = "autoscaling/v1";

/// Where the replicas are in one version of an object: the path of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicasPath {
    pub api_version: Text,
    /// Encoded elements; `None` when the version has no scale subresource.
    path: Option<Vec<Text>>,
}

impl ReplicasPath {
    /// `fields`: the names on the way to the replicas, such as `spec` and `replicas`.
    pub fn new(api_version: impl Into<Text>, fields: Option<&[&str]>) -> Self {
        let path = fields.map(|fields| fields.iter().map(|name| element::field(name)).collect());
        ReplicasPath { api_version: api_version.into(), path }
    }

    fn fields(&self) -> FieldSet {
        let mut fields = FieldSet::new();
        fields.insert(self.path.as_deref().unwrap_or_default());
        fields
    }

    fn is_in(&self, fields: &FieldSet) -> bool {
        self.path.as_ref().is_some_and(|path| fields.contains(path))
    }
}

/// The type of a Scale.
pub fn scale_type() -> TypeRef {
    static SCALE: LazyLock<TypeRef> = LazyLock::new(|| {
        let spec = TypeRef::object([Field::new("replicas", TypeRef::numeric())]);
        let status = TypeRef::object([
            Field::new("replicas", TypeRef::numeric()),
            Field::new("selector", TypeRef::string()),
        ]);
        TypeRef::root([Field::new("spec", spec), Field::new("status", status)], None)
    });
    SCALE.clone()
}

/// The `managedFields` of the Scale of an object with the given ones.
pub fn owners_of_scale(parent: &[Value], paths: &[ReplicasPath]) -> Result<Vec<Value>, EntryError> {
    let owns_replicas =
        |entry: &Entry| path_in(paths, &entry.api_version).is_some_and(|path| path.is_in(&entry.fields));
    let entries = entry::decode(parent.to_vec(), Origin::Stored)?.into_iter().filter(owns_replicas);
    let translated = entries.map(|entry| Entry {
        api_version: Text::const_new(SCALE_API_VERSION),
        fields: replicas_of_scale().clone(),
        ..entry
    });
    Ok(entry::encode(translated.collect()))
}

/// The `managedFields` of an object in `api_version` after its Scale was written and has the given ones.
/// Entries of versions that are in no path are dropped.
pub fn owners_of_parent(
    parent: &[Value],
    scale: &[Value],
    api_version: &str,
    paths: &[ReplicasPath],
) -> Result<Vec<Value>, EntryError> {
    let mut of_scale = entry::decode(scale.to_vec(), Origin::Foreign)?;
    let mut entries = Vec::new();
    let mut known_times = Vec::new();
    for mut entry in entry::decode(parent.to_vec(), Origin::Stored)? {
        known_times.push(entry.without_fields());
        let Some(path) = path_in(paths, &entry.api_version) else { continue };
        if path.is_in(&entry.fields) {
            match of_scale.iter().position(|known| known.is_same_manager(&entry)) {
                Some(index) => _ = of_scale.remove(index),
                None => entry.fields.subtract(&path.fields()),
            }
        }
        if !entry.fields.is_empty() {
            entries.push(entry);
        }
    }
    let Some(path) = path_in(paths, api_version) else { return Ok(entry::encode(entries)) };
    for mut entry in of_scale {
        if entry.fields.intersection(replicas_of_scale()).is_empty() {
            continue;
        }
        // Only the times of the object count, and the new owner is mostly not among them.
        let known = known_times.iter().find(|known| known.is_same_manager(&entry));
        entry.time = known.map(|known| known.time.clone()).unwrap_or_default();
        entry.api_version = api_version.into();
        entry.fields = path.fields();
        entries.push(entry);
    }
    Ok(entry::encode(entries))
}

fn path_in<'a>(paths: &'a [ReplicasPath], api_version: &str) -> Option<&'a ReplicasPath> {
    paths.iter().find(|path| path.api_version == api_version)
}

fn replicas_of_scale() -> &'static FieldSet {
    static REPLICAS: LazyLock<FieldSet> =
        LazyLock::new(|| FieldSet::of_fields([["spec", "replicas"].as_slice()]));
    &REPLICAS
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::apply::testing::{json, text};
    use crate::apply::{ManagerInfo, ResetFields, SingleVersion, track_update};

    fn paths() -> [ReplicasPath; 2] {
        [ReplicasPath::new("g/v1", Some(&["spec", "count"])), ReplicasPath::new("g/v2", None)]
    }

    fn parent() -> Vec<Value> {
        let list = json(
            "[{'manager':'one','operation':'Apply','apiVersion':'g/v1','time':'2020-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:count':{},'f:x':{}}}},
              {'manager':'two','operation':'Update','apiVersion':'g/v1','time':'2020-01-01T00:00:00Z','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:count':{}}}},
              {'manager':'three','operation':'Update','apiVersion':'g/v2','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:y':{}}}},
              {'manager':'gone','operation':'Update','apiVersion':'g/v0','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:count':{}}}}]",
        );
        list.as_array().unwrap().to_vec()
    }

    fn lines(list: &[Value]) -> String {
        list.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_scale_belongs_to_the_owners_of_the_replicas() {
        expect![[r"
            {'apiVersion':'autoscaling/v1','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:replicas':{}}},'manager':'one','operation':'Apply','time':'2020-01-01T00:00:00Z'}
            {'apiVersion':'autoscaling/v1','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:replicas':{}}},'manager':'two','operation':'Update','time':'2020-01-01T00:00:00Z'}"]]
        .assert_eq(&lines(&owners_of_scale(&parent(), &paths()).unwrap()));
    }

    #[test]
    fn who_scales_takes_the_replicas_of_the_object() {
        let mut live = json(
            "{'apiVersion':'autoscaling/v1','kind':'Scale','metadata':{'uid':'u'},'spec':{'replicas':1}}",
        );
        let owners = owners_of_scale(&parent(), &paths()).unwrap();
        live.get_mut("metadata").and_then(Value::as_object_mut).unwrap().insert("managedFields", owners);
        let mut new = live.clone();
        new.as_object_mut().unwrap().insert("spec", json("{'replicas':5}"));
        let kind = SingleVersion {
            api_version: SCALE_API_VERSION.to_owned(),
            ty: scale_type(),
            reset: ResetFields::new(&[]),
            empty: None,
        };
        let info = ManagerInfo {
            manager: "hpa",
            api_version: SCALE_API_VERSION,
            subresource: "scale",
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        track_update(Some(&live), &mut new, &info, &kind).unwrap();
        let of_scale = new.at(&["metadata", "managedFields"]).unwrap().as_array().unwrap();
        expect![[r"
            {'apiVersion':'g/v1','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:x':{}}},'manager':'one','operation':'Apply','time':'2020-01-01T00:00:00Z'}
            {'apiVersion':'g/v1','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:count':{}}},'manager':'hpa','operation':'Update','subresource':'scale'}
            {'apiVersion':'g/v2','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{'f:y':{}}},'manager':'three','operation':'Update'}"]]
        .assert_eq(&lines(&owners_of_parent(&parent(), of_scale, "g/v1", &paths()).unwrap()));
    }

    #[test]
    fn an_applier_that_still_owns_the_scale_keeps_its_fields() {
        let of_scale = owners_of_scale(&parent(), &paths()).unwrap();
        let owners = owners_of_parent(&parent(), &of_scale, "g/v1", &paths()).unwrap();
        assert_eq!(owners[0], parent()[0]);
    }
}
