//! URIs as Go's `url.ParseRequestURI` reads them: absolute, or an absolute path; without a fragment.
//!
//! Upstream: Go's net/url, 1.26.

use std::net::Ipv6Addr;
use std::str::FromStr;

pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return !scheme.is_empty(); // what follows is opaque
    }
    match rest.strip_prefix("//") {
        Some(after) if !scheme.is_empty() => {
            let end = after.find('/').unwrap_or(after.len());
            is_authority(&after[..end]) && has_valid_escapes(&after[end..])
        }
        _ => has_valid_escapes(rest),
    }
}

/// The scheme, empty when there is none, and what follows its colon. `None` for a colon at the start.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return None,
            b':' => return Some((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((user, host)) => is_user_info(user) && is_host(host),
        None => is_host(text),
    }
}

fn is_user_info(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    text.bytes().all(allowed) && has_valid_escapes(text)
}

fn is_host(text: &str) -> bool {
    let Some(open) = text.rfind('[') else {
        return match text.rfind(':') {
            Some(colon) => is_port(&text[colon..]) && has_host_characters(text),
            None => has_host_characters(text),
        };
    };
    let Some(close) = text.rfind(']').filter(|_| open == 0) else {
        return false;
    };
    let address = &text[1..close];
    let address = address.split_once("%25").map_or(address, |(address, _zone)| address);
    is_port(&text[close + 1..]) && Ipv6Addr::from_str(address).is_ok()
}

/// Nothing, or a colon and digits.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn has_host_characters(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(index, &byte)| match byte {
        // Only bytes beyond ASCII may be escaped, and the percent sign itself.
        b'%' => match bytes.get(index + 1..index + 3) {
            Some(b"25") => true,
            Some([high, low]) => {
                matches!(high, b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F') && low.is_ascii_hexdigit()
            }
            _ => false,
        },
        0x80.. => true,
        _ => byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte),
    })
}

fn has_valid_escapes(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        match rest.get(at + 1..at + 3) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => rest = &rest[at + 3..],
            _ => return false,
        }
    }
    true
}
