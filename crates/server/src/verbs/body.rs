//! From the bytes of a request to an object of the resource's kind.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/{create,update,rest}.go and
//! apimachinery/pkg/runtime/serializer/json, v1.36.

use std::fmt::Write;

use meta::gvk::{GroupKind, GroupVersion, parse_api_version};
use meta::status::Status;
use meta::wire::negotiate::{ALL_MEDIA_TYPES, MediaType, negotiate_input};
use meta::wire::{json, yaml};
use meta::{FieldError, FieldPath, Map, Text, Value};
use schema::go_text;

use super::options::FieldValidation;
use super::{Call, Warnings, text_order};
use crate::catalog::Resource;
use crate::catalog::form::Form;

/// The format that a `Content-Type` names; without one it is JSON.
pub(super) fn options_format(call: &Call) -> Result<MediaType, Status> {
    negotiate_input(&call.headers.content_type, &ALL_MEDIA_TYPES)
}

/// The format of an object, which protobuf cannot be for kinds that a definition made.
pub(super) fn format(call: &Call) -> Result<MediaType, Status> {
    match options_format(call)? {
        // DIFFERENCE: the reference drops the connection of a custom resource in protobuf.
        MediaType::Protobuf if !call.resource.is_builtin() => negotiate_input("protobuf", &ALL_MEDIA_TYPES),
        readable => Ok(readable),
    }
}

/// Reads the object in a request's body, in the version of the request.
pub(super) fn object(call: &Call, directive: FieldValidation) -> Result<Value, Status> {
    let (resource, body) = (&call.resource, &call.body);
    let read = match format(call)? {
        MediaType::Json => from_json(body),
        MediaType::Protobuf => match resource.form.read_binary(body) {
            Ok(value) => Ok(Read { value, findings: Vec::new(), apart: false }),
            Err(why) => Err(Failure::unknown_kind(why)),
        },
        MediaType::Yaml => from_yaml(body),
    };
    // Without an eye on unknown fields the reference knows what it meant to read, even of what does not say it.
    let lenient = directive == FieldValidation::Ignore;
    let text = |value: &Value| {
        if lenient { json::to_string(value) } else { String::from_utf8_lossy(body).into_owned() }
    };
    let decoded = read.and_then(|read| decode(resource, read, &text));
    let (value, findings) = decoded.map_err(|failure| failure.seen(lenient).of_body(resource, body))?;
    report(findings, directive, &call.warnings).map_err(|failure| failure.of_body(resource, body))?;
    check_version(resource, &value)?;
    Ok(value)
}

/// What a patch made of an object.
pub(super) struct Patched<T> {
    pub(super) object: Value,
    /// What is wrong with the patch's own text.
    pub(super) findings: Vec<String>,
    /// Tells how the object looks, which only errors do.
    pub(super) text: T,
}

/// Takes the outcome of a patch for an object of the resource.
pub(super) fn patched(
    call: &Call,
    patched: Patched<impl Fn() -> String>,
    directive: FieldValidation,
) -> Result<Value, Status> {
    let Patched { object, findings, text } = patched;
    let builtin = call.resource.is_builtin();
    let decoded = if builtin && meta::object::api_version(&object).is_empty() {
        Ok(without_version(&call.resource, &object, findings))
    } else {
        decode(&call.resource, Read { value: object, findings, apart: false }, &|_| text())
    };
    let (value, findings) = decoded.map_err(|failure| failure.of_patch(&text()))?;
    report(findings, directive, &call.warnings).map_err(|failure| failure.of_patch(&text()))?;
    // Another version is a matter of validation here; only none at all cannot get there.
    if meta::object::api_version(&value).is_empty() {
        return Err(Status::internal_error(
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ));
    }
    Ok(value)
}

/// A built-in object whose version was taken away is read in the form it has inside the reference, which has other
/// names for everything: nothing of it is known.
fn without_version(resource: &Resource, object: &Value, mut findings: Vec<String>) -> (Value, Findings) {
    let members = object.as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "kind");
    findings.extend(members.map(|key| format!("unknown field \"{key}\"")));
    let version = GroupVersion::new(resource.group.clone(), resource.version.clone());
    let kind = NamedKind { version, kind: resource.names.kind.clone() };
    let mut hollow = Map::new();
    hollow.insert("apiVersion", resource.api_version());
    hollow.insert("kind", resource.names.kind.clone());
    (Value::Object(hollow), Findings { kind, texts: findings })
}

/// Fields in a strategic patch that the kind does not have.
pub(super) fn report_patch(
    call: &Call,
    patch: &Map,
    unknown: &[String],
    directive: FieldValidation,
) -> Result<(), Status> {
    let kind = NamedKind { version: GroupVersion::new("", ""), kind: Text::default() };
    let texts = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    report(Findings { kind, texts }, directive, &call.warnings)
        .map_err(|failure| failure.of_patch(&go_text::plain(&Value::Object(patch.clone()))))
}

/// A patch that makes something of an object that its kind cannot hold.
pub fn unusable_patch(patch: &Map, why: &str) -> Status {
    let failure = Failure::unknown_kind(why);
    failure.of_patch(&go_text::plain(&Value::Object(patch.clone())))
}

/// Why a text is no object of a kind, in the reference's words.
struct Failure {
    /// What it says it is, when that is known.
    kind: Option<NamedKind>,
    why: String,
    /// What it was taken for, when it does not say.
    meant: Option<Box<NamedKind>>,
}

impl Failure {
    fn unknown_kind(why: impl Into<String>) -> Self {
        Failure { kind: None, why: why.into(), meant: None }
    }

