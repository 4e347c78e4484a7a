//! Numbers and text as the reference prints them.

use std::fmt::Write as _;

/// A double in its shortest form, with an exponent below 1e-4 and from 1e6 on.
pub(crate) fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Whether a character is shown by its number.
fn is_invisible(character: char) -> bool {
    !character.is_ascii() && character.escape_debug().next() == Some('\\')
}

/// Text in the quotes of Go: what cannot be seen is escaped.
///
/// ```
/// assert_eq!(cel::library::quoted("a\t\u{200b}"), r#""a\t\u200b""#);
/// ```
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if is_invisible(c) => {
                let code = c as u32;
                let _ =
                    if code < 0x1_0000 { write!(out, "\\u{code:04x}") } else { write!(out, "\\U{code:08x}") };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_short() {
        for (value, expected) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1e20, "1e+20"),
            (1e6, "1e+06"),
            (0.000_001, "1e-06"),
            (123_456_789.0, "1.23456789e+08"),
            (f64::INFINITY, "+Inf"),
            (f64::NAN, "NaN"),
            (-0.0, "-0"),
        ] {
            assert_eq!(double(value), expected);
        }
    }
}
