//! `cargo xtask cel`: runs the recorded expressions, rules and verdicts through the crates that judge them.
//!
//! These are ordinary tests that look for recordings in the shared material; `cargo test` passes without. Here they
//! must find them, and what they count is shown by file.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;

use crate::process;
use crate::progress::Progress;
use crate::tools::last_lines;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Runs the recorded CEL expressions, rules and verdicts in process and counts what passes.

Usage: cargo xtask cel

Reads cel/ and corpus/ of the shared material (see `cargo xtask --help`).
`set apart` counts cases that cannot be met, such as recordings that depend on chance;
the tests name each with its reason. Fails when any other case fails.
";

/// A test program that reads recordings.
struct Reader {
    package: &'static str,
    /// What cargo is told to find it.
    target: &'static [&'static str],
    /// Only tests whose name contains this.
    filter: &'static str,
    /// What the tests call their counts, and the file that each reads.
    files: &'static [(&'static str, &'static str)],
}

const READERS: [Reader; 3] = [
    Reader {
        package: "crest-cel",
        target: &["--test", "vectors"],
        filter: "",
        files: &[
            ("language vectors", "cel/cel-spec-vectors.json"),
            ("compile errors", "cel/compile-error-vectors.json"),
            ("static costs", "cel/static-cost-vectors.json"),
            ("evaluations", "cel/k8s-eval-vectors.json"),
            ("unit cases, compiled", "cel/k8s-unit-vectors.json"),
            ("unit cases, validated", "cel/k8s-unit-vectors.json"),
        ],
    },
    Reader {
        package: "crest-schema",
        target: &["--lib"],
        filter: "expr::tests::vectors",
        files: &[
            ("compile errors", "cel/compile-error-vectors.json"),
            ("static costs", "cel/static-cost-vectors.json"),
            ("values", "cel/k8s-eval-vectors.json"),
            ("compilations", "cel/k8s-unit-vectors.json"),
            ("evaluations", "cel/k8s-unit-vectors.json"),
            ("messages", "cel/message-vectors.json"),
        ],
    },
    Reader {
        package: "crest-schema",
        target: &["--test", "corpus"],
        filter: "",
        files: &[("objects", "corpus/oracle.jsonl"), ("definitions", "corpus/oracle.jsonl")],
    },
];

