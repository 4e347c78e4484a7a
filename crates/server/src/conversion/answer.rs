//! What a conversion webhook may answer, and what is said about anything else.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, v1.36.

use meta::gvk::{GroupVersion, Gvk, parse_api_version};
use meta::object::{validate_annotations, validate_labels};
use meta::wire::{json, yaml};
use meta::{FieldPath, Map, Meta, Value, go_fmt};

use super::review::ReviewVersion;

/// Why an answer is of no use. The texts are the reference's, behind the name of what was to be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AnswerError {
    /// It is no answer to the question, or says that the webhook failed.
    Failed(String),
    Count {
        returned: usize,
        expected: usize,
    },
    /// One of its objects is none; told without saying what was to be converted.
    Unreadable(String),
    Object(String),
    Identity(String),
    Metadata(String),
}

impl AnswerError {
    /// The text for an object of this kind and version.
    pub(super) fn text(&self, gvk: &Gvk) -> String {
        match self {
            AnswerError::Failed(why) => format!("conversion webhook for {gvk} failed: {why}"),
            AnswerError::Count { returned, expected } => {
                format!("conversion webhook for {gvk} returned {returned} objects, expected {expected}")
            }
            AnswerError::Unreadable(why) => why.clone(),
            AnswerError::Object(why) => {
                format!("conversion webhook for {gvk} returned invalid object at index 0: {why}")
            }
            AnswerError::Identity(why) => {
                format!("conversion webhook for {gvk} returned invalid object: {why}")
            }
            AnswerError::Metadata(why) => {
                format!("conversion webhook for {gvk} returned invalid metadata: {why}")
            }
        }
    }

    /// The kind of failure, as metrics name it.
    pub(super) fn metric(&self) -> &'static str {
        match self {
            AnswerError::Failed(_) => "conversion_webhook_malformed_response_failure",
            AnswerError::Count { .. } => "conversion_webhook_partial_response_failure",
            AnswerError::Unreadable(_)
            | AnswerError::Object(_)
            | AnswerError::Identity(_)
            | AnswerError::Metadata(_) => "conversion_webhook_invalid_converted_object_failure",
        }
    }
}

