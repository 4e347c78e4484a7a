//! Splits source text into tokens, the longest match first.
//!
//! A character sequence that starts no token is reported with the text up to and including the character
//! at which matching got stuck; lexing goes on after that character.

use super::token::{Token, TokenKind};

/// Text that starts no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LexicalError {
    /// Position of the first character, in code points.
    pub(crate) offset: u32,
    /// The same position in bytes.
    pub(crate) start: usize,
    /// The text looked at, including the character that fits nothing.
    pub(crate) text: String,
}

/// Reads tokens one after the other. After the end it keeps returning [`TokenKind::Eof`].
pub(crate) struct Lexer<'s> {
    source: &'s str,
    /// Byte position and the same position in code points.
    position: usize,
    offset: u32,
}

/// How an attempt to match one token ended: the kind and the byte length, or the length at which it got stuck.
type Attempt = Result<(TokenKind, usize), usize>;

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Lexer { source, position: 0, offset: 0 }
    }

    /// The next token; lexical errors met on the way are appended to `errors`.
    pub(crate) fn next(&mut self, errors: &mut Vec<LexicalError>) -> Token {
        loop {
            self.skip_hidden();
            let rest = &self.source[self.position..];
            if rest.is_empty() {
                return self.token(TokenKind::Eof, 0);
            }
            match scan(rest) {
                Ok((kind, length)) => return self.token(kind, length),
                Err(stuck) => {
                    let length = rest[stuck..].chars().next().map_or(stuck, |c| stuck + c.len_utf8());
                    let text = rest[..length].to_owned();
                    errors.push(LexicalError { offset: self.offset, start: self.position, text });
                    self.advance(length);
                }
            }
        }
    }

    fn token(&mut self, kind: TokenKind, length: usize) -> Token {
        let token = Token {
            kind,
            start: narrow(self.position),
            end: narrow(self.position + length),
            offset: self.offset,
        };
        self.advance(length);
        token
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.source[self.position..self.position + bytes];
        self.offset += narrow(passed.chars().count());
        self.position += bytes;
    }

    fn skip_hidden(&mut self) {
        loop {
            let rest = &self.source[self.position..];
            let blank = rest.bytes().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0c)).count();
            let comment = if rest[blank..].starts_with("//") {
                rest[blank..].find('\n').unwrap_or(rest.len() - blank)
            } else {
                0
            };
            if blank + comment == 0 {
                return;
            }
            self.advance(blank + comment);
        }
    }
}

/// Source text is limited to far less than 4 GiB before it is lexed.
fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn scan(rest: &str) -> Attempt {
    use TokenKind as K;
    let bytes = rest.as_bytes();
    let second = bytes.get(1).copied();
    let pair = |expected: u8, long: K, short: Option<K>| match (second == Some(expected), short) {
        (true, _) => Ok((long, 2)),
        (false, Some(short)) => Ok((short, 1)),
        (false, None) => Err(1),
    };
    match bytes[0] {
        b'=' => pair(b'=', K::Equals, None),
        b'!' => pair(b'=', K::NotEquals, Some(K::Exclamation)),
        b'<' => pair(b'=', K::LessEquals, Some(K::Less)),
        b'>' => pair(b'=', K::GreaterEquals, Some(K::Greater)),
        b'&' => pair(b'&', K::LogicalAnd, None),
        b'|' => pair(b'|', K::LogicalOr, None),
        b'[' => Ok((K::LeftBracket, 1)),
        b']' => Ok((K::RightBracket, 1)),
        b'{' => Ok((K::LeftBrace, 1)),
        b'}' => Ok((K::RightBrace, 1)),
        b'(' => Ok((K::LeftParen, 1)),
        b')' => Ok((K::RightParen, 1)),
        b'.' if second.is_some_and(|b| b.is_ascii_digit()) => Ok((K::Float, fraction(bytes, 0))),
        b'.' => Ok((K::Dot, 1)),
        b',' => Ok((K::Comma, 1)),
        b'-' => Ok((K::Minus, 1)),
        b'?' => Ok((K::Question, 1)),
        b':' => Ok((K::Colon, 1)),
        b'+' => Ok((K::Plus, 1)),
        b'*' => Ok((K::Star, 1)),
        b'/' => Ok((K::Slash, 1)),
        b'%' => Ok((K::Percent, 1)),
        b'0'..=b'9' => Ok(number(bytes)),
        b'"' | b'\'' => string(rest, 0, false).map(|length| (K::String, length)),
        b'`' => escaped_identifier(bytes),
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => Ok(word(rest)),
        _ => Err(0),
    }
}

fn digits(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count()
}

/// The end of `.5e3` when `at` is the dot.
fn fraction(bytes: &[u8], at: usize) -> usize {
    exponent(bytes, digits(bytes, at + 1))
}

/// The end of an exponent at `at`, or `at` itself where none stands.
fn exponent(bytes: &[u8], at: usize) -> usize {
    if !matches!(bytes.get(at), Some(b'e' | b'E')) {
        return at;
    }
    let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
    let end = digits(bytes, (at + 1 + sign).min(bytes.len()));
    if end > at + 1 + sign { end } else { at }
}

fn number(bytes: &[u8]) -> (TokenKind, usize) {
    use TokenKind as K;
    let unsigned = |end: usize| match bytes.get(end) {
        Some(b'u' | b'U') => (K::Uint, end + 1),
        _ => (K::Int, end),
    };
    if bytes.starts_with(b"0x") {
        let end = 2 + bytes[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if end > 2 {
            return unsigned(end);
        }
    }
    let end = digits(bytes, 0);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        return (K::Float, fraction(bytes, end));
    }
    let with_exponent = exponent(bytes, end);
    if with_exponent > end { (K::Float, with_exponent) } else { unsigned(end) }
}

