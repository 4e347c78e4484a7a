//! Changing an object by a patch.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/patch.go, v1.36.

use meta::Value;
use meta::patch::{json, merge};
use meta::status::Status;
use meta::wire;

use super::options::{FieldValidation, WriteKind, WriteOptions};
use super::update::{Change, match_name};
use super::write::{match_namespace, metadata_text};
use super::{Answer, Call, body};

/// What a patch's media type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchKind {
    Json,
    Merge,
}

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let kind = patch_kind(call)?;
    let output = call.output()?;
    let options = WriteOptions::parse(&call.info.query, WriteKind::Patch)?;
    let patch = Patch::parse(kind, &call.body)?;
    let change = Change { call, options: &options, output, expected_uid: String::new() };
    change
        .apply(|live| {
            let patched = patch.apply(live)?;
            let mut object = read_patched(call, patched, options.field_validation)?;
            match_namespace(&mut object, call.namespace())?;
            match_name(&mut object, call.name())?;
            Ok(object)
        })
        .await
}

fn patch_kind(call: &Call) -> Result<PatchKind, Status> {
    let media_type = call.headers.content_type.split(';').next().unwrap_or_default().trim();
    match media_type {
        JSON_PATCH => Ok(PatchKind::Json),
        MERGE_PATCH => Ok(PatchKind::Merge),
        _ => Err(Status::unsupported_media_type(&[JSON_PATCH, MERGE_PATCH])),
    }
}

/// A patch, read once and applied to as many versions of the object as it takes.
enum Patch {
    Json(json::Patch),
    Merge(Value),
}

impl Patch {
    fn parse(kind: PatchKind, body: &[u8]) -> Result<Self, Status> {
        match kind {
            PatchKind::Json => json::Patch::parse(body).map(Patch::Json).map_err(|error| error.to_status()),
            PatchKind::Merge => {
                let parsed = wire::json::parse(body);
                let patch = parsed.map_err(|error| {
                    Status::bad_request(format!("error decoding patch: {error}"))
                })?;
                Ok(Patch::Merge(patch.value))
            }
        }
    }

    fn apply(&self, live: &Value) -> Result<Value, Status> {
        match self {
            Patch::Json(patch) => patch.apply(live).map_err(|error| error.to_status()),
            Patch::Merge(patch) => {
                let mut patched = live.clone();
                merge::apply(&mut patched, patch.clone());
                Ok(patched)
            }
        }
    }
}

/// The patched object must still be one of its kind.
fn read_patched(call: &Call, patched: Value, directive: FieldValidation) -> Result<Value, Status> {
    let _ = metadata_text(&patched, "name");
    body::reread(&call.resource, patched, directive, &call.warnings)
}
