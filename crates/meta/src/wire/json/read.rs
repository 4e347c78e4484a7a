//! The JSON reader: one pass over the bytes into a [`Value`].
//!
//! Bound: nesting up to [`MAX_DEPTH`]; time and memory are linear in the text (n log n for unsorted objects).

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Write as _;

use super::JsonError;
use super::swar::end_of_plain;
use crate::{Map, Text, Value};

/// How deep arrays and objects may nest.
///
/// DIFFERENCE: Go's reader allows 10,000. No object that a schema admits comes near either number, and every
/// walk over a tree may recurse without a second thought.
pub const MAX_DEPTH: usize = 1000;

/// How many duplicate keys are reported; later ones are dropped silently, as in the reference.
pub const MAX_DUPLICATES: usize = 100;

/// Up to this size an object whose keys come out of order is kept sorted by moving its members; above it the
/// members are sorted once at the end.
const INSERT_LIMIT: usize = 64;

/// What was read, and which keys occurred more than once.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// Paths such as `spec.list[0].a` in the order of the text, each once. The last of equal keys won.
    pub duplicates: Vec<String>,
}

/// Reads one JSON text.
///
/// ```
/// use crest_meta::wire::json::parse;
/// let parsed = parse(br#"{"spec": {"a": 1, "a": 2.5}}"#).unwrap();
/// assert_eq!(parsed.value.at(&["spec", "a"]), Some(&2.5.into()));
/// assert_eq!(parsed.duplicates, ["spec.a"]);
/// assert_eq!(parse(b"{,}").unwrap_err().to_string(),
///     "invalid character ',' looking for beginning of object key string");
/// ```
pub fn parse(bytes: &[u8]) -> Result<Parsed, JsonError> {
    let mut reader = Reader {
        bytes,
        at: 0,
        depth: 0,
        items: Vec::new(),
        members: Vec::new(),
        duplicates: Vec::new(),
        out_of_range: None,
    };
    let value = reader.value(&Place::Root)?;
    if let Some(byte) = reader.peek_token() {
        return Err(reader.unexpected(byte, "after top-level value"));
    }
    match reader.out_of_range {
        Some(error) => Err(error),
        None => Ok(Parsed { value, duplicates: reader.duplicates }),
    }
}

