//! JSON patches: a list of add, remove, replace, move, copy and test.
//!
//! Follows the reference's library where it leaves RFC 6902: the text before the first slash of a path is
//! ignored, a missing key can be replaced, tested against null and copied (as null), negative indices count
//! from the end, and a missing `value` is null.
//!
//! Bound: [`MAX_OPERATIONS`] in a request, [`MAX_COPIED_BYTES`] by copies, and the nesting of the result.
//!
//! DIFFERENCE: `test` compares strings by content; the reference compares encoded texts, so that its test of
//! a string with `<`, `>` or `&` fails unless the client escaped them.
//!
//! Upstream: evanphx/json-patch v4 `patch.go` and apiserver/pkg/endpoints/handlers/patch.go, v1.36.

mod decode;

use std::fmt;

use crate::wire::json::{self, MAX_DEPTH};
use crate::{Value, go_fmt};

/// How many operations a request may carry.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many encoded bytes the copies of one patch may add.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// The operations, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// One operation as it was sent; what is wrong with it shows when it is applied.
#[derive(Clone, Debug, PartialEq)]
struct Operation {
    /// `unknown` when there is none or it is no string.
    kind: String,
    path: Result<String, PatchError>,
    from: Result<String, PatchError>,
    value: Option<Value>,
}

/// Why a patch cannot be read or applied, in the words of the reference's library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchError {
    message: String,
}

impl PatchError {
    fn new(message: impl Into<String>) -> Self {
        PatchError { message: message.into() }
    }

    fn missing(message: impl fmt::Display) -> Self {
        PatchError::new(format!("{message}: missing value"))
    }

    fn index(index: i64) -> Self {
        PatchError::new(format!("Unable to access invalid index: {index}: invalid index referenced"))
    }

    fn within(self, context: impl fmt::Display) -> Self {
        PatchError::new(format!("{context}: {}", self.message))
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PatchError {}

impl JsonPatch {
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether an operation goes below this member of the document, to look or to change.
    pub fn reaches_into(&self, member: &str) -> bool {
        let below = |path: &Result<String, PatchError>| {
            let mut tokens = path.as_deref().unwrap_or_default().split('/').skip(1);
            tokens.next().is_some_and(|token| unescape(token) == member) && tokens.next().is_some()
        };
        self.operations.iter().any(|operation| below(&operation.path) || below(&operation.from))
    }

    /// Applies all operations, or fails with the first that does not apply.
    ///
    /// ```
    /// use crest_meta::{patch::JsonPatch, wire::json};
    /// let patch = JsonPatch::decode(br#"[{"op": "add", "path": "/l/-", "value": 2}]"#).unwrap();
    /// let document = json::parse(br#"{"l": [1]}"#).unwrap().value;
    /// assert_eq!(json::to_string(&patch.apply(document).unwrap()), r#"{"l":[1,2]}"#);
    /// ```
    pub fn apply(&self, document: Value) -> Result<Value, PatchError> {
        let mut target = Target { document, copied_bytes: 0 };
        for operation in &self.operations {
            match operation.kind.as_str() {
                "add" => target.add(operation)?,
                "remove" => target.remove(operation)?,
                "replace" => target.replace(operation)?,
                "move" => target.relocate(operation)?,
                "test" => target.test(operation)?,
                "copy" => target.copy(operation)?,
                other => return Err(PatchError::new(format!("Unexpected kind: {other}"))),
            }
        }
        Ok(target.document)
    }
}

/// The document between two operations.
struct Target {
    document: Value,
    copied_bytes: usize,
}

/// A place in the document: the object or array that holds it, and the last token of the path.
struct Place<'d> {
    container: &'d mut Value,
    key: String,
    depth: usize,
}

impl Target {
    fn add(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation
            .path
            .as_ref()
            .map_err(|_| PatchError::missing("add operation failed to decode path"))?;
        let place = self.find(path).ok_or_else(|| {
            PatchError::missing(format!("add operation does not apply: doc is missing path: \"{path}\""))
        })?;
        let value = operation.value.clone().unwrap_or_default();
        place.add(value).map_err(|error| error.within(format!("error in add for path: '{path}'")))
    }

