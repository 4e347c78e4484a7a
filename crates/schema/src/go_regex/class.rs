//! Character classes: what Go reads between brackets and behind backslashes, written for the `regex` crate.

use std::fmt::Write as _;

use super::{Parsed, fail, names};

/// A class that contains no character.
pub(super) const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

/// The members of a class, in the `regex` crate's syntax between brackets.
pub(super) struct Class {
    members: String,
    negated: bool,
}

impl Class {
    /// Roughly how many states the class takes: ranges of Unicode are many.
    pub(super) fn states(&self) -> u64 {
        if self.members.contains("\\p") || self.members.contains("\\P") {
            2_000
        } else if self.negated || self.members.contains("[^") {
            40
        } else {
            4 + self.members.len() as u64
        }
    }
}

/// The class as an expression.
pub(super) fn written(class: &Class, fold_case: bool) -> String {
    let text = match (class.members.is_empty(), class.negated) {
        (true, true) => "(?s:.)".to_owned(),
        (true, false) => NOTHING.to_owned(),
        (false, negated) => format!("[{}{}]", if negated { "^" } else { "" }, class.members),
    };
    if fold_case { format!("(?i:{text})") } else { text }
}

/// One character, so that it stands for itself everywhere.
pub(super) fn escaped(code: u32) -> String {
    match char::from_u32(code) {
        Some(character) if character.is_ascii_alphanumeric() => character.to_string(),
        _ => format!(r"\x{{{code:X}}}"),
    }
}

/// Reads a class in brackets.
pub(super) fn bracketed(start: &str) -> Parsed<(Class, &str)> {
    let mut rest = &start[1..];
    let negated = rest.starts_with('^');
    rest = rest.strip_prefix('^').unwrap_or(rest);
    let mut members = String::new();
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some((named, after)) = posix(rest)? {
            members.push_str(named);
            rest = after;
        } else if let Some((class, after)) = escaped_class(rest)? {
            push_nested(&mut members, &class);
            rest = after;
        } else {
            rest = range(rest, start, &mut members)?;
        }
    }
    Ok((Class { members, negated }, &rest[1..]))
}

fn push_nested(members: &mut String, class: &Class) {
    let caret = if class.negated { "^" } else { "" };
    write!(members, "[{caret}{}]", class.members).expect("writing to a String never fails");
}

/// One character or a range of them.
fn range<'a>(start: &'a str, class: &str, members: &mut String) -> Parsed<&'a str> {
    let (low, mut rest) = class_code(start, class)?;
    let mut high = low;
    if rest.starts_with('-') && rest.len() >= 2 && !rest[1..].starts_with(']') {
        (high, rest) = class_code(&rest[1..], class)?;
        if high < low {
            return fail("invalid character class range", &start[..start.len() - rest.len()]);
        }
    }
    // Surrogates are in no text and not in the other syntax.
    for (low, high) in [(low, high.min(0xD7FF)), (low.max(0xE000), high)] {
        if low < high {
            write!(members, "{}-{}", escaped(low), escaped(high)).expect("writing to a String never fails");
        } else if low == high {
            members.push_str(&escaped(low));
        }
    }
    Ok(rest)
}

fn class_code<'a>(start: &'a str, class: &str) -> Parsed<(u32, &'a str)> {
    match start.chars().next() {
        None => fail("missing closing ]", class),
        Some('\\') => escaped_code(start),
        Some(character) => Ok((u32::from(character), &start[character.len_utf8()..])),
    }
}

/// Reads `[:name:]`.
fn posix(start: &str) -> Parsed<Option<(&'static str, &str)>> {
    if start.len() <= 2 || !start.starts_with("[:") {
        return Ok(None);
    }
    let Some(end) = start[2..].find(":]") else {
        return Ok(None);
    };
    let (name, rest) = start.split_at(end + 4);
    match names::posix(&name[2..name.len() - 2]) {
        Some(members) => Ok(Some((members, rest))),
        None => fail("invalid character class range", name),
    }
}

