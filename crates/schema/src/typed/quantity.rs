//! Amounts of resources: `100m`, `1.5Gi`, `3e6`. Read, compared, added and printed in canonical form.
//!
//! A value is an integer number of nano units, which is the reference's smallest step; what is finer is rounded away
//! from zero. The unit family it was written in decides how it is printed.
//!
//! DIFFERENCE: amounts beyond ±1.7e29 are cut off there; the reference keeps arbitrary precision for decimal ones.
//!
//! Upstream: apimachinery/pkg/api/resource/{quantity,suffix}.go, v1.36.

use std::cmp::Ordering;

const NANO: i128 = 1_000_000_000;
const FORMAT_WRONG: &str = "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG: &str = "unable to parse quantity's suffix";

/// Suffixes of powers of ten, smallest first.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// Suffixes of powers of two, smallest first.
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    DecimalSuffix,
    DecimalExponent,
    BinarySuffix,
}

/// An amount. Equality and order look at the value only, not at how it was written.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    family: Family,
}

impl Quantity {
    pub const ZERO: Quantity = Quantity { nanos: 0, family: Family::DecimalSuffix };

    /// ```
    /// use crest_schema::typed::Quantity;
    /// assert_eq!(Quantity::parse("1024Ki").unwrap().to_string(), "1Mi");
    /// assert_eq!(Quantity::parse("0.1").unwrap().to_string(), "100m");
    /// ```
    pub fn parse(text: &str) -> Result<Quantity, &'static str> {
        if text.is_empty() {
            return Err(FORMAT_WRONG);
        }
        let parts = split(text)?;
        let Some((scale, family)) = interpret(parts.suffix) else { return Err(SUFFIX_WRONG) };
        let (nanos, exact) = scaled(parts.whole, parts.fraction, scale);
        let nanos = if exact { nanos } else { nanos.saturating_add(1) };
        let family = match family {
            Family::BinarySuffix if nanos > 0 && nanos < NANO => Family::DecimalSuffix,
            other => other,
        };
        let nanos = match family {
            Family::BinarySuffix => nanos.min(i128::from(i64::MAX) * NANO),
            _ => nanos,
        };
        Ok(Quantity { nanos: if parts.negative { -nanos } else { nanos }, family })
    }

    /// The text an object keeps: the given one where the reference finds it canonical enough, else the canonical.
    /// `None` means the given one.
    ///
    /// The reference reuses the text of a short number whose exponent is a multiple of three, whatever else is odd
    /// about it: `+1`, `1.`, `1E3`.
    pub(super) fn normalise(text: &str) -> Result<Option<String>, &'static str> {
        let quantity = Quantity::parse(text)?;
        if text != "0" && !is_reused(text) {
            let canonical = quantity.to_string();
            return Ok((canonical != text).then_some(canonical));
        }
        Ok(None)
    }

    pub fn from_int(value: i64) -> Quantity {
        Quantity { nanos: i128::from(value) * NANO, family: Family::DecimalSuffix }
    }

    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether the amount has no fraction.
    pub fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// The whole part, away from zero when there is a fraction, as the reference's `Value()`.
    pub fn value(self) -> i64 {
        let whole = self.nanos / NANO + (self.nanos % NANO).signum();
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// The sum, printed in the family of `self` unless that is zero.
    #[must_use]
    pub fn plus(self, other: Quantity) -> Quantity {
        let family = if self.is_zero() { other.family } else { self.family };
        Quantity { nanos: self.nanos.saturating_add(other.nanos), family }
    }

    #[must_use]
    pub fn minus(self, other: Quantity) -> Quantity {
        let family = if self.is_zero() { other.family } else { self.family };
        Quantity { nanos: self.nanos.saturating_sub(other.nanos), family }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = self.nanos.abs() < 1024 * NANO;
        if self.family == Family::BinarySuffix && !small && self.is_whole() {
            let (mut value, mut suffix) = (self.nanos / NANO, "");
            for (name, _) in BINARY {
                if value % 1024 != 0 {
                    break;
                }
                value /= 1024;
                suffix = name;
            }
            return write!(f, "{value}{suffix}");
        }
        let (mut value, mut exponent) = (self.nanos, -9);
        while value % 1000 == 0 && (exponent < 18 || self.family == Family::DecimalExponent) {
            value /= 1000;
            exponent += 3;
        }
        if self.family == Family::DecimalExponent {
            return if exponent == 0 { write!(f, "{value}") } else { write!(f, "{value}e{exponent}") };
        }
        let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(name, _)| name);
        write!(f, "{value}{suffix}")
    }
}

