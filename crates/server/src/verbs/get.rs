//! Reading one object.

use meta::status::Status;
use store::Revision;

use super::options::{parse_bool, parse_uint};
use super::{Answer, Call, storage_status};

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    if call.info.query.get("export").is_some_and(parse_bool) {
        return Err(Status::bad_request(
            "the export parameter, deprecated since v1.14, is no longer supported",
        ));
    }
    let version = read_version(call.info.query.get("resourceVersion").unwrap_or_default())?;
    let (registry, cache) = (&call.server.registry, &call.resource.cache);
    match version {
        // Without a version the answer contains everything acknowledged before; with one, at least that.
        0 if call.info.query.get("resourceVersion").is_some_and(|text| !text.is_empty()) => {
            registry.any_state(cache).await.map_err(|error| storage_status(&error, call))?;
        }
        0 => {
            registry.fresh(cache).await.map_err(|error| storage_status(&error, call))?;
        }
        version => {
            registry.any_state(cache).await.map_err(|error| storage_status(&error, call))?;
            call.wait_for(Revision(version)).await?;
        }
    }
    let object = cache.get(&call.key()).ok_or_else(|| call.not_found())?;
    Ok(Answer::Object { code: 200, object, output })
}

/// The version that a client wants to read at; 0 where it does not matter.
///
/// Upstream: `apiserver/pkg/storage/api_object_versioner.go`, v1.36 — an error that nobody translates.
pub(super) fn read_version(text: &str) -> Result<u64, Status> {
    if text.is_empty() {
        return Ok(0);
    }
    parse_uint(text).map_err(|error| {
        let path = meta::FieldPath::ROOT.field("resourceVersion");
        Status::unknown(500, meta::FieldError::invalid(&path, text, error).to_string())
    })
}
