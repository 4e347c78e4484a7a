//! The list extension: slices, flattening, sorting, ranges.

use std::cmp::Ordering;

use crate::ast::Literal;
use crate::collections::List;
use crate::compare::{compare, equal};
use crate::cost::estimate::{CallEstimate, CostNode, Estimate, StaticCall};
use crate::cost::{CREATE_LIST, RunCall, STRING_TRAVERSAL};
use crate::env::{CallCost, Function, Library, Overload};
use crate::error::EvalError;
use crate::syntax::macros::{self, SORT_BY_KEYS};
use crate::types::Type;
use crate::value::{Evaluated, Value};

/// Bound: elements of a list that `lists.range` makes.
const RANGE_MAX: i64 = 10_000_000;

/// Types whose values have an order.
pub(crate) const COMPARABLE: [Type; 8] = [
    Type::Int,
    Type::Uint,
    Type::Double,
    Type::Bool,
    Type::Duration,
    Type::Timestamp,
    Type::String,
    Type::Bytes,
];

/// `slice`, `flatten`, `sort`, `sortBy`, `reverse`, `distinct`, `lists.range`.
pub fn lists() -> Library {
    let t = Type::param("T");
    let list = Type::list(t.clone());
    let sort = |ty: &Type| {
        let of = Type::list(ty.clone());
        Overload::member(&format!("list_{}_sort", ty.runtime_name()), [of.clone()], of)
            .implemented(|args| match args {
                [Value::List(list)] => sort_by(list, list),
                _ => Err(EvalError::no_such_overload()),
            })
            .cost(sort_cost(0, ty, |call| call.target))
    };
    let sort_by = |ty: &Type| {
        let id = format!("list_{}_sortByAssociatedKeys", ty.runtime_name());
        Overload::member(&id, [list.clone(), Type::list(ty.clone())], list.clone())
            .implemented(|args| match args {
                [Value::List(list), Value::List(keys)] => sort_by(list, keys),
                _ => Err(EvalError::no_such_overload()),
            })
            .cost(sort_cost(1, ty, |call| call.args.first()))
    };
    Library::new()
        .macros(macros::LISTS)
        .function(
            Function::new("slice").overload(
                Overload::member("list_slice", [list.clone(), Type::Int, Type::Int], list.clone())
                    .implemented(slice)
                    .cost(CallCost::new(|call| Some(output_size(call)), slice_estimate)),
            ),
        )
        .function(flatten_function(&list))
        .function(Function::new("sort").overloads(COMPARABLE.iter().map(sort)))
        .function(Function::new(SORT_BY_KEYS).overloads(COMPARABLE.iter().map(sort_by)))
        .function(Function::new("lists.range").overload(
            Overload::global("lists_range", [Type::Int], Type::list(Type::Int)).implemented(range).cost(
                CallCost::new(
                    |call| Some(output_size(call)),
                    |call| {
                        let length = call.args.first().map_or(u64::MAX, |arg| int_or(arg, u64::MAX));
                        Some(allocating(1.0, Estimate::fixed(length)))
                    },
                ),
            ),
        ))
        .function(Function::new("reverse").overload(
            Overload::member("list_reverse", [list.clone()], list.clone()).implemented(reverse).cost(
                CallCost::new(
                    |call| Some(output_size(call)),
                    |call| Some(allocating(1.0, call.target?.size_or_unknown())),
                ),
            ),
        ))
        .function(Function::new("distinct").overload(
            Overload::member("list_distinct", [list.clone()], list.clone()).implemented(distinct).cost(
                CallCost::new(
                    |call| Some(self_compare(call.args.first())),
                    |call| {
                        let size = call.target?.size_or_unknown();
                        Some(allocating(2.0, size.multiply(size)))
                    },
                ),
            ),
        ))
}

fn flatten_function(list: &Type) -> Function {
    let cost = || {
        CallCost::new(
            |call| {
                #[expect(clippy::cast_precision_loss, reason = "costs are defined in floating point")]
                let depth = call.args.get(1).and_then(Value::as_int).map_or(1.0, |depth| depth as f64);
                Some(flatten_cost(depth, call.size(0)))
            },
            |call| {
                #[expect(clippy::cast_precision_loss, reason = "costs are defined in floating point")]
                let depth = call.args.first().map_or(1, |arg| int_or(arg, u64::MAX)) as f64;
                Some(allocating(depth, call.target?.size_or_unknown()))
            },
        )
    };
    let dynamic = Type::list(Type::Dyn);
    Function::new("flatten")
        .overload(
            Overload::member("list_flatten", [Type::list(list.clone())], list.clone())
                .implemented(flatten)
                .unguarded()
                .cost(cost()),
        )
        .overload(
            Overload::member("list_flatten_int", [dynamic.clone(), Type::Int], dynamic)
                .implemented(flatten)
                .unguarded()
                .cost(cost()),
        )
}

