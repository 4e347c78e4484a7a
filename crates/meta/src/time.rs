//! Times in objects: RFC 3339 with whole seconds (`metav1.Time`) or six digits (`metav1.MicroTime`), in UTC.
//!
//! Reads what Go's `time.Parse` reads, which is more than RFC 3339 allows, and fails with its words.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/time.go and `micro_time.go`, v1.36; Go's time/format.go.

use std::fmt::{self, Write as _};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use crate::Text;

const LAYOUT_SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const LAYOUT_MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Why a text is no time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeError {
    message: String,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TimeError {}

/// Reads a `metav1.Time`: a fraction of any length and any offset are accepted.
///
/// ```
/// use crest_meta::time::{format, parse};
/// let time = parse("2024-02-29T23:59:59.5+01:00").unwrap();
/// assert_eq!(format(time), "2024-02-29T22:59:59Z");
/// ```
pub fn parse(text: &str) -> Result<Timestamp, TimeError> {
    Scanner { layout: LAYOUT_SECONDS, text, rest: text }.time(Fraction::Any)
}

/// Reads a `metav1.MicroTime`: exactly six digits behind the point.
pub fn parse_micro(text: &str) -> Result<Timestamp, TimeError> {
    Scanner { layout: LAYOUT_MICROS, text, rest: text }.time(Fraction::Six)
}

/// Whole seconds; what is below is cut off.
pub fn format(time: Timestamp) -> Text {
    let mut text = date_and_time(time);
    text.push('Z');
    text
}

/// Six digits behind the point.
pub fn format_micro(time: Timestamp) -> Text {
    let (_, nanos) = seconds_and_nanos(time);
    let mut text = date_and_time(time);
    write!(text, ".{:06}Z", nanos / 1000).expect("writing to a string never fails");
    text
}

fn date_and_time(time: Timestamp) -> Text {
    let civil = TimeZone::UTC.to_datetime(time);
    let mut text = Text::default();
    write!(
        text,
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        civil.year(),
        civil.month(),
        civil.day(),
        civil.hour(),
        civil.minute(),
        civil.second()
    )
    .expect("writing to a string never fails");
    text
}

/// Seconds since the epoch, rounded down, and the nanoseconds above them.
fn seconds_and_nanos(time: Timestamp) -> (i64, i32) {
    let (seconds, nanos) = (time.as_second(), time.subsec_nanosecond());
    if nanos < 0 { (seconds - 1, nanos + 1_000_000_000) } else { (seconds, nanos) }
}

/// Whether this is the time Go calls zero and objects leave out.
pub fn is_zero(time: Timestamp) -> bool {
    const YEAR_ONE: i64 = -62_135_596_800;
    seconds_and_nanos(time) == (YEAR_ONE, 0)
}

#[derive(Clone, Copy, PartialEq)]
enum Fraction {
    Any,
    Six,
}

struct Scanner<'t> {
    layout: &'static str,
    text: &'t str,
    rest: &'t str,
}

