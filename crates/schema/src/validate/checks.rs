//! The single questions that a schema asks of a value, answered without side effects.
//!
//! Where the reference's arithmetic has a quirk (limits cut to integers, a factor that becomes zero, numbers that
//! count as whole when they nearly are) the quirk is here, with the reason that its messages depend on it.

use meta::Value;

use super::Purpose;
use crate::formats::FormatKind;
use crate::structural::{Bound, Checks, Enum, Node, NumberChecks, Types};

/// 2^63, the first float that is too large for an integer.
const I64_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// The types that a value is checked against.
pub(super) fn types_for(node: &Node, purpose: Purpose) -> Types {
    match purpose {
        Purpose::Object => node.types,
        Purpose::Default => node.declared_types,
    }
}

/// The format that takes part in the check of types.
pub(super) fn format_for(checks: Option<&Checks>, purpose: Purpose) -> &str {
    match (checks, purpose) {
        (None, _) => "",
        (Some(checks), Purpose::Object) => checks.format.as_ref().map_or("", |format| &format.spelled),
        (Some(checks), Purpose::Default) => &checks.format_as_written,
    }
}

/// The rule for strings behind the format.
pub(super) fn text_format(checks: &Checks, purpose: Purpose) -> Option<fn(&str) -> bool> {
    match (purpose, &checks.format) {
        (Purpose::Object, Some(format)) => match format.kind {
            FormatKind::Text(rule) => Some(rule),
            _ => None,
        },
        (Purpose::Object, None) => None,
        (Purpose::Default, _) => crate::formats::text_rule(&checks.format_as_written),
    }
}

pub(super) struct Mismatch<'a> {
    pub(super) expected: &'a str,
    pub(super) found: &'static str,
}

/// Whether the value has none of the types. Null is not asked here.
pub(super) fn type_mismatch<'a>(types: Types, format: &'a str, value: &Value) -> Option<Mismatch<'a>> {
    if types.is_empty() && format.is_empty() {
        return None;
    }
    let (found, found_format) = match value {
        Value::Null => return None,
        Value::Bool(_) => (Types::BOOLEAN, ""),
        Value::Int(_) => (Types::INTEGER, "int64"),
        Value::Float(_) => (Types::NUMBER, "float64"),
        Value::String(_) => (Types::STRING, ""),
        Value::Array(_) => (Types::ARRAY, ""),
        Value::Object(_) => (Types::OBJECT, ""),
    };
    let fits = types.contains(found)
        || match value {
            Value::Float(number) => types.contains(Types::INTEGER) && is_whole(*number),
            Value::Int(_) => types.contains(Types::NUMBER),
            _ => false,
        };
    if fits {
        return None;
    }
    let is_textual = matches!(value, Value::String(_) | Value::Array(_));
    match (format.is_empty(), is_textual) {
        (true, _) => Some(Mismatch { expected: types.spelled(), found: found.spelled() }),
        (false, false) if found_format == format => {
            Some(Mismatch { expected: types.spelled(), found: found.spelled() })
        }
        (false, false) => Some(Mismatch { expected: format, found: found_format }),
        // The reference leaves strings, and lists too, to the check of the format unless numbers are wanted.
        (false, true) if types.contains(Types::NUMBER) || types.contains(Types::INTEGER) => {
            Some(Mismatch { expected: types.spelled(), found: found.spelled() })
        }
        (false, true) => None,
    }
}

/// Whether a float counts as an integer: inside ±(2^53 - 1), and whole or, when positive, within a relative error
/// of 1e-9 of its whole part.
///
/// Upstream: go-openapi/swag `IsFloat64AJSONInteger`.
pub(super) fn is_whole(number: f64) -> bool {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    if !(-LIMIT..=LIMIT).contains(&number) {
        return false;
    }
    let whole = number.trunc();
    if number.to_bits() == whole.to_bits() || number == 0.0 {
        return true;
    }
    number >= 1.0 && (number - whole) / (number + whole) < 1e-9
}

pub(super) fn enum_contains(values: &Enum, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => values.contains_text(text),
        Value::Int(number) => values.values.iter().any(|candidate| int_equals(*number, candidate)),
        Value::Float(number) => values.values.iter().any(|candidate| match candidate {
            Value::Float(candidate) => same(*candidate, *number),
            // Go converts to the type of the candidate first, which cuts the fraction.
            Value::Int(candidate) => go_int(*number) == *candidate,
            _ => false,
        }),
        other => values.values.iter().any(|candidate| candidate == other),
    }
}

#[expect(clippy::cast_precision_loss, reason = "as Go's conversion does")]
fn int_equals(number: i64, candidate: &Value) -> bool {
    match candidate {
        Value::Int(candidate) => *candidate == number,
        Value::Float(candidate) => same(*candidate, number as f64),
        // Go converts an integer to a string as a code point.
        Value::String(text) => {
            let character = u32::try_from(number).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            let mut characters = text.chars();
            characters.next() == Some(character) && characters.as_str().is_empty()
        }
        _ => false,
    }
}

/// Equal as numbers; neither comes from arithmetic, so there is nothing to tolerate.
fn same(left: f64, right: f64) -> bool {
    left.total_cmp(&right).is_eq() || (left == 0.0 && right == 0.0)
}

