//! The rules of `x-kubernetes-validations`: expressions about values, beside the schema that describes them.
//!
//! - [`types`]: what a schema is to expressions; [`host`] and [`scalar`]: how they read an object in place.
//! - [`compile`]: a node's rules as programs with costs; [`ruleset`] keeps them, compiled when first needed.
//! - [`eval`]: running them on an object; [`messages`]: every text a user sees.
//! - [`definition`]: what is wrong with the rules of a definition.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel, v1.36.

mod compile;
pub(crate) mod definition;
mod escape;
pub(crate) mod eval;
mod host;
mod messages;
mod ruleset;
mod scalar;
mod types;

#[cfg(test)]
mod tests;

pub(crate) use escape::field_names;
pub(crate) use host::Level;
pub use ruleset::Rules;
