//! The options of a request, from its query or body, checked in the reference's words.
//!
//! Upstream: apimachinery/pkg/apis/meta/{v1,internalversion}/validation, v1.36.

use meta::gvk::GroupKind;
use meta::object::validate_field_manager;
use meta::selector::{field::FieldSelector, label::LabelSelector};
use meta::status::Status;
use meta::{FieldError, FieldPath, Text, Value, go_fmt};

use crate::request::Query;

/// What to do about fields that a kind does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// Empty: the client did not say.
    pub field_manager: String,
    pub field_validation: FieldValidation,
    /// Only for apply: take fields over from other managers.
    pub force: Option<bool>,
}

/// Which kind of write options are asked for; the reference names it in errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    Create,
    Update,
    Patch,
    Apply,
}

impl WriteOptions {
    pub fn parse(query: &Query, kind: WriteKind) -> Result<Self, Status> {
        let force = match query.get("force") {
            Some(text) if matches!(kind, WriteKind::Patch | WriteKind::Apply) => Some(parse_bool(text)),
            _ => None,
        };
        let field_manager = query.get("fieldManager").unwrap_or_default().to_owned();
        let field_validation = query.get("fieldValidation").unwrap_or_default();
        let dry_run: Vec<&str> = query.all("dryRun").collect();

        let mut errors = Vec::new();
        match kind {
            WriteKind::Apply if field_manager.is_empty() => errors.push(FieldError::required(
                &FieldPath::ROOT.field("fieldManager"),
                "is required for apply patch",
            )),
            WriteKind::Patch if force.is_some() => errors.push(FieldError::forbidden(
                &FieldPath::ROOT.field("force"),
                "may not be specified for non-apply patch",
            )),
            _ => {}
        }
        errors.extend(validate_field_manager(&field_manager, &FieldPath::ROOT.field("fieldManager")));
        check_dry_run(&dry_run, &mut errors);
        let allowed = ["", "Ignore", "Strict", "Warn"];
        if !allowed.contains(&field_validation) {
            let path = FieldPath::ROOT.field("fieldValidation");
            errors.push(FieldError::not_supported(&path, field_validation, &allowed));
        }
        let name = match kind {
            WriteKind::Create => "CreateOptions",
            WriteKind::Update => "UpdateOptions",
            WriteKind::Patch | WriteKind::Apply => "PatchOptions",
        };
        refuse_if_any(name, &errors)?;
        let field_validation = match field_validation {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        };
        Ok(WriteOptions { dry_run: !dry_run.is_empty(), field_manager, field_validation, force })
    }
}

fn refuse_if_any(options: &str, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupKind::new("meta.k8s.io", options), "", errors))
}

fn check_dry_run(values: &[&str], errors: &mut Vec<FieldError>) {
    if values.iter().any(|value| *value != "All") {
        let shown: Vec<Value> = values.iter().map(|value| Value::from(*value)).collect();
        errors.push(FieldError::not_supported(&FieldPath::ROOT.field("dryRun"), shown, &["All"]));
    }
}

/// Options of list, watch and deletecollection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    pub label_selector: Option<LabelSelector>,
    pub field_selector: Option<FieldSelector>,
    pub resource_version: Text,
    pub resource_version_match: Text,
    pub limit: i64,
    pub continue_token: String,
    pub watch: bool,
    pub allow_bookmarks: bool,
    pub send_initial_events: Option<bool>,
    pub timeout_seconds: Option<i64>,
}