struct Parts<'a> {
    negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

fn split(text: &str) -> Result<Parts<'_>, &'static str> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let trimmed = unsigned.trim_start_matches('0');
    // No digits at all is zero: the reference reads `m` and `-` so.
    let (whole, rest) = trimmed.split_at(digits(trimmed));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let letters = suffix.trim_start_matches(|letter: char| "eEinumkKMGTP".contains(letter));
    let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
    if digits(exponent) != exponent.len() {
        return Err(FORMAT_WRONG);
    }
    Ok(Parts { negative, whole, fraction, suffix })
}

/// The power of ten or two that a suffix stands for.
#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(u32),
}

fn interpret(suffix: &str) -> Option<(Scale, Family)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Scale::Ten(*power), Family::DecimalSuffix));
    }
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((Scale::Two(*power), Family::BinarySuffix));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let exponent = exponent.parse::<i64>().ok()?;
    let exponent = i32::try_from(exponent).unwrap_or(if exponent < 0 { i32::MIN } else { i32::MAX });
    Some((Scale::Ten(exponent), Family::DecimalExponent))
}

fn is_reused(text: &str) -> bool {
    let Ok(parts) = split(text) else { return false };
    let whole = if parts.whole.is_empty() { "0" } else { parts.whole };
    let digits = whole.len() + parts.fraction.len();
    match interpret(parts.suffix) {
        Some((Scale::Ten(power), _)) => {
            let power = i64::from(power) - i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
            let thousands = match parts.fraction.len() {
                0..3 => format!("{whole}{}", parts.fraction).ends_with("000"),
                _ => parts.fraction.ends_with("000"),
            };
            digits <= 18 && power >= -9 && power % 3 == 0 && !thousands && !whole.starts_with('0')
        }
        Some((Scale::Two(power), _)) => {
            let room = 14 - i64::from(power) * 3 / 10 - i64::try_from(digits).unwrap_or(i64::MAX);
            let odd = whole.parse::<u64>().is_ok_and(|value| value & 7 != 0);
            parts.fraction.is_empty() && room >= 0 && odd
        }
        None => false,
    }
}

/// The magnitude in nano units and whether nothing was cut off.
fn scaled(whole: &str, fraction: &str, scale: Scale) -> (i128, bool) {
    let digits = || whole.bytes().chain(fraction.bytes()).map(|byte| i128::from(byte - b'0'));
    let places = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let (power, factor) = match scale {
        Scale::Ten(power) => (9 - places + i64::from(power), 1),
        Scale::Two(power) => (9 - places, 1_i128 << power),
    };
    // Bound: at most 39 digits matter; more saturate or fall below one nano.
    let mut value: i128 = 0;
    for digit in digits() {
        value = match value.checked_mul(10).and_then(|value| value.checked_add(digit)) {
            Some(value) => value,
            None => return saturated(whole, fraction, power, factor),
        };
    }
    if value == 0 {
        return (0, true);
    }
    let Some(mut value) = value.checked_mul(factor) else { return (i128::MAX / 2, true) };
    if power >= 0 {
        let factor = u32::try_from(power).ok().and_then(|power| 10_i128.checked_pow(power));
        let product = factor.and_then(|factor| value.checked_mul(factor));
        return (product.unwrap_or(i128::MAX / 2), true);
    }
    let mut exact = true;
    for _ in 0..power.unsigned_abs().min(40) {
        exact &= value % 10 == 0;
        value /= 10;
    }
    (value, exact)
}

