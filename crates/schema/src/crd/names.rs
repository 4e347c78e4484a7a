//! The names under which a kind is reached.

use meta::{FieldError, FieldPath, Value, names};

use super::view::Names;

pub(super) fn validate(names: Names<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, name) in [("plural", names.plural), ("singular", names.singular)] {
        if let Some(detail) = problem(name) {
            errors.push(FieldError::invalid(&path.field(field), name, detail));
        }
    }
    for (field, name) in [("kind", names.kind), ("listKind", names.list_kind)] {
        if let Some(detail) = problem(&name.to_lowercase()) {
            let detail = format!("may have mixed case, but should otherwise match: {detail}");
            errors.push(FieldError::invalid(&path.field(field), name, detail));
        }
    }
    check_list(names.short, &path.field("shortNames"), &mut errors);
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.field("listKind"), names.list_kind, detail));
    }
    check_list(names.categories, &path.field("categories"), &mut errors);
    errors
}

/// What is wrong with a name that is there.
fn problem(name: &str) -> Option<String> {
    let problems = if name.is_empty() { Vec::new() } else { names::dns1035_label(name) };
    (!problems.is_empty()).then(|| problems.join(","))
}

fn check_list(list: &[Value], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for (index, name) in list.iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let problems = names::dns1035_label(name);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(&path.index(index), name, problems.join(",")));
        }
    }
}
