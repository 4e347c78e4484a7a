//! An object as it is kept in memory: its encoded form plus the few facts that reads need.
//!
//! What is stored carries no resource version (the store's revision is it, as in etcd); it is spliced in
//! once, when the object enters the cache, so that a GET sends these very bytes.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use meta::Text;
use parking_lot::Mutex;
use store::Revision;

use crate::codec;
use crate::skim::{Scalar, Skim, Splice, scalar, skim};

/// One version of one object.
#[derive(Debug)]
pub struct Object {
    pub revision: Revision,
    bytes: Bytes,
    api_version: Range<u32>,
    metadata: Range<u32>,
    name: Range<u32>,
    namespace: Range<u32>,
    uid: Range<u32>,
    body_start: u32,
    pub deleting: bool,
    labels: Box<[(Text, Text)]>,
    /// What has been read of the fields that clients may select by; most kinds have none.
    fields: Option<Box<FieldValues>>,
    views: Mutex<Vec<(u64, Option<Arc<Object>>)>>,
}

/// The values of selectable fields, in the order of the paths they were read by. Those may be older than the
/// definition that is asked about.
#[derive(Clone, Debug)]
struct FieldValues {
    paths: Arc<FieldPaths>,
    values: Box<[Text]>,
}

/// Reads what is no JSON: kube-apiserver stores built-in kinds in their binary form. `None`: nobody can.
pub type Foreign = fn(&[u8]) -> Option<Vec<u8>>;

/// Takes a stored value, whoever wrote it.
pub(crate) fn read(
    stored: &[u8],
    revision: Revision,
    paths: &Arc<FieldPaths>,
    foreign: Foreign,
) -> Option<Object> {
    let text = stored.trim_ascii(); // kube-apiserver ends its texts with a line break
    if memchr::memchr2(b'\n', b'\r', text).is_some()
        && let Ok(parsed) = meta::wire::json::parse(text)
    {
        // Written by hand: an event of a watch is one line.
        return Object::new(&codec::encode(&parsed.value), revision, paths);
    }
    match Object::new(text, revision, paths) {
        Some(object) => Some(object),
        None => Object::new(&foreign(stored)?, revision, paths),
    }
}

/// Bound: descriptions for which an object remembers how they show it.
const REMEMBERED_VIEWS: usize = 4;

impl Object {
    /// Takes a stored text; `None` when it is not an object with metadata.
    pub fn new(stored: &[u8], revision: Revision, paths: &Arc<FieldPaths>) -> Option<Self> {
        let found = skim(stored)?;
        let version = itoa::Buffer::new().format(revision.0).to_owned();
        let text = splice_version(stored, &found.resource_version, &version);
        let shift = Shift::of(&found, text.len().cast_signed() - stored.len().cast_signed());
        Some(Object {
            revision,
            api_version: shift.range(&found.api_version)?,
            metadata: shift.range(&found.metadata)?,
            name: shift.range(&found.name)?,
            namespace: shift.range(&found.namespace)?,
            uid: shift.range(&found.uid)?,
            body_start: u32::try_from(found.body_start.unwrap_or(0)).ok()?,
            deleting: found.deleting,
            labels: found.labels.into_boxed_slice(),
            fields: paths.read(&text).map(Box::new),
            views: Mutex::default(),
            bytes: Bytes::from(text.into_boxed_slice()),
        })
    }

    /// The object as the description with this number shows it, made once and remembered. `make` gives
    /// `None` when it shows it as it is stored.
    pub fn view(
        self: &Arc<Self>,
        description: u64,
        make: impl FnOnce(&Object) -> Option<Object>,
    ) -> Arc<Object> {
        if let Some(known) = self.known_view(description) {
            return known;
        }
        let made = make(self).map(Arc::new); // not under the lock: it reads the whole object
        self.remember_view(description, made.clone());
        made.unwrap_or_else(|| self.clone())
    }

    /// How a description shows the object, if that has been found out already.
    pub fn known_view(self: &Arc<Self>, description: u64) -> Option<Arc<Object>> {
        let views = self.views.lock();
        let (_, view) = views.iter().find(|(of, _)| *of == description)?;
        Some(view.clone().unwrap_or_else(|| self.clone()))
    }

    /// Keeps in mind how a description shows the object; `None`: as it is stored.
    pub fn remember_view(&self, description: u64, view: Option<Arc<Object>>) {
        let mut views = self.views.lock();
        views.retain(|(of, _)| *of != description);
        if views.len() == REMEMBERED_VIEWS {
            views.remove(0);
        }
        views.push((description, view));
    }

