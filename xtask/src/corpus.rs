//! `cargo xtask corpus`: replays recorded answers about public definitions and objects against a fresh Crest.
//!
//! Where `conform` asks what a server does, this asks whether it judges what people really write as kube-apiserver
//! does: the definitions of many projects, their samples, and both broken in many ways. It is a measurement, not a
//! guard: the table is the result, whatever it says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;
use serde_json::{Value, json};

use crate::conform::check_python;
use crate::crest::{self, Options, Server};
use crate::process::{self, TempFolder};
use crate::progress::Progress;
use crate::tools::{Tools, last_lines};
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Replays recorded answers about public definitions and their objects against a fresh Crest.

Usage: cargo xtask corpus [project…] [options]

  --op OP        only this kind of case; may be repeated (definitions are created in any case)
  --json OUT     write the counts, and the recorded and the given answer of each case that differs
  --crest PATH   use this program instead of a release build
  -v             show some differences of each kind

Prints how many cases agree and differ per operation. Differences are no error here.
What the replay writes is kept in .tools/corpus.log; it can be watched meanwhile.

Examples:
  cargo xtask corpus
  cargo xtask corpus cert-manager gateway-api -v
  cargo xtask corpus --op table --op scale-get --json differences.json
";

const TOKEN: &str = "corpus-token";

/// Differences of one operation and kind that `-v` shows.
const SHOWN: &str = "3";

