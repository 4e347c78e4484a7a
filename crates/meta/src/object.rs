//! What every object has: `apiVersion`, `kind` and `metadata`, read and written in place.
//!
//! Relies on metadata that passed [`coerce`]; of anything else the getters see an absent field.
//! Setters keep the form the reference writes: empty values are left out.

mod coerce;
mod validate;

use jiff::Timestamp;

pub use coerce::{CoerceError, Coerced, Malformed, MetaOwner, coerce};
pub use validate::{
    FIELD_IMMUTABLE, MANAGER_MAX_BYTES, NamespaceRule, TOTAL_ANNOTATIONS_MAX_BYTES, validate_annotations,
    validate_field_manager, validate_finalizers, validate_labels, validate_object_meta,
    validate_object_meta_update,
};

use crate::gvk::{ApiVersionError, Gvk, parse_api_version};
use crate::{Map, Text, Value, time};

/// Finalizer of a foreground deletion.
pub const FINALIZER_DELETE_DEPENDENTS: &str = "foregroundDeletion";

/// Finalizer of a deletion that orphans dependents.
pub const FINALIZER_ORPHAN_DEPENDENTS: &str = "orphan";

/// `apiVersion`, or nothing when it is missing or no string.
pub fn api_version(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
}

/// `kind`, or nothing when it is missing or no string.
pub fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// The kind an object says it is.
pub fn gvk(object: &Value) -> Result<Gvk, ApiVersionError> {
    parse_api_version(api_version(object)).map(|version| version.with_kind(kind(object)))
}

/// Writes `apiVersion` and `kind`.
pub fn set_gvk(object: &mut Map, gvk: &Gvk) {
    object.insert("apiVersion", gvk.api_version());
    object.insert("kind", gvk.kind.clone());
}

/// A view of an object's metadata.
#[derive(Clone, Copy, Debug)]
pub struct Meta<'a> {
    map: Option<&'a Map>,
}

/// One owner of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
    pub uid: &'a str,
    pub controller: Option<bool>,
    pub block_owner_deletion: Option<bool>,
}

impl<'a> Meta<'a> {
    /// The metadata of an object; everything is absent when it has none.
    ///
    /// ```
    /// use crest_meta::{Meta, wire::json};
    /// let object = json::parse(br#"{"metadata": {"name": "a", "labels": {"x": "1"}}}"#).unwrap().value;
    /// let meta = Meta::of(&object);
    /// assert_eq!((meta.name(), meta.namespace(), meta.label("x")), ("a", "", Some("1")));
    /// ```
    pub fn of(object: &'a Value) -> Self {
        Meta { map: object.get("metadata").and_then(Value::as_object) }
    }

    /// A view of a metadata object itself.
    pub fn new(metadata: &'a Map) -> Self {
        Meta { map: Some(metadata) }
    }

    pub fn get(self, field: &str) -> Option<&'a Value> {
        self.map.and_then(|map| map.get(field))
    }

    fn text(self, field: &str) -> &'a str {
        self.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn name(self) -> &'a str {
        self.text("name")
    }

    pub fn generate_name(self) -> &'a str {
        self.text("generateName")
    }

    pub fn namespace(self) -> &'a str {
        self.text("namespace")
    }

    pub fn uid(self) -> &'a str {
        self.text("uid")
    }

    pub fn resource_version(self) -> &'a str {
        self.text("resourceVersion")
    }

    /// Zero when absent.
    pub fn generation(self) -> i64 {
        self.get("generation").and_then(Value::as_int).unwrap_or_default()
    }

    pub fn creation_timestamp(self) -> Option<&'a str> {
        self.get("creationTimestamp").and_then(Value::as_str)
    }

    /// Present on an object that is being deleted.
    pub fn deletion_timestamp(self) -> Option<&'a str> {
        self.get("deletionTimestamp").and_then(Value::as_str)
    }

    pub fn is_terminating(self) -> bool {
        self.deletion_timestamp().is_some()
    }

    pub fn deletion_grace_period_seconds(self) -> Option<i64> {
        self.get("deletionGracePeriodSeconds").and_then(Value::as_int)
    }

    pub fn labels(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts_of("labels")
    }

    pub fn label(self, key: &str) -> Option<&'a str> {
        self.get("labels")?.get(key)?.as_str()
    }

    pub fn annotations(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.texts_of("annotations")
    }

    pub fn annotation(self, key: &str) -> Option<&'a str> {
        self.get("annotations")?.get(key)?.as_str()
    }

    fn texts_of(self, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let map = self.get(field).and_then(Value::as_object);
        map.into_iter().flat_map(Map::iter).filter_map(|(key, value)| Some((key, value.as_str()?)))
    }

    fn list(self, field: &str) -> &'a [Value] {
        self.get(field).and_then(Value::as_array).unwrap_or_default()
    }

    pub fn finalizers(self) -> impl Iterator<Item = &'a str> {
        self.list("finalizers").iter().filter_map(Value::as_str)
    }

    pub fn has_finalizer(self, name: &str) -> bool {
        self.finalizers().any(|finalizer| finalizer == name)
    }

    pub fn owner_references(self) -> impl Iterator<Item = OwnerReference<'a>> {
        self.list("ownerReferences").iter().map(OwnerReference::read)
    }

    /// The entries as they are; server-side apply gives them a meaning.
    pub fn managed_fields(self) -> &'a [Value] {
        self.list("managedFields")
    }
}

