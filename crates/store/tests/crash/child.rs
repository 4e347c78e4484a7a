//! This test program, started again as a process that can be killed, limited or starved.
//!
//! A child is an ordinary test of this program that does nothing unless its parent has told it what
//! to do through the environment.

use std::{
    env,
    ffi::OsString,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

const TASK: &str = "CREST_STORE_CHILD";

/// A command that runs the test `name` of this program with something to do. `wrapper` is a shell
/// script that ends by running `"$@"`.
pub(crate) fn command(name: &str, task: impl Into<OsString>, wrapper: Option<&str>) -> Command {
    let program = env::current_exe().unwrap();
    let mut command = match wrapper {
        None => Command::new(program),
        Some(script) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "sh"]).arg(program);
            shell
        }
    };
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(TASK, task.into()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Tells the parent something, in a line of its own: whole or not at all.
pub(crate) fn tell(line: &str) {
    // The first line begins behind what the test harness has printed.
    let mut out = std::io::stdout().lock();
    out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

/// What the parent gave; `None` in the ordinary run of all tests.
pub(crate) fn task() -> Option<PathBuf> {
    env::var_os(TASK).map(PathBuf::from)
}
