//! Between etcd's messages and the store's own words.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    grpc::{Failure, code},
    keyspace::Keyspace,
    proto,
};
use crate::{Error, KeyRange, KeyValue, MAX_VALUE_BYTES, Revision};

pub(super) const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";
pub(super) const FUTURE: &str = "etcdserver: mvcc: required revision is a future revision";
pub(super) const LEASE_NOT_FOUND: &str = "etcdserver: requested lease not found";
const TOO_LARGE: &str = "etcdserver: request is too large";
const TOO_MANY_OPERATIONS: &str = "etcdserver: too many operations in txn request";
/// What gRPC itself says of a message that etcd does not even read.
const MESSAGE_TOO_LARGE: &str = "received message larger than max";

pub(super) fn revision(number: i64) -> Revision {
    Revision(u64::try_from(number).unwrap_or(0))
}

/// etcd counts in signed numbers; a revision that does not fit lies in the future in any case.
pub(super) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

pub(super) fn revision_of(header: Option<&proto::Header>) -> Revision {
    header.map_or(Revision::ZERO, |header| revision(header.revision))
}

/// `None`: the key is not ours.
pub(super) fn key_value(kv: proto::KeyValue, keyspace: &Keyspace) -> Option<KeyValue> {
    Some(KeyValue {
        key: keyspace.inward(&kv.key)?,
        value: kv.value,
        create_revision: revision(kv.create_revision),
        mod_revision: revision(kv.mod_revision),
        version: u64::try_from(kv.version).unwrap_or(0),
        expires_at: None,
    })
}

/// A range as etcd writes it: a zero byte stands for the first key, and for the end of all keys.
pub(super) fn bounds(keys: &KeyRange) -> (Bytes, Bytes) {
    let zero = Bytes::from_static(b"\0");
    let or_zero = |bound: &Bytes| if bound.is_empty() { zero.clone() } else { bound.clone() };
    (or_zero(&keys.start), or_zero(&keys.end))
}

/// A failure that means the same for every request. What depends on the request is told apart before.
pub(super) fn error(failure: Failure) -> Error {
    match &failure {
        Failure::Status { message, .. } if message == TOO_LARGE || message.contains(MESSAGE_TOO_LARGE) => {
            Error::TooLarge { limit: MAX_VALUE_BYTES }
        }
        Failure::Status { code: code::INVALID_ARGUMENT, message } if message == TOO_MANY_OPERATIONS => {
            Error::Invalid("too many writes in one transaction for etcd")
        }
        _ => Error::Unavailable(Arc::new(failure)),
    }
}
