//! Changing an object by a patch.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/patch.go, v1.36.

use meta::Value;
use meta::patch::{JsonPatch, Strictness, merge};
use meta::status::Status;
use meta::wire::negotiate::{ALL_PATCH_TYPES, CUSTOM_PATCH_TYPES, PatchType, Route, negotiate_patch};
use meta::wire::yaml;

use super::options::{FieldValidation, WriteKind, WriteOptions};
use super::update::{Change, match_name};
use super::write::match_namespace;
use super::{Answer, Call, body};

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let kind = patch_type(call)?;
    let output = call.output()?;
    let write_kind = if kind == PatchType::Apply { WriteKind::Apply } else { WriteKind::Patch };
    let options = WriteOptions::parse(&call.info.query, write_kind)?;
    let patch = Patch::read(call, kind, options.field_validation)?;
    let applies = kind == PatchType::Apply;
    let change = Change { call, options: &options, output, expected_uid: String::new(), applies };
    change
        .apply(|live| {
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
pub(super) enum Patch {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
    /// The configuration that the client wants to be part of the object.
    Apply(Value),
}

impl Patch {
    pub(super) fn read(call: &Call, kind: PatchType, directive: FieldValidation) -> Result<Self, Status> {
        let strictness =
            if directive == FieldValidation::Ignore { Strictness::Ignore } else { Strictness::Report };
        let (patch, findings) = match kind {
            PatchType::Json => {
                let decoded = JsonPatch::from_request(&call.body, strictness)?;
                (Patch::Json(decoded.patch), decoded.strict_errors)
            }
            PatchType::Apply => {
                let read = yaml::parse(&call.body)
                    .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
                (Patch::Apply(read.value), read.strict_error.into_iter().collect())
            }
            PatchType::Merge | PatchType::Strategic => {
                let decoded = merge::from_request(&call.body, strictness)?;
                let patch = if kind == PatchType::Merge { Patch::Merge } else { Patch::Strategic };
                (patch(decoded.patch), decoded.strict_errors)
            }
        };
        match directive {
            FieldValidation::Strict if !findings.is_empty() => {
                Err(Status::bad_request(format!("strict decoding error: {}", findings.join(", "))))
            }
            _ => {
                for finding in findings {
                    call.warnings.add(finding);
                }
                Ok(patch)
            }
        }
    }

    /// What becomes of the live object, or of none.
    fn apply(&self, call: &Call, live: Option<&Value>, options: &WriteOptions) -> Result<Value, Status> {
        let mut patched = match (self, live) {
            (Patch::Apply(configuration), live) => {
                return call.resource.form.apply(call, live, configuration.clone(), options);
            }
            (_, None) => return Err(call.not_found()),
            (_, Some(live)) => live.clone(),
        };
        match self {
            // The reference does not say why a patch does not apply.
            Patch::Json(patch) => patched = patch.apply(patched).map_err(|_| does_not_apply())?,
            Patch::Strategic(Value::Object(patch)) => {
                call.resource.form.strategic_merge(&mut patched, patch.clone())?;
                return Ok(patched);
            }
            Patch::Merge(patch) | Patch::Strategic(patch) | Patch::Apply(patch) => {
                merge::apply(&mut patched, patch.clone());
            }
        }
        body::patched(call, patched, options.field_validation)
    }
}

pub(super) fn does_not_apply() -> Status {
    Status::generic(422, "", &meta::gvk::GroupResource::new("", ""), "", "")
}
