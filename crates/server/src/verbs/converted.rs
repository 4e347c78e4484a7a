//! Lists of objects that a webhook converts, and what is said when it does not.

use std::collections::HashSet;
use std::sync::Arc;

use meta::selector::field::FieldSelector;
use meta::selector::label::LabelSelector;
use meta::status::Status;
use registry::{Objects, Page, PageRequest};
use store::Revision;

use super::Call;
use super::options::ListOptions;
use super::select::Selection;
use crate::conversion::{ConversionError, Views};

/// Reads a page of objects that a webhook converts: all in one call, and before they are selected if that can
/// make a difference.
pub(super) async fn page(
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
/// The reference lists from a cache for each version, filled when it begins to serve a state of a definition. If it
/// cannot fill it, it says so; single pages and older states it reads from its store all the same.
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
