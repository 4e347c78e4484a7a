//! The rules for metadata that hold for every kind, on creation and on update.
//!
//! Upstream: apimachinery/pkg/api/validation/objectmeta.go and
//! apimachinery/pkg/apis/meta/v1/validation/validation.go, v1.36. Where the reference walks a map in random
//! order, errors come in the order of the keys.

use super::{FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS, Meta, OwnerReference};
use crate::gvk::{GroupVersion, parse_api_version};
use crate::names::{self, NameFn, NameUse};
use crate::wire::json;
use crate::{FieldError, FieldPath, Value, go_fmt, time};

/// What is said of a field that must not change.
pub const FIELD_IMMUTABLE: &str = "field is immutable";

/// How many bytes all annotations of an object may have, keys included.
pub const TOTAL_ANNOTATIONS_MAX_BYTES: usize = 256 * 1024;

/// How long the name of a field manager may be.
pub const MANAGER_MAX_BYTES: usize = 128;

const SUBRESOURCE_MAX_BYTES: usize = 256;

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceRule {
    Required,
    Forbidden,
}

/// The metadata of an object to be created; names are generated already.
///
/// ```
/// use crest_meta::object::{NamespaceRule, validate_object_meta};
/// use crest_meta::{FieldPath, Map, Meta, names};
/// let path = FieldPath::ROOT.field("metadata");
/// let errors =
///     validate_object_meta(Meta::new(&Map::new()), NamespaceRule::Forbidden, names::name_is_dns_subdomain, &path);
/// assert_eq!(errors[0].to_string(), "metadata.name: Required value: name or generateName is required");
/// ```
pub fn validate_object_meta(
    meta: Meta<'_>,
    namespace: NamespaceRule,
    name_fn: NameFn,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !meta.generate_name().is_empty() {
        let messages = name_fn(meta.generate_name(), NameUse::Prefix);
        push_invalid(&mut errors, &path.field("generateName"), meta.generate_name(), messages);
    }
    if meta.name().is_empty() {
        errors.push(FieldError::required(&path.field("name"), "name or generateName is required"));
    } else {
        push_invalid(&mut errors, &path.field("name"), meta.name(), name_fn(meta.name(), NameUse::Whole));
    }
    check_namespace(meta.namespace(), namespace, &path.field("namespace"), &mut errors);
    if meta.generation() < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(&path.field("generation"), meta.generation(), detail));
    }
    errors.extend(validate_labels(meta, &path.field("labels")));
    errors.extend(validate_annotations(meta, &path.field("annotations")));
    check_owners(meta, &path.field("ownerReferences"), &mut errors);
    errors.extend(validate_finalizers(meta, &path.field("finalizers")));
    check_managed_fields(meta, &path.field("managedFields"), &mut errors);
    errors
}

/// The metadata of an object that replaces another.
pub fn validate_object_meta_update(new: Meta<'_>, old: Meta<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_terminating() {
        check_no_new_finalizers(new, old, &path.field("finalizers"), &mut errors);
    }
    if new.resource_version().is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(&path.field("resourceVersion"), "", detail));
    }
    if new.generation() < old.generation() {
        let detail = "must not be decremented";
        errors.push(FieldError::invalid(&path.field("generation"), new.generation(), detail));
    }
    for field in ["name", "namespace", "uid"] {
        if new.text(field) != old.text(field) {
            errors.push(FieldError::invalid(&path.field(field), new.text(field), FIELD_IMMUTABLE));
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if !same_time(new.get(field), old.get(field)) {
            let value = new.get(field).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(&path.field(field), value, FIELD_IMMUTABLE));
        }
    }
    let grace = new.deletion_grace_period_seconds();
    if grace != old.deletion_grace_period_seconds() {
        let value = grace.map_or(Value::Null, Value::Int);
        errors.push(FieldError::invalid(&path.field("deletionGracePeriodSeconds"), value, FIELD_IMMUTABLE));
    }
    errors.extend(validate_labels(new, &path.field("labels")));
    errors.extend(validate_annotations(new, &path.field("annotations")));
    check_owners(new, &path.field("ownerReferences"), &mut errors);
    check_managed_fields(new, &path.field("managedFields"), &mut errors);
    errors
}

fn push_invalid(errors: &mut Vec<FieldError>, path: &FieldPath<'_>, value: &str, messages: Vec<String>) {
    errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, value, message)));
}

fn check_namespace(name: &str, rule: NamespaceRule, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    match rule {
        NamespaceRule::Required if name.is_empty() => errors.push(FieldError::required(path, "")),
        NamespaceRule::Required => {
            push_invalid(errors, path, name, names::name_is_dns_label(name, NameUse::Whole));
        }
        NamespaceRule::Forbidden if !name.is_empty() => {
            errors.push(FieldError::forbidden(path, "not allowed on this type"));
        }
        NamespaceRule::Forbidden => {}
    }
}

/// Keys and values of labels.
pub fn validate_labels(meta: Meta<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in meta.labels() {
        push_invalid(&mut errors, path, key, names::qualified_name(key));
        push_invalid(&mut errors, path, value, names::label_value(value));
    }
    errors
}

