//! Runs the shared vector files, when the environment variable `CREST_SHARED` says where they are.
//!
//! Without it the test says so and passes: the crate's own cases stand alone.

#[path = "vectors/spec.rs"]
mod spec;

use std::path::PathBuf;

/// The directory with the vector files.
#[expect(clippy::disallowed_methods, reason = "tests are configured by the environment")]
fn directory() -> Option<PathBuf> {
    let found = std::env::var("CREST_SHARED").ok().map(|root| PathBuf::from(root).join("cel"));
    if found.is_none() {
        println!("skipped: CREST_SHARED does not name a directory with vectors");
    }
    found
}

fn read(name: &str) -> Option<serde_json::Value> {
    let path = directory()?.join(name);
    let text = std::fs::read_to_string(&path).expect("the vector file can be read");
    Some(serde_json::from_str(&text).expect("the vector file is JSON"))
}

/// Counts outcomes and shows the first failures.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    pub(crate) fn record(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => self.failures.push(format!("{name}: {why}")),
        }
    }

    pub(crate) fn finish(self, what: &str, allowed: usize) {
        let total = self.passed + self.failures.len();
        println!("{what}: {} of {total} pass", self.passed);
        for failure in self.failures.iter().take(400) {
            println!("  {failure}");
        }
        assert!(self.failures.len() <= allowed, "{} cases of {what} fail", self.failures.len());
    }
}

#[test]
fn language_vectors() {
    let Some(file) = read("cel-spec-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in file["tests"].as_array().expect("tests is a list") {
        if case["k8s"]["applies"] != serde_json::Value::Bool(false) {
            let name = format!("{}/{}/{}", case["file"], case["section"], case["name"]);
            tally.record(&name, spec::run(case));
        }
    }
    tally.finish("language vectors", 0);
}
