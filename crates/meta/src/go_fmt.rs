//! Go's spelling of strings and numbers inside messages.
//!
//! Upstream: Go's strconv.Quote, strconv.FormatFloat and fmt's `%v`.

use std::fmt::Write as _;

use crate::Value;

/// `%q` of a string: double quotes, Go escapes, printable characters as they are.
///
/// ```
/// use crest_meta::go_fmt::quote;
/// assert_eq!(quote("a\"é\t\u{200b}\u{1}"), r#""a\"é\t\u200b\x01""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        push_escaped(&mut out, character);
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        _ if is_print(character) => out.push(character),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        _ => {
            let code = u32::from(character);
            let written = match code {
                0..0x20 | 0x7f => write!(out, "\\x{code:02x}"),
                0x20..0x1_0000 => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
            written.expect("writing to a String never fails");
        }
    }
}

/// Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub fn is_print(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    // The standard library's debug escape leaves exactly the same categories alone, except that it escapes a
    // combining mark at the start of a string; hence the letter in front.
    let mut buffer = [b'a'; 5];
    let length = 1 + character.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(character))
}

/// `%v` of a float64: the shortest digits that read back, with an exponent below 1e-4 and from 1e6 on.
///
/// ```
/// use crest_meta::go_fmt::float_v;
/// assert_eq!([float_v(3.0), float_v(1e6), float_v(0.00001)], ["3", "1e+06", "1e-05"]);
/// ```
pub fn float_v(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
        return exponent_form(value, 2);
    }
    format!("{value}")
}

/// `%T`: the type that the reference reads a value into.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What Go's JSON reader calls a value that does not fit: `json: cannot unmarshal number into …`.
pub fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// `d.ddde±xx` with at least `digits` digits in the exponent.
pub(crate) fn exponent_form(value: f64, digits: usize) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').expect("LowerExp always writes an exponent");
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}e{sign}{exponent:0>digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        for (text, expected) in [
            ("", r#""""#),
            ("a'b", r#""a'b""#),
            ("\u{7}\u{8}\u{b}\u{c}\n\r\t\\", r#""\a\b\v\f\n\r\t\\""#),
            ("\u{7f}\u{80}\u{a0}\u{ad}", r#""\x7f\u0080\u00a0\u00ad""#),
            ("\u{301}日本\u{fffd}", "\"\u{301}日本\u{fffd}\""),
            ("\u{2028}\u{e000}\u{1f600}\u{10ffff}", "\"\\u2028\\ue000\u{1f600}\\U0010ffff\""),
        ] {
            assert_eq!(quote(text), expected);
        }
    }

    #[test]
    fn prints_floats_as_go_does() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (999_999.0, "999999"),
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e20, "1e+20"),
            (1e100, "1e+100"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(float_v(value), expected);
        }
    }
}
