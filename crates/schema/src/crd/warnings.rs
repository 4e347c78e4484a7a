//! What is accepted but deserves a word: formats that nothing checks.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, v1.36.

use meta::{Value, go_fmt};

use super::view::Definition;
use crate::formats::text_rule;
use crate::parse::Props;

/// Warnings for a new definition, in the order of its schemas.
pub fn warnings_on_create(definition: &Value) -> Vec<String> {
    formats(definition).iter().map(|format| warning(format)).collect()
}

/// Warnings for a changed definition: only about formats that the `old` one does not use.
pub fn warnings_on_update(definition: &Value, old: &Value) -> Vec<String> {
    let known = formats(old);
    formats(definition)
        .iter()
        .filter(|format| !known.contains(format))
        .map(|format| warning(format))
        .collect()
}

fn warning(format: &str) -> String {
    format!("unrecognized format {}", go_fmt::quote(format))
}

/// The formats that mean nothing where they are used, once for each use.
fn formats(definition: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(view) = Definition::new(definition) {
        for schema in view.schemas() {
            schema.each(&mut |props| {
                if !props.format.is_empty() && !is_recognized(props) {
                    found.push(props.format.to_owned());
                }
            });
        }
    }
    found
}

fn is_recognized(props: &Props<'_>) -> bool {
    match props.type_name {
        "" | "string" => text_rule(props.format).is_some(),
        "integer" => matches!(props.format, "int32" | "int64"),
        "number" => matches!(props.format, "float" | "double"),
        _ => false,
    }
}
