//! Many operations, by chance but the same each time, against a map that remembers every state.

use std::collections::BTreeMap;

use super::{Backend, Case, Sequence, pairs, read, soon};
use crate::{Condition, Error, Expect, KeyRange, Range, Revision, Store, Txn, Write};

pub(super) const CASES: &[Case] =
    &[("it_behaves_like_a_map_with_memory", |backend| Box::pin(behaves_like_a_map(backend)))];

const STEPS: u64 = 400;
const KEYS: u64 = 9;

#[derive(Clone, Default)]
struct State(BTreeMap<String, (String, Revision)>);

/// Every state that there was, by revision.
struct Model {
    states: BTreeMap<Revision, State>,
    compacted: Revision,
}

impl Model {
    fn newest(&self) -> (Revision, &State) {
        let (revision, state) = self.states.last_key_value().expect("there is always one");
        (*revision, state)
    }

    /// What the transaction must answer, and what it does.
    fn commit(&mut self, txn: &Txn) -> Option<Revision> {
        let (current, state) = self.newest();
        let revision_of = |key: &[u8]| {
            let key = std::str::from_utf8(key).expect("text");
            state.0.get(key).map(|(_, revision)| *revision)
        };
        if !txn.conditions.iter().all(|condition| condition.expect.holds(revision_of(&condition.key))) {
            return None;
        }
        let (mut next, mut changed) = (state.clone(), false);
        for write in &txn.writes {
            let key = String::from_utf8_lossy(write.key()).into_owned();
            match write {
                Write::Put { value, .. } => {
                    let value = String::from_utf8_lossy(value).into_owned();
                    next.0.insert(key, (value, current.next()));
                    changed = true;
                }
                Write::Delete { .. } => changed |= next.0.remove(&key).is_some(),
            }
        }
        if !changed {
            return Some(current);
        }
        self.states.insert(current.next(), next);
        Some(current.next())
    }
}

async fn behaves_like_a_map(backend: &mut dyn Backend) {
    let mut random = Sequence(4);
    let mut model =
        Model { states: BTreeMap::from([(Revision::FIRST, State::default())]), compacted: Revision::ZERO };
    for step in 0..STEPS {
        let store = &*backend.store();
        match random.below(20) {
            0 => compact(store, &mut model, &mut random).await,
            1..4 => compare(store, &model, &mut random).await,
            _ => write(store, &mut model, &mut random).await,
        }
        if step % 97 == 96 {
            backend.reopen().await;
        }
    }
    compare(&*backend.store(), &model, &mut random).await;
}

async fn write(store: &dyn Store, model: &mut Model, random: &mut Sequence) {
    let mut keys: Vec<u64> = (0..KEYS).collect();
    let count = if random.below(3) == 0 { 1 + random.below(4) } else { 1 };
    let mut txn = Txn::default();
    for _ in 0..count {
        let chosen = usize::try_from(random.below(keys.len() as u64)).expect("small");
        let key = format!("/k/{}", keys.swap_remove(chosen));
        let known = model.newest().1.0.get(&key).map(|(_, revision)| *revision);
        let expect = match (random.below(8), known) {
            (0, _) => Expect::Anything,
            (1, _) => Expect::Absent,
            (2, _) => Expect::At(Revision(1 + random.below(model.newest().0.0))),
            (_, Some(revision)) => Expect::At(revision),
            (_, None) => Expect::Absent,
        };
        txn.conditions.push(Condition { key: key.clone().into(), expect });
        txn.writes.push(if random.below(3) == 0 {
            Write::Delete { key: key.into() }
        } else {
            Write::Put { key: key.into(), value: random.next().to_string().into(), expires_in: None }
        });
    }
    let expected = model.commit(&txn);
    match (soon(store.commit(txn)).await, expected) {
        (Ok(committed), Some(revision)) => assert_eq!(committed.revision, revision),
        (Err(Error::Conflict { .. }), None) => {}
        (answer, expected) => panic!("{answer:?} where {expected:?} was expected"),
    }
}

async fn compare(store: &dyn Store, model: &Model, random: &mut Sequence) {
    let (current, _) = model.newest();
    let oldest = model.compacted.max(Revision::FIRST);
    let at = Revision(oldest.0 + random.below(current.0 - oldest.0 + 1));
    let first = format!("/k/{}", random.below(KEYS));
    let range = KeyRange { start: first.clone().into(), end: "".into() };
    let limit = usize::try_from(random.below(5)).expect("small");
    let result = read(store, Range::values(range).at(at).limit(limit)).await;
    let (_, state) = model.states.range(..=at).next_back().expect("the first state is always there");
    let all: Vec<String> = state.0.range(first..).map(|(key, (value, _))| format!("{key}={value}")).collect();
    let shown = if limit == 0 { all.len() } else { limit.min(all.len()) };
    assert_eq!(pairs(&result), all[..shown], "at revision {at} of {current}");
    assert_eq!(result.more, shown < all.len());
    if !result.more {
        assert_eq!(result.count, all.len() as u64);
    }
    assert_eq!(result.revision, current);
}

async fn compact(store: &dyn Store, model: &mut Model, random: &mut Sequence) {
    let (current, _) = model.newest();
    let oldest = Revision(current.0.saturating_sub(random.below(30)).max(1));
    soon(store.compact(oldest)).await.expect("it can be compacted");
    model.compacted = model.compacted.max(oldest);
}
