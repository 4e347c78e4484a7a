//! The YAML writer: block style, the quoting and folding of go-yaml.
//!
//! Sequences stand at the indentation of the key that holds them; strings with line breaks become literal
//! blocks; what would read back as something else is quoted; lines are folded at spaces behind column 80.
//!
//! Upstream: go.yaml.in/yaml/v2 encode.go and emitterc.go, as called by sigs.k8s.io/yaml `Marshal`.

use super::resolve::{self, Resolved};
use super::sort;
use crate::{Map, Value, go_fmt};

/// Lines are folded at the first space behind this column.
const WIDTH: usize = 80;

/// Longer keys are written behind a question mark.
const SIMPLE_KEY_MAX_BYTES: usize = 128;

const INDENT: usize = 2;

/// ```
/// use crest_meta::wire::{json, yaml};
/// let value = json::parse(br#"{"a": ["x", {"b": "yes"}], "c": {}, "d": "1\n2\n"}"#).unwrap().value;
/// assert_eq!(yaml::encode(&value), "a:\n- x\n- b: \"yes\"\nc: {}\nd: |\n  1\n  2\n");
/// ```
pub fn encode(value: &Value) -> String {
    let mut out = String::new();
    encode_into(value, &mut out);
    out
}

/// Appends a document.
pub fn encode_into(value: &Value, out: &mut String) {
    let mut writer = Writer { out, column: 0, indent: None, whitespace: true, indention: true };
    writer.node(value, Place::Root);
    writer.end_document();
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Item,
    /// The value of a mapping, or a key behind a question mark.
    Member,
    /// A key on the line of its value.
    SimpleKey,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

struct Writer<'o> {
    out: &'o mut String,
    /// Characters on the current line.
    column: usize,
    /// Of the innermost collection.
    indent: Option<usize>,
    /// Whether the last character separates.
    whitespace: bool,
    /// Whether only indentation and indicators are on the line so far.
    indention: bool,
}

