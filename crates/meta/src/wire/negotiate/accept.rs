//! The clauses of an `Accept` header, the most wanted first.
//!
//! Upstream: munnerz/goautoneg. Malformed clauses and parameters are passed over.

use std::cmp::Ordering;

/// Up to this many clauses are sorted exactly as the reference sorts them; its order is no total one.
const INSERTION_SORT_LIMIT: usize = 12;

/// One clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<'h> {
    pub main: &'h str,
    pub sub: &'h str,
    pub quality: f64,
    pub parameters: Vec<(&'h str, &'h str)>,
}

impl Clause<'_> {
    /// Whether the clause, wildcards included, names this media type.
    pub fn covers(&self, media_type: &str) -> bool {
        let (main, sub) = media_type.split_once('/').unwrap_or((media_type, ""));
        (self.main == main && (self.sub == sub || self.sub == "*")) || (self.main == "*" && self.sub == "*")
    }

    fn goes_before(&self, other: &Self) -> bool {
        self.quality > other.quality
            || (self.main != "*" && other.main == "*")
            || (self.sub != "*" && other.sub == "*")
    }

    fn order(&self, other: &Self) -> Ordering {
        let wildcards = |clause: &Self| (clause.main == "*", clause.sub == "*");
        other.quality.total_cmp(&self.quality).then(wildcards(self).cmp(&wildcards(other)))
    }
}

/// Splits and sorts a header.
///
/// ```
/// use crest_meta::wire::negotiate::parse_accept;
/// let clauses = parse_accept("*/*, application/json;q=0.5, application/yaml");
/// assert_eq!(clauses.iter().map(|clause| clause.sub).collect::<Vec<_>>(), ["yaml", "json", "*"]);
/// ```
pub fn parse_accept(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(parse_clause).collect();
    if clauses.len() > INSERTION_SORT_LIMIT {
        clauses.sort_by(Clause::order);
        return clauses;
    }
    for end in 1..clauses.len() {
        let mut index = end;
        while index > 0 && clauses[index].goes_before(&clauses[index - 1]) {
            clauses.swap(index, index - 1);
            index -= 1;
        }
    }
    clauses
}

fn parse_clause(part: &str) -> Option<Clause<'_>> {
    let part = part.trim_matches(' ');
    let (name, parameters) = part.split_once(';').unwrap_or((part, ""));
    let (main, sub) = name.split_once('/').unwrap_or((name, ""));
    let (main, sub) = match (main.trim_matches(' '), sub) {
        ("*", "") => ("*", "*"),
        (_, "") => return None,
        (main, sub) => (main, sub),
    };
    // A slash at the very end is forgiven.
    let sub = match sub.split_once('/') {
        None => sub,
        Some((sub, "")) => sub,
        Some(_) => return None,
    };
    let mut clause = Clause { main, sub: sub.trim_matches(' '), quality: 1.0, parameters: Vec::new() };
    for parameter in parameters.split(';') {
        let Some((name, value)) = parameter.split_once('=') else { continue };
        let value = match value.split_once('=') {
            None if value.is_empty() => continue,
            None => value,
            Some((value, "")) => value,
            Some(_) => continue,
        };
        match name.trim_matches(' ') {
            "q" => clause.quality = value.parse().unwrap_or(0.0),
            name => clause.parameters.push((name, value.trim_matches(' '))),
        }
    }
    Some(clause)
}
