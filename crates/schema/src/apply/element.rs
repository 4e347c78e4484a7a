//! Path elements in their encoded form: `f:name`, `k:{"key":"value"}`, `v:"item"`, `i:3`.
//!
//! Ownership works on the encoded text. It is canonical (keys sorted, one spelling per value), so that two
//! elements are the same exactly when their texts are, and a set of paths is the `FieldsV1` document itself.
//!
//! Upstream: structured-merge-diff/v6/fieldpath/{element,serialize-pe}.go, typed/helpers.go, v1.36.

use std::cmp::Ordering;
use std::fmt;

use meta::{Map, Text, Value};

use super::typedef::{ListDef, ListKeys, ListKind};
use crate::go_text;

/// Why a list item has no path element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ItemError {
    NullInListMap,
    NoMapInListMap,
    NoKeys(Vec<Text>),
    ElementTypeIsNoMap(Text),
    MapInSet,
    ListInSet,
    NullInSet,
    AtomicList,
}

impl fmt::Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemError::NullInListMap => f.write_str("associative list with keys may not have a null element"),
            ItemError::NoMapInListMap => {
                f.write_str("associative list with keys may not have non-map elements")
            }
            ItemError::NoKeys(keys) => {
                let quoted: Vec<String> = keys.iter().map(|key| meta::go_fmt::quote(key)).collect();
                write!(
                    f,
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                    quoted.join(" ")
                )
            }
            ItemError::ElementTypeIsNoMap(key) => write!(
                f,
                "couldn't find default value for {key}: associative list may not have non-map types"
            ),
            ItemError::MapInSet => {
                f.write_str("associative list without keys has an element that's a map type")
            }
            ItemError::ListInSet => f.write_str("not supported: associative list with lists as elements"),
            ItemError::NullInSet => {
                f.write_str("associative list without keys has an element that's an explicit null")
            }
            ItemError::AtomicList => f.write_str("invalid indexing of non-associative list"),
        }
    }
}

/// `f:name`
pub(super) fn field(name: &str) -> Text {
    let mut buffer = Buffer::new();
    buffer.push_str("f:");
    buffer.push_str(name);
    buffer.into_text()
}

/// `"name":`, the beginning of one key of an item.
pub(super) fn encode_key(name: &str) -> Text {
    let mut buffer = Buffer::new();
    write_json_string(name, &mut buffer);
    buffer.push_str(":");
    buffer.into_text()
}

/// The element of an item of a set or list map.
pub(super) fn item(list: &ListDef, value: &Value) -> Result<Text, ItemError> {
    match &list.kind {
        ListKind::Atomic => Err(ItemError::AtomicList),
        ListKind::Set => set_item(value),
        ListKind::Map(keys) => list_map_item(list, keys, value),
    }
}

/// Whether [`item`] would find an element, without making it.
pub(super) fn has_item(list: &ListDef, value: &Value) -> bool {
    match (&list.kind, value) {
        (ListKind::Set, value) => !matches!(value, Value::Object(_) | Value::Array(_) | Value::Null),
        (ListKind::Map(keys), Value::Object(object)) => {
            let element = list.element.def().map.as_ref();
            let default =
                |key| element.and_then(|map| map.field(key)).is_some_and(|field| field.default.is_some());
            keys.sorted.iter().any(|key| object.contains_key(&key.name) || default(&key.name))
                && (element.is_some() || keys.sorted.iter().all(|key| object.contains_key(&key.name)))
        }
        _ => false,
    }
}

fn set_item(value: &Value) -> Result<Text, ItemError> {
    match value {
        Value::Object(_) => Err(ItemError::MapInSet),
        Value::Array(_) => Err(ItemError::ListInSet),
        Value::Null => Err(ItemError::NullInSet),
        scalar => {
            let mut buffer = Buffer::new();
            buffer.push_str("v:");
            write_json(scalar, &mut buffer);
            Ok(buffer.into_text())
        }
    }
}

fn list_map_item(list: &ListDef, keys: &ListKeys, value: &Value) -> Result<Text, ItemError> {
    let object = match value {
        Value::Object(object) => object,
        Value::Null => return Err(ItemError::NullInListMap),
        _ => return Err(ItemError::NoMapInListMap),
    };
    let mut buffer = Buffer::new();
    let mut separator = "k:{";
    for key in &keys.sorted {
        let found = match object.get(&key.name) {
            Some(found) => found,
            // A key that is absent and has no default makes another item than one that has it.
            None => match key_default(list, &key.name)? {
                Some(default) => default,
                None => continue,
            },
        };
        buffer.push_str(separator);
        buffer.push_str(&key.encoded);
        write_json(found, &mut buffer);
        separator = ",";
    }
    if separator != "," {
        return Err(ItemError::NoKeys(keys.declared.to_vec()));
    }
    buffer.push_str("}");
    Ok(buffer.into_text())
}

fn key_default<'a>(list: &'a ListDef, key: &Text) -> Result<Option<&'a Value>, ItemError> {
    match &list.element.def().map {
        Some(map) => Ok(map.field(key).and_then(|field| field.default.as_ref())),
        None => Err(ItemError::ElementTypeIsNoMap(key.clone())),
    }
}

