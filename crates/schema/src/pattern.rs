//! Regular expressions of schemas: Go's syntax and meaning, matched by the `regex` crate.
//!
//! A pattern is read once when a definition is compiled (`go_regex.rs` says whether Go would accept it and
//! what it means there) and becomes a program at its first use: programs are large and most patterns of most
//! definitions are never asked. Those that are asked are mostly the same few, so equal ones share a program.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

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

/// The programs in use, by the text that they are built from. It decides nothing but how much memory they take: some
/// 8 KB each, once used.
static PROGRAMS: Mutex<Programs> = Mutex::new(Programs { known: BTreeMap::new(), sweep_at: 64 });

struct Programs {
    known: BTreeMap<Box<str>, Weak<Regex>>,
    /// At this length programs that are no longer in use are looked for.
    sweep_at: usize,
}

impl Programs {
    /// The program that is known for this text, or else the one that is offered.
    fn keep(&mut self, translated: &str, offered: Regex) -> Arc<Regex> {
        if let Some(program) = self.known.get(translated).and_then(Weak::upgrade) {
            return program;
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, program| program.strong_count() > 0);
            self.sweep_at = 64.max(2 * self.known.len());
        }
        let program = Arc::new(offered);
        self.known.insert(translated.into(), Arc::downgrade(&program));
        program
    }
}

/// The program for a translated pattern. It is built without holding up others.
fn shared(translated: &str) -> Option<Arc<Regex>> {
    let programs = || PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = programs().known.get(translated).and_then(Weak::upgrade);
    known.or_else(|| build(translated).ok().map(|built| programs().keep(translated, built)))
}

/// One pattern of a schema.
#[derive(Debug)]
pub struct Pattern {
    pub source: Text,
    /// Absent when Go would refuse the pattern.
    translated: Option<Box<str>>,
    program: OnceLock<Option<Arc<Regex>>>,
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
        let program = self.program.get_or_init(|| self.translated.as_deref().and_then(shared));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn program(pattern: &Pattern) -> Option<&Arc<Regex>> {
        pattern.program.get().and_then(Option::as_ref)
    }

    #[test]
    fn equal_patterns_share_a_program_as_long_as_one_is_used() {
        let (first, second) = (Pattern::new("^shared-[0-9]+$"), Pattern::new("^shared-[0-9]+$"));
        assert!(first.is_match("shared-1") && program(&second).is_none());
        assert!(!second.is_match("shared-x"));
        assert!(Arc::ptr_eq(program(&first).unwrap(), program(&second).unwrap()));
        let kept = Arc::downgrade(program(&first).unwrap());
        drop((first, second));
        assert!(kept.upgrade().is_none());
        assert!(Pattern::new("^shared-[0-9]+$").is_match("shared-2"));
    }

    #[test]
    fn programs_out_of_use_are_forgotten() {
        let mut programs = Programs { known: BTreeMap::new(), sweep_at: 64 };
        for number in 0..1000 {
            let text = format!("^{number}$");
            programs.keep(&text, build(&text).unwrap());
        }
        assert!(programs.known.len() <= 64);
    }
}
