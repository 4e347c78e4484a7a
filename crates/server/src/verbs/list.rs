//! Reading many objects, page by page if the client wants.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/get.go, apiserver/pkg/storage/cacher, v1.36.

use std::collections::HashSet;
use std::sync::Arc;

use meta::selector::field::FieldSelector;
use meta::selector::label::LabelSelector;
use meta::status::Status;
use meta::{Map, Text, Value};
use registry::{At, ContinueToken, Object, Objects, Page, PageRequest};
use store::Revision;

use super::options::{ListOptions, parse_int};
use super::select::Selection;
use super::{Answer, Call, storage_status};
use crate::conversion::{ConversionError, Views};

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
    let failed = |error| match error {
        registry::Error::Expired { oldest } => expired(call, options, oldest),
        other => storage_status(&other, call),
    };
    if let Some(views) = call.resource.form.asking_views() {
        let state = call.server.registry.state(&call.resource.cache, request.at).await.map_err(failed)?;
        let page = Box::pin(converted_page(call, views, state, selection, &request)).await;
        let page = page.map_err(|error| unready(call, views, &error, options))?;
        return Ok(answer(page, &request));
    }
    let page = call.server.registry.page(&call.resource.cache, &request, filter).await;
    let page = page.map_err(failed)?;
    if let Some(views) = call.resource.form.views()
        && let Some(error) = views.stranded(&page.objects)
    {
        return Err(unready(call, views, &error, options));
    }
    Ok(answer(page, &request))
}

/// Reads a page of objects that a webhook converts: all in one call, and before they are selected if that can
/// make a difference.
async fn converted_page(
    call: &Call,
    views: &Arc<Views>,
    (objects, revision): (Objects, Revision),
    selection: &Selection,
    request: &PageRequest,
) -> Result<Page, ConversionError> {
    let mut selected = HashSet::new();
    if selection.asks() {
        let in_scope = |entry: &&registry::Entry| {
            (request.namespace.is_empty() || entry.object.namespace() == request.namespace)
                && selection.selects_name(&entry.object)
        };
        let candidates: Vec<_> =
            objects.values().filter(in_scope).map(|entry| entry.object.clone()).collect();
        let shown = views.show_all(&candidates).await?;
        let selects = candidates.iter().zip(shown).filter(|(_, shown)| selection.selects_shown(shown));
        selected.extend(selects.map(|(object, _)| Arc::as_ptr(object).addr()));
    }
    let matches = |entry: &registry::Entry| {
        if selection.asks() {
            selected.contains(&Arc::as_ptr(&entry.object).addr())
        } else {
            selection.selects_entry(entry)
        }
    };
    let filter: Option<&(dyn Fn(&registry::Entry) -> bool + Sync)> =
        if selection.is_everything() { None } else { Some(&matches) };
    let page = registry::page_of_state(&call.resource.cache, objects, revision, request, filter);
    views.show_all(&page.objects).await?;
    Ok(page)
}

/// Objects of a list could not be converted.
///
/// The reference lists from a cache for each version, filled when it begins to serve a state of a definition. If it cannot
/// fill it, it says so; single pages and older states it reads from its store all the same.
pub(super) fn unready(call: &Call, views: &Views, error: &ConversionError, options: &ListOptions) -> Status {
    let unselected = options.label_selector.as_ref().is_none_or(LabelSelector::is_empty)
        && options.field_selector.as_ref().is_none_or(FieldSelector::is_empty);
    let from_store = options.limit > 0 && unselected
        || options.resource_version_match == "Exact"
        || !options.continue_token.is_empty();
    if from_store || !views.cannot_begin(error) {
        return error.status();
    }
    cannot_begin(call, error)
}

/// What is said while a version cannot be served from a cache.
pub(super) fn cannot_begin(call: &Call, error: &ConversionError) -> Status {
    let resource = &call.resource;
    let message = format!(
        "storage is (re)initializing: failed to list {}, Kind={}: {error}",
        resource.api_version(),
        resource.names.kind
    );
    Status::too_many_requests(message, 1)
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
