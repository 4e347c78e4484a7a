//! Reads what `cargo test` writes: which program ran, how many of its tests passed, what failed.

/// The state of reading; fed line by line.
#[derive(Default)]
pub(crate) struct TestOutput {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// Programs and documentation tests that came to their end.
    pub(crate) programs: usize,
    current: String,
    /// What cargo advises to pass for repeating only the failed program.
    rerun: Option<String>,
}

impl TestOutput {
    /// Takes a line; gives the summary of a program when the line ends one that had tests.
    pub(crate) fn line(&mut self, line: &str) -> Option<String> {
        if let Some(name) = program_name(line) {
            self.current = name;
        } else if let Some((passed, failed)) = result_counts(line) {
            self.passed += passed;
            self.failed += failed;
            self.programs += 1;
            let name = std::mem::take(&mut self.current);
            let failures = if failed == 0 { String::new() } else { format!(", {failed} failed") };
            let took = line.rsplit_once("finished in ").map_or("", |(_, took)| took.trim_end_matches('s'));
            return (passed + failed > 0).then(|| format!("{name}: {passed} passed{failures}, {took} s"));
        } else if let Some(advice) = rerun_advice(line) {
            self.rerun = Some(advice.to_string());
        }
        None
    }

    /// The part of the output that tells about the failure: from the program that failed, or the build errors.
    pub(crate) fn what_failed(&self, output: &str) -> String {
        if self.failed == 0 && self.rerun.is_none() {
            return super::without_progress(output);
        }
        let lines = output.lines().collect::<Vec<_>>();
        let start = lines.iter().rposition(|line| program_name(line).is_some()).unwrap_or(0);
        let kept = lines[start..].iter().filter(|line| !line.starts_with("test ") || !line.ends_with(" ok"));
        kept.copied().collect::<Vec<_>>().join("\n")
    }

    /// The command that repeats only the failed program; `all` is the one that ran everything.
    pub(crate) fn repeat(&self, all: &str) -> String {
        match (&self.rerun, all.find("cargo test")) {
            (Some(advice), Some(at)) => format!("{}cargo test {advice}", &all[..at]),
            _ => all.to_string(),
        }
    }
}

/// `Running unittests src/lib.rs (target/debug/deps/crest_meta-0123)` and `Doc-tests crest_meta`.
fn program_name(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{name} (documentation)"));
    }
    let (source, program) = line.strip_prefix("Running ")?.split_once(" (")?;
    let program = program.rsplit('/').next()?.trim_end_matches(')');
    let program = program.rsplit_once('-').map_or(program, |(name, _)| name);
    Some(match source.strip_prefix("unittests ") {
        Some(_) => program.to_string(),
        None => source.to_string(),
    })
}

/// `test result: ok. 12 passed; 0 failed; …`
fn result_counts(line: &str) -> Option<(usize, usize)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word| counts.split("; ").find_map(|part| part.strip_suffix(word)?.trim().parse().ok());
    Some((count("passed")?, count("failed")?))
}

/// ``error: test failed, to rerun pass `-p crest-meta --lib` ``
fn rerun_advice(line: &str) -> Option<&str> {
    line.split_once("to rerun pass `")?.1.split('`').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
   Compiling crest-meta v0.1.0
    Finished `test` profile [unoptimized] target(s) in 1.00s
     Running unittests src/lib.rs (target/debug/deps/crest_meta-0a1b2c)

running 2 tests
test a ... ok
test b ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running unittests src/main.rs (target/debug/deps/crest-0a1b2c)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/kubectl.rs (target/debug/deps/kubectl-0a1b2c)

running 2 tests
test apply ... ok
test get ... FAILED

failures:

---- get stdout ----
assertion failed

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 7.50s

error: test failed, to rerun pass `-p crest --test kubectl`
";

    #[test]
    fn programs_are_counted_and_named() {
        let mut output = TestOutput::default();
        let summaries = OUTPUT.lines().filter_map(|line| output.line(line)).collect::<Vec<_>>();
        assert_eq!(
            summaries,
            ["crest_meta: 2 passed, 0.00 s", "tests/kubectl.rs: 1 passed, 1 failed, 7.50 s"]
        );
        assert_eq!((output.passed, output.failed, output.programs), (3, 1, 3));
        assert_eq!(program_name("   Doc-tests crest_meta").as_deref(), Some("crest_meta (documentation)"));
    }

    #[test]
    fn a_failure_shows_its_program_only_and_how_to_repeat_it() {
        let mut output = TestOutput::default();
        OUTPUT.lines().for_each(|line| drop(output.line(line)));
        let shown = output.what_failed(OUTPUT);
        assert!(shown.contains("assertion failed") && shown.contains("get ... FAILED"));
        assert!(!shown.contains("crest_meta") && !shown.contains("apply ... ok"));
        assert_eq!(output.repeat("A=b cargo test --workspace"), "A=b cargo test -p crest --test kubectl");
    }

    #[test]
    fn a_build_that_fails_shows_its_errors() {
        let mut output = TestOutput::default();
        let text = "   Compiling a v1\nerror[E0425]: cannot find value\nerror: could not compile `a`\n";
        text.lines().for_each(|line| drop(output.line(line)));
        assert_eq!(output.what_failed(text), "error[E0425]: cannot find value\nerror: could not compile `a`");
        assert_eq!(output.repeat("cargo test --workspace"), "cargo test --workspace");
    }
}
