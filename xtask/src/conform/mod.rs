//! `cargo xtask conform`: replays the recorded answers of kube-apiserver against a fresh Crest.
//!
//! A scenario passes when every step gives the recorded answer. Those that pass are kept in `conformance/*.txt`;
//! losing one is an error here and in `cargo xtask test`.

mod list;
mod suite;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;
use serde_json::{Value, json};

use crate::crest;
use crate::progress::Progress;
use crate::tools::Tools;
use crate::workspace::Workspace;
use list::PassList;
pub(crate) use suite::Backend;
pub(crate) use suite::check_python;
use suite::{Ground, Outcome, Run, SUITES, Scenario, Suite};

pub(crate) const HELP: &str = "\
Replays recorded answers of kube-apiserver against a fresh Crest and compares.

Usage: cargo xtask conform [crd|machinery] [folder | folder/scenario …] [options]

  --backend B  where Crest keeps its data: embedded (as always) or etcd
  --update     rewrite conformance/<suite>.txt, the committed list of scenarios that pass
  --json OUT   write the full report, with the expected and the given answer of each step that differs
  -v           show the differences

A scenario is `pass`, `wording` (only text for people differs) or `fail`.
What the harness writes is kept in .tools/conform/<suite>.log; it can be watched meanwhile.

Examples:
  cargo xtask conform
  cargo xtask conform crd crd-lifecycle watch --update
  cargo xtask conform machinery api-verbs/create -v
  cargo xtask conform --backend etcd
";

/// Scenarios at a time; they mostly wait.
const JOBS: usize = 8;

/// How often a listed scenario may fail before it counts as lost.
const ATTEMPTS: usize = 3;

