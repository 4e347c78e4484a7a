//! `cargo xtask bench`: measures a release build and prints it beside the reference and the goals.
//!
//! The load comes from apibench of the shared material, which made the baseline; without it from our own generator
//! in `load/`, which knows fewer cases. Nothing here fails because something is slow: numbers are for people.

mod cases;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, anyhow, bail};
use pico_args::Arguments;
use serde_json::Value;

use crate::crest::{self, Options, Server};
use crate::process::{self, TempFolder};
use crate::progress::Progress;
use crate::tools::{Tools, last_lines};
use crate::workspace::Workspace;
use cases::{Case, Place};

pub(crate) const HELP: &str = "\
Measures a release build and prints it beside kube-apiserver and the goals.

Usage: cargo xtask bench [case…] [--quick] [--runs N]

  --quick    smaller counts
  --runs N   repeat everything N times and take medians (default 1)

Cases: start, idle, create-c1, create-c64, create-c16, get, list-full, list-label, list-paged, list-field,
       list-table, list-metadata, update, status, patch, apply, mixed, watch-w1, watch-w100, watch-w1000,
       validate-cel, validate-large, crds. A beginning names several: `create`, `list`.

Every result is appended to .tools/bench/results.jsonl.
Compare CPU per operation first: it depends least on what else the machine does.

Examples:
  cargo xtask bench --quick
  cargo xtask bench create get --runs 3
";

const TOKENS: &str = "bench-token,bench,bench-uid,\"system:masters\"\n";
const TOKEN: &str = "bench-token";

/// The lines that a case printed, by the name it gives itself.
type Results = BTreeMap<String, Vec<Value>>;

pub(crate) fn run(workspace: &Workspace, mut args: Arguments) -> Result<ExitCode> {
    let quick = args.contains("--quick");
    let runs: usize = args.opt_value_from_str("--runs")?.unwrap_or(1);
    let words = crate::words(args)?;
    let cases = cases::select(&words)?;

    let progress = Progress::start("tools");
    let tools = Tools::ensure(workspace, &progress)?;
    progress.done("");
    let progress = Progress::start("release build");
    let binary = crest::build(workspace, &progress)?;
    progress.done("");
    let progress = Progress::start("load generator");
    let generator = Generator::build(workspace, &progress)?;
    progress.done(generator.name());

    let bench = Bench { workspace, tools, binary, generator, quick };
    let mut results = Results::new();
    for _ in 0..runs.max(1) {
        bench.round(&cases, &mut results)?;
    }
    let baseline = match workspace.shared("bench") {
        Some(folder) => read_lines(&folder.join("baseline.jsonl"))?,
        None => Results::new(),
    };
    print!("\n{}", table::render(&results, &baseline));
    println!("\nall results: {}", workspace.show(&bench.results_file()));
    Ok(ExitCode::SUCCESS)
}

/// The program that makes the load. Both understand the same words.
enum Generator {
    Apibench(PathBuf),
    Own(PathBuf),
}

impl Generator {
    fn build(workspace: &Workspace, progress: &Progress) -> Result<Self> {
        let mut cargo = workspace.cargo();
        cargo.args(["build", "--release"]);
        let generator = if let Some(folder) = workspace.shared("bench/apibench") {
            // Its own folder may be read-only, and its dependencies are not ours.
            let target = workspace.tools.join("apibench");
            cargo
                .args(["--locked", "--manifest-path"])
                .arg(folder.join("Cargo.toml"))
                .arg("--target-dir")
                .arg(&target);
            Self::Apibench(target.join("release/apibench"))
        } else {
            cargo.args(["-p", "xtask", "--features", "load", "--bin", "load"]);
            Self::Own(workspace.target.join("release/load"))
        };
        let finished = process::run(cargo, |line| progress.note(line))?;
        if !finished.status.success() {
            bail!("cannot build the load generator:\n{}", finished.output);
        }
        Ok(generator)
    }

    fn program(&self) -> &Path {
        let (Self::Apibench(path) | Self::Own(path)) = self;
        path
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Apibench(_) => "apibench",
            Self::Own(_) => "our own, with fewer cases (no apibench beside the checkout)",
        }
    }

    fn can(&self, case: &Case) -> bool {
        matches!(self, Self::Apibench(_)) || case.own
    }
}

struct Bench<'a> {
    workspace: &'a Workspace,
    tools: Tools,
    binary: PathBuf,
    generator: Generator,
    quick: bool,
}

