//! Output without what differs from run to run.

use std::sync::LazyLock;

use regex::Regex;

static CHANGING: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r#"(?i)(resource ?version"?: +)"?\d+"?$"#, "${1}VERSION"),
        (r"\b(revision|current:) \d+", "${1} NUMBER"),
        (r"(^|\s)(?:\d+m)?\d+s$", "${1}AGE"),
        (r"(^|\s)(?:\d+m)?\d+s {2,}", "${1}AGE   "),
    ]
    .map(|(pattern, name)| (Regex::new(pattern).expect("a constant pattern"), name))
});

/// Replaces times, ages, uids and versions by their names, and drops blanks at the ends of lines.
pub fn steady(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    for line in text.lines() {
        let mut line = line.trim_end().to_owned();
        for (pattern, name) in CHANGING.iter() {
            line = pattern.replace_all(&line, *name).into_owned();
        }
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::steady;

    #[test]
    fn only_what_changes_is_replaced() {
        let text = "NAME   AGE\nten-1s   12s\n    resourceVersion: \"12\"\n  creationTimestamp: \"2021-06-20T07:35:27Z\"\nAge: 3s   x  \n";
        let expected = "NAME   AGE\nten-1s   AGE\n    resourceVersion: VERSION\n  creationTimestamp: \"TIME\"\nAge: AGE   x\n";
        assert_eq!(steady(text), expected);
    }
}
