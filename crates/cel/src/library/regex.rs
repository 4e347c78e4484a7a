//! Regular expressions in RE2 syntax, run by the `regex` crate.
//!
//! The syntaxes differ: classes such as `\d` are ASCII only here, `[` and `&&` have no meaning inside a
//! class, `{` alone is a character, `a**` is an error. A pattern is read by the rules of RE2, which also
//! gives the reference's error texts, and written anew.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::CharIndices;

use regex::{Regex, RegexBuilder};

/// Bound: a count in a repetition.
const REPEAT_MAX: u32 = 1_000;
/// Bound: nesting of groups.
const DEPTH_MAX: usize = 1_000;

/// Compiles a pattern in RE2 syntax. The error is the reference's text.
///
/// ```
/// use cel::library::compile_regex;
///
/// assert!(compile_regex(r"^\d+$").unwrap().is_match("12"));
/// assert_eq!(compile_regex("[").unwrap_err(), "error parsing regexp: missing closing ]: `[`");
/// ```
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = Translator::new(pattern).translate().map_err(|error| error.describe(pattern))?;
    RegexBuilder::new(&translated)
        .nest_limit(u32::try_from(2 * DEPTH_MAX).unwrap_or(u32::MAX))
        .build()
        .map_err(|_| "error parsing regexp: expression too large".to_owned())
}

/// What is wrong with a pattern, and with which part of it.
#[derive(Debug, PartialEq, Eq)]
struct SyntaxError {
    code: &'static str,
    /// Byte range of the part shown; `None` for the whole pattern.
    part: Option<(usize, usize)>,
}

impl SyntaxError {
    fn describe(&self, pattern: &str) -> String {
        let shown = self.part.map_or(pattern, |(from, to)| &pattern[from..to]);
        format!("error parsing regexp: {}: `{shown}`", self.code)
    }
}

type Translated<T> = Result<T, SyntaxError>;

struct Translator<'p> {
    pattern: &'p str,
    characters: Peekable<CharIndices<'p>>,
    out: String,
    depth: usize,
    /// Where the last repetition starts, directly after it.
    last_repeat: Option<usize>,
    /// Whether there is something to repeat.
    repeatable: bool,
}

impl<'p> Translator<'p> {
    fn new(pattern: &'p str) -> Self {
        Translator {
            pattern,
            characters: pattern.char_indices().peekable(),
            out: String::with_capacity(pattern.len() + 8),
            depth: 0,
            last_repeat: None,
            repeatable: false,
        }
    }

    fn translate(mut self) -> Translated<String> {
        while let Some((at, character)) = self.characters.next() {
            let previous_repeat = self.last_repeat.take();
            match character {
                '*' | '+' | '?' => self.repeat(at, previous_repeat, &character.to_string())?,
                '{' => match self.counts() {
                    Some(length) => self.counted(at, length, previous_repeat)?,
                    None => self.literal('{'),
                },
                '(' => self.open(at)?,
                ')' => {
                    if self.depth == 0 {
                        return Err(SyntaxError { code: "unexpected )", part: None });
                    }
                    self.depth -= 1;
                    self.out.push(')');
                    self.repeatable = true;
                }
                '|' => {
                    self.out.push('|');
                    self.repeatable = false;
                }
                '[' => self.class(at)?,
                '\\' => self.escape(at)?,
                '^' | '$' | '.' => {
                    self.out.push(character);
                    self.repeatable = true;
                }
                other => self.literal(other),
            }
        }
        if self.depth > 0 {
            return Err(SyntaxError { code: "missing closing )", part: None });
        }
        Ok(self.out)
    }

    /// The byte position of the next character.
    fn position(&mut self) -> usize {
        self.characters.peek().map_or(self.pattern.len(), |(at, _)| *at)
    }

