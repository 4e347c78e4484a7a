//! Go, for the clients in `tests/go`: the one that is installed, or else one that is fetched.
//!
//! Modules come through the proxy that Go is set up with, into Go's own caches; `go.sum` holds their hashes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::table::GO;
use super::{check_hash, check_platform, fetch_archive, hash_file, unpack};
use crate::process;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// Since this version Go fetches by itself the version that a module asks for.
const FETCHES_ITSELF: (u32, u32) = (1, 21);

pub(crate) struct Go {
    program: PathBuf,
    pub(crate) version: String,
}

impl Go {
    /// Takes the installed Go if it can build anything, and fetches one otherwise.
    pub(crate) fn ensure(workspace: &Workspace, progress: &Progress) -> Result<Self> {
        if let Some(version) = version(Path::new("go"))
            && number(&version).is_some_and(|number| number >= FETCHES_ITSELF)
        {
            return Ok(Self { program: "go".into(), version });
        }
        let program = fetched(&workspace.tools.join("go"), progress)
            .context("the clients written in Go need Go 1.21 or newer, and it cannot be fetched either")?;
        let version = version(&program).context("the fetched Go does not run")?;
        Ok(Self { program, version })
    }

    /// A command in a folder with a module.
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // Whatever the user's settings: what is pinned is what is used.
        command.current_dir(folder);
        command.env("GOTOOLCHAIN", "auto").env("GOFLAGS", "-mod=readonly").env("GOWORK", "off");
        command
    }
}

fn fetched(folder: &Path, progress: &Progress) -> Result<PathBuf> {
    let program = folder.join("bin/go");
    let expected = GO.programs[0].sha256;
    if hash_file(&program).is_ok_and(|hash| hash == expected) {
        return Ok(program);
    }
    check_platform(std::env::consts::OS, std::env::consts::ARCH)?;
    let (_download, archive) = fetch_archive(&GO, progress)?;
    progress.note("unpacking Go");
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    unpack::extract_below(&archive, "go", folder)?;
    for programs in ["bin", "pkg/tool/linux_amd64"] {
        for entry in std::fs::read_dir(folder.join(programs))? {
            std::fs::set_permissions(entry?.path(), std::fs::Permissions::from_mode(0o755))?;
        }
    }
    check_hash("go", &hash_file(&program)?, expected)?;
    Ok(program)
}

fn version(program: &Path) -> Option<String> {
    // Outside of modules, which may ask for another version than the installed one.
    let said = process::probe(Command::new(program).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local"))?;
    said.strip_prefix("go").map(str::to_string)
}

fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let check = |text| number(text).is_some_and(|number| number >= FETCHES_ITSELF);
        assert!(check("1.21") && check("1.26.8") && check("2.0rc1") && check("1.100.1-X:foo"));
        assert!(!check("1.9") && !check("1.20.14") && !check("devel") && !check(""));
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert_eq!(version(Path::new("/nowhere/go")), None);
    }
}
