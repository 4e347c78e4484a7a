//! Where our keys are in an etcd that may hold others' too.

use bytes::{Bytes, BytesMut};

use crate::{Error, KeyRange, Result};

/// Shows the keys below one prefix of etcd as if they were below another.
///
/// Callers know one place for their keys; `--etcd-prefix` may put them elsewhere. What lies outside cannot be
/// read or written.
#[derive(Clone, Debug)]
pub struct Keyspace {
    /// What the keys of callers begin with.
    inner: Bytes,
    /// What they begin with in etcd.
    outer: Bytes,
}

impl Default for Keyspace {
    /// Every key, under its own name.
    fn default() -> Self {
        Keyspace { inner: Bytes::new(), outer: Bytes::new() }
    }
}

impl Keyspace {
    /// Keys that begin with `inner` are kept below `outer`.
    pub fn mapped(inner: impl Into<Bytes>, outer: impl Into<Bytes>) -> Self {
        Keyspace { inner: inner.into(), outer: outer.into() }
    }

    /// Some key that whoever may use this space may read.
    pub(super) fn some_key(&self) -> Bytes {
        if self.outer.is_empty() { Bytes::from_static(b"/") } else { self.outer.clone() }
    }

    /// A key of this space, as callers name it, that has this end.
    pub(super) fn key_below_prefix(&self, end: &str) -> Bytes {
        let key = [&self.inner[..], end.as_bytes()].concat();
        if key.is_empty() { Bytes::from_static(b"/") } else { key.into() }
    }

    pub(super) fn outward(&self, key: &Bytes) -> Result<Bytes> {
        if !key.starts_with(&self.inner) {
            return Err(Error::Invalid("the key lies outside of the store's prefix"));
        }
        Ok(swap(key, &self.inner, &self.outer))
    }

    /// `None`: the key is not ours.
    pub(super) fn inward(&self, key: &Bytes) -> Option<Bytes> {
        key.starts_with(&self.outer).then(|| swap(key, &self.outer, &self.inner))
    }

    /// The part of a range that is in this space, in etcd's names.
    pub(super) fn range_outward(&self, keys: &KeyRange) -> KeyRange {
        let ours = KeyRange::prefix(self.inner.clone());
        let start = if keys.start < ours.start {
            self.outer.clone()
        } else if ours.contains(&keys.start) {
            swap(&keys.start, &self.inner, &self.outer)
        } else {
            return NOTHING;
        };
        let end = if !keys.end.is_empty() && ours.contains(&keys.end) {
            swap(&keys.end, &self.inner, &self.outer)
        } else if keys.end.is_empty() || keys.end > ours.start {
            KeyRange::prefix(self.outer.clone()).end
        } else {
            return NOTHING;
        };
        KeyRange { start, end }
    }
}

/// A range that no key lies in.
const NOTHING: KeyRange = KeyRange { start: Bytes::from_static(b"\x01"), end: Bytes::from_static(b"\x01") };

fn swap(key: &Bytes, from: &Bytes, to: &Bytes) -> Bytes {
    if from == to {
        return key.clone();
    }
    let mut swapped = BytesMut::with_capacity(key.len() - from.len() + to.len());
    swapped.extend_from_slice(to);
    swapped.extend_from_slice(&key[from.len()..]);
    swapped.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_moved_and_come_back() {
        let space = Keyspace::mapped("/registry/", "/a/b/");
        let outer = space.outward(&"/registry/x/y".into()).expect("inside");
        assert_eq!(outer, "/a/b/x/y");
        assert_eq!(space.inward(&outer).expect("ours"), "/registry/x/y");
        assert_eq!(space.inward(&"/registry/x".into()), None);
        assert!(space.outward(&"/other".into()).is_err());
    }

    #[test]
    fn ranges_are_cut_to_the_space() {
        let space = Keyspace::mapped("/registry/", "/q/");
        let outward = |start: &'static str, end: &'static str| {
            let range = space.range_outward(&KeyRange { start: start.into(), end: end.into() });
            (!range.is_empty()).then(|| {
                [range.start, range.end].map(|bound| String::from_utf8(bound.to_vec()).expect("text"))
            })
        };
        let owned = |start: &str, end: &str| Some([start.to_owned(), end.to_owned()]);
        assert_eq!(outward("", ""), owned("/q/", "/q0"));
        assert_eq!(outward("/registry/", "/registry0"), owned("/q/", "/q0"));
        assert_eq!(outward("/registry/a/", "/registry/a0"), owned("/q/a/", "/q/a0"));
        assert_eq!(outward("/registry/a", ""), owned("/q/a", "/q0"));
        assert_eq!(outward("/a", "/b"), None);
        assert_eq!(outward("/z", ""), None);
        let all = Keyspace::default().range_outward(&KeyRange::all());
        assert_eq!(all, KeyRange::all());
    }
}