    fn rest(&mut self) -> &'p str {
        let at = self.position();
        &self.pattern[at..]
    }

    fn skip(&mut self, bytes: usize) {
        let end = self.position() + bytes;
        while self.position() < end && self.characters.next().is_some() {}
    }

    fn literal(&mut self, character: char) {
        self.out.push_str(&regex::escape(&character.to_string()));
        self.repeatable = true;
    }

    fn part(code: &'static str, from: usize, to: usize) -> SyntaxError {
        SyntaxError { code, part: Some((from, to)) }
    }

    fn repeat(&mut self, at: usize, previous: Option<usize>, operator: &str) -> Translated<()> {
        let lazy = self.characters.next_if(|(_, next)| *next == '?').is_some();
        if !self.repeatable {
            let end = self.position();
            return Err(Self::part("missing argument to repetition operator", at, end));
        }
        if let Some(previous) = previous {
            let end = self.position();
            return Err(Self::part("invalid nested repetition operator", previous, end));
        }
        self.out.push_str(operator);
        if lazy {
            self.out.push('?');
        }
        self.last_repeat = Some(at);
        Ok(())
    }

    /// The length of `2}`, `2,}` or `2,3}` after an opening brace.
    fn counts(&mut self) -> Option<usize> {
        let rest = self.rest();
        let end = rest.find('}')?;
        let (low, high) = rest[..end].split_once(',').unwrap_or((&rest[..end], ""));
        let is_number = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text == "0" || !text.starts_with('0'))
        };
        (is_number(low) && (high.is_empty() || is_number(high))).then_some(end + 1)
    }

    fn counted(&mut self, at: usize, length: usize, previous: Option<usize>) -> Translated<()> {
        let counts = &self.rest()[..length - 1];
        let (low, high) = counts.split_once(',').map_or((counts, None), |(low, high)| (low, Some(high)));
        let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
        let low = number(low);
        let high = match high {
            None | Some("") => low,
            Some(high) => number(high),
        };
        let operator = format!("{{{counts}}}");
        self.skip(length);
        if low > REPEAT_MAX || high > REPEAT_MAX || high < low {
            let end = self.position();
            return Err(Self::part("invalid repeat count", at, end));
        }
        self.repeat(at, previous, &operator)
    }

    /// A group. Captures are of no use here, so none capture.
    fn open(&mut self, at: usize) -> Translated<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SyntaxError { code: "expression nests too deeply", part: None });
        }
        self.repeatable = false;
        let rest = self.rest();
        let Some(flags) = rest.strip_prefix('?') else {
            self.out.push_str("(?:");
            return Ok(());
        };
        if flags.starts_with("P<") || flags.starts_with('<') {
            return self.named_group(at, flags);
        }
        self.flags(at, flags)
    }

    fn named_group(&mut self, at: usize, flags: &str) -> Translated<()> {
        let prefix = if flags.starts_with('P') { 2 } else { 1 };
        let Some(end) = flags.find('>') else {
            return Err(Self::part("invalid named capture", at, self.pattern.len()));
        };
        let name = &flags[prefix..end];
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(Self::part("invalid named capture", at, at + 2 + end + 1));
        }
        self.skip(1 + end + 1);
        self.out.push_str("(?:");
        Ok(())
    }

    /// `(?i)`, `(?s-m:`.
    fn flags(&mut self, at: usize, flags: &str) -> Translated<()> {
        const CODE: &str = "invalid or unsupported Perl syntax";
        let (mut negative, mut any) = (false, false);
        for (index, flag) in flags.char_indices() {
            match flag {
                'i' | 'm' | 's' | 'U' => any = true,
                '-' if !negative => {
                    negative = true;
                    any = false;
                }
                ':' | ')' if !negative || any => {
                    let text = &flags[..index];
                    if flag == ')' {
                        self.depth -= 1;
                        if !text.is_empty() {
                            let _ = write!(self.out, "(?{text})");
                        }
                    } else {
                        let _ = write!(self.out, "(?{text}:");
                    }
                    self.skip(1 + index + 1);
                    return Ok(());
                }
                other => return Err(Self::part(CODE, at, at + 2 + index + other.len_utf8())),
            }
        }
        Err(SyntaxError { code: "missing closing )", part: None })
    }

    fn escape(&mut self, at: usize) -> Translated<()> {
        self.repeatable = true;
        let Some((_, selector)) = self.characters.peek().copied() else {
            let end = self.pattern.len();
            return Err(Self::part("trailing backslash at end of expression", end, end));
        };
        match selector {
            'A' => self.simple("\\A"),
            'z' => self.simple("\\z"),
            'b' => self.simple("(?-u:\\b)"),
            'B' => self.simple("(?-u:\\B)"),
            'Q' => {
                self.characters.next();
                let rest = self.rest();
                let quoted = rest.split_once("\\E").map_or(rest, |(quoted, _)| quoted);
                self.out.push_str(&regex::escape(quoted));
                self.skip((quoted.len() + 2).min(rest.len()));
            }
            'p' | 'P' => {
                let property = self.property(at)?;
                self.out.push_str(&property);
            }
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                self.characters.next();
                let inner = perl_class(selector.to_ascii_lowercase());
                let caret = if selector.is_ascii_uppercase() { "^" } else { "" };
                let _ = write!(self.out, "[{caret}{inner}]");
            }
            _ => {
                let character = self.escaped_character(at)?;
                self.literal(character);
            }
        }
        Ok(())
    }

    fn simple(&mut self, translated: &str) {
        self.characters.next();
        self.out.push_str(translated);
    }

    /// A character written as an escape sequence; the backslash at `at` is consumed.
    fn escaped_character(&mut self, at: usize) -> Translated<char> {
        const CODE: &str = "invalid escape sequence";
        let Some((_, selector)) = self.characters.next() else {
            let end = self.pattern.len();
            return Err(Self::part("trailing backslash at end of expression", end, end));
        };
        let next_is_octal = matches!(self.characters.peek(), Some((_, '0'..='7')));
        match selector {
            'a' => Ok('\x07'),
            'f' => Ok('\x0c'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\x0b'),
            '0' => Ok(self.octal(0)),
            '1'..='7' if next_is_octal => Ok(self.octal(selector.to_digit(8).unwrap_or(0))),
            'x' => self.hexadecimal(at),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
            _ => {
                let end = self.position();
                Err(Self::part(CODE, at, end))
            }
        }
    }

    fn octal(&mut self, first: u32) -> char {
        let mut value = first;
        for _ in 0..2 {
            let Some((_, digit)) = self.characters.next_if(|(_, next)| matches!(next, '0'..='7')) else {
                break;
            };
            value = value * 8 + digit.to_digit(8).unwrap_or(0);
        }
        char::from_u32(value).unwrap_or('\0')
    }

    /// `\x41` or `\x{1F600}`, after the `x`. What is shown of a wrong one ends where it went wrong.
    fn hexadecimal(&mut self, at: usize) -> Translated<char> {
        let is_braced = self.characters.next_if(|(_, next)| *next == '{').is_some();
        let (mut value, mut digits) = (0, 0);
        if !is_braced {
            // Two characters are taken, whatever they are.
            let pair = [self.characters.next(), self.characters.next()];
            let digit = |next: Option<(usize, char)>| next.and_then(|(_, next)| next.to_digit(16));
            let end = self.position();
            return match pair.map(digit) {
                [Some(high), Some(low)] => Ok(char::from_u32(high * 16 + low).unwrap_or_default()),
                _ => Err(Self::part("invalid escape sequence", at, end)),
            };
        }
        let found = loop {
            match self.characters.next() {
                Some((_, '}')) if digits > 0 => break char::from_u32(value),
                Some((_, next)) if next.is_ascii_hexdigit() => {
                    value = value * 16 + next.to_digit(16).unwrap_or(0);
                    digits += 1;
                    if value > u32::from(char::MAX) {
                        break None;
                    }
                }
                _ => break None,
            }
        };
        let end = self.position();
        found.ok_or_else(|| Self::part("invalid escape sequence", at, end))
    }

    /// `\pL`, `\p{Greek}`, `\P{^Greek}` as the engine spells them; the backslash at `at` is consumed.
    fn property(&mut self, at: usize) -> Translated<String> {
        let Some((_, selector)) = self.characters.next() else { return Ok(String::new()) };
        let rest = self.rest();
        let (name, length) = if let Some(braced) = rest.strip_prefix('{') {
            match braced.find('}') {
                Some(end) => (&braced[..end], end + 2),
                None => return Err(Self::part("invalid character class range", at, self.pattern.len())),
            }
        } else {
            let length = rest.chars().next().map_or(0, char::len_utf8);
            (&rest[..length], length)
        };
        self.skip(length);
        let (negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
        let is_negative = (selector == 'P') != negated;
        let property = if name == "Any" {
            if is_negative { "[^\\x00-\\x{10FFFF}]" } else { "[\\x00-\\x{10FFFF}]" }.to_owned()
        } else {
            format!("\\{}{{{name}}}", if is_negative { 'P' } else { 'p' })
        };
        if Regex::new(&property).is_err() || name.contains(['=', ':']) {
            let end = self.position();
            return Err(Self::part("invalid character class range", at, end));
        }
        Ok(property)
    }

    /// A class in brackets; the opening one at `at` is consumed.
    fn class(&mut self, at: usize) -> Translated<()> {
        let missing = Self::part("missing closing ]", at, self.pattern.len());
        self.repeatable = true;
        let mut class = String::from("[");
        if self.characters.next_if(|(_, next)| *next == '^').is_some() {
            class.push('^');
        }
        let mut first = true;
        loop {
            let Some((start, next)) = self.characters.peek().copied() else { return Err(missing) };
            if next == ']' && !first {
                self.characters.next();
                break;
            }
            first = false;
            if next == '['
                && let Some(posix) = self.posix()?
            {
                class.push_str(&posix);
                continue;
            }
            if next == '\\'
                && let Some(inner) = self.class_escape(start)?
            {
                class.push_str(&inner);
                continue;
            }
            let low = self.class_character(start, at)?;
            let high = self.range_end(at)?.unwrap_or(low);
            if high < low {
                let end = self.position();
                return Err(Self::part("invalid character class range", start, end));
            }
            let _ = write!(class, "\\x{{{:X}}}-\\x{{{:X}}}", u32::from(low), u32::from(high));
        }
        class.push(']');
        self.out.push_str(&class);
        Ok(())
    }

    /// `[:alpha:]` inside a class.
    fn posix(&mut self) -> Translated<Option<String>> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let at = self.position();
        let rest = self.rest();
        let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) else { return Ok(None) };
        let length = end + 4;
        let name = &rest[2..2 + end];
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(Self::part("invalid character class range", at, at + length));
        }
        self.skip(length);
        Ok(Some(format!("[:{name}:]")))
    }

    /// `\d` or `\pL` inside a class; `None` for an escaped character.
    fn class_escape(&mut self, at: usize) -> Translated<Option<String>> {
        let selector = self.pattern[at + 1..].chars().next();
        match selector {
            Some('p' | 'P') => {
                self.characters.next();
                self.property(at).map(Some)
            }
            Some(selector @ ('d' | 'D' | 's' | 'S' | 'w' | 'W')) => {
                self.skip(2);
                let inner = perl_class(selector.to_ascii_lowercase());
                let negated = selector.is_ascii_uppercase();
                Ok(Some(if negated { format!("[^{inner}]") } else { inner.to_owned() }))
            }
            _ => Ok(None),
        }
    }

    fn class_character(&mut self, at: usize, class: usize) -> Translated<char> {
        match self.characters.next() {
            Some((_, '\\')) => self.escaped_character(at),
            Some((_, character)) => Ok(character),
            None => Err(Self::part("missing closing ]", class, self.pattern.len())),
        }
    }

    /// The end of a range after its start; `None` when the start stands alone.
    fn range_end(&mut self, class: usize) -> Translated<Option<char>> {
        let rest = self.rest();
        if !rest.starts_with('-') || rest[1..].starts_with(']') || rest.len() == 1 {
            return Ok(None);
        }
        self.characters.next();
        let at = self.position();
        self.class_character(at, class).map(Some)
    }
}

