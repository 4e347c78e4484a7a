//! Creations of objects: what is pruned and defaulted, what is refused and why.

use std::collections::HashMap;

use crest_schema::scale::ScalePaths;
use crest_schema::structural::Facts;
use crest_schema::{Schema, rules};
use meta::object::{Malformed, NamespaceRule, validate_object_meta};
use meta::wire::json;
use meta::{FieldError, FieldPath, Meta, Value, names};

use crate::recorded::{Corpus, Verdicts, as_causes, causes, code, text};

/// One served version of a definition.
pub struct Kind {
    schema: Schema,
    api_version: String,
    name: String,
    scope: NamespaceRule,
    has_status: bool,
    scale: Option<ScalePaths>,
    /// Of the version that objects are stored in.
    stored: Option<(String, Schema)>,
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
pub fn kinds(corpus: &Corpus, project: &str) -> HashMap<String, Kind> {
    let creations = corpus.cases.iter().filter(|case| text(case, "op") == "crd-create");
    creations
        .filter(|case| text(case, "project") == project)
        .flat_map(|case| Kind::all_of(&corpus.body(case)))
        .collect()
}

pub fn replay(corpus: &Corpus, verdicts: &mut Verdicts) {
    let mut project = String::new();
    let mut known = HashMap::new();
    for case in &corpus.cases {
        if !matches!(text(case, "op"), "create-strict" | "create-warn" | "mutation") {
            continue;
        }
        if text(case, "project") != project {
            text(case, "project").clone_into(&mut project);
            known = kinds(corpus, &project);
        }
        let (key, namespace) = target(text(case.get("request").expect("a request"), "path"));
        match known.get(&key) {
            Some(kind) => judge(case, kind, corpus.body(case), &namespace, verdicts),
            None => verdicts.skip(case, "kind not in the corpus"),
        }
    }
}

/// Group, version and resource of a collection's path, and the namespace if there is one.
fn target(path: &str) -> (String, Option<String>) {
    let parts: Vec<&str> = path.trim_start_matches("/apis/").split('/').collect();
    match parts.as_slice() {
        [group, version, "namespaces", namespace, resource] => {
            (format!("{group}/{version}/{resource}"), Some((*namespace).to_owned()))
        }
        [group, version, resource] => (format!("{group}/{version}/{resource}"), None),
        _ => (String::new(), None),
    }
}

fn judge(case: &Value, kind: &Kind, mut object: Value, namespace: &Option<String>, verdicts: &mut Verdicts) {
    let wanted = code(case);
    if wanted == 500 {
        return verdicts.skip(case, "conversion webhook");
    }
    if text(&object, "apiVersion") != kind.api_version || text(&object, "kind") != kind.name {
        return verdicts.skip(case, "another type: not the schema's question");
    }
    let strict = text(case.get("request").expect("a request"), "query").contains("fieldValidation=Strict");
    let mut unknown = Vec::new();
    if let Err(error) = kind.schema.shape(&mut object, Malformed::Reject, Some(&mut unknown)) {
        return check_bad_request(case, &error.to_string(), verdicts);
    }
    if strict && !unknown.is_empty() {
        let listed: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        return check_bad_request(case, &format!("strict decoding error: {}", listed.join(", ")), verdicts);
    }
    kind.schema.default(&mut object);
    prepare(&mut object, kind, namespace);
    let errors = validate(&object, kind);
    let has_rules = kind.schema.root.facts.has(Facts::RULES);
    match wanted {
        201 if !errors.is_empty() => {
            verdicts.differ(case, "refused", "201", &format!("{:?}", as_causes(&errors)))
        }
        201 => {
            store_and_read(&mut object, kind);
            check_object(case, &object, &unknown, verdicts);
        }
        422 if causes(case) == as_causes(&errors) => verdicts.agree(case),
        // Rules may add errors when nothing else withholds them.
        422 if has_rules && rules::withheld(&errors).is_none() => {
            let wanted = causes(case);
            match as_causes(&errors).iter().find(|cause| !wanted.contains(cause)) {
                None => verdicts.skip(case, "rules decide"),
                Some(extra) => {
                    verdicts.differ(case, "extra cause", &format!("{wanted:?}"), &format!("{extra:?}"))
                }
            }
        }
        _ => verdicts.differ(
            case,
            "causes",
            &format!(
                "{wanted} {:?} {}",
                causes(case),
                text(case.at(&["response", "body"]).unwrap(), "message")
            ),
            &format!("{:?}", as_causes(&errors)),
        ),
    }
}

/// What happens to an object between its defaults and its validation.
fn prepare(object: &mut Value, kind: &Kind, namespace: &Option<String>) {
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
        metadata.insert("namespace", namespace.as_str());
    }
    if metadata.contains_key("generateName") && !metadata.contains_key("name") {
        metadata.insert("name", "<generated>");
    }
}

/// What a client gets back went to the storage version and through its defaults.
fn store_and_read(object: &mut Value, kind: &Kind) {
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

fn validate(object: &Value, kind: &Kind) -> Vec<FieldError> {
    let meta = Meta::of(object);
    let path = FieldPath::ROOT.field("metadata");
    let mut errors = match meta.name() {
        "<generated>" => Vec::new(),
        _ => validate_object_meta(meta, kind.scope, names::name_is_dns_subdomain, &path),
    };
    errors.extend(kind.schema.validate_values(object, None));
    if let Some(scale) = &kind.scale {
        errors.extend(scale.validate_spec(object));
        errors.extend(scale.validate_status(object));
    }
    errors.extend(kind.schema.validate_embedded(object));
    errors.extend(kind.schema.validate_list_types(object));
    if kind.schema.root.facts.has(Facts::RULES) {
        errors.extend(rules::withheld(&errors));
    }
    errors
}

fn check_bad_request(case: &Value, found: &str, verdicts: &mut Verdicts) {
    let message = text(case.at(&["response", "body"]).expect("a body"), "message");
    // The order of fields in one message is not stable in the recording.
    let sorted = |text: &str| {
        let mut parts: Vec<String> = text.split(", ").map(str::to_owned).collect();
        parts.sort();
        parts
    };
    let wanted = message.split_once(": ").map_or(message, |(_, wanted)| wanted);
    if code(case) == 400 && sorted(wanted) == sorted(found) {
        verdicts.agree(case);
    } else {
        verdicts.differ(case, "bad request", &format!("{} {message}", code(case)), found);
    }
}

fn check_object(case: &Value, object: &Value, unknown: &[String], verdicts: &mut Verdicts) {
    let wanted = case.at(&["response", "body"]).expect("a body");
    if wanted != object && json::to_string(wanted) != json::to_string(object) {
        return verdicts.differ(case, "object", &json::to_string(wanted), &json::to_string(object));
    }
    let warnings = case.at(&["response", "warnings"]).and_then(Value::as_array).unwrap_or_default();
    let mut recorded: Vec<&str> = warnings
        .iter()
        .filter_map(Value::as_str)
        .filter(|warning| warning.contains("unknown field"))
        .collect();
    let mut found: Vec<String> =
        unknown.iter().map(|path| format!("299 - \"unknown field \\\"{path}\\\"\"")).collect();
    recorded.sort_unstable();
    found.sort();
    if recorded == found {
        verdicts.agree(case);
    } else {
        verdicts.differ(case, "warnings", &format!("{recorded:?}"), &format!("{found:?}"));
    }
}
