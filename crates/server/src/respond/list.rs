//! Lists, made piece by piece, so that a huge one needs no huge buffer.

use std::sync::Arc;

use jiff::Timestamp;
use meta::{Value, wire::json};
use registry::Object;
use schema::typed::binary::{Envelope, write_list_item, write_list_meta};

use super::Context;
use crate::binary::Messages;
use crate::catalog::Resource;
use crate::negotiate::{MetaVersion, Output, Shown};
use crate::verbs::ListAnswer;
use crate::verbs::table::{self, TableOptions};

/// Bound: bytes of a list that are encoded at once, but for one object more.
const CHUNK_BYTES: usize = 32 * 1024;

/// A body that comes in pieces.
pub(super) trait Pieces: Iterator<Item = Vec<u8>> {
    /// About how large it will be.
    fn size_hint_bytes(&self) -> usize;
}

/// A JSON text laid out for people while it is made.
pub(super) struct Indented<P> {
    pieces: P,
    indenter: json::Indenter,
}

impl<P: Pieces> Indented<P> {
    pub(super) fn new(pieces: P) -> Self {
        Indented { pieces, indenter: json::Indenter::default() }
    }
}

impl<P: Pieces> Iterator for Indented<P> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let piece = self.pieces.next()?;
        let mut indented = Vec::with_capacity(2 * piece.len());
        self.indenter.push(&piece, &mut indented);
        Some(indented)
    }
}

impl<P: Pieces> Pieces for Indented<P> {
    fn size_hint_bytes(&self) -> usize {
        self.pieces.size_hint_bytes()
    }
}

/// A list as JSON.
pub(super) struct ListText {
    head: Option<Vec<u8>>,
    objects: std::vec::IntoIter<Arc<Object>>,
    item: ItemText,
    first: bool,
    ended: bool,
    size_hint: usize,
}

/// How an object stands in a list.
enum ItemText {
    /// With its type, in this version.
    Whole(String),
    /// Without its type, as the reference prints built-in kinds.
    Bare,
    Metadata(MetaVersion),
    Row {
        resource: Arc<Resource>,
        options: TableOptions,
        now: Timestamp,
    },
}

impl ListText {
    pub(super) fn new(list: ListAnswer, output: &Output, context: &Context<'_>) -> Self {
        let resource = context.resource;
        let untyped = resource.habits.untyped_lists;
        let metadata = list.metadata_text(untyped && output.shown == Shown::Whole);
        let version = resource.api_version();
        let list_kind = resource.names.list_kind.as_str();
        let (head, item) = match &output.shown {
            Shown::Metadata(version) | Shown::MetadataList(version) => {
                let head = head(version.api_version(), "PartialObjectMetadataList", &metadata);
                (head, ItemText::Metadata(*version))
            }
            Shown::Table(options) => {
                let (resource, options) = (resource.clone(), options.clone());
                let head = table::head(&resource, &options, &metadata);
                (head, ItemText::Row { resource, options, now: context.now })
            }
            Shown::Whole if untyped => (head(&version, list_kind, &metadata), ItemText::Whole(version)),
            Shown::Whole => (head(&version, list_kind, &metadata), ItemText::Bare),
        };
        let size_hint = list.objects.iter().map(|object| object.bytes().len()).sum();
        let objects = list.objects.into_iter();
        ListText { head: Some(head), objects, item, first: true, ended: false, size_hint }
    }

    fn push_item(&self, object: &Object, text: &mut Vec<u8>) {
        match &self.item {
            ItemText::Whole(version) if object.api_version() == version => {
                text.extend_from_slice(object.bytes());
            }
            ItemText::Whole(version) => {
                let (before, after) = object.around_api_version();
                text.extend_from_slice(&before);
                text.extend_from_slice(version.as_bytes());
                text.extend_from_slice(&after);
            }
            ItemText::Bare => match object.body_without_type() {
                Some(body) => {
                    text.push(b'{');
                    text.extend_from_slice(body);
                }
                None => text.extend_from_slice(&without_type(object)),
            },
            ItemText::Metadata(version) => {
                text.extend_from_slice(&table::partial_metadata(object, *version));
            }
            ItemText::Row { resource, options, now } => {
                table::push_row(resource, object, options, *now, text);
            }
        }
    }
}

