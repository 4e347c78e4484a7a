//! The place of `x-kubernetes-validations`: when they may run at all.
//!
//! The rules themselves are part of the expression engine.

use meta::{ErrorType, FieldError, FieldPath, Value};

/// The error that takes the place of the rules' errors when the object is too broken to ask them.
///
/// Only called for kinds that have rules.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go (hasBlockingErr), v1.36.
pub fn withheld(errors: &[FieldError]) -> Option<FieldError> {
    let blocks = |error: &FieldError| {
        matches!(
            error.kind,
            ErrorType::NotSupported
                | ErrorType::Required
                | ErrorType::TooLong
                | ErrorType::TooMany
                | ErrorType::TypeInvalid
        )
    };
    errors.iter().any(blocks).then(|| {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        let error = FieldError::invalid(&FieldPath::ROOT, Value::Null, detail);
        FieldError { field: "<nil>".to_owned(), ..error }
    })
}