/// Reads `\d` and its like, or `\pL`, `\p{Greek}`.
pub(super) fn escaped_class(start: &str) -> Parsed<Option<(Class, &str)>> {
    let Some(letter) = start.strip_prefix('\\').and_then(|rest| rest.chars().next()) else {
        return Ok(None);
    };
    let members = match letter {
        'd' | 'D' => "0-9",
        's' | 'S' => r"\t\n\x{C}\r\x{20}",
        'w' | 'W' => "0-9A-Za-z_",
        'p' | 'P' => return unicode(start, letter == 'P').map(Some),
        _ => return Ok(None),
    };
    let class = Class { members: members.to_owned(), negated: letter.is_ascii_uppercase() };
    Ok(Some((class, &start[2..])))
}

fn unicode(start: &str, mut negated: bool) -> Parsed<(Class, &str)> {
    let after = &start[2..];
    let end = match after.chars().next() {
        None => return fail("invalid UTF-8", ""),
        Some('{') => match start.find('}') {
            Some(end) => end + 1,
            None => return fail("invalid character class range", start),
        },
        Some(letter) => 2 + letter.len_utf8(),
    };
    let (written, rest) = start.split_at(end);
    let name = written[2..].trim_start_matches('{').trim_end_matches('}');
    let name = match name.strip_prefix('^') {
        Some(name) => {
            negated = !negated;
            name
        }
        None => name,
    };
    match names::unicode(name) {
        Some(members) => Ok((Class { members, negated }, rest)),
        None => fail("invalid character class range", written),
    }
}

/// Reads a backslash and what stands for one character after it.
pub(super) fn escaped_code(start: &str) -> Parsed<(u32, &str)> {
    let mut rest = &start[1..];
    let Some(letter) = rest.chars().next() else {
        return fail("trailing backslash at end of expression", "");
    };
    rest = &rest[letter.len_utf8()..];
    let is_octal = |text: &str| text.starts_with(|digit: char| digit.is_digit(8));
    let simple = match letter {
        'a' => Some(7),
        'f' => Some(12),
        'n' => Some(10),
        'r' => Some(13),
        't' => Some(9),
        'v' => Some(11),
        '1'..='7' if !is_octal(rest) => None,
        '0'..='7' => return Ok(octal(&start[1..])),
        'x' => return hexadecimal(start, rest),
        _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => Some(u32::from(letter)),
        _ => None,
    };
    match simple {
        Some(code) => Ok((code, rest)),
        None => fail("invalid escape sequence", &start[..start.len() - rest.len()]),
    }
}

/// Up to three octal digits.
fn octal(text: &str) -> (u32, &str) {
    let length = text.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    (u32::from_str_radix(&text[..length], 8).unwrap_or_default(), &text[length..])
}

/// Two hexadecimal digits, or any number of them in braces.
fn hexadecimal<'a>(start: &'a str, text: &'a str) -> Parsed<(u32, &'a str)> {
    let upto = |rest: &str| &start[..start.len() - rest.len()];
    if let Some(braced) = text.strip_prefix('{') {
        return braced_code(braced).or_else(|rest| fail("invalid escape sequence", upto(rest)));
    }
    let mut characters = text.chars();
    let digits = (characters.next(), characters.next());
    match (digits.0.and_then(|digit| digit.to_digit(16)), digits.1.and_then(|digit| digit.to_digit(16))) {
        (Some(high), Some(low)) => Ok((high * 16 + low, characters.as_str())),
        _ => fail("invalid escape sequence", upto(characters.as_str())),
    }
}

/// Digits up to the closing brace; fails with what follows the character at fault.
fn braced_code(text: &str) -> Result<(u32, &str), &str> {
    let mut code = 0;
    let mut characters = text.chars();
    let mut any = false;
    while let Some(character) = characters.next() {
        match character.to_digit(16) {
            Some(digit) => code = code * 16 + digit,
            None if character == '}' && any => return Ok((code, characters.as_str())),
            None => break,
        }
        any = true;
        if code > 0x0010_FFFF {
            break;
        }
    }
    Err(characters.as_str())
}