/// Keys of annotations, whose case does not matter, and their total size.
pub fn validate_annotations(meta: Meta<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut total = 0;
    for (key, value) in meta.annotations() {
        push_invalid(&mut errors, path, key, names::qualified_name(&key.to_lowercase()));
        total += key.len() + value.len();
    }
    if total > TOTAL_ANNOTATIONS_MAX_BYTES {
        errors.push(FieldError::too_long(path, "", TOTAL_ANNOTATIONS_MAX_BYTES));
    }
    errors
}

fn check_owners(meta: Meta<'_>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let mut first_controller: Option<String> = None;
    for owner in meta.owner_references() {
        check_owner(&owner, path, errors);
        if owner.controller != Some(true) {
            continue;
        }
        let controller = format!("{}/{}", owner.kind, owner.name);
        match &first_controller {
            None => first_controller = Some(controller),
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {controller}"
                );
                let all: Vec<String> = meta.owner_references().map(|owner| show_owner(&owner)).collect();
                let value = Value::Array(meta.list("ownerReferences").to_vec());
                let error = FieldError::invalid(path, value, detail);
                errors.push(error.shown_as(format!("[{}]", all.join(","))));
            }
        }
    }
}

fn check_owner(owner: &OwnerReference<'_>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    // A malformed apiVersion names nothing, as in the reference.
    let version = parse_api_version(owner.api_version).unwrap_or_default();
    if version.version.is_empty() {
        let path = path.field("apiVersion");
        errors.push(FieldError::invalid(&path, owner.api_version, "version must not be empty"));
    }
    for (field, value) in [("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)] {
        if value.is_empty() {
            errors.push(FieldError::invalid(&path.field(field), value, "must not be empty"));
        }
    }
    if version == GroupVersion::new("", "v1") && owner.kind == "Event" {
        let detail = format!("{} is disallowed from being an owner", version.with_kind("Event"));
        errors.push(FieldError::invalid(path, Value::Null, detail).shown_as(show_owner(owner)));
    }
}

/// An owner with its fields in the order of the reference's type.
fn show_owner(owner: &OwnerReference<'_>) -> String {
    let mut fields = Vec::new();
    let mut push = |name: &str, value: Value| fields.push(format!("\"{name}\":{}", json::to_string(&value)));
    push("apiVersion", owner.api_version.into());
    push("kind", owner.kind.into());
    push("name", owner.name.into());
    push("uid", owner.uid.into());
    if let Some(controller) = owner.controller {
        push("controller", controller.into());
    }
    if let Some(block) = owner.block_owner_deletion {
        push("blockOwnerDeletion", block.into());
    }
    format!("{{{}}}", fields.join(","))
}

/// Names of finalizers, and that not both ways of treating dependents are asked for.
pub fn validate_finalizers(meta: Meta<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for finalizer in meta.finalizers() {
        push_invalid(&mut errors, path, finalizer, names::qualified_name(finalizer));
    }
    if meta.has_finalizer(FINALIZER_DELETE_DEPENDENTS) && meta.has_finalizer(FINALIZER_ORPHAN_DEPENDENTS) {
        let detail = format!(
            "finalizer {FINALIZER_ORPHAN_DEPENDENTS} and {FINALIZER_DELETE_DEPENDENTS} cannot be both set"
        );
        let value = Value::Array(meta.list("finalizers").to_vec());
        errors.push(FieldError::invalid(path, value, detail));
    }
    errors
}

fn check_no_new_finalizers(new: Meta<'_>, old: Meta<'_>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let mut added: Vec<&str> = new.finalizers().filter(|name| !old.has_finalizer(name)).collect();
    added.sort_unstable();
    added.dedup();
    if !added.is_empty() {
        let quoted: Vec<String> = added.into_iter().map(go_fmt::quote).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            quoted.join(", ")
        );
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn check_managed_fields(meta: Meta<'_>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for (index, entry) in meta.managed_fields().iter().enumerate() {
        let path = path.index(index);
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        let operation = text("operation");
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(&path.field("operation"), operation, detail));
        }
        let fields_type = text("fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            let detail = "must be `FieldsV1`";
            errors.push(FieldError::invalid(&path.field("fieldsType"), fields_type, detail));
        }
        errors.extend(validate_field_manager(text("manager"), &path.field("manager")));
        if text("subresource").len() > SUBRESOURCE_MAX_BYTES {
            errors.push(FieldError::too_long(&path.field("subresource"), "", SUBRESOURCE_MAX_BYTES));
        }
    }
}

/// The name of a field manager: short and printable.
pub fn validate_field_manager(manager: &str, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MANAGER_MAX_BYTES {
        errors.push(FieldError::too_long(path, "", MANAGER_MAX_BYTES));
    }
    for (position, character) in manager.char_indices().filter(|(_, c)| !go_fmt::is_print(*c)) {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(character));
        errors.push(FieldError::invalid(path, manager, detail));
    }
    errors
}