impl<'t> Scanner<'t> {
    fn time(&mut self, fraction: Fraction) -> Result<Timestamp, TimeError> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.number("01", Width::Two, "month", 1..=12)?;
        self.literal("-")?;
        let day = self.number("02", Width::Two, "", 0..=99)?;
        self.literal("T")?;
        let hour = self.number("15", Width::OneOrTwo, "hour", 0..=23)?;
        self.literal(":")?;
        let minute = self.number("04", Width::Two, "minute", 0..=59)?;
        self.literal(":")?;
        let second = self.number("05", Width::Two, "second", 0..=59)?;
        let nanosecond = self.fraction(fraction)?;
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(self.failure(&format!(": extra text: {}", quote(self.rest))));
        }
        let date_time = DateTime::new(year, month, day, hour, minute, second, nanosecond)
            .map_err(|_| self.failure(": day out of range"))?;
        // DIFFERENCE: the last and first day of the calendar may lie outside the range of a timestamp.
        let nearest = if year > 0 { Timestamp::MAX } else { Timestamp::MIN };
        let utc = TimeZone::UTC.to_timestamp(date_time).unwrap_or(nearest);
        Ok(utc.checked_sub(offset.seconds()).unwrap_or(nearest))
    }

    fn failure(&self, message: &str) -> TimeError {
        TimeError { message: format!("parsing time {}{message}", quote(self.text)) }
    }

    fn mismatch(&self, found: &str, wanted: &str) -> TimeError {
        self.failure(&format!(
            " as {}: cannot parse {} as {}",
            quote(self.layout),
            quote(found),
            quote(wanted)
        ))
    }

    fn literal(&mut self, wanted: &str) -> Result<(), TimeError> {
        self.rest = self.rest.strip_prefix(wanted).ok_or_else(|| self.mismatch(self.rest, wanted))?;
        Ok(())
    }

    /// Takes bytes that are known to be ASCII.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// How many digits come next, counted up to `limit`.
    fn digits(&self, limit: usize) -> usize {
        self.rest.bytes().take(limit).take_while(u8::is_ascii_digit).count()
    }

    fn year(&mut self) -> Result<i16, TimeError> {
        if self.digits(4) < 4 {
            return Err(self.mismatch(self.rest, "2006"));
        }
        Ok(self.take(4).parse().expect("four digits"))
    }

    fn number(
        &mut self,
        element: &str,
        width: Width,
        name: &str,
        range: std::ops::RangeInclusive<i8>,
    ) -> Result<i8, TimeError> {
        let digits = self.digits(2);
        if digits == 0 || (digits == 1 && width == Width::Two) {
            return Err(self.mismatch(self.rest, element));
        }
        let number = self.take(digits).parse().expect("one or two digits");
        if !range.contains(&number) {
            return Err(self.failure(&format!(": {name} out of range")));
        }
        Ok(number)
    }

    fn fraction(&mut self, fraction: Fraction) -> Result<i32, TimeError> {
        let marked = self.rest.starts_with(['.', ',']);
        let mark = usize::from(marked);
        let digits = self.rest[mark..].bytes().take_while(u8::is_ascii_digit).count();
        if fraction == Fraction::Six {
            if !marked || digits < 6 {
                return Err(self.mismatch(self.rest, ".000000"));
            }
            return Ok(nanoseconds(&self.take(7)[1..]));
        }
        if !marked || digits == 0 {
            return Ok(0);
        }
        Ok(nanoseconds(&self.take(1 + digits)[1..]))
    }

    /// The offset from UTC in seconds.
    fn offset(&mut self) -> Result<i64, TimeError> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let held = self.rest;
        let wrong = |scanner: &Self| scanner.mismatch(held, "Z07:00");
        let bytes = held.as_bytes();
        let number = |at: usize| -> Option<i64> {
            let digits = bytes.get(at..at + 2)?;
            let value = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
            Some(value(digits[0])? * 10 + value(digits[1])?)
        };
        if bytes.len() < 6 || bytes[3] != b':' {
            return Err(wrong(self));
        }
        let (hours, minutes) = (number(1), number(4));
        // As in Go, ranges are looked at before the digits and the sign.
        if minutes.is_some_and(|minutes| hours.is_some() && minutes > 60) {
            return Err(self.failure(": time zone offset minute out of range"));
        }
        if hours.is_some_and(|hours| hours > 24) {
            return Err(self.failure(": time zone offset hour out of range"));
        }
        let (Some(hours), Some(minutes)) = (hours, minutes) else { return Err(wrong(self)) };
        let seconds = (hours * 60 + minutes) * 60;
        let signed = match bytes[0] {
            b'+' => seconds,
            b'-' => -seconds,
            _ => return Err(wrong(self)),
        };
        self.take(6);
        Ok(signed)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Width {
    Two,
    OneOrTwo,
}

