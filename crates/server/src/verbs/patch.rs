//! Changing an object by a patch.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/patch.go, v1.36.

use meta::Value;
use meta::patch::{JsonPatch, Strictness, merge};
use meta::status::Status;
use meta::wire::negotiate::{PatchType, negotiate_patch};

use super::options::{FieldValidation, WriteKind, WriteOptions};
use super::update::{Change, match_name};
use super::write::match_namespace;
use super::{Answer, Call, body};

/// The patches that are understood, in the order of the reference's error.
const ACCEPTED: [PatchType; 2] = [PatchType::Json, PatchType::Merge];

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let kind = negotiate_patch(&call.headers.content_type, &ACCEPTED)?;
    let output = call.output()?;
    let options = WriteOptions::parse(&call.info.query, WriteKind::Patch)?;
    let patch = Patch::read(call, kind, options.field_validation)?;
    let change = Change { call, options: &options, output, expected_uid: String::new() };
    change
        .apply(|live| {
            let patched = patch.apply(live.clone())?;
            let mut object = read_patched(call, patched, options.field_validation)?;
            match_namespace(&mut object, call.namespace())?;
            match_name(&mut object, call.name())?;
            Ok(object)
        })
        .await
}

/// A patch, read once and applied to as many versions of the object as it takes.
enum Patch {
    Json(JsonPatch),
    Merge(Value),
}

impl Patch {
    fn read(call: &Call, kind: PatchType, directive: FieldValidation) -> Result<Self, Status> {
        let strictness =
            if directive == FieldValidation::Ignore { Strictness::Ignore } else { Strictness::Report };
        let (patch, findings) = match kind {
            PatchType::Json => {
                let decoded = JsonPatch::from_request(&call.body, strictness)?;
                (Patch::Json(decoded.patch), decoded.strict_errors)
            }
            _ => {
                let decoded = merge::from_request(&call.body, strictness)?;
                (Patch::Merge(decoded.patch), decoded.strict_errors)
            }
        };
        match directive {
            FieldValidation::Strict if !findings.is_empty() => {
                Err(Status::bad_request(format!("strict decoding error: {}", findings.join(", "))))
            }
            _ => {
                findings.into_iter().for_each(|finding| call.warnings.add(finding));
                Ok(patch)
            }
        }
    }

    fn apply(&self, mut live: Value) -> Result<Value, Status> {
        match self {
            // The reference does not say why a patch does not apply.
            Patch::Json(patch) => patch.apply(live).map_err(|_| does_not_apply()),
            Patch::Merge(patch) => {
                merge::apply(&mut live, patch.clone());
                Ok(live)
            }
        }
    }
}

fn does_not_apply() -> Status {
    Status::generic(422, "", &meta::gvk::GroupResource::new("", ""), "", "")
}

/// The patched object must still be one of its kind.
fn read_patched(call: &Call, patched: Value, directive: FieldValidation) -> Result<Value, Status> {
    body::shape(&call.resource, patched, &[], Vec::new(), directive, &call.warnings)
}
