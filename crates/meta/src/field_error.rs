//! What is wrong with one field of an object, in the reference's categories and words.
//!
//! Upstream: apimachinery/pkg/util/validation/field/errors.go, v1.36.

use std::fmt;

use crate::{FieldPath, Value};

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
    TooMany,
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
            ErrorType::TooMany => "FieldValueTooMany",
            ErrorType::Internal => "InternalError",
            ErrorType::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn words(self) -> &'static str {
        match self {
            ErrorType::NotFound => "Not found",
            ErrorType::Required => "Required value",
            ErrorType::Duplicate => "Duplicate value",
            ErrorType::Invalid | ErrorType::TypeInvalid => "Invalid value",
            ErrorType::NotSupported => "Unsupported value",
            ErrorType::Forbidden => "Forbidden",
            ErrorType::TooLong => "Too long",
            ErrorType::TooMany => "Too many",
            ErrorType::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            ErrorType::Required
                | ErrorType::Forbidden
                | ErrorType::TooLong
                | ErrorType::TooMany
                | ErrorType::Internal
                | ErrorType::TypeInvalid
        )
    }
}

/// One field error. `value` is what was found there; it is shown only where the category shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    pub kind: ErrorType,
    pub field: String,
    pub value: Value,
    pub detail: String,
}

impl FieldError {
    pub fn new(
        kind: ErrorType,
        path: &FieldPath<'_>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        FieldError { kind, field: path.to_string(), value: value.into(), detail: detail.into() }
    }

    pub fn required(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Required, path, Value::Null, detail)
    }

    pub fn invalid(path: &FieldPath<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Invalid, path, value, detail)
    }

    pub fn forbidden(path: &FieldPath<'_>, detail: impl Into<String>) -> Self {
        FieldError::new(ErrorType::Forbidden, path, Value::Null, detail)
    }

    pub fn duplicate(path: &FieldPath<'_>, value: impl Into<Value>) -> Self {
        FieldError::new(ErrorType::Duplicate, path, value, "")
    }

    /// `supported` is listed quoted, in the given order.
    pub fn not_supported(path: &FieldPath<'_>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        FieldError::new(ErrorType::NotSupported, path, value, detail)
    }

    pub fn too_long(path: &FieldPath<'_>, value: impl Into<Value>, max_bytes: usize) -> Self {
        let detail = format!("may not be more than {max_bytes} bytes");
        FieldError::new(ErrorType::TooLong, path, value, detail)
    }

    /// The error without its field: what a Status cause carries as its message.
    pub fn body(&self) -> String {
        let mut text = String::from(self.kind.words());
        if self.kind.shows_value() {
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
        match &self.value {
            Value::Null => "null".to_owned(),
            other => crate::wire::json::to_string(other),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}