/// Where the reader is, as a chain on its stack; it becomes text only when a duplicate is met.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl Place<'_> {
    fn print(&self, out: &mut String) {
        match self {
            Place::Root => {}
            Place::Key(parent, key) => {
                parent.print(out);
                if !matches!(parent, Place::Root) {
                    out.push('.');
                }
                out.push_str(key);
            }
            Place::Index(parent, index) => {
                parent.print(out);
                write!(out, "[{index}]").expect("writing to a String never fails");
            }
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Elements of the arrays that are not finished, the innermost last. A finished array takes its part away
    /// in one piece of the right size.
    items: Vec<Value>,
    /// Members of the objects that are not finished, likewise.
    members: Vec<(Text, Value)>,
    duplicates: Vec<String>,
    /// The first number that fits no type. It is an error only if the text is well-formed to its end.
    out_of_range: Option<JsonError>,
}

impl Reader<'_> {
    #[cold]
    fn unexpected(&self, byte: u8, context: &str) -> JsonError {
        JsonError::invalid_character(byte, context, self.at)
    }

    /// The error for the byte at the current place, or for the end of the text.
    #[cold]
    fn unexpected_here(&self, context: &str) -> JsonError {
        match self.bytes.get(self.at) {
            Some(&byte) => self.unexpected(byte, context),
            None => JsonError::unexpected_end(self.bytes.len()),
        }
    }

    /// The same inside a number, a literal or an escape, where the end of the text counts as a space: Go finds
    /// out about the end by trying one.
    #[cold]
    fn unexpected_inside(&self, context: &str) -> JsonError {
        match self.bytes.get(self.at) {
            Some(&byte) => self.unexpected(byte, context),
            None => JsonError::invalid_character(b' ', context, self.bytes.len() - 1),
        }
    }

    /// Skips white space and shows the next byte without taking it.
    #[inline]
    fn peek_token(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn value(&mut self, place: &Place<'_>) -> Result<Value, JsonError> {
        match self.peek_token() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.nested(|reader| reader.object(place)),
            Some(b'[') => self.nested(|reader| reader.array(place)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            _ => Err(self.unexpected_here("looking for beginning of value")),
        }
    }

    /// Takes the opening byte and counts the nesting.
    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, JsonError>,
    ) -> Result<Value, JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(self.unexpected_here("exceeded max depth"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self, place: &Place<'_>) -> Result<Value, JsonError> {
        if self.peek_token() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(Vec::new()));
        }
        let base = self.items.len();
        loop {
            let value = self.value(&Place::Index(place, self.items.len() - base))?;
            self.items.push(value);
            match self.peek_token() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Array(self.items.split_off(base)));
                }
                _ => return Err(self.unexpected_here("after array element")),
            }
        }
    }

    fn object(&mut self, place: &Place<'_>) -> Result<Value, JsonError> {
        if self.peek_token() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(Map::new()));
        }
        let base = self.members.len();
        let mut keys = Keys::Sorted;
        loop {
            if self.peek_token() != Some(b'"') {
                return Err(self.unexpected_here("looking for beginning of object key string"));
            }
            let key = self.string()?;
            if self.peek_token() != Some(b':') {
                return Err(self.unexpected_here("after object key"));
            }
            self.at += 1;
            let slot = keys.slot(&self.members[base..], &key);
            if matches!(slot, Slot::Taken | Slot::Replace(_)) {
                self.duplicate(&Place::Key(place, &key));
            }
            let value = self.value(&Place::Key(place, &key))?;
            match slot {
                Slot::Append | Slot::Taken => self.members.push((key, value)),
                Slot::Insert(index) => self.members.insert(base + index, (key, value)),
                Slot::Replace(index) => self.members[base + index].1 = value,
            }
            match self.peek_token() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    let members = self.members.split_off(base);
                    return Ok(Value::Object(match keys {
                        Keys::Sorted => Map::from_sorted(members),
                        Keys::Unsorted(_) => Map::from_entries(members),
                    }));
                }
                _ => return Err(self.unexpected_here("after object key:value pair")),
            }
        }
    }

    fn duplicate(&mut self, place: &Place<'_>) {
        if self.duplicates.len() < MAX_DUPLICATES {
            let mut path = String::new();
            place.print(&mut path);
            if !self.duplicates.contains(&path) {
                self.duplicates.push(path);
            }
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        for &expected in word.as_bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(self.unexpected_inside(&context));
            }
            self.at += 1;
        }
        Ok(value)
    }

    /// Takes digits; fails with `context` when there is none.
    fn digits(&mut self, context: &str) -> Result<(), JsonError> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected_inside(context)) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        let mut integral = true;
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
            integral = false;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
            integral = false;
        }
        let bytes = self.bytes;
        let digits = std::str::from_utf8(&bytes[start..self.at]).expect("only ASCII was accepted");
        if integral && let Ok(value) = digits.parse::<i64>() {
            return Ok(Value::Int(value));
        }
        let value: f64 = digits.parse().expect("JSON's numbers are a subset of Rust's");
        if value.is_infinite() {
            let error = JsonError::number_out_of_range(digits, self.at);
            self.out_of_range.get_or_insert(error);
            return Ok(Value::Null);
        }
        Ok(Value::Float(value))
    }

    /// Reads a string from its opening quote to behind its closing quote.
    fn string(&mut self) -> Result<Text, JsonError> {
        let start = self.at + 1;
        let end = end_of_plain(self.bytes, start);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            let plain = &self.bytes[start..end];
            return Ok(Text::from_utf8(plain).unwrap_or_else(|_| {
                let mut text = String::new();
                push_lossy(&mut text, plain);
                text.into()
            }));
        }
        self.at = start;
        self.string_with_escapes().map(Text::from)
    }

    fn string_with_escapes(&mut self) -> Result<String, JsonError> {
        let mut text = String::new();
        loop {
            let end = end_of_plain(self.bytes, self.at);
            push_lossy(&mut text, &self.bytes[self.at..end]);
            self.at = end;
            match self.bytes.get(end) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                _ => return Err(self.unexpected_here("in string literal")),
            }
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<char, JsonError> {
        let character = match self.bytes.get(self.at) {
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(&byte @ (b'\\' | b'/' | b'"')) => char::from(byte),
            Some(b'u') => {
                self.at += 1;
                return self.code_point();
            }
            _ => return Err(self.unexpected_inside("in string escape code")),
        };
        self.at += 1;
        Ok(character)
    }

    /// Reads the digits of a `\u` escape, and a second escape when both make a surrogate pair.
    fn code_point(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first < 0xdc00 && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before; // no pair: the second escape stands for itself
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.bytes.get(self.at).and_then(|&byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected_inside("in \\u hexadecimal character escape"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }
}

/// What is known about the keys of an object under construction.
///
/// Keys mostly come in order and are appended. Duplicates are found when their key is met, so that they are
/// reported in the order of the text.
enum Keys {
    Sorted,
    /// All keys of an object that is large and out of order; it is sorted at its end.
    Unsorted(HashSet<Text>),
}

/// Where the next member goes.
#[derive(Clone, Copy)]
enum Slot {
    Append,
    Insert(usize),
    Replace(usize),
    /// The key is there already, somewhere among unsorted members.
    Taken,
}

impl Keys {
    fn slot(&mut self, members: &[(Text, Value)], key: &Text) -> Slot {
        if let Keys::Unsorted(seen) = self {
            return if seen.insert(key.clone()) { Slot::Append } else { Slot::Taken };
        }
        match members.last().map(|(last, _)| last.as_str().cmp(key)) {
            None | Some(Ordering::Less) => Slot::Append,
            Some(Ordering::Equal) => Slot::Replace(members.len() - 1),
            Some(Ordering::Greater) => match members.binary_search_by(|(other, _)| other.cmp(key)) {
                Ok(index) => Slot::Replace(index),
                Err(index) if members.len() < INSERT_LIMIT => Slot::Insert(index),
                Err(_) => {
                    let mut seen: HashSet<Text> = members.iter().map(|(other, _)| other.clone()).collect();
                    seen.insert(key.clone());
                    *self = Keys::Unsorted(seen);
                    Slot::Append
                }
            },
        }
    }
}

/// Appends bytes as UTF-8; each byte that belongs to no character becomes U+FFFD, as Go's decoder does.
fn push_lossy(text: &mut String, mut bytes: &[u8]) {
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(valid) => return text.push_str(valid),
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        text.push_str(std::str::from_utf8(valid).expect("checked up to here"));
        text.push(char::REPLACEMENT_CHARACTER);
        bytes = &rest[1..];
    }
}
