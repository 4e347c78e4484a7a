//! A deleted namespace takes everything in it with it.
//!
//! Upstream: kubernetes/pkg/controller/namespace/deletion, v1.36.

use std::collections::BTreeMap;
use std::sync::Arc;

use meta::{Text, Value};
use registry::{Cache, Object, in_namespace};
use store::Revision;

use super::{Again, delete_all, follow, look_again, next_change, remove, tree, write};
use crate::Server;
use crate::catalog::builtin::NAMESPACE_FINALIZER;
use crate::conditions::{self, Condition};
use crate::verbs::write::{has_finalizers, is_deleting};

fn namespaces(server: &Server) -> Option<Arc<Cache>> {
    server.catalog.load().resource("", "v1", "namespaces").map(|resource| resource.cache.clone())
}

pub(super) async fn run(server: Arc<Server>) -> Result<(), registry::Error> {
    let Some(cache) = namespaces(&server) else { return Ok(()) };
    let (mut watcher, objects) = follow(&server, &cache).await?;
    for entry in objects.values().filter(|entry| entry.object.deleting) {
        empty(&server, &cache, &entry.object).await?;
    }
    loop {
        for event in watcher.next().await? {
            if let Some(current) = cache.get(event.object.name()).filter(|current| current.deleting) {
                empty(&server, &cache, &current).await?;
            }
        }
    }
}

/// Deletes what is in a namespace, then the namespace. What finalizers hold is looked at again when it changes.
async fn empty(server: &Arc<Server>, cache: &Arc<Cache>, namespace: &Object) -> Result<(), registry::Error> {
    let Some(mut value) = tree(namespace) else { return Ok(()) };
    if !is_deleting(&value) {
        return Ok(());
    }
    let catalog = server.catalog.load_full();
    let mut held = Vec::new();
    let (mut remaining, mut changes) = (Vec::new(), Vec::new());
    for resource in catalog.resources().filter(|resource| resource.namespaced) {
        let change = next_change(&resource.cache);
        let left = delete_all(server, &resource.cache, namespace.name()).await?;
        if left > 0 {
            changes.push(change);
            held.push(resource.cache.clone());
            let (plural, group) = (&resource.names.plural, &resource.group);
            remaining.push(format!("{plural}.{group} has {left} resource instances"));
        }
    }
    if !held.is_empty() {
        let finalizers = finalizers_in(&held, namespace.name());
        if tell(server, &mut value, &remaining, &finalizers) {
            write(server, cache, namespace, &value).await?;
        }
        let again = empty_again(server.clone(), cache.clone(), namespace.name().into());
        look_again(server, format!("namespace {}", namespace.name()), changes, again);
        return Ok(());
    }
    if let Some(Value::Object(spec)) = value.get_mut("spec")
        && let Some(Value::Array(finalizers)) = spec.get_mut("finalizers")
    {
        finalizers.retain(|name| name.as_str() != Some(NAMESPACE_FINALIZER));
        if !finalizers.is_empty() {
            write(server, cache, namespace, &value).await?;
            return Ok(());
        }
        spec.remove("finalizers");
    }
    if has_finalizers(&value) {
        write(server, cache, namespace, &value).await?;
    } else {
        remove(server, cache, namespace).await?;
    }
    Ok(())
}

/// How many objects each finalizer still holds in a namespace.
fn finalizers_in(caches: &[Arc<Cache>], namespace: &str) -> BTreeMap<Text, usize> {
    let mut counts = BTreeMap::new();
    for cache in caches {
        for entry in in_namespace(&cache.snapshot(Revision::ZERO).objects, namespace) {
            if let Some(value) = tree(&entry.object) {
                for finalizer in meta::Meta::of(&value).finalizers() {
                    *counts.entry(Text::from(finalizer)).or_default() += 1;
                }
            }
        }
    }
    counts
}

/// Says in the status what keeps the namespace. True when that changed it.
fn tell(
    server: &Server,
    namespace: &mut Value,
    remaining: &[String],
    finalizers: &BTreeMap<Text, usize>,
) -> bool {
    let now = meta::time::format(server.env.now());
    let remaining = format!("Some resources are remaining: {}", remaining.join(", "));
    let finalizers: Vec<String> =
        finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
    let held = format!("Some content in the namespace has finalizers remaining: {}", finalizers.join(", "));
    let mut changed = false;
    for (kind, status, reason, message) in [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain", remaining.as_str()),
        ("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", held.as_str()),
    ] {
        changed |= conditions::set(namespace, &Condition { kind, status, reason, message }, &now);
    }
    changed
}

/// Empties a namespace that is still being deleted.
fn empty_again(server: Arc<Server>, cache: Arc<Cache>, name: Text) -> Again {
    Box::pin(async move {
        match cache.get(&name).filter(|current| current.deleting) {
            Some(current) => empty(&server, &cache, &current).await,
            None => Ok(()),
        }
    })
}
