//! Reading many objects, page by page if the client wants.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/get.go, apiserver/pkg/storage/cacher, v1.36.

use std::sync::Arc;

use meta::status::Status;
use meta::{Map, Text, Value, wire::json};
use registry::{At, ContinueToken, Object, Page, PageRequest};
use store::Revision;

use super::get::read_version;
use super::options::ListOptions;
use super::select::Selection;
use super::{Answer, Call, converted, storage_status};
use crate::negotiate;

/// A list that has been read.
pub struct ListAnswer {
    pub objects: Vec<Arc<Object>>,
    pub revision: Revision,
    pub continue_token: String,
    pub remaining: Option<usize>,
}

impl ListAnswer {
    /// The list's own metadata as JSON. Custom resources have no type that would say which members come
    /// first and which are left out when they are empty.
    pub fn metadata_text(&self, untyped: bool) -> Vec<u8> {
        if untyped {
            let Value::Object(mut members) = self.metadata() else { return b"{}".to_vec() };
            members.get_or_insert_with("continue", || Value::from(""));
            return json::to_vec(&Value::Object(members));
        }
        let mut text = br#"{"resourceVersion":"#.to_vec();
        json::encode_str(&self.revision.to_string(), &mut text);
        if !self.continue_token.is_empty() {
            text.extend_from_slice(br#","continue":"#);
            json::encode_str(&self.continue_token, &mut text);
        }
        if let Some(remaining) = self.remaining {
            text.extend_from_slice(format!(",\"remainingItemCount\":{remaining}").as_bytes());
        }
        text.push(b'}');
        text
    }

    /// The list's own metadata.
    pub fn metadata(&self) -> Value {
        let mut metadata = Map::new();
        if !self.continue_token.is_empty() {
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
    let output = negotiate::list_output(&call.headers, &call.info.query, &call.resource)?;
    let options = ListOptions::parse(&call.info.query)?;
    let selection = Selection::for_call(call, &options)?;
    let list = read(call, &options, &selection).await?;
    Ok(Answer::List { list, output })
}

/// Reads the page that the options ask for.
pub(super) async fn read(
    call: &Call,
    options: &ListOptions,
    selection: &Selection,
) -> Result<ListAnswer, Status> {
    let only = only_key(call, options, selection);
    let (at, start) = position(options, only.is_some())?;
    if let At::NotOlderThan(revision) | At::Exactly(revision) = at {
        call.wait_for(revision).await?;
    }
    // Whatever is at hand is given as a whole.
    let limited = options.resource_version != "0" && only.is_none();
    let limit = if limited { usize::try_from(options.limit).unwrap_or(0) } else { 0 };
    let request = PageRequest { namespace: call.namespace().into(), start, only, limit, at };
    let matches = |entry: &registry::Entry| selection.selects_entry(entry);
    let filter: Option<&(dyn Fn(&registry::Entry) -> bool + Sync)> =
        if selection.is_everything() { None } else { Some(&matches) };
    let failed = |error| match error {
        registry::Error::Expired { .. } => expired(options),
        other => storage_status(&other, call),
    };
    if let Some(views) = call.resource.form.asking_views() {
        let state = call.server.registry.state(&call.resource.cache, request.at).await.map_err(failed)?;
        let page = Box::pin(converted::page(call, views, state, selection, &request)).await;
        return page.map(answer).map_err(|error| converted::unready(call, views, &error, options));
    }
    let narrow = if request.only.is_none() { selection.narrow() } else { None };
    let page = call.server.registry.page_by(&call.resource.cache, &request, narrow.as_ref(), filter).await;
    let page = page.map_err(failed)?;
    if let Some(views) = call.resource.form.views()
        && let Some(error) = views.stranded(&page.objects)
    {
        return Err(converted::unready(call, views, &error, options));
    }
    Ok(answer(page))
}

fn answer(page: Page) -> ListAnswer {
    let token = page.last.as_ref().map(|last| ContinueToken::behind(Some(page.revision), last).encode());
    ListAnswer {
        objects: page.objects,
        revision: page.revision,
        continue_token: token.unwrap_or_default(),
        remaining: page.remaining,
    }
}

/// The key of the only object that can match, when that is known: nothing to page through then.
fn only_key(call: &Call, options: &ListOptions, selection: &Selection) -> Option<Text> {
    let name = selection.required_name()?;
    let anywhere = call.resource.namespaced && call.namespace().is_empty();
    let usable = crate::request::is_path_segment(name);
    let known = options.continue_token.is_empty() && !anywhere && usable;
    known.then(|| registry::join_key(call.namespace(), name))
}

/// At which state the list is read, and from which key on.
fn position(options: &ListOptions, single: bool) -> Result<(At, Text), Status> {
    if !options.continue_token.is_empty() {
        let token = ContinueToken::decode(&options.continue_token)
            .map_err(|error| Status::bad_request(format!("invalid continue token: {error}")))?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let at = token.revision.map_or(At::Fresh, At::Exactly);
        return Ok((at, token.start.into()));
    }
    let version = match options.resource_version.as_str() {
        "" => return Ok((At::Fresh, Text::default())),
        // A list is more polite about a bad version than other verbs.
        text => read_version(text)
            .map_err(|status| Status::bad_request(format!("invalid resource version: {}", status.message)))?,
    };
    let at = match (options.resource_version_match.as_str(), version) {
        ("Exact", version) => At::Exactly(Revision(version)),
        (_, 0) => At::Any,
        ("NotOlderThan", version) => At::NotOlderThan(Revision(version)),
        // Of old, a version with a limit means exactly that version.
        (_, version) if options.limit > 0 && !single => At::Exactly(Revision(version)),
        (_, version) => At::NotOlderThan(Revision(version)),
    };
    Ok((at, Text::default()))
}

/// The state that a list asks for, or began with, is gone. One that began may go on at the newest state with a
/// fresh token.
fn expired(options: &ListOptions) -> Status {
    if options.continue_token.is_empty() {
        return Status::resource_expired("The resourceVersion for the provided list is too old.");
    }
    let status = Status::resource_expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    match ContinueToken::decode(&options.continue_token) {
        Ok(token) => status.with_continue(ContinueToken { revision: None, ..token }.encode()),
        Err(_) => status,
    }
}
