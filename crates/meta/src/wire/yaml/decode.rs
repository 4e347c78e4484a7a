//! From nodes to values: aliases expanded, merge keys merged, keys turned into strings.
//!
//! Bound: the depth of the result, and the share of it that may come from aliases.
//!
//! Upstream: go.yaml.in/yaml/v2 decode.go; `convertToJSONableObject` of sigs.k8s.io/yaml.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::read::{Document, Kind, MAX_DEPTH, NodeId, Scalar, too_deep};
use super::resolve::{self, Resolved};
use super::{Parsed, YamlError};
use crate::{Map, Text, Value, go_fmt};

const YAML_TAGS: &str = "tag:yaml.org,2002:";

pub(super) fn document(document: &Document) -> Result<Parsed, YamlError> {
    let mut decoder = Decoder {
        document,
        expanding: HashSet::new(),
        decoded: 1,
        by_alias: 0,
        alias_depth: 0,
        duplicates: Vec::new(),
    };
    let value = match document.root {
        Some(root) => decoder.value(root, 0)?,
        None => Value::Null,
    };
    let strict_error = (!decoder.duplicates.is_empty())
        .then(|| format!("yaml: unmarshal errors:\n  {}", decoder.duplicates.join("\n  ")));
    Ok(Parsed { value, strict_error })
}

/// A key before it becomes a string: 1 and "1" are different to YAML.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Text(Text),
    Int(i64),
    Uint(u64),
    /// The bits of a float.
    Float(u64),
    Bool(bool),
    Null,
}

type Members = BTreeMap<Key, Value>;

struct Decoder<'d> {
    document: &'d Document,
    /// Aliases whose target is being decoded.
    expanding: HashSet<NodeId>,
    decoded: usize,
    by_alias: usize,
    alias_depth: usize,
    duplicates: Vec<String>,
}

impl Decoder<'_> {
    fn value(&mut self, id: NodeId, depth: usize) -> Result<Value, YamlError> {
        self.count()?;
        let document = self.document;
        match &document.nodes[id].kind {
            Kind::Scalar(scalar) => scalar_value(scalar),
            Kind::Alias { .. } => self.expand(id, |decoder, target| decoder.value(target, depth)),
            Kind::Sequence(children) => {
                check_depth(depth)?;
                let items = children.iter().map(|child| self.value(*child, depth + 1));
                items.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            Kind::Mapping(_) => {
                let mut members = Members::new();
                self.members(id, &mut members, depth)?;
                to_object(members)
            }
        }
    }

    /// Counts a decoded node and refuses documents that are mostly copies of their own parts.
    fn count(&mut self) -> Result<(), YamlError> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.by_alias += 1;
        }
        let too_many = self.by_alias > 100
            && self.decoded > 1000
            && as_float(self.by_alias) / as_float(self.decoded) > allowed_alias_ratio(self.decoded);
        if too_many { Err(YamlError::new("document contains excessive aliasing")) } else { Ok(()) }
    }

    fn expand<T>(
        &mut self,
        id: NodeId,
        decode: impl FnOnce(&mut Self, NodeId) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        let document = self.document;
        let Kind::Alias { target, name } = &document.nodes[id].kind else {
            unreachable!("only called for aliases")
        };
        if !self.expanding.insert(id) {
            return Err(YamlError::new(format!("anchor '{name}' value contains itself")));
        }
        self.alias_depth += 1;
        let decoded = decode(self, *target)?;
        self.alias_depth -= 1;
        self.expanding.remove(&id);
        Ok(decoded)
    }

    /// Decodes the members of a mapping into a map that may have some already.
    fn members(&mut self, id: NodeId, members: &mut Members, depth: usize) -> Result<(), YamlError> {
        check_depth(depth)?;
        let document = self.document;
        let Kind::Mapping(children) = &document.nodes[id].kind else {
            unreachable!("only called for mappings")
        };
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if is_merge(&document.nodes[key].kind) {
                self.merge(value, members, depth)?;
                continue;
            }
            let key = self.key(key, depth)?;
            let decoded = self.value(value, depth + 1)?;
            if members.contains_key(&key) {
                let line = document.nodes[value].line;
                self.duplicates.push(format!("line {line}: key {} already set in map", show_key(&key)));
            }
            members.insert(key, decoded);
        }
        Ok(())
    }

    /// Brings the members of other mappings in. What they share with earlier keys is overwritten.
    fn merge(&mut self, id: NodeId, members: &mut Members, depth: usize) -> Result<(), YamlError> {
        let document = self.document;
        match &document.nodes[id].kind {
            Kind::Mapping(_) | Kind::Alias { .. } => self.merge_one(id, members, depth),
            Kind::Sequence(children) => {
                // The first of several has the last word.
                children.iter().rev().try_for_each(|child| self.merge_one(*child, members, depth))
            }
            Kind::Scalar(_) => Err(not_mergeable()),
        }
    }

    fn merge_one(&mut self, id: NodeId, members: &mut Members, depth: usize) -> Result<(), YamlError> {
        let document = self.document;
        match &document.nodes[id].kind {
            Kind::Mapping(_) => {
                self.count()?;
                self.members(id, members, depth)
            }
            Kind::Alias { target, .. } if matches!(document.nodes[*target].kind, Kind::Mapping(_)) => {
                self.count()?;
                self.expand(id, |decoder, target| {
                    decoder.count()?;
                    decoder.members(target, members, depth)
                })
            }
            _ => Err(not_mergeable()),
        }
    }

    fn key(&mut self, id: NodeId, depth: usize) -> Result<Key, YamlError> {
        self.count()?;
        let document = self.document;
        match &document.nodes[id].kind {
            Kind::Alias { .. } => self.expand(id, |decoder, target| decoder.key(target, depth)),
            Kind::Scalar(scalar) => Ok(match resolve_scalar(scalar)? {
                Resolved::Null => Key::Null,
                Resolved::Bool(flag) => Key::Bool(flag),
                Resolved::Int(number) => Key::Int(number),
                Resolved::Uint(number) => Key::Uint(number),
                Resolved::Float(number) => Key::Float(number.to_bits()),
                Resolved::Text | Resolved::Timestamp => Key::Text(scalar_text(scalar)?),
            }),
            Kind::Sequence(_) | Kind::Mapping(_) => {
                let key = self.value(id, depth + 1)?;
                Err(YamlError::new(format!("invalid map key: {}", go_syntax(&key))))
            }
        }
    }
}

