//! Arithmetic, order, membership.

use std::cmp::Ordering;

use crate::ast::operators as op;
use crate::compare::compare;
use crate::error::EvalError;
use crate::eval_limits::check_built;
use crate::program::OperatorKind;
use crate::value::{Evaluated, Value};

pub(super) fn not<'a>(operand: &Value<'a>) -> Evaluated<'a> {
    match operand {
        Value::Bool(value) => Ok(Value::Bool(!value)),
        _ => Err(EvalError::no_such_overload()),
    }
}

pub(super) fn apply<'a>(kind: OperatorKind, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    use OperatorKind as K;
    if !supports(kind, left) {
        return Err(unsupported(name(kind), left));
    }
    match kind {
        K::Less => order(left, right, Ordering::is_lt),
        K::LessEquals => order(left, right, Ordering::is_le),
        K::Greater => order(left, right, Ordering::is_gt),
        K::GreaterEquals => order(left, right, Ordering::is_ge),
        K::Add => add(left, right),
        K::Subtract => subtract(left, right),
        K::Multiply => multiply(left, right),
        K::Divide => divide(left, right),
        K::Modulo => modulo(left, right),
        K::In => contains(left, right),
    }
}

/// The error of an operator or function that a value's kind does not have.
pub(crate) fn unsupported(function: &str, value: &Value<'_>) -> EvalError {
    match value {
        // These kinds have functions of their own, and the reference looks there, too.
        Value::String(_) | Value::Timestamp(_) | Value::Duration(_) => EvalError::no_such_overload(),
        _ => EvalError::new(format!("no such overload: {function}")),
    }
}

/// Whether values of the left operand's kind have the operator at all.
fn supports(kind: OperatorKind, left: &Value<'_>) -> bool {
    use OperatorKind as K;
    match left {
        Value::Int(_) | Value::Uint(_) => true,
        Value::Double(_) => kind != K::Modulo,
        Value::Duration(_) | Value::Timestamp(_) => !matches!(kind, K::Multiply | K::Divide | K::Modulo),
        Value::String(_) | Value::Bytes(_) => {
            !matches!(kind, K::Subtract | K::Multiply | K::Divide | K::Modulo)
        }
        Value::Bool(_) => matches!(kind, K::Less | K::LessEquals | K::Greater | K::GreaterEquals | K::In),
        Value::List(_) => matches!(kind, K::Add | K::In),
        _ => kind == K::In,
    }
}

fn name(kind: OperatorKind) -> &'static str {
    use OperatorKind as K;
    match kind {
        K::Less => op::LESS,
        K::LessEquals => op::LESS_EQUALS,
        K::Greater => op::GREATER,
        K::GreaterEquals => op::GREATER_EQUALS,
        K::Add => op::ADD,
        K::Subtract => op::SUBTRACT,
        K::Multiply => op::MULTIPLY,
        K::Divide => op::DIVIDE,
        K::Modulo => op::MODULO,
        K::In => op::IN,
    }
}

fn order<'a>(left: &Value<'a>, right: &Value<'a>, holds: fn(Ordering) -> bool) -> Evaluated<'a> {
    compare(left, right).map(|ordering| Value::Bool(holds(ordering)))
}

fn int<'a>(result: Option<i64>) -> Evaluated<'a> {
    result.map(Value::Int).ok_or_else(|| EvalError::new("integer overflow"))
}

fn uint<'a>(result: Option<u64>) -> Evaluated<'a> {
    result.map(Value::Uint).ok_or_else(|| EvalError::new("unsigned integer overflow"))
}

fn add<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_add(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_add(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left + right)),
        (Value::String(left), Value::String(right)) => {
            check_built(left.len() + right.len())?;
            Ok(Value::string([&**left, &**right].concat()))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            check_built(left.len() + right.len())?;
            Ok(Value::bytes([&**left, &**right].concat()))
        }
        (Value::List(left), Value::List(right)) => left.concat(right),
        (Value::Duration(left), Value::Duration(right)) => {
            left.checked_add(*right).map(Value::Duration).ok_or_else(|| EvalError::new("integer overflow"))
        }
        (Value::Timestamp(instant), Value::Duration(span))
        | (Value::Duration(span), Value::Timestamp(instant)) => {
            instant.checked_add(*span).map(Value::Timestamp).ok_or_else(timestamp_overflow)
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn timestamp_overflow() -> EvalError {
    EvalError::new("timestamp overflow")
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_sub(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_sub(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left - right)),
        (Value::Duration(left), Value::Duration(right)) => {
            left.checked_sub(*right).map(Value::Duration).ok_or_else(|| EvalError::new("integer overflow"))
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            left.checked_since(*right).map(Value::Duration).ok_or_else(|| EvalError::new("integer overflow"))
        }
        (Value::Timestamp(instant), Value::Duration(span)) => span
            .checked_neg()
            .and_then(|span| instant.checked_add(span))
            .map(Value::Timestamp)
            .ok_or_else(timestamp_overflow),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn multiply<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_mul(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_mul(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left * right)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn divide<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new("division by zero"))
        }
        (Value::Int(left), Value::Int(right)) => int(left.checked_div(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_div(*right)),
        (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left / right)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn modulo<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new("modulus by zero"))
        }
        (Value::Int(left), Value::Int(right)) => int(left.checked_rem(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_rem(*right)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn contains<'a>(item: &Value<'a>, container: &Value<'a>) -> Evaluated<'a> {
    match container {
        Value::List(list) => list.contains(item).map(Value::Bool),
        Value::Map(map) => match map.get(item) {
            Some(Err(error)) => Err(error),
            found => Ok(Value::Bool(found.is_some())),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}