    /// As a lenient reader sees it, who takes it for what was asked for.
    fn seen(mut self, lenient: bool) -> Self {
        if lenient && self.kind.is_none() {
            self.kind = self.meant.take().map(|meant| *meant);
        }
        self
    }

    /// The failure of a request's own body.
    fn of_body(&self, resource: &Resource, body: &[u8]) -> Status {
        let expected = &resource.names.kind;
        Status::bad_request(match &self.kind {
            Some(kind) => {
                let version = meta::go_fmt::quote(&kind.version.version);
                format!("{} in version {version} cannot be handled as a {expected}: {}", kind.kind, self.why)
            }
            None => format!(
                "the object provided is unrecognized (must be of type {expected}): {} ({})",
                self.why,
                summary(body)
            ),
        })
    }

    /// The failure of what a patch made of an object.
    fn of_patch(&self, text: &str) -> Status {
        let error = FieldError::invalid(&FieldPath::ROOT.field("patch"), text, self.why.as_str());
        Status::invalid(&GroupKind::new("", ""), "", &[error])
    }
}

/// A tree, and what strict reading finds wrong with its text.
struct Read {
    value: Value,
    findings: Vec<String>,
    /// Whether that is found before fields are looked at, rather than in one go with them.
    apart: bool,
}

fn from_json(body: &[u8]) -> Result<Read, Failure> {
    let read = json::parse(body).map_err(|error| Failure::unknown_kind(interpreting(&error.to_string())))?;
    let findings = read.duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    Ok(Read { value: read.value, findings, apart: false })
}

fn from_yaml(body: &[u8]) -> Result<Read, Failure> {
    let read = yaml::parse(body).map_err(|error| Failure::unknown_kind(error.to_string()))?;
    Ok(Read { value: read.value, findings: read.strict_error.into_iter().collect(), apart: true })
}

/// Takes a tree for an object of `resource`; adds the fields that do not belong to the findings. `text` tells what the
/// tree was read from.
fn decode(
    resource: &Resource,
    read: Read,
    text: &dyn Fn(&Value) -> String,
) -> Result<(Value, Findings), Failure> {
    let Read { mut value, mut findings, apart } = read;
    let named = named_kind(&value).map_err(|why| Failure::unknown_kind(interpreting(&why)))?;
    let kind = complete(resource, named, || text(&value))?;
    let unknown = match resource.form.decode(resource, &mut value, &kind) {
        Ok(unknown) => unknown,
        Err(why) => return Err(Failure { kind: Some(kind), why, meant: None }),
    };
    let unknown = unknown.iter().map(|path| format!("unknown field \"{path}\""));
    if resource.is_builtin() && !apart {
        // Typed decoding finds both in one pass.
        findings.extend(unknown);
        if findings.len() > 1 {
            text_order::sort(&mut findings, &text(&value));
        }
    } else {
        findings.extend(unknown);
    }
    Ok((value, Findings { kind, texts: findings }))
}

/// Fields that do not belong, of an object that says it is of this kind.
struct Findings {
    kind: NamedKind,
    texts: Vec<String>,
}

/// Refused, told or passed over, as the client wants.
fn report(findings: Findings, directive: FieldValidation, warnings: &Warnings) -> Result<(), Failure> {
    match directive {
        FieldValidation::Strict if !findings.texts.is_empty() => {
            let why = format!("strict decoding error: {}", findings.texts.join(", "));
            return Err(Failure { kind: Some(findings.kind), why, meant: None });
        }
        FieldValidation::Warn => findings.texts.iter().for_each(|text| warn(text, warnings)),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    Ok(())
}

/// Warns of something that strict reading finds; what YAML finds is one text of many lines.
pub(super) fn warn(text: &str, warnings: &Warnings) {
    match text.strip_prefix("yaml: unmarshal errors:\n") {
        Some(lines) => lines.split('\n').for_each(|line| warnings.add(line.trim())),
        None => warnings.add(text),
    }
}

/// The version in a body must be the one in the path.
fn check_version(resource: &Resource, value: &Value) -> Result<(), Status> {
    let expected = resource.api_version();
    let found = meta::object::api_version(value);
    if found == expected {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the API version in the data ({found}) does not match the expected API version ({expected})"
    )))
}

/// What a body says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedKind {
    pub version: GroupVersion,
    pub kind: Text,
}

/// The `apiVersion` and `kind` of a body, empty where it does not say.
pub(super) fn named_kind(value: &Value) -> Result<(Text, Text), String> {
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
        other => {
            return Err(format!("json: cannot unmarshal {} into Go value of type {shape}", go_type(other)));
        }
    };
    let text = |key: &str| match members.get(key) {
        None | Some(Value::Null) => Ok(Text::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!(
            "json: cannot unmarshal {} into Go struct field .{key} of type string",
            go_type(other)
        )),
    };
    Ok((text("apiVersion")?, text("kind")?))
}

/// Fills in what a body does not say. Built-in kinds may leave out everything, others nothing.
fn complete(
    resource: &Resource,
    named: (Text, Text),
    text: impl FnOnce() -> String,
) -> Result<NamedKind, Failure> {
    let (api_version, kind) = named;
    let version =
        parse_api_version(&api_version).map_err(|error| Failure::unknown_kind(error.to_string()))?;
    match &resource.form {
        Form::Custom(_) => {
            if kind.is_empty() {
                let own = GroupVersion::new(resource.group.clone(), resource.version.clone());
                let version = if version.version.is_empty() { own } else { version };
                let meant = Some(Box::new(NamedKind { version, kind: resource.names.kind.clone() }));
                let why = format!("Object 'Kind' is missing in '{}'", text());
                return Err(Failure { kind: None, why, meant });
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

pub(super) fn interpreting(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
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