fn check_depth(depth: usize) -> Result<(), YamlError> {
    if depth < MAX_DEPTH { Ok(()) } else { Err(too_deep()) }
}

fn not_mergeable() -> YamlError {
    YamlError::new("map merge requires map or sequence of maps as the value")
}

fn is_merge(key: &Kind) -> bool {
    match key {
        Kind::Scalar(scalar) => {
            let tagged = scalar.tag.as_ref().is_some_and(|tag| tag.strip_prefix(YAML_TAGS) == Some("merge"));
            scalar.text == "<<" && (scalar.implicit || tagged)
        }
        _ => false,
    }
}

fn as_float(count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of nodes are far below 2^52")]
    let float = count as f64;
    float
}

/// Small documents may consist of aliases almost entirely, large ones to a tenth.
fn allowed_alias_ratio(decoded: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    let decoded = as_float(decoded).clamp(LOW, HIGH);
    0.99 - 0.89 * (decoded - LOW) / (HIGH - LOW)
}

/// What a scalar means, its tag considered.
fn resolve_scalar(scalar: &Scalar) -> Result<Resolved, YamlError> {
    let wanted = match &scalar.tag {
        None if scalar.implicit => return Ok(resolve::plain(&scalar.text)),
        None => return Ok(Resolved::Text),
        Some(tag) => match tag.strip_prefix(YAML_TAGS) {
            Some(name @ ("bool" | "int" | "float" | "null" | "timestamp")) => name,
            _ => return Ok(Resolved::Text), // strings, binary, and tags without a meaning to us
        },
    };
    let resolved = match resolve::plain(&scalar.text) {
        // Only the tag asks for a timestamp when there is one.
        Resolved::Timestamp if wanted != "timestamp" => Resolved::Text,
        other => other,
    };
    match (wanted, resolved) {
        ("float", Resolved::Int(number)) => {
            #[expect(clippy::cast_precision_loss, reason = "that is what the tag asks for")]
            let float = number as f64;
            Ok(Resolved::Float(float))
        }
        (wanted, resolved) if resolved.tag().strip_prefix("!!") == Some(wanted) => Ok(resolved),
        (wanted, resolved) => {
            let (found, text) = (resolved.tag(), &scalar.text);
            Err(YamlError::new(format!("cannot decode {found} `{text}` as a !!{wanted}")))
        }
    }
}

