//! Loops: what the macros became.
//!
//! Each kind charges what the reference's general loop charges for the macro's condition, step and result.

use super::{Evaluator, Slot, reference_name};
use crate::collections::{Entries, List, Map};
use crate::cost;
use crate::error::{EvalError, EvalErrorKind};
use crate::program::{Fold, FoldKind, Node};
use crate::value::{Evaluated, Value};

/// Reading the accumulator.
const ACCUMULATOR: u64 = cost::SELECT;
/// `@not_strictly_false(@result)`.
const ALL_CONDITION: u64 = ACCUMULATOR + 1;
/// `@not_strictly_false(!@result)`.
const EXISTS_CONDITION: u64 = ACCUMULATOR + 2;
/// `@result + 1`, `@result == 1`: the accumulator and one operation.
const ACCUMULATOR_OPERATION: u64 = ACCUMULATOR + 1;

/// What a loop goes over.
enum Range<'a> {
    List(List<'a>),
    Map(Map<'a>, Vec<Value<'a>>),
}

impl Range<'_> {
    fn len(&self) -> usize {
        match self {
            Range::List(list) => list.len(),
            Range::Map(_, keys) => keys.len(),
        }
    }
}

/// What to do after an element.
enum Flow {
    Continue,
    Break,
}

impl<'a> Evaluator<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Evaluated<'a> {
        if let FoldKind::Bind { slot, init, result } = &fold.kind {
            self.locals[*slot] = Slot::Lazy(init);
            let value = self.node(result);
            self.locals[*slot] = Slot::Empty;
            return value;
        }
        let range = match self.node(&fold.range)? {
            Value::List(list) => Range::List(list),
            Value::Map(map) => {
                let keys = map.keys();
                Range::Map(map, keys)
            }
            other => {
                let name = reference_name(&other);
                return Err(EvalError::new(match fold.second_variable {
                    None => format!("got '{name}', expected iterable type"),
                    Some(_) => format!("unsupported comprehension range type: {name}"),
                }));
            }
        };
        match &fold.kind {
            FoldKind::All { predicate } => self.all(fold, &range, predicate),
            FoldKind::Exists { predicate } => self.exists(fold, &range, predicate),
            FoldKind::ExistsOne { predicate } => self.exists_one(fold, &range, predicate),
            FoldKind::Collect { filter, element } => self.collect(fold, &range, filter.as_ref(), element),
            FoldKind::Insert { filter, key, value } => {
                self.insert(fold, &range, filter.as_ref(), |evaluator| evaluator.entry(key, value))
            }
            FoldKind::InsertMap { filter, entries } => {
                self.insert(fold, &range, filter.as_ref(), |evaluator| evaluator.entries(entries))
            }
            FoldKind::Bind { result, .. } => self.node(result),
        }
    }

    /// Runs `body` for each element, with the loop variables set.
    fn each(
        &mut self,
        fold: &'a Fold,
        range: &Range<'a>,
        mut body: impl FnMut(&mut Self) -> Result<Flow, EvalError>,
    ) -> Result<(), EvalError> {
        for index in 0..range.len() {
            self.set_variables(fold, range, index);
            if let Flow::Break = body(self)? {
                break;
            }
        }
        Ok(())
    }

    fn set_variables(&mut self, fold: &'a Fold, range: &Range<'a>, index: usize) {
        let slot_of = |value: Option<Evaluated<'a>>| match value {
            Some(Ok(value)) => Slot::Value(value),
            Some(Err(error)) => Slot::Error(error),
            None => Slot::Empty,
        };
        let (first, second) = match (range, fold.second_variable) {
            (Range::List(list), None) => (slot_of(list.get(index)), Slot::Empty),
            (Range::List(list), Some(_)) => {
                let index_value = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
                (Slot::Value(index_value), slot_of(list.get(index)))
            }
            (Range::Map(_, keys), None) => (Slot::Value(keys[index].clone()), Slot::Empty),
            (Range::Map(map, keys), Some(_)) => {
                (Slot::Value(keys[index].clone()), slot_of(map.get(&keys[index])))
            }
        };
        self.locals[fold.variable] = first;
        if let Some(slot) = fold.second_variable {
            self.locals[slot] = second;
        }
    }

    fn all(&mut self, fold: &'a Fold, range: &Range<'a>, predicate: &'a Node) -> Evaluated<'a> {
        let mut state = Ok(true);
        self.each(fold, range, |evaluator| {
            evaluator.charge(ALL_CONDITION)?;
            if state == Ok(false) {
                return Ok(Flow::Break);
            }
            evaluator.charge(ACCUMULATOR)?;
            let outcome = evaluator.settled(predicate)?;
            absorb(&mut state, outcome, false);
            Ok(Flow::Continue)
        })?;
        self.charge(ACCUMULATOR)?;
        state.map(Value::Bool)
    }

    fn exists(&mut self, fold: &'a Fold, range: &Range<'a>, predicate: &'a Node) -> Evaluated<'a> {
        let mut state = Ok(false);
        self.each(fold, range, |evaluator| {
            evaluator.charge(EXISTS_CONDITION)?;
            if state == Ok(true) {
                return Ok(Flow::Break);
            }
            evaluator.charge(ACCUMULATOR)?;
            let outcome = evaluator.settled(predicate)?;
            absorb(&mut state, outcome, true);
            Ok(Flow::Continue)
        })?;
        self.charge(ACCUMULATOR)?;
        state.map(Value::Bool)
    }

    fn exists_one(&mut self, fold: &'a Fold, range: &Range<'a>, predicate: &'a Node) -> Evaluated<'a> {
        let mut count = Ok(0_u64);
        self.each(fold, range, |evaluator| {
            match evaluator.settled(predicate)? {
                Ok(Value::Bool(true)) => {
                    evaluator.charge(ACCUMULATOR_OPERATION)?;
                    count = count.clone().map(|count| count + 1);
                }
                Ok(Value::Bool(false)) => {}
                Ok(_) => count = Err(EvalError::no_such_overload()),
                Err(error) => count = Err(error),
            }
            Ok(Flow::Continue)
        })?;
        self.charge(ACCUMULATOR_OPERATION)?;
        count.map(|count| Value::Bool(count == 1))
    }

    fn collect(
        &mut self,
        fold: &'a Fold,
        range: &Range<'a>,
        filter: Option<&'a Node>,
        element: &'a Node,
    ) -> Evaluated<'a> {
        // `[element]` is not built only to be taken apart again.
        let single = match element {
            Node::List(literal) => match literal.elements.as_slice() {
                [(single, false)] => Some(single),
                _ => None,
            },
            _ => None,
        };
        let expected = if filter.is_none() { range.len() } else { 0 };
        let mut items = Ok(Vec::with_capacity(expected));
        self.each(fold, range, |evaluator| {
            if !evaluator.passes(filter, &mut items)? {
                return Ok(Flow::Continue);
            }
            evaluator.charge(ACCUMULATOR)?;
            let outcome = evaluator.settled(single.unwrap_or(element))?;
            let list_cost = if single.is_some() { cost::CREATE_LIST } else { 0 };
            evaluator.charge(list_cost + 1)?;
            let Ok(collected) = &mut items else { return Ok(Flow::Continue) };
            match outcome {
                Ok(item) if single.is_some() => collected.push(item),
                Ok(Value::List(list)) => match list.items() {
                    Ok(found) => collected.extend(found),
                    Err(error) => items = Err(error),
                },
                Ok(_) => items = Err(EvalError::no_such_overload()),
                Err(error) => items = Err(error),
            }
            Ok(Flow::Continue)
        })?;
        self.charge(ACCUMULATOR)?;
        items.map(Value::list)
    }

    /// Whether an element is wanted. A filter that fails makes the whole result fail.
    fn passes<T>(
        &mut self,
        filter: Option<&'a Node>,
        state: &mut Result<T, EvalError>,
    ) -> Result<bool, EvalError> {
        let Some(filter) = filter else { return Ok(true) };
        match self.settled(filter)? {
            Ok(Value::Bool(wanted)) => return Ok(wanted),
            Ok(_) => *state = Err(EvalError::no_such_overload()),
            Err(error) => *state = Err(error),
        }
        Ok(false)
    }

    fn insert(
        &mut self,
        fold: &'a Fold,
        range: &Range<'a>,
        filter: Option<&'a Node>,
        mut entries: impl FnMut(&mut Self) -> Result<Vec<(Value<'a>, Value<'a>)>, EvalError>,
    ) -> Evaluated<'a> {
        let mut built = Ok(Entries::new());
        self.each(fold, range, |evaluator| {
            if !evaluator.passes(filter, &mut built)? {
                return Ok(Flow::Continue);
            }
            evaluator.charge(ACCUMULATOR)?;
            if built.is_err() && matches!(fold.kind, FoldKind::Insert { .. }) {
                // The call fails at its first argument; of more than two, the others are not evaluated.
                return Ok(Flow::Continue);
            }
            let added = match entries(evaluator) {
                Err(error) if error.kind() == EvalErrorKind::CostLimit => return Err(error),
                other => other,
            };
            built = std::mem::replace(&mut built, Ok(Entries::new())).and_then(|built| add(built, added?));
            Ok(Flow::Continue)
        })?;
        self.charge(ACCUMULATOR)?;
        built.map(Value::from)
    }

    fn entry(&mut self, key: &'a Node, value: &'a Node) -> Result<Vec<(Value<'a>, Value<'a>)>, EvalError> {
        let key = self.node(key)?;
        let value = self.settled(value)?;
        self.charge(1)?;
        Ok(vec![(key, value?)])
    }

    fn entries(&mut self, entries: &'a Node) -> Result<Vec<(Value<'a>, Value<'a>)>, EvalError> {
        let entries = self.settled(entries)?;
        self.charge(1)?;
        let Value::Map(map) = entries? else { return Err(EvalError::no_such_overload()) };
        let value_of = |key: Value<'a>| match map.get(&key) {
            Some(value) => value.map(|value| (key, value)),
            None => Err(EvalError::no_such_overload()),
        };
        map.keys().into_iter().map(value_of).collect()
    }
}

fn add<'a>(mut built: Entries<'a>, added: Vec<(Value<'a>, Value<'a>)>) -> Result<Entries<'a>, EvalError> {
    for (key, value) in added {
        if built.get(&key).is_some() {
            let shown = crate::library::display(&key);
            return Err(EvalError::new(format!("insert failed: key {shown} already exists")));
        }
        built.insert(key, value);
    }
    Ok(built)
}

/// Adds one outcome to `&&` or `||` over all so far; `decisive` is the value that settles it.
fn absorb(state: &mut Result<bool, EvalError>, outcome: Evaluated<'_>, decisive: bool) {
    match outcome {
        Ok(Value::Bool(value)) if value == decisive => *state = Ok(decisive),
        Ok(Value::Bool(_)) => {}
        Ok(_) => {
            if state.is_ok() {
                *state = Err(EvalError::no_such_overload());
            }
        }
        Err(error) => {
            if state.is_ok() {
                *state = Err(error);
            }
        }
    }
}
