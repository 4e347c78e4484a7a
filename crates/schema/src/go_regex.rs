//! Go's regular expressions: which ones it accepts, its words for those it does not, and the same expression in the
//! syntax of the `regex` crate.
//!
//! Where the two differ, and how each difference is met (Go first):
//!
//! | Go | `regex` | here |
//! |---|---|---|
//! | `\d \s \w \b` and `[[:alpha:]]` are ASCII | Unicode | written out as ASCII classes |
//! | a bare `{`, `{,3}`, `{01}` are literals | errors or repetitions | escaped |
//! | `[a&&b]`, `[a--b]`, `[a[b]` have no operators | set operations | every class is written out |
//! | octal `\012`, `\Q…\E`, `(?<n>…)` twice | unknown or refused | translated; groups do not capture |
//! | `x**`, `a{1001}`, repetitions multiplying beyond 1000 | accepted | refused |
//! | `(?x)`, look-around, `\pX` beyond categories and plain scripts | some accepted | refused |
//! | `x(?i)*` repeats `x` | error | flags go to each atom |
//! | lazy or greedy | matters for positions | dropped: only "does it match" is asked |
//!
//! DIFFERENCE: expressions that nest deeper than [`MAX_NESTING`] are refused; Go's limit is 1000.
//!
//! Upstream: Go's regexp/syntax/parse.go, 1.26.

mod class;
mod names;

#[cfg(test)]
mod tests;

use std::fmt;

/// How deep groups may nest.
pub(crate) const MAX_NESTING: usize = 200;

/// How large a counted repetition, or the product of nested ones, may be.
const MAX_REPEAT: u32 = 1000;

/// Why Go refuses an expression.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    code: &'static str,
    /// The part at fault.
    expression: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.code, self.expression)
    }
}

type Parsed<T> = Result<T, SyntaxError>;

fn fail<T>(code: &'static str, expression: &str) -> Parsed<T> {
    Err(SyntaxError { code, expression: expression.to_owned() })
}

/// An expression in the syntax of `regex::bytes`, for asking whether a text contains a match.
pub(crate) struct Translated {
    pub(crate) text: String,
    /// Roughly how many states its program has.
    pub(crate) states: u64,
}

/// Translates an expression, or says why Go refuses it.
pub(crate) fn translate(source: &str) -> Parsed<Translated> {
    let mut parser = Parser { source, rest: source, flags: Flags::default(), groups: vec![Group::default()] };
    let mut last_repeat = "";
    while !parser.rest.is_empty() {
        last_repeat = parser.step(last_repeat)?;
    }
    match parser.groups.len() {
        1 => {
            let Atom { text, states, .. } = parser.groups.remove(0).finish();
            Ok(Translated { text, states })
        }
        _ => fail("missing closing )", source),
    }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
}

/// A piece of the translation that a repetition can apply to.
struct Atom {
    text: String,
    /// The largest product of counted repetitions inside.
    weight: u32,
    states: u64,
}

/// What is between two parentheses so far.
#[derive(Default)]
struct Group {
    /// The alternatives before the current one.
    before: String,
    current: Vec<Atom>,
    weight: u32,
    states: u64,
    /// The flags to go back to.
    outer: Flags,
}

impl Group {
    fn end_alternative(&mut self) {
        for atom in self.current.drain(..) {
            self.before.push_str(&atom.text);
            self.weight = self.weight.max(atom.weight);
            self.states = self.states.saturating_add(atom.states);
        }
    }

    fn finish(mut self) -> Atom {
        self.end_alternative();
        Atom { text: self.before, weight: self.weight.max(1), states: self.states }
    }
}

struct Parser<'a> {
    source: &'a str,
    rest: &'a str,
    flags: Flags,
    groups: Vec<Group>,
}