fn slice<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = args else {
        return Err(EvalError::no_such_overload());
    };
    let refuse = |why: String| Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return refuse("negative indexes not supported".to_owned());
    };
    if from > to {
        return refuse("start index must be less than or equal to end index".to_owned());
    }
    if list.len() < to {
        return refuse(format!("list is length {}", list.len()));
    }
    let items: Result<Vec<_>, _> = (from..to).filter_map(|index| list.get(index)).collect();
    items.map(Value::list)
}

fn flatten<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (list, depth) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return Err(EvalError::no_such_overload()),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut items = Vec::new();
    flatten_into(list, depth, &mut items)?;
    Ok(Value::list(items))
}

fn flatten_into<'a>(list: &List<'a>, depth: i64, items: &mut Vec<Value<'a>>) -> Result<(), EvalError> {
    for item in list.iter() {
        match item? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, items)?,
            other => items.push(other),
        }
    }
    Ok(())
}

/// The items of `list` in the order of their keys.
fn sort_by<'a>(list: &List<'a>, keys: &List<'a>) -> Evaluated<'a> {
    let (items, keys) = (list.items()?, keys.items()?);
    if items.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            items.len(),
            keys.len()
        )));
    }
    let Some(first) = keys.first() else { return Ok(Value::list(items)) };
    if matches!(first, Value::List(_) | Value::Map(_) | Value::Null | Value::Optional(_)) {
        return Err(EvalError::new("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(EvalError::new("list elements must have the same type"));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|left, right| compare(&left.0, &right.0).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

fn range<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [Value::Int(end)] if *end > RANGE_MAX => {
            Err(EvalError::new(format!("lists.range: {end} is more than {RANGE_MAX}")))
        }
        [Value::Int(end)] => Ok(Value::list((0..*end).map(Value::Int).collect())),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn reverse<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::List(list)] = args else { return Err(EvalError::no_such_overload()) };
    let mut items = list.items()?;
    items.reverse();
    Ok(Value::list(items))
}

fn distinct<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::List(list)] = args else { return Err(EvalError::no_such_overload()) };
    let mut items: Vec<Value<'a>> = Vec::new();
    for item in list.iter() {
        let item = item?;
        if !items.iter().any(|known| equal(&item, known).unwrap_or(false)) {
            items.push(item);
        }
    }
    Ok(Value::list(items))
}

/// `floor(size × factor)`.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are defined in floating point; the cast saturates"
)]
pub(super) fn truncated(size: u64, factor: f64) -> u64 {
    (size as f64 * factor) as u64
}

/// What a call that built a list cost.
fn run_allocating(factor: f64, size: u64) -> u64 {
    truncated(size, factor).saturating_add(1 + CREATE_LIST)
}

/// A negative depth is an error, but it is charged first, and wraps around in the reference.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "costs are defined in floating point"
)]
fn flatten_cost(depth: f64, size: u64) -> u64 {
    if depth >= 0.0 {
        return run_allocating(depth, size);
    }
    ((size as f64 * depth) as i64).cast_unsigned().wrapping_add(1 + CREATE_LIST)
}

fn output_size(call: &RunCall<'_, '_>) -> u64 {
    run_allocating(1.0, call.result_size())
}

/// What comparing the elements of a list with each other cost.
fn self_compare(list: Option<&Value<'_>>) -> u64 {
    let Some(Value::List(list)) = list else { return run_allocating(2.0, 1) };
    let size = list.len() as u64;
    let is_text = matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))));
    let factor = if is_text { 2.0 + STRING_TRAVERSAL } else { 2.0 };
    run_allocating(factor, size.saturating_mul(size))
}

fn sort_cost(
    run_arg: usize,
    ty: &Type,
    keys: for<'c> fn(&'c StaticCall<'_>) -> Option<&'c CostNode>,
) -> CallCost {
    let factor = match ty {
        Type::String | Type::Bytes => 2.0 + STRING_TRAVERSAL,
        _ => 2.0,
    };
    CallCost::new(
        move |call| Some(self_compare(call.args.get(run_arg))),
        move |call| {
            let size = keys(call)?.size_or_unknown();
            Some(allocating(factor, size.multiply(size)))
        },
    )
}

fn slice_estimate(call: &StaticCall<'_>) -> Option<CallEstimate> {
    let [start, end] = call.args else { return None };
    let size = call.target?.size_or_unknown();
    let length = int_or(end, size.max).wrapping_sub(int_or(start, 0));
    Some(allocating(1.0, Estimate::fixed(length)))
}

/// What a call that builds a list of this size may cost.
fn allocating(factor: f64, size: Estimate) -> CallEstimate {
    CallEstimate::sized(size.times(factor).add(Estimate::fixed(1 + CREATE_LIST)), size)
}

/// The value of an integer literal, 0 for a negative one; otherwise `default`.
fn int_or(node: &CostNode, default: u64) -> u64 {
    match node.literal() {
        Some(Literal::Int(value)) => u64::try_from(*value).unwrap_or(0),
        _ => default,
    }
}
