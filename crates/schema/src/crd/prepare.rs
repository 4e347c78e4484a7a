//! What happens to a definition before it is judged: defaults, and the status that follows from the spec.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go and
//! pkg/registry/customresourcedefinition/strategy.go, v1.36.

use meta::{Map, Value};

use super::view::{flag, list, present, text};

/// Sets the names that follow from the kind, the conversion strategy, the port of a webhook and the stored version.
///
/// ```
/// use meta::wire::json;
/// let mut definition = json::parse(br#"{"spec": {"names": {"kind": "CronTab"}}}"#).unwrap().value;
/// crest_schema::crd::default(&mut definition);
/// assert_eq!(json::to_string(definition.get("spec").unwrap()),
///     r#"{"conversion":{"strategy":"None"},"names":{"kind":"CronTab","listKind":"CronTabList","singular":"crontab"}}"#);
/// ```
pub fn default(definition: &mut Value) {
    let Some(map) = definition.as_object_mut() else {
        return;
    };
    let spec = map.get_or_insert_with("spec", || Map::new().into());
    if let Some(spec) = spec.as_object_mut() {
        default_spec(spec);
    }
    if stored(definition).is_empty()
        && let Some(storage) = storage_version(definition)
    {
        set_stored(definition, vec![storage.into()]);
    }
}

fn default_spec(spec: &mut Map) {
    if let Some(names) = spec.get_or_insert_with("names", || Map::new().into()).as_object_mut() {
        let text = |name: &str| names.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("kind").to_owned();
        let (lacks_singular, lacks_list) = (text("singular").is_empty(), text("listKind").is_empty());
        if lacks_singular && !kind.is_empty() {
            names.insert("singular", kind.to_lowercase());
        }
        if lacks_list && !kind.is_empty() {
            names.insert("listKind", format!("{kind}List"));
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion", [("strategy", Value::from("None"))].into_iter().collect::<Map>());
    }
    let service = ["conversion", "webhook", "clientConfig", "service"];
    let mut steps = service.iter();
    let first = steps.next().and_then(|name| spec.get_mut(name));
    let service = steps.fold(first, |value, name| value.and_then(|value| value.get_mut(name)));
    if let Some(Value::Object(service)) = service
        && service.get("port").is_none_or(Value::is_null)
    {
        service.insert("port", 443_i64);
    }
}

/// Gives a new definition the status and the generation of one.
pub fn prepare_for_create(definition: &mut Value) {
    let storage = storage_version(definition);
    if let Some(map) = definition.as_object_mut() {
        map.insert("status", Map::new());
        let metadata = map.get_or_insert_with("metadata", || Map::new().into());
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("generation", 1_i64);
        }
    }
    if let Some(storage) = storage {
        set_stored(definition, vec![storage.into()]);
    }
}

/// Keeps the status of the `old` definition, adds a new storage version to it, and counts changes of the spec.
pub fn prepare_for_update(definition: &mut Value, old: &Value) {
    let generation = old.at(&["metadata", "generation"]).and_then(Value::as_int).unwrap_or_default();
    let is_changed = definition.get("spec") != old.get("spec");
    if let Some(map) = definition.as_object_mut() {
        match old.get("status") {
            Some(status) => map.insert("status", status.clone()),
            None => map.remove("status"),
        };
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("generation", generation + i64::from(is_changed));
        }
    }
    let Some(storage) = storage_version(definition) else {
        return;
    };
    if !stored(definition).iter().any(|stored| stored.as_str() == Some(&storage)) {
        let mut versions = stored(definition).to_vec();
        versions.push(storage.into());
        set_stored(definition, versions);
    }
}

fn storage_version(definition: &Value) -> Option<String> {
    let versions = list(definition.get("spec")?, "versions");
    versions.iter().find(|version| flag(version, "storage")).map(|version| text(version, "name").to_owned())
}

fn stored(definition: &Value) -> &[Value] {
    let status = present(definition, "status").unwrap_or(&Value::Null);
    list(status, "storedVersions")
}

fn set_stored(definition: &mut Value, versions: Vec<Value>) {
    if let Some(map) = definition.as_object_mut() {
        let status = map.get_or_insert_with("status", || Map::new().into());
        if status.is_null() {
            *status = Map::new().into();
        }
        if let Some(status) = status.as_object_mut() {
            status.insert("storedVersions", versions);
        }
    }
}
