//! Scalars of an object as values of expressions, by their format.
//!
//! Relies on validation for well-formed text: the errors here are for what slips through it.
//!
//! Upstream: apiserver/pkg/cel/common/valuesunstructured.go and kube-openapi/pkg/validation/strfmt, v1.36.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cel::{Duration, EvalError, Evaluated, Timestamp, Value as Cel};
use meta::{Value, go_fmt};

use super::host::{Format, Kind};
use crate::formats;

/// An error about data that does not fit its schema.
pub(super) fn invalid<'a>(what: &str) -> Evaluated<'a> {
    Err(EvalError::new(format!("invalid data, {what}")))
}

#[expect(clippy::cast_precision_loss, reason = "a number of a schema of type number is a double")]
pub(super) fn double(value: &Value) -> Evaluated<'_> {
    match value {
        Value::Int(number) => Ok(Cel::Double(*number as f64)),
        Value::Float(number) => Ok(Cel::Double(*number)),
        other => invalid(&format!("expected float, got {}", go_fmt::type_name(other))),
    }
}

pub(super) fn text(format: Format, text: &str) -> Evaluated<'_> {
    let (read, what) = match format {
        Format::Plain => (Some(Cel::str(text)), "string"),
        Format::Bytes => (STANDARD.decode(text).ok().map(Cel::bytes), "byte formatted string"),
        Format::Duration => (duration(text).map(Cel::Duration), "duration"),
        Format::Date => {
            (Timestamp::parse(&format!("{text}T00:00:00Z")).map(Cel::Timestamp), "date formatted string")
        }
        Format::DateTime => (date_time(text).map(Cel::Timestamp), "date-time formatted string"),
    };
    read.ok_or_else(|| EvalError::new(format!("Invalid {what} {text}")))
}

/// Go's form, or numbers before words.
fn duration(text: &str) -> Option<Duration> {
    Duration::parse(text).or_else(|| formats::wordy_duration(text).map(Duration::from_nanos))
}

/// A moment; without an offset it is one in UTC.
fn date_time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")))
}

/// What is said about a value of a wrong type.
pub(super) fn mismatch<'a>(kind: &Kind<'_>, value: &Value) -> Evaluated<'a> {
    let found = go_fmt::type_name(value);
    match kind {
        Kind::IntOrString => invalid("expected XIntOrString value to be either a string or integer"),
        Kind::Map(_) | Kind::Object(_) => invalid("expected a map for the provided schema with type=object"),
        Kind::List(_) => invalid("expected an array for the provided schema with type=array"),
        Kind::Text(_) => invalid(&format!("expected string, got {found}")),
        Kind::Double => invalid(&format!("expected float, got {found}")),
        Kind::Int => invalid(&format!("expected int, got {found}")),
        Kind::Bool => invalid(&format!("expected bool, got {found}")),
        Kind::Unknown => Err(EvalError::new(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
        )),
    }
}
