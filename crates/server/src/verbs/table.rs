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

/// Which table a client asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// `meta.k8s.io/v1` or `…/v1beta1`.
    pub api_version: String,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    None,
    Metadata,
    Object,
}

/// A table of objects; `list` is the metadata of the list it shows.
pub fn of_objects(
    resource: &Resource,
    objects: &[&Object],
    options: &TableOptions,
    now: Timestamp,
    list: Option<Value>,
) -> Value {
    let api_version = resource.api_version();
    let rows = objects.iter().map(|object| {
        let parsed = json::parse(&object.with_api_version(&api_version));
        row(resource, parsed.map(|parsed| parsed.value).unwrap_or_default(), options, now)
    });
    let single = || match objects {
        [object] => {
            let version = object.revision.to_string();
            Value::Object([("resourceVersion", Value::from(version))].into_iter().collect())
        }
        _ => Value::Object(Map::new()),
    };
    table(resource, rows.collect(), options, list.unwrap_or_else(single))
}

/// A table of one object that is not stored in this form.
pub fn of_value(resource: &Resource, object: Value, options: &TableOptions, now: Timestamp) -> Value {
    let version = metadata_text(&object, "resourceVersion").to_owned();
    let metadata = Value::Object([("resourceVersion", Value::from(version))].into_iter().collect());
    table(resource, vec![row(resource, object, options, now)], options, metadata)
}

/// A bookmark in a watch of tables: a row without cells.
pub fn of_bookmark(object: Value, options: &TableOptions) -> Value {
    let version = metadata_text(&object, "resourceVersion").to_owned();
    let object =
        if options.include == Include::Object { object } else { reduce(object, &options.api_version) };
    let row: Map = [("cells", Value::Array(Vec::new())), ("object", object)].into_iter().collect();
    let metadata: Map = [("resourceVersion", Value::from(version))].into_iter().collect();
    Value::Object(
        [
            ("kind", Value::from("Table")),
            ("apiVersion", options.api_version.as_str().into()),
            ("metadata", Value::Object(metadata)),
            ("columnDefinitions", Value::Null),
            ("rows", Value::Array(vec![Value::Object(row)])),
        ]
        .into_iter()
        .collect(),
    )
}

fn table(resource: &Resource, rows: Vec<Value>, options: &TableOptions, metadata: Value) -> Value {
    let columns = match options.headers {
        Headers::Shown => Value::Array(resource.columns.iter().map(column_value).collect()),
        Headers::Known => Value::Null,
    };
    Value::Object(
        [
            ("kind", Value::from("Table")),
            ("apiVersion", options.api_version.as_str().into()),
            ("metadata", metadata),
            ("columnDefinitions", columns),
            ("rows", Value::Array(rows)),
        ]
        .into_iter()
        .collect(),
    )
}

fn column_value(column: &Column) -> Value {
    Value::Object(
        [
            ("name", Value::from(column.name.as_str())),
            ("type", column.kind.as_str().into()),
            ("format", column.format.as_str().into()),
            ("description", column.description.as_str().into()),
            ("priority", column.priority.into()),
        ]
        .into_iter()
        .collect(),
    )
}

fn row(resource: &Resource, object: Value, options: &TableOptions, now: Timestamp) -> Value {
    let cells = match &resource.form {
        Form::Builtin(form) => form.resource.cells(&object, now.as_second()),
        Form::Custom(_) => resource.columns.iter().map(|column| cell(column, &object, now)).collect(),
    };
    let mut row = Map::new();
    row.insert("cells", cells);
    match options.include {
        Include::None => {
            row.insert("object", Value::Null);
        }
        Include::Metadata => {
            row.insert("object", reduce(object, &options.api_version));
        }
        Include::Object => {
            row.insert("object", object);
        }
    }
    Value::Object(row)
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
pub fn reduce(object: Value, api_version: &str) -> Value {
    let metadata = match object {
        Value::Object(mut members) => members.remove("metadata").unwrap_or_default(),
        _ => Value::Null,
    };
    Value::Object(
        [
            ("kind", Value::from("PartialObjectMetadata")),
            ("apiVersion", api_version.into()),
            ("metadata", metadata),
        ]
        .into_iter()
        .collect(),
    )
}

/// A stored object's metadata as an object of its own, without reading the object.
pub fn partial_metadata(object: &Object) -> Bytes {
    let metadata = object.metadata();
    let mut text = Vec::with_capacity(metadata.len() + 80);
    text.extend_from_slice(
        b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":",
    );
    text.extend_from_slice(&metadata);
    text.push(b'}');
    text.into()
}
