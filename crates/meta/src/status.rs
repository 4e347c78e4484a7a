//! The answer that is no object: a Status, with one constructor per kind of failure.
//!
//! The texts are part of the API: clients match on them.
//! Upstream: apimachinery/pkg/api/errors/errors.go, v1.36.

use std::borrow::Cow;
use std::fmt;

use crate::gvk::{GroupKind, GroupResource};
use crate::wire::json;
use crate::{FieldError, Map, Value, go_fmt};

/// Reasons the reference knows. A webhook may bring others.
pub mod reason {
    pub const ALREADY_EXISTS: &str = "AlreadyExists";
    pub const BAD_REQUEST: &str = "BadRequest";
    pub const CONFLICT: &str = "Conflict";
    pub const EXPIRED: &str = "Expired";
    pub const FORBIDDEN: &str = "Forbidden";
    pub const GONE: &str = "Gone";
    pub const INTERNAL_ERROR: &str = "InternalError";
    pub const INVALID: &str = "Invalid";
    pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
    pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
    pub const NOT_FOUND: &str = "NotFound";
    pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
    pub const SERVER_TIMEOUT: &str = "ServerTimeout";
    pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
    pub const TIMEOUT: &str = "Timeout";
    pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
    pub const UNAUTHORIZED: &str = "Unauthorized";
    pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
}

/// Reasons of causes that are not field errors.
pub mod cause {
    pub const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";
    pub const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";
    pub const RESOURCE_VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";
    pub const UNEXPECTED_SERVER_RESPONSE: &str = "UnexpectedServerResponse";
}

/// A `v1.Status`: a failure, or the confirmation of a deletion.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Status {
    /// The HTTP code. Below 400 this is a success, whose body carries no code.
    pub code: u16,
    /// Empty when the reference gives none.
    pub reason: Cow<'static, str>,
    pub message: String,
    /// Boxed to keep `Result<_, Status>` small.
    pub details: Option<Box<StatusDetails>>,
    /// A fresh token in `metadata.continue`, given with an expired one.
    pub continue_token: Option<String>,
}

/// What a Status is about. Empty fields do not appear.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StatusDetails {
    pub name: String,
    pub group: String,
    /// The resource or the kind, whatever the failing function knew.
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: u32,
}

/// One reason of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Cause {
    pub reason: Cow<'static, str>,
    pub message: String,
    pub field: String,
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Cause { reason: error.kind.reason().into(), message: error.body(), field: error.field.clone() }
    }
}

impl StatusDetails {
    fn of_resource(resource: &GroupResource, name: &str) -> Self {
        StatusDetails {
            name: name.to_owned(),
            group: resource.group.to_string(),
            kind: resource.resource.to_string(),
            ..StatusDetails::default()
        }
    }

    fn retry_after(seconds: u32) -> Self {
        StatusDetails { retry_after_seconds: seconds, ..StatusDetails::default() }
    }
}

impl Status {
    fn failure(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Status { code, reason: reason.into(), message: message.into(), ..Status::default() }
    }

