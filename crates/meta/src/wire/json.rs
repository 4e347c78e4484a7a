//! JSON as kube-apiserver reads and writes it: Go's error texts, lossy UTF-8, reported duplicate keys,
//! HTML-safe escapes and Go's number format.
//!
//! Written by hand because no library gives those, and because one pass straight into [`crate::Value`] with
//! sorted maps is faster than any detour.
//!
//! Upstream: sigs.k8s.io/json (reading) and Go's encoding/json (writing).

mod error;
mod part;
mod read;
mod swar;
mod write;

#[cfg(test)]
mod tests;

pub use error::JsonError;
pub use part::{Wanted, parse_part};
pub use read::{MAX_DEPTH, MAX_DUPLICATES, Parsed, parse};
pub use write::{Indenter, encode, encode_pretty, encode_str, indent, to_string, to_vec};
