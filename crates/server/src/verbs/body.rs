//! From the bytes of a request to an object of the resource's kind.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/{create,update,rest}.go and
//! apimachinery/pkg/runtime/serializer/json, v1.36.

use std::fmt::Write;

use meta::gvk::{GroupVersion, parse_api_version};
use meta::status::Status;
use meta::wire::negotiate::{ALL_MEDIA_TYPES, MediaType, negotiate_input};
use meta::wire::{json, yaml};
use meta::{Text, Value};

use super::options::FieldValidation;
use super::{Call, Warnings};
use crate::catalog::Resource;
use crate::catalog::form::Form;

/// The format that a `Content-Type` names; without one it is JSON.
pub fn format(call: &Call) -> Result<MediaType, Status> {
    match negotiate_input(&call.headers.content_type, &ALL_MEDIA_TYPES)? {
        // Named by the reference's errors, but not read here yet.
        MediaType::Protobuf => negotiate_input("protobuf", &ALL_MEDIA_TYPES),
        readable => Ok(readable),
    }
}

/// Reads the object in a request's body, in the version of the request.
pub fn object(call: &Call, directive: FieldValidation) -> Result<Value, Status> {
    let format = format(call)?;
    decode(&call.resource, format, &call.body, directive, &call.warnings)
}

/// Reads an object of `resource` from a text.
pub fn decode(
    resource: &Resource,
    format: MediaType,
    body: &[u8],
    directive: FieldValidation,
    warnings: &Warnings,
) -> Result<Value, Status> {
    let unrecognized = |why: &str| unrecognized(resource, why, body);
    let read = match format {
        MediaType::Json | MediaType::Protobuf => json::parse(body).map_err(|error| unrecognized(&interpreting(&error.to_string())))?,
        MediaType::Yaml => yaml::parse(body).map_err(|error| unrecognized(&interpreting_yaml(&error.to_string())))?,
    };
    let findings = read.duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    shape(resource, read.value, body, findings, directive, warnings)
}

/// Takes a tree for an object of `resource`: it must say so, and have no other fields than the kind has.
pub fn shape(
    resource: &Resource,
    mut value: Value,
    body: &[u8],
    mut findings: Vec<String>,
    directive: FieldValidation,
    warnings: &Warnings,
) -> Result<Value, Status> {
    let unrecognized = |why: &str| unrecognized(resource, why, body);
    let named = named_kind(&value).map_err(|why| unrecognized(&interpreting(&why)))?;
    let kind = complete(resource, named, body)?;
    let unknown = resource.form.decode(resource, &mut value, &kind).map_err(|why| cannot_handle(&kind, resource, &why))?;
    findings.extend(unknown.iter().map(|path| format!("unknown field \"{path}\"")));
    report(resource, &kind, findings, directive, warnings)?;

    let expected = resource.api_version();
    if kind.api_version() != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({expected})",
            kind.api_version()
        )));
    }
    Ok(value)
}

/// What a body says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKind {
    pub version: GroupVersion,
    pub kind: Text,
}

impl NamedKind {
    pub fn api_version(&self) -> String {
        self.version.to_string()
    }
}

/// The `apiVersion` and `kind` of a body, empty where it does not say.
fn named_kind(value: &Value) -> Result<(Text, Text), String> {
    let shape = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let go_type = |value: &Value| match value {
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Null => "object",
    };
    let members = match value {
        Value::Object(members) => members,
        Value::Null => return Ok((Text::default(), Text::default())),
        other => return Err(format!("json: cannot unmarshal {} into Go value of type {shape}", go_type(other))),
    };
    let text = |key: &str| match members.get(key) {
        None | Some(Value::Null) => Ok(Text::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => {
            Err(format!("json: cannot unmarshal {} into Go struct field .{key} of type string", go_type(other)))
        }
    };
    Ok((text("apiVersion")?, text("kind")?))
}

/// Fills in what a body does not say. Built-in kinds may leave out everything, others nothing.
fn complete(resource: &Resource, named: (Text, Text), body: &[u8]) -> Result<NamedKind, Status> {
    let (api_version, kind) = named;
    let version = parse_api_version(&api_version)
        .map_err(|error| unrecognized(resource, &error.to_string(), body))?;
    match &resource.form {
        Form::Custom(_) => {
            let text = String::from_utf8_lossy(body);
            if kind.is_empty() {
                return Err(unrecognized(resource, &format!("Object 'Kind' is missing in '{text}'"), body));
            }
            if version.version.is_empty() {
                let kind = NamedKind { version, kind };
                let why = format!("Object 'apiVersion' is missing in '{text}'");
                return Err(cannot_handle(&kind, resource, &why));
            }
            Ok(NamedKind { version, kind })
        }
        Form::Builtin(_) => {
            let own = GroupVersion::new(resource.group.clone(), resource.version.clone());
            let version = if version.version.is_empty() { own } else { version };
            let kind = if kind.is_empty() { resource.names.kind.clone() } else { kind };
            Ok(NamedKind { version, kind })
        }
    }
}

/// Fields that do not belong: refused, told or passed over, as the client wants.
fn report(
    resource: &Resource,
    kind: &NamedKind,
    findings: Vec<String>,
    directive: FieldValidation,
    warnings: &Warnings,
) -> Result<(), Status> {
    match directive {
        _ if findings.is_empty() => Ok(()),
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            findings.into_iter().for_each(|finding| warnings.add(finding));
            Ok(())
        }
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", findings.join(", "));
            Err(cannot_handle(kind, resource, &why))
        }
    }
}

fn interpreting(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

fn interpreting_yaml(why: &str) -> String {
    why.to_owned()
}

fn cannot_handle(kind: &NamedKind, resource: &Resource, why: &str) -> Status {
    let version = meta::go_fmt::quote(&kind.version.version);
    Status::bad_request(format!(
        "{} in version {version} cannot be handled as a {}: {why}",
        kind.kind, resource.names.kind
    ))
}

fn unrecognized(resource: &Resource, why: &str, body: &[u8]) -> Status {
    let kind = &resource.names.kind;
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({})",
        summary(body)
    ))
}

/// The beginning of a body: as text when it looks like JSON, in hexadecimal otherwise.
fn summary(body: &[u8]) -> String {
    const SHOWN_BYTES: usize = 30;
    if body.is_empty() {
        return "<empty>".to_owned();
    }
    let shown = &body[..body.len().min(SHOWN_BYTES)];
    let mut text = if body[0] == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    };
    if body.len() > SHOWN_BYTES {
        text.push_str(" ...");
    }
    text
}
