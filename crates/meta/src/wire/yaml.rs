//! YAML as kube-apiserver reads and writes it: YAML 1.1 scalars, go-yaml's errors and layout.
//!
//! Written by hand, because libraries follow YAML 1.2, which refuses texts that the reference accepts and
//! accepts others: see `scan.rs`. Values pass through JSON in the reference, so that `1.0` arrives as 1.
//!
//! Upstream: sigs.k8s.io/yaml v1.6 over go.yaml.in/yaml/v2.

mod decode;
mod error;
mod input;
mod read;
mod resolve;
mod scalar;
mod scan;
mod sort;
mod tag;
mod write;

#[cfg(test)]
mod tests;

pub use error::YamlError;
pub use write::{encode, encode_into};

use crate::Value;
use crate::wire::json;

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub value: Value,
    /// The text strict reading fails with: keys that occur more than once. The last of them won.
    pub strict_error: Option<String>,
}

/// Reads the first document of a text; a text without one is null.
///
/// ```
/// use crest_meta::wire::{json, yaml};
/// let parsed = yaml::parse(b"a: yes\nb: [0x10, 1e3, ~]\n---\nc: 1\n").unwrap();
/// assert_eq!(json::to_string(&parsed.value), r#"{"a":true,"b":[16,1000,null]}"#);
/// assert_eq!(
///     yaml::parse(b"a: [unclosed").unwrap_err().to_string(),
///     "yaml: line 1: did not find expected ',' or ']'",
/// );
/// ```
pub fn parse(bytes: &[u8]) -> Result<Parsed, YamlError> {
    if let Some(parsed) = parse_json(bytes) {
        return Ok(parsed);
    }
    let text = input::text(bytes)?;
    let document = read::document(text)?;
    decode::document(&document)
}

/// Most YAML bodies are JSON, which clients send to apply. It means the same read as YAML, except that whole
/// floats become integers; duplicate keys need YAML's own error text.
fn parse_json(bytes: &[u8]) -> Option<Parsed> {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return None;
    }
    let json::Parsed { mut value, duplicates } = json::parse(bytes).ok()?;
    if !duplicates.is_empty() {
        return None;
    }
    whole_floats_to_integers(&mut value);
    Some(Parsed { value, strict_error: None })
}

fn whole_floats_to_integers(value: &mut Value) {
    match value {
        Value::Float(number) => *value = resolve::float(*number),
        Value::Array(items) => items.iter_mut().for_each(whole_floats_to_integers),
        Value::Object(map) => map.iter_mut().for_each(|(_, member)| whole_floats_to_integers(member)),
        _ => {}
    }
}
