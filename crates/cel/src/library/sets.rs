//! Lists taken as sets.

use crate::collections::List;
use crate::cost::estimate::{Estimate, StaticCall};
use crate::cost::{RunCall, estimate::CallEstimate};
use crate::env::{CallCost, Function, Library, Overload};
use crate::error::EvalError;
use crate::types::Type;
use crate::value::Value;

type Relation = for<'v, 'a> fn(&'v List<'a>, &'v List<'a>) -> Result<bool, EvalError>;

/// `sets.contains`, `sets.equivalent`, `sets.intersects`.
pub fn sets() -> Library {
    let list = Type::list(Type::param("T"));
    let function = |name: &str, id: &str, factor: u32, relation: Relation| {
        let overload = Overload::global(id, [list.clone(), list.clone()], Type::Bool)
            .implemented(move |args| match args {
                [Value::List(left), Value::List(right)] => relation(left, right).map(Value::Bool),
                _ => Err(EvalError::no_such_overload()),
            })
            .cost(cost(f64::from(factor)));
        Function::new(name).overload(overload)
    };
    Library::new()
        .function(function("sets.contains", "list_sets_contains_list", 1, contains_all))
        .function(function("sets.equivalent", "list_sets_equivalent_list", 2, |left, right| {
            Ok(contains_all(left, right)? && contains_all(right, left)?)
        }))
        .function(function("sets.intersects", "list_sets_intersects_list", 1, intersects))
}

fn contains_all<'a>(list: &List<'a>, wanted: &List<'a>) -> Result<bool, EvalError> {
    for item in wanted.iter() {
        if !list.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(left: &List<'a>, right: &List<'a>) -> Result<bool, EvalError> {
    for item in left.iter() {
        if right.contains(&item?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every element of one is compared with every element of the other.
fn cost(factor: f64) -> CallCost {
    let run = move |call: &RunCall<'_, '_>| {
        let pairs = call.size(0).saturating_mul(call.size(1));
        Some(super::lists::truncated(pairs, factor).saturating_add(1))
    };
    let estimate = move |call: &StaticCall<'_>| {
        let [left, right] = call.args else { return None };
        let pairs = left.size_or_unknown().multiply(right.size_or_unknown());
        Some(CallEstimate::from(pairs.times(factor).add(Estimate::fixed(1))))
    };
    CallCost::new(run, estimate)
}
