//! Times as Go's `time.Parse` reads them with the two layouts of the API, and as they are printed again.
//!
//! Go is more lenient than RFC 3339 (one-digit hours, a comma before the fraction, fractions the layout does not
//! name) and its errors name the piece of the layout that did not fit.
//!
//! Upstream: Go's time/format.go; `apimachinery/pkg/apis/meta/v1/{time,micro_time}.go`, v1.36.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};

/// `metav1.Time`.
pub(super) const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
/// `metav1.MicroTime`.
pub(super) const MICROS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The text in UTC with whole seconds; `None` for Go's zero time, which is printed as null.
pub(super) fn normalise_seconds(text: &str) -> Result<Option<String>, String> {
    Ok(parse(text, SECONDS)?.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// The text in UTC with microseconds; `None` for Go's zero time, which is printed as null.
pub(super) fn normalise_micros(text: &str) -> Result<Option<String>, String> {
    Ok(parse(text, MICROS)?.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()))
}

enum Fault {
    /// The piece of the layout that the rest of the value does not fit.
    Unfit(&'static str),
    /// What is said instead.
    Said(String),
}

/// What is left to read.
struct Input<'a> {
    rest: &'a str,
}

impl Input<'_> {
    fn literal(&mut self, text: &'static str) -> Result<(), Fault> {
        self.rest = self.rest.strip_prefix(text).ok_or(Fault::Unfit(text))?;
        Ok(())
    }

    fn digit(&self, at: usize) -> Option<i16> {
        self.rest.as_bytes().get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| i16::from(byte - b'0'))
    }

    /// One or two digits; exactly two when `fixed`.
    fn number(&mut self, element: &'static str, fixed: bool) -> Result<i16, Fault> {
        let (value, length) = match (self.digit(0), self.digit(1)) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(ones), None) if !fixed => (ones, 1),
            _ => return Err(Fault::Unfit(element)),
        };
        self.rest = &self.rest[length..];
        Ok(value)
    }

    fn in_range(
        &mut self,
        element: &'static str,
        name: &str,
        fixed: bool,
        valid: std::ops::Range<i16>,
    ) -> Result<i8, Fault> {
        let value = self.number(element, fixed)?;
        if !valid.contains(&value) {
            return Err(out_of_range(name));
        }
        Ok(i8::try_from(value).expect("two digits"))
    }

    fn year(&mut self) -> Result<i16, Fault> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let year = digits.and_then(|digits| digits.parse().ok()).ok_or(Fault::Unfit("2006"))?;
        self.rest = &self.rest[4..];
        Ok(year)
    }

    /// A separator and `digits` digits; more than nine are read and forgotten.
    fn fraction(&mut self, digits: usize) -> Option<i32> {
        let text = self.rest.get(..=digits)?;
        let text = text.strip_prefix(['.', ','])?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.rest = &self.rest[digits + 1..];
        let significant = &text[..digits.min(9)];
        let scale = 10_i32.pow(9 - u32::try_from(significant.len()).ok()?);
        Some(significant.parse::<i32>().ok()? * scale)
    }

    /// The digits after a separator, when the value has a fraction here.
    fn fraction_digits(&self) -> usize {
        match self.rest.as_bytes() {
            [b'.' | b',', digits @ ..] => digits.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            _ => 0,
        }
    }

    fn offset(&mut self) -> Result<SignedDuration, Fault> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(SignedDuration::ZERO);
        }
        let unfit = || Fault::Unfit("Z07:00");
        let text = self.rest.get(..6).filter(|text| text.is_ascii()).ok_or_else(unfit)?;
        let two = |at: usize| {
            let digits = &text[at..at + 2];
            let all = digits.bytes().all(|byte| byte.is_ascii_digit());
            all.then(|| digits.parse::<i64>().ok()).flatten()
        };
        let (sign, colon) = (text.as_bytes()[0], text.as_bytes()[3]);
        let (Some(hours), Some(minutes), b':') = (two(1), two(4), colon) else { return Err(unfit()) };
        if hours > 24 {
            return Err(out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(out_of_range("time zone offset minute"));
        }
        let seconds = (hours * 60 + minutes) * 60;
        self.rest = &self.rest[6..];
        match sign {
            b'+' => Ok(SignedDuration::from_secs(seconds)),
            b'-' => Ok(SignedDuration::from_secs(-seconds)),
            _ => Err(unfit()),
        }
    }
}

fn out_of_range(name: &str) -> Fault {
    Fault::Said(format!(": {name} out of range"))
}

fn parse(value: &str, layout: &'static str) -> Result<Option<Timestamp>, String> {
    let mut left = value.len();
    let time = read(&mut Input { rest: value }, layout == MICROS, &mut left);
    time.map_err(|fault| describe(value, layout, &value[value.len() - left..], fault))
}

