//! The order of versions: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then everything else by name.
//!
//! Upstream: apimachinery/pkg/version/helpers.go, v1.36.

use std::cmp::Ordering;

/// How stable a version calls itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

/// Compares by priority: the greater one is the better one.
pub fn compare(left: &str, right: &str) -> Ordering {
    match (parse(left), parse(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => right.cmp(left),
    }
}

/// Whether a version calls itself neither alpha nor beta.
pub fn is_stable(version: &str) -> bool {
    matches!(parse(version), Some((Stability::Stable, ..)))
}

fn parse(version: &str) -> Option<(Stability, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let major = number(&rest[..digits])?;
    let rest = &rest[digits..];
    if rest.is_empty() {
        return Some((Stability::Stable, major, 0));
    }
    if let Some(minor) = rest.strip_prefix("beta") {
        return Some((Stability::Beta, major, number(minor)?));
    }
    Some((Stability::Alpha, major, number(rest.strip_prefix("alpha")?)?))
}

/// A positive number without a leading zero.
fn number(text: &str) -> Option<u64> {
    let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guides_example_is_sorted_as_the_guide_says() {
        let expected =
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"];
        let mut sorted = expected;
        sorted.reverse();
        sorted.sort_by(|left, right| compare(right, left));
        assert_eq!(sorted, expected);
    }
}
