//! From the text of a path to its steps.

use super::{End, Filter, Operator, ParseError, Slice, Step, Steps, Test};
use crate::{Text, Value};

/// Bound: filters and unions inside each other.
const MAX_DEPTH: usize = 16;

type Result<T> = std::result::Result<T, ParseError>;

/// The parts of a column's path.
pub(super) fn column(text: &str) -> Result<Vec<Steps>> {
    action(text, 0)
}

/// A text that the reference puts between braces: what a brace of its own closes is followed by text.
fn action(text: &str, depth: usize) -> Result<Vec<Steps>> {
    if depth > MAX_DEPTH {
        return Err(ParseError("too many filters inside each other"));
    }
    let wrapped = format!("{{{text}}}");
    let mut parser = Parser { rest: &wrapped, depth };
    let mut parts = Vec::new();
    while let Some(opening) = parser.rest.find('{') {
        if opening > 0 {
            parts.push(vec![Step::Literal(parser.rest[..opening].into())]);
        }
        parser.rest = &parser.rest[opening + 1..];
        parts.push(parser.steps()?);
    }
    if !parser.rest.is_empty() {
        parts.push(vec![Step::Literal(parser.rest.into())]);
    }
    Ok(parts)
}

/// The steps of a text inside a path; what follows a closing brace does not count.
fn inner(text: &str, depth: usize) -> Result<Steps> {
    Ok(action(text, depth + 1)?.swap_remove(0))
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Everything up to the closing brace.
    fn steps(&mut self) -> Result<Steps> {
        let mut steps = Steps::new();
        loop {
            if self.skip("}") {
                return Ok(steps);
            }
            if self.skip("[?(") {
                steps.push(self.filter()?);
                continue;
            }
            if self.skip("..") {
                if steps.last() == Some(&Step::Descent) {
                    return Err(ParseError("invalid multiple recursive descent"));
                }
                steps.push(Step::Descent);
                if self.rest.starts_with(is_word_char) {
                    steps.push(self.field());
                }
                continue;
            }
            let Some(next) = self.rest.chars().next() else { return Err(ParseError("unclosed action")) };
            match next {
                '\r' | '\n' => return Err(ParseError("unclosed action")),
                ' ' | '@' | '$' => _ = self.take(1),
                '[' => self.brackets(&mut steps)?,
                '"' | '\'' => steps.push(self.quoted(next)?),
                '.' => {
                    self.take(1);
                    steps.push(self.field());
                }
                '+' | '-' => steps.push(self.number()?),
                _ if next.is_numeric() => steps.push(self.number()?),
                _ if is_word_char(next) => steps.push(self.word()),
                _ => return Err(ParseError("unrecognized character in action")),
            }
        }
    }

    fn skip(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// A member's name up to a terminator that no backslash precedes.
    fn field(&mut self) -> Step {
        let mut escaped = false;
        let end = self.rest.find(|next| {
            let ends = !escaped && is_terminator(next);
            escaped = !escaped && next == '\\';
            ends
        });
        let name = self.take(end.unwrap_or(self.rest.len()));
        if name == "*" { Step::Wildcard } else { Step::Field(Text::from(name.replace('\\', ""))) }
    }

    fn word(&mut self) -> Step {
        let end = self.rest.find(is_terminator).unwrap_or(self.rest.len());
        match self.take(end) {
            "true" => Step::Scalar(Value::Bool(true)),
            "false" => Step::Scalar(Value::Bool(false)),
            _ => Step::Word,
        }
    }

    fn number(&mut self) -> Result<Step> {
        let signed = self.rest.starts_with(['+', '-']);
        let digits = &self.rest[usize::from(signed)..];
        let end = digits.find(|next: char| next != '.' && !next.is_numeric()).unwrap_or(digits.len());
        let text = self.take(end + usize::from(signed));
        if let Ok(number) = text.parse::<i64>() {
            return Ok(Step::Scalar(Value::Int(number)));
        }
        let number = text.parse::<f64>().map_err(|_| ParseError("cannot parse number"))?;
        Ok(Step::Scalar(Value::Float(number)))
    }

    fn quoted(&mut self, quote: char) -> Result<Step> {
        let mut previous = '\0';
        for (at, next) in self.rest.char_indices().skip(1) {
            if next == '\n' {
                break;
            }
            if next == quote && previous != '\\' {
                let text = self.take(at + 1);
                return Ok(Step::Literal(unquote(&text[1..text.len() - 1], quote)?.into()));
            }
            previous = next;
        }
        Err(ParseError("unterminated quoted string"))
    }

    /// What stands in brackets: a key, an index, a slice, or several of them.
    fn brackets(&mut self, steps: &mut Steps) -> Result<()> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest.as_bytes()[*end] == b']');
        let end = end.ok_or(ParseError("unterminated array"))?;
        let text = self.take(end + 1);
        let text = &text[1..end];
        if text.contains(',') {
            let parts =
                text.split(',').map(|part| inner(&format!("[{}]", part.trim_matches(' ')), self.depth));
            steps.push(Step::Union(parts.collect::<Result<_>>()?));
        } else if let Some(key) = key(text) {
            steps.extend(inner(&format!(".{key}"), self.depth)?);
        } else {
            steps.push(Step::Slice(slice(if text == "*" { ":" } else { text })?));
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<Step> {
        let end = self.filter_end().ok_or(ParseError("unterminated filter"))?;
        let text = self.take(end);
        if !self.skip(")]") {
            return Err(ParseError("unclosed array expect ]"));
        }
        let depth = self.depth;
        let Some((left, operator, right)) = comparison(text) else {
            return Ok(Step::Filter(Filter { left: inner(text, depth)?, test: Test::Exists }));
        };
        let test = Test::Compare(self::operator(operator), inner(right, depth)?);
        Ok(Step::Filter(Filter { left: inner(left, depth)?, test }))
    }

    /// Where the parenthesis of a filter closes: not between the only pair of quotes it may have.
    fn filter_end(&self) -> Option<usize> {
        let (mut opened, mut closed) = (None, false);
        let mut previous = '\0';
        for (at, next) in self.rest.char_indices() {
            match next {
                '\n' => return None,
                '"' | '\'' if opened.is_none() => opened = Some(next),
                '"' | '\'' if previous != '\\' && opened == Some(next) => closed = true,
                ')' if opened.is_some() == closed => return Some(at),
                _ => {}
            }
            previous = next;
        }
        None
    }
}

fn is_terminator(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word_char(next: char) -> bool {
    next == '_' || next.is_alphanumeric()
}

fn key(text: &str) -> Option<&str> {
    let key = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'')).then_some(key)
}

