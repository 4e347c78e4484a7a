//! What our dependencies may be: from the registry, under a licence that goes with Apache-2.0.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Finding;

const ACCEPTED: [&str; 15] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// `metadata` is that of the workspace with all dependencies.
pub(crate) fn check(metadata: &Value) -> Result<Vec<Finding>> {
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut findings = Vec::new();
    for package in packages {
        // Ours have no source.
        let Some(source) = package["source"].as_str() else { continue };
        let what = format!("{} {}", text(package, "name"), text(package, "version"));
        let mut add = |text| findings.push(Finding { path: Path::new("Cargo.lock").into(), line: 0, text });
        if !source.starts_with("registry+") && !source.starts_with("sparse+") {
            add(format!("{what} comes from {source}; only published crates are used"));
        }
        let licence = text(package, "license");
        if !is_accepted(licence) {
            add(format!("{what} has the licence \"{licence}\", which is not in xtask/src/tidy/licences.rs"));
        }
    }
    Ok(findings)
}

fn text<'a>(package: &'a Value, field: &str) -> &'a str {
    package[field].as_str().unwrap_or_default()
}

/// Whether an SPDX expression can be satisfied with accepted licences alone.
fn is_accepted(expression: &str) -> bool {
    // The slash is how old manifests write OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().collect::<Vec<_>>().into_iter().peekable();
    let accepted = any(&mut words);
    accepted && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::vec::IntoIter<&'a str>>;

fn any(words: &mut Words<'_>) -> bool {
    let mut accepted = all(words);
    while words.next_if_eq(&"OR").is_some() {
        // Not `||`: the words must be read in any case.
        accepted |= all(words);
    }
    accepted
}

fn all(words: &mut Words<'_>) -> bool {
    let mut accepted = one(words);
    while words.next_if_eq(&"AND").is_some() {
        accepted &= one(words);
    }
    accepted
}

fn one(words: &mut Words<'_>) -> bool {
    match words.next() {
        Some("(") => {
            let accepted = any(words);
            accepted & words.next_if_eq(&")").is_some()
        }
        Some(name) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            ACCEPTED.contains(&format!("{name} WITH {exception}").as_str())
        }
        // A plus means "or any later version".
        Some(name) => ACCEPTED.contains(&name.trim_end_matches('+')),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_expression_needs_one_acceptable_choice() {
        for accepted in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "MPL-2.0+",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "ISC AND (Apache-2.0 OR ISC) AND OpenSSL",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(is_accepted(accepted), "{accepted}");
        }
        for refused in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT)", "MIT WITH Surprise", "OR MIT"] {
            assert!(!is_accepted(refused), "{refused}");
        }
    }

    #[test]
    fn dependencies_from_elsewhere_are_found() {
        let package =
            |source: Value| json!({ "name": "a", "version": "1.0.0", "source": source, "license": "MIT" });
        let count = |source| check(&json!({ "packages": [package(source)] })).unwrap().len();
        assert_eq!(count(Value::Null), 0);
        assert_eq!(count(json!("registry+https://example.com/index")), 0);
        assert_eq!(count(json!("git+https://example.com/a")), 1);
    }
}
