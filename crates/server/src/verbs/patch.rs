//! Changing an object by a patch.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/patch.go, v1.36.

use meta::patch::{JsonPatch, Strictness, merge};
use meta::status::Status;
use meta::wire::negotiate::{ALL_PATCH_TYPES, CUSTOM_PATCH_TYPES, PatchType, Route, negotiate_patch};
use meta::wire::{json, yaml};
use meta::{Map, Value};

use super::options::{FieldValidation, WriteKind, WriteOptions};
use super::update::{Change, match_name};
use super::write::match_namespace;
use super::{Answer, Call, body, patched_text};

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let kind = patch_type(call)?;
    let output = call.output()?;
    let write_kind = if kind == PatchType::Apply { WriteKind::Apply } else { WriteKind::Patch };
    let options = WriteOptions::parse(&call.info.query, write_kind)?;
    // What is wrong with the patch matters only when there is something to be patched.
    let mut patch = Some(Patch::read(call, kind, options.field_validation));
    let applies = kind == PatchType::Apply;
    let change = Change { call, options: &options, output, expected_uid: String::new(), applies };
    change
        .apply(|live| {
            // Read again in the rare case that the race is lost, rather than copied in all others.
            let patch = patch.take().unwrap_or_else(|| Patch::read(call, kind, options.field_validation))?;
            let mut object = patch.apply(call, live, &options)?;
            match_namespace(&mut object, call.namespace())?;
            match_name(&mut object, call.name())?;
            Ok(object)
        })
        .await
}

/// Which patch a request carries. Built-in kinds have a router that refuses other types before anything
/// else is looked at.
pub(super) fn patch_type(call: &Call) -> Result<PatchType, Status> {
    let content_type = &call.headers.content_type;
    if !call.resource.is_builtin() {
        return negotiate_patch(content_type, &CUSTOM_PATCH_TYPES);
    }
    let consumes: Vec<&str> = ALL_PATCH_TYPES.iter().map(|kind| kind.as_str()).collect();
    Route { produces: &[], consumes: &consumes }.check("", content_type)?;
    negotiate_patch(content_type, &ALL_PATCH_TYPES)
}

/// A patch, read once and applied to as many versions of the object as it takes.
pub(super) struct Patch {
    pub(super) body: PatchBody,
    /// What strict reading finds wrong with its text.
    pub(super) findings: Vec<String>,
}

pub(super) enum PatchBody {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Map),
    /// The configuration that the client wants to be part of the object.
    Apply(Value),
}

impl Patch {
    pub(super) fn read(call: &Call, kind: PatchType, directive: FieldValidation) -> Result<Self, Status> {
        let strictness =
            if directive == FieldValidation::Ignore { Strictness::Ignore } else { Strictness::Report };
        let (body, findings) = match kind {
            PatchType::Json => {
                let decoded = JsonPatch::from_request(&call.body, strictness)?;
                (PatchBody::Json(decoded.patch), decoded.strict_errors)
            }
            PatchType::Apply => (PatchBody::Apply(read_configuration(call, directive)?), Vec::new()),
            PatchType::Merge => {
                let decoded = merge::from_request(&call.body, strictness)?;
                (PatchBody::Merge(decoded.patch), decoded.strict_errors)
            }
            PatchType::Strategic => (PatchBody::Strategic(read_strategic(&call.body)?), Vec::new()),
        };
        Ok(Patch { body, findings })
    }

    /// What becomes of the live object, or of none.
    fn apply(self, call: &Call, live: Option<&Value>, options: &WriteOptions) -> Result<Value, Status> {
        let Patch { body, findings } = self;
        let live = match (&body, live) {
            (PatchBody::Apply(_), None) => None,
            (_, None) => return Err(call.not_found()),
            (_, live) => live,
        };
        match body {
            PatchBody::Apply(configuration) => call.resource.form.apply(call, live, configuration, options),
            PatchBody::Strategic(patch) => {
                let mut patched = live.cloned().unwrap_or_default();
                let unknown = call.resource.form.strategic_merge(&mut patched, patch.clone())?;
                body::report_patch(call, &patch, &unknown, options.field_validation)?;
                Ok(patched)
            }
            PatchBody::Json(_) | PatchBody::Merge(_) => {
                let object = body.merged(live)?;
                // The object is taken apart when it is read; for an error it is made again.
                let text = || {
                    let object = body.merged(live).unwrap_or_default();
                    if call.resource.is_builtin() {
                        patched_text::of_builtin(&object, body.touches_metadata())
                    } else {
                        patched_text::of_custom(&object)
                    }
                };
                body::patched(call, body::Patched { object, findings, text }, options.field_validation)
            }
        }
    }
}

impl PatchBody {
    /// What a JSON or merge patch makes of an object.
    pub(super) fn merged(&self, live: Option<&Value>) -> Result<Value, Status> {
        let mut object = live.cloned().unwrap_or_default();
        match self {
            // The reference does not say why a patch does not apply.
            PatchBody::Json(patch) => return patch.apply(object).map_err(|_| does_not_apply()),
            PatchBody::Merge(patch) => merge::apply(&mut object, patch.clone()),
            PatchBody::Strategic(_) | PatchBody::Apply(_) => return Err(does_not_apply()),
        }
        Ok(object)
    }

    /// Whether it reaches into the metadata; what it reaches is written anew.
    pub(super) fn touches_metadata(&self) -> bool {
        match self {
            PatchBody::Json(patch) => patch.reaches_into("metadata"),
            PatchBody::Merge(patch) => patch.get("metadata").is_some(),
            PatchBody::Strategic(_) | PatchBody::Apply(_) => false,
        }
    }
}

/// Reads an applied configuration, which is YAML.
fn read_configuration(call: &Call, directive: FieldValidation) -> Result<Value, Status> {
    let bad = |why: String| Status::bad_request(why);
    let read = yaml::parse(&call.body)
        .map_err(|error| bad(format!("error decoding YAML: error converting YAML to JSON: {error}")))?;
    if !matches!(read.value, Value::Object(_) | Value::Null) {
        let found = meta::go_fmt::json_kind(&read.value);
        return Err(bad(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    match (read.strict_error, directive) {
        (Some(found), FieldValidation::Strict) => {
            return Err(bad(format!("error strict decoding YAML: error converting YAML to JSON: {found}")));
        }
        (Some(found), FieldValidation::Warn) => body::warn(&found, &call.warnings),
        _ => {}
    }
    Ok(read.value)
}

fn read_strategic(body: &[u8]) -> Result<Map, Status> {
    match json::parse(body).map_err(|error| Status::bad_request(error.to_string()))?.value {
        Value::Object(patch) => Ok(patch),
        other => {
            let found = meta::go_fmt::json_kind(&other);
            Err(Status::bad_request(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )))
        }
    }
}

fn does_not_apply() -> Status {
    Status::generic(422, "", &meta::gvk::GroupResource::new("", ""), "", "")
}
