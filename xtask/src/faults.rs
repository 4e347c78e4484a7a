//! `cargo xtask faults`: the fault tests, again and again with other seeds.

use std::process::ExitCode;

use anyhow::Result;
use pico_args::Arguments;

use crate::process;
use crate::progress::Progress;
use crate::tools::{Tools, last_lines};
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Kills, pauses, cuts off, fills and compacts under load, and checks the history.

Usage: cargo xtask faults [test…] [--minutes N] [--seed N] [--release]

  --minutes N   how long each test is repeated, with a new seed each time
                (default 0: once)
  --seed N      the first seed (default 1); a failure names the one to repeat
  --release     with the optimised server, which is far faster

`cargo xtask test` runs each of them once.
";

pub(crate) fn run(workspace: &Workspace, mut args: Arguments) -> Result<ExitCode> {
    let minutes: u32 = args.opt_value_from_str("--minutes")?.unwrap_or(0);
    let seed: u64 = args.opt_value_from_str("--seed")?.unwrap_or(1);
    let release = args.contains("--release");
    let wanted = crate::words(args)?;
    let progress = Progress::start("faults");
    let tools = Tools::ensure_all(workspace, &progress)?;
    let mut cargo = workspace.cargo();
    cargo.args(["test", "-p", "crest", "--test", "faults"]);
    if release {
        cargo.arg("--release");
    }
    // One after the other: what is to be told is what the fault does, not what a busy machine does.
    cargo.args(["--", "--nocapture", "--test-threads=1"]).args(&wanted);
    cargo.envs(tools.variables());
    cargo.env("CREST_FAULTS_MINUTES", minutes.to_string()).env("CREST_FAULTS_SEED", seed.to_string());
    let shown = process::typed(&cargo);
    let mut rounds = 0;
    let finished = process::run(cargo, |line| {
        progress.note(line);
        if line.contains(": seed ") {
            rounds += 1;
            progress.line(&format!("      {line}"));
        }
    })?;
    if finished.status.success() {
        progress.done(&format!("{rounds} rounds"));
        return Ok(ExitCode::SUCCESS);
    }
    progress.failed(&format!("after {rounds} rounds"));
    println!("\n{}\n\nrepeat with: {shown}\n", last_lines(&finished.output, 60));
    Ok(ExitCode::FAILURE)
}
