//! Network names and addresses.

use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;

/// A host name as the reference's pattern has it: one label with a dash at most after its first character, or
/// labels and a top-level name of letters. Letters and symbols of any script may occur.
pub(super) fn is_hostname(text: &str) -> bool {
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && (is_lone_label(text) || is_qualified(text))
}

fn is_lone_label(text: &str) -> bool {
    let mut characters = text.chars();
    if !characters.next().is_some_and(is_label_character) {
        return false;
    }
    let rest = characters.as_str();
    rest.strip_prefix('-').unwrap_or(rest).chars().all(is_label_character)
}

fn is_qualified(text: &str) -> bool {
    let Some((labels, top)) = text.rsplit_once('.') else {
        return false;
    };
    (2..=63).contains(&top.chars().count()) && top.chars().all(is_letter) && labels.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let ends = |character: Option<char>| character.is_some_and(is_label_character);
    text.chars().count() <= 63
        && ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.chars().all(|character| character == '-' || is_label_character(character))
}

fn is_label_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || "$+<=>^`|~".contains(character);
    }
    is_letter(character) || in_class(&SYMBOL, character)
}

fn is_letter(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_alphabetic() } else { in_class(&LETTER, character) }
}

static LETTER: LazyLock<Regex> = LazyLock::new(|| class(r"^\p{L}$"));
static SYMBOL: LazyLock<Regex> = LazyLock::new(|| class(r"^\p{S}$"));

fn class(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

fn in_class(class: &Regex, character: char) -> bool {
    class.is_match(character.encode_utf8(&mut [0; 4]))
}

/// An address with a dot in it, which includes IPv6 that ends in IPv4. Leading zeros are tolerated.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (is_sloppy_ipv4(text) || is_sloppy_ipv6(text))
}

/// An IPv6 address without a zone.
pub(super) fn is_ipv6(text: &str) -> bool {
    Ipv6Addr::from_str(text).is_ok()
}

/// An address and the length of its prefix.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let limit = match address {
        _ if is_sloppy_ipv4(address) => 32,
        _ if is_sloppy_ipv6(address) => 128,
        _ => return false,
    };
    decimal(length).is_some_and(|length| length <= limit)
}

fn is_sloppy_ipv4(text: &str) -> bool {
    let mut parts = 0;
    text.split('.').all(|part| {
        parts += 1;
        decimal(part).is_some_and(|number| number <= 255)
    }) && parts == 4
}

fn is_sloppy_ipv6(text: &str) -> bool {
    match text.rsplit_once(':') {
        // Replace the dotted end by one that the strict reader takes.
        Some((head, tail)) if tail.contains('.') => {
            is_sloppy_ipv4(tail) && Ipv6Addr::from_str(&format!("{head}:1.1.1.1")).is_ok()
        }
        _ => Ipv6Addr::from_str(text).is_ok(),
    }
}

/// Digits only, and a number below 2^24 as in Go's reader.
fn decimal(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.trim_start_matches('0');
    match (digits, number.len()) {
        (true, 0) => Some(0),
        (true, 1..=8) => number.parse().ok().filter(|number| *number < 0x00FF_FFFF),
        _ => None,
    }
}

/// 6, 8 or 20 octets: pairs joined by `:` or `-`, groups of four digits joined by dots, or digits alone.
pub(super) fn is_mac(text: &str) -> bool {
    let octets = match text.as_bytes() {
        [_, _, separator @ (b':' | b'-'), ..] => grouped(text, *separator, 2),
        [_, _, _, _, b'.', ..] => grouped(text, b'.', 4),
        digits if digits.iter().all(u8::is_ascii_hexdigit) => {
            Some(digits.len() / 2).filter(|_| digits.len() % 2 == 0)
        }
        _ => None,
    };
    matches!(octets, Some(6 | 8 | 20))
}

/// The number of octets in groups of `digits` hexadecimal digits, when the text is just that.
fn grouped(text: &str, separator: u8, digits: usize) -> Option<usize> {
    let mut groups = 0;
    for group in text.as_bytes().split(|byte| *byte == separator) {
        if group.len() != digits || !group.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        groups += 1;
    }
    Some(groups * digits / 2)
}