impl<'a> OwnerReference<'a> {
    fn read(value: &'a Value) -> Self {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let flag = |field: &str| value.get(field).and_then(Value::as_bool);
        OwnerReference {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            controller: flag("controller"),
            block_owner_deletion: flag("blockOwnerDeletion"),
        }
    }
}

/// An object's metadata, to be changed.
#[derive(Debug)]
pub struct MetaMut<'a> {
    map: &'a mut Map,
}

impl<'a> MetaMut<'a> {
    /// The metadata of an object, made when it is missing. `None` when this is no object.
    pub fn of(object: &'a mut Value) -> Option<Self> {
        object.as_object_mut().map(MetaMut::within)
    }

    /// The metadata among an object's members, made when it is missing or no object.
    pub fn within(object: &'a mut Map) -> Self {
        let metadata = object.get_or_insert_with("metadata", || Value::Object(Map::new()));
        if metadata.as_object().is_none() {
            *metadata = Value::Object(Map::new());
        }
        MetaMut { map: metadata.as_object_mut().expect("it was just made one") }
    }

    /// A metadata object itself.
    pub fn new(metadata: &'a mut Map) -> Self {
        MetaMut { map: metadata }
    }

    pub fn view(&self) -> Meta<'_> {
        Meta::new(self.map)
    }

    /// Sets a field, or removes it when there is no value.
    pub fn set(&mut self, field: &str, value: Option<Value>) {
        match value {
            Some(value) => self.map.insert(field, value),
            None => self.map.remove(field),
        };
    }

    fn set_text(&mut self, field: &str, text: &str) {
        self.set(field, (!text.is_empty()).then(|| Value::from(text)));
    }

    pub fn set_name(&mut self, name: &str) {
        self.set_text("name", name);
    }

    pub fn set_generate_name(&mut self, prefix: &str) {
        self.set_text("generateName", prefix);
    }

    pub fn set_namespace(&mut self, namespace: &str) {
        self.set_text("namespace", namespace);
    }

    pub fn set_uid(&mut self, uid: &str) {
        self.set_text("uid", uid);
    }

    pub fn set_self_link(&mut self, link: &str) {
        self.set_text("selfLink", link);
    }

    pub fn set_resource_version(&mut self, version: &str) {
        self.set_text("resourceVersion", version);
    }

    /// Zero removes it.
    pub fn set_generation(&mut self, generation: i64) {
        self.set("generation", (generation != 0).then_some(Value::Int(generation)));
    }

    pub fn set_creation_timestamp(&mut self, time: Option<Timestamp>) {
        self.set("creationTimestamp", time.map(|time| Value::String(time::format(time))));
    }

    pub fn set_deletion_timestamp(&mut self, time: Option<Timestamp>) {
        self.set("deletionTimestamp", time.map(|time| Value::String(time::format(time))));
    }

    pub fn set_deletion_grace_period_seconds(&mut self, seconds: Option<i64>) {
        self.set("deletionGracePeriodSeconds", seconds.map(Value::Int));
    }

    pub fn set_label(&mut self, key: &str, value: &str) {
        self.set_entry("labels", key, value);
    }

    pub fn remove_label(&mut self, key: &str) {
        self.remove_entry("labels", key);
    }

    pub fn set_annotation(&mut self, key: &str, value: &str) {
        self.set_entry("annotations", key, value);
    }

    pub fn remove_annotation(&mut self, key: &str) {
        self.remove_entry("annotations", key);
    }

    fn set_entry(&mut self, field: &str, key: &str, value: &str) {
        let entries = self.map.get_or_insert_with(field, || Value::Object(Map::new()));
        if let Some(entries) = entries.as_object_mut() {
            entries.insert(key, value);
        } else {
            *entries = Value::Object([(key, Value::from(value))].into_iter().collect());
        }
    }

    fn remove_entry(&mut self, field: &str, key: &str) {
        let Some(entries) = self.map.get_mut(field).and_then(Value::as_object_mut) else { return };
        entries.remove(key);
        if entries.is_empty() {
            self.map.remove(field);
        }
    }

    pub fn set_finalizers<I: IntoIterator<Item = T>, T: Into<Text>>(&mut self, names: I) {
        let names = names.into_iter().map(|name| Value::String(name.into())).collect();
        self.set_list("finalizers", names);
    }

    pub fn add_finalizer(&mut self, name: &str) {
        if !self.view().has_finalizer(name) {
            let mut names: Vec<Text> = self.view().finalizers().map(Text::from).collect();
            names.push(name.into());
            self.set_finalizers(names);
        }
    }

    pub fn remove_finalizer(&mut self, name: &str) {
        if self.view().has_finalizer(name) {
            let kept = self.view().finalizers().filter(|finalizer| *finalizer != name);
            let kept: Vec<Text> = kept.map(Text::from).collect();
            self.set_finalizers(kept);
        }
    }

    pub fn set_owner_references(&mut self, references: Vec<Value>) {
        self.set_list("ownerReferences", references);
    }

    pub fn set_managed_fields(&mut self, entries: Vec<Value>) {
        self.set_list("managedFields", entries);
    }

    fn set_list(&mut self, field: &str, items: Vec<Value>) {
        self.set(field, (!items.is_empty()).then_some(Value::Array(items)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    #[test]
    fn setters_leave_out_what_is_empty() {
        let mut object = json::parse(br#"{"kind":"A","metadata":5}"#).unwrap().value;
        let mut meta = MetaMut::of(&mut object).unwrap();
        meta.set_name("a");
        meta.set_namespace("");
        meta.set_generation(2);
        meta.set_label("k", "v");
        meta.set_annotation("k", "v");
        meta.remove_annotation("k");
        meta.add_finalizer("x/y");
        meta.add_finalizer("x/y");
        meta.add_finalizer("z/y");
        meta.remove_finalizer("x/y");
        meta.set_creation_timestamp(Some(Timestamp::from_second(1).unwrap()));
        meta.set_deletion_grace_period_seconds(Some(0));
        assert_eq!(
            json::to_string(&object),
            r#"{"kind":"A","metadata":{"creationTimestamp":"1970-01-01T00:00:01Z","deletionGracePeriodSeconds":0,"finalizers":["z/y"],"generation":2,"labels":{"k":"v"},"name":"a"}}"#
        );
        let mut meta = MetaMut::of(&mut object).unwrap();
        meta.remove_finalizer("z/y");
        meta.remove_label("k");
        meta.set_generation(0);
        assert!(meta.view().labels().next().is_none());
        assert!(meta.view().get("finalizers").is_none());
        assert!(MetaMut::of(&mut Value::Null).is_none());
    }

    #[test]
    fn getters_read_what_is_there() {
        let object = json::parse(
            br#"{"apiVersion":"g/v1","kind":"A","metadata":{"deletionTimestamp":"t","ownerReferences":[{"name":"n","uid":"u","controller":true}]}}"#,
        )
        .unwrap()
        .value;
        assert_eq!(gvk(&object).unwrap(), Gvk::new("g", "v1", "A"));
        let meta = Meta::of(&object);
        assert!(meta.is_terminating());
        let owners: Vec<_> = meta.owner_references().collect();
        assert_eq!((owners[0].name, owners[0].uid, owners[0].controller), ("n", "u", Some(true)));
        assert_eq!(Meta::of(&Value::Null).name(), "");
    }
}
