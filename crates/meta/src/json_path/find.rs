//! Following the steps of a path in an object.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{End, Filter, Operator, Slice, Step, Steps, Test};
use crate::Value;

/// Bound: values that one search touches. Descents after each other multiply.
const MAX_VALUES: usize = 1 << 16;

type Values<'a> = Vec<Cow<'a, Value>>;

/// A search that failed, and whether anything was found until then: a question for existence is content
/// with that.
struct Failed {
    found: bool,
}

pub(super) fn first<'a>(parts: &[Steps], object: &'a Value) -> Option<Cow<'a, Value>> {
    let mut search = Search { left: MAX_VALUES };
    let mut first = None;
    for (index, steps) in parts.iter().enumerate() {
        let found = search.follow(vec![Cow::Borrowed(object)], steps).ok()?;
        if index == 0 {
            first = found.into_iter().next();
        }
    }
    first
}

struct Search {
    left: usize,
}

impl Search {
    fn follow<'a>(&mut self, mut values: Values<'a>, steps: &[Step]) -> Result<Values<'a>, Failed> {
        for step in steps {
            values = self.step(values, step)?;
            self.left = self.left.checked_sub(values.len()).ok_or(Failed { found: false })?;
        }
        Ok(values)
    }

    fn step<'a>(&mut self, values: Values<'a>, step: &Step) -> Result<Values<'a>, Failed> {
        Ok(match step {
            Step::Field(name) => values.into_iter().filter_map(|value| member(value, name)).collect(),
            Step::Wildcard => values.into_iter().flat_map(children).collect(),
            Step::Descent => {
                let mut found = Values::new();
                for value in values {
                    self.descend(value, &mut found)?;
                }
                found
            }
            Step::Slice(slice) => return elements(values, slice),
            Step::Union(parts) => {
                let mut found = Values::new();
                for part in parts {
                    let some = self.follow(values.clone(), part);
                    found.extend(some.map_err(|_| Failed { found: !values.is_empty() })?);
                }
                found
            }
            Step::Filter(filter) => self.filter(values, filter)?,
            Step::Literal(text) => vec![Cow::Owned(Value::String(text.clone()))],
            Step::Scalar(value) => values.iter().map(|_| Cow::Owned(value.clone())).collect(),
            Step::Word => return Err(Failed { found: !values.is_empty() }),
        })
    }

    /// What has children, itself first.
    fn descend<'a>(&mut self, value: Cow<'a, Value>, found: &mut Values<'a>) -> Result<(), Failed> {
        let children = children(value.clone());
        if children.is_empty() {
            return Ok(());
        }
        self.left = self.left.checked_sub(children.len()).ok_or(Failed { found: false })?;
        found.push(value);
        for child in children {
            self.descend(child, found)?;
        }
        Ok(())
    }

    fn filter<'a>(&mut self, values: Values<'a>, filter: &Filter) -> Result<Values<'a>, Failed> {
        let input = Failed { found: !values.is_empty() };
        let mut passed = Values::new();
        for value in values {
            if !matches!(*value, Value::Array(_)) {
                return Err(input);
            }
            for item in children(value) {
                match self.passes(&item, filter) {
                    Ok(true) => passed.push(item),
                    Ok(false) => {}
                    Err(_) => return Err(input),
                }
            }
        }
        Ok(passed)
    }

    fn passes(&mut self, item: &Value, filter: &Filter) -> Result<bool, Failed> {
        let left = self.follow(vec![Cow::Borrowed(item)], &filter.left);
        let (operator, right) = match &filter.test {
            Test::Exists => return Ok(left.map_or_else(|failed| failed.found, |found| !found.is_empty())),
            Test::Compare(operator, right) => (*operator, right),
        };
        let Some(left) = single(&left?)?.cloned() else { return Ok(false) };
        let right = self.follow(vec![Cow::Borrowed(item)], right)?;
        let Some(right) = single(&right)? else { return Ok(false) };
        compare(operator, &left, right).ok_or(Failed { found: false })
    }
}

/// Only one thing can be compared at a time.
fn single<'a>(values: &'a Values<'_>) -> Result<Option<&'a Value>, Failed> {
    match values.as_slice() {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(Failed { found: false }),
    }
}

fn member<'a>(value: Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
    }
}

/// What is directly below a value; a text consists of its bytes.
fn children(value: Cow<'_, Value>) -> Values<'_> {
    match value {
        Cow::Borrowed(Value::Object(members)) => members.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Object(members)) => members.values().cloned().map(Cow::Owned).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Borrowed(Value::String(text)) => bytes(text),
        Cow::Owned(Value::String(text)) => bytes(&text),
        _ => Values::new(),
    }
}

fn bytes(text: &str) -> Values<'static> {
    text.bytes().map(|byte| Cow::Owned(Value::Int(i64::from(byte)))).collect()
}

fn elements<'a>(values: Values<'a>, slice: &Slice) -> Result<Values<'a>, Failed> {
    let mut found = Values::new();
    for value in values {
        let length = match &*value {
            Value::Null => continue,
            Value::Array(items) => i64::try_from(items.len()).unwrap_or(i64::MAX),
            _ => return Err(Failed { found: true }),
        };
        let start = if slice.start < 0 { slice.start.saturating_add(length) } else { slice.start };
        let end = match slice.end {
            End::Open => length,
            // Derived from the start as it is written, hence from the end when that is the last one.
            End::AfterStart if slice.start.saturating_add(1) <= 0 => slice.start.saturating_add(1) + length,
            End::AfterStart => slice.start.saturating_add(1),
            End::At(end) if end < 0 => end.saturating_add(length),
            End::At(end) => end,
        };
        if start == end {
            return Ok(found);
        }
        let in_bounds = (0..length).contains(&start) && (0..=length).contains(&end) && start <= end;
        let step = slice.step.unwrap_or(1);
        if !in_bounds || step <= 0 {
            return Err(Failed { found: true });
        }
        let index = |at: i64| usize::try_from(at).unwrap_or(usize::MAX);
        let taken = children(value).into_iter().skip(index(start)).take(index(end - start));
        found.extend(taken.step_by(index(step)));
    }
    Ok(found)
}

/// `None` when the two cannot be compared.
fn compare(operator: Operator, left: &Value, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => {
            return match operator {
                Operator::Equal => Some(left == right),
                Operator::NotEqual => Some(left != right),
                _ => None,
            };
        }
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right)?,
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => return None,
    };
    Some(match operator {
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Unknown => return None,
    })
}
