//! The direction of dependencies: which of our crates may use which, and what the pure ones must not know.
//!
//! A new edge is a change of design: it gets its own commit with its reason, and a line in docs/ARCHITECTURE.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Finding;

/// Each crate with those of ours that it may use, lowest first.
const ALLOWED: [(&str, &[&str]); 11] = [
    ("cel", &[]),
    ("meta", &[]),
    ("schema", &["meta", "cel"]),
    ("store", &[]),
    ("registry", &["meta", "store"]),
    ("auth", &["meta"]),
    ("admission", &["meta", "schema", "cel"]),
    ("server", &["cel", "meta", "schema", "store", "registry", "auth", "admission"]),
    // It opens the store and reads the credentials that the server is then given.
    ("crest", &["server", "auth", "store"]),
    ("xtask", &[]),
    ("clients", &[]),
];

/// Used by tests of every crate, and by nothing else.
const TESTKIT: &str = "testkit";

/// Crates that compute only, with the libraries that would tell otherwise.
const PURE: [(&str, &[&str]); 3] = [
    ("cel", &["serde", "serde_json", "tokio", "futures-util", "hyper", "k8s-openapi", "tracing"]),
    ("meta", &["tokio", "futures-util", "hyper", "tracing"]),
    ("schema", &["tokio", "futures-util", "hyper", "tracing"]),
];

/// `metadata` is that of the workspace without its dependencies.
pub(crate) fn check(metadata: &Value) -> Result<Vec<Finding>> {
    let root = Path::new(metadata["workspace_root"].as_str().context("no workspace root")?);
    let packages = metadata["packages"].as_array().context("no packages")?;
    let ours = packages.iter().filter_map(|package| package["name"].as_str()).collect::<BTreeSet<_>>();
    let mut findings = Vec::new();
    for package in packages {
        let name = short(package["name"].as_str().context("a package without a name")?);
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
        let manifest = manifest.strip_prefix(root).unwrap_or(&manifest).to_path_buf();
        let mut add = |text| findings.push(Finding { path: manifest.clone(), line: 0, text });
        if name != TESTKIT && allowed(name).is_none() {
            add(format!("`{name}` is not in the table of xtask/src/tidy/edges.rs"));
            continue;
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let kind = dependency["kind"].as_str();
            if ours.contains(used) {
                if !edge_is_allowed(name, short(used), kind) {
                    add(format!("`{name}` may not use `{}`{}", short(used), kind_text(kind)));
                }
            } else if kind != Some("dev") && is_impure(name, used) {
                add(format!("`{name}` only computes and may not use {used}"));
            }
        }
    }
    Ok(findings)
}

/// Our packages carry the product's name so that they cannot be confused with others' crates.
fn short(package: &str) -> &str {
    package.strip_prefix("crest-").unwrap_or(package)
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    ALLOWED.iter().find(|(crate_name, _)| *crate_name == name).map(|(_, uses)| *uses)
}

fn edge_is_allowed(from: &str, to: &str, kind: Option<&str>) -> bool {
    if from == TESTKIT {
        return true;
    }
    match kind {
        // Tests may look through to what the crate is built on, and turn on features of the crate itself.
        Some("dev") => to == TESTKIT || to == from || reachable(from).contains(to),
        _ => allowed(from).is_some_and(|uses| uses.contains(&to)),
    }
}

fn reachable(from: &str) -> BTreeSet<&'static str> {
    let direct = allowed(from).unwrap_or_default();
    direct.iter().flat_map(|&to| reachable(to).into_iter().chain([to])).collect()
}

fn is_impure(name: &str, used: &str) -> bool {
    PURE.iter().any(|(crate_name, banned)| *crate_name == name && banned.contains(&used))
}

fn kind_text(kind: Option<&str>) -> String {
    kind.map(|kind| format!(" ({kind} dependency)")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `edges`: package, dependency, kind.
    fn check_edges(edges: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let ours = [
            "crest-cel",
            "crest-meta",
            "crest-schema",
            "crest-store",
            "crest-server",
            "crest",
            "crest-testkit",
        ];
        let packages = ours.map(|name| {
            let dependencies = edges.iter().filter(|edge| edge.0 == name);
            let dependencies = dependencies.map(|edge| json!({ "name": edge.1, "kind": edge.2 })).collect::<Vec<_>>();
            json!({ "name": name, "manifest_path": format!("/w/{name}/Cargo.toml"), "dependencies": dependencies })
        });
        let metadata = json!({ "workspace_root": "/w", "packages": packages });
        check(&metadata).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn edges_of_the_table_pass() {
        let edges = [
            ("crest-schema", "crest-meta", None),
            ("crest-server", "crest-store", None),
            ("crest", "crest-server", None),
            ("crest", "crest-meta", Some("dev")),
            ("crest-meta", "crest-testkit", Some("dev")),
            ("crest-testkit", "crest-server", None),
            ("crest-meta", "serde_json", Some("dev")),
            ("crest-store", "crest-store", Some("dev")),
        ];
        assert_eq!(check_edges(&edges), [""; 0]);
    }

    #[test]
    fn other_edges_are_refused() {
        let check = |from, to, kind| check_edges(&[(from, to, kind)]);
        assert_eq!(
            check("crest-meta", "crest-store", None),
            ["crest-meta/Cargo.toml: `meta` may not use `store`"]
        );
        assert_eq!(check("crest", "crest-meta", None).len(), 1);
        assert_eq!(check("crest-meta", "crest-testkit", None).len(), 1);
        assert_eq!(check("crest-store", "crest-meta", Some("dev")).len(), 1);
        assert_eq!(check("crest-cel", "serde_json", None).len(), 1);
        assert_eq!(check("crest-schema", "tokio", Some("build")).len(), 1);
    }

    #[test]
    fn a_crate_outside_the_table_is_refused() {
        let package =
            json!({ "name": "crest-util", "manifest_path": "/w/util/Cargo.toml", "dependencies": [] });
        let metadata = json!({ "workspace_root": "/w", "packages": [package] });
        assert!(check(&metadata).unwrap()[0].text.contains("not in the table"));
    }
}