/// An identifier, a keyword, or a string with a prefix.
fn word(rest: &str) -> (TokenKind, usize) {
    use TokenKind as K;
    let bytes = rest.as_bytes();
    if let Some((kind, length)) = prefixed_string(rest) {
        return (kind, length);
    }
    let length = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let kind = match &rest[..length] {
        "in" => K::In,
        "true" => K::True,
        "false" => K::False,
        "null" => K::Null,
        _ => K::Identifier,
    };
    (kind, length)
}

fn prefixed_string(rest: &str) -> Option<(TokenKind, usize)> {
    let bytes = rest.as_bytes();
    let quote = |at: usize| matches!(bytes.get(at), Some(b'"' | b'\''));
    let raw = |at: usize| matches!(bytes.get(at), Some(b'r' | b'R'));
    let is_bytes = matches!(bytes[0], b'b' | b'B');
    let (kind, at, is_raw) = match (is_bytes, raw(0)) {
        (true, _) if quote(1) => (TokenKind::Bytes, 1, false),
        (true, _) if raw(1) && quote(2) => (TokenKind::Bytes, 2, true),
        (_, true) if quote(1) => (TokenKind::String, 1, true),
        _ => return None,
    };
    // A prefix whose string is broken is an identifier followed by a broken string.
    string(rest, at, is_raw).ok().map(|end| (kind, end))
}

/// The end of the string whose opening quote is at `at`, or where matching it got stuck.
fn string(rest: &str, at: usize, raw: bool) -> Result<usize, usize> {
    let bytes = rest.as_bytes();
    let quote = bytes[at];
    let doubled = bytes.get(at + 1) == Some(&quote);
    if doubled && bytes.get(at + 2) == Some(&quote) {
        // Where the long form does not end, its first two quotes are an empty string.
        return Ok(long_string(rest, at + 3, quote, raw).unwrap_or(at + 2));
    }
    let mut position = at + 1;
    loop {
        match bytes.get(position) {
            None | Some(b'\n' | b'\r') => return Err(position),
            Some(b) if *b == quote => return Ok(position + 1),
            Some(b'\\') if !raw => position = escape(bytes, position)?,
            Some(_) => position += 1,
        }
    }
}

fn long_string(rest: &str, from: usize, quote: u8, raw: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut position = from;
    loop {
        match bytes.get(position)? {
            b if *b == quote && bytes[position..].starts_with(&[quote; 3]) => return Some(position + 3),
            b'\\' if !raw => position = escape(bytes, position).ok()?,
            _ => position += 1,
        }
    }
}

/// The end of the escape sequence whose backslash is at `at`, or where it is malformed.
fn escape(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let run = |from: usize, count: usize, fits: fn(&u8) -> bool| {
        let got = bytes[from.min(bytes.len())..].iter().take(count).take_while(|b| fits(b)).count();
        if got == count { Ok(from + count) } else { Err(from + got) }
    };
    match bytes.get(at + 1) {
        Some(b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`') => {
            Ok(at + 2)
        }
        Some(b'x' | b'X') => run(at + 2, 2, u8::is_ascii_hexdigit),
        Some(b'u') => run(at + 2, 4, u8::is_ascii_hexdigit),
        Some(b'U') => run(at + 2, 8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => run(at + 2, 2, |b| (b'0'..=b'7').contains(b)),
        _ => Err(at + 1),
    }
}

fn escaped_identifier(bytes: &[u8]) -> Attempt {
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/' | b' ');
    let end = 1 + bytes[1..].iter().take_while(|b| inner(b)).count();
    if end > 1 && bytes.get(end) == Some(&b'`') {
        Ok((TokenKind::EscapedIdentifier, end + 1))
    } else {
        Err(end)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::{Expect, expect};

    use super::*;

    fn check(source: &str, expect: &Expect) {
        let mut lexer = Lexer::new(source);
        let mut errors = Vec::new();
        let mut out = String::new();
        loop {
            let token = lexer.next(&mut errors);
            if token.kind == TokenKind::Eof {
                break;
            }
            let _ = writeln!(out, "{:?} {}", token.kind, &source[token.start as usize..token.end as usize]);
        }
        for error in errors {
            let _ = writeln!(out, "error at {}: {}", error.offset, error.text);
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn numbers_take_the_longest_form() {
        check(
            "1 1.5 .5e3 1e5 1e 0x1Fu 0x 7u 1.a",
            &expect![[r"
            Int 1
            Float 1.5
            Float .5e3
            Float 1e5
            Int 1
            Identifier e
            Uint 0x1Fu
            Int 0
            Identifier x
            Uint 7u
            Int 1
            Dot .
            Identifier a
        "]],
        );
    }

    #[test]
    fn strings_in_all_forms() {
        check(
            r#"'a\'b' "c" r'\' b"x" bR'y' '''a'b''' """""" "" 'é'"#,
            &expect![[r#"
            String 'a\'b'
            String "c"
            String r'\'
            Bytes b"x"
            Bytes bR'y'
            String '''a'b'''
            String """"""
            String ""
            String 'é'
        "#]],
        );
    }

    #[test]
    fn broken_text_is_reported_up_to_where_it_broke_and_lexing_goes_on() {
        check(
            r"a = 1 '\q' x'",
            &expect![[r"
            Identifier a
            Int 1
            String ' x'
            error at 2: = 
            error at 6: '\q
        "]],
        );
        check(
            "'''a",
            &expect![[r"
            String ''
            error at 2: 'a
        "]],
        );
        check(
            "é`a-b` ``",
            &expect![[r"
            EscapedIdentifier `a-b`
            error at 0: é
            error at 7: ``
        "]],
        );
    }
}
