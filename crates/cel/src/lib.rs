//! The CEL language: parse, check, cost, evaluate. Knows no Kubernetes and no JSON crate.

pub mod ast;
mod error;
mod source;
mod syntax;

pub use error::{EvalError, EvalErrorKind, Issue, Issues};
pub use source::{Location, Source};
