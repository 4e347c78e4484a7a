//! What the language's own functions cost.

use super::estimate::{CallEstimate, CostNode, Estimate, StaticCall};
use super::{REGEX_LENGTH, RunCall, STRING_TRAVERSAL, scaled};
use crate::program::CostRule;
use crate::value::{Evaluated, Value, character_count};

/// The rule of an overload.
pub(crate) fn standard_rule(overload: &str) -> CostRule {
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => CostRule::Traverse,
        "in_list" => CostRule::Search,
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes"
        | "equals"
        | "not_equals" => CostRule::Shorter,
        "add_string" | "add_bytes" => CostRule::Both,
        "matches_string" => CostRule::Regex,
        "contains_string" => CostRule::Contains,
        _ => CostRule::One,
    }
}

/// What a call cost.
pub(crate) fn run_cost(rule: CostRule, call: &RunCall<'_, '_>) -> u64 {
    let (first, second) = (|| deep_size(call, 0), || deep_size(call, 1));
    match rule {
        CostRule::One => 1,
        CostRule::Traverse => scaled(first(), STRING_TRAVERSAL),
        CostRule::Search => second(),
        CostRule::Shorter => scaled(first().min(second()), STRING_TRAVERSAL),
        CostRule::Both => scaled(first().saturating_add(second()), STRING_TRAVERSAL),
        CostRule::Regex => regex_cost(first(), second()),
        CostRule::Contains => {
            scaled(first(), STRING_TRAVERSAL).saturating_mul(scaled(second(), STRING_TRAVERSAL))
        }
    }
}

/// The cost of matching text of one size with an expression of another.
pub(crate) fn regex_cost(text: u64, pattern: u64) -> u64 {
    scaled(text.saturating_add(1), STRING_TRAVERSAL).saturating_mul(scaled(pattern, REGEX_LENGTH))
}

/// The cost of the common cases, from values not yet collected.
pub(crate) fn simple_cost(rule: CostRule, args: &[Evaluated<'_>]) -> Option<u64> {
    match (rule, args) {
        (CostRule::One, _) => Some(1),
        (
            CostRule::Shorter,
            [Ok(Value::Int(_) | Value::Bool(_) | Value::Double(_)), _]
            | [_, Ok(Value::Int(_) | Value::Bool(_) | Value::Double(_))],
        ) => {
            // A scalar has size 1, and nothing that compares with it is cheaper save for what is empty.
            let empty = args.iter().flatten().any(|value| value.size() == 0);
            Some(u64::from(!empty))
        }
        (CostRule::Shorter, [Ok(left), Ok(right)]) => {
            Some(scaled(size_of(left).min(size_of(right)), STRING_TRAVERSAL))
        }
        (CostRule::Both, [Ok(left), Ok(right)]) => {
            Some(scaled(size_of(left) + size_of(right), STRING_TRAVERSAL))
        }
        (CostRule::Search, [_, Ok(list)]) => Some(size_of(list)),
        _ => None,
    }
}

/// The cost of an operation on two scalars, where it can be told without more ado.
pub(crate) fn scalar_cost(rule: CostRule, left: &Value<'_>, right: &Value<'_>) -> Option<u64> {
    match (rule, left, right) {
        (CostRule::One, ..) => Some(1),
        (CostRule::Shorter, Value::Int(_) | Value::Bool(_) | Value::Double(_), right) => {
            Some(u64::from(right.size() > 0))
        }
        (CostRule::Shorter, Value::String(left), Value::String(right)) => {
            Some(scaled(character_count(left).min(character_count(right)), STRING_TRAVERSAL))
        }
        _ => None,
    }
}

fn deep_size(call: &RunCall<'_, '_>, arg: usize) -> u64 {
    call.args.get(arg).map_or(1, size_of)
}

/// The size of a value; of an optional, that of its value.
fn size_of(value: &Value<'_>) -> u64 {
    match value {
        Value::Optional(Some(inner)) => size_of(inner),
        other => other.size(),
    }
}

/// What a call may cost, besides its arguments; `None` when nothing is known about it.
pub(crate) fn static_cost(call: &StaticCall<'_>) -> Option<CallEstimate> {
    let arg = |index: usize| call.args.get(index);
    let size = |node: &CostNode| node.size_or_unknown();
    match (call.overload, call.target, call.args) {
        ("string_format", Some(target), _) => Some(size(target).times(STRING_TRAVERSAL).into()),
        ("string_to_bytes", _, [only]) => {
            let size = size(only);
            let result = Estimate { min: size.min, max: size.max.wrapping_mul(4) };
            Some(CallEstimate::sized(size.times(STRING_TRAVERSAL), result))
        }
        ("bytes_to_string", _, [only]) => {
            let size = size(only);
            let result = Estimate { min: size.min / 4, max: size.max };
            Some(CallEstimate::sized(size.times(STRING_TRAVERSAL), result))
        }
        ("strings_quote", _, [only]) => {
            let size = size(only);
            let result =
                Estimate { min: size.min.wrapping_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) };
            Some(CallEstimate::sized(size.times(STRING_TRAVERSAL), result))
        }
        ("starts_with_string" | "ends_with_string", _, [only]) => {
            Some(size(only).times(STRING_TRAVERSAL).into())
        }
        ("in_list", _, [_, list]) => Some(size(list).times(1.0).into()),
        ("matches_string", Some(target), [pattern]) => {
            Some(regex_estimate(size(target), size(pattern)).into())
        }
        ("contains_string", Some(target), [part]) => {
            let cost = size(target).times(STRING_TRAVERSAL).multiply(size(part).times(STRING_TRAVERSAL));
            Some(cost.into())
        }
        _ => match standard_rule(call.overload) {
            CostRule::Shorter => {
                let (left, right) = (size(arg(0)?), size(arg(1)?));
                let max = left.max.min(right.max);
                let shorter = Estimate { min: u64::from(max > 0), max };
                Some(shorter.times(STRING_TRAVERSAL).into())
            }
            _ => None,
        },
    }
}

/// What matching text with a regular expression may cost.
pub(crate) fn regex_estimate(text: Estimate, pattern: Estimate) -> Estimate {
    text.add(Estimate::fixed(1)).times(STRING_TRAVERSAL).multiply(pattern.times(REGEX_LENGTH))
}
