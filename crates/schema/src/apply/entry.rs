//! The entries of `metadata.managedFields`: who owns which fields, since when, in which version.
//!
//! Upstream: managedfields/internal/managedfields.go, v1.36.

use std::fmt;

use meta::{Map, Text, Value};

use super::fieldset::FieldSet;

/// How a manager came to own its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub manager: Text,
    pub operation: Operation,
    pub api_version: Text,
    /// RFC 3339 in UTC with seconds, as written to the wire; empty when unknown.
    pub time: Text,
    pub fields: FieldSet,
    /// Empty for the main resource.
    pub subresource: Text,
}

/// Why a list of entries cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// An entry is no object or has a member of a wrong type.
    Shape,
    Operation,
    ApiVersion,
    FieldsType {
        index: usize,
        found: Text,
    },
    Fields(String),
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryError::Shape => f.write_str("managed fields entry is malformed"),
            EntryError::Operation => f.write_str("operation must be `Apply` or `Update`"),
            EntryError::ApiVersion => f.write_str("apiVersion must not be empty"),
            EntryError::FieldsType { index, found } if found.is_empty() => {
                write!(f, "missing fieldsType in managed fields entry {index}")
            }
            EntryError::FieldsType { index, found } => {
                let found = meta::go_fmt::quote(found);
                write!(f, "invalid fieldsType {found} in managed fields entry {index}")
            }
            EntryError::Fields(error) => write!(f, "error decoding set: {error}"),
        }
    }
}

impl std::error::Error for EntryError {}

/// Whether the entries were written by this server, or come from a client or webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Stored,
    Foreign,
}

impl Entry {
    /// Whether both are the same manager to the reference: appliers are one whatever version they use.
    pub(super) fn is_same_manager(&self, other: &Entry) -> bool {
        self.operation == other.operation
            && self.manager == other.manager
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The same manager, owning nothing.
    pub(super) fn without_fields(&self) -> Entry {
        Entry {
            manager: self.manager.clone(),
            operation: self.operation,
            api_version: self.api_version.clone(),
            time: self.time.clone(),
            fields: FieldSet::new(),
            subresource: self.subresource.clone(),
        }
    }

    /// The text by which the reference sorts managers: JSON with the members in the order of its struct.
    pub(super) fn identifier(&self) -> String {
        let api_version = match self.operation {
            Operation::Apply => "",
            Operation::Update => &self.api_version,
        };
        let members = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", api_version),
            ("subresource", &self.subresource),
        ];
        let members = members.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| {
            let value = meta::wire::json::to_string(&Value::from(*value));
            format!("\"{name}\":{value}")
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

/// Reads a list of entries. Of several for the same manager the last one counts.
pub(super) fn decode(list: Vec<Value>, origin: Origin) -> Result<Vec<Entry>, EntryError> {
    let mut entries: Vec<Entry> = Vec::with_capacity(list.len() + 1);
    for (index, value) in list.into_iter().enumerate() {
        let entry = decode_entry(value, index, origin)?;
        match entries.iter_mut().find(|known| known.is_same_manager(&entry)) {
            Some(known) => *known = entry,
            None => entries.push(entry),
        }
    }
    Ok(entries)
}

fn decode_entry(value: Value, index: usize, origin: Origin) -> Result<Entry, EntryError> {
    let Value::Object(members) = value else { return Err(EntryError::Shape) };
    let (mut manager, mut operation, mut api_version) = (Text::default(), Text::default(), Text::default());
    let (mut time, mut fields_type, mut subresource) = (Text::default(), Text::default(), Text::default());
    let mut fields = Value::Null;
    for (name, value) in members.into_entries() {
        let text = match name.as_str() {
            "manager" => &mut manager,
            "operation" => &mut operation,
            "apiVersion" => &mut api_version,
            "time" => &mut time,
            "fieldsType" => &mut fields_type,
            "subresource" => &mut subresource,
            "fieldsV1" => {
                fields = value;
                continue;
            }
            _ => continue,
        };
        match value {
            Value::String(found) => *text = found,
            Value::Null => {}
            _ => return Err(EntryError::Shape),
        }
    }
    let operation = match operation.as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(EntryError::Operation),
    };
    if api_version.is_empty() {
        return Err(EntryError::ApiVersion);
    }
    if fields_type != "FieldsV1" {
        return Err(EntryError::FieldsType { index, found: fields_type });
    }
    let fields = match origin {
        Origin::Stored => FieldSet::trusted(fields),
        Origin::Foreign => {
            time = canonical_time(&time)?;
            FieldSet::from_value(fields).map_err(|error| EntryError::Fields(error.to_string()))?
        }
    };
    Ok(Entry { manager, operation, api_version, time, fields, subresource })
}

fn canonical_time(time: &str) -> Result<Text, EntryError> {
    if time.is_empty() {
        return Ok(Text::default());
    }
    let timestamp: jiff::Timestamp = time.parse().map_err(|_| EntryError::Shape)?;
    Ok(format_time(timestamp))
}

/// RFC 3339 in UTC with whole seconds.
pub(super) fn format_time(timestamp: jiff::Timestamp) -> Text {
    let seconds = jiff::Timestamp::from_second(timestamp.as_second()).unwrap_or(timestamp);
    Text::from(seconds.to_string())
}

/// The list for the wire, sorted as the reference sorts it.
pub(super) fn encode(mut entries: Vec<Entry>) -> Vec<Value> {
    entries.sort_by(|left, right| {
        // Times are in one form, so that their texts sort as they do; an unknown time comes first.
        (left.operation.cmp(&right.operation))
            .then_with(|| left.time.cmp(&right.time))
            .then_with(|| left.manager.cmp(&right.manager))
            .then_with(|| left.api_version.cmp(&right.api_version))
            .then_with(|| left.subresource.cmp(&right.subresource))
    });
    entries.into_iter().map(encode_entry).collect()
}

fn encode_entry(entry: Entry) -> Value {
    let text = |name: &'static str, value: Text| (Text::const_new(name), Value::String(value));
    let mut members = Vec::with_capacity(7);
    members.push(text("apiVersion", entry.api_version));
    members.push(text("fieldsType", Text::const_new("FieldsV1")));
    members.push((Text::const_new("fieldsV1"), entry.fields.into_value()));
    if !entry.manager.is_empty() {
        members.push(text("manager", entry.manager));
    }
    members.push(text("operation", Text::const_new(entry.operation.as_str())));
    if !entry.subresource.is_empty() {
        members.push(text("subresource", entry.subresource));
    }
    if !entry.time.is_empty() {
        members.push(text("time", entry.time));
    }
    Value::Object(Map::from_entries(members))
}
