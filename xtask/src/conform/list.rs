//! The committed list of scenarios that pass: what `cargo xtask test` refuses to lose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::suite::{Outcome, Scenario};

pub(crate) struct PassList {
    path: PathBuf,
    pub(crate) names: BTreeSet<String>,
}

impl PassList {
    pub(crate) fn read(root: &Path, suite: &str) -> Result<Self> {
        let path = root.join("conformance").join(format!("{suite}.txt"));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(Self { names: names.map(String::from).collect(), path })
    }

    /// Listed scenarios that ran and did not pass.
    pub(crate) fn lost(&self, scenarios: &[Scenario]) -> Vec<String> {
        let lost = scenarios.iter().filter(|s| s.outcome != Outcome::Pass && self.names.contains(&s.name));
        lost.map(|scenario| scenario.name.clone()).collect()
    }

    /// Scenarios that pass and are not listed.
    pub(crate) fn gained(&self, scenarios: &[Scenario]) -> Vec<String> {
        let gained = scenarios.iter().filter(|s| s.outcome == Outcome::Pass && !self.names.contains(&s.name));
        gained.map(|scenario| scenario.name.clone()).collect()
    }

    /// Makes the list say what the scenarios showed; those that did not run keep their place.
    pub(crate) fn update(&mut self, scenarios: &[Scenario]) -> Result<()> {
        for scenario in scenarios {
            if scenario.outcome == Outcome::Pass {
                self.names.insert(scenario.name.clone());
            } else {
                self.names.remove(&scenario.name);
            }
        }
        let suite = self.path.file_stem().unwrap_or_default().display();
        let mut text = format!(
            "# Scenarios of {suite}/ that pass. Written by `cargo xtask conform {suite} --update`.\n"
        );
        for name in &self.names {
            text.push_str(name);
            text.push('\n');
        }
        std::fs::create_dir_all(self.path.parent().context("the list has a folder")?)?;
        std::fs::write(&self.path, text).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::process::TempFolder;

    fn scenario(name: &str, outcome: Outcome) -> Scenario {
        Scenario { name: name.into(), outcome, record: Value::Null }
    }

    #[test]
    fn the_list_follows_what_ran_and_keeps_the_rest() {
        let folder = TempFolder::new().unwrap();
        let mut list = PassList::read(folder.path(), "crd").unwrap();
        assert!(list.names.is_empty());
        list.update(&[scenario("b/x", Outcome::Pass), scenario("a/x", Outcome::Pass)]).unwrap();

        let mut list = PassList::read(folder.path(), "crd").unwrap();
        let second = [
            scenario("b/x", Outcome::Wording),
            scenario("c/x", Outcome::Pass),
            scenario("d/x", Outcome::Fail),
        ];
        assert_eq!(list.lost(&second), ["b/x"]);
        assert_eq!(list.gained(&second), ["c/x"]);
        list.update(&second).unwrap();
        let text = std::fs::read_to_string(folder.path().join("conformance/crd.txt")).unwrap();
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), ["a/x", "c/x"]);
        assert!(text.starts_with("# Scenarios of crd/"));
    }
}