impl Bench<'_> {
    /// All cases once. A case that fails is told and leaves the others alone.
    fn round(&self, cases: &[&Case], results: &mut Results) -> Result<()> {
        let mut populated = None;
        for case in cases {
            let progress = Progress::start(case.name);
            if !self.generator.can(case) {
                progress.skipped("needs apibench");
                continue;
            }
            let outcome = match case.place {
                Place::Itself => self.start(case, &progress),
                Place::Fresh => self.server().and_then(|server| self.measure(case, &server, &progress)),
                Place::Populate => self.server().and_then(|server| {
                    let line = self.measure(case, &server, &progress)?;
                    populated = Some(server);
                    Ok(line)
                }),
                Place::Populated => match &populated {
                    Some(server) => self.measure(case, server, &progress),
                    None => Err(anyhow!("there are no objects to work on")),
                },
            };
            match outcome {
                Ok(line) => {
                    progress.done(&table::brief(&line));
                    self.keep(&line)?;
                    results.entry(case_name(&line)).or_default().push(line);
                }
                Err(error) => {
                    progress.failed("");
                    println!("{error:#}");
                }
            }
        }
        Ok(())
    }

    fn options(&self) -> Options<'_> {
        Options { binary: &self.binary, tokens: TOKENS, flags: &[] }
    }

    fn server(&self) -> Result<Server> {
        Server::start(&self.options(), &self.tools)
    }

    fn measure(&self, case: &Case, server: &Server, progress: &Progress) -> Result<Value> {
        let mut command = self.load(case);
        command.args(["--server", &server.url, "--pid", &server.id().to_string()]);
        last_object(command, progress)
            .map_err(|error| anyhow!("{error:#}\nthe server wrote:\n{}", server.log()))
    }

    /// The generator starts and ends the server itself, on a port that was free a moment ago.
    fn start(&self, case: &Case, progress: &Progress) -> Result<Value> {
        let folder = TempFolder::new()?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let serve = crest::serve(&self.options(), folder.path(), port)?;
        let mut command = self.load(case);
        command.args(["--server", &format!("https://127.0.0.1:{port}"), "--cmd", &process::typed(&serve)]);
        last_object(command, progress)
    }

    fn load(&self, case: &Case) -> Command {
        let mut command = Command::new(self.generator.program());
        command.args(case.words(self.quick)).args(["--token", TOKEN, "--insecure", "--label", "crest"]);
        // An error of the generator is to be read, not debugged.
        command.env("RUST_BACKTRACE", "0");
        command
    }

    fn results_file(&self) -> PathBuf {
        self.workspace.tools.join("bench/results.jsonl")
    }

    /// Appends a result with the commit that it belongs to.
    fn keep(&self, line: &Value) -> Result<()> {
        let mut line = line.clone();
        let mut git = Command::new("git");
        git.args(["describe", "--always", "--dirty"]).current_dir(&self.workspace.root);
        line["commit"] = process::probe(&mut git).into();
        line["generator"] = self.generator.name().into();
        let path = self.results_file();
        std::fs::create_dir_all(path.parent().context("the file has a folder")?)?;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
        writeln!(file, "{line}").with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Runs a generator and takes the object that it prints.
fn last_object(command: Command, progress: &Progress) -> Result<Value> {
    let finished = process::run(command, |line| progress.note(line))?;
    let line = finished.output.lines().rev().find(|line| line.starts_with('{'));
    match line.and_then(|line| serde_json::from_str(line).ok()) {
        Some(object) if finished.status.success() && is_worth_something(&object) => Ok(object),
        _ => bail!("{}", last_lines(&distinct_lines(&finished.output), 15)),
    }
}

/// A thousand workers may all complain about the same thing.
fn distinct_lines(text: &str) -> String {
    let mut seen = BTreeSet::new();
    text.lines().filter(|line| !line.is_empty() && seen.insert(*line)).collect::<Vec<_>>().join("\n")
}

/// Refusals are cheap: a run with more than a few measures something else.
fn is_worth_something(line: &Value) -> bool {
    let count = |key: &str| line[key].as_u64().unwrap_or(0);
    count("errors") * 100 <= count("ops")
}

fn case_name(line: &Value) -> String {
    line["case"].as_str().unwrap_or_default().to_string()
}

fn read_lines(path: &Path) -> Result<Results> {
    let mut results = Results::new();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let line: Value =
            serde_json::from_str(line).with_context(|| format!("a bad line in {}", path.display()))?;
        results.entry(case_name(&line)).or_default().push(line);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str) -> Result<Value> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        last_object(command, &Progress::start("x"))
    }

    #[test]
    fn the_last_object_is_the_result() {
        let line = check("echo warning >&2; echo '{\"case\":\"a\"}'; echo done >&2").unwrap();
        assert_eq!(case_name(&line), "a");
    }

    #[test]
    fn a_generator_that_fails_is_quoted() {
        assert!(
            check("echo '{\"case\":\"a\"}'; echo 'cannot connect' >&2; exit 1")
                .unwrap_err()
                .to_string()
                .contains("cannot connect")
        );
        assert!(check("echo nothing").is_err());
    }

    #[test]
    fn the_same_complaint_is_shown_once() {
        assert_eq!(
            check("echo bad; echo worse; echo; echo bad; exit 1").unwrap_err().to_string(),
            "bad\nworse"
        );
    }

    #[test]
    fn a_run_of_errors_is_no_result() {
        let check = |ops, errors| {
            check(&format!("echo '{{\"case\":\"a\",\"ops\":{ops},\"errors\":{errors}}}'")).is_ok()
        };
        assert!(check(1000, 0) && check(1000, 10));
        assert!(!check(1000, 11) && !check(0, 1));
    }
}
