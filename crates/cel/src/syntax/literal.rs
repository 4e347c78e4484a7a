//! The values of number and string literals.

use crate::ast::Literal;

/// Parses the text of an integer literal, `-0x1F` included.
pub(crate) fn int(text: &str) -> Option<Literal> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = magnitude_of(magnitude)?;
    let value = if negative { -i128::from(value) } else { i128::from(value) };
    i64::try_from(value).ok().map(Literal::Int)
}

/// Parses the text of an unsigned literal, suffix included.
pub(crate) fn uint(text: &str) -> Option<Literal> {
    magnitude_of(text.strip_suffix(['u', 'U'])?).map(Literal::Uint)
}

/// Parses the text of a floating-point literal. Values beyond the range are refused, not rounded to infinity.
pub(crate) fn double(text: &str) -> Option<Literal> {
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Literal::Double)
}

fn magnitude_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The contents of a string literal, given with its quotes and prefixes.
pub(crate) fn string(text: &str) -> Result<String, &'static str> {
    let bytes = unescape(text, false)?;
    String::from_utf8(bytes).map_err(|_| "invalid unicode code point")
}

/// The contents of a bytes literal, given with its quotes and prefixes.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, &'static str> {
    unescape(&text[1..], true)
}

const MALFORMED: &str = "unable to unescape string";

fn unescape(text: &str, is_bytes: bool) -> Result<Vec<u8>, &'static str> {
    let (raw, quoted) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let width =
        if quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\"")) { 3 } else { 1 };
    let inner = quoted.get(width..quoted.len() - width).ok_or(MALFORMED)?;
    if raw {
        return Ok(inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = escape(&rest[at + 1..], is_bytes, &mut out)?;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Decodes the sequence after a backslash and returns what follows it.
fn escape<'s>(text: &'s str, is_bytes: bool, out: &mut Vec<u8>) -> Result<&'s str, &'static str> {
    let selector = *text.as_bytes().first().ok_or(MALFORMED)?;
    let simple = match selector {
        b'a' => Some(0x07),
        b'b' => Some(0x08),
        b'f' => Some(0x0c),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'v' => Some(0x0b),
        b'\\' | b'\'' | b'"' | b'`' | b'?' => Some(selector),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return Ok(&text[1..]);
    }
    let (digits, radix, start) = match selector {
        b'x' | b'X' => (2, 16, 1),
        b'u' if !is_bytes => (4, 16, 1),
        b'U' if !is_bytes => (8, 16, 1),
        b'0'..=b'3' => (3, 8, 0),
        _ => return Err(MALFORMED),
    };
    let digits = text.get(start..start + digits).ok_or(MALFORMED)?;
    let value = u32::from_str_radix(digits, radix).map_err(|_| MALFORMED)?;
    if is_bytes {
        out.push(u8::try_from(value).map_err(|_| MALFORMED)?);
    } else {
        let character = char::from_u32(value).ok_or("invalid unicode code point")?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(&text[start + digits.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_edges_of_their_range() {
        assert_eq!(int("-9223372036854775808"), Some(Literal::Int(i64::MIN)));
        assert_eq!(int("9223372036854775808"), None);
        assert_eq!(int("-0x10"), Some(Literal::Int(-16)));
        assert_eq!(uint("0xFFu"), Some(Literal::Uint(255)));
        assert_eq!(uint("18446744073709551616u"), None);
        assert_eq!(double("1e999"), None);
    }

    #[test]
    fn escapes_mean_code_points_in_strings_and_bytes_in_bytes() {
        assert_eq!(string(r"'\x41\101\u00e9\U0001F600'").unwrap(), "AAé😀");
        assert_eq!(bytes(r"b'\xff\377é'").unwrap(), [0xff, 0xff, 0xc3, 0xa9]);
        assert_eq!(string(r"r'\n'").unwrap(), r"\n");
        assert_eq!(string("'''a'b'''").unwrap(), "a'b");
        assert_eq!(string(r"'\uD800'"), Err("invalid unicode code point"));
        assert_eq!(bytes(r"b'\u0041'"), Err(MALFORMED));
    }
}