/// More digits than fit: those that can still matter are kept.
fn saturated(whole: &str, fraction: &str, power: i64, factor: i128) -> (i128, bool) {
    let digits = whole.len() + fraction.len();
    let dropped = digits.saturating_sub(20);
    let kept: String = whole.chars().chain(fraction.chars()).take(20).collect();
    let value = kept.parse::<i128>().unwrap_or(i128::MAX / 2);
    let power = power.saturating_add(i64::try_from(dropped).unwrap_or(i64::MAX));
    let Some(mut value) = value.checked_mul(factor) else { return (i128::MAX / 2, true) };
    if power >= 0 {
        let scale = u32::try_from(power).ok().and_then(|power| 10_i128.checked_pow(power));
        return (scale.and_then(|scale| value.checked_mul(scale)).unwrap_or(i128::MAX / 2), true);
    }
    for _ in 0..power.unsigned_abs().min(40) {
        value /= 10;
    }
    (value, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_canonical_form() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("0.0", "0"),
            ("00", "0"),
            ("1", "1"),
            ("+1", "1"),
            ("-1", "-1"),
            ("0.5", "500m"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1000", "1k"),
            ("1001", "1001"),
            ("2000000", "2M"),
            ("1k", "1k"),
            ("0.1Gi", "107374182400m"),
            ("1.5Gi", "1536Mi"),
            ("1024Ki", "1Mi"),
            ("1000Ki", "1000Ki"),
            ("1023Ki", "1023Ki"),
            ("1Ki", "1Ki"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1e2", "100"),
            ("100e3", "100e3"),
            ("1E", "1E"),
            ("12345678901234567890", "12345678901234567890"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("1.5n", "2n"),
            ("-1.5n", "-2n"),
            (".5", "500m"),
            ("5e-3", "5e-3"),
            ("10Ei", "9223372036854775807"),
            ("1E3", "1e3"),
        ] {
            assert_eq!(Quantity::parse(text).map(|q| q.to_string()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn keeps_the_text_where_the_reference_does() {
        for (text, expected) in [
            ("+1", "+1"),
            ("1.", "1."),
            ("1E3", "1E3"),
            ("1.5e1", "1.5e1"),
            ("1.0Ki", "1Ki"),
            ("2.5Ki", "2560"),
            ("0.001k", "1"),
            ("1e4", "10e3"),
            ("12e5", "1200e3"),
            ("1000", "1k"),
            ("8Ki", "8Ki"),
            ("1e-10", "1e-9"),
            ("m", "0"),
            ("-", "0"),
            ("", ""),
            ("0", "0"),
            ("1.5Gi", "1536Mi"),
        ] {
            let normalised =
                Quantity::normalise(text).map(|changed| changed.unwrap_or_else(|| text.to_owned()));
            match normalised {
                Ok(normalised) => assert_eq!(normalised, expected, "{text}"),
                Err(error) => assert_eq!((text, error), ("", FORMAT_WRONG)),
            }
        }
    }

    #[test]
    fn refuses_with_the_reference_words() {
        for (text, expected) in [
            ("", FORMAT_WRONG),
            ("1x", FORMAT_WRONG),
            ("a", FORMAT_WRONG),
            ("1 ", FORMAT_WRONG),
            ("1ki", SUFFIX_WRONG),
            ("1Kib", FORMAT_WRONG),
            ("1mm", SUFFIX_WRONG),
            ("1e", SUFFIX_WRONG),
            ("1.2.3", FORMAT_WRONG),
            ("[1]", FORMAT_WRONG),
        ] {
            assert_eq!(Quantity::parse(text).map(|q| q.to_string()), Err(expected), "{text}");
        }
    }

    #[test]
    fn compares_and_adds_by_value() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(parse("1Ki"), parse("1024"));
        assert!(parse("999m") < parse("1"));
        assert_eq!(parse("1Gi").plus(parse("1Gi")).to_string(), "2Gi");
        assert_eq!(Quantity::ZERO.plus(parse("2Ki")).to_string(), "2Ki");
        assert_eq!(parse("3").minus(parse("1")).to_string(), "2");
        assert_eq!(parse("1500m").value(), 2);
    }
}
