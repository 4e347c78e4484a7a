//! Dates, moments and durations.

/// A calendar day, `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return false;
    };
    if ![y1, y2, y3, y4, m1, m2, d1, d2].into_iter().all(u8::is_ascii_digit) {
        return false;
    }
    let two = |tens: &u8, ones: &u8| u32::from(tens - b'0') * 10 + u32::from(ones - b'0');
    let (year, month, day) = (two(y1, y2) * 100 + two(y3, y4), two(m1, m2), two(d1, d2));
    (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)
}

fn days_in(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A day, `T`, a time with an offset. As the reference has it, any character may introduce the fraction, and what
/// follows a second `t` is not looked at.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    match (parts.next(), parts.next()) {
        (Some(date), Some(time)) => is_date(date) && is_time(time),
        _ => false,
    }
}

fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let [h1, h2, b':', m1, m2, b':', s1, s2] = clock.as_bytes() else {
        return false;
    };
    let digits = [h1, h2, m1, m2, s1, s2].into_iter().all(u8::is_ascii_digit);
    let in_range = (*h1, *h2) <= (b'2', b'3') && *m1 <= b'5' && *s1 <= b'5';
    digits && in_range && (is_offset(rest) || fraction_end(rest).is_some_and(is_offset))
}

/// What follows one character and at least one digit.
fn fraction_end(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    if characters.next()? == '\n' {
        return None;
    }
    let digits = characters.as_str();
    let rest = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    (rest.len() < digits.len()).then_some(rest)
}

fn is_offset(text: &str) -> bool {
    match text.as_bytes() {
        b"z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].into_iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// What Go's `time.ParseDuration` reads, or any text with a number before a unit in it.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || wordy_duration(text).is_some()
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut any = false;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        let after = match number.strip_prefix('.') {
            Some(fraction) => fraction.trim_start_matches(|character: char| character.is_ascii_digit()),
            None => number,
        };
        let written = &rest[..rest.len() - after.len()];
        let unit_end = after.find(|character: char| character.is_ascii_digit() || character == '.');
        let (unit, next) = after.split_at(unit_end.unwrap_or(after.len()));
        let has_digit = written.bytes().any(|byte| byte.is_ascii_digit());
        // Longer numbers overflow; what else they could mean is for the wordy form to say.
        let fits = rest.len() - number.len() <= 18;
        if !has_digit || !fits || !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        any = true;
        rest = next;
    }
    any
}

/// Units as exact words, and one as a prefix of longer words, in nanoseconds.
const UNITS: [(&[&str], &str, i64); 8] = [
    (&["ns"], "nano", 1),
    (&["us", "µs"], "micro", 1_000),
    (&["ms"], "milli", 1_000_000),
    (&["s"], "sec", 1_000_000_000),
    (&["m"], "min", 60_000_000_000),
    (&["h", "hr"], "hour", 3_600_000_000_000),
    (&["d"], "day", 86_400_000_000_000),
    (&["w", "wk"], "week", 604_800_000_000_000),
];

/// The nanoseconds of every `3 days`, `P1D` or the like in the text together; `None` when there is none, or when a
/// number in front of a word is too large. Wraps as the reference's sum does.
pub(super) fn wordy_duration(text: &str) -> Option<i64> {
    let mut total = None;
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let from_number = &rest[start..];
        let after = from_number.trim_start_matches(|character: char| character.is_ascii_digit());
        let number = &from_number[..from_number.len() - after.len()];
        let word_start = after.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let next = word_start
            .trim_start_matches(|character: char| character.is_ascii_alphabetic() || character == 'µ');
        let word = &word_start[..word_start.len() - next.len()];
        if word.is_empty() {
            rest = after;
            continue;
        }
        let number = number.parse::<i64>().ok()?;
        let word = word.to_lowercase();
        let is_meant =
            |unit: &&(&[&str], &str, i64)| unit.0.contains(&word.as_str()) || word.starts_with(unit.1);
        for (_, _, nanos) in UNITS.iter().filter(is_meant) {
            total = Some(total.unwrap_or(0_i64).wrapping_add(number.wrapping_mul(*nanos)));
        }
        rest = next;
    }
    total
}