    #[must_use]
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    #[must_use]
    pub fn with_continue(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// Adds a cause, and details if there are none.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The answer to a completed deletion.
    pub fn success(details: StatusDetails) -> Self {
        Status { code: 200, ..Status::default() }.with_details(details)
    }

    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", go_fmt::quote(name));
        Status::failure(404, reason::NOT_FOUND, message)
            .with_details(StatusDetails::of_resource(resource, name))
    }

    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", go_fmt::quote(name));
        Status::failure(409, reason::ALREADY_EXISTS, message)
            .with_details(StatusDetails::of_resource(resource, name))
    }

    /// Every generated name was taken.
    pub fn generate_name_conflict(resource: &GroupResource, name: &str, retry_after_seconds: u32) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            go_fmt::quote(name)
        );
        let details = StatusDetails { retry_after_seconds, ..StatusDetails::of_resource(resource, name) };
        Status::failure(409, reason::ALREADY_EXISTS, message).with_details(details)
    }

    pub fn conflict(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", go_fmt::quote(name));
        Status::failure(409, reason::CONFLICT, message)
            .with_details(StatusDetails::of_resource(resource, name))
    }

    /// The conflict of an update that carries an old resource version.
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(resource, name, why)
    }

    pub fn apply_conflict(causes: Vec<Cause>, message: impl Into<String>) -> Self {
        Status::failure(409, reason::CONFLICT, message)
            .with_details(StatusDetails { causes, ..StatusDetails::default() })
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Status::failure(400, reason::BAD_REQUEST, message)
    }

    /// An empty message becomes `not authorized`.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        let message = message.into();
        let message = if message.is_empty() { "not authorized".to_owned() } else { message };
        Status::failure(401, reason::UNAUTHORIZED, message)
    }

    /// An empty resource stands for a path that is none.
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = if resource.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {} is forbidden: {why}", go_fmt::quote(name))
        };
        Status::failure(403, reason::FORBIDDEN, message)
            .with_details(StatusDetails::of_resource(resource, name))
    }

    /// All errors become causes; the message lists each text once.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Self {
        let mut message = format!("{kind} {} is invalid", go_fmt::quote(name));
        if !errors.is_empty() {
            message.push_str(": ");
            message.push_str(&aggregate(errors.iter().map(FieldError::to_string)));
        }
        let details = StatusDetails {
            name: name.to_owned(),
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            causes: errors.iter().map(Cause::from).collect(),
            ..StatusDetails::default()
        };
        Status::failure(422, reason::INVALID, message).with_details(details)
    }

    pub fn gone(message: impl Into<String>) -> Self {
        Status::failure(410, reason::GONE, message)
    }

    pub fn resource_expired(message: impl Into<String>) -> Self {
        Status::failure(410, reason::EXPIRED, message)
    }

    /// The request took too long; it may still complete.
    pub fn timeout(message: impl fmt::Display, retry_after_seconds: u32) -> Self {
        Status::failure(504, reason::TIMEOUT, format!("Timeout: {message}"))
            .with_details(StatusDetails::retry_after(retry_after_seconds))
    }

    /// A transient failure of one operation on a resource.
    pub fn server_timeout(resource: &GroupResource, operation: &str, retry_after_seconds: u32) -> Self {
        let message = format!(
            "The {operation} operation against {resource} could not be completed at this time, please try again."
        );
        let details =
            StatusDetails { retry_after_seconds, ..StatusDetails::of_resource(resource, operation) };
        Status::failure(500, reason::SERVER_TIMEOUT, message).with_details(details)
    }

    /// The body, or a list in it, is larger than allowed.
    pub fn too_large(message: impl fmt::Display) -> Self {
        let message = format!("Request entity too large: {message}");
        Status::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message)
    }

    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let kind = go_fmt::quote(&resource.to_string());
        let message = format!("{action} is not supported on resources of kind {kind}");
        Status::failure(405, reason::METHOD_NOT_ALLOWED, message)
            .with_details(StatusDetails::of_resource(resource, ""))
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Status::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, message)
    }

    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Status::failure(406, reason::NOT_ACCEPTABLE, message)
    }

    pub fn internal_error(why: impl fmt::Display) -> Self {
        let message = format!("Internal error occurred: {why}");
        let cause = Cause { message: why.to_string(), ..Cause::default() };
        Status::failure(500, reason::INTERNAL_ERROR, message).with_cause(cause)
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Status::failure(429, reason::TOO_MANY_REQUESTS, message)
            .with_details(StatusDetails::retry_after(retry_after_seconds))
    }

    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Status::failure(503, reason::SERVICE_UNAVAILABLE, message)
    }

    /// An error that belongs to no category: the reference answers with its text and no reason.
    pub fn unknown(code: u16, message: impl Into<String>) -> Self {
        Status::failure(code, "", message)
    }

    /// What the reference says of an HTTP code when it has nothing of its own to say, for instance about an
    /// unknown path. `server_message` is shown by some codes only.
    pub fn generic(
        code: u16,
        verb: &str,
        resource: &GroupResource,
        name: &str,
        server_message: &str,
    ) -> Self {
        let (reason, mut message) = generic_text(code, verb, server_message);
        if !resource.is_empty() {
            let name = if name.is_empty() { String::new() } else { format!(" {name}") };
            message = format!("{message} ({} {resource}{name})", verb.to_lowercase());
        }
        Status::failure(code, reason, message).with_details(StatusDetails::of_resource(resource, name))
    }

    pub fn is_success(&self) -> bool {
        self.code < 400
    }

    /// The body of the answer.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue", token.as_str());
        }
        let mut body = Map::new();
        body.insert("kind", "Status");
        body.insert("apiVersion", "v1");
        body.insert("metadata", metadata);
        body.insert("status", if self.is_success() { "Success" } else { "Failure" });
        insert_text(&mut body, "message", &self.message);
        insert_text(&mut body, "reason", &self.reason);
        if let Some(details) = &self.details {
            body.insert("details", details.to_value());
        }
        if !self.is_success() {
            body.insert("code", i64::from(self.code));
        }
        Value::Object(body)
    }

    /// The body of the answer as JSON, its members in the order in which the reference declares them.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = br#"{"kind":"Status","apiVersion":"v1","metadata":{"#.to_vec();
        let continue_token = self.continue_token.as_deref().unwrap_or_default();
        push_texts(&[("continue", continue_token)], &mut out);
        out.extend_from_slice(br#"},"status":"#);
        json::encode_str(if self.is_success() { "Success" } else { "Failure" }, &mut out);
        push_texts(&[("message", &self.message), ("reason", &self.reason)], &mut out);
        if let Some(details) = &self.details {
            out.extend_from_slice(br#","details":"#);
            details.push_json(&mut out);
        }
        if !self.is_success() {
            out.extend_from_slice(format!(",\"code\":{}", self.code).as_bytes());
        }
        out.push(b'}');
        out
    }
}

