//! Instants and spans of time as values.

use jiff::tz::TimeZone;

use crate::error::EvalError;
use crate::text::quoted;

/// 0001-01-01T00:00:00Z and the last second of 9999.
const SECONDS_MIN: i64 = -62_135_596_800;
const SECONDS_MAX: i64 = 253_402_300_799;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// An instant, with the offset it was written with. Instants compare without it.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
    offset_seconds: i32,
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        (self.seconds, self.nanos) == (other.seconds, other.nanos)
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// Fields of a timestamp that `getFullYear` and its like return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeField {
    FullYear,
    Month,
    DayOfYear,
    DayOfMonth,
    Date,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Timestamp {
    /// Seconds since 1970 and nanoseconds after them; `None` outside of the years 1 to 9999.
    ///
    /// ```
    /// let start = cel::Timestamp::new(0, 500_000_000).unwrap();
    /// assert_eq!(start.to_string(), "1970-01-01T00:00:00.5Z");
    /// assert!(cel::Timestamp::new(253_402_300_800, 0).is_none());
    /// ```
    pub fn new(seconds: i64, nanos: u32) -> Option<Timestamp> {
        let in_range = (SECONDS_MIN..=SECONDS_MAX).contains(&seconds) && nanos < 1_000_000_000;
        in_range.then_some(Timestamp { seconds, nanos, offset_seconds: 0 })
    }

    pub fn seconds(self) -> i64 {
        self.seconds
    }

    pub fn nanos(self) -> u32 {
        self.nanos
    }

    /// Whether it is the very first instant.
    pub(crate) fn is_zero(self) -> bool {
        self.seconds == SECONDS_MIN && self.nanos == 0
    }

    /// Reads RFC 3339 as Go does: capital `T` and `Z`, digits beyond nanoseconds dropped.
    pub fn parse(text: &str) -> Option<Timestamp> {
        if text.as_bytes().get(12) == Some(&b':') && text.is_char_boundary(11) {
            // The hour may have one digit, as in Go.
            return Timestamp::parse(&format!("{}0{}", &text[..11], &text[11..]));
        }
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Option<i32> {
            let part = text.get(from..to)?;
            part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
        };
        let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
        if !(is(4, b'-') && is(7, b'-') && is(10, b'T') && is(13, b':') && is(16, b':')) {
            return None;
        }
        let days = days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?)?;
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut at = 19;
        let mut nanos = 0;
        if is(at, b'.') || is(at, b',') {
            let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            let kept = &text[at + 1..at + 1 + digits.min(9)];
            nanos = kept.parse::<u32>().ok()? * 10_u32.pow(9 - u32::try_from(kept.len()).ok()?);
            at += 1 + digits;
        }
        let offset_seconds = match bytes.get(at)? {
            b'Z' if at + 1 == bytes.len() => 0,
            sign @ (b'+' | b'-') if at + 6 == bytes.len() && is(at + 3, b':') => {
                let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        let local = days * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
        let parsed = Timestamp::new(local - i64::from(offset_seconds), nanos)?;
        Some(Timestamp { offset_seconds, ..parsed })
    }

    /// The instant later by `span`; `None` outside of the years 1 to 9999.
    pub fn checked_add(self, span: Duration) -> Option<Timestamp> {
        let nanos = i64::from(self.nanos) + span.0.rem_euclid(NANOS_PER_SECOND);
        let seconds = self.seconds.checked_add(span.0.div_euclid(NANOS_PER_SECOND))?;
        let (carry, nanos) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
        let moved = Timestamp::new(seconds.checked_add(carry)?, u32::try_from(nanos).ok()?)?;
        Some(Timestamp { offset_seconds: self.offset_seconds, ..moved })
    }

    /// The span from `earlier` to this; `None` beyond 292 years.
    pub fn checked_since(self, earlier: Timestamp) -> Option<Duration> {
        let seconds = self.seconds.checked_sub(earlier.seconds)?;
        let nanos = i64::from(self.nanos) - i64::from(earlier.nanos);
        seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(nanos).map(Duration)
    }

    /// One field, in UTC or in a zone given by IANA name or as `±HH:MM`.
    pub(crate) fn field(self, field: TimeField, zone: Option<&str>) -> Result<i64, EvalError> {
        let offset = match zone {
            None => 0_i64,
            Some(zone) => self.offset_in(zone)?,
        };
        let local = self.seconds + offset;
        let day = Day::from_days(local.div_euclid(86_400));
        let in_day = local.rem_euclid(86_400);
        Ok(match field {
            TimeField::FullYear => day.year,
            TimeField::Month => day.month - 1,
            TimeField::DayOfYear => day.of_year,
            TimeField::DayOfMonth => day.of_month - 1,
            TimeField::Date => day.of_month,
            TimeField::DayOfWeek => day.of_week,
            TimeField::Hours => in_day / 3600,
            TimeField::Minutes => in_day / 60 % 60,
            TimeField::Seconds => in_day % 60,
            TimeField::Milliseconds => i64::from(self.nanos / 1_000_000),
        })
    }

    /// Seconds that the clock of a zone is ahead.
    fn offset_in(self, zone: &str) -> Result<i64, EvalError> {
        if let Some(at) = zone.find(':') {
            return offset_from_text(&zone[..at], &zone[at + 1..]);
        }
        if zone.contains("..") || zone.starts_with(['/', '\\']) {
            return Err(EvalError::new("time: invalid location name"));
        }
        let unknown = |_| EvalError::new(format!("unknown time zone {zone}"));
        let zone = match zone {
            "" | "UTC" | "Local" => TimeZone::UTC,
            name => TimeZone::get(name).map_err(unknown)?,
        };
        let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
        let instant = jiff::Timestamp::from_second(self.seconds.clamp(first, last)).map_err(unknown)?;
        Ok(i64::from(zone.to_offset(instant).seconds()))
    }
}

/// RFC 3339 with the shortest fraction, in the offset it came with.
impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let local = self.seconds + i64::from(self.offset_seconds);
        let day = Day::from_days(local.div_euclid(86_400));
        let in_day = local.rem_euclid(86_400);
        let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
        write!(f, "{:04}-{:02}-{:02}", day.year, day.month, day.of_month)?;
        write!(f, "T{hour:02}:{minute:02}:{second:02}{}", fraction(i64::from(self.nanos)))?;
        if self.offset_seconds == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset_seconds.abs() / 60;
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// `.5` for half a second in nanoseconds, nothing for none.
fn fraction(nanos: i64) -> String {
    if nanos == 0 {
        return String::new();
    }
    format!(".{nanos:09}").trim_end_matches('0').to_owned()
}

/// A day of the calendar. Unlike instants, days may lie in the year 10000: a zone may be ahead.
struct Day {
    year: i64,
    /// From 1.
    month: i64,
    /// From 1.
    of_month: i64,
    /// From 0.
    of_year: i64,
    /// From 0, which is Sunday.
    of_week: i64,
}

/// Days in 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

impl Day {
    /// The day so many days after 1970-01-01. Years are counted from March, so that leap days come last.
    fn from_days(days: i64) -> Day {
        let shifted = days + EPOCH_DAYS;
        let of_era = shifted.rem_euclid(ERA_DAYS);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let from_march = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * from_march + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = 400 * shifted.div_euclid(ERA_DAYS) + year_of_era + i64::from(month <= 2);
        let january_first = days_before(year, 1, 1);
        Day {
            year,
            month,
            of_month: from_march - (153 * month_from_march + 2) / 5 + 1,
            of_year: days - january_first,
            of_week: (days + 4).rem_euclid(7),
        }
    }
}

/// Days from 1970-01-01 to a date.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let from_march = (153 * month_from_march + 2) / 5 + day - 1;
    let of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + from_march;
    year.div_euclid(400) * ERA_DAYS + of_era - EPOCH_DAYS
}

