//! Reads a patched object as the reference reads one it holds as a map: like decoding, but with other words.
//!
//! Upstream: apimachinery/pkg/runtime/converter.go, v1.36.

use meta::Value;
use meta::go_fmt::type_name;

use super::types::{Kind, Shape, TypeRef};
use super::{DecodeError, Decoded, decode, go_base64};
use crate::go_text::kind_name;

/// Makes a patched object what the reference would keep. On error the object is left half-way.
pub fn restore(kind: Kind, object: &mut Value) -> Result<Decoded, DecodeError> {
    let root = TypeRef { id: kind.type_id(), pointer: false };
    check(root, object).map_err(DecodeError::new)?;
    decode(kind, object)
}

/// The first thing that cannot be restored. What reads itself is left to decoding, which has the same words for it.
fn check(ty: TypeRef, value: &Value) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let go_type = &ty.get().go_name;
    match (&ty.get().shape, value) {
        (Shape::Struct(strukt), Value::Object(map)) => {
            let members = map.iter().filter_map(|(key, value)| Some((strukt.field(key)?, value)));
            members.into_iter().try_for_each(|(field, value)| check(field.ty, value))
        }
        (Shape::Struct(_), other) => Err(format!("cannot restore struct from: {}", kind_name(other))),
        (Shape::Map(element), Value::Object(map)) => {
            map.values().try_for_each(|value| check(*element, value))
        }
        (Shape::Map(_), other) => Err(format!("cannot restore map from {}", kind_name(other))),
        (Shape::List(element), Value::Array(items)) => {
            items.iter().try_for_each(|item| check(*element, item))
        }
        (Shape::Bytes, Value::String(text)) => go_base64::normalise(text)
            .map(|_| ())
            .map_err(|error| format!("error decoding from json: {error}")),
        (Shape::List(_), other)
        | (Shape::Bytes, other @ (Value::Object(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))) => {
            Err(format!("cannot restore slice from {}", kind_name(other)))
        }
        (Shape::String, Value::String(_)) | (Shape::Bool, Value::Bool(_)) => Ok(()),
        (Shape::Int32 | Shape::Int64 | Shape::Float, Value::Int(_)) | (Shape::Float, Value::Float(_)) => {
            Ok(())
        }
        // Go can turn a number into a string and a float into an integer, and so says that it will not.
        (Shape::String, Value::Int(_)) | (Shape::Int32 | Shape::Int64, Value::Float(_)) => {
            Err(format!("cannot convert {} to {go_type}", type_name(value)))
        }
        (Shape::String, _) => Err("unrecognized type: string".to_owned()),
        (Shape::Bool, _) => Err("unrecognized type: bool".to_owned()),
        (Shape::Int32, _) => Err("unrecognized type: int32".to_owned()),
        (Shape::Int64, _) => Err("unrecognized type: int64".to_owned()),
        (Shape::Float, _) => Err("unrecognized type: float64".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;
    use crate::typed::kind;

    #[test]
    fn what_does_not_fit_is_named_as_the_reference_does() {
        for (group, name, text, expected) in [
            ("", "ConfigMap", r#"{"data":"x"}"#, "cannot restore map from string"),
            ("", "ConfigMap", r#"{"data":{"k":1}}"#, "cannot convert int64 to string"),
            ("", "ConfigMap", r#"{"metadata":[]}"#, "cannot restore struct from: slice"),
            ("", "ConfigMap", r#"{"metadata":{"finalizers":{}}}"#, "cannot restore slice from map"),
            ("", "ConfigMap", r#"{"immutable":"yes"}"#, "unrecognized type: bool"),
            (
                "",
                "Secret",
                r#"{"data":{"k":"1"}}"#,
                "error decoding from json: illegal base64 data at input byte 0",
            ),
            (
                "coordination.k8s.io",
                "Lease",
                r#"{"spec":{"leaseDurationSeconds":1.5}}"#,
                "cannot convert float64 to int32",
            ),
        ] {
            let mut object = json::parse(text.as_bytes()).unwrap().value;
            let restored = restore(kind(group, "v1", name).unwrap(), &mut object);
            assert_eq!(restored.map_err(|error| error.to_string()), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_fits_is_decoded() {
        let mut object = json::parse(br#"{"unknown":1,"data":{"a":null}}"#).unwrap().value;
        let restored = restore(kind("", "v1", "ConfigMap").unwrap(), &mut object).unwrap();
        assert_eq!(restored.unknown, ["unknown"]);
        assert_eq!(json::to_string(&object), r#"{"data":{"a":""},"metadata":{}}"#);
    }
}
