//! The stock command line, run against a test's server.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::crest::Crest;
use crate::steady::steady;

/// kubectl with the administrator's kubeconfig, in the folder of the test.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    folder: PathBuf,
}

/// How a command ended and what it printed.
#[derive(Clone, Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Kubectl {
    /// `None`, with a word about it, on a machine without kubectl; an error where tests must be complete.
    pub fn of(crest: &Crest) -> Option<Self> {
        let program = tool("CREST_KUBECTL")?;
        Some(Kubectl { program, kubeconfig: crest.kubeconfig(), folder: crest.folder().to_owned() })
    }

    /// Runs a command, whose words are separated by blanks.
    pub fn run(&self, command: &str) -> Ran {
        self.run_words(command.split_whitespace(), "")
    }

    /// Runs a command with this text on standard input.
    pub fn run_with(&self, command: &str, input: &str) -> Ran {
        self.run_words(command.split_whitespace(), input)
    }

    /// Runs a command one of whose words has blanks.
    pub fn run_words(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>, input: &str) -> Ran {
        run(Command::new(&self.program).args(words), &self.kubeconfig, &self.folder, input)
    }

    /// The output of a command that must succeed.
    #[track_caller]
    pub fn ok(&self, command: &str) -> String {
        self.run(command).ok()
    }

    /// Writes a file into the folder in which commands run.
    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.join(name), content).expect("the test's folder is writable");
    }
}

impl Ran {
    /// The command and everything it printed, without what differs from run to run.
    pub fn transcript(&self, command: &str) -> String {
        let exit = match self.code {
            Some(0) => String::new(),
            code => format!("[exit {}]\n", code.unwrap_or(-1)),
        };
        format!("$ kubectl {command}\n{}{}{exit}", steady(&self.stdout), steady(&self.stderr))
    }

    /// The standard output of a command that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// The standard error of a command that must have failed.
    #[track_caller]
    pub fn failure(self) -> String {
        assert_ne!(self.code, Some(0), "this should have failed:\n{}", self.stdout);
        self.stderr
    }
}

/// The program that an environment variable names.
#[expect(clippy::disallowed_methods, reason = "tests have no flags")]
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn tool(variable: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    assert!(std::env::var("CI").is_err(), "{variable} is not set, and CI skips nothing");
    eprintln!("skipped: {variable} names no program; `cargo xtask test` sets it");
    None
}

fn run(command: &mut Command, kubeconfig: &Path, folder: &Path, input: &str) -> Ran {
    command.env("KUBECONFIG", kubeconfig).env("HOME", folder).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes()); // a command may end without reading
    }
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the output can be read");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}