/// Days from 1970-01-01 to a date; `None` when there is no such date.
fn days_from_civil(year: i32, month: i32, day: i32) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_before(i64::from(year), i64::from(month), i64::from(day));
    // The day after the last of a month comes out as the first of the next.
    (Day::from_days(days).of_month == i64::from(day)).then_some(days)
}

/// The offset written as `+HH:MM`, `-HH:MM` or `HH:MM`.
fn offset_from_text(hours: &str, minutes: &str) -> Result<i64, EvalError> {
    let number = |text: &str| {
        let wrong = || EvalError::new(format!("strconv.Atoi: parsing {}: invalid syntax", quoted(text)));
        text.parse::<i32>().map(i64::from).map_err(|_| wrong())
    };
    let (hour, minute) = (number(hours)?, number(minutes)?);
    let minute = if hours.starts_with('-') { -minute } else { minute };
    Ok(hour * 3600 + minute * 60)
}

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

impl Duration {
    pub fn from_nanos(nanos: i64) -> Duration {
        Duration(nanos)
    }

    pub fn nanos(self) -> i64 {
        self.0
    }

    pub fn checked_add(self, other: Duration) -> Option<Duration> {
        self.0.checked_add(other.0).map(Duration)
    }

    pub fn checked_sub(self, other: Duration) -> Option<Duration> {
        self.0.checked_sub(other.0).map(Duration)
    }

    pub fn checked_neg(self) -> Option<Duration> {
        self.0.checked_neg().map(Duration)
    }

