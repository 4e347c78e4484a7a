//! Equality and order between values, across number types.

use std::cmp::Ordering;

use crate::collections::{List, Map};
use crate::error::EvalError;
use crate::value::Value;

/// 2^63 and 2^64: the first doubles beyond the integers.
const INT_END: f64 = 9_223_372_036_854_775_808.0;
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

/// Whether two values are equal. Values of different kinds are not, save for numbers.
///
/// The error is for values of libraries that refuse to be compared.
pub fn equal(left: &Value<'_>, right: &Value<'_>) -> Result<bool, EvalError> {
    Ok(match (left, right) {
        (Value::Null, other) | (other, Value::Null) => matches!(other, Value::Null),
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::String(left), Value::String(right)) | (Value::Type(left), Value::Type(right)) => {
            **left == **right
        }
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => compare_numbers(left, right) == Some(Ordering::Equal),
        (Value::Bytes(left), Value::Bytes(right)) => **left == **right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left == right,
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::List(left), Value::List(right)) => left.equals(right)?,
        (Value::Map(left), Value::Map(right)) => left.equals(right)?,
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(left, right)?,
            (None, None) => true,
            _ => false,
        },
        (Value::List(List::Host(left)), _) => left.view.equals_other()?,
        (Value::Map(Map::Host(left)), _) => left.view.equals_other()?,
        (Value::Opaque(left), right) => left.equals(right).ok_or_else(EvalError::no_such_overload)?,
        _ => false,
    })
}

/// The order of two values of a kind that has one.
pub fn compare(left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, EvalError> {
    Ok(match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => (**left).cmp(&**right),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => compare_numbers(left, right).ok_or_else(|| EvalError::new("NaN values cannot be ordered"))?,
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Bytes(left), Value::Bytes(right)) => (**left).cmp(&**right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp(right),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        _ => return Err(EvalError::no_such_overload()),
    })
}

/// `None` when one is not a number.
fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Uint(left), Value::Uint(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Uint(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Uint(left), Value::Int(right)) => Some(i128::from(*left).cmp(&i128::from(*right))),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Double(left), Value::Int(right)) => double_with_int(*left, *right),
        (Value::Int(left), Value::Double(right)) => double_with_int(*right, *left).map(Ordering::reverse),
        (Value::Double(left), Value::Uint(right)) => double_with_uint(*left, *right),
        (Value::Uint(left), Value::Double(right)) => double_with_uint(*right, *left).map(Ordering::reverse),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "the reference compares so, too")]
fn double_with_int(double: f64, int: i64) -> Option<Ordering> {
    if double < -INT_END {
        Some(Ordering::Less)
    } else if double > INT_END {
        Some(Ordering::Greater)
    } else {
        double.partial_cmp(&(int as f64))
    }
}

#[expect(clippy::cast_precision_loss, reason = "the reference compares so, too")]
fn double_with_uint(double: f64, uint: u64) -> Option<Ordering> {
    if double < 0.0 {
        Some(Ordering::Less)
    } else if double > UINT_END {
        Some(Ordering::Greater)
    } else {
        double.partial_cmp(&(uint as f64))
    }
}

/// The integer that a double is, if it is one.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
pub(crate) fn double_to_int(value: f64) -> Option<i64> {
    ((-INT_END..INT_END).contains(&value) && value.fract() == 0.0).then_some(value as i64)
}

/// The unsigned integer that a double is, if it is one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
pub(crate) fn double_to_uint(value: f64) -> Option<u64> {
    ((0.0..UINT_END).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// The position that an index value means, with the error text of a value that means none.
pub(crate) fn list_index(index: &Value<'_>) -> Result<i64, EvalError> {
    let unsupported = |shown: String| EvalError::new(format!("unsupported index value {shown} in list"));
    match index {
        Value::Int(index) => Ok(*index),
        Value::Uint(index) => i64::try_from(*index).map_err(|_| unsupported(index.to_string())),
        Value::Double(value) => double_to_int(*value).ok_or_else(|| unsupported(crate::text::double(*value))),
        other => Err(EvalError::new(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_across_types() {
        assert!(equal(&Value::Int(1), &Value::Double(1.0)).unwrap());
        assert!(equal(&Value::Uint(1), &Value::Int(1)).unwrap());
        assert!(!equal(&Value::Double(f64::NAN), &Value::Double(f64::NAN)).unwrap());
        assert_eq!(compare(&Value::Int(-1), &Value::Uint(0)).unwrap(), Ordering::Less);
        assert_eq!(compare(&Value::Int(i64::MAX), &Value::Double(1e30)).unwrap(), Ordering::Less);
        assert!(compare(&Value::Double(f64::NAN), &Value::Int(1)).is_err());
    }

    #[test]
    fn different_kinds_are_unequal_and_unordered() {
        assert!(!equal(&Value::str("1"), &Value::Int(1)).unwrap());
        assert!(!equal(&Value::Null, &Value::Bool(false)).unwrap());
        assert!(compare(&Value::str("1"), &Value::Int(1)).is_err());
    }
}
