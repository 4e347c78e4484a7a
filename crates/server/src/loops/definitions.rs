//! Definitions become resources: names are accepted, conditions set, the catalog changed; a deleted
//! definition takes its objects with it.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/{status,establish,finalizer}, v1.36.

use std::collections::HashMap;
use std::sync::Arc;

use meta::{Map, Text, Value};
use registry::{Cache, Change, Object};
use store::Revision;

use super::names::{self, Role, kind_names, resource_names};
use super::{Again, delete_all, follow, look_again, next_change, remove, tree, write};
use crate::Server;
use crate::catalog::builtin::CLEANUP_FINALIZER;
use crate::catalog::definition::{self, text};
use crate::catalog::resource::Source;
use crate::catalog::{Catalog, Resource};
use crate::conditions::{self, Condition};
use crate::verbs::write::{is_deleting, metadata_mut, metadata_text};

/// Who writes the status of definitions, as their owners see it.
const MANAGER: &str = "kube-apiserver";

fn definitions(server: &Server) -> Option<Arc<Cache>> {
    let catalog = server.catalog.load();
    let resource = catalog.resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
    Some(resource.cache.clone())
}

/// The catalog with what a definition brings, or announces.
fn serve(
    catalog: &Catalog,
    server: &Server,
    definitions: &Arc<Cache>,
    name: &str,
    definition: &Value,
) -> Catalog {
    let resources = definition::resources(server, definitions, definition);
    catalog.with_definition(name, resources).announcing(name, definition::announced(definition))
}

/// Serves every definition that is established already, in one step.
pub(super) async fn catch_up(server: &Arc<Server>) -> Result<(), registry::Error> {
    let Some(cache) = definitions(server) else { return Ok(()) };
    let applied = server.registry.fresh(&cache).await?;
    let mut catalog = server.catalog.load().as_ref().clone();
    for entry in cache.snapshot(applied).objects.values() {
        if let Some(definition) = tree(&entry.object) {
            catalog = serve(&catalog, server, &cache, entry.object.name(), &definition);
        }
    }
    server.catalog.store(Arc::new(catalog));
    Ok(())
}

pub(super) async fn run(server: Arc<Server>) -> Result<(), registry::Error> {
    let Some(cache) = definitions(&server) else { return Ok(()) };
    let (mut watcher, objects) = follow(&server, &cache).await?;
    drop_unknown(&server, &objects);
    let mut keeper = Keeper { server, cache, groups: HashMap::new() };
    let values: Vec<_> =
        objects.values().filter_map(|entry| Some((&entry.object, tree(&entry.object)?))).collect();
    for (_, value) in &values {
        keeper.remember(value);
    }
    for (object, value) in values {
        keeper.settle(object, value).await?;
    }
    let server = keeper.server.clone();
    server.settled.follows(&keeper.cache);
    server.settled.advance(watcher.seen());
    // What was deleted while another replica led.
    let mut leading = server.leadership.is_leading();
    loop {
        let events = tokio::select! {
            events = watcher.next() => events?,
            () = server.leadership.begun(), if !leading => {
                leading = true;
                keeper.clean_up_all().await?;
                continue;
            }
            () = server.leadership.ended(), if leading => {
                leading = false;
                continue;
            }
        };
        for event in events {
            // Only the newest state counts; an older one has been overtaken.
            match keeper.cache.get(event.object.name()) {
                Some(current) => {
                    if let Some(value) = tree(&current) {
                        keeper.settle(&current, value).await?;
                    }
                }
                None if event.change == Change::Deleted => keeper.gone(&event.object).await?,
                None => {}
            }
            server.settled.advance(event.revision);
        }
    }
}

/// Stops serving definitions that went while nobody looked: the loop starts anew when it lost track of a shared store.
/// Their objects were somebody else's to delete.
fn drop_unknown(server: &Server, objects: &registry::Objects) {
    let catalog = server.catalog.load();
    let gone: Vec<&Text> = catalog.definitions().filter(|name| !objects.contains_key(*name)).collect();
    if gone.is_empty() {
        return;
    }
    let known =
        gone.into_iter().fold(catalog.as_ref().clone(), |catalog, name| catalog.without_definition(name));
    server.catalog.store(Arc::new(known));
}