/// An element taken apart: for messages, for ordering, and to bring foreign spellings into canonical form.
#[derive(Clone, Debug, PartialEq)]
pub enum PathElement {
    Field(Text),
    /// Sorted by name.
    Key(Map),
    Value(Value),
    Index(i64),
}

/// What is wrong with the text of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementError {
    /// A later version may know it; readers drop it.
    UnknownType,
    Malformed,
}

impl PathElement {
    pub fn parse(text: &str) -> Result<Self, ElementError> {
        let content = match text.as_bytes() {
            [_, b':', ..] => &text[2..],
            _ => return Err(ElementError::Malformed),
        };
        match text.as_bytes()[0] {
            b'f' => Ok(PathElement::Field(content.into())),
            b'k' => match parse_json(content)? {
                Value::Object(fields) => Ok(PathElement::Key(fields)),
                Value::Null => Ok(PathElement::Key(Map::new())),
                _ => Err(ElementError::Malformed),
            },
            b'v' => Ok(PathElement::Value(parse_json(content)?)),
            b'i' => content.parse().map(PathElement::Index).map_err(|_| ElementError::Malformed),
            _ => Err(ElementError::UnknownType),
        }
    }

    /// The canonical text.
    pub fn encode(&self) -> Text {
        match self {
            PathElement::Field(name) => field(name),
            PathElement::Key(fields) => {
                let mut buffer = Buffer::new();
                buffer.push_str("k:");
                write_json_object(fields, &mut buffer);
                buffer.into_text()
            }
            PathElement::Value(value) => {
                let mut buffer = Buffer::new();
                buffer.push_str("v:");
                write_json(value, &mut buffer);
                buffer.into_text()
            }
            PathElement::Index(index) => Text::from(format!("i:{index}")),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }

    /// The reference's order: fields, keys, values, indices; numbers by size rather than by their text.
    pub fn order(&self, other: &PathElement) -> Ordering {
        match (self, other) {
            (PathElement::Field(left), PathElement::Field(right)) => left.cmp(right),
            (PathElement::Key(left), PathElement::Key(right)) => order_maps(left, right),
            (PathElement::Value(left), PathElement::Value(right)) => order_values(left, right),
            (PathElement::Index(left), PathElement::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// As the reference prints it in messages: `.name`, `[key="value"]`, `[="item"]`, `[3]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                let shown: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}={}", go_text::shown(value))).collect();
                write!(f, "[{}]", shown.join(","))
            }
            PathElement::Value(value) => write!(f, "[={}]", go_text::shown(value)),
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The printed form of an encoded element; text that is no element is printed as it is.
pub(super) fn display(text: &str) -> String {
    match PathElement::parse(text) {
        Ok(element) => element.to_string(),
        Err(_) => text.to_owned(),
    }
}

fn parse_json(text: &str) -> Result<Value, ElementError> {
    match meta::wire::json::parse(text.as_bytes()) {
        Ok(parsed) => Ok(parsed.value),
        Err(_) => Err(ElementError::Malformed),
    }
}

fn order_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            as_float(left).total_cmp(&as_float(right))
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Object(left), Value::Object(right)) => order_maps(left, right),
        (Value::Array(left), Value::Array(right)) => {
            let unequal = left.iter().zip(right).map(|(l, r)| order_values(l, r)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        _ => value_rank(left).cmp(&value_rank(right)),
    }
}

fn order_maps(left: &Map, right: &Map) -> Ordering {
    let pairs = left.iter().zip(right.iter());
    let order = |((left_name, left), (right_name, right)): ((&str, &Value), (&str, &Value))| {
        left_name.cmp(right_name).then_with(|| order_values(left, right))
    };
    pairs.map(order).find(|order| order.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Float(_) | Value::Int(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[expect(clippy::cast_precision_loss, reason = "the reference compares integers with floats as floats")]
pub(super) fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(value) => *value as f64,
        Value::Float(value) => *value,
        _ => f64::NAN,
    }
}

/// What text is written to.
pub(super) trait Sink {
    fn push_str(&mut self, text: &str);
}

impl Sink for String {
    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// Collects a short text on the stack, so that an element is made in one step.
struct Buffer {
    bytes: [u8; Buffer::BYTES],
    len: usize,
    /// Everything, once it is too long for the stack.
    long: String,
}

impl Buffer {
    const BYTES: usize = 112;

    fn new() -> Self {
        Buffer { bytes: [0; Buffer::BYTES], len: 0, long: String::new() }
    }

    fn as_str(&self) -> &str {
        if self.long.is_empty() {
            std::str::from_utf8(&self.bytes[..self.len]).expect("only whole texts are pushed")
        } else {
            &self.long
        }
    }

    fn into_text(self) -> Text {
        Text::from(self.as_str())
    }
}

impl Sink for Buffer {
    fn push_str(&mut self, text: &str) {
        let end = self.len + text.len();
        if self.long.is_empty() && end <= Buffer::BYTES {
            self.bytes[self.len..end].copy_from_slice(text.as_bytes());
            self.len = end;
            return;
        }
        if self.long.is_empty() {
            self.long = self.as_str().to_owned();
        }
        self.long.push_str(text);
    }
}

/// JSON as the reference writes it inside a path element; an integral float and an integer look the same.
fn write_json(value: &Value, out: &mut impl Sink) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(value) => out.push_str(itoa::Buffer::new().format(*value)),
        Value::Float(value) => out.push_str(&go_text::json_float(*value)),
        Value::String(value) => write_json_string(value, out),
        Value::Array(items) => {
            let mut separator = "[";
            for item in items {
                out.push_str(separator);
                write_json(item, out);
                separator = ",";
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(fields) => write_json_object(fields, out),
    }
}

fn write_json_object(fields: &Map, out: &mut impl Sink) {
    let mut separator = "{";
    for (name, value) in fields.iter() {
        out.push_str(separator);
        write_json_string(name, out);
        out.push_str(":");
        write_json(value, out);
        separator = ",";
    }
    out.push_str(if fields.is_empty() { "{}" } else { "}" });
}

/// Escapes what the reference's writer escapes, HTML characters included.
pub(super) fn write_json_string(value: &str, out: &mut impl Sink) {
    out.push_str("\"");
    if value.bytes().any(|byte| NEEDS_CARE[usize::from(byte)]) {
        for character in value.chars() {
            write_json_char(character, out);
        }
    } else {
        out.push_str(value);
    }
    out.push_str("\"");
}

/// Bytes that are escaped or may begin a character that is.
const NEEDS_CARE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[0xe2] = true;
    table
};

fn write_json_char(character: char, out: &mut impl Sink) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
        }
        other => out.push_str(other.encode_utf8(&mut [0; 4])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::typedef::{Field, TypeRef};

    fn list(ty: &TypeRef) -> &ListDef {
        ty.def().list.as_ref().unwrap()
    }

    fn ports() -> TypeRef {
        let port = TypeRef::object([
            Field::new("port", TypeRef::numeric()),
            Field::new("protocol", TypeRef::string()).with_default("TCP"),
        ]);
        TypeRef::list_map(["protocol", "port"], port)
    }

    #[test]
    fn keys_are_sorted_and_missing_ones_take_their_default() {
        let item_of = |entries: &[(&str, Value)]| {
            let map: Map = entries.iter().cloned().collect();
            item(list(&ports()), &map.into())
        };
        assert_eq!(item_of(&[("port", Value::Int(80))]).unwrap(), r#"k:{"port":80,"protocol":"TCP"}"#);
        assert_eq!(
            item_of(&[("protocol", "UDP".into()), ("port", Value::Float(80.0))]).unwrap(),
            r#"k:{"port":80,"protocol":"UDP"}"#
        );
        let bare = TypeRef::list_map(["name"], TypeRef::object([]));
        assert_eq!(
            item(list(&bare), &Map::new().into()).unwrap_err().to_string(),
            r#"associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)"#
        );
    }

    #[test]
    fn set_items_are_escaped_as_the_reference_does() {
        let set = TypeRef::set(TypeRef::string());
        for (value, expected) in [
            (Value::from("a"), r#"v:"a""#),
            (Value::from("a<b\"\u{1}\u{2028}é"), r#"v:"a\u003cb\"\u0001\u2028é""#),
            (Value::Int(-3), "v:-3"),
            (Value::Float(1.5), "v:1.5"),
            (Value::Bool(true), "v:true"),
        ] {
            let text = item(list(&set), &value).unwrap();
            assert_eq!(text, expected);
            assert_eq!(PathElement::parse(&text).unwrap().encode(), text);
        }
        assert_eq!(item(list(&set), &Value::Null), Err(ItemError::NullInSet));
    }

    #[test]
    fn elements_print_as_in_the_messages_of_the_reference() {
        for (text, printed) in [
            ("f:spec", ".spec"),
            (r#"k:{"port":80,"protocol":"TCP"}"#, r#"[port=80,protocol="TCP"]"#),
            (r#"v:"a""#, r#"[="a"]"#),
            ("i:3", "[3]"),
        ] {
            assert_eq!(display(text), printed);
        }
    }

    #[test]
    fn foreign_spellings_become_canonical_and_nonsense_is_refused() {
        let canonical = |text: &str| PathElement::parse(text).map(|element| element.encode());
        assert_eq!(canonical(r#"k:{ "b": 1, "a": 2.0 }"#).unwrap(), r#"k:{"a":2,"b":1}"#);
        assert_eq!(canonical("x:y"), Err(ElementError::UnknownType));
        for text in ["", "f", "junk", "i:x", "k:{", "k:1", "v:"] {
            assert_eq!(canonical(text), Err(ElementError::Malformed), "{text}");
        }
    }

    #[test]
    fn order_is_by_kind_then_by_value() {
        let texts = ["f:b", "f:z", r#"k:{"p":9}"#, r#"k:{"p":80}"#, "v:2", "v:10", r#"v:"a""#, "i:2", "i:10"];
        let elements: Vec<PathElement> = texts.map(|text| PathElement::parse(text).unwrap()).into();
        assert!(elements.is_sorted_by(|left, right| left.order(right).is_lt()));
    }
}
