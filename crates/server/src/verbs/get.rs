//! Reading one object.

use meta::status::Status;
use store::Revision;

use super::write::parse_resource_version;
use super::{Answer, Call, storage_status};

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    let version = call.info.query.get("resourceVersion").unwrap_or_default();
    let version = parse_resource_version(version)?;
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