fn scalar_value(scalar: &Scalar) -> Result<Value, YamlError> {
    Ok(match resolve_scalar(scalar)? {
        Resolved::Null => Value::Null,
        Resolved::Bool(flag) => Value::Bool(flag),
        Resolved::Int(number) => Value::Int(number),
        Resolved::Uint(number) => {
            #[expect(clippy::cast_precision_loss, reason = "JSON reads such an integer as a float")]
            let float = number as f64;
            Value::Float(float)
        }
        Resolved::Float(number) if number.is_finite() => resolve::float(number),
        Resolved::Float(number) => {
            let shown = go_fmt::float_v(number);
            return Err(YamlError::conversion(format!("json: unsupported value: {shown}")));
        }
        Resolved::Text | Resolved::Timestamp => Value::String(scalar_text(scalar)?),
    })
}

fn scalar_text(scalar: &Scalar) -> Result<Text, YamlError> {
    let binary = scalar.tag.as_ref().is_some_and(|tag| tag.strip_prefix(YAML_TAGS) == Some("binary"));
    if !binary {
        return Ok(Text::from(scalar.text.as_str()));
    }
    let bytes = decode_base64(&scalar.text)
        .ok_or_else(|| YamlError::new("!!binary value contains invalid base64 data"))?;
    Ok(Text::from_utf8_lossy(&bytes))
}

/// Standard base64 with padding; line breaks are skipped.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let data = digits.strip_suffix(b"==").or(digits.strip_suffix(b"=")).unwrap_or(&digits);
    if !digits.len().is_multiple_of(4) || data.len() % 4 == 1 {
        return None;
    }
    let (mut bits, mut count) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(data.len() * 3 / 4);
    for digit in data {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).expect("eight bits"));
        }
    }
    Some(bytes)
}

fn to_object(members: Members) -> Result<Value, YamlError> {
    let mut entries = Vec::with_capacity(members.len());
    for (key, value) in members {
        let name = match &key {
            Key::Text(text) => text.clone(),
            Key::Int(number) => Text::from(itoa::Buffer::new().format(*number)),
            Key::Bool(flag) => Text::from(if *flag { "true" } else { "false" }),
            Key::Float(bits) => Text::from(float_key(f64::from_bits(*bits))),
            Key::Uint(_) | Key::Null => return Err(unsupported_key(&key, &value)),
        };
        entries.push((name, value));
    }
    Ok(Value::Object(Map::from_entries(entries)))
}

/// A float key is printed with the precision of 32 bits.
fn float_key(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "the reference prints keys with 32 bits")]
    let single = number as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let magnitude = single.abs();
    if magnitude == 0.0 || (1e-4..1e6).contains(&magnitude) {
        return format!("{single}");
    }
    let text = format!("{single:e}");
    let (mantissa, exponent) = text.split_once('e').expect("LowerExp always writes an exponent");
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}e{sign}{exponent:0>2}")
}

fn unsupported_key(key: &Key, value: &Value) -> YamlError {
    let (kind, shown) = match key {
        Key::Uint(number) => ("uint64", format!("{number:#x}")),
        _ => ("%!s(<nil>)", "<nil>".to_owned()),
    };
    let value = if value.is_null() { "<nil>".to_owned() } else { go_syntax(value) };
    YamlError::conversion(format!("unsupported map key of type: {kind}, key: {shown}, value: {value}"))
}

/// A key in Go syntax.
fn show_key(key: &Key) -> String {
    match key {
        Key::Text(text) => go_fmt::quote(text),
        Key::Int(number) => number.to_string(),
        Key::Uint(number) => format!("{number:#x}"),
        Key::Float(bits) => go_fmt::float_v(f64::from_bits(*bits)),
        Key::Bool(flag) => flag.to_string(),
        Key::Null => "<nil>".to_owned(),
    }
}

/// A value in Go syntax, as messages show it.
fn go_syntax(value: &Value) -> String {
    let mut text = String::new();
    push_go_syntax(&mut text, value);
    text
}

fn push_go_syntax(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("interface {}(nil)"),
        Value::String(string) => text.push_str(&go_fmt::quote(string)),
        Value::Float(number) => text.push_str(&go_fmt::float_v(*number)),
        Value::Bool(flag) => write!(text, "{flag}").expect("writing to a String never fails"),
        Value::Int(number) => write!(text, "{number}").expect("writing to a String never fails"),
        Value::Array(items) => {
            text.push_str("[]interface {}{");
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                push_go_syntax(text, item);
            }
            text.push('}');
        }
        Value::Object(map) => {
            text.push_str("map[interface {}]interface {}{");
            for (index, (key, member)) in map.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                text.push_str(&go_fmt::quote(key));
                text.push(':');
                push_go_syntax(text, member);
            }
            text.push('}');
        }
    }
}
