//! Events: lenient for what old clients send, strict for the newer group.
//!
//! Upstream: kubernetes/pkg/apis/core/validation/events.go, v1.36.

use meta::names::{dns1123_subdomain, qualified_name};
use meta::wire::json;
use meta::{FieldError, Value};

use super::{IMMUTABLE, ROOT, each, go_struct, invalid_as};
use crate::typed::access::{int, present, text};
use crate::typed::convert::event_to_core;

const MAX_NOTE: usize = 1024;
const MAX_OTHER: usize = 128;

pub(super) fn event(group: &str, new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    if group.is_empty() {
        return legacy(new, "reportingComponent", errors);
    }
    // The reference checks one form only, and its errors name the fields of that form.
    let mut core = new.clone();
    event_to_core(&mut core);
    legacy(&core, "reportingController", errors);
    match old {
        None => strict_create(&core, errors),
        Some(old) => {
            let mut before = old.clone();
            event_to_core(&mut before);
            strict_update(&core, &before, errors);
        }
    }
}

fn legacy(event: &Value, reporter_field: &str, errors: &mut Vec<FieldError>) {
    let namespace = text(event, &["metadata", "namespace"]);
    let about = text(event, &["involvedObject", "namespace"]);
    let timed = present(event, &["eventTime"]).is_some();
    let agrees = match (timed, about) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, about) => namespace == about,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !agrees {
        let involved = ROOT.field("involvedObject");
        errors.push(FieldError::invalid(
            &involved.field("namespace"),
            about,
            "does not match event.namespace",
        ));
    }
    if timed {
        timed_fields(event, reporter_field, errors);
    }
    each(errors, &ROOT.field("namespace"), namespace, dns1123_subdomain(namespace));
}

/// What an event with a time of its own must say.
fn timed_fields(event: &Value, reporter_field: &str, errors: &mut Vec<FieldError>) {
    let reporter = text(event, &["reportingComponent"]);
    let path = ROOT.field(reporter_field);
    if reporter.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    each(errors, &path, reporter, qualified_name(reporter));
    for field in ["reportingInstance", "action", "reason"] {
        let value = text(event, &[field]);
        if value.is_empty() {
            errors.push(FieldError::required(&ROOT.field(field), ""));
        }
        at_most(field, value, MAX_OTHER, errors);
    }
    at_most("message", text(event, &["message"]), MAX_NOTE, errors);
}

fn at_most(field: &str, value: &str, limit: usize, errors: &mut Vec<FieldError>) {
    if value.len() > limit {
        let detail = format!("can have at most {limit} characters");
        errors.push(FieldError::invalid(&ROOT.field(field), "", detail));
    }
}

fn strict_create(event: &Value, errors: &mut Vec<FieldError>) {
    series(event, errors);
    if present(event, &["eventTime"]).is_none() {
        errors.push(FieldError::required(&ROOT.field("eventTime"), ""));
    }
    let kind = text(event, &["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid(&ROOT.field("type"), "", format!("has invalid value: {kind}")));
    }
    let mut unset = |field: &str, set: bool| {
        if set {
            errors.push(FieldError::invalid(&ROOT.field(field), "", "needs to be unset"));
        }
    };
    unset("firstTimestamp", present(event, &["firstTimestamp"]).is_some());
    unset("lastTimestamp", present(event, &["lastTimestamp"]).is_some());
    unset("count", int(event, &["count"]) != 0);
    let source = ["component", "host"].iter().any(|field| !text(event, &["source", field]).is_empty());
    unset("source", source);
}

fn strict_update(event: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    if event.get("series") != old.get("series") {
        series(event, errors);
    }
    for field in [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        // The reference checks it twice and says so twice.
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ] {
        if event.get(field) != old.get(field) {
            let shown = if field == "reportingComponent" { "reportingController" } else { field };
            errors.push(invalid_as(&ROOT.field(shown), go_value(event, field), IMMUTABLE));
        }
    }
}

/// The new value of a field, as the reference prints the one it holds.
fn go_value(event: &Value, field: &str) -> String {
    let inside = |name: &str| json::to_string(&text(event, &[field, name]).into());
    match field {
        "related" if present(event, &[field]).is_none() => "null".to_owned(),
        "involvedObject" | "related" => go_struct(&[
            ("Kind", inside("kind")),
            ("Namespace", inside("namespace")),
            ("Name", inside("name")),
            ("UID", inside("uid")),
            ("APIVersion", inside("apiVersion")),
            ("ResourceVersion", inside("resourceVersion")),
            ("FieldPath", inside("fieldPath")),
        ]),
        "source" => go_struct(&[("Component", inside("component")), ("Host", inside("host"))]),
        "count" => int(event, &[field]).to_string(),
        "firstTimestamp" | "lastTimestamp" | "eventTime" => {
            present(event, &[field]).map_or_else(|| "null".to_owned(), json::to_string)
        }
        _ => meta::go_fmt::quote(text(event, &[field])),
    }
}

fn series(event: &Value, errors: &mut Vec<FieldError>) {
    if present(event, &["series"]).is_none() {
        return;
    }
    if int(event, &["series", "count"]) < 2 {
        errors.push(FieldError::invalid(&ROOT.field("series.count"), "", "should be at least 2"));
    }
    if present(event, &["series", "lastObservedTime"]).is_none() {
        errors.push(FieldError::required(&ROOT.field("series.lastObservedTime"), ""));
    }
}
