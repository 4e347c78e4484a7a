//! From text to tree: tokens, grammar, error recovery, macros.

mod builder;
mod lexer;
mod literal;
pub(crate) mod macros;
mod parser;
mod recovery;
mod token;

#[cfg(test)]
mod tests;

pub(crate) use builder::NOWHERE;
pub(crate) use parser::{Dialect, parse};