/// ASCII classes of Perl, without brackets.
fn perl_class(selector: char) -> &'static str {
    match selector {
        'd' => "0-9",
        's' => "\\t\\n\\f\\r\\x20",
        _ => "0-9A-Za-z_",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(patterns: &[&str], expect: &Expect) {
        let outcomes: Vec<String> = patterns
            .iter()
            .map(|pattern| match Translator::new(pattern).translate() {
                Ok(translated) => format!("{pattern} => {translated}\n"),
                Err(error) => format!("{pattern} => {}\n", error.describe(pattern)),
            })
            .collect();
        expect.assert_eq(&outcomes.concat());
    }

    #[test]
    fn patterns_are_written_anew() {
        check(
            &["^a{2,3}?$", "a{,5}", "(?P<n>a)(?i:b)", r"\d\W[^\d\-x]", "[[:alpha:]&&a]", r"\Qa.b\E+", r"\pL"],
            &expect![[r"
            ^a{2,3}?$ => ^a{2,3}?$
            a{,5} => a\{,5\}
            (?P<n>a)(?i:b) => (?:a)(?i:b)
            \d\W[^\d\-x] => [0-9][^0-9A-Za-z_][^0-9\x{2D}-\x{2D}\x{78}-\x{78}]
            [[:alpha:]&&a] => [[:alpha:]\x{26}-\x{26}\x{26}-\x{26}\x{61}-\x{61}]
            \Qa.b\E+ => a\.b+
            \pL => \p{L}
        "]],
        );
    }

    #[test]
    fn errors_read_like_the_reference() {
        check(
            &[
                "[",
                "a)",
                "(a",
                "*",
                "a**",
                "x++",
                "a{1001}",
                "(?=a)",
                r"\y",
                "\\",
                "[z-a]",
                r"\p{Nope}",
                "[[:no:]]",
                r"(?P<n!>a)",
            ],
            &expect![[r"
            [ => error parsing regexp: missing closing ]: `[`
            a) => error parsing regexp: unexpected ): `a)`
            (a => error parsing regexp: missing closing ): `(a`
            * => error parsing regexp: missing argument to repetition operator: `*`
            a** => error parsing regexp: invalid nested repetition operator: `**`
            x++ => error parsing regexp: invalid nested repetition operator: `++`
            a{1001} => error parsing regexp: invalid repeat count: `{1001}`
            (?=a) => error parsing regexp: invalid or unsupported Perl syntax: `(?=`
            \y => error parsing regexp: invalid escape sequence: `\y`
            \ => error parsing regexp: trailing backslash at end of expression: ``
            [z-a] => error parsing regexp: invalid character class range: `z-a`
            \p{Nope} => error parsing regexp: invalid character class range: `\p{Nope}`
            [[:no:]] => error parsing regexp: invalid character class range: `[:no:]`
            (?P<n!>a) => error parsing regexp: invalid named capture: `(?P<n!>`
        "]],
        );
    }

    #[test]
    fn classes_are_ascii() {
        assert!(!compile(r"^\d$").unwrap().is_match("٣"));
        assert!(!compile(r"^\w$").unwrap().is_match("é"));
        assert!(compile(r"^[^\w]$").unwrap().is_match("é"));
        assert!(compile(r"^[[]$").unwrap().is_match("["));
    }
}