impl Writer<'_> {
    fn node(&mut self, value: &Value, place: Place) {
        match value {
            Value::Object(map) if map.is_empty() => self.empty("{}"),
            Value::Array(items) if items.is_empty() => self.empty("[]"),
            Value::Object(map) => self.mapping(map),
            Value::Array(items) => self.sequence(items, place),
            Value::Null => self.plain("null", place),
            Value::Bool(flag) => self.plain(if *flag { "true" } else { "false" }, place),
            Value::Int(number) => self.plain(itoa::Buffer::new().format(*number), place),
            Value::Float(number) => self.plain(&float_text(*number), place),
            Value::String(text) => self.text(text, place),
        }
    }

    fn empty(&mut self, brackets: &str) {
        self.indicator(&brackets[..1], true, true, false);
        self.indicator(&brackets[1..], false, false, false);
    }

    fn mapping(&mut self, map: &Map) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
        for (key, value) in sort::sorted(map.iter()) {
            self.start_line();
            if key.len() <= SIMPLE_KEY_MAX_BYTES && !key.contains(is_break) {
                self.text(key, Place::SimpleKey);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.text(key, Place::Member);
                self.start_line();
                self.indicator(":", true, false, true);
            }
            self.node(value, Place::Member);
        }
        self.indent = outer;
    }

    fn sequence(&mut self, items: &[Value], place: Place) {
        let outer = self.indent;
        let below_key = place == Place::Member && !self.indention;
        self.indent = Some(match outer {
            None => 0,
            Some(indent) if below_key => indent,
            Some(indent) => indent + INDENT,
        });
        for item in items {
            self.start_line();
            self.indicator("-", true, false, true);
            self.node(item, Place::Item);
        }
        self.indent = outer;
    }

    fn text(&mut self, text: &str, place: Place) {
        // Further lines of a scalar are indented below what holds it.
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        match Shape::of(text).style(text, place) {
            Style::Plain => self.plain(text, place),
            Style::SingleQuoted => self.single_quoted(text, place),
            Style::DoubleQuoted => self.double_quoted(text, place),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Writes a line break of the text itself.
    fn put_own_break(&mut self, character: char) {
        if character == '\n' {
            self.put_break();
        } else {
            self.out.push(character);
            self.column = 0;
        }
    }

    /// Begins a line, unless one has been begun and not left, and indents it.
    fn start_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, indicator: &str, need_space: bool, is_space: bool, is_indention: bool) {
        if need_space && !self.whitespace {
            self.put(' ');
        }
        indicator.chars().for_each(|character| self.put(character));
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    fn end_document(&mut self) {
        self.indent = None;
        self.start_line();
    }

    /// Whether a space may be turned into a line break.
    fn folds(&self, place: Place, after_space: bool) -> bool {
        place != Place::SimpleKey && !after_space && self.column > WIDTH
    }

    fn plain(&mut self, text: &str, place: Place) {
        if !self.whitespace {
            self.put(' ');
        }
        self.flowing(text, place, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, place: Place) {
        self.indicator("'", true, false, false);
        self.flowing(text, place, true);
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Text whose single line breaks a reader would fold, with or without quotes around it.
    fn flowing(&mut self, text: &str, place: Place, quoted: bool) {
        let (mut spaces, mut breaks) = (false, false);
        let mut characters = text.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if character == ' ' {
                let inside = !quoted || (index > 0 && next.is_some());
                if self.folds(place, spaces) && inside && next != Some(' ') {
                    self.start_line();
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else if is_break(character) {
                if !breaks && character == '\n' {
                    self.put_break();
                }
                self.put_own_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.start_line();
                }
                if quoted && character == '\'' {
                    self.put('\'');
                }
                self.put(character);
                self.indention = false;
                spaces = false;
                breaks = false;
            }
        }
    }

    fn double_quoted(&mut self, text: &str, place: Place) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let mut characters = text.char_indices().peekable();
        while let Some((index, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if !is_printable(character) || is_break(character) || matches!(character, '"' | '\\') {
                escape(character).chars().for_each(|character| self.put(character));
                spaces = false;
            } else if character == ' ' {
                if self.folds(place, spaces) && index > 0 && next.is_some() {
                    self.start_line();
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                spaces = true;
            } else {
                self.put(character);
                spaces = false;
            }
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            self.indicator("2", false, false, false);
        }
        let mut from_end = text.chars().rev();
        match (from_end.next().is_some_and(is_break), from_end.next()) {
            (false, _) => self.indicator("-", false, false, false),
            (true, None) => self.indicator("+", false, false, false),
            (true, Some(previous)) if is_break(previous) => self.indicator("+", false, false, false),
            (true, Some(_)) => {}
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut breaks = true;
        for character in text.chars() {
            if is_break(character) {
                self.put_own_break(character);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.start_line();
                }
                self.put(character);
                self.indention = false;
                breaks = false;
            }
        }
    }
}

fn float_text(number: f64) -> String {
    match resolve::float(number) {
        Value::Int(integer) => integer.to_string(),
        _ if number.is_nan() => ".nan".to_owned(),
        _ if number == f64::INFINITY => ".inf".to_owned(),
        _ if number == f64::NEG_INFINITY => "-.inf".to_owned(),
        // A whole number of 64 bits without sign keeps its digits.
        _ if number.fract() == 0.0 && number > 0.0 && number < 18_446_744_073_709_551_616.0 => {
            format!("{number}")
        }
        _ => go_fmt::float_v(number),
    }
}

/// Which styles a text allows.
struct Shape {
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Shape {
    fn of(text: &str) -> Shape {
        let mut shape = Shape { plain: true, single_quoted: true, block: true };
        if text.is_empty() {
            return Shape { block: false, ..shape };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let mut characters = text.chars().peekable();
        let mut previous: Option<char> = None;
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            indicators |= is_indicator(character, previous, next);
            if !is_printable(character) {
                (shape.plain, shape.single_quoted, shape.block) = (false, false, false);
            }
            if character == ' ' {
                if previous.is_none() || next.is_none() {
                    shape.plain = false;
                }
                if next.is_none() {
                    shape.block = false;
                }
                if previous.is_some_and(is_break) {
                    (shape.plain, shape.single_quoted) = (false, false);
                }
            } else if is_break(character) {
                shape.plain = false;
                if previous == Some(' ') {
                    (shape.single_quoted, shape.block) = (false, false);
                }
            }
            previous = Some(character);
        }
        shape.plain &= !indicators;
        shape
    }

    fn style(&self, text: &str, place: Place) -> Style {
        let simple_key = place == Place::SimpleKey;
        let means_itself = resolve::plain(text) == Resolved::Text && !is_base_60(text);
        let mut style = if text.contains('\n') {
            Style::Literal
        } else if means_itself {
            Style::Plain
        } else {
            Style::DoubleQuoted
        };
        if simple_key && text.contains(is_break) {
            style = Style::DoubleQuoted;
        }
        if style == Style::Plain && !self.plain {
            style = Style::SingleQuoted;
        }
        if style == Style::SingleQuoted && !self.single_quoted {
            style = Style::DoubleQuoted;
        }
        if style == Style::Literal && (!self.block || simple_key) {
            style = Style::DoubleQuoted;
        }
        style
    }
}

/// Whether a character at this place would mean something to a reader.
fn is_indicator(character: char, previous: Option<char>, next: Option<char>) -> bool {
    let blank = |character: char| matches!(character, ' ' | '\t');
    let ends_word = next.is_none_or(blank);
    match (character, previous) {
        (
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
            None,
        ) => true,
        ('?' | '-', None) | (':', _) => ends_word,
        ('#', Some(previous)) => blank(previous) || is_break(previous) || previous == '\0',
        _ => false,
    }
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character may be written as it is. Those beyond 16 bits may not, in go-yaml.
fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn escape(character: char) -> String {
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => character,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(character) {
                code @ ..=0xff => format!("\\x{code:02X}"),
                code @ ..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// Whether a text is a number in base 60 to readers of YAML 1.1: `1:30`, `-12:00:00.5`.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    first.starts_with(|digit: char| digit.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && rest.peek().is_some()
        && rest.all(|part| match part.as_bytes() {
            [ones] | [b'0'..=b'5', ones] => ones.is_ascii_digit(),
            _ => false,
        })
}
