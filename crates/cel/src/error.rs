//! Errors: what is wrong with an expression, and what went wrong while it ran.

use std::borrow::Cow;
use std::fmt;

use crate::source::{Location, Source};
use crate::syntax::NOWHERE;

/// At most this many issues of one expression are kept; the rest is only counted.
const ISSUES_MAX: usize = 100;

/// One thing that is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where, in code points from the start; `None` when it concerns the expression as a whole.
    pub offset: Option<u32>,
    pub message: String,
}

/// Everything that is wrong with an expression, in order of position once displayed.
///
/// ```
/// let env = cel::Env::standard();
/// let issues = env.compile("1 + 'a'").unwrap_err();
/// assert_eq!(
///     issues.to_string(),
///     "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^",
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Issues {
    source: Source,
    kept: Vec<Issue>,
    count: usize,
}

impl Issues {
    pub(crate) fn new(source: Source) -> Self {
        Issues { source, kept: Vec::new(), count: 0 }
    }

    pub(crate) fn report(&mut self, offset: Option<u32>, message: impl Into<String>) {
        self.count += 1;
        if self.kept.len() < ISSUES_MAX {
            self.kept.push(Issue { offset, message: message.into() });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many issues were found, including those beyond the ones kept.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The issues kept, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.kept.iter()
    }

    /// The line and column of an issue.
    pub fn location(&self, issue: &Issue) -> Option<Location> {
        issue.offset.map(|offset| self.source.location(if offset == NOWHERE { 0 } else { offset }))
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Issue> = self.kept.iter().collect();
        sorted.sort_by_key(|issue| issue.offset.map(|offset| offset.wrapping_add(1)));
        for (index, issue) in sorted.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match self.location(issue) {
                None => write!(f, "ERROR: <input>:-1:0: {}", issue.message)?,
                Some(location) => {
                    let Location { line, column } = location;
                    // Where there is no text, there is no first column.
                    let nowhere = self.source.text().is_empty() || issue.offset == Some(NOWHERE);
                    let shown = if nowhere { 0 } else { column + 1 };
                    write!(f, "ERROR: <input>:{line}:{shown}: {}", issue.message)?;
                    f.write_str(&self.source.snippet(location).unwrap_or_default())?;
                }
            }
        }
        if self.count > self.kept.len() {
            write!(f, "\n{} more errors were truncated", self.count - self.kept.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Issues {}

/// Why an evaluation gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(Box<Failure>);

/// Kept in a box so that results are no larger than values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    message: Cow<'static, str>,
    kind: EvalErrorKind,
}

/// Whether `&&`, `||`, `all` and `exists` may make up for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// An ordinary error of the expression: a missing key, a division by zero, …
    Expression,
    /// The cost limit was reached. Nothing absorbs this.
    CostLimit,
}

/// The text of an evaluation stopped at its cost limit.
const COST_LIMIT: &str = "operation cancelled: actual cost limit exceeded";

impl EvalError {
    /// An ordinary error.
    ///
    /// ```
    /// assert_eq!(cel::EvalError::new("division by zero").to_string(), "division by zero");
    /// ```
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        EvalError(Box::new(Failure { message: message.into(), kind: EvalErrorKind::Expression }))
    }

    pub(crate) fn cost_limit() -> Self {
        EvalError(Box::new(Failure { message: Cow::Borrowed(COST_LIMIT), kind: EvalErrorKind::CostLimit }))
    }

    /// The values did not fit any form of the function.
    pub fn no_such_overload() -> Self {
        EvalError::new("no such overload")
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn kind(&self) -> EvalErrorKind {
        self.0.kind
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for EvalError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_are_shown_by_position_and_the_overflow_is_counted() {
        let mut issues = Issues::new(Source::new("ab"));
        issues.report(Some(1), "second");
        issues.report(None, "whole");
        issues.report(Some(0), "first");
        assert_eq!(
            issues.to_string(),
            "ERROR: <input>:-1:0: whole\nERROR: <input>:1:1: first\n | ab\n | ^\nERROR: <input>:1:2: second\n | ab\n | .^",
        );
        for _ in 0..100 {
            issues.report(None, "more");
        }
        assert!(issues.to_string().ends_with("\n3 more errors were truncated"));
        assert_eq!(issues.len(), 103);
    }
}
