//! The two suites of recorded scenarios: what each needs of the server, and how it is run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::crest::{Flags, Options, Server};
use crate::etcd::Etcd;
use crate::process::{self, TempFolder};
use crate::progress::Progress;
use crate::tools::{Tools, last_lines};

/// What distinguishes one suite from the other.
pub(crate) struct Needs {
    pub(crate) name: &'static str,
    tokens: &'static str,
    low_token: &'static str,
    /// `{certs}` stands for the folder of certificates that the suite brings. Crest gets those that it knows.
    flags: &'static [&'static str],
    /// Beginnings of names of scenarios that need a server which has compacted its first revisions.
    late: &'static [&'static str],
}

pub(crate) const SUITES: [Needs; 2] = [
    Needs {
        name: "crd",
        tokens: "admintok,admin,admin-uid,\"system:masters\"\nlowtok,lowuser,low-uid,\"lowgroup\"\n",
        low_token: "lowtok",
        flags: &["--authorization-mode=RBAC"],
        late: &[],
    },
    Needs {
        name: "machinery",
        tokens: "admintok,admin,u-admin,system:masters\nalicetok,alice,u-alice\nbobtok,bob,u-bob,devs\n",
        low_token: "alicetok",
        flags: &[
            "--authorization-mode=RBAC",
            "--anonymous-auth=true",
            "--client-ca-file={certs}/client-ca.crt",
            "--requestheader-client-ca-file={certs}/proxy-ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            "--proxy-client-cert-file={certs}/front-proxy.crt",
            "--proxy-client-key-file={certs}/front-proxy.key",
            "--service-account-issuer=https://conform.example.com",
            "--service-account-key-file={certs}/sa.key",
            "--service-account-signing-key-file={certs}/sa.key",
            "--enable-aggregator-routing=true",
            "--service-cluster-ip-range=10.0.0.0/24",
            COMPACTION,
        ],
        late: &["api-listwatch/expired"],
    },
];

/// The recorded server compacted this often; two intervals after the start its first revisions are gone.
const COMPACTION: &str = "--etcd-compaction-interval=30s";
const COMPACTED_AFTER: Duration = Duration::from_secs(65);

/// A suite in its folder.
pub(crate) struct Suite {
    pub(crate) needs: &'static Needs,
    folder: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Pass,
    /// Only text for people differs.
    Wording,
    Fail,
}

/// What became of one scenario.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// `folder/slug`.
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    /// The harness's own record of it: steps and differences.
    pub(crate) record: Value,
}

impl Suite {
    /// `conformance` holds one folder per suite.
    pub(crate) fn open(conformance: &Path, name: &str) -> Result<Self> {
        let needs = SUITES.iter().find(|needs| needs.name == name);
        let needs = needs.with_context(|| format!("there is no suite {name}; there are: crd, machinery"))?;
        let folder = conformance.join(name);
        if !folder.join("conform.py").is_file() {
            bail!("{} has no conform.py", folder.display());
        }
        Ok(Self { needs, folder })
    }

