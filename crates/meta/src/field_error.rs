//! What is wrong with one field of an object, in the reference's categories and words.
//!
//! Upstream: apimachinery/pkg/util/validation/field/errors.go, v1.36.

use std::fmt;

use crate::wire::json;
use crate::{FieldPath, Value, go_fmt};

/// The category of a field error; it decides the words before the detail and the cause's reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooShort,
    TooMany,
    TooFew,
    Internal,
    TypeInvalid,
}

impl ErrorType {
    /// The `reason` of a cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            ErrorType::NotFound => "FieldValueNotFound",
            ErrorType::Required => "FieldValueRequired",
            ErrorType::Duplicate => "FieldValueDuplicate",
            ErrorType::Invalid => "FieldValueInvalid",
            ErrorType::NotSupported => "FieldValueNotSupported",
            ErrorType::Forbidden => "FieldValueForbidden",
            ErrorType::TooLong => "FieldValueTooLong",
            ErrorType::TooShort => "FieldValueTooShort",
            ErrorType::TooMany => "FieldValueTooMany",
            ErrorType::TooFew => "FieldValueTooFew",
            ErrorType::Internal => "InternalError",
            ErrorType::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The words an error of this category begins with.
    pub fn words(self) -> &'static str {
        match self {
            ErrorType::NotFound => "Not found",
            ErrorType::Required => "Required value",
            ErrorType::Duplicate => "Duplicate value",
            ErrorType::Invalid | ErrorType::TypeInvalid => "Invalid value",
            ErrorType::NotSupported => "Unsupported value",
            ErrorType::Forbidden => "Forbidden",
            ErrorType::TooLong => "Too long",
            ErrorType::TooShort => "Too short",
            ErrorType::TooMany => "Too many",
            ErrorType::TooFew => "Too few",
            ErrorType::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            ErrorType::Required
                | ErrorType::Forbidden
                | ErrorType::TooLong
                | ErrorType::TooShort
                | ErrorType::Internal
        )
    }
}

/// How the text shows the value, where the category shows it at all.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Shown {
    /// As it is.
    #[default]
    Value,
    /// Not at all.
    Nothing,
    /// In this form, for values whose members the reference prints in an order of its own.
    Text(String),
}

/// One field error. `value` is what was found there; it is shown only where the category shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    pub kind: ErrorType,
    pub field: String,
    pub value: Value,
    pub shown: Shown,
    pub detail: String,
}

