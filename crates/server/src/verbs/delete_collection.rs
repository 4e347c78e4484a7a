//! Deleting every object that a selector picks.
//!
//! Upstream: apiserver/pkg/registry/generic/registry/store.go (`DeleteCollection`), v1.36.

use meta::status::Status;

use super::delete::{self, Outcome};
use super::options::ListOptions;
use super::select::Selection;
use super::{Answer, Call, delete_options, list};

/// Bound: deletions under way at once, so that they share a sync without flooding the store.
const PARALLEL_DELETIONS: usize = 64;

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    let options = ListOptions::parse(&call.info.query)?;
    let delete_options = delete_options::read(call)?;
    let selection = Selection::new(&call.resource, &options)?;
    let found = list::read(call, &options, &selection).await?;
    for chunk in found.objects.chunks(PARALLEL_DELETIONS) {
        let deletions = chunk.iter().map(|object| delete_one(call, object, &delete_options, &output));
        futures_util::future::try_join_all(deletions).await?;
    }
    Ok(Answer::List { list: found, output })
}

/// One that is gone meanwhile is as good as deleted.
async fn delete_one(
    call: &Call,
    object: &std::sync::Arc<registry::Object>,
    options: &super::options::DeleteOptions,
    output: &crate::negotiate::Output,
) -> Result<(), Status> {
    let mut current = object.clone();
    loop {
        match delete::delete(call, &current, options, output).await? {
            Outcome::Done(_) | Outcome::Lost(None) => return Ok(()),
            Outcome::Lost(Some(newer)) => current = newer,
        }
    }
}
