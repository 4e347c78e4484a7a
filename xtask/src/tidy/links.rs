//! Links in markdown files: the file they name must be there, and so must the heading.

use std::path::Path;

use super::Finding;

/// `path` is relative to `root`.
pub(crate) fn check(root: &Path, path: &Path, content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in links(content) {
        if let Some(text) = problem(root, path, content, target) {
            findings.push(Finding { path: path.into(), line, text });
        }
    }
    findings
}

fn problem(root: &Path, path: &Path, content: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) =
        target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let other;
    let content = if file.is_empty() {
        content
    } else {
        let file = root.join(path).parent()?.join(file);
        if !file.exists() {
            return Some(format!("the link leads nowhere: {target}"));
        }
        other = std::fs::read_to_string(file).unwrap_or_default();
        &other
    };
    let heading = heading?;
    let found = headings(content).any(|title| anchor(title) == heading);
    (!found).then(|| format!("no heading for the link {target}"))
}

/// Inline links and reference definitions with their line, outside code.
fn links(content: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (line, text) in prose(content) {
        // Every second piece lies between backquotes.
        for piece in text.split('`').step_by(2) {
            for (at, _) in piece.match_indices("](") {
                if let Some(end) = piece[at..].find(')') {
                    links.push((line, piece[at + 2..at + end].split_whitespace().next().unwrap_or_default()));
                }
            }
        }
        if let Some((_, target)) = text.strip_prefix('[').and_then(|text| text.split_once("]: ")) {
            links.push((line, target.split_whitespace().next().unwrap_or_default()));
        }
    }
    links
}

/// The lines outside fenced code, counted from 1.
fn prose(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    content.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

fn headings(content: &str) -> impl Iterator<Item = &str> {
    prose(content)
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| line.trim_start_matches('#').trim())
}

/// The name that renderers give to a heading.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::TempFolder;

    fn check_text(content: &str) -> Vec<String> {
        let folder = TempFolder::new().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        std::fs::write(folder.path().join("docs/OTHER.md"), "# The `crest` road, part 2\n").unwrap();
        let findings = check(folder.path(), Path::new("docs/A.md"), content);
        findings.iter().map(|finding| format!("{}: {}", finding.line, finding.text)).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let content = "# Here\n[a](OTHER.md) [b](OTHER.md#the-crest-road-part-2) [c](#here) [d](https://example.com/x)\n\
                       [e](../docs \"title\")\n\n[ref]: OTHER.md\n";
        assert_eq!(check_text(content), [""; 0]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(check_text("\n[a](GONE.md)"), ["2: the link leads nowhere: GONE.md"]);
        assert_eq!(check_text("[a](OTHER.md#gone) [b](#gone)").len(), 2);
        assert_eq!(check_text("[ref]: GONE.md").len(), 1);
    }

    #[test]
    fn code_is_not_read() {
        assert_eq!(check_text("```\n[a](GONE.md)\n```\n`[a](GONE.md)`\n"), [""; 0]);
        assert_eq!(check_text("```\n# Here\n```\n[a](#here)").len(), 1);
    }
}
