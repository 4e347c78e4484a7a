//! Rules for Rust files, read from the code alone: what stands in comments and strings does not count.

use std::path::Path;

use super::Finding;

/// Words that must not be in the code, and what to do instead.
const FORBIDDEN: [(&str, &str); 5] = [
    ("todo!", "finish it, or leave it out and open an issue"),
    ("unimplemented!", "finish it, or leave it out and open an issue"),
    ("dbg!", "remove it, or use tracing"),
    ("#[ignore", "run the test or delete it"),
    ("#[should_panic", "assert the error, or catch the panic and assert its message"),
];

pub(crate) fn check(path: &Path, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |line, text: String| findings.push(Finding { path: path.into(), line, text });
    if !source.starts_with("//! ") {
        add(1, "the file must open with a `//!` line that says what it is".into());
    }
    let code = code_only(source);
    for (word, advice) in FORBIDDEN {
        for (at, _) in code.match_indices(word).filter(|(at, _)| begins_a_word(&code, *at)) {
            add(line_of(&code, at), format!("`{word}` is not allowed: {advice}"));
        }
    }
    for opening in ["#[allow(", "#![allow("] {
        for (at, _) in code.match_indices(opening) {
            if !attribute(&code[at..]).contains("reason") {
                add(
                    line_of(&code, at),
                    "give a reason, and prefer #[expect(…, reason = \"…\")] to #[allow]".into(),
                );
            }
        }
    }
    findings.sort();
    findings
}

/// `todo!` is a word, `not_todo!` is another.
fn begins_a_word(code: &str, at: usize) -> bool {
    code[at..].starts_with('#') || !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// The attribute that the text begins with, up to its closing bracket.
fn attribute(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return &text[..=at],
            ']' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// The source with comments and the contents of strings and characters blanked; lines stay where they are.
fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = non_code(rest, out.chars().next_back());
        if skipped == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..skipped].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[skipped..];
        }
    }
    out
}

/// How many bytes of comment or literal the text begins with; `before` is the character in front of it.
fn non_code(text: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if let Some(content) = text.strip_prefix('"') {
        return 1 + quoted(content, '"');
    }
    if text.starts_with('\'') {
        return character(text);
    }
    if in_word {
        return 0;
    }
    raw_string(text).unwrap_or(0)
}

/// Block comments nest in Rust.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Bytes up to and including the closing quote; a backslash takes the next character with it.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + 1;
        }
    }
    text.len()
}

/// A character literal; zero for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text[1..].chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => 1 + quoted(&text[1..], '\''),
        (Some(c), Some('\'')) => 1 + c.len_utf8() + 1,
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#`, with or without the `b` or `c` of byte and C strings.
fn raw_string(text: &str) -> Option<usize> {
    let after =
        text.strip_prefix("br").or_else(|| text.strip_prefix("cr")).or_else(|| text.strip_prefix('r'))?;
    let content = after.trim_start_matches('#');
    let hashes = after.len() - content.len();
    let content = content.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = content.find(&closing).map_or(content.len(), |at| at + closing.len());
    Some(text.len() - content.len() + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_body(body: &str) -> Vec<String> {
        let findings = check(Path::new("a.rs"), &format!("//! A file.\n{body}"));
        findings.iter().map(|finding| format!("{}: {}", finding.line, finding.text)).collect()
    }

    #[test]
    fn a_file_opens_with_what_it_is() {
        assert_eq!(check(Path::new("a.rs"), "use std::io;\n").len(), 1);
        assert_eq!(check(Path::new("a.rs"), "").len(), 1);
        assert_eq!(check(Path::new("a.rs"), "//! Words.\nuse std::io;\n"), []);
    }

    #[test]
    fn forbidden_words_are_found_in_code_with_their_line() {
        let body = "fn a() {\n    todo!();\n    dbg!(1);\n}\n#[ignore = \"slow\"]\n#[should_panic]\nfn b() { unimplemented!() }";
        let lines = check_body(body)
            .iter()
            .map(|text| text.split(' ').next().unwrap().to_string())
            .collect::<Vec<_>>();
        assert_eq!(lines, ["3:", "4:", "6:", "7:", "8:"]);
    }

    #[test]
    fn comments_strings_and_longer_words_do_not_count() {
        let body = r##"
            // todo!() in a comment
            /* dbg!( /* nested */ todo!() */
            fn a<'a>() -> &'a str { not_todo!(); "todo!()" }
            fn b() -> (&'static str, char, u8) { (r#"a " todo!()"#, '"', b'\'') }
            fn c() -> &'static [u8] { br"todo!()" }
            fn d() -> &'static str { "\" todo!() \\" }
        "##;
        assert_eq!(check_body(body), [""; 0]);
        // The literals above must not swallow the code after them.
        assert_eq!(check_body(&format!("{body}\nfn e() {{ todo!() }}")).len(), 1);
    }

    #[test]
    fn an_allow_needs_its_reason() {
        assert_eq!(check_body("#[allow(dead_code)]\nfn a() {}").len(), 1);
        assert_eq!(check_body("#![allow(dead_code)]").len(), 1);
        assert_eq!(check_body("#[allow(\n    dead_code,\n    reason = \"x\",\n)]\nfn a() {}"), [""; 0]);
        assert_eq!(check_body("#[expect(dead_code, reason = \"x\")]\nfn a() {}"), [""; 0]);
    }
}
