//! Where things are: the checkout, its target folder, fetched programs, the shared material.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

pub(crate) struct Workspace {
    /// The checkout.
    pub(crate) root: PathBuf,
    /// Where cargo builds to; honours `CARGO_TARGET_DIR` and cargo's configuration.
    pub(crate) target: PathBuf,
    /// Fetched programs and results; ignored by git.
    pub(crate) tools: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().context("xtask has no parent folder")?.to_path_buf();
        if !root.join("Cargo.lock").is_file() {
            bail!("the checkout has moved: {} has no Cargo.lock; run `cargo xtask` again", root.display());
        }
        let metadata = metadata(&root, &["--no-deps"])?;
        let target =
            metadata["target_directory"].as_str().context("cargo metadata names no target folder")?;
        Ok(Self { target: target.into(), tools: root.join(".tools"), root })
    }

    /// A cargo command that behaves as if it had been typed at the root of the checkout.
    pub(crate) fn cargo(&self) -> Command {
        cargo_in(&self.root)
    }

    /// `name` below the shared material, when that is there.
    pub(crate) fn shared(&self, name: &str) -> Option<PathBuf> {
        let base = match std::env::var_os("CREST_SHARED") {
            // Commands are run in other folders.
            Some(path) => std::path::absolute(path).ok()?,
            None => self.root.parent()?.join("shared"),
        };
        let path = base.join(name);
        path.is_dir().then_some(path)
    }

    /// Paths are shown relative to the checkout where they are inside it.
    pub(crate) fn show<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// Cargo's view of the workspace.
pub(crate) fn metadata(root: &Path, options: &[&str]) -> Result<Value> {
    let output = cargo_in(root)
        .args(["metadata", "--format-version", "1"])
        .args(options)
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON")
}

/// `cargo run` tells its program about the package; a build script that watches these variables would run again
/// each time the developer changes between `cargo xtask test` and `cargo test`.
fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_checkout_is_found() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.root.join("xtask/Cargo.toml").is_file());
        assert!(workspace.target.is_absolute());
        assert_eq!(workspace.show(&workspace.root.join("xtask/src")).to_string(), "xtask/src");
    }
}