/// What the loop remembers, so that a change costs the size of the change: the names that definitions hold, by
/// group.
struct Keeper {
    server: Arc<Server>,
    cache: Arc<Cache>,
    groups: HashMap<Text, Group>,
}

/// The definitions of a group, and who holds which name.
#[derive(Default)]
struct Group {
    definitions: HashMap<Text, Held>,
    resources: Holders,
    kinds: Holders,
}

/// Who holds a name; more than one where names were taken before there were rules.
type Holders = HashMap<Text, Vec<Text>>;

/// What one definition holds, and what of it was last put into the catalog.
struct Held {
    names: Value,
    waiting: bool,
    served: Option<Served>,
}

impl Group {
    fn hold(&mut self, definition: &str, held: Held) {
        for name in resource_names(&held.names) {
            self.resources.entry(name.into()).or_default().push(definition.into());
        }
        for name in kind_names(&held.names) {
            self.kinds.entry(name.into()).or_default().push(definition.into());
        }
        self.definitions.insert(definition.into(), held);
    }

    fn release(&mut self, definition: &str) -> Option<Held> {
        let held = self.definitions.remove(definition)?;
        let let_go = |holders: &mut Holders, name: &str| {
            if let Some(owners) = holders.get_mut(name) {
                owners.retain(|owner| owner != definition);
                if owners.is_empty() {
                    holders.remove(name);
                }
            }
        };
        resource_names(&held.names).for_each(|name| let_go(&mut self.resources, name));
        kind_names(&held.names).for_each(|name| let_go(&mut self.kinds, name));
        Some(held)
    }
}

fn is_held(holders: &Holders, name: &str, own: &str) -> bool {
    holders.get(name).is_some_and(|owners| owners.iter().any(|owner| owner != own))
}

/// What decides how a definition is served. While it stays the same, there is nothing to do.
#[derive(Clone, Debug, PartialEq)]
struct Served {
    uid: Text,
    generation: i64,
    deleting: bool,
    established: bool,
    names: Value,
}

impl Keeper {
    fn remember(&mut self, value: &Value) {
        let (group, name) = (text(value, &["spec", "group"]), metadata_text(value, "name"));
        let names = value.at(&["status", "acceptedNames"]).cloned().unwrap_or_default();
        let waiting = !conditions::is_true(value, "NamesAccepted");
        let group = self.groups.entry(group.into()).or_default();
        let served = group.release(name).and_then(|held| held.served);
        group.hold(name, Held { names, waiting, served });
    }

    /// Brings one definition as far as it can go now.
    async fn settle(&mut self, object: &Object, mut value: Value) -> Result<(), registry::Error> {
        self.remember(&value);
        if is_deleting(&value) {
            self.serve(&value);
            return clean_up(&self.server, &self.cache, object, value).await;
        }
        let before = value.clone();
        self.accept_names(&mut value);
        judge(&self.server, &mut value);
        if value != before {
            own_status(&self.server, &before, &mut value);
            // Before it is told: whoever sees that a definition is established finds its objects served.
            self.serve(&value);
            // The change comes back as an event, and then there is nothing to do. Another replica may have been
            // faster with the same; the names count as taken at once, so that all replicas judge alike.
            write(&self.server, &self.cache, object, &value).await?;
            self.remember(&value);
            return Ok(());
        }
        self.serve(&value);
        Ok(())
    }

    /// Puts what a definition brings into the catalog.
    fn serve(&mut self, value: &Value) {
        let (group, name) = (text(value, &["spec", "group"]), metadata_text(value, "name"));
        let metadata = meta::Meta::of(value);
        let served = Served {
            uid: metadata.uid().into(),
            generation: metadata.generation(),
            deleting: is_deleting(value),
            established: conditions::is_true(value, "Established"),
            names: value.at(&["status", "acceptedNames"]).cloned().unwrap_or_default(),
        };
        let held = self.groups.get_mut(group).and_then(|group| group.definitions.get_mut(name));
        let before = held.and_then(|held| held.served.replace(served.clone()));
        if before.as_ref() == Some(&served) {
            return;
        }
        if before.is_some_and(|before| before.uid != served.uid) {
            // Deleted and made anew before this was seen: watches on the old one end.
            self.withdraw(group, name, text(value, &["spec", "names", "plural"]));
        }
        let catalog = serve(&self.server.catalog.load(), &self.server, &self.cache, name, value);
        self.server.catalog.store(Arc::new(catalog));
    }

