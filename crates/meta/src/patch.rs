//! Patches that need no schema: JSON patch (RFC 6902) and merge patch (RFC 7386).
//!
//! Both deviate from their RFCs wherever the library of the reference does.

pub mod json;
pub mod merge;
#[cfg(test)]
mod model;

pub use json::JsonPatch;

/// Whether the body of a patch is checked for unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// `fieldValidation=Ignore`
    Ignore,
    /// `fieldValidation=Warn` or `Strict`: what is found is handed to the caller, who warns or refuses.
    Report,
}

/// A patch as it came in a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<P> {
    pub patch: P,
    /// Texts such as `duplicate field "spec.a"`; empty when nobody asked.
    pub strict_errors: Vec<String>,
}