pub(crate) fn run(workspace: &Workspace, args: Arguments) -> Result<ExitCode> {
    crate::no_words(args)?;
    let folders = ["cel", "corpus"].map(|name| workspace.shared(name));
    let [Some(vectors), Some(_)] = folders else {
        bail!(
            "there is no cel/ or no corpus/; put them beside the checkout as ../shared or set CREST_SHARED"
        );
    };
    let shared = vectors.parent().context("a folder below the shared material")?;
    let mut all_pass = true;
    let mut table = String::new();
    let mut total = Counts::default();
    for reader in &READERS {
        let progress = Progress::start(format!("{} {}", reader.package, reader.target.join(" ")));
        let mut command = workspace.cargo();
        reader.tell(&mut command, shared);
        let shown = process::typed(&command);
        let finished = process::run(command, |line| progress.note(line))?;
        let counts = reader.counts(&finished.output);
        if finished.status.success() && counts.iter().all(|(_, counts)| counts.seen() > 0) {
            progress.done("");
        } else {
            progress.failed("");
            println!("{}\nrepeat with: {shown}", last_lines(&finished.output, 60));
            all_pass = false;
        }
        for ((what, file), counts) in &counts {
            table.push_str(&counts.row(reader.package, what, file));
            total.add(counts);
        }
    }
    println!("{:<14} {:<30} {:<22} {:>6} {:>9} {:>6}", "crate", "file", "what", "pass", "set apart", "fail");
    print!("{table}{}", total.row("all", "", ""));
    Ok(if all_pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Reader {
    fn tell(&self, cargo: &mut Command, shared: &Path) {
        cargo.args(["test", "-p", self.package]).args(self.target);
        // One after the other, so that what two tests write does not mix.
        cargo.args(["--", "--nocapture", "--test-threads=1"]);
        if !self.filter.is_empty() {
            cargo.arg(self.filter);
        }
        cargo.env("CREST_SHARED", shared);
    }

    /// What the tests wrote about each of their files, in the order of the table.
    fn counts(&self, output: &str) -> Vec<(&(&'static str, &'static str), Counts)> {
        let mut counts = self.files.iter().map(|file| (file, Counts::default())).collect::<Vec<_>>();
        for line in output.lines() {
            // The name of a running test has no end of line before what the test writes.
            let line = line.rsplit_once(" ... ").map_or(line, |(_, written)| written);
            let Some((what, rest)) = line.split_once(": ") else { continue };
            if let Some((_, counts)) = counts.iter_mut().find(|((known, _), _)| *known == what) {
                counts.add(&Counts::read(rest).unwrap_or_default());
            }
        }
        counts
    }
}

/// How many cases passed, were set apart, failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    pass: usize,
    apart: usize,
    fail: usize,
}

impl Counts {
    /// `5 of 9 pass, 1 unusable`, `5 pass, 1 unusable, 3 fail`, or one outcome of one operation:
    /// `create-warn: agrees: 5`, `update: skipped: why: 1`, `table: differs: causes: 3`.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let numbers = words.clone().filter_map(|word| word.parse().ok()).collect::<Vec<usize>>();
        if let [pass, second, third] = numbers[..]
            && words.any(|word| word == "unusable")
        {
            return Some(if text.contains(" of ") {
                Self { pass, apart: third, fail: second.checked_sub(pass + third)? }
            } else {
                Self { pass, apart: second, fail: third }
            });
        }
        let (outcome, count) = text.rsplit_once(": ")?;
        let count = count.parse().ok()?;
        let outcome = outcome.split_once(": ")?.1;
        match outcome.split(':').next()? {
            "agrees" => Some(Self { pass: count, ..Self::default() }),
            "skipped" => Some(Self { apart: count, ..Self::default() }),
            "differs" => Some(Self { fail: count, ..Self::default() }),
            _ => None,
        }
    }

    fn add(&mut self, other: &Self) {
        self.pass += other.pass;
        self.apart += other.apart;
        self.fail += other.fail;
    }

    fn seen(&self) -> usize {
        self.pass + self.apart + self.fail
    }

    fn row(&self, package: &str, what: &str, file: &str) -> String {
        format!("{package:<14} {file:<30} {what:<22} {:>6} {:>9} {:>6}\n", self.pass, self.apart, self.fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pass: usize, apart: usize, fail: usize) -> Counts {
        Counts { pass, apart, fail }
    }

    #[test]
    fn every_way_of_counting_is_read() {
        assert_eq!(Counts::read("5 of 9 pass, 1 unusable"), Some(counts(5, 1, 3)));
        assert_eq!(Counts::read("5 pass, 1 unusable, 3 fail"), Some(counts(5, 1, 3)));
        assert_eq!(Counts::read("create-warn: agrees: 5"), Some(counts(5, 0, 0)));
        assert_eq!(Counts::read("update: skipped: made by 2 servers: 1"), Some(counts(0, 1, 0)));
        assert_eq!(Counts::read("table: differs: causes: 3"), Some(counts(0, 0, 3)));
        assert_eq!(Counts::read("thread panicked at 3"), None);
        assert_eq!(Counts::read("a: b: c"), None);
    }

    #[test]
    fn counts_are_found_in_what_tests_write() {
        let output = "running 2 tests\ntest a ... objects: create-warn: agrees: 5\n\
                      objects: update: agrees: 2\nok\ntest b ... definitions: crd: differs: code: 1\nFAILED\n";
        let found = READERS[2].counts(output);
        assert_eq!(
            found.iter().map(|(_, counts)| *counts).collect::<Vec<_>>(),
            [counts(7, 0, 0), counts(0, 0, 1)]
        );
    }

    #[test]
    fn the_command_names_one_program_and_the_recordings() {
        let mut command = Command::new("cargo");
        READERS[1].tell(&mut command, Path::new("/s"));
        assert_eq!(
            process::typed(&command),
            "CREST_SHARED=/s cargo test -p crest-schema --lib -- --nocapture --test-threads=1 expr::tests::vectors"
        );
    }
}
