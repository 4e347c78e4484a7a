//! Stock command lines — kubectl, helm — run against a test's server.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::crest::Crest;
use crate::steady::steady;

/// A program with the administrator's kubeconfig, in the folder of the test.
pub struct Tool {
    name: &'static str,
    program: PathBuf,
    kubeconfig: PathBuf,
    folder: PathBuf,
}

/// How a command ended and what it printed.
#[derive(Clone, Debug)]
pub struct Ran {
    program: &'static str,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Tool {
    /// `None`, with a word about it, on a machine without kubectl; an error where tests must be complete.
    pub fn kubectl(crest: &Crest) -> Option<Self> {
        Self::of(crest, "kubectl", "CREST_KUBECTL")
    }

    /// As [`Tool::kubectl`], for helm.
    pub fn helm(crest: &Crest) -> Option<Self> {
        Self::of(crest, "helm", "CREST_HELM")
    }

    fn of(crest: &Crest, name: &'static str, variable: &str) -> Option<Self> {
        let program = find(variable)?;
        Some(Tool { name, program, kubeconfig: crest.kubeconfig(), folder: crest.folder().to_owned() })
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
        let mut command = Command::new(&self.program);
        let (code, stdout, stderr) = run(command.args(words), &self.kubeconfig, &self.folder, input);
        Ran { program: self.name, code, stdout, stderr }
    }

    /// The output of a command that must succeed.
    #[track_caller]
    pub fn ok(&self, command: &str) -> String {
        self.run(command).ok()
    }

    /// Writes a file below the folder in which commands run.
    pub fn write(&self, name: &str, content: &str) {
        if let Some(folder) = self.folder.join(name).parent() {
            std::fs::create_dir_all(folder).expect("the test's folder is writable");
        }
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
        format!("$ {} {command}\n{}{}{exit}", self.program, steady(&self.stdout), steady(&self.stderr))
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
pub(crate) fn find(variable: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    assert!(std::env::var("CI").is_err(), "{variable} is not set, and CI skips nothing");
    eprintln!("skipped: {variable} names no program; `cargo xtask test` sets it");
    None
}

fn run(
    command: &mut Command,
    kubeconfig: &Path,
    folder: &Path,
    input: &str,
) -> (Option<i32>, String, String) {
    command.env("KUBECONFIG", kubeconfig).env("HOME", folder).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes()); // a command may end without reading
    }
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the output can be read");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}
