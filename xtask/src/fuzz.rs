//! `cargo xtask fuzz`: runs the targets of `fuzz/` with cargo-fuzz on the nightly compiler.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;

use crate::process;
use crate::progress::Progress;
use crate::tools::last_lines;
use crate::workspace::Workspace;

pub(crate) const HELP: &str = "\
Runs the fuzz targets, one after the other.

Usage: cargo xtask fuzz [target…] [--seconds N]

  --seconds N   time for each target (default 60)

Needs cargo-fuzz and a nightly compiler; says how to get what is missing.
A crashing input is kept in fuzz/artifacts/<target>/.
";

pub(crate) fn run(workspace: &Workspace, mut args: Arguments) -> Result<ExitCode> {
    let seconds: u32 = args.opt_value_from_str("--seconds")?.unwrap_or(60);
    let wanted = crate::words(args)?;
    if !workspace.root.join("fuzz/Cargo.toml").is_file() {
        bail!("there is no fuzz/ folder in this checkout");
    }
    check_installed()?;
    let listed = process::probe(fuzz(workspace).arg("list")).context("`cargo fuzz list` fails")?;
    let listed = listed.lines().map(str::trim).collect::<Vec<_>>();
    let mut outcome = ExitCode::SUCCESS;
    for target in chosen(&listed, &wanted)? {
        if !run_target(workspace, target, seconds)? {
            outcome = ExitCode::FAILURE;
        }
    }
    Ok(outcome)
}

fn check_installed() -> Result<()> {
    let toolchains = process::probe(Command::new("rustup").args(["toolchain", "list"])).unwrap_or_default();
    if !toolchains.lines().any(|line| line.starts_with("nightly")) {
        bail!("fuzzing needs a nightly compiler: rustup toolchain install nightly");
    }
    if process::probe(Command::new("cargo").args(["fuzz", "--version"])).is_none() {
        bail!("fuzzing needs cargo-fuzz: cargo install cargo-fuzz");
    }
    Ok(())
}

/// `rustup run` rather than `cargo +nightly`: inside `cargo xtask` the name cargo may be the pinned one itself.
fn fuzz(workspace: &Workspace) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "fuzz"]).current_dir(&workspace.root);
    command
}

fn chosen<'a>(listed: &[&'a str], wanted: &[String]) -> Result<Vec<&'a str>> {
    if wanted.is_empty() {
        return Ok(listed.to_vec());
    }
    wanted
        .iter()
        .map(|name| {
            let found = listed.iter().find(|target| *target == name);
            found
                .copied()
                .with_context(|| format!("there is no target {name}; there are: {}", listed.join(", ")))
        })
        .collect()
}

fn run_target(workspace: &Workspace, target: &str, seconds: u32) -> Result<bool> {
    let progress = Progress::start(format!("fuzz {target}"));
    let mut command = fuzz(workspace);
    command.args(["run", target, "--", &format!("-max_total_time={seconds}")]);
    let shown = process::typed(&command);
    let finished = process::run(command, |line| progress.note(line))?;
    let summary = last_lines(&finished.output, 1);
    if finished.status.success() {
        progress.done(&summary);
        return Ok(true);
    }
    progress.failed("");
    println!("{}\nrepeat with: {shown}", last_lines(&finished.output, 60));
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_targets_run_unless_some_are_named() {
        let listed = ["path", "body"];
        assert_eq!(chosen(&listed, &[]).unwrap(), listed);
        assert_eq!(chosen(&listed, &["body".into()]).unwrap(), ["body"]);
        let error = chosen(&listed, &["bdy".into()]).unwrap_err().to_string();
        assert_eq!(error, "there is no target bdy; there are: path, body");
    }
}
