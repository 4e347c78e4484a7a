//! The checker accepts what a store that works can do, and nothing that one that does not might.
//!
//! Good histories come from a store of a few lines whose clients overlap; each bad one is a good one with one thing
//! changed, the way a fault would change it.

use super::*;
use crate::dice::Dice;

/// A client between its question and its answer.
struct Pending {
    asked: Tick,
    key: String,
    action: Action,
    outcome: Option<Outcome>,
}

/// The store, and everything that was said about it.
#[derive(Default)]
struct World {
    revision: u64,
    state: BTreeMap<String, Version>,
    history: History,
    clock: Tick,
    values: usize,
}

impl World {
    fn tick(&mut self) -> Tick {
        self.clock += 1;
        self.clock
    }

    fn ask(&mut self, dice: &mut Dice) -> Pending {
        let key = format!("a/{}", dice.roll(3));
        self.values += 1;
        let value = format!("v{}", self.values);
        // What the client believes may be out of date.
        let from = self.state.get(&key).map_or(1, |version| version.revision) - dice.roll(10) as u64 / 9;
        let (key, action) = match dice.roll(6) {
            0 => (key, Action::Create { value }),
            1 | 2 => (key, Action::Update { value, from }),
            3 => (key, Action::Delete { from }),
            4 => (key, Action::Get),
            _ => ("a/".to_owned(), Action::List),
        };
        Pending { asked: self.tick(), key, action, outcome: None }
    }

    fn write(&mut self, kind: Kind, key: &str, value: String) -> u64 {
        self.revision += 1;
        let revision = self.revision;
        self.history.changes.push(Change { kind, key: key.to_owned(), revision, value: value.clone() });
        match kind {
            Kind::Deleted => self.state.remove(key),
            _ => self.state.insert(key.to_owned(), Version { revision, value }),
        };
        revision
    }

    fn take_effect(&mut self, pending: &mut Pending) {
        let key = pending.key.clone();
        let current = self.state.get(&key).cloned();
        let expected = |from: u64| current.as_ref().is_some_and(|version| version.revision == from);
        let outcome = match &pending.action {
            Action::Get => Outcome::Seen(current),
            Action::List => Outcome::Listed { revision: self.revision, objects: self.state.clone() },
            Action::Create { .. } if current.is_some() => Outcome::Exists,
            Action::Create { value } => Outcome::Written(self.write(Kind::Added, &key, value.clone())),
            _ if current.is_none() => Outcome::Missing,
            Action::Update { value, from } if expected(*from) => {
                Outcome::Written(self.write(Kind::Modified, &key, value.clone()))
            }
            Action::Delete { from } if expected(*from) => {
                let last = current.map(|version| version.value).unwrap_or_default();
                self.write(Kind::Deleted, &key, last);
                Outcome::Deleted
            }
            _ => Outcome::Conflict,
        };
        pending.outcome = Some(outcome);
    }

    fn answer(&mut self, pending: Pending, outcome: Outcome) {
        let Pending { asked, key, action, .. } = pending;
        let answered = self.tick();
        self.history.operations.push(Operation { key, action, outcome, asked, answered });
    }
}

/// A history in order: overlapping operations, some of which are never answered.
fn good(seed: u64) -> History {
    let mut dice = Dice::new(seed);
    let mut world = World { revision: 10, ..World::default() };
    let mut clients: Vec<Option<Pending>> = (0..4).map(|_| None).collect();
    for _ in 0..900 {
        let client = dice.roll(clients.len());
        clients[client] = match clients[client].take() {
            None => Some(world.ask(&mut dice)),
            // Lost on the way there: it never happens.
            Some(pending) if pending.outcome.is_none() && dice.roll(30) == 0 => {
                world.answer(pending, Outcome::Unknown);
                None
            }
            Some(mut pending) if pending.outcome.is_none() => {
                world.take_effect(&mut pending);
                Some(pending)
            }
            Some(mut pending) => {
                let outcome = pending.outcome.take().filter(|_| dice.roll(30) != 0);
                world.answer(pending, outcome.unwrap_or(Outcome::Unknown));
                None
            }
        };
    }
    // Who was still waiting never hears.
    for pending in clients.into_iter().flatten() {
        world.answer(pending, Outcome::Unknown);
    }
    let mut told = Vec::new();
    for change in &world.history.changes {
        told.push(Told::Change(change.clone()));
        told.push(Told::Bookmark(change.revision));
    }
    world.history.watched.push(Watched { prefix: "a/".to_owned(), after: 0, told });
    world.history
}

