//! Built-in objects in the binary encoding (Protocol Buffers) that typed clients speak.
//!
//! A body is a magic number and an envelope that names the kind; inside is the message of the kind. Messages are read
//! into the same values as JSON, and then decoded the same way; they are written from decoded objects. Unknown
//! numbers are skipped. What is written is what the reference writes, byte for byte: fields in the order of their
//! numbers, those that are no pointers although they are empty.
//!
//! Upstream: apimachinery/pkg/runtime/serializer/protobuf; the `generated.proto` files of api and apimachinery, v1.36.

mod read;
mod wire;
mod write;

use meta::Value;

use super::types::{Field, Kind, Shape, Struct, meta_struct};

pub use wire::BinaryError;

/// What every body begins with.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// A body taken apart, its message still encoded.
#[derive(Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub message: &'a [u8],
    /// The media type of `message`; empty for the binary encoding.
    pub content_type: &'a str,
    pub content_encoding: &'a str,
}

impl<'a> Envelope<'a> {
    /// Takes a body apart.
    pub fn open(body: &'a [u8]) -> Result<Self, BinaryError> {
        let unknown = body.strip_prefix(&MAGIC).ok_or(BinaryError::NotBinary)?;
        let mut envelope =
            Envelope { api_version: "", kind: "", message: b"", content_type: "", content_encoding: "" };
        for field in wire::fields(unknown) {
            match field? {
                (1, value) => {
                    for field in wire::fields(value.bytes()?) {
                        match field? {
                            (1, value) => envelope.api_version = value.text()?,
                            (2, value) => envelope.kind = value.text()?,
                            _ => {}
                        }
                    }
                }
                (2, value) => envelope.message = value.bytes()?,
                (3, value) => envelope.content_encoding = value.text()?,
                (4, value) => envelope.content_type = value.text()?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    /// Puts a body together.
    pub fn seal(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(message.len() + api_version.len() + kind.len() + 24);
        Envelope::begin(api_version, kind, message.len(), &mut out);
        out.extend_from_slice(message);
        Envelope::end(&mut out);
        out
    }

    /// Writes what stands before a message of this length, for those who write it piece by piece.
    pub fn begin(api_version: &str, kind: &str, message_len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        wire::put_message(out, 1, |out| {
            wire::put_bytes(out, 1, api_version.as_bytes());
            wire::put_bytes(out, 2, kind.as_bytes());
        });
        wire::put_length(out, 2, message_len);
    }

    /// Writes what stands behind the message. The reference writes these fields although they are empty.
    pub fn end(out: &mut Vec<u8>) {
        wire::put_bytes(out, 3, b"");
        wire::put_bytes(out, 4, b"");
    }
}

/// Reads a message of `kind`. The value is what JSON of the same object would be read into: it still has to be
/// decoded, and says neither kind nor version.
pub fn read(kind: Kind, message: &[u8]) -> Result<Value, BinaryError> {
    read::object(kind.root(), message)
}

/// Writes the message of a decoded object.
pub fn write(kind: Kind, object: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write::object(kind.root(), object, &mut out);
    out
}

/// Writes the message of a list: `list_meta` is its metadata, `items` are messages.
pub fn write_list<'a>(list_meta: &Value, items: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    write_list_meta(list_meta, &mut out);
    for item in items {
        write_list_item(item, &mut out);
    }
    out
}

/// Writes what the message of a list begins with; its items follow.
pub fn write_list_meta(list_meta: &Value, out: &mut Vec<u8>) {
    if let Shape::Struct(strukt) = &meta_struct("ListMeta").get().shape {
        wire::put_message(out, 1, |out| write::object(strukt, list_meta, out));
    }
}

/// Writes a message as an item of a list.
pub fn write_list_item(item: &[u8], out: &mut Vec<u8>) {
    wire::put_bytes(out, 2, item);
}

/// Writes the message of a watch event: `body` is the sealed object.
pub fn write_event(event_type: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + event_type.len() + 16);
    wire::put_bytes(&mut out, 1, event_type.as_bytes());
    wire::put_message(&mut out, 2, |out| wire::put_bytes(out, 1, body));
    out
}

/// The fields of `strukt` that are nested in its embedded structs as `outer` says, and deeper ones.
fn nested<'a>(strukt: &'static Struct, outer: &'a [u32]) -> impl Iterator<Item = &'static Field> + use<'a> {
    strukt.fields.iter().filter(move |field| {
        field.embedded.len() >= outer.len()
            && field.embedded.iter().zip(outer).all(|(embedded, number)| embedded.number == *number)
    })
}

#[cfg(test)]
mod tests;
