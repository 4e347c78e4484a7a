//! Times of metadata: read as Go reads RFC 3339, kept in UTC to the second.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/time.go and Go's time.Parse.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use meta::{Value, go_fmt};

use super::object_meta::kind;

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// Brings a time into the form `2006-01-02T15:04:05Z`; a value that has it already is only looked at.
pub(super) fn normalize(value: &mut Value) -> Result<(), String> {
    let Value::String(text) = value else {
        return Err(format!("json: cannot unmarshal {} into Go value of type string", kind(value)));
    };
    let read = read(text)?;
    if read.is_canonical {
        return Ok(());
    }
    let utc = Offset::from_seconds(read.offset_seconds)
        .ok()
        .and_then(|offset| offset.to_timestamp(read.local).ok())
        .map(|timestamp| Offset::UTC.to_datetime(timestamp));
    if let Some(utc) = utc {
        *value = utc.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
    }
    Ok(())
}

struct Read {
    local: DateTime,
    offset_seconds: i32,
    is_canonical: bool,
}

fn read(text: &str) -> Result<Read, String> {
    let mut reader = Reader { text, rest: text };
    let year = reader.number(4, "2006")?;
    reader.literal("-")?;
    let month = reader.number(2, "01")?;
    reader.in_range("month", (1..=12).contains(&month))?;
    reader.literal("-")?;
    let day = reader.number(2, "02")?;
    reader.literal("T")?;
    let hour = reader.number(2, "15")?;
    reader.in_range("hour", hour < 24)?;
    reader.literal(":")?;
    let minute = reader.number(2, "04")?;
    reader.in_range("minute", minute < 60)?;
    reader.literal(":")?;
    let second = reader.number(2, "05")?;
    reader.in_range("second", second < 60)?;
    let has_fraction = reader.fraction();
    let is_utc = reader.rest.starts_with('Z');
    let offset_seconds = reader.offset()?;
    if !reader.rest.is_empty() {
        return Err(reader.message(&format!(": extra text: {}", go_fmt::quote(reader.rest))));
    }
    let small = |number: u32| i8::try_from(number).expect("two digits");
    let year = i16::try_from(year).expect("four digits");
    let local = DateTime::new(year, small(month), small(day), small(hour), small(minute), small(second), 0);
    match local {
        Ok(local) => Ok(Read { local, offset_seconds, is_canonical: is_utc && !has_fraction }),
        Err(_) => Err(reader.message(": day out of range")),
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn number(&mut self, digits: usize, element: &str) -> Result<u32, String> {
        let taken = self.rest.get(..digits).filter(|taken| taken.bytes().all(|byte| byte.is_ascii_digit()));
        match taken.and_then(|taken| taken.parse().ok()) {
            Some(number) => {
                self.rest = &self.rest[digits..];
                Ok(number)
            }
            None => Err(self.cannot_parse(element)),
        }
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        match self.rest.strip_prefix(literal) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot_parse(literal)),
        }
    }

    fn in_range(&self, what: &str, holds: bool) -> Result<(), String> {
        if holds { Ok(()) } else { Err(self.message(&format!(": {what} out of range"))) }
    }

    fn fraction(&mut self) -> bool {
        let Some(digits) = self.rest.strip_prefix(['.', ',']) else {
            return false;
        };
        let rest = digits.trim_start_matches(|character: char| character.is_ascii_digit());
        let found = rest.len() < digits.len();
        if found {
            self.rest = rest;
        }
        found
    }

    fn offset(&mut self) -> Result<i32, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let Some([sign @ (b'+' | b'-'), h1, h2, b':', m1, m2]) = bytes.get(..6) else {
            return Err(self.cannot_parse("Z07:00"));
        };
        if ![h1, h2, m1, m2].into_iter().all(u8::is_ascii_digit) {
            return Err(self.cannot_parse("Z07:00"));
        }
        let two = |tens: &u8, ones: &u8| i32::from(tens - b'0') * 10 + i32::from(ones - b'0');
        let (hours, minutes) = (two(h1, h2), two(m1, m2));
        if hours > 24 || minutes >= 60 {
            return Err(self.message(": time zone offset hour out of range"));
        }
        self.rest = &self.rest[6..];
        let seconds = hours * 3600 + minutes * 60;
        Ok(if *sign == b'-' { -seconds } else { seconds })
    }

    fn cannot_parse(&self, element: &str) -> String {
        self.message(&format!(": cannot parse {} as {}", go_fmt::quote(self.rest), go_fmt::quote(element)))
    }

    fn message(&self, what: &str) -> String {
        let text = go_fmt::quote(self.text);
        match what.strip_prefix(": cannot") {
            Some(_) => format!("parsing time {text} as {}{what}", go_fmt::quote(LAYOUT)),
            None => format!("parsing time {text}{what}"),
        }
    }
}
