//! How versions are converted: not at all, or by a webhook.
//!
//! Upstream: apiserver/pkg/util/webhook/validation.go, v1.36.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meta::{FieldError, FieldPath, Value, names};

use super::options::Options;
use super::spec::one_of;
use super::view::{Definition, list, present, text};
use crate::go_url::Url;

/// The versions of `ConversionReview` that the server can speak.
const RECOGNIZED: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn validate(
    definition: &Definition<'_>,
    options: &Options,
    path: &FieldPath<'_>,
) -> Vec<FieldError> {
    let Some(conversion) = definition.conversion else {
        return Vec::new();
    };
    let strategy = text(conversion, "strategy");
    let mut errors = one_of(strategy, &["None", "Webhook"], &path.field("strategy"));
    let versions = review_versions(conversion);
    if strategy == "Webhook" {
        errors.extend(client_config(conversion, options, &path.field("webhookClientConfig")));
        errors.extend(validate_versions(versions, options, &path.field("conversionReviewVersions")));
        return errors;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if config(conversion).is_some() {
        errors.push(FieldError::forbidden(&path.field("webhookClientConfig"), detail));
    }
    if !versions.is_empty() {
        errors.push(FieldError::forbidden(&path.field("conversionReviewVersions"), detail));
    }
    errors
}

/// A definition that keeps unknown fields at large cannot convert by webhook.
pub(super) fn forbids_preserving(definition: &Definition<'_>, path: &FieldPath<'_>) -> Option<FieldError> {
    let strategy = text(definition.conversion?, "strategy");
    let detail = "must be None if spec.preserveUnknownFields is true";
    (strategy != "None").then(|| FieldError::invalid(&path.field("strategy"), strategy, detail))
}

/// Whether the server can speak to the webhook, or none is declared.
pub(super) fn is_recognized_or_empty(conversion: &Value) -> bool {
    let versions = review_versions(conversion);
    versions.is_empty() || has_recognized(versions)
}

pub(super) fn has_broken_ca_bundle(conversion: &Value) -> bool {
    ca_bundle(conversion).is_some_and(|bundle| ca_bundle_problem(bundle).is_some())
}

fn config(conversion: &Value) -> Option<&Value> {
    present(present(conversion, "webhook")?, "clientConfig")
}

fn review_versions(conversion: &Value) -> &[Value] {
    present(conversion, "webhook").map_or(&[], |webhook| list(webhook, "conversionReviewVersions"))
}

fn has_recognized(versions: &[Value]) -> bool {
    versions.iter().filter_map(Value::as_str).any(|version| RECOGNIZED.contains(&version))
}

fn ca_bundle(conversion: &Value) -> Option<&str> {
    config(conversion)?.get("caBundle")?.as_str().filter(|bundle| !bundle.is_empty())
}

fn client_config(conversion: &Value, options: &Options, path: &FieldPath<'_>) -> Vec<FieldError> {
    let Some(config) = config(conversion) else {
        return vec![FieldError::required(path, "required when strategy is set to Webhook")];
    };
    let url = config.get("url").and_then(Value::as_str);
    let mut errors = match (url, present(config, "service")) {
        (Some(url), None) => validate_url(url, &path.field("url")),
        (None, Some(service)) => validate_service(service, &path.field("service")),
        _ => vec![FieldError::required(path, "exactly one of url or service is required")],
    };
    if !options.allow_broken_ca_bundle
        && let Some(bundle) = ca_bundle(conversion)
        && let Some(problem) = ca_bundle_problem(bundle)
    {
        errors.push(FieldError::invalid(&path.field("caBundle"), bundle, problem));
    }
    errors
}

fn validate_url(text: &str, path: &FieldPath<'_>) -> Vec<FieldError> {
    let form = "; desired format: https://host[/path]";
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            return vec![FieldError::required(path, format!("url must be a valid URL: {error}{form}"))];
        }
    };
    let mut errors = Vec::new();
    if url.scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{form}");
        errors.push(FieldError::invalid(path, url.scheme.as_str(), detail));
    }
    if url.host.is_empty() {
        errors.push(FieldError::invalid(path, "", format!("host must be specified{form}")));
    }
    if let Some(user) = url.user {
        errors.push(FieldError::invalid(path, user, "user information is not permitted in the URL"));
    }
    if !url.fragment.is_empty() {
        errors.push(FieldError::invalid(path, url.fragment, "fragments are not permitted in the URL"));
    }
    if !url.query.is_empty() {
        errors.push(FieldError::invalid(path, url.query, "query parameters are not permitted in the URL"));
    }
    errors
}

fn validate_service(service: &Value, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // The reference passes the two in the wrong order, so each is reported as the other.
    for (field, asked) in [("name", "namespace"), ("namespace", "name")] {
        if text(service, asked).is_empty() {
            errors.push(FieldError::required(&path.field(field), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_int).unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.field("port"), port, detail));
    }
    if let Some(text) = service.get("path").and_then(Value::as_str) {
        errors.extend(validate_path(text, &path.field("path")));
    }
    errors
}

fn validate_path(text: &str, path: &FieldPath<'_>) -> Vec<FieldError> {
    match text {
        "" | "/" => return Vec::new(),
        "//" => return vec![FieldError::invalid(path, text, "segment[0] may not be empty")],
        _ => {}
    }
    let mut errors = Vec::new();
    if !text.starts_with('/') {
        errors.push(FieldError::invalid(path, text, "must start with a '/'"));
    }
    let mut after_first = text.chars();
    after_first.next();
    let steps = after_first.as_str();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            errors.push(FieldError::invalid(path, text, format!("segment[{index}] may not be empty")));
            continue;
        }
        for problem in names::dns1123_subdomain(step) {
            errors.push(FieldError::invalid(path, text, format!("segment[{index}]: {problem}")));
        }
    }
    errors
}

fn validate_versions(versions: &[Value], options: &Options, path: &FieldPath<'_>) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        let version = version.as_str().unwrap_or_default();
        if !seen.insert(version) {
            errors.push(FieldError::invalid(&path.index(index), version, "duplicate version"));
            continue;
        }
        for problem in names::dns1035_label(version) {
            errors.push(FieldError::invalid(&path.index(index), version, problem));
        }
    }
    if options.require_recognized_review_version && !has_recognized(versions) {
        let detail = format!("must include at least one of {}", RECOGNIZED.join(", "));
        errors.push(FieldError::invalid(path, versions.to_vec(), detail));
    }
    errors
}

/// Why a bundle holds no certificate that could be trusted. It is base64 of PEM.
///
/// DIFFERENCE: the blocks are not parsed as certificates here, only their encoding is checked.
fn ca_bundle_problem(bundle: &str) -> Option<String> {
    let unable = || Some("unable to load root certificates: unable to parse bytes as PEM block".to_owned());
    let Ok(bytes) = STANDARD.decode(bundle) else {
        return unable();
    };
    let text = String::from_utf8_lossy(&bytes);
    let Some((_, after)) = text.split_once("-----BEGIN CERTIFICATE-----") else {
        return unable();
    };
    let Some((body, _)) = after.split_once("-----END CERTIFICATE-----") else {
        return unable();
    };
    let digits: String = body.split_whitespace().collect();
    if STANDARD.decode(digits).is_ok_and(|der| !der.is_empty()) { None } else { unable() }
}
