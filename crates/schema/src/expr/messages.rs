//! The texts of rules: what a user reads when one fails, cannot run, or may not be written.

use cel::{EvalError, EvalErrorKind};
use meta::go_fmt::quote;
use meta::wire::json;
use meta::{ErrorType, FieldError, FieldPath, Value};

use crate::structural::{Node, Rule};

/// The most bytes of a message that an expression makes.
const MESSAGE_BYTES_MAX: usize = 5120;

pub(super) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
pub(super) const MESSAGE_OUT_OF_BUDGET: &str = "messageExpression evaluation failed due to running out of cost \
                                                budget, no further validation rules will be run";
pub(super) const NO_TYPE: &str = "rule compiler initialization error: failed to convert to declType for CEL validation \
                                  rules";

/// What stands for a rule in errors about its evaluation.
fn name(rule: &Rule) -> &str {
    if rule.message.is_empty() { rule.rule.trim() } else { rule.message.trim() }
}

/// Why a rule that was evaluated has no answer.
pub(super) fn failed_evaluation(error: &EvalError, rule: &Rule) -> String {
    let rule = name(rule);
    if error.kind() == EvalErrorKind::CostLimit {
        format!(
            "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
        )
    } else if error.message().starts_with("no such overload") {
        format!(
            "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
        )
    } else {
        format!("{error} evaluating rule: {rule}")
    }
}

/// A message expression that cost too much.
pub(super) fn costly_message(expression: &str) -> String {
    let expression = quote(expression);
    format!(
        "no further validation rules will be run due to call cost exceeds limit for messageExpression: {expression}"
    )
}

/// The message without an expression.
pub(super) fn plain_message(rule: &Rule) -> String {
    if rule.message.is_empty() {
        format!("failed rule: {}", rule.rule.trim())
    } else {
        rule.message.trim().to_owned()
    }
}

/// What an expression made, if it can be a message.
pub(super) fn usable_message(made: &str) -> Option<&str> {
    let made = made.trim();
    (!made.is_empty() && made.len() <= MESSAGE_BYTES_MAX && !made.contains('\n')).then_some(made)
}

/// The path as errors of rules show it: the reference has none for a whole object.
fn located(error: FieldError) -> FieldError {
    if error.field.is_empty() { FieldError { field: "<nil>".to_owned(), ..error } } else { error }
}

/// An error about evaluating a rule: it names the type, not the value.
pub(super) fn evaluation_error(path: &FieldPath<'_>, node: &Node, detail: impl Into<String>) -> FieldError {
    located(FieldError::invalid(path, node.declared_types.spelled(), detail))
}

/// The error of a rule that does not hold.
pub(super) fn violation(
    path: &FieldPath<'_>,
    node: &Node,
    value: &Value,
    detail: String,
    rule: &Rule,
) -> FieldError {
    let kind = match rule.reason.as_deref() {
        Some("FieldValueForbidden") => ErrorType::Forbidden,
        Some("FieldValueRequired") => ErrorType::Required,
        Some("FieldValueDuplicate") => ErrorType::Duplicate,
        _ => ErrorType::Invalid,
    };
    let detail = if kind == ErrorType::Duplicate { String::new() } else { detail };
    let is_compound = matches!(node.declared_types.spelled(), "object" | "array");
    let error = match (kind, is_compound) {
        (ErrorType::Forbidden | ErrorType::Required, _) => FieldError::new(kind, path, Value::Null, detail),
        (_, true) => FieldError::new(kind, path, Value::Null, detail).without_value(),
        (_, false) => FieldError::new(kind, path, value.clone(), detail),
    };
    located(error)
}

/// That an estimated cost is too high, and what helps.
#[expect(clippy::cast_precision_loss, reason = "a factor for people to read")]
pub(super) fn exceeds_budget(subject: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{subject} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, \
         and maxLength where arrays, maps, and strings are declared)"
    )
}

/// A rule as the reference prints it: its Go struct in JSON.
pub(super) fn printed(rule: &Rule) -> String {
    let text = |text: &str| json::to_string(&text.into());
    let reason = rule.reason.as_deref().map_or_else(|| "null".to_owned(), text);
    let optional = rule.optional_old_self.map_or_else(|| "null".to_owned(), |optional| optional.to_string());
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{reason},"FieldPath":{},"OptionalOldSelf":{optional}}}"#,
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path),
    )
}
