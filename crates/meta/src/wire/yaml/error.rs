//! What can be wrong with a YAML text, in the words of go-yaml.

use std::fmt;

use super::input::Mark;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    message: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for YamlError {}

impl YamlError {
    /// An error of the YAML library.
    pub(super) fn new(message: impl fmt::Display) -> Self {
        YamlError { message: format!("yaml: {message}") }
    }

    /// An error of the conversion to JSON.
    pub(super) fn conversion(message: impl Into<String>) -> Self {
        YamlError { message: message.into() }
    }

    /// Characters that make no token. The line is the one people count, unless the trouble is on the first
    /// line: then the reference falls back on the beginning of the construct, and names no line there either.
    pub(super) fn of_scanner(problem: &str, at: Mark, context: Mark) -> Self {
        let line = if at.line == 0 { context.line } else { at.line + 1 };
        YamlError::at(line, problem)
    }

    /// Tokens that make no document. The line is one less than people count.
    pub(super) fn of_parser(problem: &str, at: Mark, context: Mark) -> Self {
        YamlError::at(if at.line == 0 { context.line } else { at.line }, problem)
    }

    fn at(line: usize, problem: &str) -> Self {
        if line == 0 { YamlError::new(problem) } else { YamlError::new(format!("line {line}: {problem}")) }
    }
}