/// Whether two times, either of which may be absent, are the same moment.
fn same_time(left: Option<&Value>, right: Option<&Value>) -> bool {
    let moment = |value: Option<&Value>| value.and_then(Value::as_str).map(time::parse);
    match (moment(left), moment(right)) {
        (Some(Ok(left)), Some(Ok(right))) => left == right,
        (None, None) => true,
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn meta(text: &str) -> Value {
        json::parse(format!("{{\"metadata\":{text}}}").as_bytes()).unwrap().value
    }

    fn show(errors: &[FieldError]) -> String {
        errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("\n")
    }

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(text: &str, rule: NamespaceRule, expected: Expect) {
        let object = meta(text);
        let path = FieldPath::ROOT.field("metadata");
        let errors = validate_object_meta(Meta::of(&object), rule, names::name_is_dns_label, &path);
        expected.assert_eq(&show(&errors));
    }

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check_update(new: &str, old: &str, expected: Expect) {
        let (new, old) = (meta(new), meta(old));
        let path = FieldPath::ROOT.field("metadata");
        expected.assert_eq(&show(&validate_object_meta_update(Meta::of(&new), Meta::of(&old), &path)));
    }

    #[test]
    fn names_and_namespaces() {
        check(r#"{"name":"a","namespace":"b"}"#, NamespaceRule::Required, expect![""]);
        check(r#"{"name":"a"}"#, NamespaceRule::Required, expect!["metadata.namespace: Required value"]);
        check(
            r#"{"name":"a","namespace":"b"}"#,
            NamespaceRule::Forbidden,
            expect!["metadata.namespace: Forbidden: not allowed on this type"],
        );
        check(
            r#"{"name":"a.b","generateName":"c.","generation":-1}"#,
            NamespaceRule::Forbidden,
            expect![[r#"
                metadata.generateName: Invalid value: "c.": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
                metadata.name: Invalid value: "a.b": must not contain dots
                metadata.generation: Invalid value: -1: must be greater than or equal to 0"#]],
        );
    }

    #[test]
    fn labels_annotations_and_finalizers() {
        check(
            r#"{"name":"a","labels":{"x":"-"},"annotations":{"UPPER.example/A":"anything é"},"finalizers":["orphan","foregroundDeletion"]}"#,
            NamespaceRule::Forbidden,
            expect![[r#"
                metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
                metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set"#]],
        );
        let large = format!(r#"{{"name":"a","annotations":{{"k":"{}"}}}}"#, "x".repeat(256 * 1024));
        check(
            &large,
            NamespaceRule::Forbidden,
            expect!["metadata.annotations: Too long: may not be more than 262144 bytes"],
        );
    }

    #[test]
    fn owners_and_managers() {
        check(
            r#"{"name":"a","ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"e","uid":"u","controller":true},{"apiVersion":"a/b/c","name":"f","controller":true}]}"#,
            NamespaceRule::Forbidden,
            expect![[r#"
                metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u","controller":true}: /v1, Kind=Event is disallowed from being an owner
                metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty
                metadata.ownerReferences.kind: Invalid value: "": must not be empty
                metadata.ownerReferences.uid: Invalid value: "": must not be empty
                metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Event","name":"e","uid":"u","controller":true},{"apiVersion":"a/b/c","kind":"","name":"f","uid":"","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for Event/e and /f"#]],
        );
        check(
            r#"{"name":"a","managedFields":[{"operation":"X","fieldsType":"Y","manager":"a\u0007"}]}"#,
            NamespaceRule::Forbidden,
            expect![[r#"
                metadata.managedFields[0].operation: Invalid value: "X": must be `Apply` or `Update`
                metadata.managedFields[0].fieldsType: Invalid value: "Y": must be `FieldsV1`
                metadata.managedFields[0].manager: Invalid value: "a\a": invalid character U+0007 (at position 1)"#]],
        );
    }

    #[test]
    fn updates_keep_identity() {
        check_update(
            r#"{"name":"a","resourceVersion":"2","creationTimestamp":"2024-01-01T01:00:00+01:00"}"#,
            r#"{"name":"a","resourceVersion":"1","creationTimestamp":"2024-01-01T00:00:00Z"}"#,
            expect![""],
        );
        check_update(
            r#"{"name":"b","finalizers":["z","y","x"],"deletionGracePeriodSeconds":1}"#,
            r#"{"name":"a","uid":"u","generation":3,"finalizers":["x"],"creationTimestamp":"2024-01-01T00:00:00Z","deletionTimestamp":"2024-01-01T00:00:00Z"}"#,
            expect![[r#"
                metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"y", "z"}
                metadata.resourceVersion: Invalid value: "": must be specified for an update
                metadata.generation: Invalid value: 0: must not be decremented
                metadata.name: Invalid value: "b": field is immutable
                metadata.uid: Invalid value: "": field is immutable
                metadata.creationTimestamp: Invalid value: null: field is immutable
                metadata.deletionTimestamp: Invalid value: null: field is immutable
                metadata.deletionGracePeriodSeconds: Invalid value: 1: field is immutable"#]],
        );
    }
}