pub(crate) fn run(workspace: &Workspace, mut args: Arguments) -> Result<ExitCode> {
    let verbose = args.contains(["-v", "--verbose"]);
    let json_out: Option<PathBuf> = args.opt_value_from_str("--json")?;
    let binary: Option<PathBuf> = args.opt_value_from_str("--crest")?;
    let operations: Vec<String> = args.values_from_str("--op")?;
    let projects = crate::words(args)?;
    let Some(corpus) = workspace.shared("corpus").filter(|corpus| corpus.join("replay.py").is_file()) else {
        bail!("there is no corpus; put it beside the checkout as ../shared/corpus or set CREST_SHARED");
    };
    check_projects(&corpus, &projects)?;
    check_python()?;

    let progress = Progress::start("tools");
    let tools = Tools::ensure(workspace, &progress)?;
    progress.done("");
    let binary = match binary {
        // The server is started in another folder.
        Some(path) => std::path::absolute(path)?,
        None => release_build(workspace)?,
    };

    let progress = Progress::start("corpus");
    let tokens = format!("{TOKEN},admin,admin-uid,\"system:masters\"\n");
    let server = Server::start(&Options { binary: &binary, tokens: &tokens, flags: &[] }, &tools)?;
    let folder = TempFolder::new()?;
    let differences = folder.path().join("differences.jsonl");
    let mut command = replay(&corpus, &server.url, &projects, &operations);
    command.arg("--out").arg(&differences).current_dir(folder.path());
    let output = watch(command, &server, &workspace.tools.join("corpus.log"), &progress)?;
    progress.done("");

    if verbose {
        output.lines().filter(|line| line.starts_with("DIFF ")).for_each(|line| println!("{line}"));
    }
    let counts = Counts::of(&output).context("the replay ended without its counts")?;
    print!("{}", counts.table());
    if let Some(path) = json_out {
        let report = counts.report(&read_lines(&differences)?);
        std::fs::write(&path, serde_json::to_vec_pretty(&report)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn release_build(workspace: &Workspace) -> Result<PathBuf> {
    let progress = Progress::start("release build");
    let binary = crest::build(workspace, &progress)?;
    progress.done("");
    Ok(binary)
}

/// The replay itself takes a name that it does not know for a project without cases.
fn check_projects(corpus: &Path, wanted: &[String]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let index = std::fs::read(corpus.join("index.json")).context("the corpus has no index")?;
    let index: Value = serde_json::from_slice(&index).context("the index of the corpus is not JSON")?;
    let entries = index.as_array().context("the index of the corpus is not a list")?;
    let known = entries.iter().filter_map(|entry| entry["project"].as_str()).collect::<BTreeSet<_>>();
    match wanted.iter().find(|project| !known.contains(project.as_str())) {
        Some(project) => {
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            bail!("there is no project {project}; there are: {known}")
        }
        None => Ok(()),
    }
}

fn replay(corpus: &Path, url: &str, projects: &[String], operations: &[String]) -> Command {
    let mut command = Command::new("python3");
    command.arg(corpus.join("replay.py")).args(["--server", url, "--token", TOKEN, "--show", SHOWN]);
    for (option, values) in [("--project", projects), ("--op", operations)] {
        if !values.is_empty() {
            command.arg(option).args(values);
        }
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
    command
}

/// Runs the replay to its end and returns what it wrote.
fn watch(command: Command, server: &Server, log: &Path, progress: &Progress) -> Result<String> {
    let mut log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let finished = process::run(command, |line| {
        // The log is there to be watched meanwhile; the run does not depend on it.
        let _ = writeln!(log, "{line}");
        if !line.starts_with("DIFF ") {
            progress.note(line);
        }
    })?;
    if !finished.status.success() {
        bail!(
            "the replay gave up:\n{}\nthe server wrote:\n{}",
            last_lines(&finished.output, 30),
            server.log()
        );
    }
    Ok(finished.output)
}

fn read_lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// How often each outcome was seen, by operation. `ok` is agreement, everything else names what differs.
#[derive(Debug, PartialEq)]
struct Counts(BTreeMap<String, BTreeMap<String, usize>>);

impl Counts {
    /// Reads the last lines of the replay: `   create-strict {'ok': 3, 'code': 1}`.
    fn of(output: &str) -> Option<Self> {
        let rows = output.lines().filter(|line| line.starts_with("   ")).filter_map(|line| {
            let (operation, outcomes) = line.trim().split_once(" {")?;
            // What Python prints is JSON but for its quotes; names of outcomes have none inside.
            let outcomes = serde_json::from_str(&format!("{{{}", outcomes.replace('\'', "\""))).ok()?;
            Some((operation.to_string(), outcomes))
        });
        let rows = rows.collect::<BTreeMap<_, _>>();
        (!rows.is_empty()).then_some(Self(rows))
    }

    fn total(&self) -> BTreeMap<String, usize> {
        let mut total = BTreeMap::new();
        for (outcome, count) in self.0.values().flatten() {
            *total.entry(outcome.clone()).or_default() += count;
        }
        total
    }

    fn table(&self) -> String {
        let mut text = format!("{:<24} {:>7} {:>7} {:>7}\n", "operation", "cases", "agree", "differ");
        for (operation, outcomes) in &self.0 {
            text.push_str(&row(operation, outcomes));
        }
        text.push_str(&row("all", &self.total()));
        text
    }

    fn report(&self, differences: &[Value]) -> Value {
        json!({ "operations": self.0, "all": self.total(), "differences": differences })
    }
}

fn row(name: &str, outcomes: &BTreeMap<String, usize>) -> String {
    let cases: usize = outcomes.values().sum();
    let agree = outcomes.get("ok").copied().unwrap_or(0);
    let kinds = outcomes.iter().filter(|(outcome, _)| *outcome != "ok");
    let kinds = kinds.map(|(outcome, count)| format!("{outcome} {count}")).collect::<Vec<_>>().join(", ");
    let line = format!("{name:<24} {cases:>7} {agree:>7} {:>7}  {kinds}", cases - agree);
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "DIFF p/00001 table body want 200 got 200: want {} GOT {}\np: 5 cases, ok 4, 0.1s\n\
                          {'ok': 4, 'body': 1, 'skipped-generateName': 2}\n   \
                          create-strict {'ok': 3}\n   table {'ok': 1, 'body': 1}\n";

    #[test]
    fn counts_are_read_from_the_last_lines() {
        let counts = Counts::of(OUTPUT).unwrap();
        assert_eq!(counts.0.keys().collect::<Vec<_>>(), ["create-strict", "table"]);
        assert_eq!(counts.total(), BTreeMap::from([("ok".into(), 4), ("body".into(), 1)]));
        assert_eq!(Counts::of("Traceback (most recent call last):\n"), None);
    }

    #[test]
    fn the_table_tells_agreement_per_operation_and_in_all() {
        let table = Counts::of(OUTPUT).unwrap().table();
        let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(rows[0], ["operation", "cases", "agree", "differ"]);
        assert_eq!(rows[1], ["create-strict", "3", "3", "0"]);
        assert_eq!(rows[2], ["table", "2", "1", "1", "body", "1"]);
        assert_eq!(rows[3], ["all", "5", "4", "1", "body", "1"]);
    }

    #[test]
    fn the_report_holds_counts_and_differences() {
        let report = Counts::of(OUTPUT).unwrap().report(&[json!({ "id": "p/00001" })]);
        assert_eq!(report["operations"]["table"]["body"], 1);
        assert_eq!((&report["all"]["ok"], &report["differences"][0]["id"]), (&json!(4), &json!("p/00001")));
    }

    #[test]
    fn a_project_that_is_not_in_the_corpus_is_refused() {
        let folder = TempFolder::new().unwrap();
        assert!(check_projects(folder.path(), &[]).is_ok());
        std::fs::write(folder.path().join("index.json"), r#"[{"project":"b"},{"project":"a"}]"#).unwrap();
        assert!(check_projects(folder.path(), &["a".into()]).is_ok());
        let error = check_projects(folder.path(), &["c".into()]).unwrap_err().to_string();
        assert_eq!(error, "there is no project c; there are: a, b");
    }

    #[test]
    fn words_become_options_of_the_replay() {
        let command = replay(Path::new("/c"), "https://h:1", &["a".into(), "b".into()], &[]);
        let typed = process::typed(&command);
        assert!(
            typed.contains("/c/replay.py --server https://h:1") && typed.ends_with("--project a b"),
            "{typed}"
        );
    }
}