const SEEDS: std::ops::Range<u64> = 1..40;

#[test]
fn what_a_working_store_does_is_accepted() {
    let mut unknown = 0;
    for seed in SEEDS {
        let history = good(seed);
        let summary = history.check().unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:#?}"));
        assert!(summary.acknowledged > 20 && summary.observed > 20, "seed {seed}: {summary:?}");
        unknown += summary.happened;
    }
    assert!(unknown > 0, "some of those without an answer happened");
}

/// Changes one thing in good histories; every one it could change must be refused with this complaint.
#[track_caller]
fn check_caught(complaint: &str, spoil: impl Fn(&mut History, &mut Dice) -> Option<()>) {
    let mut spoilt = 0;
    for seed in SEEDS {
        let mut history = good(seed);
        if spoil(&mut history, &mut Dice::new(seed)).is_none() {
            continue;
        }
        spoilt += 1;
        match history.check() {
            Ok(summary) => panic!("seed {seed}: not caught, {summary:?}"),
            Err(wrong) => {
                assert!(
                    wrong.iter().any(|text| text.contains(complaint)),
                    "seed {seed}: other complaints: {wrong:#?}"
                );
            }
        }
    }
    assert!(spoilt > 10, "only {spoilt} histories could be spoilt");
}

/// One of the operations that fit.
fn pick(history: &History, dice: &mut Dice, fits: impl Fn(&Operation) -> bool) -> Option<usize> {
    let fitting: Vec<usize> =
        (0..history.operations.len()).filter(|at| fits(&history.operations[*at])).collect();
    (!fitting.is_empty()).then(|| fitting[dice.roll(fitting.len())])
}

fn acknowledged(operation: &Operation) -> bool {
    matches!(operation.outcome, Outcome::Written(_))
}

#[test]
fn a_lost_write_is_caught() {
    check_caught("an acknowledged write was lost", |history, dice| {
        let at = pick(history, dice, acknowledged)?;
        let Outcome::Written(revision) = history.operations[at].outcome else { return None };
        history.changes.retain(|change| change.revision != revision);
        Some(())
    });
}

#[test]
fn a_lost_deletion_is_caught() {
    check_caught("an acknowledged deletion was lost", |history, dice| {
        let at = pick(history, dice, |operation| operation.outcome == Outcome::Deleted)?;
        let Action::Delete { from } = history.operations[at].action else { return None };
        let key = history.operations[at].key.clone();
        let gone = history.changes.iter().position(|change| change.key == key && change.revision > from)?;
        history.changes.remove(gone);
        Some(())
    });
}

#[test]
fn a_write_done_twice_is_caught() {
    check_caught("a write was done twice", |history, dice| {
        let again = history.changes[dice.roll(history.changes.len())].clone();
        if again.kind == Kind::Deleted {
            return None;
        }
        let revision = history.changes.last()?.revision + 1;
        history.changes.push(Change { revision, kind: Kind::Modified, ..again });
        Some(())
    });
}

#[test]
fn an_invented_write_is_caught() {
    check_caught("nobody asked for this", |history, _| {
        let last = history.changes.last()?.clone();
        let key = "a/never".to_owned();
        history.changes.push(Change {
            kind: Kind::Added,
            key,
            revision: last.revision + 1,
            value: "x".to_owned(),
        });
        Some(())
    });
}

#[test]
fn a_refused_write_that_was_done_is_caught() {
    check_caught("a refused write was done", |history, dice| {
        let at = pick(history, dice, acknowledged)?;
        history.operations[at].outcome = Outcome::Conflict;
        Some(())
    });
}

#[test]
fn a_wrong_revision_is_caught() {
    check_caught("another revision than it got", |history, dice| {
        let at = pick(history, dice, acknowledged)?;
        if let Outcome::Written(revision) = &mut history.operations[at].outcome {
            *revision += 1;
        }
        Some(())
    });
}

#[test]
fn a_revision_used_twice_is_caught() {
    check_caught("two changes have one revision", |history, dice| {
        let at = 1 + dice.roll(history.changes.len() - 1);
        history.changes[at].revision = history.changes[at - 1].revision;
        Some(())
    });
}

#[test]
fn an_update_of_something_newer_is_caught() {
    check_caught("did not replace what it expected", |history, dice| {
        let at = pick(history, dice, |operation| {
            acknowledged(operation) && matches!(operation.action, Action::Update { .. })
        })?;
        if let Action::Update { from, .. } = &mut history.operations[at].action {
            *from -= 1;
        }
        Some(())
    });
}

