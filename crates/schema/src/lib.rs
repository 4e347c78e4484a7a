//! What an object of a kind may look like: prune, default, validate, merge, publish.
//!
//! Pure: no IO, no clock, no async. Same input, same output, same order of errors.
//!
//! - [`structural`] and the passes beside it: custom resources, from a definition's `openAPIV3Schema`. A write goes
//!   through [`Schema::shape`], [`Schema::default`] and [`Schema::validate`]; what comes from the store through the
//!   first two.
//! - [`crd`]: the definitions themselves.
//! - `typed`: built-in kinds, from descriptions of their types.
//! - `apply`: field ownership and server-side apply for both.

pub mod apply;
pub mod coerce;
pub mod compile;
pub mod crd;
pub mod formats;
pub mod go_text;
pub mod ownership;
pub mod parse;
pub mod pattern;
pub mod scale;
pub mod structural;
pub mod typed;

mod default;
mod embedded;
mod expr;
mod field_path;
mod go_regex;
mod go_url;
mod list_type;
mod prune;
mod ratchet;
mod rules;
mod shape;
mod validate;

#[cfg(test)]
mod testing;

pub use rules::Validation;
pub use shape::ShapeError;
pub use structural::Schema;
