//! Regular expressions of schemas: Go's syntax and meaning, matched by the `regex` crate.
//!
//! A pattern is read once when a definition is compiled (`go_regex.rs` says whether Go would accept it and
//! what it means there) and becomes a program at its first use: programs are large and most patterns of most
//! definitions are never asked.

use std::sync::OnceLock;

use meta::Text;
use regex::bytes::{Regex, RegexBuilder};

use crate::go_regex;

/// How large the program of one pattern may get.
///
/// DIFFERENCE: Go bounds the number of repetitions to a total of 1000 and has no other limit.
const PROGRAM_BYTES: usize = 32 << 20;

/// How much one thread may remember of its searches with one pattern.
const CACHE_BYTES: usize = 512 << 10;

/// Below this many states a program is not built merely to see whether it is too large.
const SURELY_SMALL: u64 = 20_000;

/// One pattern of a schema.
#[derive(Debug)]
pub struct Pattern {
    pub source: Text,
    /// Absent when Go would refuse the pattern.
    translated: Option<Box<str>>,
    program: OnceLock<Option<Regex>>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Pattern {
    pub fn new(source: &str) -> Self {
        let translated = go_regex::translate(source).ok().map(|translated| translated.text.into_boxed_str());
        Pattern { source: source.into(), translated, program: OnceLock::new() }
    }

    /// What is wrong with the pattern, in Go's words.
    pub fn error(source: &str) -> Option<String> {
        match go_regex::translate(source) {
            Err(error) => Some(error.to_string()),
            // What is translated always compiles, unless it is too large.
            Ok(translated) if translated.states < SURELY_SMALL => None,
            Ok(translated) => build(&translated.text).err().map(|error| match error {
                regex::Error::CompiledTooBig(_) => "error parsing regexp: expression too large".to_owned(),
                other => format!("error parsing regexp: {other}"),
            }),
        }
    }

    /// Whether the text contains a match. A pattern that does not compile matches nothing.
    pub fn is_match(&self, text: &str) -> bool {
        let program = self
            .program
            .get_or_init(|| self.translated.as_deref().and_then(|translated| build(translated).ok()));
        program.as_ref().is_some_and(|program| program.is_match(text.as_bytes()))
    }

    /// Why the pattern can match nothing, as a message shows it.
    pub fn broken(&self) -> Option<String> {
        match &self.translated {
            Some(_) => None,
            None => Self::error(&self.source),
        }
    }
}

fn build(translated: &str) -> Result<Regex, regex::Error> {
    // Each level of Go's groups becomes two here.
    let nesting = u32::try_from(4 * go_regex::MAX_NESTING).unwrap_or(u32::MAX);
    RegexBuilder::new(translated)
        .size_limit(PROGRAM_BYTES)
        .dfa_size_limit(CACHE_BYTES)
        .nest_limit(nesting)
        .build()
}
