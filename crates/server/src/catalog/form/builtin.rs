//! Bodies of built-in kinds: what they are read as, and what fills them in.

use meta::status::Status;
use meta::{Map, Value};
use schema::typed;

use super::{BuiltinForm, clear_owners, clears_owners};
use crate::catalog::Resource;
use crate::verbs::NamedKind;
use crate::verbs::write::set_or_remove;

impl BuiltinForm {
    pub(super) fn decode(
        &self,
        resource: &Resource,
        value: &mut Value,
        named: &NamedKind,
    ) -> Result<Vec<String>, String> {
        let own = named.kind == resource.names.kind && named.version.group == resource.group;
        if own && self.is_retired(&named.version.version) {
            return Ok(Vec::new()); // it is understood, and refused because of its version
        }
        if !own || named.version.version != resource.version {
            return Err(self.foreign(resource, named, value));
        }
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let cleared = clears_owners(value);
        let decoded = typed::decode(self.kind, value).map_err(|error| error.to_string())?;
        if cleared {
            clear_owners(value);
        }
        if let Value::Object(members) = value {
            members.insert("apiVersion", resource.api_version());
            members.insert("kind", resource.names.kind.clone());
        }
        self.default(value);
        Ok(decoded.unknown)
    }

    /// What was merged becomes an object of the kind: amounts and times as the kind writes them, nothing that is
    /// empty, and no value that cannot be read.
    pub(super) fn restore(&self, resource: &Resource, object: &mut Value) -> Result<(), Status> {
        let name = object.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = ["apiVersion", "kind"].map(|key| object.get(key).cloned());
        typed::restore(self.kind, object).map_err(|error| {
            let gvk = format!("{}/{}, Kind={}", resource.group, resource.version, resource.names.kind);
            let context = format!("failed to convert new object (/{name}; {gvk}) to proper version");
            Status::unknown(
                500,
                format!("{context}: unable to convert unstructured object to {gvk}: {error}"),
            )
        })?;
        if let Value::Object(members) = object {
            for (key, value) in ["apiVersion", "kind"].into_iter().zip(kind) {
                set_or_remove(members, key, value);
            }
        }
        Ok(())
    }

    pub(super) fn default(&self, value: &mut Value) {
        typed::default(self.kind, value);
        (self.hooks.default)(value);
    }

    /// Versions that the reference still reads but no longer serves.
    pub(super) fn is_retired(&self, version: &str) -> bool {
        matches!(
            (self.resource.group, version),
            ("apiextensions.k8s.io" | "events.k8s.io" | "coordination.k8s.io", "v1beta1")
        )
    }

    /// Why a body of another kind cannot be taken for this one. It is read as what it says it is first.
    pub(super) fn foreign(&self, resource: &Resource, named: &NamedKind, value: &mut Value) -> String {
        let (group, version) = (&named.version.group, &named.version.version);
        let known = typed::kind(group, version, &named.kind);
        if let Some(Err(error)) = known.map(|kind| typed::decode(kind, value)) {
            return error.to_string();
        }
        if known.is_some() || is_common(group, version, &named.kind) {
            let package = if resource.group.is_empty() {
                "core"
            } else {
                resource.group.split('.').next().unwrap_or_default()
            };
            return format!(
                "converting ({version}.{}) to ({package}.{}): unknown conversion",
                named.kind, resource.names.kind
            );
        }
        let scheme = match self.resource.group {
            "apiextensions.k8s.io" => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
            _ => "pkg/api/legacyscheme/scheme.go:30",
        };
        format!(
            "no kind \"{}\" is registered for version \"{}\" in scheme \"{scheme}\"",
            named.kind, named.version
        )
    }
}

/// Whether a kind is none of the described ones but one of those that come with them: lists, options, answers.
fn is_common(group: &str, version: &str, kind: &str) -> bool {
    let of_all_groups = matches!(
        kind,
        "CreateOptions"
            | "DeleteOptions"
            | "GetOptions"
            | "ListOptions"
            | "PatchOptions"
            | "UpdateOptions"
            | "WatchEvent"
    );
    let of_core =
        matches!(kind, "APIGroup" | "APIGroupList" | "APIResourceList" | "APIVersions" | "List" | "Status");
    let is_list = kind.strip_suffix("List").is_some_and(|item| typed::kind(group, version, item).is_some());
    is_list || (group.is_empty() && version == "v1" && (of_core || of_all_groups))
}