impl ListOptions {
    /// An old-style path makes a watch of what these options still call a list; it is judged as one.
    pub fn parse(query: &Query) -> Result<Self, Status> {
        let bad = |text: String| Status::bad_request(text);
        let number = |key: &str| query.get(key).map(parse_int).transpose().map_err(bad);
        let (timeout_seconds, limit) = (number("timeoutSeconds")?, number("limit")?);
        let label_selector = match query.get("labelSelector") {
            None | Some("") => None,
            Some(text) => {
                Some(LabelSelector::parse(text).map_err(|error| Status::bad_request(error.to_string()))?)
            }
        };
        let field_selector = match query.get("fieldSelector") {
            None | Some("") => None,
            Some(text) => {
                Some(FieldSelector::parse(text).map_err(|error| Status::bad_request(error.to_string()))?)
            }
        };
        let options = ListOptions {
            label_selector,
            field_selector,
            resource_version: query.get("resourceVersion").unwrap_or_default().into(),
            resource_version_match: query.get("resourceVersionMatch").unwrap_or_default().into(),
            limit: limit.unwrap_or(0),
            continue_token: query.get("continue").unwrap_or_default().to_owned(),
            watch: query.flag("watch"),
            allow_bookmarks: query.flag("allowWatchBookmarks"),
            send_initial_events: query.get("sendInitialEvents").map(parse_bool),
            timeout_seconds,
        };
        let options = options.with_defaults();
        refuse_if_any("ListOptions", &options.errors())?;
        Ok(options)
    }

    /// A watch from any state has always begun with the objects there are.
    fn with_defaults(mut self) -> Self {
        let from_any_state = matches!(self.resource_version.as_str(), "" | "0");
        let unsaid = self.send_initial_events.is_none() && self.resource_version_match.is_empty();
        if self.watch && from_any_state && unsaid {
            self.send_initial_events = Some(true);
            self.resource_version_match = "NotOlderThan".into();
        }
        self
    }

    fn errors(&self) -> Vec<FieldError> {
        let path = FieldPath::ROOT.field("resourceVersionMatch");
        let rule = self.resource_version_match.as_str();
        let mut errors = Vec::new();
        if self.watch {
            if self.send_initial_events.is_some() && rule != "NotOlderThan" {
                let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.push(FieldError::forbidden(&path, detail));
            }
            if !rule.is_empty() && self.send_initial_events.is_none() {
                let detail =
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                errors.push(FieldError::forbidden(&path, detail));
            }
            if !rule.is_empty() && rule != "NotOlderThan" {
                errors.push(FieldError::not_supported(&path, rule, &["NotOlderThan"]));
            }
            if !rule.is_empty() && !self.continue_token.is_empty() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                errors.push(FieldError::forbidden(&path, detail));
            }
            return errors;
        }
        if !rule.is_empty() {
            if self.resource_version.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(FieldError::forbidden(&path, detail));
            }
            if !self.continue_token.is_empty() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                errors.push(FieldError::forbidden(&path, detail));
            }
            if !matches!(rule, "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(&path, rule, &["Exact", "NotOlderThan", ""]));
            }
            if rule == "Exact" && self.resource_version == "0" {
                let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(&path, detail));
            }
        }
        if self.send_initial_events.is_some() {
            let path = FieldPath::ROOT.field("sendInitialEvents");
            errors.push(FieldError::forbidden(&path, "sendInitialEvents is forbidden for list"));
        }
        errors
    }
}

/// How the objects that depend on a deleted one are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// Options of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub dry_run: bool,
    pub grace_period_seconds: Option<i64>,
    pub uid: Option<Text>,
    pub resource_version: Option<Text>,
    pub orphan_dependents: Option<bool>,
    pub propagation: Option<Propagation>,
}

impl DeleteOptions {
    /// From the query, when there is no body. Preconditions stand there under names of their own; that one of
    /// them is also the version a list is read at makes no difference to the reference.
    pub fn from_query(query: &Query) -> Result<Self, Status> {
        let mut value = meta::Map::new();
        if let Some(text) = query.get("gracePeriodSeconds") {
            value.insert("gracePeriodSeconds", parse_int(text).map_err(Status::bad_request)?);
        }
        if let Some(text) = query.get("orphanDependents") {
            value.insert("orphanDependents", parse_bool(text));
        }
        if let Some(text) = query.get("propagationPolicy") {
            value.insert("propagationPolicy", text);
        }
        let dry_run: Vec<Value> = query.all("dryRun").map(Value::from).collect();
        if !dry_run.is_empty() {
            value.insert("dryRun", dry_run);
        }
        let mut preconditions = meta::Map::new();
        for key in ["uid", "resourceVersion"] {
            if let Some(text) = query.get(key).filter(|text| !text.is_empty()) {
                preconditions.insert(key, text);
            }
        }
        if !preconditions.is_empty() {
            value.insert("preconditions", preconditions);
        }
        DeleteOptions::from_value(&Value::Object(value))
    }

