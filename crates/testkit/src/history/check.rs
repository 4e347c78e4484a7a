//! One pass over the operations in the order of time, against what happened.
//!
//! Every answered operation has a place in the sequence of revisions: a write its own revision, a read any revision at
//! which the state was what it saw. An operation that was asked after another was answered must not have an earlier
//! place. Giving each read the earliest place it can have leaves the most room for those that follow, so that no search
//! is needed: if this assignment fails, all do.

use std::collections::{BTreeMap, HashMap};

use super::timeline::Timeline;
use super::{Action, Change, History, Kind, Operation, Outcome, Tick, watches};

/// What a history that is in order consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// Gets and lists that were answered, and writes that were refused because of the object's state.
    pub observed: usize,
    /// Writes with an unknown outcome, and how many of them happened.
    pub unknown: usize,
    pub happened: usize,
    /// Operations that failed without effect.
    pub failed: usize,
    /// Events that watches told.
    pub told: usize,
}

pub(super) fn check(history: &History) -> Result<Summary, Vec<String>> {
    let mut wrong = Vec::new();
    let timeline = Timeline::new(&history.changes, &mut wrong);
    let effects = effects(history, &timeline, &mut wrong);
    origins(history, &effects, &mut wrong);
    real_time(history, &timeline, &effects, &mut wrong);
    for watched in &history.watched {
        watches::check(watched, &timeline, &mut wrong);
    }
    if wrong.is_empty() { Ok(summary(history, &effects)) } else { Err(wrong) }
}

/// The revision that each write got, by its place among the operations.
type Effects = HashMap<usize, u64>;

/// Finds what each write did, and compares that with what it was told.
fn effects(history: &History, timeline: &Timeline<'_>, wrong: &mut Vec<String>) -> Effects {
    let mut effects = Effects::new();
    let mut deletions: HashMap<u64, Vec<usize>> = HashMap::new();
    for (number, operation) in history.operations.iter().enumerate() {
        let found = match &operation.action {
            Action::Create { value } => timeline.of_value(value),
            Action::Update { value, from } => {
                let found = timeline.of_value(value);
                let before = found.and_then(|change| timeline.before(&change.key, change.revision));
                if found.is_some() && before.map(|before| before.revision) != Some(*from) {
                    wrong.push(format!(
                        "an update did not replace what it expected: {operation:?}, {before:?}"
                    ));
                }
                found
            }
            Action::Delete { from } => {
                let next = timeline.after(&operation.key, *from).filter(|next| next.kind == Kind::Deleted);
                if let Some(next) = next
                    && matches!(operation.outcome, Outcome::Deleted | Outcome::Unknown)
                {
                    deletions.entry(next.revision).or_default().push(number);
                }
                if next.is_none() && operation.outcome == Outcome::Deleted {
                    wrong.push(format!("an acknowledged deletion was lost: {operation:?}"));
                }
                continue;
            }
            Action::Get | Action::List => continue,
        };
        judge(operation, found, wrong);
        if let Some(change) = found {
            effects.insert(number, change.revision);
        }
    }
    for (revision, candidates) in deletions {
        if let Some(number) = the_one(history, &candidates, wrong) {
            effects.insert(number, revision);
        }
    }
    effects
}

/// Compares the answer to a creation or update with the change it made.
fn judge(operation: &Operation, found: Option<&Change>, wrong: &mut Vec<String>) {
    match (&operation.outcome, found) {
        (Outcome::Written(_), None) => wrong.push(format!("an acknowledged write was lost: {operation:?}")),
        (Outcome::Written(revision), Some(change)) if *revision != change.revision => {
            wrong.push(format!("a write was told another revision than it got: {operation:?}, {change:?}"));
        }
        (Outcome::Written(_) | Outcome::Unknown, Some(change)) if change.key != operation.key => {
            wrong.push(format!("a write changed another object: {operation:?}, {change:?}"));
        }
        (Outcome::Written(_) | Outcome::Unknown, _) | (_, None) => {}
        (_, Some(change)) => wrong.push(format!("a refused write was done: {operation:?}, {change:?}")),
    }
}

