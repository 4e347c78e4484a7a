//! How strict to be: everything for a new definition, less where an old one already breaks a rule.

use std::collections::HashSet;

use meta::Value;

use super::conversion;
use super::defaults;
use super::openapi;
use super::structural;
use super::view::{Definition, list, text};
use crate::parse::Props;

#[expect(clippy::struct_excessive_bools, reason = "independent rules, each named where it is asked")]
pub(super) struct Options {
    pub(super) require_recognized_review_version: bool,
    pub(super) require_immutable_names: bool,
    pub(super) require_schema: bool,
    pub(super) require_valid_types: bool,
    pub(super) require_structural: bool,
    pub(super) require_pruned_defaults: bool,
    pub(super) require_atomic_sets: bool,
    pub(super) require_list_keys: bool,
    pub(super) allow_broken_ca_bundle: bool,
    /// Versions whose schema is as it was.
    pub(super) unchanged_schemas: HashSet<String>,
    /// Versions, or the empty name for what is common, that may keep their too many selectable fields.
    pub(super) too_many_selectable: HashSet<String>,
}

impl Options {
    pub(super) fn for_create() -> Self {
        Options {
            require_recognized_review_version: true,
            require_immutable_names: false,
            require_schema: true,
            require_valid_types: true,
            require_structural: true,
            require_pruned_defaults: true,
            require_atomic_sets: true,
            require_list_keys: true,
            // No object depends on a definition that is not established yet.
            allow_broken_ca_bundle: true,
            unchanged_schemas: HashSet::new(),
            too_many_selectable: HashSet::new(),
        }
    }

    pub(super) fn for_update(new: &Definition<'_>, old: &Definition<'_>, old_value: &Value) -> Self {
        let no_schema = |breaks: fn(&Props<'_>) -> bool| !old.schemas().any(breaks);
        let is_established = has_condition(old_value, "Established");
        Options {
            require_recognized_review_version: old.conversion.is_none_or(conversion::is_recognized_or_empty),
            require_immutable_names: is_established,
            require_schema: old.common.props().is_some()
                || old.versions.iter().all(|version| version.own.props().is_some()),
            require_valid_types: no_schema(openapi::has_invalid_type),
            require_structural: no_schema(|props| !structural::is_structural(props)),
            require_pruned_defaults: no_schema(defaults::has_unpruned),
            require_atomic_sets: no_schema(openapi::has_non_atomic_set),
            require_list_keys: no_schema(openapi::has_invalid_list_keys),
            allow_broken_ca_bundle: !is_established
                || old.conversion.is_some_and(conversion::has_broken_ca_bundle),
            unchanged_schemas: unchanged_schemas(new, old),
            too_many_selectable: too_many_selectable(new, old),
        }
    }
}

fn unchanged_schemas(new: &Definition<'_>, old: &Definition<'_>) -> HashSet<String> {
    let is_unchanged =
        |name: &&str| old.schema_of(name).is_some_and(|before| new.schema_of(name) == Some(before));
    let names = new.versions.iter().map(|version| version.name);
    names.filter(is_unchanged).map(str::to_owned).collect()
}

fn too_many_selectable(new: &Definition<'_>, old: &Definition<'_>) -> HashSet<String> {
    let is_kept = |new: &[Value], old: &[Value]| old.len() > super::columns::MAX_SELECTABLE && new == old;
    let mut kept = HashSet::new();
    if is_kept(new.common.selectable, old.common.selectable) {
        kept.insert(String::new());
    }
    for version in &new.versions {
        let before = old.versions.iter().find(|candidate| candidate.name == version.name);
        if before.is_some_and(|before| is_kept(version.own.selectable, before.own.selectable)) {
            kept.insert(version.name.to_owned());
        }
    }
    kept
}

/// Whether a condition of the definition's status is true.
fn has_condition(definition: &Value, kind: &str) -> bool {
    let status = definition.get("status").unwrap_or(&Value::Null);
    let conditions = list(status, "conditions");
    conditions.iter().any(|condition| text(condition, "type") == kind && text(condition, "status") == "True")
}
