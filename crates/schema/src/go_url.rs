//! URLs as Go's `net/url` splits them, with its words for those it refuses.
//!
//! The parts are borrowed and stay escaped: only their presence and spelling matter here.
//!
//! Upstream: Go's net/url/url.go, 1.26.

use std::net::Ipv6Addr;
use std::str::FromStr;

use meta::go_fmt;

/// The parts of a URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    /// In lower case.
    pub(crate) scheme: String,
    pub(crate) user: Option<&'a str>,
    pub(crate) host: &'a str,
    pub(crate) query: &'a str,
    pub(crate) fragment: &'a str,
}

impl<'a> Url<'a> {
    /// Go's `url.Parse`.
    pub(crate) fn parse(text: &'a str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let wrap = |text: &str, error: String| format!("parse {}: {error}", go_fmt::quote(text));
        let url = split(before, false).map_err(|error| wrap(before, error))?;
        check_escapes(fragment).map_err(|error| wrap(text, error))?;
        Ok(Url { fragment, ..url })
    }

    /// Go's `url.ParseRequestURI`: absolute, or an absolute path; nothing is a fragment.
    pub(crate) fn parse_request(text: &'a str) -> Option<Self> {
        split(text, true).ok()
    }
}

fn split(text: &str, via_request: bool) -> Result<Url<'_>, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && via_request {
        return Err("empty url".to_owned());
    }
    if text == "*" {
        return Ok(Url::default());
    }
    let (scheme, rest) = split_scheme(text).ok_or("missing protocol scheme")?;
    let scheme = scheme.to_ascii_lowercase();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut url = Url { scheme, query, ..Url::default() };
    if !path.starts_with('/') {
        if !url.scheme.is_empty() {
            return Ok(url); // what follows is opaque
        }
        if via_request {
            return Err("invalid URI for request".to_owned());
        }
        if path.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let may_have_authority = !url.scheme.is_empty() || (!via_request && !path.starts_with("///"));
    let path = match path.strip_prefix("//").filter(|_| may_have_authority) {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (url.user, url.host) = split_authority(&url.scheme, authority)?;
            path
        }
        None => path,
    };
    check_escapes(path)?;
    Ok(url)
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

fn split_authority<'a>(scheme: &str, text: &'a str) -> Result<(Option<&'a str>, &'a str), String> {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, text),
    };
    check_host(scheme, host)?;
    if let Some(user) = user {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        if !user.bytes().all(allowed) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        check_escapes(user)?;
    }
    Ok((user, host))
}

fn check_host(scheme: &str, host: &str) -> Result<(), String> {
    match host.rfind('[') {
        Some(0) => return check_ip_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // In the schemes of the web the first colon starts the port, elsewhere the last one.
    let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
    if let Some(colon) = colon {
        check_port(&host[colon..])?;
    }
    check_host_characters(host)
}

fn check_ip_literal(host: &str) -> Result<(), String> {
    let close = host.rfind(']').ok_or("missing ']' in host")?;
    check_port(&host[close + 1..])?;
    let address = &host[1..close];
    check_host_characters(address)?;
    let (address, _zone) = address.split_once("%25").unwrap_or((address, ""));
    match Ipv6Addr::from_str(address) {
        Ok(_) => Ok(()),
        Err(_) if address.parse::<std::net::Ipv4Addr>().is_ok() => Err("invalid IP-literal".to_owned()),
        Err(_) => Err(format!("invalid host: ParseAddr({}): unable to parse IP", go_fmt::quote(address))),
    }
}

/// Nothing, or a colon and digits.
fn check_port(text: &str) -> Result<(), String> {
    let is_port = |text: &str| {
        text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if text.is_empty() || is_port(text) {
        return Ok(());
    }
    Err(format!("invalid port {} after host", go_fmt::quote(text)))
}

fn check_host_characters(host: &str) -> Result<(), String> {
    let bytes = host.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        match byte {
            // Only bytes beyond ASCII may be escaped, and the percent sign itself.
            b'%' => match bytes.get(index + 1..index + 3) {
                Some(b"25") => {}
                Some([b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', low]) if low.is_ascii_hexdigit() => {}
                _ => return Err(invalid_escape(&host[index..])),
            },
            0x80.. => {}
            _ if byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte) => {}
            _ => {
                let shown = go_fmt::quote(&host[index..=index]);
                return Err(format!("invalid character {shown} in host name"));
            }
        }
    }
    Ok(())
}

fn check_escapes(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        match rest.as_bytes().get(at + 1..at + 3) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => rest = &rest[at + 3..],
            _ => return Err(invalid_escape(&rest[at..])),
        }
    }
    Ok(())
}

fn invalid_escape(text: &str) -> String {
    let shown: String = text.chars().take(3).collect();
    format!("invalid URL escape {}", go_fmt::quote(&shown))
}
