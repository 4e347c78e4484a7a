//! Tables, for people, and objects reduced to their metadata.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/response.go, apiextensions-apiserver/pkg/registry/customresource/tableconvertor, v1.36.

use bytes::Bytes;
use jiff::Timestamp;
use meta::{Map, Value, wire::json};
use registry::Object;

use super::write::metadata_text;
use crate::catalog::form::Form;
use crate::catalog::resource::{Cell, Column};
use crate::catalog::{Resource, columns};
use crate::negotiate::MetaVersion;

/// Which table a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    pub version: MetaVersion,
    pub include: Include,
    pub headers: Headers,
}

/// Whether a table says what its columns are. In a watch only the first one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    Shown,
    Known,
}

/// What a row carries of its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Include {
    None,
    Metadata,
    Object,
    /// Something else, which is refused once there is an answer to be shown.
    Unknown(String),
}

/// A table of one object, as JSON.
pub fn of_object(resource: &Resource, object: &Object, options: &TableOptions, now: Timestamp) -> Vec<u8> {
    let mut text = head(resource, options, &version_metadata(&object.revision.to_string()));
    push_row(resource, object, options, now, &mut text);
    text.extend_from_slice(b"]}");
    text
}

/// A table of one object that is not stored in this form, as JSON.
pub fn of_value(resource: &Resource, object: &Value, options: &TableOptions, now: Timestamp) -> Vec<u8> {
    let mut text = head(resource, options, &version_metadata(metadata_text(object, "resourceVersion")));
    push_cells(resource, object, now, &mut text);
    match options.include {
        Include::None | Include::Unknown(_) => text.extend_from_slice(b"null"),
        Include::Metadata => {
            let metadata = object.get("metadata").map_or_else(|| b"{}".to_vec(), json::to_vec);
            push_metadata(&metadata, options.version, &mut text);
        }
        Include::Object => json::encode(object, &mut text),
    }
    text.extend_from_slice(b"}]}");
    text
}

fn version_metadata(version: &str) -> Vec<u8> {
    let mut metadata = br#"{"resourceVersion":"#.to_vec();
    json::encode_str(version, &mut metadata);
    metadata.push(b'}');
    metadata
}

/// What a table begins with, up to its first row. `metadata` is that of the list it shows, encoded.
pub fn head(resource: &Resource, options: &TableOptions, metadata: &[u8]) -> Vec<u8> {
    let mut text = br#"{"kind":"Table","apiVersion":"#.to_vec();
    json::encode_str(options.version.api_version(), &mut text);
    text.extend_from_slice(br#","metadata":"#);
    text.extend_from_slice(metadata);
    text.extend_from_slice(br#","columnDefinitions":"#);
    match options.headers {
        Headers::Known => text.extend_from_slice(b"null"),
        Headers::Shown => {
            text.push(b'[');
            for (index, column) in resource.columns.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                push_column(column, &mut text);
            }
            text.push(b']');
        }
    }
    text.extend_from_slice(br#","rows":["#);
    text
}

fn push_column(column: &Column, text: &mut Vec<u8>) {
    let members = [
        (&b"{\"name\":"[..], &column.name),
        (b",\"type\":", &column.kind),
        (b",\"format\":", &column.format),
        (b",\"description\":", &column.description),
    ];
    for (key, member) in members {
        text.extend_from_slice(key);
        json::encode_str(member, text);
    }
    text.extend_from_slice(format!(",\"priority\":{}}}", column.priority).as_bytes());
}

/// Writes the row of a stored object, which itself is copied as it is.
pub fn push_row(
    resource: &Resource,
    object: &Object,
    options: &TableOptions,
    now: Timestamp,
    text: &mut Vec<u8>,
) {
    let whole = object.with_api_version(&resource.api_version());
    // The metadata alone, with the owners of all fields, is often larger than the rest.
    let part = json::parse_part(&whole, &resource.shown);
    let value = part.unwrap_or_else(|| json::parse(&whole).map(|parsed| parsed.value).unwrap_or_default());
    push_cells(resource, &value, now, text);
    match options.include {
        Include::None | Include::Unknown(_) => text.extend_from_slice(b"null"),
        Include::Metadata => push_metadata(&object.metadata(), options.version, text),
        Include::Object => text.extend_from_slice(&whole),
    }
    text.push(b'}');
}

/// Writes a row up to its object.
fn push_cells(resource: &Resource, object: &Value, now: Timestamp, text: &mut Vec<u8>) {
    let cells: Vec<Value> = match &resource.form {
        Form::Builtin(form) => form.resource.cells(object, now.as_second()),
        Form::Custom(_) => resource.columns.iter().map(|column| cell(column, object, now)).collect(),
    };
    text.extend_from_slice(br#"{"cells":"#);
    json::encode(&Value::Array(cells), text);
    text.extend_from_slice(br#","object":"#);
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    match &column.cell {
        Cell::Name => metadata_text(object, "name").into(),
        Cell::Age => age(metadata_text(object, "creationTimestamp"), now).into(),
        Cell::Path(path, kind) => columns::path_cell(path, *kind, object, now),
    }
}

/// How long ago a time was, as people say it.
pub fn age(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => schema::typed::columns::human_duration(now.as_second() - then.as_second()),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// An object's metadata as an object of its own.
pub fn reduce(object: Value, version: MetaVersion) -> Value {
    let metadata = match object {
        Value::Object(mut members) => members.remove("metadata").unwrap_or_default(),
        _ => Value::Null,
    };
    let members: Map = [
        ("kind", Value::from("PartialObjectMetadata")),
        ("apiVersion", version.api_version().into()),
        ("metadata", metadata),
    ]
    .into_iter()
    .collect();
    Value::Object(members)
}

/// A stored object's metadata as an object of its own, without reading the object.
pub fn partial_metadata(object: &Object, version: MetaVersion) -> Bytes {
    let metadata = object.metadata();
    let mut text = Vec::with_capacity(metadata.len() + 80);
    push_metadata(&metadata, version, &mut text);
    text.into()
}

fn push_metadata(metadata: &[u8], version: MetaVersion, text: &mut Vec<u8>) {
    text.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":"#);
    json::encode_str(version.api_version(), text);
    text.extend_from_slice(br#","metadata":"#);
    text.extend_from_slice(metadata);
    text.push(b'}');
}
