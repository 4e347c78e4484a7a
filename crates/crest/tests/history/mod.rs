//! What writers were told, to be compared with what the server remembers.

use std::collections::BTreeMap;

use serde_json::Value;
use testkit::{Event, revision};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Created,
    Updated,
    Deleted,
}

/// A change that the server acknowledged.
#[derive(Clone, Debug)]
struct Done {
    change: Change,
    /// A deletion is acknowledged without its revision.
    revision: Option<u64>,
    uid: Option<String>,
}

/// The changes of each object, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    objects: BTreeMap<String, Vec<Done>>,
    /// Changes that were under way when the server went: they happened or they did not.
    open: BTreeMap<String, Change>,
}

impl Change {
    fn event(self) -> &'static str {
        match self {
            Change::Created => "ADDED",
            Change::Updated => "MODIFIED",
            Change::Deleted => "DELETED",
        }
    }
}

impl History {
    /// A change was acknowledged with this answer.
    pub(crate) fn done(&mut self, name: &str, change: Change, answer: &Value) {
        let known = change != Change::Deleted;
        let uid = answer["metadata"]["uid"].as_str().filter(|_| known).map(str::to_owned);
        let done = Done { change, revision: known.then(|| revision(answer)), uid };
        self.objects.entry(name.to_owned()).or_default().push(done);
    }

    /// A change was asked for, and no answer came.
    pub(crate) fn unknown(&mut self, name: &str, change: Change) {
        self.open.insert(name.to_owned(), change);
    }

    pub(crate) fn add(&mut self, other: History) {
        for (name, changes) in other.objects {
            self.objects.entry(name).or_default().extend(changes);
        }
        self.open.extend(other.open);
    }

    /// The newest revision that was acknowledged.
    pub(crate) fn newest(&self) -> u64 {
        self.objects.values().flatten().filter_map(|done| done.revision).max().unwrap_or_default()
    }

    /// How many changes were acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.objects.values().map(Vec::len).sum()
    }

    /// Compares with all events there were, and learns which of the open changes happened.
    pub(crate) fn settle(&mut self, events: &[Event]) {
        let mut seen: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in events {
            seen.entry(event.name()).or_default().push(event);
        }
        for (name, change) in std::mem::take(&mut self.open) {
            let changes = self.objects.entry(name.clone()).or_default();
            if let Some(event) = seen.get(name.as_str()).and_then(|events| events.get(changes.len())) {
                let uid = event.object["metadata"]["uid"].as_str().map(str::to_owned);
                changes.push(Done { change, revision: Some(event.revision()), uid });
            }
        }
        self.objects.retain(|_, changes| !changes.is_empty());
        for (name, changes) in &self.objects {
            let events = seen.remove(name.as_str()).unwrap_or_default();
            let shown = || format!("{name}: acknowledged {changes:#?}, but the history is {events:#?}");
            assert_eq!(changes.len(), events.len(), "{}", shown());
            let uid = &events[0].object["metadata"]["uid"];
            for (done, event) in changes.iter().zip(&events) {
                assert_eq!(event.kind, done.change.event(), "{}", shown());
                assert!(done.revision.is_none_or(|revision| revision == event.revision()), "{}", shown());
                assert!(
                    done.uid.as_deref().is_none_or(|uid| event.object["metadata"]["uid"] == uid),
                    "{}",
                    shown()
                );
                assert_eq!(&event.object["metadata"]["uid"], uid, "{}", shown());
            }
        }
        assert!(seen.is_empty(), "events of changes nobody asked for: {seen:#?}");
    }
}

/// Whether the listed objects are what the events lead to.
pub(crate) fn same_state(listed: &[Value], events: &[Event]) {
    let mut objects: BTreeMap<&str, u64> = BTreeMap::new();
    for event in events {
        match event.kind.as_str() {
            "DELETED" => objects.remove(event.name()),
            _ => objects.insert(event.name(), event.revision()),
        };
    }
    let name = |object: &Value| object["metadata"]["name"].as_str().expect("objects have names").to_owned();
    let listed: BTreeMap<String, u64> =
        listed.iter().map(|object| (name(object), revision(object))).collect();
    let expected: BTreeMap<String, u64> =
        objects.into_iter().map(|(name, rv)| (name.to_owned(), rv)).collect();
    assert_eq!(listed, expected, "the list is what the history leads to");
}
