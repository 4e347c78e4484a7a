//! Durations as Go writes them: `1h30m`, `-1.5s`.
//!
//! Upstream: Go's time.ParseDuration.

use crate::go_fmt;

/// Nanoseconds of each unit.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000), // the micro sign
    ("μs", 1_000), // the Greek letter
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration in nanoseconds, or complains in Go's words.
///
/// ```
/// use crest_meta::go_duration::parse;
/// assert_eq!(parse("1m0.5s"), Ok(60_500_000_000));
/// assert_eq!(parse("5").unwrap_err(), r#"time: missing unit in duration "5""#);
/// ```
pub fn parse(text: &str) -> Result<i64, String> {
    let complaint = |what: &str| format!("time: {what} {}", go_fmt::quote(text));
    let invalid = || complaint("invalid duration");
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, fraction, behind) = number(rest).ok_or_else(invalid)?;
        let unit_end = behind.find(|letter: char| letter == '.' || letter.is_ascii_digit());
        let (name, behind) = behind.split_at(unit_end.unwrap_or(behind.len()));
        if name.is_empty() {
            return Err(complaint("missing unit in duration"));
        }
        let Some((_, unit)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
            return Err(complaint(&format!("unknown unit {} in duration", go_fmt::quote(name))));
        };
        total = add(total, whole, fraction, *unit).ok_or_else(invalid)?;
        rest = behind;
    }
    if negative {
        return Ok(0i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// The digits before and behind a point, of which there must be some, and what follows them.
fn number(text: &str) -> Option<(u64, &str, &str)> {
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let value = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    (value <= LIMIT).then_some((value, fraction, rest))
}

/// The largest magnitude: that of the smallest negative duration.
const LIMIT: u64 = 1 << 63;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a fraction of a unit is rounded as Go rounds it"
)]
fn add(total: u64, whole: u64, fraction: &str, unit: u64) -> Option<u64> {
    let mut value = whole.checked_mul(unit).filter(|value| *value <= LIMIT)?;
    if let Ok(part) = format!("0.{fraction}0").parse::<f64>() {
        value += (part * unit as f64) as u64;
    }
    total.checked_add(value).filter(|total| *total <= LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("5s", 5_000_000_000),
            ("+5s", 5_000_000_000),
            ("-1s", -1_000_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("1µs", 1_000),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_in_gos_words() {
        for (text, expected) in [
            ("bogus", r#"time: invalid duration "bogus""#),
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            (".s", r#"time: invalid duration ".s""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5 s", r#"time: unknown unit " s" in duration "5 s""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("99999999999999999999h", r#"time: invalid duration "99999999999999999999h""#),
            ("2562048h", r#"time: invalid duration "2562048h""#),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected, "{text}");
        }
    }
}
