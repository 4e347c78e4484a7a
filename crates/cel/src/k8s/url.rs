//! URLs, read as Go's `net/url` reads them.

use std::any::Any;

use super::net::parse_address;
use crate::library::quoted;
use crate::{Entries, EvalError, Function, Library, Opaque, Overload, Type, Value};

const TYPE_NAME: &str = "kubernetes.URL";

/// The parts of a URL, decoded where Go decodes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Url {
    scheme: String,
    opaque: String,
    user: Option<String>,
    host: String,
    /// The path as written; its decoded form is only needed to tell whether it was written canonically.
    raw_path: String,
    path: Vec<u8>,
    query: String,
    fragment: String,
}

impl Opaque for Url {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        let comparable = |url: &Url| Url { raw_path: url.escaped_path(), ..url.clone() };
        other.downcast::<Url>().map(|other| comparable(self) == comparable(other))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(super) fn add(library: Library) -> Library {
    let url = || Type::object(TYPE_NAME);
    let part = |name: &str, id: &str, f: fn(&Url) -> String| {
        let overload = Overload::member(id, [url()], Type::String)
            .implemented(move |args| receiver(args).map(|url| Value::from(f(url))));
        Function::new(name).overload(overload)
    };
    let query = Type::map(Type::String, Type::list(Type::String));
    library
        .function(Function::new("url").overload(
            Overload::global("string_to_url", [Type::String], url()).implemented(|args| match args {
                [Value::String(text)] => parse(text).map(Value::opaque).map_err(|error| {
                    EvalError::new(format!("URL parse error during conversion from string: {error}"))
                }),
                _ => Err(EvalError::no_such_overload()),
            }),
        ))
        .function(Function::new("isURL").overload(
            Overload::global("is_url_string", [Type::String], Type::Bool).implemented(|args| match args {
                [Value::String(text)] => Ok(Value::Bool(check_request_uri(text).is_ok())),
                _ => Err(EvalError::no_such_overload()),
            }),
        ))
        .function(part("getScheme", "url_get_scheme", |url| url.scheme.clone()))
        .function(part("getHost", "url_get_host", |url| url.host.clone()))
        .function(part("getHostname", "url_get_hostname", |url| url.hostname_and_port().0.to_owned()))
        .function(part("getPort", "url_get_port", |url| url.hostname_and_port().1.to_owned()))
        .function(part("getEscapedPath", "url_get_escaped_path", Url::escaped_path))
        .function(
            Function::new("getQuery").overload(
                Overload::member("url_get_query", [url()], query)
                    .implemented(|args| receiver(args).map(Url::query)),
            ),
        )
}

fn receiver<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, EvalError> {
    match args {
        [only] => only.downcast().ok_or_else(EvalError::no_such_overload),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// A URL that is absolute or an absolute path. The error is Go's text.
fn parse(text: &str) -> Result<Url, String> {
    check_request_uri(text)?;
    let (before, fragment) = text.split_once('#').map_or((text, ""), |(before, after)| (before, after));
    let mut url = parse_parts(before, false).map_err(|error| in_context(text, &error))?;
    let fragment = unescape(fragment, Part::Other).map_err(|error| in_context(text, &error))?;
    url.fragment = String::from_utf8_lossy(&fragment).into_owned();
    Ok(url)
}

/// Why text is no absolute URL or path.
pub(super) fn check_request_uri(text: &str) -> Result<(), String> {
    parse_parts(text, true).map(|_| ()).map_err(|error| in_context(text, &error))
}

fn in_context(text: &str, error: &str) -> String {
    format!("parse {}: {error}", quoted(text))
}

fn parse_parts(text: &str, via_request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && via_request {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        "*".clone_into(&mut url.raw_path);
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, mut rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    if let Some((before, query)) = rest.split_once('?') {
        query.clone_into(&mut url.query);
        rest = before;
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if via_request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let may_have_host = !url.scheme.is_empty() || (!via_request && !rest.starts_with("///"));
    if let Some(after) = rest.strip_prefix("//")
        && may_have_host
    {
        let end = after.find('/').unwrap_or(after.len());
        parse_authority(&after[..end], &mut url)?;
        rest = &after[end..];
    }
    url.path = unescape(rest, Part::Other)?;
    rest.clone_into(&mut url.raw_path);
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(authority: &str, url: &mut Url) -> Result<(), String> {
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    url.host = parse_host(&url.scheme, host)?;
    let Some(user) = user else { return Ok(()) };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    unescape(user, Part::Other)?;
    url.user = Some(user.to_owned());
    Ok(())
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => parse_bracketed(host),
        Some(_) => Err("invalid IP-literal".to_owned()),
        None => {
            if let (Some(first), Some(last)) = (host.find(':'), host.rfind(':')) {
                let is_strict = matches!(scheme, "http" | "https");
                check_port(&host[if is_strict { first } else { last }..])?;
            }
            text_of(unescape(host, Part::Host)?)
        }
    }
}

fn parse_bracketed(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let port = &host[end + 1..];
    check_port(port)?;
    let name = &host[1..end];
    let zone = name.find("%25").unwrap_or(name.len());
    let decoded = [unescape(&name[..zone], Part::Host)?, unescape(&name[zone..], Part::Zone)?].concat();
    let decoded = text_of(decoded)?;
    let (address, _) = parse_address(&decoded).map_err(|error| format!("invalid host: {error}"))?;
    if address.is_ipv4() {
        return Err("invalid IP-literal".to_owned());
    }
    Ok(format!("[{decoded}]{port}"))
}

fn check_port(port: &str) -> Result<(), String> {
    let is_valid = match port.strip_prefix(':') {
        None => port.is_empty(),
        Some(digits) => digits.bytes().all(|b| b.is_ascii_digit()),
    };
    if is_valid { Ok(()) } else { Err(format!("invalid port {} after host", quoted(port))) }
}

fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "invalid UTF-8 in host".to_owned())
}

/// Which part of a URL is being decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Query,
    Other,
}

fn unescape(text: &str, part: Part) -> Result<Vec<u8>, String> {
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'%' => {
                let shown = || String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]).into_owned();
                let wrong = || format!("invalid URL escape {}", quoted(&shown()));
                let digits = text.get(at + 1..at + 3).ok_or_else(wrong)?;
                let value = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
                let is_percent = &bytes[at..at + 3] == b"%25";
                if part == Part::Host && value < 0x80 && !is_percent {
                    return Err(wrong());
                }
                if part == Part::Zone && !is_percent && value != b' ' && !is_host_byte(value) {
                    return Err(wrong());
                }
                out.push(value);
                at += 3;
                continue;
            }
            b'+' if part == Part::Query => out.push(b' '),
            other if in_host && other.is_ascii() && !is_host_byte(*other) => {
                return Err(format!("invalid character {:?} in host name", char::from(*other).to_string()));
            }
            other => out.push(*other),
        }
        at += 1;
    }
    Ok(out)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