    fn remove(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation
            .path
            .as_ref()
            .map_err(|_| PatchError::missing("remove operation failed to decode path"))?;
        let place = self.find(path).ok_or_else(|| {
            PatchError::missing(format!("remove operation does not apply: doc is missing path: \"{path}\""))
        })?;
        let removed = place.remove();
        removed.map(drop).map_err(|error| error.within(format!("error in remove for path: '{path}'")))
    }

    fn replace(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation.path("replace operation failed to decode path")?;
        if path.is_empty() {
            return match &operation.value {
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    self.document = value.clone();
                    Ok(())
                }
                // The reference wraps an error that is nil here; its text says so.
                _ => Err(PatchError::new("replace operation value must be object or array: %!w(<nil>)")),
            };
        }
        let place = self.find(path).ok_or_else(|| {
            PatchError::missing(format!("replace operation does not apply: doc is missing path: {path}"))
        })?;
        if place.get().is_err() {
            let context = format!("replace operation does not apply: doc is missing key: {path}");
            return Err(PatchError::missing(context));
        }
        let value = operation.value.clone().unwrap_or_default();
        place.set(value).map_err(|error| error.within(format!("error in remove for path: '{path}'")))
    }

    fn relocate(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let from = operation.from("move operation failed to decode from")?;
        let place = self.find(from).ok_or_else(|| {
            PatchError::missing(format!("move operation does not apply: doc is missing from path: {from}"))
        })?;
        let key = place.key.clone();
        let value =
            place.remove().map_err(|error| error.within(format!("error in move for path: '{key}'")))?;
        let path = operation.path("move operation failed to decode path")?;
        let place = self.find(path).ok_or_else(|| {
            let context = "move operation does not apply: doc is missing destination path";
            PatchError::missing(format!("{context}: {path}"))
        })?;
        place.add(value).map_err(|error| error.within(format!("error in move for path: '{path}'")))
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let from = operation.from("copy operation failed to decode from")?;
        let place = self.find(from).ok_or_else(|| {
            PatchError::missing(format!("copy operation does not apply: doc is missing from path: {from}"))
        })?;
        let value =
            place.get().map_err(|error| error.within(format!("error in copy for from: '{from}'")))?.cloned();
        let path = operation
            .path
            .as_ref()
            .map_err(|_| PatchError::missing("copy operation failed to decode path"))?;
        self.count_copy(value.as_ref())?;
        let place = self.find(path).ok_or_else(|| {
            let context = "copy operation does not apply: doc is missing destination path";
            PatchError::missing(format!("{context}: {path}"))
        })?;
        let added = place.add(value.unwrap_or_default());
        added.map_err(|error| error.within("error while adding value during copy"))
    }

    fn count_copy(&mut self, value: Option<&Value>) -> Result<(), PatchError> {
        self.copied_bytes += value.map_or(0, |value| json::to_vec(value).len());
        if self.copied_bytes > MAX_COPIED_BYTES {
            return Err(PatchError::new(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPIED_BYTES}",
                self.copied_bytes
            )));
        }
        Ok(())
    }

    fn test(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation.path("test operation failed to decode path")?;
        let expected = operation.value.as_ref().unwrap_or(&Value::Null);
        let found = if path.is_empty() {
            Some(&self.document)
        } else {
            let place = self.find(path).ok_or_else(|| {
                PatchError::missing(format!("test operation does not apply: is missing path: {path}"))
            })?;
            let found = place.get_owned_place();
            found.map_err(|error| error.within(format!("error in test for path: '{path}'")))?
        };
        if found.unwrap_or(&Value::Null) == expected {
            return Ok(());
        }
        Err(PatchError::new(format!("testing value {path} failed: test failed")))
    }

    /// Follows all tokens of a path but the last. `None` when the way there does not exist.
    fn find(&mut self, path: &str) -> Option<Place<'_>> {
        let mut tokens = path.split('/').skip(1).peekable();
        let mut container = &mut self.document;
        let mut depth = 1;
        loop {
            let key = unescape(tokens.next()?);
            if tokens.peek().is_none() {
                let holds = matches!(container, Value::Object(_) | Value::Array(_));
                return holds.then_some(Place { container, key, depth });
            }
            container = match container {
                Value::Object(map) => map.get_mut(&key)?,
                Value::Array(items) => {
                    let index = existing_index(&key, items.len()).ok()?;
                    &mut items[index]
                }
                _ => return None,
            };
            depth += 1;
        }
    }
}

