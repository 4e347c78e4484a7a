//! The JSON writer: the bytes Go's encoding/json would write for the same value.
//!
//! Keys come sorted because [`Map`] keeps them so. `<`, `>`, `&`, U+2028 and U+2029 are escaped.

use super::swar::end_of_unescaped;
use crate::go_fmt;
use crate::{Map, Value};

/// Appends a value without any white space.
///
/// A float that is no number or infinite has no JSON form and is written as `null`; the readers make none.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
        Value::Float(number) => encode_float(*number, out),
        Value::String(text) => encode_str(text, out),
        Value::Array(items) => encode_array(items, out),
        Value::Object(map) => encode_object(map, out),
    }
}

/// ```
/// use crest_meta::wire::json::{parse, to_string};
/// let value = parse(br#"{"b": "<\u00e9>", "a": 3.0}"#).unwrap().value;
/// assert_eq!(to_string(&value), r#"{"a":3,"b":"\u003cé\u003e"}"#);
/// ```
pub fn to_string(value: &Value) -> String {
    String::from_utf8(to_vec(value)).expect("the writer only copies whole characters")
}

pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    encode(value, &mut out);
    out
}

/// Appends a value as Go's `MarshalIndent` with two spaces does; no newline at the end.
pub fn encode_pretty(value: &Value, out: &mut Vec<u8>) {
    encode_indented(value, 0, out);
}

/// Lays out a text without spaces for people, its members in the order they have.
///
/// ```
/// use crest_meta::wire::json;
/// let mut out = Vec::new();
/// json::indent(br#"{"b":[1,{}],"a":"{,"}"#, &mut out);
/// assert_eq!(out, b"{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"{,\"\n}");
/// ```
pub fn indent(text: &[u8], out: &mut Vec<u8>) {
    Indenter::default().push(text, out);
}

/// The same for a text that comes in pieces, cut anywhere.
#[derive(Default)]
pub struct Indenter {
    depth: usize,
    in_string: bool,
    escaped: bool,
    just_opened: bool,
}

impl Indenter {
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for &byte in piece {
            if self.in_string {
                out.push(byte);
                self.in_string = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
            } else if !byte.is_ascii_whitespace() {
                self.structure(byte, out);
            }
        }
    }

    /// A byte outside of strings.
    fn structure(&mut self, byte: u8, out: &mut Vec<u8>) {
        let closes = matches!(byte, b'}' | b']');
        match (std::mem::take(&mut self.just_opened), closes) {
            (true, false) => {
                self.depth += 1;
                next_line(false, self.depth, out);
            }
            (false, true) => {
                self.depth -= 1;
                next_line(false, self.depth, out);
            }
            _ => {}
        }
        match byte {
            b',' => next_line(true, self.depth, out),
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
        self.just_opened = matches!(byte, b'{' | b'[');
        self.in_string = byte == b'"';
    }
}

fn encode_array(items: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        encode(item, out);
    }
    out.push(b']');
}

fn encode_object(map: &Map, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        encode_str(key, out);
        out.push(b':');
        encode(value, out);
    }
    out.push(b'}');
}

fn encode_indented(value: &Value, depth: usize, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                next_line(index > 0, depth + 1, out);
                encode_indented(item, depth + 1, out);
            }
            next_line(false, depth, out);
            out.push(b']');
        }
        Value::Object(map) if !map.is_empty() => {
            out.push(b'{');
            for (index, (key, member)) in map.iter().enumerate() {
                next_line(index > 0, depth + 1, out);
                encode_str(key, out);
                out.extend_from_slice(b": ");
                encode_indented(member, depth + 1, out);
            }
            next_line(false, depth, out);
            out.push(b'}');
        }
        _ => encode(value, out),
    }
}

fn next_line(comma: bool, depth: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(if comma { b",\n" } else { b"\n" });
    for _ in 0..depth {
        out.extend_from_slice(b"  ");
    }
}

fn encode_float(number: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;

    if !number.is_finite() {
        return out.extend_from_slice(b"null");
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        return out.extend_from_slice(go_fmt::exponent_form(number, 1).as_bytes());
    }
    write!(out, "{number}").expect("writing to a Vec never fails");
}

/// Appends a quoted and escaped string.
pub fn encode_str(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut copied = 0;
    let mut at = end_of_unescaped(bytes, 0);
    while at < bytes.len() {
        let (length, escape) = escape_at(bytes, at);
        if let Some(escape) = escape {
            out.extend_from_slice(&bytes[copied..at]);
            escape.write(bytes[at], out);
            copied = at + length;
        }
        at = end_of_unescaped(bytes, at + length);
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

enum Escape {
    Short(u8),
    Hex,
    Fixed(&'static [u8]),
}

impl Escape {
    fn write(&self, byte: u8, out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        match self {
            Escape::Short(letter) => out.extend_from_slice(&[b'\\', *letter]),
            Escape::Hex => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
            }
            Escape::Fixed(text) => out.extend_from_slice(text),
        }
    }
}

/// How many bytes the character at `at` has, and its escape if it has one.
fn escape_at(bytes: &[u8], at: usize) -> (usize, Option<Escape>) {
    let escape = match bytes[at] {
        byte @ (b'"' | b'\\') => Escape::Short(byte),
        0x08 => Escape::Short(b'b'),
        0x0c => Escape::Short(b'f'),
        b'\n' => Escape::Short(b'n'),
        b'\r' => Escape::Short(b'r'),
        b'\t' => Escape::Short(b't'),
        0xe2 => {
            let escape = match bytes.get(at + 1..at + 3) {
                Some([0x80, 0xa8]) => Some(Escape::Fixed(b"\\u2028")),
                Some([0x80, 0xa9]) => Some(Escape::Fixed(b"\\u2029")),
                _ => None,
            };
            return (3, escape);
        }
        _ => Escape::Hex,
    };
    (1, Some(escape))
}
