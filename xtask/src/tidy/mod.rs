//! `cargo xtask tidy`: the house rules that no other tool checks.
//!
//! Each rule reports what it finds as `file:line: sentence`. A finding fails the check; a remark is only shown.

mod edges;
mod licences;
mod links;
mod rust_code;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use pico_args::Arguments;

use crate::progress::Progress;
use crate::workspace::{self, Workspace};

pub(crate) const HELP: &str = "\
Checks our own rules:
  - every Rust file opens with a `//!` line that says what it is
  - no todo!, unimplemented!, dbg!, #[ignore], #[should_panic]; no #[allow] without a reason
  - no path of somebody's machine anywhere
  - crates use only the crates that the table in xtask/src/tidy/edges.rs allows
  - dependencies come from the registry under licences that we accept
  - links in markdown files lead somewhere
Files of more than 1000 lines are reported.

Usage: cargo xtask tidy
";

pub(crate) fn run(workspace: &Workspace, args: Arguments) -> Result<ExitCode> {
    crate::no_words(args)?;
    let progress = Progress::start("tidy");
    let report = check(workspace)?;
    for line in report.remarks.iter().chain(&report.findings) {
        progress.line(&line.to_string());
    }
    if report.findings.is_empty() {
        progress.done(&report.summary());
        return Ok(ExitCode::SUCCESS);
    }
    progress.failed(&report.summary());
    Ok(ExitCode::FAILURE)
}

/// Something to change, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: PathBuf,
    /// Counted from 1; 0 is the file as a whole.
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path.display(), self.text),
            line => write!(f, "{}:{line}: {}", self.path.display(), self.text),
        }
    }
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    pub(crate) remarks: Vec<Finding>,
    files: usize,
}

impl Report {
    pub(crate) fn summary(&self) -> String {
        format!("{} files, {} findings, {} remarks", self.files, self.findings.len(), self.remarks.len())
    }
}

pub(crate) fn check(workspace: &Workspace) -> Result<Report> {
    let mut report = Report::default();
    for path in text_files(&workspace.root)? {
        let relative = path.strip_prefix(&workspace.root).unwrap_or(&path);
        let Ok(content) = std::fs::read_to_string(&path) else { continue };
        report.files += 1;
        report.findings.extend(text::machine_paths(relative, &content));
        match relative.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => {
                report.findings.extend(rust_code::check(relative, &content));
                report.remarks.extend(text::too_long(relative, &content));
            }
            Some("md") => report.findings.extend(links::check(&workspace.root, relative, &content)),
            _ => {}
        }
    }
    report.findings.extend(edges::check(&workspace::metadata(&workspace.root, &["--no-deps"])?)?);
    // Only this platform: the others would make cargo fetch crates that nothing here is built with.
    let all = ["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"];
    report.findings.extend(licences::check(&workspace::metadata(&workspace.root, &all)?)?);
    report.findings.sort();
    Ok(report)
}

/// The files of the checkout that people write, sorted.
fn text_files(root: &Path) -> Result<Vec<PathBuf>> {
    let ignored = ignored(root);
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let entry = entry?;
            let path = entry.path();
            if ignored.contains(&path) {
                continue;
            }
            // A symbolic link is neither: what it leads to is looked at under its own name, or is not ours.
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_written_by_people(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What `.gitignore` excludes at the root, and git's own folder.
fn ignored(root: &Path) -> Vec<PathBuf> {
    let list = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let names = list.lines().filter_map(|line| line.trim().strip_prefix('/'));
    names.chain([".git"]).map(|name| root.join(name.trim_end_matches('/'))).collect()
}

fn is_written_by_people(path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == "Cargo.lock") {
        return false;
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => {
            matches!(extension, "rs" | "md" | "toml" | "yaml" | "yml" | "json" | "sh" | "txt" | "proto")
        }
        // Scripts such as .ci/run.
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::TempFolder;

    #[test]
    fn ignored_folders_lock_files_and_binaries_are_left_out() {
        let folder = TempFolder::new().unwrap();
        let root = folder.path();
        std::fs::write(root.join(".gitignore"), "/target\n/fuzz/corpus/\n").unwrap();
        for path in
            ["target/a.rs", "fuzz/corpus/b.rs", "fuzz/c.rs", ".git/d.rs", "Cargo.lock", "e.png", ".ci/run"]
        {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        let files = text_files(root).unwrap();
        let names = files.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), [".ci/run", ".gitignore", "fuzz/c.rs"]);
    }

    #[test]
    fn a_finding_reads_like_a_compiler_message() {
        let finding = Finding { path: "a.rs".into(), line: 3, text: "bad".into() };
        assert_eq!(finding.to_string(), "a.rs:3: bad");
        assert_eq!(Finding { line: 0, ..finding }.to_string(), "a.rs: bad");
    }
}