/// Which of those that may have deleted something did: the one that was told so.
fn the_one(history: &History, candidates: &[usize], wrong: &mut Vec<String>) -> Option<usize> {
    let told: Vec<usize> = candidates
        .iter()
        .copied()
        .filter(|number| history.operations[*number].outcome == Outcome::Deleted)
        .collect();
    if let [first, second, ..] = told[..] {
        let operations = (&history.operations[first], &history.operations[second]);
        wrong.push(format!("two deletions of one object were acknowledged: {operations:?}"));
    }
    // Among those without an answer the earliest: it constrains the rest least.
    let unanswered = candidates.iter().copied().min_by_key(|number| history.operations[*number].asked);
    told.first().copied().or(unanswered)
}

/// Everything that happened must have been asked for.
fn origins(history: &History, effects: &Effects, wrong: &mut Vec<String>) {
    let asked: std::collections::HashSet<u64> = effects.values().copied().collect();
    for change in history.changes.iter().filter(|change| !asked.contains(&change.revision)) {
        wrong.push(format!("nobody asked for this: {change:?}"));
    }
}

enum Moment {
    Asked(usize),
    Answered(usize),
}

fn moments(history: &History) -> BTreeMap<Tick, Moment> {
    let mut moments = BTreeMap::new();
    for (number, operation) in history.operations.iter().enumerate() {
        moments.insert(operation.asked, Moment::Asked(number));
        if !matches!(operation.outcome, Outcome::Unknown | Outcome::Failed) {
            moments.insert(operation.answered, Moment::Answered(number));
        }
    }
    moments
}

/// Nothing that was asked after an answer may come before what was answered.
fn real_time(history: &History, timeline: &Timeline<'_>, effects: &Effects, wrong: &mut Vec<String>) {
    // The newest revision that somebody has been told of.
    let mut floor = 0;
    let mut floors: HashMap<usize, u64> = HashMap::new();
    for moment in moments(history).into_values() {
        match moment {
            Moment::Asked(number) => {
                floors.insert(number, floor);
                let operation = &history.operations[number];
                if let Some(revision) = effects.get(&number).filter(|revision| **revision <= floor) {
                    wrong.push(format!(
                        "a write has revision {revision}, but {floor} had been told before it was asked for: {operation:?}"
                    ));
                }
            }
            Moment::Answered(number) => {
                let operation = &history.operations[number];
                let from = floors.get(&number).copied().unwrap_or_default();
                match effects.get(&number).copied().or_else(|| place(operation, timeline, from)) {
                    Some(at) => floor = floor.max(at),
                    None => {
                        wrong.push(format!("no state since revision {from} fits this answer: {operation:?}"));
                    }
                }
            }
        }
    }
}

/// The earliest revision, not below `floor`, at which an answer was true.
fn place(operation: &Operation, timeline: &Timeline<'_>, floor: u64) -> Option<u64> {
    let key = &operation.key;
    match (&operation.outcome, &operation.action) {
        (Outcome::Seen(seen), _) => timeline.first_fit(key, floor, |state| state == seen.as_ref()),
        (Outcome::Exists, _) => timeline.first_fit(key, floor, |state| state.is_some()),
        (Outcome::Missing, _) => timeline.first_fit(key, floor, |state| state.is_none()),
        (Outcome::Conflict, Action::Update { from, .. } | Action::Delete { from }) => {
            timeline.first_fit(key, floor, |state| state.is_none_or(|state| state.revision != *from))
        }
        (Outcome::Listed { revision, objects }, _) => {
            let fits = *revision >= floor && timeline.listed(key, *revision) == *objects;
            fits.then_some(*revision)
        }
        // A lost write was complained about already, and says nothing more.
        (Outcome::Written(_) | Outcome::Deleted, _) => Some(floor),
        (Outcome::Conflict | Outcome::Failed | Outcome::Unknown, _) => None,
    }
}

fn summary(history: &History, effects: &Effects) -> Summary {
    let mut summary = Summary::default();
    for (number, operation) in history.operations.iter().enumerate() {
        let writes = !matches!(operation.action, Action::Get | Action::List);
        match operation.outcome {
            Outcome::Written(_) | Outcome::Deleted => summary.acknowledged += 1,
            Outcome::Unknown if writes => {
                summary.unknown += 1;
                summary.happened += usize::from(effects.contains_key(&number));
            }
            Outcome::Unknown | Outcome::Failed => summary.failed += 1,
            _ => summary.observed += 1,
        }
    }
    summary.told = history.watched.iter().map(|watched| watched.told.len()).sum();
    summary
}
