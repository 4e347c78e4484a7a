//! The conditions in a status: what is true of an object, since when and why.

use meta::{Map, Value};

/// What is to be said.
pub(crate) struct Condition<'a> {
    pub kind: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
}

/// Whether an object's condition of this kind is true.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    find(object, kind)
        .is_some_and(|condition| condition.get("status").and_then(Value::as_str) == Some("True"))
}

/// An object's condition of this kind.
pub(crate) fn find<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.at(&["status", "conditions"])?.as_array()?;
    conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind))
}

/// Sets a condition. Its transition time moves only when its status does. Returns whether anything changed.
pub(crate) fn set(object: &mut Value, condition: &Condition<'_>, now: &str) -> bool {
    let status = condition.status;
    let old = find(object, condition.kind);
    let text = |key: &str| old.and_then(|old| old.get(key)).and_then(Value::as_str).unwrap_or_default();
    let same_status = text("status") == status;
    if same_status && text("reason") == condition.reason && text("message") == condition.message {
        return false;
    }
    let since = if same_status { text("lastTransitionTime") } else { now }.to_owned();
    let new: Map = [
        ("type", Value::from(condition.kind)),
        ("status", status.into()),
        ("lastTransitionTime", since.into()),
        ("reason", condition.reason.into()),
        ("message", condition.message.into()),
    ]
    .into_iter()
    .collect();
    put(object, condition.kind, Value::Object(new));
    true
}

/// Takes a condition away, if it is there.
pub(crate) fn remove(object: &mut Value, kind: &str) {
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
        conditions.retain(|condition| condition.get("type").and_then(Value::as_str) != Some(kind));
    }
}

fn put(object: &mut Value, kind: &str, condition: Value) {
    let Value::Object(members) = object else { return };
    let status = members.get_or_insert_with("status", || Value::Object(Map::new()));
    let Value::Object(status) = status else { return };
    let conditions = status.get_or_insert_with("conditions", || Value::Array(Vec::new()));
    if conditions.is_null() {
        *conditions = Value::Array(Vec::new());
    }
    let Value::Array(conditions) = conditions else { return };
    let found = conditions.iter_mut().find(|old| old.get("type").and_then(Value::as_str) == Some(kind));
    match found {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_moves_only_with_the_status() {
        let mut object = Value::Object(Map::new());
        let ready = |status, reason| Condition { kind: "Ready", status, reason, message: "" };
        assert!(set(&mut object, &ready("False", "A"), "t1"));
        assert!(!set(&mut object, &ready("False", "A"), "t2"));
        assert!(set(&mut object, &ready("False", "B"), "t3"));
        let since = |object: &Value| find(object, "Ready").unwrap().get("lastTransitionTime").cloned();
        assert_eq!(since(&object), Some("t1".into()));
        assert!(set(&mut object, &ready("True", "B"), "t4"));
        assert_eq!(since(&object), Some("t4".into()));
        assert!(is_true(&object, "Ready"));
    }
}
