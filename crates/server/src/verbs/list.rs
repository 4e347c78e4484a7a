//! Reading many objects, page by page if the client wants.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/get.go, apiserver/pkg/storage/cacher, v1.36.

use std::sync::Arc;

use meta::status::Status;
use meta::{Map, Text, Value};
use registry::{At, ContinueToken, Object, Page, PageRequest};
use store::Revision;

use super::options::{ListOptions, parse_int};
use super::select::Selection;
use super::{Answer, Call, storage_status};

/// A list that has been read.
pub struct ListAnswer {
    pub objects: Vec<Arc<Object>>,
    pub revision: Revision,
    pub continue_token: String,
    pub remaining: Option<usize>,
}

impl ListAnswer {
    /// The list's own metadata. Lists of custom resources always carry a `continue`.
    pub fn metadata(&self, untyped: bool) -> Value {
        let mut metadata = Map::new();
        if untyped || !self.continue_token.is_empty() {
            metadata.insert("continue", self.continue_token.as_str());
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount", i64::try_from(remaining).unwrap_or(i64::MAX));
        }
        metadata.insert("resourceVersion", self.revision.to_string());
        Value::Object(metadata)
    }
}

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = call.output()?;
    let options = ListOptions::parse(&call.info.query, false)?;
    let selection = Selection::new(&call.resource, &options)?;
    let list = read(call, &options, &selection).await?;
    Ok(Answer::List { list, output })
}

/// Reads the page that the options ask for.
pub(super) async fn read(
    call: &Call,
    options: &ListOptions,
    selection: &Selection,
) -> Result<ListAnswer, Status> {
    let limit = usize::try_from(options.limit).unwrap_or(0);
    let (at, start) = position(options)?;
    if let At::NotOlderThan(revision) | At::Exactly(revision) = at {
        call.wait_for(revision).await?;
    }
    let request = PageRequest { namespace: call.namespace().into(), start, limit, at };
    let matches = |entry: &registry::Entry| selection.selects_entry(entry);
    let filter: Option<&(dyn Fn(&registry::Entry) -> bool + Sync)> =
        if selection.is_everything() { None } else { Some(&matches) };
    let page = call.server.registry.page(&call.resource.cache, &request, filter).await;
    let page = page.map_err(|error| match error {
        registry::Error::Expired { oldest } => expired(call, options, oldest),
        other => storage_status(&other, call),
    })?;
    Ok(answer(page, &request))
}

fn answer(page: Page, request: &PageRequest) -> ListAnswer {
    let inconsistent = request.at == At::Fresh && !request.start.is_empty();
    let token = page.last.as_ref().map(|last| {
        let revision = if inconsistent { None } else { Some(page.revision) };
        ContinueToken::behind(revision, last).encode()
    });
    ListAnswer {
        objects: page.objects,
        revision: page.revision,
        continue_token: token.unwrap_or_default(),
        remaining: page.remaining,
    }
}

/// At which state the list is read, and from which key on.
fn position(options: &ListOptions) -> Result<(At, Text), Status> {
    if !options.continue_token.is_empty() {
        if !options.resource_version.is_empty() && options.resource_version != "0" {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let token = ContinueToken::decode(&options.continue_token)
            .map_err(|error| Status::bad_request(format!("invalid continue token: {error}")))?;
        let at = token.revision.map_or(At::Fresh, At::Exactly);
        return Ok((at, token.start.into()));
    }
    let version = match options.resource_version.as_str() {
        "" => return Ok((At::Fresh, Text::default())),
        text => list_version(text)?,
    };
    let at = match (options.resource_version_match.as_str(), version) {
        ("Exact", version) => At::Exactly(Revision(version)),
        (_, 0) => At::Any,
        ("NotOlderThan", version) => At::NotOlderThan(Revision(version)),
        // Of old, a version with a limit means exactly that version.
        (_, version) if options.limit > 0 => At::Exactly(Revision(version)),
        (_, version) => At::NotOlderThan(Revision(version)),
    };
    Ok((at, Text::default()))
}

/// A list is more polite about a bad version than other verbs.
fn list_version(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        let error = super::write::parse_resource_version(text).err();
        Status::bad_request(error.map(|status| status.message).unwrap_or_default())
    })
}

/// The state that a list began with is gone. The client may go on at the newest one with a fresh token.
fn expired(call: &Call, options: &ListOptions, oldest: Revision) -> Status {
    if options.continue_token.is_empty() {
        let asked = parse_int(&options.resource_version).unwrap_or(0);
        return Status::resource_expired(format!("too old resource version: {asked} ({oldest})"));
    }
    let status = storage_status(&registry::Error::Expired { oldest }, call);
    match ContinueToken::decode(&options.continue_token) {
        Ok(token) => status.with_continue(ContinueToken { revision: None, ..token }.encode()),
        Err(_) => status,
    }
}