/// What a list begins with, up to its first item.
fn head(api_version: &str, kind: &str, metadata: &[u8]) -> Vec<u8> {
    let mut head = b"{\"kind\":".to_vec();
    json::encode_str(kind, &mut head);
    head.extend_from_slice(b",\"apiVersion\":");
    json::encode_str(api_version, &mut head);
    head.extend_from_slice(b",\"metadata\":");
    head.extend_from_slice(metadata);
    head.extend_from_slice(b",\"items\":[");
    head
}

/// The slow way, for objects that another server wrote in another order.
fn without_type(object: &Object) -> Vec<u8> {
    let mut value = json::parse(object.bytes()).map(|parsed| parsed.value).unwrap_or_default();
    if let Value::Object(members) = &mut value {
        members.remove("apiVersion");
        members.remove("kind");
    }
    json::to_vec(&value)
}

impl Iterator for ListText {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        let mut text = self.head.take().unwrap_or_default();
        text.reserve(self.size_hint.min(CHUNK_BYTES + 4096));
        while text.len() < CHUNK_BYTES {
            let Some(object) = self.objects.next() else {
                text.extend_from_slice(b"]}\n");
                self.ended = true;
                break;
            };
            if !std::mem::replace(&mut self.first, false) {
                text.push(b',');
            }
            self.push_item(&object, &mut text);
        }
        Some(text)
    }
}

impl Pieces for ListText {
    fn size_hint_bytes(&self) -> usize {
        self.size_hint
    }
}

/// A list in the binary encoding.
///
/// Its length stands before it. So the objects of a large one are encoded twice, once to measure them: time is
/// cheaper here than a buffer that holds everything.
pub(super) struct ListMessage {
    head: Option<Vec<u8>>,
    items: Items,
    messages: Messages,
    ended: bool,
    size: usize,
}

enum Items {
    Encoded(std::vec::IntoIter<Vec<u8>>),
    Objects(std::vec::IntoIter<Arc<Object>>),
}

impl ListMessage {
    pub(super) fn new(list: ListAnswer, messages: Messages, context: &Context<'_>) -> Self {
        let mut metadata = Vec::new();
        write_list_meta(&list.metadata(), &mut metadata);
        let encode = |object: &Arc<Object>| {
            let mut item = Vec::new();
            write_list_item(&messages.message(object), &mut item);
            item
        };
        let stored: usize = list.objects.iter().map(|object| object.bytes().len()).sum();
        let (items, size) = if stored < super::STREAMED_MIN_BYTES {
            let items: Vec<Vec<u8>> = list.objects.iter().map(encode).collect();
            let size = items.iter().map(Vec::len).sum::<usize>();
            (Items::Encoded(items.into_iter()), size)
        } else {
            let size = list.objects.iter().map(|object| encode(object).len()).sum::<usize>();
            (Items::Objects(list.objects.into_iter()), size)
        };
        let list_kind = match messages.kind_name.as_str() {
            kind if kind == context.resource.names.kind => context.resource.names.list_kind.to_string(),
            kind => format!("{kind}List"),
        };
        let mut head = Vec::new();
        Envelope::begin(&messages.api_version, &list_kind, metadata.len() + size, &mut head);
        head.extend_from_slice(&metadata);
        ListMessage { head: Some(head), items, messages, ended: false, size }
    }

    /// Writes the next item; `false` behind the last one.
    fn push_item(&mut self, piece: &mut Vec<u8>) -> bool {
        match &mut self.items {
            Items::Encoded(items) => items.next().map(|item| piece.extend_from_slice(&item)),
            Items::Objects(objects) => {
                objects.next().map(|object| write_list_item(&self.messages.message(&object), piece))
            }
        }
        .is_some()
    }
}

impl Iterator for ListMessage {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.ended {
            return None;
        }
        let mut piece = self.head.take().unwrap_or_default();
        while piece.len() < CHUNK_BYTES {
            if !self.push_item(&mut piece) {
                Envelope::end(&mut piece);
                self.ended = true;
                break;
            }
        }
        Some(piece)
    }
}

impl Pieces for ListMessage {
    fn size_hint_bytes(&self) -> usize {
        self.size
    }
}