/// `start:end:step`, each of which may be missing.
fn slice(text: &str) -> Result<Slice> {
    let mut parts = text.split(':');
    let mut next = || parts.next().map(bound).transpose();
    let start = next()?.flatten();
    let end = match next()? {
        None => End::AfterStart,
        Some(None) => End::Open,
        Some(Some(end)) => End::At(end),
    };
    let step = next()?.flatten();
    match parts.next() {
        None => Ok(Slice { start: start.unwrap_or(0), end, step }),
        Some(_) => Err(ParseError("invalid array index")),
    }
}

fn bound(text: &str) -> Result<Option<i64>> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseError("invalid array index"));
    }
    text.parse().map(Some).map_err(|_| ParseError("array index is not a number"))
}

/// Splits at the first run of operator characters; both sides must have something.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |next: char| matches!(next, '!' | '<' | '>' | '=');
    let start = text.find(is_operator).filter(|start| *start > 0)?;
    let after = &text[start..];
    let length = after.find(|next| !is_operator(next)).unwrap_or(after.len() - 1);
    (length > 0).then(|| (&text[..start], &after[..length], &after[length..]))
}

fn operator(text: &str) -> Operator {
    match text {
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        _ => Operator::Unknown,
    }
}

/// Resolves Go's escapes.
fn unquote(text: &str, quote: char) -> Result<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        if next != '\\' {
            out.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = rest.next().ok_or(ParseError("invalid syntax"))?;
        match escape {
            'x' => {
                out.push(u8::try_from(digits(&mut rest, 2, 16)?).map_err(|_| ParseError("invalid syntax"))?);
            }
            '0'..='7' => {
                let first = escape.to_digit(8).unwrap_or_default();
                let code = first * 64 + digits(&mut rest, 2, 8)?;
                out.push(u8::try_from(code).map_err(|_| ParseError("invalid syntax"))?);
            }
            'u' | 'U' => {
                let code = digits(&mut rest, if escape == 'u' { 4 } else { 8 }, 16)?;
                let character = char::from_u32(code).ok_or(ParseError("invalid syntax"))?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => out.push(simple_escape(escape, quote)?),
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn digits(rest: &mut std::str::Chars<'_>, count: usize, radix: u32) -> Result<u32> {
    let mut code: u32 = 0;
    for _ in 0..count {
        let digit = rest.next().and_then(|next| next.to_digit(radix)).ok_or(ParseError("invalid syntax"))?;
        code = code.wrapping_mul(radix).wrapping_add(digit);
    }
    Ok(code)
}

fn simple_escape(escape: char, quote: char) -> Result<u8> {
    Ok(match escape {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '"' | '\'' if escape == quote => escape as u8,
        _ => return Err(ParseError("invalid syntax")),
    })
}
