//! Reading a JSON patch: from a request with the reference's answers, or from a webhook.

use super::{JsonPatch, MAX_OPERATIONS, Operation, PatchError};
use crate::patch::{Decoded, Strictness};
use crate::wire::json;
use crate::{Map, Status, Value, go_fmt};

const FIELDS: [&str; 4] = ["op", "path", "from", "value"];

impl JsonPatch {
    /// Reads a patch that some component made. Errors have the words of the reference's library.
    pub fn decode(bytes: &[u8]) -> Result<Self, PatchError> {
        let parsed = json::parse(bytes).map_err(|error| PatchError::new(error.to_string()))?;
        JsonPatch::from_value(parsed.value)
    }

    /// Reads the body of a request. Errors are the reference's answers.
    pub fn from_request(bytes: &[u8], strictness: Strictness) -> Result<Decoded<Self>, Status> {
        let context = if strictness == Strictness::Report { "error decoding patch: " } else { "" };
        let parsed = json::parse(bytes).map_err(|error| Status::bad_request(format!("{context}{error}")))?;
        let mut strict_errors = Vec::new();
        if strictness == Strictness::Report {
            check_types(&parsed.value).map_err(|error| Status::bad_request(format!("{context}{error}")))?;
            strict_errors = find_strict_errors(&parsed);
        }
        let patch =
            JsonPatch::from_value(parsed.value).map_err(|error| Status::bad_request(error.to_string()))?;
        if patch.len() > MAX_OPERATIONS {
            return Err(Status::too_large(format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                patch.len()
            )));
        }
        Ok(Decoded { patch, strict_errors })
    }

    fn from_value(value: Value) -> Result<Self, PatchError> {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            other => {
                return Err(PatchError::new(unmarshal_error(&other, "Go value of type jsonpatch.Patch")));
            }
        };
        let operations = items.into_iter().map(operation).collect::<Result<_, _>>()?;
        Ok(JsonPatch { operations })
    }
}

fn operation(value: Value) -> Result<Operation, PatchError> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => {
            return Err(PatchError::new(unmarshal_error(&other, "Go value of type jsonpatch.Operation")));
        }
    };
    let kind = text_field(&mut fields, "op", "");
    Ok(Operation {
        kind: kind.unwrap_or_else(|_| "unknown".to_owned()),
        path: text_field(&mut fields, "path", "operation missing path field"),
        from: text_field(&mut fields, "from", "operation, missing from field"),
        value: fields.remove("value"),
    })
}

fn text_field(fields: &mut Map, name: &str, missing: &str) -> Result<String, PatchError> {
    match fields.remove(name) {
        None | Some(Value::Null) => Err(PatchError::missing(missing)),
        Some(Value::String(text)) => Ok(text.into()),
        Some(other) => Err(PatchError::new(unmarshal_error(&other, "Go value of type string"))),
    }
}

fn unmarshal_error(found: &Value, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into {wanted}", go_fmt::json_kind(found))
}

/// The first value of a wrong type, as the typed reader reports it.
fn check_types(value: &Value) -> Result<(), String> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return Ok(()),
        other => return Err(unmarshal_error(other, "Go value of type []handlers.jsonPatchOp")),
    };
    for item in items {
        match item {
            Value::Null => {}
            Value::Object(fields) => check_fields(fields)?,
            other => return Err(unmarshal_error(other, "Go value of type handlers.jsonPatchOp")),
        }
    }
    Ok(())
}

fn check_fields(fields: &Map) -> Result<(), String> {
    for name in ["op", "path", "from"] {
        match fields.get(name) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => {
                let wanted = format!("Go struct field jsonPatchOp.{name} of type string");
                return Err(unmarshal_error(other, &wanted));
            }
        }
    }
    Ok(())
}

/// Duplicate and unknown fields, operation by operation. What an unknown field holds is not looked at.
fn find_strict_errors(parsed: &json::Parsed) -> Vec<String> {
    let mut errors = Vec::new();
    for (index, item) in parsed.value.as_array().unwrap_or_default().iter().enumerate() {
        let prefix = format!("[{index}].");
        for path in parsed.duplicates.iter().filter(|path| is_known(path, &prefix)) {
            errors.push(format!("json patch duplicate field {}", go_fmt::quote(path)));
        }
        let fields = item.as_object().into_iter().flat_map(Map::keys);
        for field in fields.filter(|field| !FIELDS.contains(field)) {
            let path = go_fmt::quote(&format!("{prefix}{field}"));
            errors.push(format!("json patch unknown field {path}"));
        }
    }
    errors
}

/// Whether a path leads into a known field of the operation with this prefix.
fn is_known(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| {
        let field = rest.split(['.', '[']).next().unwrap_or_default();
        FIELDS.contains(&field)
    })
}
