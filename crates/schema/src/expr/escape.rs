//! Property names as names of the expression language, and back.
//!
//! `a-b` is written `a__dash__b`, words of the language are put between `__`, and names that cannot be written at
//! all are out of reach.
//!
//! Upstream: apiserver/pkg/cel/escaping.go, v1.36.

use std::borrow::Cow;

/// Words that the language keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What stands for what.
const SEQUENCES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// The name by which expressions reach a property; `None` when they cannot.
pub(super) fn escape(name: &str) -> Option<Cow<'_, str>> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    let starts_well = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
    if !starts_well || !name.bytes().all(is_allowed) {
        return None;
    }
    if is_reserved(name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    if !name.contains(['.', '-', '/']) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut escaped = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let sequence = SEQUENCES.iter().find(|(plain, _)| rest.starts_with(plain));
        let (taken, written) = sequence
            .map_or((first.len_utf8(), &rest[..first.len_utf8()]), |(plain, written)| {
                (plain.len(), *written)
            });
        escaped.push_str(written);
        rest = &rest[taken..];
    }
    Some(Cow::Owned(escaped))
}

/// Properties as expressions write them; those out of reach as they are.
pub(crate) fn field_names(properties: &[&str]) -> Box<[cel::ast::Name]> {
    let name = |property: &&str| escape(property).map_or_else(|| (*property).into(), Into::into);
    properties.iter().map(name).collect()
}

/// The property that a name of an expression stands for; `None` when it stands for none.
pub(super) fn unescape(name: &str) -> Option<Cow<'_, str>> {
    if !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((start, end)) = sequence(rest) {
        plain.push_str(&rest[..start]);
        let content = &rest[start + 2..end - 2];
        match SEQUENCES.iter().find(|(_, written)| &written[2..written.len() - 2] == content) {
            Some((stands_for, _)) => plain.push_str(stands_for),
            None if is_reserved(content) && end - start == name.len() => plain.push_str(content),
            None => return None,
        }
        rest = &rest[end..];
    }
    plain.push_str(rest);
    Some(Cow::Owned(plain))
}

/// Where the next `__content__` is, the content being without underscores.
fn sequence(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let start = from + text[from..].find("__")?;
        let content = start + 2;
        let length = bytes[content..].iter().position(|byte| *byte == b'_')?;
        let end = content + length;
        if length > 0 && bytes[end..].starts_with(b"__") {
            return Some((start, end + 2));
        }
        from = start + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_and_read_back() {
        for (name, escaped) in [
            ("plain", "plain"),
            ("with_one", "with_one"),
            ("two__of", "two__underscores__of"),
            ("___", "__underscores___"),
            ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
            ("namespace", "__namespace__"),
            ("namespaces", "namespaces"),
            ("__in__", "__underscores__in__underscores__"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
    }

    #[test]
    fn some_names_are_out_of_reach() {
        for name in ["", "1a", "a b", "a$", "ä", "a:b"] {
            assert_eq!(escape(name), None, "{name}");
        }
    }

    #[test]
    fn unknown_sequences_stand_for_nothing() {
        for name in ["__what__", "a__in__", "__in____in__"] {
            assert_eq!(unescape(name), None, "{name}");
        }
        assert_eq!(unescape("a__b").as_deref(), Some("a__b"));
    }
}
