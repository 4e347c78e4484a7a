//! Built-in kinds: what their types, defaults, rules, columns and names are.
//!
//! Every fact about a kind is data (`kinds/*.txt`, [`resources()`]) or a small pure function of an object; the verbs
//! of the server know neither kind nor group. A description is parsed when its group is first used.
//!
//! - [`types`]: the descriptions and what they become.
//! - [`decode`]: a body as the reference's typed decoder and encoder leave it.
//! - [`binary`]: the same objects as typed clients send them.
//! - [`strategic_merge`], [`restore`]: patches that know the types.
//! - [`default`]: what the reference adds to an object it reads; [`prepare_create`], [`prepare_update`]: what a write
//!   may not decide.
//! - [`validate`], [`validate_metadata`], [`name_rule`], [`warnings`]: what the reference demands of an object, and what it remarks.
//! - [`resources()`], [`columns`]: names, verbs, selectors and table cells.

mod access;
pub mod binary;
pub mod columns;
mod convert;
mod declared_order;
mod decode;
mod defaults;
mod go_base64;
mod ownership;
mod prepare;
mod quantity;
mod resources;
mod restore;
mod strategic;
pub mod types;
mod validate;
mod warnings;

pub use convert::{event_from_core, event_to_core};
pub use decode::{DecodeError, Decoded, decode};
pub use defaults::default;
pub use ownership::apply_type;
pub use prepare::{Requester, finish_create, prepare_create, prepare_update};
pub use quantity::Quantity;
pub use resources::{
    BuiltinResource, Generation, NameRule, Subresource, group_priority, resource_of, resources,
    storage_version_hash,
};
pub use restore::restore;
pub use strategic::{StrategicError, strategic_merge};
pub use types::{Kind, kind};
pub use validate::{name_rule, validate, validate_metadata};
pub use warnings::warnings;

#[cfg(test)]
mod robustness;