/// The objects in an answer to the question with this uid, as many as were asked for.
pub(super) fn objects(
    version: ReviewVersion,
    uid: &str,
    body: &[u8],
    expected: usize,
) -> Result<Vec<Value>, AnswerError> {
    let mut answer = decode(version, body).map_err(AnswerError::Failed)?;
    let failed = |why: String| Err(AnswerError::Failed(why));
    let Some(Value::Object(response)) = answer.get_mut("response") else {
        return failed("no response provided".to_owned());
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let answered = text(response.get("uid"));
    // The older version never checked it.
    if version == ReviewVersion::V1 && answered != uid {
        let (uid, answered) = (go_fmt::quote(uid), go_fmt::quote(&answered));
        return failed(format!("expected response.uid={uid}, got {answered}"));
    }
    let result = response.get("result");
    let status = text(result.and_then(|result| result.get("status")));
    if status != "Success" {
        let message = text(result.and_then(|result| result.get("message")));
        return failed(if message.is_empty() {
            format!("response.result.status was '{status}', not 'Success'")
        } else {
            message
        });
    }
    let objects = match response.remove("convertedObjects") {
        Some(Value::Array(objects)) => objects,
        _ => Vec::new(),
    };
    if objects.len() != expected {
        return Err(AnswerError::Count { returned: objects.len(), expected });
    }
    Ok(objects)
}

/// Reads a review of this version.
fn decode(version: ReviewVersion, body: &[u8]) -> Result<Map, String> {
    const DETECTOR: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let undetected = |why: String| format!("couldn't get version/kind; json parse error: {why}");
    // What does not begin like JSON is taken for YAML.
    let read = if body.trim_ascii_start().starts_with(b"{") {
        json::parse(body).map_err(|error| undetected(error.to_string()))?.value
    } else {
        yaml::parse(body).map_err(|error| error.to_string())?.value
    };
    let answer = match read {
        Value::Object(answer) => answer,
        Value::Null => Map::new(),
        other => {
            let found = go_fmt::json_kind(&other);
            return Err(undetected(format!(
                "json: cannot unmarshal {found} into Go value of type {DETECTOR}"
            )));
        }
    };
    for field in ["apiVersion", "kind"] {
        check_type(&answer, field, &format!(".{field}"), "string", Expected::Text).map_err(undetected)?;
    }
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let found = parse_api_version(text("apiVersion")).map_err(|error| error.to_string())?;
    let found = found.with_kind(text("kind"));
    check_kind(version, &found)?;
    check_fields(version, &answer)?;
    let expected = Gvk::new("apiextensions.k8s.io", version.name(), "ConversionReview");
    if version == ReviewVersion::V1 && found != expected {
        // Reached only by an answer that does not say what it is: it has been read as what was expected.
        return Err(format!("expected webhook response of {expected}, got {found}"));
    }
    Ok(answer)
}

/// An answer may leave out what it is; one that says it is something else cannot be read.
fn check_kind(version: ReviewVersion, found: &Gvk) -> Result<(), String> {
    let group_version = if found.version.is_empty() {
        GroupVersion::new("apiextensions.k8s.io", version.name())
    } else {
        found.group_version()
    };
    let kind = if found.kind.is_empty() { "ConversionReview" } else { found.kind.as_str() };
    let known = matches!(
        (group_version.group.as_str(), group_version.version.as_str(), kind),
        ("apiextensions.k8s.io", "v1" | "v1beta1", "ConversionReview") | ("", "v1", "Status")
    );
    if !known {
        let (kind, group_version) = (go_fmt::quote(kind), go_fmt::quote(&group_version.to_string()));
        return Err(format!(
            "no kind {kind} is registered for version {group_version} in scheme \"k8s.io/apiserver/pkg/util/webhook/client.go:71\""
        ));
    }
    if kind != "ConversionReview" || group_version.version != version.name() {
        let (from, to) = (&group_version.version, version.name());
        return Err(format!("converting ({from}.{kind}) to ({to}.ConversionReview): unknown conversion"));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Expected {
    Text,
    List,
    Object,
}

/// The types of what is looked at, in the words of Go's decoder.
fn check_fields(version: ReviewVersion, answer: &Map) -> Result<(), String> {
    let package = version.name();
    check_type(
        answer,
        "response",
        "ConversionReview.response",
        &format!("{package}.ConversionResponse"),
        Expected::Object,
    )?;
    let Some(Value::Object(response)) = answer.get("response") else { return Ok(()) };
    check_type(response, "uid", "ConversionResponse.response.uid", "types.UID", Expected::Text)?;
    check_type(
        response,
        "convertedObjects",
        "ConversionResponse.response.convertedObjects",
        "[]runtime.RawExtension",
        Expected::List,
    )?;
    check_type(response, "result", "ConversionResponse.response.result", "v1.Status", Expected::Object)?;
    let Some(Value::Object(result)) = response.get("result") else { return Ok(()) };
    check_type(result, "status", "Status.response.result.status", "string", Expected::Text)?;
    check_type(result, "message", "Status.response.result.message", "string", Expected::Text)
}

fn check_type(map: &Map, key: &str, field: &str, go_type: &str, expected: Expected) -> Result<(), String> {
    match (map.get(key), expected) {
        (None | Some(Value::Null), _)
        | (Some(Value::String(_)), Expected::Text)
        | (Some(Value::Array(_)), Expected::List)
        | (Some(Value::Object(_)), Expected::Object) => Ok(()),
        (Some(other), _) => {
            let found = go_fmt::json_kind(other);
            Err(format!("json: cannot unmarshal {found} into Go struct field {field} of type {go_type}"))
        }
    }
}

/// The converted object that takes the place of the original: with its metadata, except labels and annotations.
pub(super) fn accept(original: &Value, converted: Value, desired: &str) -> Result<Value, AnswerError> {
    let mut converted = readable(converted)?;
    let kind_of = |kind: Option<&Value>| kind.and_then(Value::as_str).unwrap_or_default().to_owned();
    let named = parse_api_version(&kind_of(converted.get("apiVersion"))).ok();
    // What names no version that can be read has no kind either.
    let kind = named.as_ref().map(|_| kind_of(converted.get("kind"))).unwrap_or_default();
    let received = named.map(|version| version.to_string()).unwrap_or_default();
    if received != desired {
        let why = format!("invalid groupVersion (expected {desired}, received {received})");
        return Err(AnswerError::Object(why));
    }
    let expected = meta::object::kind(original);
    if kind != expected {
        return Err(AnswerError::Object(format!("invalid kind (expected {expected}, received {kind})")));
    }
    let before = Meta::of(original);
    let after = converted.get("metadata");
    let text =
        |key: &str| after.and_then(|metadata| metadata.get(key)).and_then(Value::as_str).unwrap_or_default();
    for (what, before, after) in [
        ("name", before.name(), text("name")),
        ("namespace", before.namespace(), text("namespace")),
        ("UID", before.uid(), text("uid")),
    ] {
        if before != after {
            return Err(AnswerError::Identity(format!("must have the same {what}: {before} != {after}")));
        }
    }
    let metadata = restored_metadata(original, &converted).map_err(AnswerError::Metadata)?;
    converted.insert("metadata", metadata);
    Ok(Value::Object(converted))
}

/// An object as it stands in an answer.
fn readable(converted: Value) -> Result<Map, AnswerError> {
    let unreadable = |why: String| Err(AnswerError::Unreadable(why));
    match converted {
        Value::Object(object) => {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
            if kind.is_empty() {
                let text = json::to_string(&Value::Object(object));
                return unreadable(format!("Object 'Kind' is missing in '{text}'"));
            }
            Ok(object)
        }
        Value::Null => unreadable("unexpected end of JSON input".to_owned()),
        other => {
            let found = go_fmt::json_kind(&other);
            unreadable(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            ))
        }
    }
}

/// The metadata of the original with the labels and annotations of the converted object.
fn restored_metadata(original: &Value, converted: &Map) -> Result<Map, String> {
    let answered = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(answered)) => answered,
        Some(other) => {
            return Err(format!("invalid metadata of type {} in converted object", go_fmt::type_name(other)));
        }
    };
    let mut metadata = original.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        let new = match answered.get(field) {
            None | Some(Value::Null) => {
                metadata.remove(field);
                continue;
            }
            Some(Value::Object(new)) => new,
            Some(other) => {
                return Err(format!(
                    "invalid metadata.{field} of type {} in converted object",
                    go_fmt::type_name(other)
                ));
            }
        };
        for (key, value) in new.iter() {
            if value.as_str().is_none() {
                let found = go_fmt::type_name(value);
                return Err(format!(
                    "metadata.{field}[{key}] must be a string, but is {found} in converted object"
                ));
            }
        }
        // What was there before may stay, however odd it is.
        if metadata.get(field).and_then(Value::as_object) != Some(new) {
            validate(field, new)?;
        }
        metadata.insert(field, new.clone());
    }
    Ok(metadata)
}

fn validate(field: &str, texts: &Map) -> Result<(), String> {
    let metadata: Map = [(field, Value::Object(texts.clone()))].into_iter().collect();
    let path = FieldPath::ROOT.field("metadata");
    let errors = match field {
        "labels" => validate_labels(Meta::new(&metadata), &path.field("labels")),
        // The reference leaves a letter out.
        _ => validate_annotations(Meta::new(&metadata), &path.field("annotation")),
    };
    if errors.is_empty() {
        return Ok(());
    }
    Err(meta::status::aggregate(errors.iter().map(ToString::to_string)))
}

#[cfg(test)]
mod tests;