    /// The same object with another text: how a description shows it.
    pub fn with_text(&self, text: &[u8]) -> Option<Self> {
        let paths = self.fields.as_ref().map(|known| known.paths.clone()).unwrap_or_default();
        Object::new(text, self.revision, &paths)
    }

    /// The same object under another revision: how a watcher sees it leave.
    pub fn at_revision(&self, revision: Revision) -> Option<Self> {
        let mut object = Object::new(&self.bytes, revision, &Arc::default())?;
        object.fields.clone_from(&self.fields);
        Some(object)
    }

    /// The same object with its selectable fields read by other paths.
    pub(crate) fn with_fields(&self, paths: &Arc<FieldPaths>) -> Self {
        Object {
            revision: self.revision,
            bytes: self.bytes.clone(),
            api_version: self.api_version.clone(),
            metadata: self.metadata.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            uid: self.uid.clone(),
            body_start: self.body_start,
            deleting: self.deleting,
            labels: self.labels.clone(),
            fields: paths.read(&self.bytes).map(Box::new),
            views: Mutex::new(self.views.lock().clone()),
        }
    }

    /// The whole object with its resource version, in the version it is stored in.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The object without `apiVersion` and `kind`, in two pieces to be joined: an opening brace is missing
    /// in front. `None` when the text is not in the order our encoder writes.
    pub fn body_without_type(&self) -> Option<&[u8]> {
        (self.body_start > 0).then(|| &self.bytes[self.body_start as usize..])
    }

    fn text(&self, range: &Range<u32>) -> &str {
        std::str::from_utf8(&self.bytes[range.start as usize..range.end as usize]).unwrap_or_default()
    }

    pub fn api_version(&self) -> &str {
        self.text(&self.api_version)
    }

    /// The object's text with another `apiVersion` in it: conversion where only the version's name differs.
    pub fn with_api_version(&self, api_version: &str) -> Bytes {
        if self.api_version() == api_version {
            return self.bytes.clone();
        }
        let (start, end) = (self.api_version.start as usize, self.api_version.end as usize);
        let mut text = Vec::with_capacity(self.bytes.len() + api_version.len());
        text.extend_from_slice(&self.bytes[..start]);
        text.extend_from_slice(api_version.as_bytes());
        text.extend_from_slice(&self.bytes[end..]);
        Bytes::from(text)
    }

    /// The text around the value of `apiVersion`, for joining with another one.
    pub fn around_api_version(&self) -> (Bytes, Bytes) {
        (
            self.bytes.slice(..self.api_version.start as usize),
            self.bytes.slice(self.api_version.end as usize..),
        )
    }

    /// The encoded `metadata`.
    pub fn metadata(&self) -> Bytes {
        self.bytes.slice(self.metadata.start as usize..self.metadata.end as usize)
    }

    pub fn name(&self) -> &str {
        self.text(&self.name)
    }

    /// Empty for objects of the cluster.
    pub fn namespace(&self) -> &str {
        self.text(&self.namespace)
    }

    pub fn uid(&self) -> &str {
        self.text(&self.uid)
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(candidate, _)| candidate == key).map(|(_, value)| value.as_str())
    }

    pub fn labels(&self) -> &[(Text, Text)] {
        &self.labels
    }

    /// The value of a selectable field; empty when it has none.
    pub fn field_text(&self, field: &FieldPathSpec) -> Text {
        if let Some(known) = &self.fields
            && let Some(index) = known.paths.position(&field.label)
        {
            return known.values[index].clone();
        }
        scalar_text(scalar(&self.bytes, &field.path))
    }

    /// Whether a selectable field has this value. Mostly it has been read already; a field that became
    /// selectable after the object was kept is read now.
    pub fn field_is(&self, field: &FieldPathSpec, value: &str) -> bool {
        if let Some(known) = &self.fields
            && let Some(index) = known.paths.position(&field.label)
        {
            return known.values[index] == value;
        }
        scalar_text(scalar(&self.bytes, &field.path)) == value
    }
}

/// Puts a resource version into a text at the place a skim has found.
pub(crate) fn splice_version(text: &[u8], splice: &Splice, version: &str) -> Vec<u8> {
    let (start, end, before, after) = match splice {
        Splice::Replace(range) => (range.start, range.end, "", ""),
        Splice::Before(at) => (*at, *at, "\"resourceVersion\":", ","),
        Splice::After(at) => (*at, *at, ",\"resourceVersion\":", ""),
        Splice::Only(at) => (*at, *at, "\"resourceVersion\":", ""),
    };
    let mut spliced = Vec::with_capacity(text.len() + version.len() + 22);
    spliced.extend_from_slice(&text[..start]);
    spliced.extend_from_slice(before.as_bytes());
    spliced.push(b'"');
    spliced.extend_from_slice(version.as_bytes());
    spliced.push(b'"');
    spliced.extend_from_slice(after.as_bytes());
    spliced.extend_from_slice(&text[end..]);
    spliced
}

