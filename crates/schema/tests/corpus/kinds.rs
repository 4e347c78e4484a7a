//! The kinds that the definitions of the corpus make, and the road of their objects around validation.

use std::collections::HashMap;

use crest_schema::Schema;
use crest_schema::scale::ScalePaths;
use meta::Value;
use meta::object::{Malformed, NamespaceRule};

use crate::recorded::{Corpus, Verdicts, text};

/// One served version of a definition.
pub(crate) struct Kind {
    pub(crate) schema: Schema,
    pub(crate) api_version: String,
    pub(crate) name: String,
    pub(crate) scope: NamespaceRule,
    pub(crate) has_status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// Of the version that objects are stored in.
    pub(crate) stored: Option<(String, Schema)>,
}

impl Kind {
    fn all_of(definition: &Value) -> Vec<(String, Kind)> {
        let spec = definition.get("spec").expect("a spec");
        let plural = text(spec.get("names").expect("names"), "plural");
        let versions = spec.get("versions").and_then(Value::as_array).expect("versions");
        let compile = |version: &Value| {
            let written = version.at(&["schema", "openAPIV3Schema"]).expect("a schema");
            Schema::compile(written).expect("a schema that compiles")
        };
        let storage = versions.iter().find(|version| version.get("storage") == Some(&true.into()));
        let storage = storage.expect("a storage version");
        let stored = (format!("{}/{}", text(spec, "group"), text(storage, "name")), compile(storage));
        versions
            .iter()
            .map(|version| {
                let scope = match text(spec, "scope") {
                    "Namespaced" => NamespaceRule::Required,
                    _ => NamespaceRule::Forbidden,
                };
                let kind = Kind {
                    schema: compile(version),
                    api_version: format!("{}/{}", text(spec, "group"), text(version, "name")),
                    name: text(spec.get("names").expect("names"), "kind").to_owned(),
                    scope,
                    has_status: version.at(&["subresources", "status"]).is_some(),
                    stored: Some(stored.clone()),
                    scale: version.at(&["subresources", "scale"]).map(ScalePaths::of),
                };
                (format!("{}/{}/{plural}", text(spec, "group"), text(version, "name")), kind)
            })
            .collect()
    }
}

/// The kinds that a project's definitions make, by group, version and resource.
pub(crate) fn kinds(corpus: &Corpus, project: &str) -> HashMap<String, Kind> {
    let creations = corpus.cases.iter().filter(|case| text(case, "op") == "crd-create");
    creations
        .filter(|case| text(case, "project") == project)
        .flat_map(|case| Kind::all_of(&corpus.body(case)))
        .collect()
}

/// Group, version and resource of a collection's path, and the namespace if there is one.
pub(crate) fn target(path: &str) -> (String, Option<&str>) {
    let parts: Vec<&str> = path.trim_start_matches("/apis/").split('/').collect();
    match parts.as_slice() {
        [group, version, "namespaces", namespace, resource] => {
            (format!("{group}/{version}/{resource}"), Some(*namespace))
        }
        [group, version, resource] => (format!("{group}/{version}/{resource}"), None),
        _ => (String::new(), None),
    }
}

/// What happens to an object between its defaults and its validation.
pub(crate) fn prepare(object: &mut Value, kind: &Kind, namespace: Option<&str>) {
    let Some(map) = object.as_object_mut() else { return };
    if kind.has_status {
        map.remove("status");
    }
    let metadata = map.get_or_insert_with("metadata", || meta::Map::new().into());
    let Some(metadata) = metadata.as_object_mut() else { return };
    metadata.insert("generation", 1_i64);
    for field in
        ["uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"]
    {
        metadata.remove(field);
    }
    metadata.remove("deletionGracePeriodSeconds");
    if let Some(namespace) = namespace
        && !metadata.contains_key("namespace")
    {
        metadata.insert("namespace", namespace);
    }
    if metadata.contains_key("generateName") && !metadata.contains_key("name") {
        metadata.insert("name", "<generated>");
    }
}

/// What a client gets back went to the storage version and through its defaults.
pub(crate) fn store_and_read(object: &mut Value, kind: &Kind) {
    let Some((api_version, stored)) = &kind.stored else { return };
    let set = |object: &mut Value, version: &str| {
        object.as_object_mut().expect("an object").insert("apiVersion", version);
    };
    set(object, api_version);
    stored.shape(object, Malformed::Drop, None).expect("an object from the store");
    stored.default(object);
    set(object, &kind.api_version);
    kind.schema.shape(object, Malformed::Reject, None).expect("an object from the store");
}

/// Calls `judge` with each case of the given operations and its kind.
pub(crate) fn each(
    corpus: &Corpus,
    operations: &[&str],
    verdicts: &mut Verdicts,
    judge: impl Fn(&Value, &Kind, &mut Verdicts),
) {
    let mut project = String::new();
    let mut known = HashMap::new();
    for case in corpus.cases.iter().filter(|case| operations.contains(&text(case, "op"))) {
        if text(case, "project") != project {
            text(case, "project").clone_into(&mut project);
            known = kinds(corpus, &project);
        }
        let request = case.get("request").expect("a request");
        let path = match text(request, "setup_post_path") {
            "" => text(request, "path"),
            path => path,
        };
        match known.get(&target(path).0) {
            Some(kind) => judge(case, kind, verdicts),
            None => verdicts.skip(case, "kind not in the corpus"),
        }
    }
}
