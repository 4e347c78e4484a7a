//! Which strings may be names, keys and values; each check returns what is wrong, in the reference's words.
//!
//! The messages quote regular expressions; the checks are plain scans for the same languages.
//!
//! Upstream: apimachinery/pkg/util/validation/validation.go and apimachinery/pkg/api/validate/content, v1.36.
//! The two disagree on the unit in "must be no more than": the former says characters, the latter bytes. Both
//! count bytes.

use std::borrow::Cow;

pub const DNS1123_LABEL_MAX_BYTES: usize = 63;
pub const DNS1123_SUBDOMAIN_MAX_BYTES: usize = 253;
pub const DNS1035_LABEL_MAX_BYTES: usize = 63;
pub const LABEL_KEY_NAME_MAX_BYTES: usize = 63;
pub const LABEL_VALUE_MAX_BYTES: usize = 63;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const C_IDENTIFIER: &str = "[A-Za-z_][A-Za-z0-9_]*";
const CONFIG_MAP_KEY: &str = "[-._a-zA-Z0-9]+";

const LABEL_KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Whether a checked text is a whole name or will get a generated suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameUse {
    Whole,
    Prefix,
}

/// A check of an object's name, or of its `generateName`.
pub type NameFn = fn(&str, NameUse) -> Vec<String>;

/// For names that are DNS subdomains: most kinds, and every custom resource.
///
/// ```
/// use crest_meta::names::{NameUse, name_is_dns_subdomain};
/// assert!(name_is_dns_subdomain("a.b-1", NameUse::Whole).is_empty());
/// assert!(name_is_dns_subdomain("a-", NameUse::Prefix).is_empty());
/// assert!(!name_is_dns_subdomain("a-", NameUse::Whole).is_empty());
/// ```
pub fn name_is_dns_subdomain(name: &str, name_use: NameUse) -> Vec<String> {
    dns1123_subdomain(&masked(name, name_use))
}

/// For names that are DNS labels: namespaces.
pub fn name_is_dns_label(name: &str, name_use: NameUse) -> Vec<String> {
    dns1123_label(&masked(name, name_use))
}

/// For names that are RFC 1035 labels: services.
pub fn name_is_dns1035_label(name: &str, name_use: NameUse) -> Vec<String> {
    dns1035_label(&masked(name, name_use))
}

/// For names that only need to survive in a URL path: RBAC roles and bindings.
pub fn name_is_path_segment(name: &str, name_use: NameUse) -> Vec<String> {
    match name_use {
        NameUse::Whole => path_segment(name),
        NameUse::Prefix => path_segment_prefix(name),
    }
}

/// A prefix may end in a dash. The reference replaces the last *two* bytes by a letter, which shows only in
/// the length; kept as it is.
fn masked(name: &str, name_use: NameUse) -> Cow<'_, str> {
    let dashed = name_use == NameUse::Prefix && name.len() > 1 && name.ends_with('-');
    if dashed && let Some(kept) = name.get(..name.len() - 2) {
        return Cow::Owned(format!("{kept}a"));
    }
    Cow::Borrowed(name)
}

pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut errors = too_long(text, DNS1123_LABEL_MAX_BYTES, "characters");
    if !is_dns1123_label(text) {
        errors.push(if is_dns1123_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            regex_error(words, DNS1123_LABEL, &["my-name", "123-abc"])
        });
    }
    errors
}

pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut errors = too_long(text, DNS1123_SUBDOMAIN_MAX_BYTES, unit);
    if !is_dns1123_subdomain(text) {
        let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        errors.push(regex_error(words, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    errors
}

pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut errors = too_long(text, DNS1035_LABEL_MAX_BYTES, "characters");
    if !(text.starts_with(|first: char| first.is_ascii_lowercase()) && is_dns1123_label(text)) {
        let words = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        errors.push(regex_error(words, DNS1035_LABEL, &["my-name", "abc-123"]));
    }
    errors
}

/// A wildcard such as `*.example.com`.
pub fn wildcard_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut errors = too_long(text, DNS1123_SUBDOMAIN_MAX_BYTES, "characters");
    if !text.strip_prefix("*.").is_some_and(is_dns1123_subdomain) {
        let words = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
        errors.push(regex_error(words, &format!(r"\*\.{DNS1123_SUBDOMAIN}"), &["*.example.com"]));
    }
    errors
}

/// A label key, alias qualified name: an optional DNS subdomain and a slash, then a short name.
///
/// ```
/// use crest_meta::names::qualified_name;
/// assert!(qualified_name("example.com/My_Name").is_empty());
/// assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
/// ```
pub fn qualified_name(text: &str) -> Vec<String> {
    let regex = || regex_error(LABEL_KEY_WORDS, LABEL_KEY, &["MyName", "my.name", "123-abc"]);
    let mut errors = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, rest)) if rest.contains('/') => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {optional}", regex())];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            errors.extend(subdomain(prefix, "bytes").iter().map(|error| format!("prefix part {error}")));
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_KEY_NAME_MAX_BYTES {
        errors.push(format!("name part must be no more than {LABEL_KEY_NAME_MAX_BYTES} bytes"));
    }
    if !is_label_name(name) {
        errors.push(format!("name part {}", regex()));
    }
    errors
}