    /// Reads Go's form: `1h30m`, `-1.5s`, `100ns`, `0`.
    ///
    /// ```
    /// assert_eq!(cel::Duration::parse("1h0.5s").unwrap().to_string(), "3600.5s");
    /// assert!(cel::Duration::parse("1d").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Duration> {
        let (negative, mut rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Some(Duration(0));
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, tail) = one_unit(rest)?;
            total = total.checked_add(part).filter(|total| *total <= 1 << 63)?;
            rest = tail;
        }
        match (negative, i64::try_from(total)) {
            (true, Ok(total)) => Some(Duration(-total)),
            (true, Err(_)) => Some(Duration(i64::MIN)),
            (false, total) => total.ok().map(Duration),
        }
    }
}

/// Reads one number with its unit, in nanoseconds, and returns the rest.
fn one_unit(text: &str) -> Option<(u64, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole_length = digits(text);
    let whole: u64 = if whole_length == 0 { 0 } else { text[..whole_length].parse().ok()? };
    let mut rest = &text[whole_length..];
    let mut decimals = "";
    if let Some(after) = rest.strip_prefix('.') {
        let length = digits(after);
        decimals = &after[..length];
        rest = &after[length..];
    }
    if whole_length == 0 && decimals.is_empty() {
        return None;
    }
    let unit_length = rest.bytes().take_while(|b| *b != b'.' && !b.is_ascii_digit()).count();
    let unit: u64 = match &rest[..unit_length] {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
    Some((whole.checked_add(decimal_part(decimals, unit))?, &rest[unit_length..]))
}

/// `decimals` of a unit, rounded down; digits that cannot matter are ignored.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes the fraction in floating point too; the result is below one unit"
)]
fn decimal_part(decimals: &str, unit: u64) -> u64 {
    let kept = &decimals[..decimals.len().min(18)];
    let value: u64 = kept.parse().unwrap_or(0);
    let scale = 10_f64.powi(i32::try_from(kept.len()).unwrap_or(0));
    (value as f64 * (unit as f64 / scale)) as u64
}

/// Seconds with the shortest fraction: `5400s`, `-0.001s`. They are printed as a double, and lose digits beyond
/// what that can hold.
impl std::fmt::Display for Duration {
    #[expect(clippy::cast_precision_loss, reason = "that is how the reference prints")]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = (self.0 / NANOS_PER_SECOND) as f64 + (self.0 % NANOS_PER_SECOND) as f64 / 1e9;
        write!(f, "{seconds}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_read_and_written() {
        let rows = [
            ("2023-07-14T10:30:45.120Z", "2023-07-14T10:30:45.12Z"),
            ("2023-07-14T10:30:45+02:00", "2023-07-14T10:30:45+02:00"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
            ("1969-12-31T23:59:59-08:30", "1969-12-31T23:59:59-08:30"),
        ];
        for (text, expected) in rows {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), expected);
        }
        for text in ["2023-01-01 00:00:00Z", "2023-01-01t00:00:00z", "2023-02-30T00:00:00Z", "x", ""] {
            assert!(Timestamp::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn fields_follow_the_zone() {
        let at = Timestamp::parse("2023-07-14T23:30:45.123Z").unwrap();
        assert_eq!(at.field(TimeField::Hours, None).unwrap(), 23);
        assert_eq!(at.field(TimeField::Date, Some("+02:00")).unwrap(), 15);
        assert_eq!(at.field(TimeField::Hours, Some("America/New_York")).unwrap(), 19);
        assert_eq!(at.field(TimeField::DayOfWeek, None).unwrap(), 5);
        assert_eq!(at.field(TimeField::DayOfYear, None).unwrap(), 194);
        let error = at.field(TimeField::Hours, Some("Nowhere/Foo")).unwrap_err();
        assert_eq!(error.message(), "unknown time zone Nowhere/Foo");
    }

    #[test]
    fn spans_reach_to_the_edge_of_their_range() {
        assert_eq!(Duration::parse("-9223372036854775808ns").unwrap().nanos(), i64::MIN);
        assert!(Duration::parse("9223372036854775808ns").is_none());
        assert_eq!(Duration::parse("1.5h").unwrap().to_string(), "5400s");
        assert_eq!(Duration::parse("-1ms").unwrap().to_string(), "-0.001s");
        for text in ["", "5", "1x", ".s", "s", "-"] {
            assert!(Duration::parse(text).is_none(), "{text}");
        }
        let start = Timestamp::new(0, 0).unwrap();
        let earlier = start.checked_add(Duration::from_nanos(-1)).unwrap();
        assert_eq!(earlier.to_string(), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(start.checked_since(earlier), Some(Duration::from_nanos(1)));
    }
}
