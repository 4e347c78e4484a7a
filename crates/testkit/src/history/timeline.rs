//! What happened, ordered for questions: the states of each key, and which write made which.

use std::collections::{BTreeMap, HashMap};

use super::{Change, Kind, Version};

/// The states of every key, in the order of revisions.
pub(super) struct Timeline<'a> {
    keys: BTreeMap<&'a str, Vec<&'a Change>>,
    by_value: HashMap<&'a str, &'a Change>,
    by_revision: HashMap<u64, &'a Change>,
}

impl<'a> Timeline<'a> {
    /// Orders the changes and says what is wrong with them in themselves.
    pub(super) fn new(changes: &'a [Change], wrong: &mut Vec<String>) -> Self {
        let mut timeline =
            Timeline { keys: BTreeMap::new(), by_value: HashMap::new(), by_revision: HashMap::new() };
        let mut sorted: Vec<&Change> = changes.iter().collect();
        sorted.sort_by_key(|change| change.revision);
        for change in sorted {
            if let Some(other) = timeline.by_revision.insert(change.revision, change) {
                wrong.push(format!("two changes have one revision: {other:?} and {change:?}"));
            }
            let states = timeline.keys.entry(&change.key).or_default();
            if let Some(problem) = misfit(states.last().copied(), change) {
                wrong.push(format!("{problem}: {change:?} after {:?}", states.last()));
            }
            states.push(change);
            if change.kind != Kind::Deleted
                && let Some(other) = timeline.by_value.insert(&change.value, change)
            {
                wrong.push(format!("a write was done twice: {other:?} and {change:?}"));
            }
        }
        timeline
    }

    pub(super) fn of_value(&self, value: &str) -> Option<&'a Change> {
        self.by_value.get(value).copied()
    }

    /// The change of a key that followed that of `revision`.
    pub(super) fn after(&self, key: &str, revision: u64) -> Option<&'a Change> {
        let states = self.keys.get(key)?;
        let at = states.partition_point(|change| change.revision <= revision);
        states.get(at).copied()
    }

    /// The change of a key that came before that of `revision`.
    pub(super) fn before(&self, key: &str, revision: u64) -> Option<&'a Change> {
        let states = self.keys.get(key)?;
        let at = states.partition_point(|change| change.revision < revision);
        at.checked_sub(1).map(|at| states[at])
    }

    /// The state of a key at a revision.
    pub(super) fn at(&self, key: &str, revision: u64) -> Option<Version> {
        let change = self.before(key, revision.saturating_add(1))?;
        version(change)
    }

    /// The first revision, not below `floor`, at which the state of a key fits.
    pub(super) fn first_fit(
        &self,
        key: &str,
        floor: u64,
        fits: impl Fn(Option<&Version>) -> bool,
    ) -> Option<u64> {
        if fits(self.at(key, floor).as_ref()) {
            return Some(floor);
        }
        let states = self.keys.get(key)?;
        let from = states.partition_point(|change| change.revision <= floor);
        states[from..].iter().find(|change| fits(version(change).as_ref())).map(|change| change.revision)
    }

    /// The states of all keys that begin with `prefix`, at a revision.
    pub(super) fn listed(&self, prefix: &str, revision: u64) -> BTreeMap<String, Version> {
        let keys = self.keys.keys().filter(|key| key.starts_with(prefix));
        keys.filter_map(|key| Some(((*key).to_owned(), self.at(key, revision)?))).collect()
    }

    pub(super) fn changes(&self) -> impl Iterator<Item = &'a Change> {
        self.keys.values().flatten().copied()
    }
}

fn version(change: &Change) -> Option<Version> {
    let live = change.kind != Kind::Deleted;
    live.then(|| Version { revision: change.revision, value: change.value.clone() })
}

/// What is wrong with a change after the state before it.
fn misfit(last: Option<&Change>, change: &Change) -> Option<&'static str> {
    let there = last.is_some_and(|last| last.kind != Kind::Deleted);
    match change.kind {
        Kind::Added if there => Some("something that exists was created"),
        Kind::Modified if !there => Some("something that does not exist was changed"),
        Kind::Deleted if !there => Some("something that does not exist was deleted"),
        Kind::Deleted if last.is_some_and(|last| last.value != change.value) => {
            Some("what was deleted is not what was there")
        }
        _ => None,
    }
}
