//! Rules for any text: no paths of somebody's machine, no endless files.

use std::path::Path;

use super::Finding;

/// Above this a file is hard to find one's way in.
const LONG_FILE_LINES: usize = 1000;

/// Beginnings of paths that exist on one machine only. Split, so that this file does not find itself.
const MACHINE_PREFIXES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

pub(crate) fn machine_paths(path: &Path, content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in content.lines().enumerate() {
        for prefix in MACHINE_PREFIXES {
            if line.match_indices(prefix).any(|(at, _)| begins_a_path(line, at)) {
                let text = format!("`{prefix}…` is a path of one machine; use a relative path or an option");
                findings.push(Finding { path: path.into(), line: index + 1, text });
            }
        }
    }
    findings
}

/// A slash in the middle of a longer path or address is not the root of a file system.
fn begins_a_path(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "/._-}~*".contains(c))
}

pub(crate) fn too_long(path: &Path, content: &str) -> Option<Finding> {
    let lines = content.lines().count();
    let text = format!("{lines} lines; look for the second concept in it");
    (lines > LONG_FILE_LINES).then(|| Finding { path: path.into(), line: 0, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str) -> usize {
        machine_paths(Path::new("x"), content).len()
    }

    #[test]
    fn machine_paths_are_found_where_a_path_begins() {
        let home = MACHINE_PREFIXES[0];
        assert_eq!(check(&format!("see {home}me/notes\nand \"{home}you\"")), 2);
        assert_eq!(check(&format!("{home}me")), 1);
        assert_eq!(check(&format!("https://example.com{home}page and a{home}b and ..{home}c")), 0);
        assert_eq!(check("/var/lib/crest and /etc"), 0);
    }

    #[test]
    fn only_files_above_the_limit_are_remarked() {
        assert!(too_long(Path::new("x"), &"\n".repeat(LONG_FILE_LINES)).is_none());
        let remark = too_long(Path::new("x"), &"\n".repeat(LONG_FILE_LINES + 1)).unwrap();
        assert!(remark.text.starts_with("1001 lines"));
    }
}