/// Writes the members of an object that are not empty.
fn push_texts(members: &[(&str, &str)], out: &mut Vec<u8>) {
    for (key, text) in members.iter().filter(|(_, text)| !text.is_empty()) {
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        json::encode_str(key, out);
        out.push(b':');
        json::encode_str(text, out);
    }
}

impl StatusDetails {
    fn push_json(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        let texts = [("name", &*self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)];
        push_texts(&texts, out);
        let separator = |out: &[u8]| if out.last() == Some(&b'{') { "" } else { "," };
        if !self.causes.is_empty() {
            out.extend_from_slice(format!("{}\"causes\":[", separator(out)).as_bytes());
            for (index, cause) in self.causes.iter().enumerate() {
                out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
                let texts =
                    [("reason", &*cause.reason), ("message", &cause.message), ("field", &cause.field)];
                push_texts(&texts, out);
                out.push(b'}');
            }
            out.push(b']');
        }
        if self.retry_after_seconds != 0 {
            let member = format!("{}\"retryAfterSeconds\":{}", separator(out), self.retry_after_seconds);
            out.extend_from_slice(member.as_bytes());
        }
        out.push(b'}');
    }

    fn to_value(&self) -> Value {
        let mut details = Map::new();
        insert_text(&mut details, "name", &self.name);
        insert_text(&mut details, "group", &self.group);
        insert_text(&mut details, "kind", &self.kind);
        insert_text(&mut details, "uid", &self.uid);
        if !self.causes.is_empty() {
            details.insert("causes", self.causes.iter().map(Cause::to_value).collect::<Vec<_>>());
        }
        if self.retry_after_seconds != 0 {
            details.insert("retryAfterSeconds", i64::from(self.retry_after_seconds));
        }
        Value::Object(details)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut cause = Map::new();
        insert_text(&mut cause, "reason", &self.reason);
        insert_text(&mut cause, "message", &self.message);
        insert_text(&mut cause, "field", &self.field);
        Value::Object(cause)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

fn insert_text(map: &mut Map, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key, text);
    }
}

/// One text as it is; several distinct ones as `[a, b]`.
///
/// ```
/// use crest_meta::status::aggregate;
/// assert_eq!(aggregate(["a".to_owned()]), "a");
/// assert_eq!(aggregate(["a".to_owned(), "b".to_owned(), "a".to_owned()]), "[a, b]");
/// ```
pub fn aggregate(texts: impl IntoIterator<Item = String>) -> String {
    let mut seen = std::collections::HashSet::new();
    let mut distinct: Vec<String> = texts.into_iter().filter(|text| seen.insert(text.clone())).collect();
    match distinct.len() {
        1 => distinct.remove(0),
        _ => format!("[{}]", distinct.join(", ")),
    }
}

