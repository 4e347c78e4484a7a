//! What really happened, in the order in which it did.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

use serde_json::Value;
use testkit::{Client, revision};

use crate::selection::{Kind, Selection};
use crate::watcher::Watcher;
use crate::writer::Writer;

/// One change of one object.
pub(crate) struct Change {
    kind: Kind,
    before: Option<Value>,
    after: Option<Value>,
}

/// An event that a watcher must have seen.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) kind: &'static str,
    pub(crate) revision: u64,
    pub(crate) object: Value,
}

pub(crate) struct Truth {
    changes: BTreeMap<u64, Change>,
    /// Deletions, whose revisions no answer tells: the last state, and the revision that it was certainly gone at.
    deletions: Vec<(Change, Option<u64>)>,
}

impl Truth {
    pub(crate) fn new(writers: Vec<Writer>) -> Self {
        let mut truth = Truth { changes: BTreeMap::new(), deletions: Vec::new() };
        for place in writers.into_iter().flat_map(|writer| writer.places) {
            let mut before = None;
            for (number, after) in place.states.iter().enumerate() {
                let change = Change { kind: place.kind, before: before.take(), after: after.clone() };
                before.clone_from(after);
                if let Some(object) = after {
                    truth.insert(revision(object), change);
                } else {
                    let next = place.states.get(number + 1).and_then(Option::as_ref).map(revision);
                    truth.deletions.push((change, next));
                }
            }
        }
        truth
    }

    fn insert(&mut self, revision: u64, change: Change) {
        assert!(revision > 0, "a state without a revision");
        let taken = self.changes.insert(revision, change);
        assert!(taken.is_none(), "two changes with revision {revision}");
    }

    /// Takes the revisions of deletions from those who saw them, who must agree.
    pub(crate) fn learn_deletions(&mut self, watchers: &[Watcher]) {
        let mut told: BTreeMap<String, u64> = BTreeMap::new();
        for (uid, revision) in watchers.iter().flat_map(Watcher::deletions) {
            if self.changes.contains_key(&revision) {
                continue; // it left a selection
            }
            let known = *told.entry(uid.clone()).or_insert(revision);
            assert_eq!(known, revision, "{uid} was deleted twice");
        }
        let mut unseen = Vec::new();
        for (change, next) in std::mem::take(&mut self.deletions) {
            let last = change.before.as_ref().expect("only what is there is deleted");
            let after = revision(last);
            let uid = last["metadata"]["uid"].as_str().expect("objects have uids");
            match told.remove(uid) {
                Some(revision) => {
                    let fits = revision > after && next.is_none_or(|next| revision < next);
                    assert!(fits, "{uid} was deleted at {revision}, between {after} and {next:?}");
                    self.insert(revision, change);
                }
                None => unseen.push((change, after, next.unwrap_or(u64::MAX))),
            }
        }
        // Nobody saw these. They happened at some revision that is left over; whoever came past the next change
        // there should have seen them.
        for (change, after, before) in unseen {
            let free = (after + 1..before).rev().find(|free| !self.changes.contains_key(free));
            self.insert(free.expect("a deletion has a revision"), change);
        }
        assert!(told.is_empty(), "deletions of what was not deleted: {told:?}");
    }

    /// What happened adds up to what is there.
    pub(crate) async fn compare_with_the_state(&self, client: &Client) {
        for kind in crate::KINDS {
            let list = client.get(&kind.collection(None)).await.expect(200);
            let listed = list["items"].as_array().expect("a list");
            let listed: Vec<&Value> = listed.iter().map(|item| &item["metadata"]).collect();
            let known = self.state(&Selection::everything(kind), u64::MAX);
            let known: Vec<&Value> = known.iter().map(|object| &object["metadata"]).collect();
            assert_eq!(listed, known);
        }
    }

    /// The selected objects at a revision, in the order of lists.
    pub(crate) fn state(&self, selection: &Selection, revision: u64) -> Vec<&Value> {
        let mut objects = BTreeMap::new();
        for (_, change) in self.changes.range(..=revision).filter(|(_, change)| change.kind == selection.kind)
        {
            if let Some(object) = &change.after {
                objects.insert(key(object), object);
            } else if let Some(object) = &change.before {
                objects.remove(&key(object));
            }
        }
        objects.into_values().filter(|object| selection.selects(object)).collect()
    }

    /// The events that tell of the changes after a revision and up to another, to those who selected some objects.
    pub(crate) fn events(&self, selection: &Selection, after: u64, to: u64) -> Vec<Expected> {
        let changes = self
            .changes
            .range((Excluded(after), Included(to)))
            .filter(|(_, change)| change.kind == selection.kind);
        changes.filter_map(|(revision, change)| event(selection, *revision, change)).collect()
    }
}

fn key(object: &Value) -> String {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// Objects enter and leave a selection; what leaves is shown as it was, with the revision of the change.
fn event(selection: &Selection, revision: u64, change: &Change) -> Option<Expected> {
    let selected = |object: &Option<Value>| object.clone().filter(|object| selection.selects(object));
    let (kind, object) = match (selected(&change.before), selected(&change.after)) {
        (None, None) => return None,
        (None, Some(after)) => ("ADDED", after),
        (Some(_), Some(after)) => ("MODIFIED", after),
        (Some(mut before), None) => {
            before["metadata"]["resourceVersion"] = revision.to_string().into();
            ("DELETED", before)
        }
    };
    Some(Expected { kind, revision, object })
}
