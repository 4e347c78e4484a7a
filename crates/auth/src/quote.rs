//! Text in double quotes as the reference prints it: the `%q` of its messages.
//!
//! Differs from Rust's `{:?}` in the form of the escapes (`\x00` and `\u00a0`, not `\0` and `\u{a0}`) and in leaving
//! single quotes and combining characters alone.

use std::fmt::{self, Write};

/// Displays a string as Go's `strconv.Quote` does.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            write_escaped(f, character)?;
        }
        f.write_char('"')
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, character: char) -> fmt::Result {
    match character {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        '\x07' => f.write_str("\\a"),
        '\x08' => f.write_str("\\b"),
        '\x0c' => f.write_str("\\f"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\x0b' => f.write_str("\\v"),
        ' '..='~' => f.write_char(character),
        '\0'..='\x1f' | '\x7f' => write!(f, "\\x{:02x}", u32::from(character)),
        _ if is_print(character) => f.write_char(character),
        '\u{80}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(character)),
        _ => write!(f, "\\U{:08x}", u32::from(character)),
    }
}

/// Letters, marks, numbers, punctuation and symbols.
///
/// The standard library keeps this table to itself but escapes by it; a leading letter keeps it from also escaping
/// combining marks, which it does at the start of a string only.
fn is_print(character: char) -> bool {
    let mut text = String::with_capacity(8);
    text.push('a');
    text.push(character);
    text.escape_debug().nth(1) == Some(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        // Each right side is what Go's strconv.Quote returns for the left.
        for (text, quoted) in [
            ("", r#""""#),
            ("alice", r#""alice""#),
            ("o'neil", r#""o'neil""#),
            (r#"a"b\c"#, r#""a\"b\\c""#),
            ("\x07\x08\x0c\n\r\t\x0b", r#""\a\b\f\n\r\t\v""#),
            ("\0\x1f\x7f", r#""\x00\x1f\x7f""#),
            ("jürgen 日本", "\"jürgen 日本\""),
            ("e\u{301}", "\"e\u{301}\""),
            ("\u{301}", "\"\u{301}\""),
            ("\u{85}\u{a0}\u{200b}\u{feff}", r#""\u0085\u00a0\u200b\ufeff""#),
            ("\u{e000}", r#""\ue000""#),
            ("\u{10ffff}", r#""\U0010ffff""#),
            ("\u{1f980}", "\"\u{1f980}\""),
            ("\u{fffd}", "\"\u{fffd}\""),
        ] {
            assert_eq!(Quoted(text).to_string(), quoted, "{text:?}");
        }
    }
}