    /// All scenarios, as sorted `folder/slug`.
    pub(crate) fn scenarios(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let base = self.folder.join("scenarios");
        for folder in std::fs::read_dir(&base).with_context(|| format!("cannot read {}", base.display()))? {
            let folder = folder?;
            if !folder.file_type()?.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(folder.path())? {
                let file = file?.file_name();
                if let Some(slug) = file.to_str().and_then(|file| file.strip_suffix(".yaml"))
                    && !slug.starts_with('_')
                {
                    names.push(format!("{}/{slug}", folder.file_name().to_string_lossy()));
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// Runs scenarios against a fresh server, so many at a time.
    pub(crate) fn check(&self, ground: &Ground<'_>, names: &[String], jobs: usize) -> Result<Run> {
        check_requirements(self.needs.name)?;
        let flags = Flags::of(ground.crest)?;
        let mut known = flags.known(&self.flags());
        let etcd = match ground.backend {
            Backend::Embedded => None,
            Backend::Etcd => Some(Etcd::start(&ground.tools.etcd())?),
        };
        known.extend(etcd.as_ref().map(Etcd::flag));
        let options = Options { binary: ground.crest, tokens: self.needs.tokens, flags: &known };
        let server = Server::start(&options, ground.tools)?;
        let (late, early): (Vec<_>, Vec<_>) = names.iter().cloned().partition(|name| self.is_late(name));
        let mut run = self.harness(ground, &server, &early, jobs)?;
        if !late.is_empty() {
            if flags.knows(COMPACTION) {
                ground.progress.note("waiting for the first compaction");
                std::thread::sleep(COMPACTED_AFTER.saturating_sub(server.began.elapsed()));
            }
            let more = self.harness(ground, &server, &late, jobs)?;
            run.scenarios.extend(more.scenarios);
            run.log.push_str(&more.log);
        }
        run.scenarios.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(run)
    }

    fn is_late(&self, name: &str) -> bool {
        self.needs.late.iter().any(|prefix| name.starts_with(prefix))
    }

    fn flags(&self) -> Vec<String> {
        let certs = self.folder.join("certs").display().to_string();
        self.needs.flags.iter().map(|flag| flag.replace("{certs}", &certs)).collect()
    }

    fn harness(&self, ground: &Ground<'_>, server: &Server, names: &[String], jobs: usize) -> Result<Run> {
        if names.is_empty() {
            return Ok(Run { scenarios: Vec::new(), log: String::new() });
        }
        let folder = TempFolder::new()?;
        let report = folder.path().join("report.json");
        let mut command = Command::new("python3");
        command.arg(self.folder.join("conform.py")).args(["check", "-v", "--insecure", "--dump"]);
        command.args(["--server", &server.url, "--token", "admintok", "--low-token", self.needs.low_token]);
        command.arg("--kubectl").arg(ground.tools.kubectl()).arg("--json").arg(&report);
        command.args(["-j", &jobs.to_string()]);
        if self.needs.name == "machinery" && !self.folder.join("certs/helper-ca.crt").exists() {
            // The harness makes this authority once; the suite's own folder may not be writable.
            command.arg("--helper-certs").arg(folder.path());
        }
        command.args(names.iter().map(|name| self.folder.join("scenarios").join(format!("{name}.yaml"))));
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1").current_dir(folder.path());
        let mut log = File::options().create(true).append(true).open(ground.log)?;
        let mut done = 0;
        let finished = process::run(command, |line| {
            // The log is there to be watched meanwhile; the run does not depend on it.
            let _ = writeln!(log, "{line}");
            if is_scenario_line(line) {
                done += 1;
                ground.progress.note(&format!(
                    "{done}/{} {}",
                    names.len(),
                    line.rsplit('/').next().unwrap_or_default()
                ));
            }
        })?;
        // The harness also ends with 1 when scenarios fail; the report tells whether it came to its end.
        let Ok(report) = std::fs::read(&report) else {
            bail!(
                "the harness gave up:\n{}\nthe server wrote:\n{}",
                last_lines(&finished.output, 30),
                server.log()
            );
        };
        let scenarios = scenarios_of(&serde_json::from_slice(&report)?, &self.folder.join("scenarios"))?;
        Ok(Run { scenarios, log: finished.output })
    }
}

/// What a suite is run with.
pub(crate) struct Ground<'a> {
    pub(crate) crest: &'a Path,
    pub(crate) tools: &'a Tools,
    pub(crate) progress: &'a Progress,
    /// What the harness writes is appended to this file.
    pub(crate) log: &'a Path,
    pub(crate) backend: Backend,
}

/// Where the server under test keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Embedded,
    /// A fresh etcd for each server.
    Etcd,
}

/// The outcome of scenarios and what the harness wrote.
pub(crate) struct Run {
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) log: String,
}

/// What every replay of recorded answers is run with.
pub(crate) fn check_python() -> Result<()> {
    if process::probe(Command::new("python3").args(["-c", "import yaml"])).is_none() {
        bail!("replays need Python 3 with PyYAML: install python3, then `python3 -m pip install pyyaml`");
    }
    Ok(())
}

fn check_requirements(suite: &str) -> Result<()> {
    check_python()?;
    if suite == "machinery" && process::probe(Command::new("openssl").arg("version")).is_none() {
        bail!("the machinery suite makes certificates with openssl: install openssl");
    }
    Ok(())
}

/// `pass        0.12s /path/name.yaml`
fn is_scenario_line(line: &str) -> bool {
    ["pass ", "PASS ", "WORDING ", "FAIL "].iter().any(|start| line.starts_with(start))
}

/// What the harness wrote about some scenarios the last time that it ran them.
pub(crate) fn differences(log: &str, names: &[String]) -> String {
    let mut blocks = BTreeMap::<&str, Vec<&str>>::new();
    let mut current = None;
    for line in log.lines() {
        if is_scenario_line(line) {
            current = names.iter().find(|name| line.contains(&format!("/{name}.yaml")));
            if let Some(name) = current {
                blocks.insert(name, vec![line]);
            }
        } else if !line.starts_with(' ') {
            current = None;
        } else if let Some(block) = current.and_then(|name| blocks.get_mut(name.as_str())) {
            block.push(line);
        }
    }
    blocks.into_values().flatten().collect::<Vec<_>>().join("\n")
}

fn scenarios_of(report: &Value, base: &Path) -> Result<Vec<Scenario>> {
    let records = report["scenarios"].as_array().context("the report of the harness has no scenarios")?;
    records.iter().map(|record| scenario_of(record, base)).collect()
}

fn scenario_of(record: &Value, base: &Path) -> Result<Scenario> {
    let path = record["path"].as_str().context("a scenario without a path")?;
    let name = Path::new(path).strip_prefix(base).unwrap_or(Path::new(path)).with_extension("");
    let outcome = match record["outcome"].as_str() {
        Some("pass") => Outcome::Pass,
        Some("wording") => Outcome::Wording,
        _ => Outcome::Fail,
    };
    Ok(Scenario { name: name.display().to_string(), outcome, record: record.clone() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scenarios_are_listed_by_folder_and_slug() {
        let folder = TempFolder::new().unwrap();
        let base = folder.path().join("crd");
        std::fs::create_dir_all(base.join("scenarios/watch")).unwrap();
        assert!(Suite::open(folder.path(), "crd").is_err(), "without a harness");
        std::fs::write(base.join("conform.py"), "").unwrap();
        for file in ["b.yaml", "a.yaml", "a.oracle.json", "_part.yaml"] {
            std::fs::write(base.join("scenarios/watch").join(file), "").unwrap();
        }
        let suite = Suite::open(folder.path(), "crd").unwrap();
        assert_eq!(suite.scenarios().unwrap(), ["watch/a", "watch/b"]);
        assert!(Suite::open(folder.path(), "other").is_err());
    }

    #[test]
    fn flags_name_the_certificates_of_the_suite() {
        let suite = Suite { needs: &SUITES[1], folder: "/suite".into() };
        assert!(suite.flags().contains(&"--client-ca-file=/suite/certs/client-ca.crt".to_string()));
        assert!(suite.is_late("api-listwatch/expired-list") && !suite.is_late("api-listwatch/limit"));
    }

    #[test]
    fn outcomes_are_read_from_the_report() {
        let record = |outcome| json!({ "path": "/s/watch/a.yaml", "outcome": outcome });
        let report = json!({ "scenarios": [record("pass"), record("wording"), record("fail")] });
        let scenarios = scenarios_of(&report, Path::new("/s")).unwrap();
        let outcomes = scenarios.iter().map(|scenario| scenario.outcome).collect::<Vec<_>>();
        assert_eq!(outcomes, [Outcome::Pass, Outcome::Wording, Outcome::Fail]);
        assert_eq!(scenarios[0].name, "watch/a");
        assert!(scenarios_of(&json!({}), Path::new("/s")).is_err());
    }

    #[test]
    fn differences_are_those_of_the_last_attempt() {
        let log = "pass        0.1s /s/a/x.yaml\nFAIL        0.1s /s/a/y.yaml \n    step 1\n        old\n\
                   feature   pass\nWORDING     0.1s /s/a/z.yaml \n    step 2\nFAIL        0.1s /s/a/y.yaml \n    step 3\n";
        let shown = differences(log, &["a/y".into()]);
        assert_eq!(shown, "FAIL        0.1s /s/a/y.yaml \n    step 3");
    }

    #[test]
    fn progress_counts_scenarios_and_not_their_steps() {
        assert!(
            is_scenario_line("pass        0.12s /s/a.yaml")
                && is_scenario_line("FAIL        1.00s /s/a.yaml ")
        );
        assert!(!is_scenario_line("    step 3 [fail] GET /x") && !is_scenario_line("feature    pass"));
    }
}