/// A read that shows the state before a write that had been acknowledged when it was asked for.
#[test]
fn a_stale_read_is_caught() {
    check_caught("no state since revision", |history, dice| {
        let at = pick(history, dice, acknowledged)?;
        let write = history.operations[at].clone();
        let Outcome::Written(revision) = write.outcome else { return None };
        let mut same = history.changes.iter().filter(|change| change.key == write.key);
        let before = same.rfind(|change| change.revision < revision)?;
        let seen = (before.kind != Kind::Deleted)
            .then(|| Version { revision: before.revision, value: before.value.clone() });
        let fits = |operation: &Operation| {
            operation.asked > write.answered
                && operation.key == write.key
                && matches!(operation.outcome, Outcome::Seen(_))
        };
        // An absent object may be absent again.
        seen.as_ref()?;
        let read = pick(history, dice, fits)?;
        history.operations[read].outcome = Outcome::Seen(seen);
        Some(())
    });
}

#[test]
fn a_list_that_lacks_something_is_caught() {
    check_caught("no state since revision", |history, dice| {
        let at = pick(
            history,
            dice,
            |operation| matches!(&operation.outcome, Outcome::Listed { objects, .. } if !objects.is_empty()),
        )?;
        if let Outcome::Listed { objects, .. } = &mut history.operations[at].outcome {
            objects.pop_first();
        }
        Some(())
    });
}

#[test]
fn a_stale_list_is_caught() {
    check_caught("no state since revision", |history, dice| {
        let lists = |operation: &Operation| matches!(operation.outcome, Outcome::Listed { .. });
        let newer = pick(history, dice, lists)?;
        let (asked, outcome) = (history.operations[newer].asked, history.operations[newer].outcome.clone());
        let Outcome::Listed { revision: newest, .. } = outcome else { return None };
        let older = pick(history, dice, |operation| {
            operation.answered < asked
                && matches!(operation.outcome, Outcome::Listed { revision, .. } if revision < newest)
        })?;
        // The later one shows what was listed before a write that had been answered in between.
        let between = (history.operations[older].answered, asked);
        pick(history, dice, |operation| {
            acknowledged(operation) && operation.asked > between.0 && operation.answered < between.1
        })?;
        history.operations[newer].outcome = history.operations[older].outcome.clone();
        Some(())
    });
}

/// Two writes, one after the other in time, with their revisions the other way round.
#[test]
fn revisions_that_go_back_are_caught() {
    check_caught("had been told before it was asked for", |history, dice| {
        let first = pick(history, dice, acknowledged)?;
        let earlier = history.operations[first].clone();
        let second = pick(history, dice, |operation| {
            acknowledged(operation) && operation.asked > earlier.answered && operation.key != earlier.key
        })?;
        let (Outcome::Written(low), Outcome::Written(high)) =
            (earlier.outcome.clone(), history.operations[second].outcome.clone())
        else {
            return None;
        };
        history.operations[first].outcome = Outcome::Written(high);
        history.operations[second].outcome = Outcome::Written(low);
        for change in &mut history.changes {
            change.revision = match change.revision {
                revision if revision == low => high,
                revision if revision == high => low,
                revision => revision,
            };
        }
        Some(())
    });
}

fn told_of(history: &mut History) -> &mut Vec<Told> {
    &mut history.watched[0].told
}

#[test]
fn a_watch_that_skips_doubles_or_reorders_is_caught() {
    check_caught("was due", |history, dice| {
        let at = dice.roll(told_of(history).len() / 2 - 1) * 2;
        told_of(history).remove(at);
        Some(())
    });
    check_caught("was due", |history, dice| {
        let at = dice.roll(told_of(history).len() / 2) * 2;
        let again = told_of(history)[at].clone();
        told_of(history).insert(at, again);
        Some(())
    });
    check_caught("was due", |history, dice| {
        let at = dice.roll(told_of(history).len() / 2 - 1) * 2;
        told_of(history).swap(at, at + 2);
        Some(())
    });
}

#[test]
fn a_bookmark_that_promises_too_much_is_caught() {
    check_caught("came before", |history, dice| {
        let at = dice.roll(told_of(history).len() / 2) * 2;
        told_of(history).swap(at, at + 1);
        Some(())
    });
}

#[test]
fn an_end_of_the_watch_is_no_gap() {
    let mut history = good(1);
    told_of(&mut history).truncate(7);
    assert!(history.check().is_ok());
}
