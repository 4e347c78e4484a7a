//! Events have two names for everything: those of the core group, in which they are stored, and those of
//! `events.k8s.io`.
//!
//! Upstream: kubernetes/pkg/apis/events/v1/conversion.go, v1.36.

use meta::Value;

/// Fields that are called differently: in the core group, in the other.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("message", "note"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns an event of `events.k8s.io` into one of the core group, as it is stored.
///
/// The result is again what the encoder prints: fields that only one group omits come or go.
pub fn event_to_core(event: &mut Value) {
    let Some(map) = event.as_object_mut() else { return };
    for (core, new) in RENAMED {
        if let Some(value) = map.remove(new) {
            map.insert(core, value);
        }
    }
    for field in ["reportingComponent", "reportingInstance"] {
        map.get_or_insert_with(field, || "".into());
    }
    if map.contains_key("apiVersion") {
        map.insert("apiVersion", "v1");
    }
}

/// Turns a stored event into one of `events.k8s.io`.
pub fn event_from_core(event: &mut Value) {
    let Some(map) = event.as_object_mut() else { return };
    for (core, new) in RENAMED {
        if let Some(value) = map.remove(core) {
            map.insert(new, value);
        }
    }
    for field in ["reportingController", "reportingInstance"] {
        if map.get(field).and_then(Value::as_str) == Some("") {
            map.remove(field);
        }
    }
    if map.contains_key("apiVersion") {
        map.insert("apiVersion", "events.k8s.io/v1");
    }
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;
    use crate::typed::{decode, kind};

    #[test]
    fn events_go_back_and_forth_and_stay_canonical() {
        let text = r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Pod"},"message":"m","count":2,"firstTimestamp":"2020-01-02T03:04:05Z","source":{"component":"c"}}"#;
        let mut event = json::parse(text.as_bytes()).unwrap().value;
        decode(kind("", "v1", "Event").unwrap(), &mut event).unwrap();
        let stored = event.clone();

        event_from_core(&mut event);
        let converted = event.clone();
        let decoded = decode(kind("events.k8s.io", "v1", "Event").unwrap(), &mut event).unwrap();
        assert_eq!((event.clone(), decoded.unknown.is_empty()), (converted, true));
        assert_eq!(event.get("note").and_then(Value::as_str), Some("m"));
        assert_eq!(event.get("apiVersion").and_then(Value::as_str), Some("events.k8s.io/v1"));

        event_to_core(&mut event);
        assert_eq!(event, stored);
    }
}
