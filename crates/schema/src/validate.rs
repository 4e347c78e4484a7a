//! Whether a value fits its schema, and if not, everything that is wrong with it.
//!
//! Two walks share one set of checks ([`checks`]): [`accept`] only says yes or no, allocates nothing and is all that
//! a valid object costs; [`explain`] repeats the walk for an invalid one and reports as the reference does, which
//! includes choosing the best failure among alternatives by its count of passed checks.
//! On updates the failures of unchanged values are forgiven ([`crate::ratchet`]).
//!
//! Upstream: kube-openapi/pkg/validation/validate and apiextensions-apiserver/pkg/apiserver/validation, v1.36.

mod accept;
mod checks;
mod explain;

#[cfg(test)]
mod tests;

use meta::{FieldError, Value};

use crate::structural::{Facts, Node, Schema};

/// Which meaning of a schema applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Objects that are written.
    Object,
    /// Defaults of the schema itself: `x-kubernetes-int-or-string` adds no type, and formats that mean nothing for
    /// a type still count as formats. An accident of the reference that shows in its messages.
    Default,
}

impl Schema {
    /// Whether `x-kubernetes-validations` are to be asked as well.
    pub fn has_rules(&self) -> bool {
        self.root.facts.has(Facts::RULES)
    }

    /// Checks an object, or on an update also what became of the `old` one.
    ///
    /// Covers what the schema says about values: types, formats, limits, alternatives. Embedded resources, list
    /// types and rules are checked by the functions beside this one.
    ///
    /// ```
    /// use meta::wire::json;
    /// use crest_schema::Schema;
    /// let written = json::parse(br#"{"properties": {"n": {"type": "integer", "minimum": 1}}}"#).unwrap().value;
    /// let schema = Schema::compile(&written).unwrap();
    /// let object = json::parse(b"{\"n\": 0}").unwrap().value;
    /// let errors = schema.validate_values(&object, None);
    /// assert_eq!(errors[0].to_string(),
    ///     "n: Invalid value: 0: n in body should be greater than or equal to 1");
    /// assert!(schema.validate_values(&object, Some(&object)).is_empty());
    /// ```
    pub fn validate_values(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate(&self.root, object, old, "", Purpose::Object)
    }

    /// Checks the status of an object against the schema of its `status`, as writes to the status subresource do.
    pub fn validate_status_values(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        match (self.root.property("status"), object.get("status")) {
            (Some(node), Some(status)) => {
                let old = old.and_then(|old| old.get("status"));
                if status.is_null() && old.is_none_or(Value::is_null) {
                    return Vec::new(); // no change from nothing
                }
                validate(node, status, old, "status", Purpose::Object)
            }
            _ => Vec::new(),
        }
    }
}

/// Checks one value. `prefix` is the path of the value, empty for an object itself.
pub(crate) fn validate(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    prefix: &str,
    purpose: Purpose,
) -> Vec<FieldError> {
    if accept::accepts(node, value, purpose) {
        return Vec::new();
    }
    explain::explain(node, value, old, prefix, purpose)
}
