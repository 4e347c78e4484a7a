//! The newest etcd, which no registry of programs offers: built here from the Go module of its makers.
//!
//! `xtask/etcd/go.sum` pins the sources, and Go checks them. What comes out depends on the compiler of the machine, so
//! its hash cannot be pinned; it is written down beside the program, to notice a change of either.
//!
//! To move to another version: `go get go.etcd.io/etcd/server/v3@vX.Y.Z && go mod tidy` in `xtask/etcd`, and [`VERSION`].

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{hash_bytes, hash_file, last_lines};
use crate::process::{self, TempFolder};
use crate::progress::Progress;

pub(crate) const NAME: &str = "etcd-3.7";
pub(crate) const VERSION: &str = "3.7.3";

const SOURCES: [(&str, &str); 3] = [
    ("go.mod", include_str!("../../etcd/go.mod")),
    ("go.sum", include_str!("../../etcd/go.sum")),
    ("main.go", include_str!("../../etcd/main.go")),
];

/// Builds the program into `bin` unless it is there as it was built.
pub(crate) fn ensure(bin: &Path, progress: &Progress) -> Result<PathBuf> {
    let program = bin.join(NAME);
    let stamp = bin.join(format!("{NAME}.stamp"));
    if let Ok(hash) = hash_file(&program)
        && std::fs::read_to_string(&stamp).is_ok_and(|text| text == stamp_of(&hash))
    {
        return Ok(program);
    }
    if process::probe(Command::new("go").arg("version")).is_none() {
        bail!("Go is needed to build it; install Go 1.26 or newer and run this again");
    }
    progress.line(&format!("      building etcd {VERSION} from its Go module (a few minutes, once)"));
    std::fs::create_dir_all(bin).with_context(|| format!("cannot make {}", bin.display()))?;
    let unpacked = tempfile::Builder::new().prefix(".building-").tempdir_in(bin)?;
    let built = unpacked.path().join(NAME);
    build(&built, progress)?;
    let hash = hash_file(&built)?;
    std::fs::rename(&built, &program)?;
    std::fs::write(&stamp, stamp_of(&hash))?;
    Ok(program)
}

fn build(program: &Path, progress: &Progress) -> Result<()> {
    let sources = TempFolder::new()?;
    for (name, text) in SOURCES {
        std::fs::write(sources.path().join(name), text)?;
    }
    let mut command = Command::new("go");
    command.args(["build", "-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o"]).arg(program).arg(".");
    command.current_dir(sources.path()).env("CGO_ENABLED", "0").env("GOFLAGS", "");
    let shown = process::typed(&command);
    let finished = process::run(command, |line| progress.note(line))?;
    if !finished.status.success() {
        bail!("cannot build it\n  {shown}\n{}", last_lines(&finished.output, 15));
    }
    Ok(())
}

/// What the program was built from, and what came out.
fn stamp_of(program_hash: &str) -> String {
    let sources = SOURCES.map(|(_, text)| text).concat();
    format!("sources {}\nprogram {program_hash}\n", hash_bytes(sources.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_pins_the_version_that_is_named() {
        let (_, go_mod) = SOURCES[0];
        assert!(go_mod.contains(&format!("go.etcd.io/etcd/server/v3 v{VERSION}\n")), "{go_mod}");
        assert!(VERSION.starts_with(NAME.trim_start_matches("etcd-")));
        assert!(!go_mod.contains("replace"), "what is replaced is not checked");
    }

    #[test]
    fn a_program_that_fits_its_stamp_is_not_built_again() {
        let folder = TempFolder::new().unwrap();
        std::fs::write(folder.path().join(NAME), "a program").unwrap();
        let hash = hash_file(&folder.path().join(NAME)).unwrap();
        std::fs::write(folder.path().join(format!("{NAME}.stamp")), stamp_of(&hash)).unwrap();
        let found = ensure(folder.path(), &Progress::start("x")).unwrap();
        assert_eq!(std::fs::read_to_string(found).unwrap(), "a program");
    }
}