    /// From a body that has been decoded as `DeleteOptions`.
    pub fn from_value(value: &Value) -> Result<Self, Status> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Text::from);
        let dry_run: Vec<&str> = value
            .get("dryRun")
            .and_then(Value::as_array)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let policy = value.get("propagationPolicy").and_then(Value::as_str);
        let orphan_dependents = value.get("orphanDependents").and_then(Value::as_bool);

        let mut errors = Vec::new();
        let path = FieldPath::ROOT.field("propagationPolicy");
        if let (Some(_), Some(policy)) = (orphan_dependents, policy) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(&path, policy, detail));
        }
        let propagation = match policy {
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            None => None,
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(&path, other, &supported));
                None
            }
        };
        check_dry_run(&dry_run, &mut errors);
        refuse_if_any("DeleteOptions", &errors)?;
        Ok(DeleteOptions {
            dry_run: !dry_run.is_empty(),
            grace_period_seconds: value.get("gracePeriodSeconds").and_then(Value::as_int),
            uid: text(value.at(&["preconditions", "uid"])),
            resource_version: text(value.at(&["preconditions", "resourceVersion"])),
            orphan_dependents,
            propagation,
        })
    }
}

/// A boolean of a query: only these two are false, and even nothing is true.
pub fn parse_bool(text: &str) -> bool {
    text != "0" && !text.eq_ignore_ascii_case("false")
}

/// A number without a sign, or Go's complaint.
pub fn parse_uint(text: &str) -> Result<u64, String> {
    let complaint = |cause: &str| format!("strconv.ParseUint: parsing {}: {cause}", go_fmt::quote(text));
    if text.starts_with('+') {
        return Err(complaint("invalid syntax"));
    }
    text.parse().map_err(|error: std::num::ParseIntError| match error.kind() {
        std::num::IntErrorKind::PosOverflow => complaint("value out of range"),
        _ => complaint("invalid syntax"),
    })
}

/// An integer, or Go's complaint.
pub fn parse_int(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        let cause = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseInt: parsing {}: {cause}", go_fmt::quote(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(query: &str, kind: WriteKind) -> Result<WriteOptions, String> {
        WriteOptions::parse(&Query::parse(query), kind).map_err(|status| status.message)
    }

    #[test]
    fn bad_write_options_are_refused_with_their_names() {
        assert_eq!(
            write("dryRun=x", WriteKind::Create).unwrap_err(),
            r#"CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All""#
        );
        assert_eq!(
            write("fieldValidation=x", WriteKind::Update).unwrap_err(),
            r#"UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn""#
        );
        assert_eq!(
            write("", WriteKind::Apply).unwrap_err(),
            r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#
        );
        assert_eq!(
            write("force=true", WriteKind::Patch).unwrap_err(),
            r#"PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch"#
        );
    }

    #[test]
    fn numbers_are_refused_in_gos_words() {
        let error = ListOptions::parse(&Query::parse("limit=x")).unwrap_err();
        assert_eq!(error.message, "strconv.ParseInt: parsing \"x\": invalid syntax");
    }

    #[test]
    fn delete_options_come_from_the_query_too() {
        let query = Query::parse("gracePeriodSeconds=5&propagationPolicy=Orphan&dryRun=All");
        let options = DeleteOptions::from_query(&query).unwrap();
        assert_eq!(options.grace_period_seconds, Some(5));
        assert_eq!(options.propagation, Some(Propagation::Orphan));
        assert!(options.dry_run);
    }
}
