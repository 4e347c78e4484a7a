//! What a scalar means: null, boolean, number or string, by the rules of YAML 1.1 as go-yaml has them.
//!
//! Numbers in base 60 are strings, and so are timestamps.
//!
//! Upstream: go.yaml.in/yaml/v2 resolve.go.

use crate::Value;

/// The meaning of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer above the range of the signed ones.
    Uint(u64),
    Float(f64),
    /// A string that looks like a point in time.
    Timestamp,
    Text,
}

impl Resolved {
    /// The short name of its tag.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Resolved::Null => "!!null",
            Resolved::Bool(_) => "!!bool",
            Resolved::Int(_) | Resolved::Uint(_) => "!!int",
            Resolved::Float(_) => "!!float",
            Resolved::Timestamp => "!!timestamp",
            Resolved::Text => "!!str",
        }
    }
}

/// A scalar without quotes and tag.
pub(super) fn plain(text: &str) -> Resolved {
    if let Some(word) = word(text) {
        return word;
    }
    match text.as_bytes().first() {
        Some(b'.') => float_text(text).map_or(Resolved::Text, Resolved::Float),
        Some(b'+' | b'-' | b'0'..=b'9') if is_timestamp(text) => Resolved::Timestamp,
        Some(b'+' | b'-' | b'0'..=b'9') => number(&text.replace('_', "")),
        _ => Resolved::Text,
    }
}

fn word(text: &str) -> Option<Resolved> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Resolved::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Resolved::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Resolved {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    match magnitude(digits) {
        Some(value) if negative && value <= 1 << 63 => {
            return Resolved::Int(0_i64.wrapping_sub_unsigned(value));
        }
        Some(value) if !negative => match i64::try_from(value) {
            Ok(value) => return Resolved::Int(value),
            // Go reads unsigned integers without a sign only.
            Err(_) if digits.len() == text.len() => return Resolved::Uint(value),
            Err(_) => {}
        },
        _ => {}
    }
    if is_decimal(digits)
        && let Some(value) = float_text(text)
    {
        return Resolved::Float(value);
    }
    Resolved::Text
}

/// Digits with Go's prefixes for their base.
fn magnitude(digits: &str) -> Option<u64> {
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'o' | b'O', ..] => (&digits[2..], 8),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    // A second sign would be accepted by the standard library.
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

/// Digits, an optional point and fraction, an optional exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(index) => (&text[..index], Some(&text[index + 1..])),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let mantissa_ok = match mantissa.split_once('.') {
        None => !mantissa.is_empty() && digits(mantissa),
        Some((whole, fraction)) => {
            digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
        }
    };
    exponent_ok && mantissa_ok
}

/// A decimal float in range; others are strings.
fn float_text(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !is_decimal(digits) {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A float on its way through JSON: whole ones come out as integers.
pub(super) fn float(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e21 {
        // The digits decide: the encoder writes the shortest that read back, padded with zeros.
        let digits = format!("{number}");
        if let Ok(integer) = digits.parse() {
            return Value::Int(integer);
        }
    }
    Value::Float(number)
}

/// Whether a text is a timestamp to go-yaml, which therefore quotes it.
pub(super) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return false;
    }
    let year: i16 = text[..4].parse().unwrap_or_default();
    let mut rest = &text[5..];
    let Some(month) = take_number(&mut rest, 1, 12) else { return false };
    if !take(&mut rest, "-") {
        return false;
    }
    let Some(day) = take_number(&mut rest, 1, 31) else { return false };
    let valid_day = jiff::civil::Date::new(year, month, day).is_ok();
    valid_day && (rest.is_empty() || is_time_of_day(rest))
}

fn is_time_of_day(mut rest: &str) -> bool {
    let zoned = take(&mut rest, "T") || take(&mut rest, "t");
    if !zoned && !take(&mut rest, " ") {
        return false;
    }
    if !zoned {
        rest = rest.trim_start_matches(' ');
    }
    let clock = take_number(&mut rest, 0, 23).is_some()
        && take(&mut rest, ":")
        && take_number(&mut rest, 0, 59).is_some()
        && take(&mut rest, ":")
        && take_number(&mut rest, 0, 59).is_some();
    if !clock {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ','])
        && fraction.starts_with(|first: char| first.is_ascii_digit())
    {
        rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
    }
    if !zoned {
        return rest.is_empty();
    }
    rest == "Z" || is_offset(rest)
}

fn is_offset(text: &str) -> bool {
    let [b'+' | b'-', h1, h2, b':', m1, m2] = text.as_bytes() else { return false };
    let number = |tens: &u8, ones: &u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + ones - b'0')
    };
    number(h1, h2).is_some_and(|hours| hours <= 24) && number(m1, m2).is_some_and(|minutes| minutes <= 60)
}

fn take(rest: &mut &str, wanted: &str) -> bool {
    rest.strip_prefix(wanted).map(|following| *rest = following).is_some()
}

/// One or two digits within a range.
fn take_number(rest: &mut &str, least: i8, most: i8) -> Option<i8> {
    let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let number = rest[..digits].parse().ok()?;
    *rest = &rest[digits..];
    (least..=most).contains(&number).then_some(number)
}
