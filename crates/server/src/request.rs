//! What a request asks for, read from its method, path and query. Pure.
//!
//! Upstream: apiserver/pkg/endpoints/request/requestinfo.go, v1.36.

use std::borrow::Cow;

use meta::selector::field::FieldSelector;
use percent_encoding::percent_decode_str;

/// The HTTP methods an API server tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
    Other,
}

/// A request as far as its first line tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    pub method: Method,
    pub path: String,
    pub query: Query,
    /// What authorization is asked for: an API verb, or the method of a path that is no resource.
    pub verb: &'static str,
    /// `None`: the path names no resource.
    pub resource: Option<ResourceInfo>,
}

/// The resource a path names. Empty texts where the path has no such part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceInfo {
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub resource: String,
    pub subresource: String,
    pub name: String,
    /// Whether the path has segments behind what it names.
    pub has_more_segments: bool,
    /// Whether the path itself names the object; a field selector may name it for authorization only.
    pub name_from_path: bool,
}

/// The decoded query, in order. A pair that cannot be decoded is left out, as Go does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

/// Why a path cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to determine kind and namespace from url, {0}")]
pub struct PathError(String);

/// Subresources of a namespace, which are not resources in it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Reads a request's first line. `path` and `query` are as sent, still encoded.
pub fn parse(method: Method, path: &str, query: &str) -> Result<RequestInfo, PathError> {
    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
    let query = Query::parse(query);
    let (verb, resource) = match resource_segments(&path) {
        None => (method_verb(method), None),
        Some((group, version, rest)) => {
            let (verb, resource) = parse_resource(method, &query, group, version, &rest)?;
            (verb, Some(resource))
        }
    };
    Ok(RequestInfo { method, path, query, verb, resource })
}

/// Group, version and what follows, of a path that names a resource.
fn resource_segments(path: &str) -> Option<(&str, &str, Vec<&str>)> {
    let trimmed = path.trim_matches('/');
    let segments: Vec<&str> = trimmed.split('/').collect();
    match segments.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => Some(("", version, rest.to_vec())),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => Some((group, version, rest.to_vec())),
        _ => None,
    }
}

fn parse_resource(
    method: Method,
    query: &Query,
    group: &str,
    version: &str,
    segments: &[&str],
) -> Result<(&'static str, ResourceInfo), PathError> {
    let (mut verb, mut rest) = (api_verb(method), segments);
    if let [special @ ("proxy" | "watch"), others @ ..] = segments {
        if others.is_empty() {
            return Err(PathError(segments.join("/")));
        }
        verb = if *special == "watch" { "watch" } else { "proxy" };
        rest = others;
    }
    let mut info =
        ResourceInfo { group: group.to_owned(), version: version.to_owned(), ..ResourceInfo::default() };
    if let ["namespaces", namespace, others @ ..] = rest {
        (*namespace).clone_into(&mut info.namespace);
        if others.first().is_some_and(|first| !NAMESPACE_SUBRESOURCES.contains(first)) {
            rest = others;
        }
    }
    let part = |index: usize| rest.get(index).map(|part| (*part).to_owned()).unwrap_or_default();
    info.resource = part(0);
    info.name = part(1);
    info.name_from_path = !info.name.is_empty();
    let without_subresources = matches!(verb, "proxy" | "watch");
    if !without_subresources {
        info.subresource = part(2);
    }
    info.has_more_segments = rest.len() > if without_subresources { 2 } else { 3 };
    if info.name.is_empty() && verb == "get" {
        verb = if query.flag("watch") { "watch" } else { "list" };
    }
    if info.name.is_empty() && verb == "delete" {
        verb = "deletecollection";
    }
    if info.name.is_empty() && matches!(verb, "list" | "watch" | "deletecollection") {
        info.name = selected_name(query).unwrap_or_default();
    }
    Ok((verb, info))
}

/// The one object that a field selector picks, which authorization then asks for by name.
fn selected_name(query: &Query) -> Option<String> {
    let selector = FieldSelector::parse(query.get("fieldSelector")?).ok()?;
    selector.required_value("metadata.name").filter(|name| is_path_segment(name)).map(str::to_owned)
}

/// Whether a name can stand in a path, and in a key.
pub(crate) fn is_path_segment(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%'])
}

fn api_verb(method: Method) -> &'static str {
    match method {
        Method::Post => "create",
        Method::Get | Method::Head => "get",
        Method::Put => "update",
        Method::Patch => "patch",
        Method::Delete => "delete",
        Method::Options | Method::Other => "",
    }
}

