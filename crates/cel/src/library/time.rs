//! Fields of timestamps and durations.

use crate::env::{Function, Library, Overload};
use crate::error::EvalError;
use crate::time::TimeField;
use crate::types::Type;
use crate::value::Value;

/// Function, overload stem, field, and what the function is for durations.
type Accessor = (&'static str, &'static str, TimeField, Option<DurationAccessor>);
/// Overload, and the nanoseconds that it counts.
type DurationAccessor = (&'static str, i64);

const FIELDS: &[Accessor] = &[
    ("getFullYear", "timestamp_to_year", TimeField::FullYear, None),
    ("getMonth", "timestamp_to_month", TimeField::Month, None),
    ("getDayOfYear", "timestamp_to_day_of_year", TimeField::DayOfYear, None),
    ("getDayOfMonth", "timestamp_to_day_of_month", TimeField::DayOfMonth, None),
    ("getDate", "timestamp_to_day_of_month_1_based", TimeField::Date, None),
    ("getDayOfWeek", "timestamp_to_day_of_week", TimeField::DayOfWeek, None),
    ("getHours", "timestamp_to_hours", TimeField::Hours, Some(("duration_to_hours", 3_600_000_000_000))),
    ("getMinutes", "timestamp_to_minutes", TimeField::Minutes, Some(("duration_to_minutes", 60_000_000_000))),
    ("getSeconds", "timestamp_to_seconds", TimeField::Seconds, Some(("duration_to_seconds", 1_000_000_000))),
    (
        "getMilliseconds",
        "timestamp_to_milliseconds",
        TimeField::Milliseconds,
        Some(("duration_to_milliseconds", 1_000_000)),
    ),
];

pub(super) fn add(mut library: Library) -> Library {
    for (name, id, field, in_duration) in FIELDS {
        let field = *field;
        let plain = Overload::member(id, [Type::Timestamp], Type::Int).implemented(move |args| match args {
            [Value::Timestamp(instant)] => instant.field(field, None).map(Value::Int),
            _ => Err(EvalError::no_such_overload()),
        });
        let zoned = Overload::member(&format!("{id}_with_tz"), [Type::Timestamp, Type::String], Type::Int)
            .implemented(move |args| match args {
                [Value::Timestamp(instant), Value::String(zone)] => {
                    instant.field(field, Some(zone)).map(Value::Int)
                }
                _ => Err(EvalError::no_such_overload()),
            });
        let mut function = Function::new(name).overload(plain).overload(zoned);
        if let Some((id, nanos)) = *in_duration {
            let overload =
                Overload::member(id, [Type::Duration], Type::Int).implemented(move |args| match args {
                    [Value::Duration(span)] => Ok(Value::Int(span.nanos() / nanos)),
                    _ => Err(EvalError::no_such_overload()),
                });
            function = function.overload(overload);
        }
        library = library.function(function);
    }
    library
}
