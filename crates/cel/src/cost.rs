//! Costs: what an expression may cost at most, and what an evaluation did cost.
//!
//! The unit is about one operation. Traversing text costs a tenth of a unit per character; a regular
//! expression costs by its length and that of the text. See [`estimate`] for costs before evaluation;
//! the evaluator counts the actual ones.

pub mod estimate;
mod path;
mod standard;
#[cfg(test)]
mod tests;

use crate::value::Value;

pub(crate) use standard::{run_cost, scalar_cost, simple_cost, standard_rule, static_cost};

/// Cost of reading a variable, a field, an element.
pub(crate) const SELECT: u64 = 1;
/// Cost of building a list, map or object, besides its parts.
pub(crate) const CREATE_LIST: u64 = 10;
pub(crate) const CREATE_MAP: u64 = 30;
pub(crate) const CREATE_OBJECT: u64 = 40;
/// Units per character of text traversed.
pub const STRING_TRAVERSAL: f64 = 0.1;
/// Units per character of a regular expression, for each unit of text.
pub const REGEX_LENGTH: f64 = 0.25;

/// A call that has been made.
#[derive(Clone, Copy)]
pub struct RunCall<'c, 'a> {
    /// The overload, when checking left only one.
    pub overload: Option<&'c str>,
    /// The arguments, the receiver first. Null stands for one that failed.
    pub args: &'c [Value<'a>],
    /// The result, unless the call failed.
    pub result: Option<&'c Value<'a>>,
}

impl RunCall<'_, '_> {
    /// The size of an argument, 1 when there is none.
    pub fn size(&self, arg: usize) -> u64 {
        self.args.get(arg).map_or(1, Value::size)
    }

    /// The size of the result, 1 when there is none.
    pub fn result_size(&self) -> u64 {
        self.result.map_or(1, Value::size)
    }
}

/// `ceil(size × factor)`.
///
/// ```
/// assert_eq!(cel::cost::scaled(25, cel::cost::STRING_TRAVERSAL), 3);
/// ```
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are defined in floating point; the cast saturates"
)]
pub fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}
