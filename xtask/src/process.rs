//! Child processes and temporary folders that never outlive the task.
//!
//! Each child leads a process group of its own, so that what *it* started can be ended with it: a test that leaks a
//! server, a harness with kubectl below it. Groups and folders are ended and removed when their owner goes out of
//! scope, and by the signal handler on Ctrl-C, SIGTERM and SIGHUP. Only SIGKILL of the task itself leaves them.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long a child may take to end by itself once asked.
const GRACE: Duration = Duration::from_secs(10);

static LEFT_TO_CLEAN: Mutex<Cleanup> =
    Mutex::new(Cleanup { groups: BTreeSet::new(), folders: BTreeSet::new() });

struct Cleanup {
    groups: BTreeSet<i32>,
    folders: BTreeSet<PathBuf>,
}

fn left_to_clean() -> MutexGuard<'static, Cleanup> {
    LEFT_TO_CLEAN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on a signal ends all children and removes all temporary folders before it ends the task.
pub(crate) fn clean_up_on_signals() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // The lock is kept: nobody may start another child from here on.
            let cleanup = left_to_clean();
            for &group in &cleanup.groups {
                end_group(group, Duration::from_secs(3));
            }
            for folder in &cleanup.folders {
                let _ = std::fs::remove_dir_all(folder);
            }
            std::process::exit(128 + signal);
        }
    });
}

/// A running child, ended with all its descendants when this goes out of scope.
pub(crate) struct Group {
    child: Child,
    pgid: i32,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        command.process_group(0).stdin(Stdio::null());
        let mut cleanup = left_to_clean();
        let child = command.spawn().with_context(|| format!("cannot run {}", program(command)))?;
        let pgid = i32::try_from(child.id()).expect("process ids are positive 32-bit integers");
        cleanup.groups.insert(pgid);
        Ok(Self { child, pgid })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit status, if the child has already ended.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for the child; descendants that it left behind are ended.
    fn wait(mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        signal_group(self.pgid, Signal::TERM);
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal_group(self.pgid, Signal::KILL);
        let _ = self.child.wait();
        left_to_clean().groups.remove(&self.pgid);
    }
}

fn signal_group(pgid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pgid) {
        // An error means that the group is already gone.
        let _ = kill_process_group(pid, signal);
    }
}

/// Asks a group to end, waits, then insists. For the signal handler, which does not own the child.
fn end_group(pgid: i32, grace: Duration) {
    let Some(pid) = Pid::from_raw(pgid) else { return };
    signal_group(pgid, Signal::TERM);
    let began = Instant::now();
    while test_kill_process_group(pid).is_ok() && began.elapsed() < grace {
        std::thread::sleep(Duration::from_millis(10));
    }
    signal_group(pgid, Signal::KILL);
}

/// A command that has ended: its status, and what it wrote to both outputs in the order of writing.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
}

/// Runs a command to its end and hands each line of output to `on_line` as it comes.
pub(crate) fn run(mut command: Command, mut on_line: impl FnMut(&str)) -> Result<Finished> {
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let group = Group::spawn(&mut command)?;
    // Our copies of the writing end; without this the pipe would never end.
    drop(command);
    let waiter = std::thread::spawn(move || group.wait());
    let mut output = String::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        on_line(&line);
        output.push_str(&line);
        output.push('\n');
    }
    let status = waiter.join().expect("waiting for a child does not panic")?;
    Ok(Finished { status, output })
}

/// The standard output of a short command, or `None` when it is missing or fails.
pub(crate) fn probe(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// The command as one would type it, with the variables and the program it sets.
pub(crate) fn typed(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.display(), quoted(&value?.to_string_lossy())))
    });
    let words = command.get_args().map(|word| quoted(&word.to_string_lossy()));
    variables.chain([program(command)]).chain(words).collect::<Vec<_>>().join(" ")
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A folder that is removed when this goes out of scope.
pub(crate) struct TempFolder(PathBuf);

impl TempFolder {
    pub(crate) fn new() -> Result<Self> {
        let mut cleanup = left_to_clean();
        let folder = tempfile::Builder::new()
            .prefix("crest-xtask-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        let path = folder.keep();
        cleanup.folders.insert(path.clone());
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        left_to_clean().folders.remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn is_alive(pid: &str) -> bool {
        // A zombie still has its entry until someone waits for it; it is dead all the same.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    /// A process that was killed needs a moment to be gone.
    fn dies(pid: &str) -> bool {
        let began = Instant::now();
        while is_alive(pid) && began.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(5));
        }
        !is_alive(pid)
    }

    #[test]
    fn both_outputs_arrive_in_order_with_the_status() {
        let mut lines = Vec::new();
        let finished =
            run(shell("echo a; echo b >&2; echo c; exit 3"), |line| lines.push(line.to_string())).unwrap();
        assert_eq!(lines, ["a", "b", "c"]);
        assert_eq!(finished.output, "a\nb\nc\n");
        assert_eq!(finished.status.code(), Some(3));
    }

    #[test]
    fn a_grandchild_left_behind_does_not_keep_us_waiting() {
        let began = Instant::now();
        let finished = run(shell("sleep 60 & echo $!"), |_| {}).unwrap();
        assert!(began.elapsed() < Duration::from_secs(30));
        assert!(dies(finished.output.trim()));
    }

    #[test]
    fn a_group_ends_with_its_owner() {
        let folder = TempFolder::new().unwrap();
        let ready = folder.path().join("ready");
        let script = format!("sleep 60 & echo $! >{0}.part; mv {0}.part {0}; wait", ready.display());
        let group = Group::spawn(&mut shell(&script)).unwrap();
        while !ready.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let grandchild = std::fs::read_to_string(&ready).unwrap();
        let child = group.id().to_string();
        assert!(is_alive(&child));
        drop(group);
        assert!(!is_alive(&child) && dies(grandchild.trim()));
    }

    #[test]
    fn a_temporary_folder_goes_with_its_owner() {
        let folder = TempFolder::new().unwrap();
        let path = folder.path().to_path_buf();
        std::fs::write(path.join("file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(Command::new("no-such-program-of-crest"), |_| {}).err().unwrap();
        assert!(format!("{error:#}").contains("cannot run no-such-program-of-crest"));
        assert_eq!(probe(&mut Command::new("no-such-program-of-crest")), None);
    }

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("cargo");
        command.args(["test", "-p", "crest", "it's"]).env("A", "b c");
        assert_eq!(typed(&command), r"A='b c' cargo test -p crest 'it'\''s'");
    }
}
