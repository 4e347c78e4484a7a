//! Fields that an applied configuration may not change without force, in the reference's words.
//!
//! Upstream: managedfields/internal/conflict.go, v1.36.

use std::fmt;

use super::entry::{Entry, Operation};
use super::fieldset::FieldSet;

/// The fields contested with one manager.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Conflict {
    /// Sorts managers as the reference does.
    identifier: String,
    /// `"name" with subresource "status" using v1`
    manager: String,
    pub fields: FieldSet,
}

impl Conflict {
    pub(super) fn new(entry: &Entry, fields: FieldSet) -> Self {
        let quote = meta::go_fmt::quote;
        let mut manager = quote(&entry.manager);
        if !entry.subresource.is_empty() {
            manager = format!("{manager} with subresource {}", quote(&entry.subresource));
        }
        if entry.operation == Operation::Update {
            manager = format!("{manager} using {}", entry.api_version);
        }
        Conflict { identifier: entry.identifier(), manager, fields }
    }
}

/// One contested field, as it appears among the causes of a Status with reason `FieldManagerConflict`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictCause {
    pub message: String,
    pub field: String,
}

/// All conflicts of an apply: a Status 409 with reason `Conflict`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictError {
    pub message: String,
    pub causes: Vec<ConflictCause>,
}

impl fmt::Display for ConflictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConflictError {}

impl ConflictError {
    pub(super) fn new(mut conflicts: Vec<Conflict>) -> Self {
        conflicts.sort_by(|left, right| left.identifier.cmp(&right.identifier));
        let mut causes = Vec::new();
        let mut lines = Vec::new();
        for conflict in &conflicts {
            lines.push(format!("conflicts with {}:", conflict.manager));
            for field in conflict.fields.paths() {
                lines.push(format!("- {field}"));
                causes.push(ConflictCause { message: format!("conflict with {}", conflict.manager), field });
            }
        }
        let message = match causes.as_slice() {
            [only] => format!("Apply failed with 1 conflict: {}: {}", only.message, only.field),
            causes => format!("Apply failed with {} conflicts: {}", causes.len(), lines.join("\n")),
        };
        ConflictError { message, causes }
    }
}