impl FieldError {
    pub fn new(
        kind: ErrorType,
        path: &FieldPath<'_>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        FieldError {
            kind,
            field: path.to_string(),
            value: value.into(),
            shown: Shown::Value,
            detail: detail.into(),
        }
    }

    pub fn required(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Required, path, Value::Null, detail)
    }

    pub fn invalid(path: &FieldPath<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Invalid, path, value, detail)
    }

    pub fn type_invalid(path: &FieldPath<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::TypeInvalid, path, value, detail)
    }

    pub fn not_found(path: &FieldPath<'_>, value: impl Into<Value>) -> Self {
        FieldError::new(ErrorType::NotFound, path, value, "")
    }

    pub fn forbidden(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Forbidden, path, Value::Null, detail)
    }

    pub fn duplicate(path: &FieldPath<'_>, value: impl Into<Value>) -> Self {
        FieldError::new(ErrorType::Duplicate, path, value, "")
    }

    pub fn internal(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Internal, path, Value::Null, detail)
    }

    /// `supported` is listed quoted, in the given order.
    pub fn not_supported(path: &FieldPath<'_>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|value| go_fmt::quote(value)).collect();
        let detail = match quoted.as_slice() {
            [] => String::new(),
            _ => format!("supported values: {}", quoted.join(", ")),
        };
        FieldError::new(ErrorType::NotSupported, path, value, detail)
    }

    /// The value is kept but never shown.
    pub fn too_long(path: &FieldPath<'_>, value: impl Into<Value>, max_bytes: usize) -> Self {
        let detail = format!("may not be more than {max_bytes} {}", plural(max_bytes, "byte"));
        FieldError::new(ErrorType::TooLong, path, value, detail)
    }

    pub fn too_long_characters(path: &FieldPath<'_>, value: impl Into<Value>, max: usize) -> Self {
        let detail = format!("may not be more than {max} {}", plural(max, "character"));
        FieldError::new(ErrorType::TooLong, path, value, detail)
    }

    pub fn too_short(path: &FieldPath<'_>, value: impl Into<Value>, min: usize) -> Self {
        let detail = format!("must be at least {min} {}", plural(min, "character"));
        FieldError::new(ErrorType::TooShort, path, value, detail)
    }

    /// `actual` is shown when it is known.
    pub fn too_many(path: &FieldPath<'_>, actual: Option<usize>, max: usize) -> Self {
        let detail = format!("must have at most {max} {}", plural(max, "item"));
        match actual {
            Some(actual) => FieldError::new(ErrorType::TooMany, path, count(actual), detail),
            None => FieldError::new(ErrorType::TooMany, path, Value::Null, detail).without_value(),
        }
    }

    pub fn too_few(path: &FieldPath<'_>, actual: usize, min: usize) -> Self {
        let detail = format!("must have at least {min} {}", plural(min, "item"));
        FieldError::new(ErrorType::TooFew, path, count(actual), detail)
    }

    /// The same error with a text that does not show the value.
    #[must_use]
    pub fn without_value(self) -> Self {
        FieldError { shown: Shown::Nothing, ..self }
    }

    /// The same error with a text that shows the value in this form.
    #[must_use]
    pub fn shown_as(self, text: impl Into<String>) -> Self {
        FieldError { shown: Shown::Text(text.into()), ..self }
    }

    /// The error without its field: what a Status cause carries as its message.
    pub fn body(&self) -> String {
        let mut text = String::from(self.kind.words());
        if self.kind.shows_value() && self.shown != Shown::Nothing {
            text.push_str(": ");
            text.push_str(&self.shown_value());
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    fn shown_value(&self) -> String {
        match (&self.shown, &self.value) {
            (Shown::Text(text), _) => text.clone(),
            (_, Value::String(text)) => go_fmt::quote(text),
            (_, Value::Float(number)) => go_fmt::float_v(*number),
            (_, other) => json::to_string(other),
        }
    }
}

fn count(items: usize) -> Value {
    Value::Int(i64::try_from(items).unwrap_or(i64::MAX))
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl std::error::Error for FieldError {}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(error: &FieldError, expected: &Expect) {
        expected.assert_eq(&error.to_string());
    }

    #[test]
    fn values_are_shown_as_their_category_and_type_demand() {
        let spec = FieldPath::ROOT.field("spec");
        let a = spec.field("a");
        check(&FieldError::invalid(&a, "x\t<y>", "no"), &expect![[r#"spec.a: Invalid value: "x\t<y>": no"#]]);
        check(&FieldError::invalid(&a, 1e6, "no"), &expect!["spec.a: Invalid value: 1e+06: no"]);
        check(&FieldError::invalid(&a, true, ""), &expect!["spec.a: Invalid value: true"]);
        check(&FieldError::invalid(&a, Value::Null, "no"), &expect!["spec.a: Invalid value: null: no"]);
        check(
            &FieldError::type_invalid(&a, vec![Value::Float(1e6), "<".into()], "no"),
            &expect![[r#"spec.a: Invalid value: [1000000,"\u003c"]: no"#]],
        );
        check(&FieldError::invalid(&a, 1_i64, "no").without_value(), &expect!["spec.a: Invalid value: no"]);
        check(
            &FieldError::invalid(&a, Value::Null, "no").shown_as("{z, a}"),
            &expect!["spec.a: Invalid value: {z, a}: no"],
        );
        check(&FieldError::required(&a, ""), &expect!["spec.a: Required value"]);
        check(&FieldError::not_found(&a, "b"), &expect![[r#"spec.a: Not found: "b""#]]);
        check(
            &FieldError::not_supported(&a, "b", &["z", "y"]),
            &expect![[r#"spec.a: Unsupported value: "b": supported values: "z", "y""#]],
        );
        check(&FieldError::not_supported(&a, "b", &[]), &expect![[r#"spec.a: Unsupported value: "b""#]]);
    }

    #[test]
    fn sizes_are_counted_in_words() {
        let a = FieldPath::ROOT.field("a");
        check(&FieldError::too_long(&a, "xx", 1), &expect!["a: Too long: may not be more than 1 byte"]);
        check(&FieldError::too_long(&a, "xx", 2), &expect!["a: Too long: may not be more than 2 bytes"]);
        check(&FieldError::too_short(&a, "", 1), &expect!["a: Too short: must be at least 1 character"]);
        check(&FieldError::too_many(&a, Some(3), 2), &expect!["a: Too many: 3: must have at most 2 items"]);
        check(&FieldError::too_few(&a, 0, 1), &expect!["a: Too few: 0: must have at least 1 item"]);
        check(&FieldError::too_many(&a, None, 1), &expect!["a: Too many: must have at most 1 item"]);
    }
}
