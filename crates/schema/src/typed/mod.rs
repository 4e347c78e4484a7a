//! Built-in kinds: what their types, defaults, rules, columns and names are.
//!
//! Every fact about a kind is data (`kinds/*.txt`, [`resources()`]) or a small pure function of an object; the verbs
//! of the server know neither kind nor group. A description is parsed when its group is first used.
//!
//! - [`types`]: the descriptions and what they become.
//! - [`decode`]: a body as the reference's typed decoder and encoder leave it.
//! - [`resources()`], [`columns`]: names, verbs, selectors and table cells.

pub mod columns;
mod decode;
mod go_base64;
mod go_time;
mod quantity;
mod resources;
pub mod types;

pub use decode::{DecodeError, Decoded, decode};
pub use quantity::Quantity;
pub use resources::{
    BuiltinResource, Generation, NameRule, Subresource, group_priority, resource_of, resources,
    storage_version_hash,
};
pub use types::{Kind, kind};