impl Url {
    fn hostname_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
            _ => (self.host.as_str(), ""),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (bare.unwrap_or(host), port)
    }

    /// The path as written, where that is a valid encoding; otherwise encoded anew.
    fn escaped_path(&self) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte);
        let is_valid = |byte: u8| is_plain(byte) || b"!'()*[]%".contains(&byte);
        if self.raw_path.bytes().all(is_valid) {
            return self.raw_path.clone();
        }
        let escape = |byte: &u8| {
            if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
        };
        self.path.iter().map(escape).collect()
    }

    fn query<'a>(&self) -> Value<'a> {
        let mut parameters: Vec<(String, Vec<Value<'a>>)> = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Part::Query), unescape(value, Part::Query)) else {
                continue;
            };
            let key = String::from_utf8_lossy(&key).into_owned();
            let value = Value::from(String::from_utf8_lossy(&value).into_owned());
            match parameters.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => parameters.push((key, vec![value])),
            }
        }
        let entries = parameters.into_iter().map(|(key, values)| (Value::from(key), Value::list(values)));
        entries.collect::<Entries<'a>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let url = parse("https://user:pass@example.com:80/path?query=val&a=1&a=2#fragment").unwrap();
        assert_eq!(url.scheme, "https");
        assert_eq!(url.host, "example.com:80");
        assert_eq!(url.hostname_and_port(), ("example.com", "80"));
        assert_eq!(url.escaped_path(), "/path");
        assert_eq!(url.query, "query=val&a=1&a=2");
        let url = parse("https://[::1]:80/").unwrap();
        assert_eq!(url.hostname_and_port(), ("::1", "80"));
        let url = parse("https://example.com/path with spaces/").unwrap();
        assert_eq!(url.escaped_path(), "/path%20with%20spaces/");
    }

    #[test]
    fn errors_read_as_in_go() {
        for (text, expected) in [
            ("", "parse \"\": empty url"),
            ("../a", "parse \"../a\": invalid URI for request"),
            (":foo", "parse \":foo\": missing protocol scheme"),
            ("https://a:b:c/", "parse \"https://a:b:c/\": invalid port \":b:c\" after host"),
            ("http://a b/", "parse \"http://a b/\": invalid character \" \" in host name"),
            ("http://a/%zz", "parse \"http://a/%zz\": invalid URL escape \"%zz\""),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
        assert!(check_request_uri("/a").is_ok());
        assert!(check_request_uri("http:").is_ok());
    }
}