    /// Takes what a definition brought out of the catalog, and ends the watches on it.
    fn withdraw(&self, group: &str, name: &str, plural: &str) {
        let catalog = self.server.catalog.load_full();
        self.server.catalog.store(Arc::new(catalog.without_definition(name)));
        let resource = catalog.any_version(group, plural);
        let of_definition = |resource: &&Arc<Resource>| matches!(&resource.source, Source::Definition { name: from, .. } if from == name);
        if let Some(resource) = resource.filter(of_definition) {
            self.server.registry.forget(&resource.cache);
        }
    }

    /// A definition is gone: so are its paths; names it held may now go to others.
    async fn gone(&mut self, object: &Object) -> Result<(), registry::Error> {
        let Some(value) = tree(object) else { return Ok(()) };
        let (group, plural) = (text(&value, &["spec", "group"]), text(&value, &["spec", "names", "plural"]));
        self.withdraw(group, object.name(), plural);
        let Some(others) = self.groups.get_mut(group) else { return Ok(()) };
        others.release(object.name());
        let waiting = others.definitions.iter().filter(|(_, held)| held.waiting);
        let waiting: Vec<Text> = waiting.map(|(name, _)| name.clone()).collect();
        if others.definitions.is_empty() {
            self.groups.remove(group);
        }
        for name in waiting {
            if let Some(current) = self.cache.get(&name)
                && let Some(value) = tree(&current)
            {
                self.settle(&current, value).await?;
            }
        }
        Ok(())
    }
}

impl Keeper {
    /// This replica leads from now on: goes on with what another began.
    async fn clean_up_all(&self) -> Result<(), registry::Error> {
        for entry in self.cache.snapshot(Revision::ZERO).objects.values() {
            if entry.object.deleting
                && let Some(value) = tree(&entry.object)
            {
                clean_up(&self.server, &self.cache, &entry.object, value).await?;
            }
        }
        Ok(())
    }
}

/// Deletes the objects of a deleted definition, then lets it go. Only the leader does.
async fn clean_up(
    server: &Arc<Server>,
    cache: &Arc<Cache>,
    object: &Object,
    mut value: Value,
) -> Result<(), registry::Error> {
    let finalizers = value.at(&["metadata", "finalizers"]).and_then(Value::as_array).unwrap_or_default();
    let due = finalizers.iter().any(|name| name.as_str() == Some(CLEANUP_FINALIZER));
    if !due || !server.leadership.is_leading() {
        return Ok(());
    }
    let before = value.clone();
    let now = meta::time::format(server.env.now());
    let condition = |reason, message| Condition { kind: "Terminating", status: "True", reason, message };
    let objects = objects_of(server, &value).filter(|_| conditions::is_true(&value, "Established"));
    let changed: Vec<_> = objects.iter().map(|objects| next_change(objects)).collect();
    let left = match &objects {
        Some(objects) => delete_all(server, objects, "").await?,
        None => 0,
    };
    if left > 0 {
        let progress = condition("InstanceDeletionInProgress", "CustomResource deletion is in progress");
        if conditions::set(&mut value, &progress, &now) {
            own_status(server, &before, &mut value);
            write(server, cache, object, &value).await?;
        }
        let again = clean_up_again(server.clone(), cache.clone(), object.name().into());
        look_again(server, format!("definition {}", object.name()), changed, again);
        return Ok(());
    }
    let metadata = metadata_mut(&mut value);
    let others: Vec<Value> = metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .unwrap_or_default()
        .iter()
        .filter(|name| name.as_str() != Some(CLEANUP_FINALIZER))
        .cloned()
        .collect();
    if others.is_empty() {
        remove(server, cache, object).await?;
        return Ok(());
    }
    metadata.insert("finalizers", others);
    write(server, cache, object, &value).await?;
    Ok(())
}