pub(crate) fn run(workspace: &Workspace, mut args: Arguments) -> Result<ExitCode> {
    let update = args.contains("--update");
    let verbose = args.contains(["-v", "--verbose"]);
    let json_out: Option<PathBuf> = args.opt_value_from_str("--json")?;
    let backend = match args.opt_value_from_str::<_, String>("--backend")?.as_deref() {
        None | Some("embedded") => Backend::Embedded,
        Some("etcd") => Backend::Etcd,
        Some(other) => bail!("there is no backend {other}: it is embedded or etcd"),
    };
    let mut words = crate::words(args)?;
    let Some(conformance) = workspace.shared("conformance") else {
        bail!(
            "there is no conformance material; put it beside the checkout as ../shared or set CREST_SHARED"
        );
    };
    let chosen = match words.first() {
        Some(first) if SUITES.iter().any(|needs| needs.name == first) => vec![words.remove(0)],
        _ => SUITES.iter().map(|needs| needs.name.to_string()).collect(),
    };
    let suites = chosen.iter().map(|name| Suite::open(&conformance, name)).collect::<Result<Vec<_>>>()?;
    let selections = select(&suites, &words)?;

    let progress = Progress::start("tools");
    let tools = Tools::ensure(workspace, &progress)?;
    progress.done("");
    let progress = Progress::start("release build");
    let binary = crest::build(workspace, &progress)?;
    progress.done("");

    let mut lost_any = false;
    let mut reports = BTreeMap::new();
    for (suite, names) in suites.iter().zip(selections).filter(|(_, names)| !names.is_empty()) {
        let progress = Progress::start(format!("conform {}", suite.needs.name));
        let mut list = PassList::read(&workspace.root, suite.needs.name)?;
        let log = new_log(workspace, suite.needs.name)?;
        let ground = Ground { crest: &binary, tools: &tools, progress: &progress, log: &log, backend };
        let run = check(suite, &ground, &names, &list)?;
        progress.done("");
        if verbose {
            print!("{}", run.log);
        }
        print!("{}", table(suite.needs.name, &run.scenarios));
        lost_any |= tell_changes(&list, &run.scenarios, update);
        if update {
            list.update(&run.scenarios)?;
        }
        reports.insert(suite.needs.name, report(&run.scenarios));
    }
    if let Some(path) = json_out {
        std::fs::write(&path, serde_json::to_vec_pretty(&reports)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(if lost_any && !update { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The scenarios of each suite that the words name; all when there are no words.
fn select(suites: &[Suite], words: &[String]) -> Result<Vec<Vec<String>>> {
    let all = suites.iter().map(Suite::scenarios).collect::<Result<Vec<_>>>()?;
    for word in words {
        if !all.iter().flatten().any(|name| names_scenario(word, name)) {
            bail!("no folder or scenario {word}; there are: {}", alternatives(word, all.iter().flatten()));
        }
    }
    let wanted = |name: &String| words.is_empty() || words.iter().any(|word| names_scenario(word, name));
    Ok(all.into_iter().map(|names| names.into_iter().filter(wanted).collect()).collect())
}

/// The scenarios of the folder that a word begins with, or all folders when there is no such folder.
fn alternatives<'a>(word: &str, names: impl Iterator<Item = &'a String> + Clone) -> String {
    let folder = word.split('/').next().unwrap_or(word);
    let mut found = names
        .clone()
        .filter(|name| names_scenario(folder, name))
        .map(String::as_str)
        .collect::<BTreeSet<_>>();
    if found.is_empty() {
        found = names.filter_map(|name| name.split('/').next()).collect();
    }
    found.into_iter().collect::<Vec<_>>().join(", ")
}

fn names_scenario(word: &str, name: &str) -> bool {
    let word = word.trim_end_matches('/');
    name == word || name.strip_prefix(word).is_some_and(|rest| rest.starts_with('/'))
}

/// Runs scenarios; listed ones that do not pass get another chance, alone on a fresh server.
fn check(suite: &Suite, ground: &Ground<'_>, names: &[String], list: &PassList) -> Result<Run> {
    let mut run = suite.check(ground, names, JOBS)?;
    for attempt in 1..ATTEMPTS {
        let lost = list.lost(&run.scenarios);
        if lost.is_empty() {
            break;
        }
        ground.progress.line(&format!("      again ({attempt}): {}", lost.join(", ")));
        let again = suite.check(ground, &lost, 1)?;
        run.log.push_str(&again.log);
        for scenario in again.scenarios {
            if let Some(first) = run.scenarios.iter_mut().find(|first| first.name == scenario.name) {
                *first = scenario;
            }
        }
    }
    Ok(run)
}

/// What became of the listed scenarios of a suite.
pub(crate) struct Guarded {
    pub(crate) passed: usize,
    pub(crate) lost: Vec<String>,
    /// What is wrong with the lost ones.
    pub(crate) differences: String,
}

/// Runs the listed scenarios of a suite, for `cargo xtask test`.
pub(crate) fn guard(
    workspace: &Workspace,
    suite: &str,
    backend: Backend,
    binary: &Path,
    tools: &Tools,
    progress: &Progress,
) -> Result<Guarded> {
    let conformance = workspace.shared("conformance").context("there is no conformance material")?;
    let list = PassList::read(&workspace.root, suite)?;
    if list.names.is_empty() {
        return Ok(Guarded { passed: 0, lost: Vec::new(), differences: String::new() });
    }
    let suite = Suite::open(&conformance, suite)?;
    let existing = suite.scenarios()?;
    let (names, gone): (Vec<_>, Vec<_>) =
        list.names.iter().cloned().partition(|name| existing.contains(name));
    if !gone.is_empty() {
        progress.line(&format!("      listed but not in the suite: {}", gone.join(", ")));
    }
    let log = new_log(workspace, suite.needs.name)?;
    let run = check(&suite, &Ground { crest: binary, tools, progress, log: &log, backend }, &names, &list)?;
    let lost = list.lost(&run.scenarios);
    let differences = suite::differences(&run.log, &lost);
    Ok(Guarded { passed: names.len() - lost.len(), lost, differences })
}

/// The suites in the order in which they are run.
pub(crate) fn suite_names() -> impl Iterator<Item = &'static str> {
    SUITES.iter().map(|needs| needs.name)
}

/// An empty file for what the harness writes.
fn new_log(workspace: &Workspace, suite: &str) -> Result<PathBuf> {
    let folder = workspace.tools.join("conform");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{suite}.log"));
    std::fs::write(&path, "").with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn tell_changes(list: &PassList, scenarios: &[Scenario], update: bool) -> bool {
    let (lost, gained) = (list.lost(scenarios), list.gained(scenarios));
    for name in &lost {
        println!("lost: {name}");
    }
    for name in &gained {
        println!("new:  {name}");
    }
    if update && !(lost.is_empty() && gained.is_empty()) {
        println!("the list now has {} more and {} fewer", gained.len(), lost.len());
    } else if !gained.is_empty() {
        println!("`--update` puts what is new on the list");
    }
    !lost.is_empty()
}

/// Counts of outcomes.
#[derive(Default)]
struct Counts {
    pass: usize,
    wording: usize,
    fail: usize,
}

impl Counts {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Pass => self.pass += 1,
            Outcome::Wording => self.wording += 1,
            Outcome::Fail => self.fail += 1,
        }
    }

    fn row(&self, name: &str) -> String {
        let total = self.pass + self.wording + self.fail;
        format!("{name:<24} {:>6} {:>8} {:>6} {total:>6}\n", self.pass, self.wording, self.fail)
    }
}

fn table(suite: &str, scenarios: &[Scenario]) -> String {
    let mut folders = BTreeMap::<&str, Counts>::new();
    let mut all = Counts::default();
    for scenario in scenarios {
        let folder = scenario.name.split('/').next().unwrap_or_default();
        folders.entry(folder).or_default().add(scenario.outcome);
        all.add(scenario.outcome);
    }
    let mut text = format!("{suite:<24} {:>6} {:>8} {:>6} {:>6}\n", "pass", "wording", "fail", "total");
    for (folder, counts) in folders {
        text.push_str(&counts.row(folder));
    }
    text.push_str(&all.row("all"));
    text
}

fn report(scenarios: &[Scenario]) -> Value {
    scenarios.iter().map(|scenario| (scenario.name.clone(), json!(scenario.record))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_folder_or_one_scenario() {
        assert!(names_scenario("watch", "watch/a") && names_scenario("watch/", "watch/a"));
        assert!(names_scenario("watch/a", "watch/a"));
        assert!(!names_scenario("watch", "watch-list/a") && !names_scenario("watch/a", "watch/ab"));
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        let names = ["watch/a", "watch/b", "yaml/c"].map(String::from);
        assert_eq!(alternatives("watch/x", names.iter()), "watch/a, watch/b");
        assert_eq!(alternatives("wtach", names.iter()), "watch, yaml");
    }

    #[test]
    fn the_table_counts_per_folder_and_in_all() {
        let scenario = |name: &str, outcome| Scenario { name: name.into(), outcome, record: Value::Null };
        let scenarios = [
            scenario("yaml/a", Outcome::Fail),
            scenario("lists/a", Outcome::Pass),
            scenario("lists/b", Outcome::Wording),
        ];
        let lines = table("crd", &scenarios);
        let rows = lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>();
        assert_eq!(rows[0], ["crd", "pass", "wording", "fail", "total"]);
        assert_eq!(rows[1], ["lists", "1", "1", "0", "2"]);
        assert_eq!(rows[2], ["yaml", "0", "0", "1", "1"]);
        assert_eq!(rows[3], ["all", "1", "1", "1", "3"]);
    }
}