fn generic_text(code: u16, verb: &str, server_message: &str) -> (&'static str, String) {
    let (reason, message) = match code {
        409 if verb.eq_ignore_ascii_case("POST") => {
            (reason::ALREADY_EXISTS, "the server reported a conflict")
        }
        409 => (reason::CONFLICT, "the server reported a conflict"),
        404 => (reason::NOT_FOUND, "the server could not find the requested resource"),
        400 => (reason::BAD_REQUEST, "the server rejected our request for an unknown reason"),
        401 => (reason::UNAUTHORIZED, "the server has asked for the client to provide credentials"),
        403 => (reason::FORBIDDEN, server_message),
        406 if server_message.is_empty() || server_message == "unknown" => (
            reason::NOT_ACCEPTABLE,
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => (reason::NOT_ACCEPTABLE, server_message),
        415 => (reason::UNSUPPORTED_MEDIA_TYPE, server_message),
        405 => {
            (reason::METHOD_NOT_ALLOWED, "the server does not allow this method on the requested resource")
        }
        422 => (reason::INVALID, "the server rejected our request due to an error in our request"),
        503 => (reason::SERVICE_UNAVAILABLE, "the server is currently unable to handle the request"),
        504 => (
            reason::TIMEOUT,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        429 => (
            reason::TOO_MANY_REQUESTS,
            "the server has received too many requests and has asked us to try again later",
        ),
        500.. => {
            let shown = go_fmt::quote(server_message);
            let message =
                format!("an error on the server ({shown}) has prevented the request from succeeding");
            return (reason::INTERNAL_ERROR, message);
        }
        _ => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            return ("", message);
        }
    };
    (reason, message.to_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::FieldPath;
    use crate::wire::json;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(status: &Status, expected: Expect) {
        expected.assert_eq(&json::to_string(&status.to_value()));
        let declared = json::parse(&status.to_json()).expect("what is written can be read").value;
        assert_eq!(declared, status.to_value(), "the order is all that differs");
    }

    fn widgets() -> GroupResource {
        GroupResource::new("pub.example.com", "widgets")
    }

    #[test]
    fn bodies_are_those_of_the_reference() {
        let core = GroupResource::new("", "configmaps");
        check(
            &Status::not_found(&core, "nope"),
            expect![[
                r#"{"apiVersion":"v1","code":404,"details":{"kind":"configmaps","name":"nope"},"kind":"Status","message":"configmaps \"nope\" not found","metadata":{},"reason":"NotFound","status":"Failure"}"#
            ]],
        );
        check(
            &Status::bad_request("no"),
            expect![[
                r#"{"apiVersion":"v1","code":400,"kind":"Status","message":"no","metadata":{},"reason":"BadRequest","status":"Failure"}"#
            ]],
        );
        check(
            &Status::unknown(500, "resourceVersion should not be set on objects to be created"),
            expect![[
                r#"{"apiVersion":"v1","code":500,"kind":"Status","message":"resourceVersion should not be set on objects to be created","metadata":{},"status":"Failure"}"#
            ]],
        );
        check(
            &Status::generic(404, "GET", &GroupResource::default(), "", ""),
            expect![[
                r#"{"apiVersion":"v1","code":404,"details":{},"kind":"Status","message":"the server could not find the requested resource","metadata":{},"reason":"NotFound","status":"Failure"}"#
            ]],
        );
        check(
            &Status::success(StatusDetails { uid: "u".into(), ..StatusDetails::of_resource(&core, "a") }),
            expect![[
                r#"{"apiVersion":"v1","details":{"kind":"configmaps","name":"a","uid":"u"},"kind":"Status","metadata":{},"status":"Success"}"#
            ]],
        );
        check(
            &Status::resource_expired("too old").with_continue("t"),
            expect![[
                r#"{"apiVersion":"v1","code":410,"kind":"Status","message":"too old","metadata":{"continue":"t"},"reason":"Expired","status":"Failure"}"#
            ]],
        );
        check(
            &Status::internal_error("boom"),
            expect![[
                r#"{"apiVersion":"v1","code":500,"details":{"causes":[{"message":"boom"}]},"kind":"Status","message":"Internal error occurred: boom","metadata":{},"reason":"InternalError","status":"Failure"}"#
            ]],
        );
        check(
            &Status::timeout("Too large resource version: 9, current: 3", 1).with_cause(Cause {
                reason: cause::RESOURCE_VERSION_TOO_LARGE.into(),
                message: "Too large resource version".into(),
                ..Cause::default()
            }),
            expect![[
                r#"{"apiVersion":"v1","code":504,"details":{"causes":[{"message":"Too large resource version","reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1},"kind":"Status","message":"Timeout: Too large resource version: 9, current: 3","metadata":{},"reason":"Timeout","status":"Failure"}"#
            ]],
        );
    }

    #[test]
    fn invalid_lists_each_text_once_and_every_cause() {
        let field = FieldPath::ROOT.field("a");
        let errors = [
            FieldError::required(&field, ""),
            FieldError::invalid(&field, "x", "no"),
            FieldError::required(&field, ""),
        ];
        let kind = GroupKind::new("pub.example.com", "Widget");
        check(
            &Status::invalid(&kind, "w", &errors),
            expect![[
                r#"{"apiVersion":"v1","code":422,"details":{"causes":[{"field":"a","message":"Required value","reason":"FieldValueRequired"},{"field":"a","message":"Invalid value: \"x\": no","reason":"FieldValueInvalid"},{"field":"a","message":"Required value","reason":"FieldValueRequired"}],"group":"pub.example.com","kind":"Widget","name":"w"},"kind":"Status","message":"Widget.pub.example.com \"w\" is invalid: [a: Required value, a: Invalid value: \"x\": no]","metadata":{},"reason":"Invalid","status":"Failure"}"#
            ]],
        );
        assert_eq!(Status::invalid(&kind, "", &[]).message, r#"Widget.pub.example.com "" is invalid"#);
    }

    #[test]
    fn members_stand_in_the_order_of_the_references_type() {
        let mut status = Status::timeout("late", 1).with_continue("t");
        status = status.with_cause(Cause { reason: "R".into(), message: "m".into(), field: "f".into() });
        let text = String::from_utf8(status.to_json()).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"t"},"status":"Failure","message":"Timeout: late","reason":"Timeout","details":{"causes":[{"reason":"R","message":"m","field":"f"}],"retryAfterSeconds":1},"code":504}"#
        );
        let text = String::from_utf8(Status::success(StatusDetails::default()).to_json()).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{}}"#
        );
    }

    #[test]
    fn messages_name_what_they_are_about() {
        for (status, code, message) in [
            (Status::already_exists(&widgets(), "a"), 409, r#"widgets.pub.example.com "a" already exists"#),
            (
                Status::modified(&widgets(), "a"),
                409,
                r#"Operation cannot be fulfilled on widgets.pub.example.com "a": the object has been modified; please apply your changes to the latest version and try again"#,
            ),
            (Status::forbidden(&widgets(), "", "no"), 403, "widgets.pub.example.com is forbidden: no"),
            (
                Status::forbidden(&widgets(), "a", "no"),
                403,
                r#"widgets.pub.example.com "a" is forbidden: no"#,
            ),
            (Status::forbidden(&GroupResource::default(), "", "no"), 403, "forbidden: no"),
            (
                Status::method_not_supported(&widgets(), "delete"),
                405,
                r#"delete is not supported on resources of kind "widgets.pub.example.com""#,
            ),
            (Status::too_large("limit is 3145728"), 413, "Request entity too large: limit is 3145728"),
            (
                Status::not_acceptable(&["application/json", "application/yaml"]),
                406,
                "only the following media types are accepted: application/json, application/yaml",
            ),
            (
                Status::server_timeout(&widgets(), "list", 1),
                500,
                "The list operation against widgets.pub.example.com could not be completed at this time, please try again.",
            ),
            (
                Status::generic(422, "PATCH", &widgets(), "a", ""),
                422,
                "the server rejected our request due to an error in our request (patch widgets.pub.example.com a)",
            ),
            (Status::unauthorized(""), 401, "not authorized"),
        ] {
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }
}
