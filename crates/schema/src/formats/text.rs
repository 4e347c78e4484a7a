//! Formats that are a matter of characters: identifiers, colours, base64, Kubernetes names.

const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// 24 hexadecimal digits.
pub(super) fn is_bson_object_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_uuid(text: &str) -> bool {
    uuid_digits(text).is_some()
}

pub(super) fn is_uuid3(text: &str) -> bool {
    uuid_digits(text).is_some_and(|digits| digits[12] == b'3')
}

pub(super) fn is_uuid4(text: &str) -> bool {
    uuid_digits(text).is_some_and(|digits| digits[12] == b'4' && is_rfc_variant(digits[16]))
}

pub(super) fn is_uuid5(text: &str) -> bool {
    uuid_digits(text).is_some_and(|digits| digits[12] == b'5' && is_rfc_variant(digits[16]))
}

fn is_rfc_variant(digit: u8) -> bool {
    matches!(digit, b'8' | b'9' | b'a' | b'b' | b'A' | b'B')
}

/// The 32 digits; a dash between two groups may be left out.
fn uuid_digits(text: &str) -> Option<[u8; 32]> {
    let mut digits = [0; 32];
    let mut rest = text.as_bytes();
    let mut filled = 0;
    for (index, length) in UUID_GROUPS.into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let (group, after) = rest.split_at_checked(length)?;
        if !group.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        digits[filled..filled + length].copy_from_slice(group);
        filled += length;
        rest = after;
    }
    rest.is_empty().then_some(digits)
}

/// Three or six hexadecimal digits, with or without `#`.
pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `rgb(0, 31, 255)`; blanks are allowed inside the parentheses.
pub(super) fn is_rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else {
        return false;
    };
    let is_blank = |character: char| matches!(character, '\t' | '\n' | '\x0c' | '\r' | ' ');
    let mut parts = 0;
    inner.split(',').all(|part| {
        parts += 1;
        is_octet(part.trim_matches(is_blank))
    }) && parts == 3
}

/// 0 to 255 without leading zeros.
fn is_octet(text: &str) -> bool {
    let plain = matches!(text.len(), 1..=3) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain && (text == "0" || !text.starts_with('0')) && text.parse::<u16>().is_ok_and(|number| number <= 255)
}

/// Padded standard base64 of at least one byte.
pub(super) fn is_base64(text: &str) -> bool {
    if text.is_empty() || !text.len().is_multiple_of(4) {
        return false;
    }
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// A label of a DNS name in lower case.
pub(super) fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_name_segment(text)
}

/// Segments of any length joined by dots, 253 characters in all.
pub(super) fn is_long_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_name_segment)
}

fn is_name_segment(text: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&byte| is_alphanumeric(byte))
        && bytes.last().is_some_and(|&byte| is_alphanumeric(byte))
        && bytes.iter().all(|&byte| is_alphanumeric(byte) || byte == b'-')
}