fn method_verb(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Head => "head",
        Method::Post => "post",
        Method::Put => "put",
        Method::Patch => "patch",
        Method::Delete => "delete",
        Method::Options => "options",
        Method::Other => "",
    }
}

impl Query {
    pub fn parse(text: &str) -> Self {
        Query(text.split('&').filter(|pair| !pair.is_empty()).filter_map(decode_pair).collect())
    }

    /// The first value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(candidate, _)| candidate == key).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(candidate, _)| candidate == key).map(|(_, value)| value.as_str())
    }

    /// A boolean as the reference reads one: present and neither `false` nor `0`.
    pub fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(crate::verbs::options::parse_bool)
    }
}

fn decode_pair(pair: &str) -> Option<(String, String)> {
    if pair.contains(';') {
        return None; // Go refuses it as a separator of old
    }
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some((decode_component(key)?.into_owned(), decode_component(value)?.into_owned()))
}

fn decode_component(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        if byte == b'%' && !(hex(rest.next()) && hex(rest.next())) {
            return None;
        }
    }
    let spaced = text.replace('+', " ");
    Some(Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned()))
}

/// Whether every percent sign of a path begins two hexadecimal digits.
pub fn is_escaped_well(path: &str) -> bool {
    let mut escapes = path.split('%').skip(1);
    escapes
        .all(|rest| rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, path: &str, query: &str, expected: &str) {
        let info = parse(method, path, query).unwrap();
        let shown = match &info.resource {
            None => format!("{} {}", info.verb, info.path),
            Some(resource) => format!(
                "{} {}/{} ns={} {}/{} name={}",
                info.verb,
                resource.group,
                resource.version,
                resource.namespace,
                resource.resource,
                resource.subresource,
                resource.name
            ),
        };
        assert_eq!(shown, expected, "{path}?{query}");
    }

    #[test]
    fn paths_are_read_as_the_reference_reads_them() {
        check(Method::Get, "/api", "", "get /api");
        check(Method::Get, "/apis/g.io/v1", "", "get /apis/g.io/v1");
        check(Method::Post, "/healthz", "", "post /healthz");
        check(Method::Get, "/api/v1/configmaps", "", "list /v1 ns= configmaps/ name=");
        check(Method::Get, "/api/v1/configmaps", "watch=maybe", "watch /v1 ns= configmaps/ name=");
        check(Method::Get, "/api/v1/configmaps", "watch=0", "list /v1 ns= configmaps/ name=");
        check(
            Method::Get,
            "/apis/g/v1/namespaces/a/things/b/status",
            "",
            "get g/v1 ns=a things/status name=b",
        );
        check(Method::Get, "/api/v1/namespaces/a", "", "get /v1 ns=a namespaces/ name=a");
        check(Method::Put, "/api/v1/namespaces/a/finalize", "", "update /v1 ns=a namespaces/finalize name=a");
        check(
            Method::Delete,
            "/api/v1/namespaces/a/configmaps",
            "",
            "deletecollection /v1 ns=a configmaps/ name=",
        );
        check(
            Method::Get,
            "/api/v1/watch/namespaces/a/configmaps/b",
            "",
            "watch /v1 ns=a configmaps/ name=b",
        );
        check(
            Method::Get,
            "/api/v1/configmaps",
            "fieldSelector=metadata.name%3Dx",
            "list /v1 ns= configmaps/ name=x",
        );
    }

    #[test]
    fn a_watch_of_nothing_is_an_error() {
        let error = parse(Method::Get, "/api/v1/watch", "").unwrap_err();
        assert_eq!(error.to_string(), "unable to determine kind and namespace from url, watch");
    }

    #[test]
    fn queries_are_decoded_and_bad_pairs_dropped() {
        let query = Query::parse("a=1&b=x+y%20z&bad=%zz&c&a=2");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("b"), Some("x y z"));
        assert_eq!(query.get("bad"), None);
        assert!(query.flag("c") && !query.flag("d"));
    }

    #[test]
    fn escapes_have_two_digits() {
        assert!(["/", "/a%20b", "/%C3%a4%25"].into_iter().all(is_escaped_well));
        assert!(!["/%", "/%zz", "/a%2", "/%2/", "/%25%", "/%%20"].into_iter().any(is_escaped_well));
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(path in ".{0,60}", query in ".{0,60}") {
            let _ = parse(Method::Get, &path, &query);
        }
    }
}
