//! `cargo xtask test`: everything that must hold before a change goes in, in the order of how soon it tells.
//!
//! One line per step; the first failure ends it, with what failed and the command that repeats it.
//! All cargo steps use the same features and flags, so that they share what they build.

mod cargo_output;
mod go_output;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Result;
use pico_args::Arguments;

use crate::conform::Backend;
use crate::progress::{Progress, duration};
use crate::tools::{Go, Tools};
use crate::workspace::Workspace;
use crate::{conform, crest, process, tidy};
use cargo_output::TestOutput;
use go_output::GoOutput;

pub(crate) const HELP: &str = "\
Checks everything, in this order: tools, format, tidy, clippy, tests, Go clients,
docs, conformance.

Usage: cargo xtask test

Stops at the first failure and shows the command that repeats it.
The tests include those that drive the program with kubectl, helm and clients;
they find the fetched programs in CREST_KUBECTL, CREST_HELM and CREST_ETCD*.
The clients in tests/go are built with the installed Go (1.21 or newer) or a fetched one.
Conformance runs the scenarios listed in conformance/*.txt, on the embedded store
and on etcd; without the shared material (see `cargo xtask --help`) it is skipped, and
says so.

The last line counts tests, scenarios and other steps: `N passed, M failed`.
";

/// One selection of packages and features for all steps. The load generator is linted and built with the rest.
const EVERYTHING: [&str; 3] = ["--workspace", "--features", "xtask/load"];

pub(crate) fn run(workspace: &Workspace, args: Arguments) -> Result<ExitCode> {
    crate::no_words(args)?;
    let began = Instant::now();
    let mut check = Check { workspace, tools: None, crest: None, passed: 0, failed: 0 };
    let succeeded = check.all();
    println!("      in {}", duration(began.elapsed()));
    println!("{} passed, {} failed", check.passed, check.failed);
    Ok(if succeeded { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The state that steps hand on.
struct Check<'a> {
    workspace: &'a Workspace,
    tools: Option<Tools>,
    crest: Option<PathBuf>,
    passed: usize,
    failed: usize,
}

/// What a step that succeeded has to say: how many things passed, and a few words.
struct Success {
    passed: usize,
    detail: String,
}

/// What a step that failed has to show, and how to repeat it.
struct Failure {
    passed: usize,
    failed: usize,
    output: String,
    repeat: String,
}

type Step = Result<Success, Failure>;

impl Check<'_> {
    fn all(&mut self) -> bool {
        self.step("tools", Self::tools)
            && self.step("format", Self::format)
            && self.step("tidy", Self::tidy)
            && self.step("clippy", Self::clippy)
            && self.step("tests", Self::tests)
            && self.step("Go clients", Self::go_clients)
            && self.step("docs", Self::docs)
            && self.conformance()
    }

    fn step(&mut self, name: &str, work: impl FnOnce(&mut Self, &Progress) -> Step) -> bool {
        let progress = Progress::start(name);
        match work(self, &progress) {
            Ok(success) => {
                self.passed += success.passed;
                progress.done(&success.detail);
                true
            }
            Err(failure) => {
                self.passed += failure.passed;
                self.failed += failure.failed;
                progress.failed("");
                println!("\n{}\n\nrepeat with: {}\n", failure.output.trim_end(), failure.repeat);
                false
            }
        }
    }

    fn tools(&mut self, progress: &Progress) -> Step {
        let tools = Tools::ensure_all(self.workspace, progress)
            .map_err(|error| broken(&error, "cargo xtask tools"))?;
        let versions = tools.versions();
        self.tools = Some(tools);
        Ok(one(versions))
    }

    fn format(&mut self, progress: &Progress) -> Step {
        let mut cargo = self.workspace.cargo();
        // Rustfmt colours its differences even into a pipe.
        cargo.args(["fmt", "--all", "--check", "--", "--color", "never"]);
        plain(cargo, progress, Some("cargo fmt --all"))
    }

    fn tidy(&mut self, progress: &Progress) -> Step {
        let repeat = "cargo xtask tidy";
        let report = tidy::check(self.workspace).map_err(|error| broken(&error, repeat))?;
        for remark in &report.remarks {
            progress.line(&format!("      {remark}"));
        }
        if report.findings.is_empty() {
            return Ok(one(report.summary()));
        }
        let findings = report.findings.iter().map(ToString::to_string).collect::<Vec<_>>();
        Err(Failure { passed: 0, failed: 1, output: findings.join("\n"), repeat: repeat.into() })
    }

    fn clippy(&mut self, progress: &Progress) -> Step {
        let mut cargo = self.workspace.cargo();
        cargo.arg("clippy").args(EVERYTHING).args(["--all-targets", "--", "-D", "warnings"]);
        plain(cargo, progress, None)
    }

    fn tests(&mut self, progress: &Progress) -> Step {
        let mut cargo = self.workspace.cargo();
        cargo.arg("test").args(EVERYTHING);
        if let Some(tools) = &self.tools {
            cargo.envs(tools.variables());
        }
        let shown = process::typed(&cargo);
        let mut output = TestOutput::default();
        let finished = process::run(cargo, |line| {
            progress.note(line);
            if let Some(program) = output.line(line) {
                progress.line(&format!("      {program}"));
            }
        });
        let finished = finished.map_err(|error| broken(&error, &shown))?;
        if finished.status.success() {
            let detail = format!("{} tests in {} programs", output.passed, output.programs);
            return Ok(Success { passed: output.passed, detail });
        }
        Err(Failure {
            passed: output.passed,
            // A build that fails is one failure.
            failed: output.failed.max(1),
            output: output.what_failed(&finished.output),
            repeat: output.repeat(&shown),
        })
    }

    /// Programs written with client-go and controller-runtime, against the server that the tests before have built.
    fn go_clients(&mut self, progress: &Progress) -> Step {
        let repeat = "cargo xtask test";
        let go = Go::ensure(self.workspace, progress).map_err(|error| broken(&error, repeat))?;
        let mut command = go.command(&self.workspace.root.join("tests/go"));
        command.args(["test", "-json", "-count=1", "./..."]);
        command.env("CREST_BINARY", self.workspace.target.join("debug/crest"));
        let shown = format!("cd tests/go && {}", process::typed(&command).replace(" -json", ""));
        let mut output = GoOutput::default();
        let finished = process::run(command, |line| match output.line(line) {
            Some(package) => progress.line(&format!("      {package}")),
            None if line.starts_with("go: ") => progress.note(line),
            None => {}
        });
        let finished = finished.map_err(|error| broken(&error, &shown))?;
        if finished.status.success() && output.passed > 0 {
            let detail = format!("{} tests, Go {}", output.passed, go.version);
            return Ok(Success { passed: output.passed, detail });
        }
        Err(Failure {
            passed: output.passed,
            failed: output.failed.max(1),
            output: output.what_failed().to_string(),
            repeat: shown,
        })
    }

    fn docs(&mut self, progress: &Progress) -> Step {
        let mut cargo = self.workspace.cargo();
        cargo.arg("doc").args(EVERYTHING).arg("--no-deps").env("RUSTDOCFLAGS", "-D warnings");
        plain(cargo, progress, None)
    }

    fn conformance(&mut self) -> bool {
        if self.workspace.shared("conformance").is_none() {
            let progress = Progress::start("conformance");
            progress.skipped("no recorded answers beside the checkout; CREST_SHARED names another place");
            return true;
        }
        self.step("release build", |check, progress| {
            let built = crest::build(check.workspace, progress);
            check.crest = Some(built.map_err(|error| broken(&error, "cargo build --release -p crest"))?);
            Ok(one(String::new()))
        }) && conform::suite_names().all(|suite| {
            let step = format!("conformance {suite}");
            self.step(&step, |check, progress| check.scenarios(suite, Backend::Embedded, progress))
                && self.step(&format!("{step} on etcd"), |check, progress| {
                    check.scenarios(suite, Backend::Etcd, progress)
                })
        })
    }

    fn scenarios(&mut self, suite: &str, backend: Backend, progress: &Progress) -> Step {
        let repeat = match backend {
            Backend::Embedded => format!("cargo xtask conform {suite}"),
            Backend::Etcd => format!("cargo xtask conform --backend etcd {suite}"),
        };
        let (Some(tools), Some(crest)) = (&self.tools, &self.crest) else {
            unreachable!("earlier steps made them")
        };
        let guarded = conform::guard(self.workspace, suite, backend, crest, tools, progress);
        let guarded = guarded.map_err(|error| broken(&error, &repeat))?;
        if guarded.lost.is_empty() {
            let detail = format!("{} scenarios", guarded.passed);
            return Ok(Success { passed: guarded.passed, detail });
        }
        let lost = guarded.lost.join(" ");
        Err(Failure {
            passed: guarded.passed,
            failed: guarded.lost.len(),
            output: format!("{}\n\nno longer pass: {lost}", guarded.differences),
            repeat: format!("{repeat} {lost} -v"),
        })
    }
}

fn one(detail: String) -> Success {
    Success { passed: 1, detail }
}

/// A step that could not even be run.
fn broken(error: &anyhow::Error, repeat: &str) -> Failure {
    Failure { passed: 0, failed: 1, output: format!("{error:#}"), repeat: repeat.into() }
}

/// A command that either succeeds or shows what is wrong. `mend` is a command that puts it right.
fn plain(command: Command, progress: &Progress, mend: Option<&str>) -> Step {
    let shown = process::typed(&command);
    let finished =
        process::run(command, |line| progress.note(line)).map_err(|error| broken(&error, &shown))?;
    if finished.status.success() {
        return Ok(one(String::new()));
    }
    let repeat = mend.map_or(shown.clone(), |mend| format!("{shown}\nmend with: {mend}"));
    Err(Failure { passed: 0, failed: 1, output: without_progress(&finished.output), repeat })
}

/// Cargo's lines about crates that built well say nothing about what failed.
fn without_progress(output: &str) -> String {
    let noise =
        ["Compiling ", "Checking ", "Documenting ", "Downloading ", "Downloaded ", "Blocking ", "Locking "];
    let kept = output.lines().filter(|line| !noise.iter().any(|word| line.trim_start().starts_with(word)));
    kept.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_plain(script: &str) -> Step {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        plain(command, &Progress::start("x"), None)
    }

    #[test]
    fn a_failing_command_shows_its_output_and_how_to_repeat_it() {
        assert!(check_plain("true").is_ok_and(|success| success.passed == 1));
        let failure = check_plain("echo '   Compiling x'; echo 'error: bad'; exit 1").err().unwrap();
        assert_eq!((failure.failed, failure.output.as_str()), (1, "error: bad"));
        assert!(failure.repeat.starts_with("sh -c "));
    }

    #[test]
    fn the_first_failure_ends_the_check_and_is_counted() {
        let workspace = Workspace::find().unwrap();
        let mut check = Check { workspace: &workspace, tools: None, crest: None, passed: 0, failed: 0 };
        let good = |_: &mut Check<'_>, _: &Progress| Ok(Success { passed: 7, detail: String::new() });
        let bad = |_: &mut Check<'_>, _: &Progress| {
            Err(Failure { passed: 2, failed: 3, output: "o".into(), repeat: "r".into() })
        };
        assert!(!(check.step("a", good) && check.step("b", bad) && check.step("c", good)));
        assert_eq!((check.passed, check.failed), (9, 3));
    }
}