pub fn label_value(text: &str) -> Vec<String> {
    let mut errors = too_long(text, LABEL_VALUE_MAX_BYTES, "bytes");
    if !(text.is_empty() || is_label_name(text)) {
        let words = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        errors.push(regex_error(words, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    errors
}

/// A name that can stand between slashes of a URL.
pub fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

pub fn path_segment_prefix(text: &str) -> Vec<String> {
    let forbidden = ['/', '%'].into_iter().filter(|&character| text.contains(character));
    forbidden.map(|character| format!("may not contain '{character}'")).collect()
}

pub fn c_identifier(text: &str) -> Vec<String> {
    let tail = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let valid = !text.is_empty() && text.bytes().all(tail) && !text.as_bytes()[0].is_ascii_digit();
    if valid {
        return Vec::new();
    }
    let words = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
    vec![regex_error(words, C_IDENTIFIER, &["my_name", "MY_NAME", "MyName"])]
}

/// A key of a config map or a secret.
pub fn config_map_key(text: &str) -> Vec<String> {
    let mut errors = too_long(text, DNS1123_SUBDOMAIN_MAX_BYTES, "characters");
    if text.is_empty() || !text.bytes().all(is_label_byte) {
        let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        errors.push(regex_error(words, CONFIG_MAP_KEY, &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." | ".." => errors.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => errors.push("must not start with '..'".to_owned()),
        _ => {}
    }
    errors
}

/// The text of a failed pattern, with examples that would pass.
pub fn regex_error(words: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{regex}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

fn too_long(text: &str, max_bytes: usize, unit: &str) -> Vec<String> {
    if text.len() <= max_bytes {
        return Vec::new();
    }
    vec![format!("must be no more than {max_bytes} {unit}")]
}

pub fn is_dns1123_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match text.as_bytes() {
        [] => false,
        bytes @ [first, .., last] => *first != b'-' && *last != b'-' && bytes.iter().copied().all(inner),
        [only] => *only != b'-' && inner(*only),
    }
}

pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns1123_label)
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// The name part of a label key; also a label value that is not empty.
fn is_label_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    alphanumeric(bytes.first()) && alphanumeric(bytes.last()) && bytes.iter().copied().all(is_label_byte)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(errors: Vec<String>, expected: Expect) {
        expected.assert_eq(&errors.join("\n"));
    }

    #[test]
    fn dns_labels_and_subdomains() {
        for good in ["a", "0", "a-b", "a1", "1a", "a--b"] {
            assert!(dns1123_label(good).is_empty(), "{good}");
            assert!(dns1123_subdomain(good).is_empty(), "{good}");
        }
        for bad in ["", "-", "a-", "-a", "A", "a_b", "a..b", ".a", "a.", "é", "a b", "a\n"] {
            assert!(!dns1123_label(bad).is_empty(), "{bad}");
            assert!(!dns1123_subdomain(bad).is_empty(), "{bad}");
        }
        assert!(dns1123_subdomain("a.b-c.d").is_empty());
        check(dns1123_label("a.b"), expect!["must not contain dots"]);
        check(
            dns1123_label(&"A".repeat(64)),
            expect![[r"
                must be no more than 63 characters
                a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"]],
        );
        check(
            dns1123_subdomain("a_b"),
            expect![[
                r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]],
        );
        check(
            dns1035_label("1a"),
            expect![[
                r"a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            ]],
        );
        assert!(wildcard_dns1123_subdomain("*.a.b").is_empty());
        assert!(!wildcard_dns1123_subdomain("*.*.b").is_empty());
    }

    #[test]
    fn label_keys_and_values() {
        for good in ["a", "A_b.c-1", "x.y/A", "1/2"] {
            assert!(qualified_name(good).is_empty(), "{good}");
        }
        check(
            qualified_name("a/b/c"),
            expect![[
                r"a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ]],
        );
        check(
            qualified_name(&format!("{}/", "a".repeat(254))),
            expect![[r"
                prefix part must be no more than 253 bytes
                name part must be non-empty
                name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"]],
        );
        check(qualified_name(&"a".repeat(64)), expect!["name part must be no more than 63 bytes"]);
        assert!(label_value("").is_empty());
        assert!(label_value("A_b.c-1").is_empty());
        check(label_value(&"a".repeat(64)), expect!["must be no more than 63 bytes"]);
        check(
            label_value("a/"),
            expect![[
                r"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ]],
        );
    }

    #[test]
    fn path_segments_identifiers_and_config_keys() {
        check(path_segment("."), expect!["may not be '.'"]);
        check(name_is_path_segment(".", NameUse::Prefix), expect![""]);
        check(
            path_segment("%a/b"),
            expect![[r"
                may not contain '/'
                may not contain '%'"]],
        );
        assert!(path_segment("system:Node é").is_empty());
        assert!(c_identifier("_a1").is_empty());
        check(
            c_identifier("1a"),
            expect![[
                r"a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
            ]],
        );
        assert!(config_map_key(".a-B_1").is_empty());
        check(config_map_key(".."), expect!["must not be '..'"]);
        check(config_map_key("..a"), expect!["must not start with '..'"]);
        check(
            config_map_key("a b"),
            expect![[
                r"a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
            ]],
        );
    }

    #[test]
    fn prefixes_may_end_in_a_dash() {
        assert!(name_is_dns_label("abc-", NameUse::Prefix).is_empty());
        assert!(!name_is_dns_label("-", NameUse::Prefix).is_empty());
        assert!(!name_is_dns_subdomain("é-", NameUse::Prefix).is_empty());
    }
}