/// Reads one element after the other; `left` is how much there was before the element that failed.
fn read(input: &mut Input<'_>, micros: bool, left: &mut usize) -> Result<Option<Timestamp>, Fault> {
    let mut mark = |input: &Input<'_>| *left = input.rest.len();
    mark(input);
    let year = input.year()?;
    mark(input);
    input.literal("-")?;
    mark(input);
    let month = input.in_range("01", "month", true, 1..13)?;
    mark(input);
    input.literal("-")?;
    mark(input);
    let day = input.number("02", true)?;
    mark(input);
    input.literal("T")?;
    mark(input);
    let hour = input.in_range("15", "hour", false, 0..24)?;
    mark(input);
    input.literal(":")?;
    mark(input);
    let minute = input.in_range("04", "minute", true, 0..60)?;
    mark(input);
    input.literal(":")?;
    mark(input);
    let second = input.in_range("05", "second", true, 0..60)?;
    mark(input);
    let nanos = if micros {
        input.fraction(6).ok_or(Fault::Unfit(".000000"))?
    } else {
        match input.fraction_digits() {
            0 => 0,
            digits => input.fraction(digits).ok_or(Fault::Unfit("05"))?,
        }
    };
    mark(input);
    let offset = input.offset()?;
    mark(input);
    if !input.rest.is_empty() {
        return Err(Fault::Said(format!(": extra text: {}", quote(input.rest))));
    }
    let day = i8::try_from(day).expect("two digits");
    let date = civil::Date::new(year, month, day).map_err(|_| out_of_range("day"))?;
    let local =
        date.at(hour, minute, second, nanos).to_zoned(TimeZone::UTC).map_err(|_| out_of_range("year"))?;
    let time = local.timestamp().checked_sub(offset).map_err(|_| out_of_range("year"))?;
    let zero = civil::date(1, 1, 1).at(0, 0, 0, 0).to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
    Ok((zero.ok() != Some(time)).then_some(time))
}

fn describe(value: &str, layout: &str, rest: &str, fault: Fault) -> String {
    match fault {
        Fault::Said(said) => format!("parsing time {}{said}", quote(value)),
        Fault::Unfit(element) => format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(value),
            quote(layout),
            quote(rest),
            quote(element)
        ),
    }
}

/// Go's time package quotes with hexadecimal bytes for everything that is not plain ASCII.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' | 0x7f => out.push(char::from(byte)),
            _ => write!(out, "\\x{byte:02x}").expect("writing to a String never fails"),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_printed_in_utc() {
        for (text, expected) in [
            ("2020-01-02T03:04:05Z", Some("2020-01-02T03:04:05Z")),
            ("2020-01-02T03:04:05+02:00", Some("2020-01-02T01:04:05Z")),
            ("2020-01-02T3:04:05.999Z", Some("2020-01-02T03:04:05Z")),
            ("2020-01-02T03:04:05,1234567891234Z", Some("2020-01-02T03:04:05Z")),
            ("0001-01-01T00:00:00Z", None),
        ] {
            assert_eq!(normalise_seconds(text), Ok(expected.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn micros_need_six_digits() {
        for (text, expected) in [
            ("2020-01-02T03:04:05.100000Z", "2020-01-02T03:04:05.100000Z"),
            ("2020-01-02T03:04:05,678900-01:30", "2020-01-02T04:34:05.678900Z"),
        ] {
            assert_eq!(normalise_micros(text), Ok(Some(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, layout, expected) in [
            ("bad", MICROS, r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "bad" as "2006""#),
            (
                "2020-01-02T03:04:05.1Z",
                MICROS,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".1Z" as ".000000""#,
            ),
            (
                "2020-01-02T03:04:06Z",
                MICROS,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
            ),
            (
                "2020-01-02T03:04:06.123456789Z",
                MICROS,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789Z" as "Z07:00""#,
            ),
            ("", SECONDS, r#" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#),
            (
                "2020-1-02T03:04:05Z",
                SECONDS,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "1-02T03:04:05Z" as "01""#,
            ),
            (
                "2020-01-02 03:04:05Z",
                SECONDS,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse " 03:04:05Z" as "T""#,
            ),
            ("2020-13-02T03:04:05Z", SECONDS, ": month out of range"),
            ("2020-02-30T03:04:05Z", SECONDS, ": day out of range"),
            ("2020-02-20T24:04:05Z", SECONDS, ": hour out of range"),
            ("2020-02-20T03:04:05Zx", SECONDS, r#": extra text: "x""#),
            (
                "2020-02-20T03:04:05",
                SECONDS,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
        ] {
            let expected = format!("parsing time {}{expected}", quote(text));
            assert_eq!(parse(text, layout), Err(expected));
        }
    }
}
