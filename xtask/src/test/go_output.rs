//! Reads what `go test -json` writes: which package ran, how many of its tests passed, what failed.

use std::collections::BTreeMap;

use serde_json::Value;

/// The state of reading; fed line by line.
#[derive(Default)]
pub(crate) struct GoOutput {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// What tests and packages have said so far, by package and test.
    said: BTreeMap<(String, String), String>,
    /// What those that failed have said, and lines that are no JSON: complaints about the build.
    complaints: String,
    counted: BTreeMap<String, (usize, usize)>,
}

impl GoOutput {
    /// Takes a line; gives the summary of a package when the line ends one that had tests.
    pub(crate) fn line(&mut self, line: &str) -> Option<String> {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            self.complain(line);
            return None;
        };
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_string();
        let (package, test, action) = (text("Package"), text("Test"), text("Action"));
        match (action.as_str(), test.is_empty()) {
            ("output", _) => self.said.entry((package, test)).or_default().push_str(&text("Output")),
            ("build-output", _) => self.complain(text("Output").trim_end()),
            ("pass" | "skip", true) => return self.package_ended(&package, &event),
            ("pass", false) => self.test_ended(&package, &test, true),
            ("fail", false) => self.test_ended(&package, &test, false),
            ("fail", true) => {
                let said = self.said.remove(&(package.clone(), String::new())).unwrap_or_default();
                self.complain(said.trim_end());
                return self.package_ended(&package, &event);
            }
            _ => {}
        }
        None
    }

    /// What failed, with what it said.
    pub(crate) fn what_failed(&self) -> &str {
        &self.complaints
    }

    fn complain(&mut self, text: &str) {
        if !text.is_empty() {
            self.complaints.push_str(text);
            self.complaints.push('\n');
        }
    }

    /// Parts of a test are not counted, but what they say is part of what it says.
    fn test_ended(&mut self, package: &str, test: &str, passed: bool) {
        let said = self.said.remove(&(package.to_string(), test.to_string())).unwrap_or_default();
        if !passed {
            self.complain(said.trim_end());
        }
        if test.contains('/') {
            return;
        }
        let counted = self.counted.entry(package.to_string()).or_default();
        if passed {
            self.passed += 1;
            counted.0 += 1;
        } else {
            self.failed += 1;
            counted.1 += 1;
        }
    }

    fn package_ended(&mut self, package: &str, event: &Value) -> Option<String> {
        let (passed, failed) = self.counted.remove(package)?;
        let name = package.rsplit('/').next().unwrap_or(package);
        let failures = if failed == 0 { String::new() } else { format!(", {failed} failed") };
        let took = event["Elapsed"].as_f64().unwrap_or_default();
        Some(format!("go {name}: {passed} passed{failures}, {took:.2} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str]) -> (GoOutput, Vec<String>) {
        let mut output = GoOutput::default();
        let summaries = lines.iter().filter_map(|line| output.line(line)).collect();
        (output, summaries)
    }

    #[test]
    fn tests_are_counted_and_their_parts_are_not() {
        let (output, summaries) = check(&[
            r#"{"Action":"run","Package":"x.test/a/b","Test":"TestOne"}"#,
            r#"{"Action":"pass","Package":"x.test/a/b","Test":"TestOne/part","Elapsed":1}"#,
            r#"{"Action":"pass","Package":"x.test/a/b","Test":"TestOne","Elapsed":1}"#,
            r#"{"Action":"output","Package":"x.test/a/b","Output":"ok\n"}"#,
            r#"{"Action":"pass","Package":"x.test/a/b","Elapsed":1.5}"#,
            r#"{"Action":"skip","Package":"x.test/none","Elapsed":0}"#,
        ]);
        assert_eq!((output.passed, output.failed, output.what_failed()), (1, 0, ""));
        assert_eq!(summaries, ["go b: 1 passed, 1.50 s"]);
    }

    #[test]
    fn only_those_that_failed_are_quoted() {
        let (output, summaries) = check(&[
            r#"{"Action":"output","Package":"p","Test":"TestGood","Output":"fine\n"}"#,
            r#"{"Action":"output","Package":"p","Test":"TestBad","Output":"bad\n"}"#,
            r#"{"Action":"pass","Package":"p","Test":"TestGood"}"#,
            r#"{"Action":"fail","Package":"p","Test":"TestBad"}"#,
            r#"{"Action":"fail","Package":"p","Elapsed":2}"#,
        ]);
        assert_eq!((output.passed, output.failed, output.what_failed()), (1, 1, "bad\n"));
        assert_eq!(summaries, ["go p: 1 passed, 1 failed, 2.00 s"]);
    }

    #[test]
    fn a_build_that_fails_is_quoted() {
        let (output, summaries) = check(&[
            "go: downloading something",
            r##"{"ImportPath":"p","Action":"build-output","Output":"# p\n"}"##,
            r#"{"ImportPath":"p","Action":"build-output","Output":"p.go:1: undefined: x\n"}"#,
            r#"{"Action":"fail","Package":"p","Elapsed":0}"#,
        ]);
        assert_eq!(output.what_failed(), "go: downloading something\n# p\np.go:1: undefined: x\n");
        assert!(summaries.is_empty() && output.passed == 0);
    }
}
