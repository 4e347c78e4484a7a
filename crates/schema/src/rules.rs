//! What is wrong with an object: its values first, then what `x-kubernetes-validations` say about them.

use meta::{ErrorType, FieldError, FieldPath, Value};

use crate::expr::Level;
use crate::expr::eval::{self, Ratcheting, Subject};
use crate::scale::ScalePaths;
use crate::structural::Schema;

/// What was found about an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    pub errors: Vec<FieldError>,
    /// Rules that do not hold, but did not hold before either for what is still the same.
    pub warnings: Vec<String>,
}

impl Schema {
    /// Everything that is wrong with an object below its metadata, in the reference's order.
    ///
    /// On an update `old` is what the object was, and what did not change is forgiven. Both are in the shape that
    /// [`Schema::shape`] gives, with defaults.
    ///
    /// ```
    /// use meta::wire::json;
    /// use crest_schema::Schema;
    /// let written = json::parse(br#"{"type": "object", "properties": {"n": {"type": "integer",
    ///     "x-kubernetes-validations": [{"rule": "self % 2 == 0", "message": "must be even"}]}}}"#);
    /// let schema = Schema::compile(&written.unwrap().value).unwrap();
    /// let object = json::parse(b"{\"n\": 3}").unwrap().value;
    /// let created = schema.validate(&object, None, None);
    /// assert_eq!(created.errors[0].to_string(), "n: Invalid value: 3: must be even");
    /// let kept = schema.validate(&object, Some(&object), None);
    /// assert_eq!(kept.warnings, ["n: Invalid value: 3: must be even"]);
    /// ```
    pub fn validate(&self, object: &Value, old: Option<&Value>, scale: Option<&ScalePaths>) -> Validation {
        let mut errors = self.validate_values(object, old);
        if let Some(scale) = scale {
            errors.extend(scale.validate_spec(object));
            errors.extend(scale.validate_status(object));
        }
        self.with_structure(errors, object, old)
    }

    /// As [`Schema::validate`] for an object that claims to be of another kind: nothing was done to it in the name of
    /// this schema, its values are not looked at, and what depends on its structure is.
    pub fn validate_foreign(&self, object: &Value, old: Option<&Value>) -> Validation {
        self.with_structure(Vec::new(), object, old)
    }

    fn with_structure(&self, mut errors: Vec<FieldError>, object: &Value, old: Option<&Value>) -> Validation {
        errors.extend(self.validate_embedded(object));
        errors.extend(match old {
            Some(old) => self.validate_list_types_update(object, old),
            None => self.validate_list_types(object),
        });
        self.with_rules(errors, object, old)
    }

    /// As [`Schema::validate`] for writes to the status subresource, which change nothing else.
    pub fn validate_status(&self, object: &Value, old: &Value, scale: Option<&ScalePaths>) -> Validation {
        let mut errors = self.validate_status_values(object, Some(old));
        if let Some(scale) = scale {
            errors.extend(scale.validate_status(object));
        }
        errors.extend(self.validate_list_types_update(object, old));
        self.with_rules(errors, object, Some(old))
    }

    /// Adds what the rules find, unless the object is too broken to ask them.
    fn with_rules(&self, mut errors: Vec<FieldError>, object: &Value, old: Option<&Value>) -> Validation {
        if !self.has_rules() {
            return Validation { errors, warnings: Vec::new() };
        }
        if let Some(withheld) = withheld(&errors) {
            errors.push(withheld);
            return Validation { errors, warnings: Vec::new() };
        }
        let subject = Subject { node: &self.root, level: Level::Root, new: object, old };
        let verdict = eval::run(subject, &FieldPath::ROOT, Ratcheting::On, eval::OBJECT_BUDGET);
        errors.extend(verdict.errors);
        Validation { errors, warnings: verdict.warnings }
    }
}

/// The error that takes the place of the rules' errors when the object is too broken to ask them.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go (hasBlockingErr), v1.36.
fn withheld(errors: &[FieldError]) -> Option<FieldError> {
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
