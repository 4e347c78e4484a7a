//! What to read, and what was read.

use bytes::{BufMut, Bytes, BytesMut};

use crate::{KeyValue, Revision};

/// The keys from `start` up to, not including, `end`. An empty `end` means: to the last key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    pub start: Bytes,
    pub end: Bytes,
}

impl KeyRange {
    pub fn all() -> Self {
        Self::default()
    }

    /// One key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        let start = key.into();
        let end = successor(&start);
        Self { start, end }
    }

    /// Every key that starts with `prefix`.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let start = prefix.into();
        let end = prefix_end(&start);
        Self { start, end }
    }

    /// The rest of this range behind `key`: how the next page is asked for.
    #[must_use]
    pub fn behind(&self, key: &[u8]) -> Self {
        Self { start: successor(key), end: self.end.clone() }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        key >= &self.start[..] && (self.end.is_empty() || key < &self.end[..])
    }

    /// Whether no key can lie in it.
    pub fn is_empty(&self) -> bool {
        !self.end.is_empty() && self.end <= self.start
    }
}

/// The smallest key greater than `key`.
fn successor(key: &[u8]) -> Bytes {
    let mut next = BytesMut::with_capacity(key.len() + 1);
    next.put_slice(key);
    next.put_u8(0);
    next.freeze()
}

/// The smallest key greater than all that start with `prefix`; empty when there is none.
fn prefix_end(prefix: &[u8]) -> Bytes {
    match prefix.iter().rposition(|&byte| byte != u8::MAX) {
        None => Bytes::new(),
        Some(last) => {
            let mut end = BytesMut::from(&prefix[..=last]);
            end[last] += 1;
            end.freeze()
        }
    }
}

/// What a range read returns for each key.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Keys, revisions and values.
    Values,
    /// Keys and revisions; the values are left empty.
    Keys,
    /// Nothing: only how many there are.
    Count,
}

#[derive(Clone, Debug)]
pub struct Range {
    pub keys: KeyRange,
    /// At most so many keys; 0 means all.
    pub limit: usize,
    /// The state to read; `None` means the newest.
    pub at: Option<Revision>,
    pub what: What,
    /// Whether the answer must tell when keys expire, though it costs the backend further questions.
    pub expiry: bool,
}

impl Range {
    pub fn values(keys: KeyRange) -> Self {
        Self { keys, limit: 0, at: None, what: What::Values, expiry: false }
    }

    pub fn keys(keys: KeyRange) -> Self {
        Self { what: What::Keys, ..Self::values(keys) }
    }

    pub fn count(keys: KeyRange) -> Self {
        Self { what: What::Count, ..Self::values(keys) }
    }

    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Has the answer tell when keys expire, whatever it costs.
    #[must_use]
    pub fn with_expiry(self) -> Self {
        Self { expiry: true, ..self }
    }

    #[must_use]
    pub fn at(self, revision: Revision) -> Self {
        Self { at: Some(revision), ..self }
    }
}

#[derive(Clone, Debug)]
pub struct RangeResult {
    /// In ascending order of the key.
    pub kvs: Vec<KeyValue>,
    /// Whether the limit cut off further keys.
    pub more: bool,
    /// How many keys the whole range holds at that revision: exact for [`What::Count`] and when
    /// nothing was cut off, else a lower bound. Counting costs time in proportion to the range.
    pub count: u64,
    /// The revision of the store when it was read, not the one asked for. A read of the newest
    /// state is a read at this revision: pages that follow ask for it.
    pub revision: Revision,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_the_next_one_begins() {
        assert_eq!(KeyRange::prefix("/a").end, "/b");
        assert_eq!(KeyRange::prefix(&b"/\xff\xff"[..]).end, "0");
        assert_eq!(KeyRange::prefix(&b"\xff"[..]).end, "");
        assert_eq!(KeyRange::prefix(""), KeyRange::all());
    }

    #[test]
    fn a_single_key_is_a_range_of_one() {
        let range = KeyRange::key("a");
        assert!(range.contains(b"a"));
        assert!(!range.contains(b"a\0"));
        assert!(range.behind(b"a").is_empty());
    }
}
