//! Rows are Go's own answers, recorded with Go 1.26.

use super::translate;
use crate::pattern::Pattern;

fn check_error(source: &str, expected: &str) {
    let error = translate(source).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, format!("error parsing regexp: {expected}"), "{source}");
}

fn check_match(source: &str, matching: &[&str], others: &[&str]) {
    assert_eq!(Pattern::error(source), None, "{source}");
    let pattern = Pattern::new(source);
    for text in matching {
        assert!(pattern.is_match(text), "{source} should match {text:?}");
    }
    for text in others {
        assert!(!pattern.is_match(text), "{source} should not match {text:?}");
    }
}

#[test]
fn what_go_refuses_is_refused_in_its_words() {
    check_error("a**", "invalid nested repetition operator: `**`");
    check_error("a+?*", "invalid nested repetition operator: `+?*`");
    check_error("x{2}{3}", "invalid nested repetition operator: `{2}{3}`");
    check_error("(?i)*", "missing argument to repetition operator: `*`");
    check_error("a|*", "missing argument to repetition operator: `*`");
    check_error("(*)", "missing argument to repetition operator: `*`");
    check_error("a{1001}", "invalid repeat count: `{1001}`");
    check_error("a{2,1}", "invalid repeat count: `{2,1}`");
    check_error("a{999999999999}", "invalid repeat count: `{999999999999}`");
    check_error("(x{100}){11}", "invalid repeat count: `{11}`");
    check_error("[z-a]", "invalid character class range: `z-a`");
    check_error("[[:foo:]]", "invalid character class range: `[:foo:]`");
    check_error(r"\p{Alphabetic}", r"invalid character class range: `\p{Alphabetic}`");
    check_error(r"\p{Old_Italic}", r"invalid character class range: `\p{Old_Italic}`");
    check_error(r"\pX", r"invalid character class range: `\pX`");
    check_error("(abc", "missing closing ): `(abc`");
    check_error("abc)", "unexpected ): `abc)`");
    check_error("x[abc", "missing closing ]: `[abc`");
    check_error("[a", "missing closing ]: `[a`");
    check_error(r"\8", r"invalid escape sequence: `\8`");
    check_error(r"\1", r"invalid escape sequence: `\1`");
    check_error(r"a\y", r"invalid escape sequence: `\y`");
    check_error(r"\C", r"invalid escape sequence: `\C`");
    check_error(r"\xz1", r"invalid escape sequence: `\xz1`");
    check_error(r"\x{110000}", r"invalid escape sequence: `\x{110000`");
    check_error(r"abc\", "trailing backslash at end of expression: ``");
    check_error("(?=a)", "invalid or unsupported Perl syntax: `(?=`");
    check_error("(?<!a)", "invalid named capture: `(?<!a)`");
    check_error("(?i", "invalid or unsupported Perl syntax: `(?i`");
    check_error("(?x)a", "invalid or unsupported Perl syntax: `(?x`");
    check_error("(?-)a", "invalid or unsupported Perl syntax: `(?-)`");
    check_error("(?P<n-a>b)", "invalid named capture: `(?P<n-a>`");
    check_error("(?P=n)", "invalid or unsupported Perl syntax: `(?P`");
}

#[test]
fn what_go_accepts_means_the_same() {
    check_match("^[a-z]+$", &["abc"], &["", "aBc", "abc\n"]);
    check_match(r"^\d+$", &["12"], &["٣", ""]);
    check_match(r"^\w$", &["a", "_"], &["é"]);
    check_match(r"^\s$", &[" ", "\x0c"], &["\u{b}", "\u{a0}"]);
    check_match(r"\bfoo\b", &["a foo", "éfoo"], &["afoo"]);
    check_match(r"a\Bb", &["ab"], &["a b"]);
    check_match("a{,3}", &["a{,3}"], &["aaa"]);
    check_match("^a{01}$", &["a{01}"], &["a"]);
    check_match("{", &["{"], &["x"]);
    check_match("^[a&&b]$", &["a", "b", "&"], &["c"]);
    check_match("^[+--b]$", &["+", ",", "-", "b"], &["c"]);
    check_match("^[]a]$", &["]", "a"], &["b"]);
    check_match("^[^]a]$", &["b"], &["]", "a"]);
    check_match("^[a[b]$", &["[", "a", "b"], &["c"]);
    check_match("^[-a]$", &["-", "a"], &["b"]);
    check_match("^[a-]$", &["-", "a"], &["b"]);
    check_match(r"^[\d-z]$", &["1", "-", "z"], &["a"]);
    check_match("^[[:alpha:]-]$", &["x", "-"], &["1"]);
    check_match("^[[:^alpha:]]$", &["1", "é"], &["x"]);
    check_match(r"^\p{Greek}$", &["α"], &["a"]);
    check_match(r"^\p{greek}$", &["α"], &["a"]);
    check_match(r"^\P{Greek}$", &["a"], &["α"]);
    check_match(r"^\p{^Greek}$", &["a"], &["α"]);
    check_match(r"^\pL$", &["é"], &["1"]);
    check_match(r"^[^\PL]$", &["é"], &["1"]);
    check_match(r"\012", &["\n"], &["x"]);
    check_match(r"^\Qa.b\E+$", &["a.bb"], &["axb"]);
    check_match("(?P<n>a)(?P<n>b)", &["ab"], &["a"]);
    check_match("^x(?i)*$", &["xxx", ""], &["X"]);
    check_match("(?i)straße", &["STRAßE"], &["STRASSE"]);
    check_match("(?i)^[^k]$", &["a"], &["K", "\u{212a}"]);
    check_match("^(?i:a)b$", &["Ab"], &["AB"]);
    check_match("^(a(?i)b)c$", &["aBc"], &["aBC", "ABc"]);
    check_match("(?m)^b$", &["a\nb\nc"], &["ab"]);
    check_match("^a.c$", &["abc", "a\u{10ffff}c"], &["a\nc"]);
    check_match("(?s)^a.c$", &["a\nc"], &[]);
    check_match("^*a", &["a"], &["b"]);
    check_match("()*|(a|)+", &["", "x"], &[]);
    check_match("a||b", &["x"], &[]);
    check_match("^(?U:a+?)$", &["aa"], &[]);
    check_match(r"^[\x{D800}-\x{DFFF}a]$", &["a"], &["\u{fffd}"]);
    check_match(r"^[^\x00-\x{10FFFF}]?$", &[""], &["a"]);
    check_match(r"^\_\-\/\<$", &["_-/<"], &[]);
    check_match(r"^\.\x41\x{42}$", &[".AB"], &[]);
    check_match("^(?:.{0,10}){0,100}$", &["abc"], &[]);
}

#[test]
fn nesting_is_bounded() {
    let deep = |levels| format!("{}a{}", "(".repeat(levels), ")*".repeat(levels));
    assert_eq!(Pattern::error(&deep(150)), None);
    assert!(Pattern::new(&deep(150)).is_match("aaa"));
    assert!(
        Pattern::error(&deep(300)).unwrap().starts_with("error parsing regexp: expression nests too deeply")
    );
}