/// The first nine digits of a fraction.
fn nanoseconds(digits: &str) -> i32 {
    let nine = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    nine.fold(0, |nanos, digit| nanos * 10 + i32::from(digit - b'0'))
}

/// The quoting of Go's time package, which escapes every byte outside ASCII.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            0x20..0x80 => quoted.push(char::from(byte)),
            _ => write!(quoted, "\\x{byte:02x}").expect("writing to a String never fails"),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&parse(text).map_or_else(|error| error.to_string(), |time| format(time).into()));
    }

    #[test]
    fn times_become_whole_seconds_in_utc() {
        check("2024-02-29T23:59:59Z", expect!["2024-02-29T23:59:59Z"]);
        check("2024-01-01T00:30:00+01:00", expect!["2023-12-31T23:30:00Z"]);
        check("2024-01-01T00:30:00-24:60", expect!["2024-01-02T01:30:00Z"]);
        check("2024-01-01T1:02:03,999999999999Z", expect!["2024-01-01T01:02:03Z"]);
        check("1960-01-01T00:00:00.5Z", expect!["1960-01-01T00:00:00Z"]);
        check("0001-01-01T00:00:00Z", expect!["0001-01-01T00:00:00Z"]);
    }

    #[test]
    fn errors_are_those_of_go() {
        check("", expect![[r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#]]);
        check(
            "x",
            expect![[r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#]],
        );
        check(
            "2024-01-01",
            expect![[r#"parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#]],
        );
        check(
            "2024-13-01T00:00:00Z",
            expect![[r#"parsing time "2024-13-01T00:00:00Z": month out of range"#]],
        );
        check("2023-02-29T00:00:00Z", expect![[r#"parsing time "2023-02-29T00:00:00Z": day out of range"#]]);
        check("2024-01-01T24:00:00Z", expect![[r#"parsing time "2024-01-01T24:00:00Z": hour out of range"#]]);
        check(
            "2024-01-01T00:00:60Z",
            expect![[r#"parsing time "2024-01-01T00:00:60Z": second out of range"#]],
        );
        check(
            "2024-01-01T00:00:00",
            expect![[
                r#"parsing time "2024-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#
            ]],
        );
        check(
            "2024-01-01T00:00:00Zé",
            expect![[r#"parsing time "2024-01-01T00:00:00Z\xc3\xa9": extra text: "\xc3\xa9""#]],
        );
        check(
            "2024-01-01T00:00:00+99:00",
            expect![[r#"parsing time "2024-01-01T00:00:00+99:00": time zone offset hour out of range"#]],
        );
    }

    #[test]
    fn micro_times_need_six_digits() {
        let time = parse_micro("2024-01-01T00:00:00.123456Z").unwrap();
        assert_eq!(format_micro(time), "2024-01-01T00:00:00.123456Z");
        assert_eq!(
            parse_micro("2024-01-01T00:00:00Z").unwrap_err().to_string(),
            r#"parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
        );
        assert_eq!(format_micro(Timestamp::new(-1, -500).unwrap()), "1969-12-31T23:59:58.999999Z");
    }

    #[test]
    fn the_zero_time_is_the_year_one() {
        assert!(is_zero(parse("0001-01-01T00:00:00Z").unwrap()));
        assert!(!is_zero(parse("1970-01-01T00:00:00Z").unwrap()));
    }

    proptest! {
        #[test]
        fn printed_times_read_back(seconds in -60_000_000_000_i64..250_000_000_000) {
            let time = Timestamp::from_second(seconds).unwrap();
            prop_assert_eq!(parse(&format(time)).unwrap(), time);
            prop_assert_eq!(parse_micro(&format_micro(time)).unwrap(), time);
        }

        #[test]
        fn no_text_makes_it_panic(text in r"[0-9]{0,5}[-T:Z.,0-9+é]{0,25}") {
            let _ = (parse(&text), parse_micro(&text));
        }
    }
}