impl Operation {
    fn path(&self, context: &str) -> Result<&str, PatchError> {
        self.path.as_deref().map_err(|error| error.clone().within(context))
    }

    fn from(&self, context: &str) -> Result<&str, PatchError> {
        self.from.as_deref().map_err(|error| error.clone().within(context))
    }
}

impl<'d> Place<'d> {
    /// The value there; `None` for a missing key of an object, an error for an index outside an array.
    fn get(&self) -> Result<Option<&Value>, PatchError> {
        lookup(self.container, &self.key)
    }

    fn get_owned_place(self) -> Result<Option<&'d Value>, PatchError> {
        lookup(self.container, &self.key)
    }

    fn set(self, value: Value) -> Result<(), PatchError> {
        check_depth(self.depth, &value)?;
        match self.container {
            Value::Object(map) => {
                map.insert(self.key, value);
            }
            Value::Array(items) => {
                let index = existing_index(&self.key, items.len())?;
                items[index] = value;
            }
            _ => unreachable!("a place is only made for objects and arrays"),
        }
        Ok(())
    }

    fn add(self, value: Value) -> Result<(), PatchError> {
        check_depth(self.depth, &value)?;
        match self.container {
            Value::Object(map) => {
                map.insert(self.key, value);
            }
            Value::Array(items) if self.key == "-" => items.push(value),
            Value::Array(items) => {
                let index = parse_index(&self.key).map_err(|error| {
                    error.within(format!("value was not a proper array index: '{}'", self.key))
                })?;
                // One more slot than there are items: the end is a place too.
                let index = resolve_index(index, items.len() + 1)?;
                items.insert(index, value);
            }
            _ => unreachable!("a place is only made for objects and arrays"),
        }
        Ok(())
    }

    fn remove(self) -> Result<Value, PatchError> {
        match self.container {
            Value::Object(map) => map.remove(&self.key).ok_or_else(|| {
                PatchError::missing(format!("Unable to remove nonexistent key: {}", self.key))
            }),
            Value::Array(items) => {
                let index = existing_index(&self.key, items.len())?;
                Ok(items.remove(index))
            }
            _ => unreachable!("a place is only made for objects and arrays"),
        }
    }
}

fn lookup<'v>(container: &'v Value, key: &str) -> Result<Option<&'v Value>, PatchError> {
    match container {
        Value::Array(items) => existing_index(key, items.len()).map(|index| items.get(index)),
        other => Ok(other.get(key)),
    }
}

fn existing_index(key: &str, length: usize) -> Result<usize, PatchError> {
    resolve_index(parse_index(key)?, length)
}

/// Go's `strconv.Atoi`.
fn parse_index(key: &str) -> Result<i64, PatchError> {
    key.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let why = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        PatchError::new(format!("strconv.Atoi: parsing {}: {why}", go_fmt::quote(key)))
    })
}

/// Negative indices count from the end.
fn resolve_index(index: i64, slots: usize) -> Result<usize, PatchError> {
    let resolved = match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => usize::try_from(index.unsigned_abs()).ok().and_then(|back| slots.checked_sub(back)),
    };
    resolved.filter(|&index| index < slots).ok_or_else(|| PatchError::index(index))
}

/// Every walk over a document recurses; a patch must not build one that no reader would accept.
fn check_depth(depth: usize, value: &Value) -> Result<(), PatchError> {
    if depth + nesting(value, MAX_DEPTH) > MAX_DEPTH {
        return Err(PatchError::new("exceeded max depth"));
    }
    Ok(())
}

/// How deep a value nests; anything above `limit` counts as `limit + 1`.
fn nesting(value: &Value, limit: usize) -> usize {
    let deepest = |values: &mut dyn Iterator<Item = &Value>| {
        values.map(|value| nesting(value, limit.saturating_sub(1))).max().unwrap_or(0)
    };
    match value {
        Value::Object(_) | Value::Array(_) if limit == 0 => 1,
        Value::Object(map) => 1 + deepest(&mut map.values()),
        Value::Array(items) => 1 + deepest(&mut items.iter()),
        _ => 0,
    }
}

/// `~1` is a slash and `~0` a tilde.
fn unescape(token: &str) -> String {
    if token.contains('~') { token.replace("~1", "/").replace("~0", "~") } else { token.to_owned() }
}

#[cfg(test)]
mod tests;
