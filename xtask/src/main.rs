//! Every developer task of Crest, in Rust: `cargo xtask --help` lists them.
//!
//! A task is one module with a `run` function. What several tasks share is in [`workspace`] (where things are),
//! [`process`] (children that never outlive us), [`progress`] (what the developer sees meanwhile) and [`crest`]
//! (a server to work against).

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the output of a command line tool is its product"
)]

mod bench;
mod cel;
mod conform;
mod corpus;
mod crest;
mod etcd;
mod faults;
mod fuzz;
mod process;
mod progress;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};
use pico_args::Arguments;

use workspace::Workspace;

const HELP: &str = "\
Developer tasks of Crest.

Usage: cargo xtask <task> [options]

Tasks:
  tools     fetch the pinned kubectl, helm and etcd into .tools/, check their hashes
  test      check everything: format, tidy, clippy, tests, docs, conformance
  tidy      only our own rules: module docs, forbidden words, crate edges, licences, links
  conform   replay the recorded answers of kube-apiserver against a fresh Crest
  corpus    replay public definitions and objects against a fresh Crest, count agreement
  cel       run the recorded expressions and rules, count what passes
  bench     measure a release build and print it beside the reference
  faults    kill, cut off and compact under load, with a new seed each time
  fuzz      run the fuzz targets

`cargo xtask <task> --help` tells more about one of them.

Examples:
  cargo xtask test
  cargo xtask conform crd crd-lifecycle discovery
  cargo xtask corpus cert-manager
  cargo xtask bench --quick create get
  cargo xtask faults --minutes 10
  cargo xtask fuzz --seconds 60

Environment:
  CREST_SHARED   folder that holds conformance/, corpus/, cel/ and bench/
                 (default: ../shared beside the checkout)
";

fn main() -> ExitCode {
    process::clean_up_on_signals();
    match run(Arguments::from_env()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: Arguments) -> Result<ExitCode> {
    let Some(task) = args.subcommand()? else {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let help = match task.as_str() {
        "tools" => tools::HELP,
        "test" => test::HELP,
        "tidy" => tidy::HELP,
        "conform" => conform::HELP,
        "corpus" => corpus::HELP,
        "cel" => cel::HELP,
        "bench" => bench::HELP,
        "faults" => faults::HELP,
        "fuzz" => fuzz::HELP,
        "help" => HELP,
        other => bail!("there is no task `{other}`; `cargo xtask --help` lists the tasks"),
    };
    if task == "help" || args.contains(["-h", "--help"]) {
        print!("{help}");
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::find()?;
    match task.as_str() {
        "tools" => tools::run(&workspace, args),
        "test" => test::run(&workspace, args),
        "tidy" => tidy::run(&workspace, args),
        "conform" => conform::run(&workspace, args),
        "corpus" => corpus::run(&workspace, args),
        "cel" => cel::run(&workspace, args),
        "bench" => bench::run(&workspace, args),
        "faults" => faults::run(&workspace, args),
        _ => fuzz::run(&workspace, args),
    }
}

/// The words left over once all options were taken. An unknown option is an error, not a word.
fn words(args: Arguments) -> Result<Vec<String>> {
    args.finish()
        .into_iter()
        .map(|word| match word.into_string() {
            Ok(word) if word.starts_with('-') => bail!("unknown option {word}"),
            Ok(word) => Ok(word),
            Err(word) => bail!("{} is not valid UTF-8", word.display()),
        })
        .collect()
}

/// For tasks that take no words.
fn no_words(args: Arguments) -> Result<()> {
    match words(args)?.first() {
        Some(word) => bail!("unexpected argument {word}"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::from_vec(line.split_whitespace().map(Into::into).collect())
    }

    #[test]
    fn every_task_of_the_help_is_dispatched() {
        let tasks =
            HELP.lines().skip_while(|line| *line != "Tasks:").skip(1).take_while(|line| !line.is_empty());
        let mut count = 0;
        for line in tasks {
            let task = line.split_whitespace().next().unwrap();
            assert!(run(arguments(&format!("{task} --help"))).is_ok(), "{task}");
            count += 1;
        }
        assert_eq!(count, 9);
    }

    #[test]
    fn unknown_tasks_options_and_words_are_refused() {
        assert!(run(arguments("tset")).unwrap_err().to_string().contains("no task `tset`"));
        assert!(words(arguments("--bogus")).unwrap_err().to_string().contains("unknown option --bogus"));
        assert!(no_words(arguments("word")).is_err());
        assert_eq!(words(arguments("a b")).unwrap(), ["a", "b"]);
    }
}
