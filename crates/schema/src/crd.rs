//! Is this `CustomResourceDefinition` acceptable?
//!
//! Works on the v1 form of a definition, after [`default`] and [`prepare_for_create`] or [`prepare_for_update`], and
//! reports as the reference does, which judges an internal form in which what is equal in all versions stands
//! once at the top (`view.rs`): hence fields such as `spec.validation.openAPIV3Schema`.
//! On updates, mistakes that the old definition already has are forgiven where the reference forgives them.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, v1.36.

mod approval;
mod columns;
mod conditions;
mod conversion;
mod defaults;
mod go_struct;
mod metadata;
mod names;
mod openapi;
mod options;
mod prepare;
mod spec;
mod status;
mod structural;
mod view;
mod warnings;

#[cfg(test)]
mod tests;

use meta::{FieldError, FieldPath, Value};

pub use conditions::{Condition, Truth, api_approval, non_structural};
pub use prepare::{default, prepare_for_create, prepare_for_update};
pub use warnings::{warnings_on_create, warnings_on_update};

use options::Options;
use view::Definition;

/// Everything that is wrong with a new definition.
///
/// ```
/// use meta::wire::json;
/// let mut definition = json::parse(br#"{"metadata": {"name": "a.b"}, "spec": {"scope": "Local"}}"#).unwrap().value;
/// crest_schema::crd::default(&mut definition);
/// crest_schema::crd::prepare_for_create(&mut definition);
/// let errors = crest_schema::crd::validate(&definition);
/// assert!(errors.iter().any(|error| error.to_string()
///     == r#"spec.scope: Unsupported value: "Local": supported values: "Cluster", "Namespaced""#));
/// ```
pub fn validate(definition: &Value) -> Vec<FieldError> {
    let view = match Definition::new(definition) {
        Ok(view) => view,
        Err(error) => return vec![error],
    };
    let mut errors = metadata::validate(definition, &view);
    errors.extend(spec::validate(&view, &Options::for_create()));
    errors.extend(status::validate(definition, &view));
    errors.extend(approval::validate(definition, &view, None));
    errors.extend(preserve_unknown(&view, None));
    errors
}

/// Everything that is wrong with a definition that replaces `old`.
pub fn validate_update(definition: &Value, old: &Value) -> Vec<FieldError> {
    let view = match Definition::new(definition) {
        Ok(view) => view,
        Err(error) => return vec![error],
    };
    // What is stored was accepted once; should it not even parse any more, nothing of it is forgiven.
    let Ok(old_view) = Definition::new(old) else {
        return validate(definition);
    };
    let options = Options::for_update(&view, &old_view, old);
    let mut errors = metadata::validate_update(definition, old);
    errors.extend(spec::validate(&view, &options));
    errors.extend(spec::validate_immutable(&view, &old_view, &options));
    errors.extend(status::validate(definition, &view));
    errors.extend(approval::validate(definition, &view, Some(old)));
    errors.extend(preserve_unknown(&view, Some(&old_view)));
    errors
}

/// Everything that is wrong with a definition whose status replaces that of `old`.
pub fn validate_status_update(definition: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = metadata::validate_update(definition, old);
    errors.extend(status::validate_names(definition));
    errors
}

/// Definitions that keep unknown fields at large can only be old ones.
fn preserve_unknown(view: &Definition<'_>, old: Option<&Definition<'_>>) -> Vec<FieldError> {
    if !view.preserve_unknown_fields || old.is_some_and(|old| old.preserve_unknown_fields) {
        return Vec::new();
    }
    let spec = FieldPath::ROOT.field("spec");
    let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                  spec.versions[*].schema instead";
    vec![FieldError::invalid(&spec.field("preserveUnknownFields"), true, detail)]
}