impl<'a> Parser<'a> {
    /// Reads one element; returns where it starts if it is a repetition.
    fn step(&mut self, last_repeat: &'a str) -> Parsed<&'a str> {
        let before = self.rest;
        match before.as_bytes()[0] {
            b'(' if before.starts_with("(?") => self.perl_group()?,
            b'(' => {
                self.open(self.flags)?;
                self.rest = &before[1..];
            }
            b')' => self.close()?,
            b'|' => {
                self.rest = &before[1..];
                let group = self.group();
                group.end_alternative();
                group.before.push('|');
            }
            b'^' => self.simple(1, if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            b'$' => self.simple(1, if self.flags.multi_line { "(?m:$)" } else { r"\z" }),
            b'.' => self.simple(1, if self.flags.dot_matches_newline { "(?s:.)" } else { "." }),
            b'[' => {
                let (class, rest) = class::bracketed(before)?;
                self.class(&class);
                self.rest = rest;
            }
            operator @ (b'*' | b'+' | b'?') => {
                self.repeat(before, &before[1..], last_repeat, Count::of(operator))?;
                return Ok(before);
            }
            b'{' => {
                if let Some((count, after)) = counted(before) {
                    let written = &before[..before.len() - after.len()];
                    let Some(count) = count else {
                        return fail("invalid repeat count", written);
                    };
                    self.repeat(before, after, last_repeat, count)?;
                    return Ok(before);
                }
                self.literal('{');
                self.rest = &before[1..];
            }
            b'\\' => self.escape()?,
            _ => {
                let character = before.chars().next().expect("the rest is not empty");
                self.literal(character);
                self.rest = &before[character.len_utf8()..];
            }
        }
        Ok("")
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("the outermost group is never closed")
    }

    fn push(&mut self, text: String, states: u64) {
        self.group().current.push(Atom { text, weight: 1, states });
    }

    fn class(&mut self, class: &class::Class) {
        self.push(class::written(class, self.flags.fold_case), class.states());
    }

    fn simple(&mut self, length: usize, text: &str) {
        self.push(text.to_owned(), 20);
        self.rest = &self.rest[length..];
    }

    fn literal(&mut self, character: char) {
        let escaped = class::escaped(u32::from(character));
        let text = if self.flags.fold_case { format!("(?i:{escaped})") } else { escaped };
        self.push(text, 4);
    }

    /// Opens a group inside of which `flags` hold.
    fn open(&mut self, flags: Flags) -> Parsed<()> {
        if self.groups.len() > MAX_NESTING {
            return fail("expression nests too deeply", self.source);
        }
        self.groups.push(Group { outer: self.flags, ..Group::default() });
        self.flags = flags;
        Ok(())
    }

    fn close(&mut self) -> Parsed<()> {
        if self.groups.len() == 1 {
            return fail("unexpected )", self.source);
        }
        let group = self.groups.pop().expect("just counted");
        self.flags = group.outer;
        let atom = group.finish();
        self.group().current.push(Atom { text: format!("(?:{})", atom.text), ..atom });
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?flags:` or `(?flags)`.
    fn perl_group(&mut self) -> Parsed<()> {
        let start = self.rest;
        let name_at = match start.as_bytes() {
            [_, _, b'P', b'<', _, ..] => Some(4),
            [_, _, b'<', _, ..] => Some(3),
            _ => None,
        };
        let Some(name_at) = name_at else {
            return self.perl_flags();
        };
        let Some(end) = start.find('>') else {
            return fail("invalid named capture", start);
        };
        let name = &start[name_at..end];
        if name.is_empty() || !name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            return fail("invalid named capture", &start[..=end]);
        }
        self.open(self.flags)?;
        self.rest = &start[end + 1..];
        Ok(())
    }

    fn perl_flags(&mut self) -> Parsed<()> {
        let start = self.rest;
        let mut flags = self.flags;
        let (mut set, mut saw_flag) = (true, false);
        let mut rest = start[2..].char_indices();
        let mut read = start.len();
        for (index, character) in rest.by_ref() {
            read = 2 + index + character.len_utf8();
            match character {
                'i' => flags.fold_case = set,
                'm' => flags.multi_line = set,
                's' => flags.dot_matches_newline = set,
                'U' => {}
                '-' if set => {
                    set = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' if set || saw_flag => {
                    if character == ':' {
                        self.open(flags)?;
                    } else {
                        self.flags = flags;
                    }
                    self.rest = &start[read..];
                    return Ok(());
                }
                _ => break,
            }
            saw_flag = true;
        }
        fail("invalid or unsupported Perl syntax", &start[..read])
    }

    fn escape(&mut self) -> Parsed<()> {
        let start = self.rest;
        match start.as_bytes().get(1) {
            Some(b'A') => self.simple(2, r"\A"),
            Some(b'z') => self.simple(2, r"\z"),
            Some(b'b') => self.simple(2, r"(?-u:\b)"),
            Some(b'B') => self.simple(2, r"(?-u:\B)"),
            Some(b'C') => return fail("invalid escape sequence", &start[..2]),
            Some(b'Q') => {
                let (literal, rest) = start[2..].split_once(r"\E").unwrap_or((&start[2..], ""));
                for character in literal.chars() {
                    self.literal(character);
                }
                self.rest = rest;
            }
            _ => {
                if let Some((class, rest)) = class::escaped_class(start)? {
                    self.class(&class);
                    self.rest = rest;
                    return Ok(());
                }
                let (code, rest) = class::escaped_code(start)?;
                match char::from_u32(code) {
                    Some(character) => self.literal(character),
                    None => self.push(class::NOTHING.to_owned(), 1), // a lone surrogate is in no text
                }
                self.rest = rest;
            }
        }
        Ok(())
    }

    fn repeat(&mut self, before: &'a str, after: &'a str, last_repeat: &'a str, count: Count) -> Parsed<()> {
        let after = after.strip_prefix('?').unwrap_or(after);
        if !last_repeat.is_empty() {
            let stacked = &last_repeat[..last_repeat.len() - after.len()];
            return fail("invalid nested repetition operator", stacked);
        }
        let written = &before[..before.len() - after.len()];
        let Some(atom) = self.group().current.last_mut() else {
            return fail("missing argument to repetition operator", written);
        };
        if let Some(weight) = count.weight() {
            atom.weight *= weight;
            if count.is_checked() && atom.weight > MAX_REPEAT {
                return fail("invalid repeat count", written);
            }
        } else {
            atom.weight = 1;
        }
        atom.text = format!("(?:{}){}", atom.text, count.text());
        atom.states = atom.states.saturating_add(1).saturating_mul(count.copies());
        self.rest = after;
        Ok(())
    }
}

/// How often a repetition repeats.
#[derive(Clone, Copy)]
enum Count {
    Operator(char),
    Between(u32, Option<u32>),
}

impl Count {
    fn of(operator: u8) -> Count {
        Count::Operator(char::from(operator))
    }

    fn text(self) -> String {
        match self {
            Count::Operator(operator) => operator.to_string(),
            Count::Between(min, None) => format!("{{{min},}}"),
            Count::Between(min, Some(max)) => format!("{{{min},{max}}}"),
        }
    }

    /// The factor for what is inside; none when what is inside never counts.
    fn weight(self) -> Option<u32> {
        match self {
            Count::Operator(_) => Some(1),
            Count::Between(_, Some(0)) => None,
            Count::Between(_, Some(max)) => Some(max),
            Count::Between(min, None) => Some(min.max(1)),
        }
    }

    /// How often the program holds what is inside.
    fn copies(self) -> u64 {
        match self {
            Count::Operator(_) => 1,
            Count::Between(min, max) => u64::from(max.unwrap_or(min).max(1)),
        }
    }

    fn is_checked(self) -> bool {
        matches!(self, Count::Between(min, max) if min >= 2 || max.is_some_and(|max| max >= 2))
    }
}

/// Reads `{n}`, `{n,}` or `{n,m}`. Nothing when it is none of these; no count when it is out of bounds.
fn counted(text: &str) -> Option<(Option<Count>, &str)> {
    let (min, rest) = integer(&text[1..])?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (min, rest),
        Some(rest) if rest.starts_with('}') => (Some(u32::MAX), rest),
        Some(rest) => integer(rest)?,
    };
    let rest = rest.strip_prefix('}')?;
    let count = match (min, max) {
        (Some(min @ 0..=MAX_REPEAT), Some(u32::MAX)) => Some(Count::Between(min, None)),
        (Some(min), Some(max)) if min <= max && max <= MAX_REPEAT => Some(Count::Between(min, Some(max))),
        _ => None,
    };
    Some((count, rest))
}

/// A number without leading zeros; no value when it is very large.
fn integer(text: &str) -> Option<(Option<u32>, &str)> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = &text[..text.len() - rest.len()];
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().ok().filter(|number| *number < 100_000_000), rest))
}