/// Go's conversion of a float to an integer on amd64: numbers out of range become the smallest one.
#[expect(clippy::cast_possible_truncation, reason = "cutting is what is asked for")]
pub(super) fn go_int(number: f64) -> i64 {
    if (-I64_LIMIT..I64_LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// Whether the text is longer than allowed. Counts characters only where bytes leave a doubt.
pub(super) fn is_too_long(text: &str, limit: i64) -> bool {
    match usize::try_from(limit) {
        Ok(limit) => text.len() > limit && text.chars().count() > limit,
        Err(_) => limit < 0,
    }
}

pub(super) fn is_too_short(text: &str, limit: i64) -> bool {
    match usize::try_from(limit) {
        Ok(limit) => text.len() < limit || text.chars().take(limit).count() < limit,
        Err(_) => limit > 0,
    }
}

pub(super) fn is_below(count: usize, limit: Option<i64>) -> bool {
    limit.is_some_and(|limit| i64::try_from(count).unwrap_or(i64::MAX) < limit)
}

pub(super) fn is_above(count: usize, limit: Option<i64>) -> bool {
    limit.is_some_and(|limit| i64::try_from(count).unwrap_or(i64::MAX) > limit)
}

pub(super) fn has_duplicates(items: &[Value]) -> bool {
    items.iter().enumerate().any(|(index, item)| items[..index].contains(item))
}

/// The numbers that a type and its format can hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    Any,
    Int64,
    Int32,
    Float32,
}

impl Range {
    pub(super) fn of(types: Types, format: &str) -> Range {
        match (types, format) {
            (Types::INTEGER, "int32") => Range::Int32,
            (Types::INTEGER, _) => Range::Int64,
            (Types::NUMBER, "float") => Range::Float32,
            _ => Range::Any,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the overflow is what is looked for")]
    pub(super) fn holds(self, number: f64) -> bool {
        match self {
            Range::Any => true,
            Range::Float32 => (number as f32).is_finite(),
            Range::Int64 => number.fract() == 0.0 && (-I64_LIMIT..I64_LIMIT).contains(&number),
            Range::Int32 => number.fract() == 0.0 && (-2_147_483_648.0..=2_147_483_647.0).contains(&number),
        }
    }

    pub(super) fn holds_value(self, value: &Value) -> bool {
        match (self, value) {
            (Range::Int32, Value::Int(number)) => i32::try_from(*number).is_ok(),
            (range, Value::Float(number)) => range.holds(*number),
            _ => true,
        }
    }
}

/// A number compared with a limit, in the arithmetic that the reference uses for the pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compared {
    Ints { value: i64, limit: i64 },
    Floats { value: f64, limit: f64 },
}

impl Compared {
    #[expect(clippy::cast_precision_loss, reason = "as Go's conversion does")]
    pub(super) fn new(value: &Value, limit: f64, range: Range) -> Compared {
        match value {
            Value::Int(value) if range.holds(limit) => Compared::Ints { value: *value, limit: go_int(limit) },
            Value::Int(value) => Compared::Floats { value: *value as f64, limit },
            Value::Float(value) => Compared::Floats { value: *value, limit },
            _ => Compared::Floats { value: 0.0, limit },
        }
    }

    pub(super) fn exceeds(self, exclusive: bool) -> bool {
        match self {
            Compared::Ints { value, limit } => value > limit || (exclusive && value == limit),
            Compared::Floats { value, limit } => value > limit || (exclusive && value >= limit),
        }
    }

    pub(super) fn falls_short(self, exclusive: bool) -> bool {
        match self {
            Compared::Ints { value, limit } => value < limit || (exclusive && value == limit),
            Compared::Floats { value, limit } => value < limit || (exclusive && value <= limit),
        }
    }

    pub(super) fn has_positive_limit(self) -> bool {
        match self {
            Compared::Ints { limit, .. } => limit > 0,
            Compared::Floats { limit, .. } => limit > 0.0,
        }
    }

    /// Relies on a positive limit.
    pub(super) fn is_multiple(self) -> bool {
        match self {
            Compared::Ints { value, limit } => value % limit == 0,
            Compared::Floats { value, limit } if limit < 1.0 => is_whole(1.0 / limit * value),
            Compared::Floats { value, limit } => is_whole(value / limit),
        }
    }
}

/// Whether a number passes all checks of numbers.
pub(super) fn number_passes(checks: &Checks, types: Types, format: &str, value: &Value) -> bool {
    let range = Range::of(types, format);
    let within = |bound: Option<Bound>, fails: fn(Compared, bool) -> bool| {
        bound.is_none_or(|Bound { limit, exclusive }| {
            range.holds(limit) && !fails(Compared::new(value, limit, range), exclusive)
        })
    };
    let NumberChecks { maximum, minimum, multiple_of } = checks.numbers();
    range.holds_value(value)
        && within(maximum, Compared::exceeds)
        && within(minimum, Compared::falls_short)
        && multiple_of.is_none_or(|factor| {
            let compared = Compared::new(value, factor, range);
            range.holds(factor) && compared.has_positive_limit() && compared.is_multiple()
        })
}
