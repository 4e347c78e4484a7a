//! The objects that are fought over: a built-in kind and a custom one, with a value that is never used twice.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::history::{Change, Kind, Version};
use testkit::{CRONTAB_DEFINITION, CRONTABS, Client, Event, revision};

/// A collection in which the clients work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    /// What the keys of the history begin with.
    pub(crate) prefix: &'static str,
    pub(crate) path: &'static str,
    kind: &'static str,
    version: &'static str,
}

pub(crate) const COLLECTIONS: [Collection; 2] = [
    Collection {
        prefix: "configmaps/",
        path: "/api/v1/namespaces/default/configmaps",
        kind: "ConfigMap",
        version: "v1",
    },
    Collection { prefix: "crontabs/", path: CRONTABS, kind: "CronTab", version: "stable.example.com/v1" },
];

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Where an object carries its value.
const VALUE: &str = "value";

impl Collection {
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// An object as it is sent; an update names the version that it replaces.
    pub(crate) fn object(&self, name: &str, value: &str, replaces: Option<u64>) -> Value {
        let mut metadata = json!({"name": name, "annotations": {VALUE: value}});
        if let Some(revision) = replaces {
            metadata["resourceVersion"] = revision.to_string().into();
        }
        json!({"apiVersion": self.version, "kind": self.kind, "metadata": metadata})
    }

    /// A listed collection as the history has it.
    pub(crate) fn listed(&self, list: &Value) -> BTreeMap<String, Version> {
        let items = list["items"].as_array().expect("a list has items");
        // Made by the server or by other tests of it, not by the clients.
        let ours = items.iter().filter(|object| object["metadata"]["annotations"][VALUE].is_string());
        ours.map(|object| (self.key(&name(object)), version(object))).collect()
    }

    /// A watch event as the history has it; `None` for objects that are not the clients'.
    pub(crate) fn change(&self, event: &Event) -> Option<Change> {
        let kind = match event.kind.as_str() {
            "ADDED" => Kind::Added,
            "MODIFIED" => Kind::Modified,
            "DELETED" => Kind::Deleted,
            _ => return None,
        };
        event.object["metadata"]["annotations"][VALUE].as_str()?;
        let Version { revision, value } = version(&event.object);
        Some(Change { kind, key: self.key(event.name()), revision, value })
    }
}

pub(crate) fn version(object: &Value) -> Version {
    let value = object["metadata"]["annotations"][VALUE].as_str().unwrap_or_default();
    Version { revision: revision(object), value: value.to_owned() }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().expect("objects have names").to_owned()
}

/// Makes the definition of the custom kind and waits until it is established.
pub(crate) async fn define(client: &Client) {
    let method = "POST".parse().expect("a method");
    let post = client.request(method, DEFINITIONS, Some("application/yaml"), CRONTAB_DEFINITION);
    client.send(post).await.expect(201);
    let mut watch = client.watch(&format!("{DEFINITIONS}?resourceVersion=0")).await;
    watch.until(|event| event.object["status"]["conditions"].to_string().contains("\"Established\"")).await;
}
