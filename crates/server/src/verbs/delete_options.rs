//! The options of a deletion as a request carries them: in its body or, without one, in its query.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/delete.go, apimachinery/pkg/apis/meta/internalversion/scheme, v1.36.

use meta::gvk::parse_api_version;
use meta::status::Status;
use meta::wire::negotiate::MediaType;
use meta::wire::{json, yaml};
use meta::{Text, Value};
use schema::typed;

use super::options::DeleteOptions;
use super::{Call, body};

const KIND: &str = "DeleteOptions";

pub(super) fn read(call: &Call) -> Result<DeleteOptions, Status> {
    if call.body.is_empty() {
        return DeleteOptions::from_query(&call.info.query);
    }
    let value = match body::options_format(call)? {
        MediaType::Protobuf => from_protobuf(&call.body),
        MediaType::Json => json::parse(&call.body)
            .map_err(|error| body::interpreting(&error.to_string()))
            .and_then(|read| decode(read.value)),
        MediaType::Yaml => {
            yaml::parse(&call.body).map_err(|error| error.to_string()).and_then(|read| decode(read.value))
        }
    };
    DeleteOptions::from_value(&value.map_err(Status::bad_request)?)
}

fn kind() -> Option<typed::Kind> {
    typed::kind("meta.k8s.io", "v1", KIND)
}

fn from_protobuf(bytes: &[u8]) -> Result<Value, String> {
    let envelope = typed::binary::Envelope::open(bytes).map_err(|error| error.to_string())?;
    match kind() {
        Some(kind) => typed::binary::read(kind, envelope.message).map_err(|error| error.to_string()),
        None => Ok(Value::Null),
    }
}

/// Takes a tree for options, which may say that they are those of any group.
fn decode(mut value: Value) -> Result<Value, String> {
    let (api_version, named) = body::named_kind(&value).map_err(|why| body::interpreting(&why))?;
    parse_api_version(&api_version).map_err(|error| error.to_string())?;
    if !named.is_empty() && named != KIND {
        return Err(foreign(&api_version, &named));
    }
    if let Some(kind) = kind() {
        typed::decode(kind, &mut value).map_err(|error| error.to_string())?;
    }
    Ok(value)
}

/// Why something else cannot be taken for options.
fn foreign(api_version: &Text, named: &Text) -> String {
    let known = match api_version.as_str() {
        "" | "meta.k8s.io/v1" => matches!(
            named.as_str(),
            "CreateOptions"
                | "GetOptions"
                | "ListOptions"
                | "PatchOptions"
                | "PartialObjectMetadata"
                | "PartialObjectMetadataList"
                | "Table"
                | "TableOptions"
                | "UpdateOptions"
                | "WatchEvent"
        ),
        "v1" => matches!(
            named.as_str(),
            "APIGroup" | "APIGroupList" | "APIResourceList" | "APIVersions" | "Status"
        ),
        _ => false,
    };
    if known {
        return format!("converting (v1.{named}) to (v1.{KIND}): unknown conversion");
    }
    let version = if api_version.is_empty() { "meta.k8s.io/v1" } else { api_version };
    format!(
        "no kind \"{named}\" is registered for version \"{version}\" in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_of_a_deletion_are_taken() {
        let read = |text: &str| decode(json::parse(text.as_bytes()).unwrap().value);
        for accepted in [
            "{}",
            "null",
            r#"{"kind":"DeleteOptions"}"#,
            r#"{"kind":"DeleteOptions","apiVersion":"v1"}"#,
            r#"{"kind":"DeleteOptions","apiVersion":"apps/v1"}"#,
            r#"{"apiVersion":"nobodys/v3","unknown":1}"#,
        ] {
            assert!(read(accepted).is_ok(), "{accepted}");
        }
        for (text, why) in [
            (
                "[]",
                "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            ),
            (r#"{"apiVersion":"a/b/c"}"#, "unexpected GroupVersion string: a/b/c"),
            (
                r#"{"kind":"ListOptions","apiVersion":"meta.k8s.io/v1"}"#,
                "converting (v1.ListOptions) to (v1.DeleteOptions): unknown conversion",
            ),
            (
                r#"{"kind":"Status","apiVersion":"v1"}"#,
                "converting (v1.Status) to (v1.DeleteOptions): unknown conversion",
            ),
            (
                r#"{"kind":"ConfigMap","apiVersion":"v1"}"#,
                "no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\"",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), why, "{text}");
        }
    }
}