fn objects_of(server: &Server, definition: &Value) -> Option<Arc<Cache>> {
    let (group, plural) =
        (text(definition, &["spec", "group"]), text(definition, &["spec", "names", "plural"]));
    let catalog = server.catalog.load();
    catalog.any_version(group, plural).map(|resource| resource.cache.clone())
}

/// Cleans up after a definition that is still being deleted.
fn clean_up_again(server: Arc<Server>, definitions: Arc<Cache>, name: Text) -> Again {
    Box::pin(async move {
        let Some(current) = definitions.get(&name).filter(|current| current.deleting) else { return Ok(()) };
        match tree(&current) {
            Some(value) => clean_up(&server, &definitions, &current, value).await,
            None => Ok(()),
        }
    })
}

impl Keeper {
    /// Takes the names that nobody else has, and says so.
    ///
    /// Upstream: apiextensions-apiserver/pkg/controller/status/naming_controller.go, v1.36.
    fn accept_names(&self, value: &mut Value) {
        let none = Group::default();
        let group = self.groups.get(text(value, &["spec", "group"])).unwrap_or(&none);
        let own = metadata_text(value, "name");
        let wanted = value.at(&["spec", "names"]).cloned().unwrap_or_default();
        let before = value.at(&["status", "acceptedNames"]).cloned().unwrap_or_default();
        let held = |role, name: &str| match role {
            Role::Resource => is_held(&group.resources, name, own),
            Role::Kind => is_held(&group.kinds, name, own),
        };
        let (accepted, conflict) = names::accept(&wanted, &before, &held);
        set_accepted(value, accepted);
        say(
            &self.server,
            value,
            conflict.as_ref().map(|conflict| (conflict.reason, conflict.message.as_str())),
        );
    }
}

fn say(server: &Server, value: &mut Value, conflict: Option<(&str, &str)>) {
    let now = meta::time::format(server.env.now());
    let established = conditions::is_true(value, "Established");
    let names = match conflict {
        None => Condition {
            kind: "NamesAccepted",
            status: "True",
            reason: "NoConflicts",
            message: "no conflicts found",
        },
        Some((reason, message)) => Condition { kind: "NamesAccepted", status: "False", reason, message },
    };
    conditions::set(value, &names, &now);
    let ready = match conflict {
        _ if established => return, // once served, always served
        None => Condition {
            kind: "Established",
            status: "True",
            reason: "InitialNamesAccepted",
            message: "the initial names have been accepted",
        },
        Some(_) => Condition {
            kind: "Established",
            status: "False",
            reason: "NotAccepted",
            message: "not all names are accepted",
        },
    };
    conditions::set(value, &ready, &now);
}

/// Says whether a community group was approved and whether the schemas are structural.
fn judge(server: &Server, value: &mut Value) {
    let now = meta::time::format(server.env.now());
    for (kind, found) in [
        ("KubernetesAPIApprovalPolicyConformant", schema::crd::api_approval(value)),
        ("NonStructuralSchema", schema::crd::non_structural(value)),
    ] {
        match found {
            None => conditions::remove(value, kind),
            Some(found) => {
                let status = match found.status {
                    schema::crd::Truth::True => "True",
                    schema::crd::Truth::False => "False",
                    schema::crd::Truth::Unknown => "Unknown",
                };
                let condition = Condition { kind, status, reason: found.reason, message: &found.message };
                conditions::set(value, &condition, &now);
            }
        }
    }
}

/// Records that the server wrote the status.
fn own_status(server: &Server, before: &Value, value: &mut Value) {
    let catalog = server.catalog.load();
    if let Some(resource) = catalog.resource("apiextensions.k8s.io", "v1", "customresourcedefinitions") {
        resource.form.own_as(MANAGER, "status", Some(before), value, server.env.now());
    }
}

fn set_accepted(value: &mut Value, accepted: Map) {
    if let Some(Value::Object(status)) = value.get_mut("status") {
        status.insert("acceptedNames", accepted);
    }
}