/// Moves ranges of the stored text to where they are after the splice.
struct Shift {
    from: usize,
    by: isize,
}

impl Shift {
    fn of(skim: &Skim, by: isize) -> Self {
        let from = match &skim.resource_version {
            Splice::Replace(range) => range.end,
            Splice::Before(at) | Splice::After(at) | Splice::Only(at) => *at,
        };
        Shift { from, by }
    }

    fn range(&self, range: &Range<usize>) -> Option<Range<u32>> {
        Some(self.offset(range.start)?..self.offset(range.end)?)
    }

    fn offset(&self, offset: usize) -> Option<u32> {
        let moved = if offset >= self.from { offset.checked_add_signed(self.by)? } else { offset };
        u32::try_from(moved).ok()
    }
}

/// The fields, besides name and namespace, by which a resource's objects can be selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPaths(pub Vec<FieldPathSpec>);

/// One selectable field: the text clients use, and the member names on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPathSpec {
    pub label: Text,
    pub path: Vec<Text>,
}

impl FieldPaths {
    fn position(&self, label: &str) -> Option<usize> {
        self.0.iter().position(|field| field.label == label)
    }

    pub fn find(&self, label: &str) -> Option<&FieldPathSpec> {
        self.0.iter().find(|field| field.label == label)
    }

    fn read(self: &Arc<Self>, text: &[u8]) -> Option<FieldValues> {
        if self.0.is_empty() {
            return None;
        }
        let values = self.0.iter().map(|field| scalar_text(scalar(text, &field.path))).collect();
        Some(FieldValues { paths: self.clone(), values })
    }
}

/// A selectable value as a selector compares it; an absent one is empty.
fn scalar_text(found: Option<Scalar<'_>>) -> Text {
    match found {
        None => Text::default(),
        Some(Scalar::Plain(text)) => Text::from_utf8_lossy(text),
        Some(Scalar::Quoted(text)) if memchr::memchr(b'\\', text).is_none() => {
            Text::from_utf8_lossy(&text[1..text.len() - 1])
        }
        Some(Scalar::Quoted(text)) => match meta::wire::json::parse(text).map(|parsed| parsed.value) {
            Ok(meta::Value::String(text)) => text,
            _ => Text::default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Object::new(text.as_bytes(), Revision(42), &Arc::default()).expect("an object")
    }

    #[test]
    fn facts_survive_the_splice() {
        for text in [
            r#"{"apiVersion":"g/v1","kind":"A","metadata":{"name":"n","namespace":"ns","uid":"u"},"x":1}"#,
            r#"{"metadata":{"uid":"u","resourceVersion":"1","namespace":"ns","name":"n"},"kind":"A","apiVersion":"g/v1"}"#,
            r#"{"metadata":{"uid":"u","namespace":"ns","name":"n"},"kind":"A","apiVersion":"g/v1"}"#,
        ] {
            let object = object(text);
            assert_eq!(
                (object.name(), object.namespace(), object.uid(), object.api_version()),
                ("n", "ns", "u", "g/v1")
            );
            let metadata = String::from_utf8(object.metadata().to_vec()).unwrap();
            assert!(metadata.starts_with('{') && metadata.ends_with('}'), "{metadata}");
            assert!(metadata.contains(r#""resourceVersion":"42""#), "{metadata}");
        }
    }

    #[test]
    fn fields_are_found_whether_or_not_they_were_read_before() {
        let field = |label: &str| FieldPathSpec {
            label: label.into(),
            path: label.split('.').map(Text::from).collect(),
        };
        let object =
            object(r#"{"apiVersion":"g/v1","kind":"A","metadata":{"name":"n"},"spec":{"a":"x\"y","b":7}}"#);
        let known = object.with_fields(&Arc::new(FieldPaths(vec![field("spec.a")])));
        for object in [&object, &known] {
            assert!(object.field_is(&field("spec.a"), "x\"y"));
            assert!(object.field_is(&field("spec.b"), "7"));
            assert!(object.field_is(&field("spec.c"), ""));
            assert!(!object.field_is(&field("spec.a"), ""));
        }
    }

    #[test]
    fn another_api_version_is_a_splice() {
        let object = object(r#"{"apiVersion":"g/v1","kind":"A","metadata":{"name":"n"}}"#);
        assert_eq!(
            object.with_api_version("g/v2beta1"),
            r#"{"apiVersion":"g/v2beta1","kind":"A","metadata":{"name":"n","resourceVersion":"42"}}"#
        );
    }
}
