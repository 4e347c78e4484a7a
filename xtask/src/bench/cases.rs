//! What is measured, and on which server.

use anyhow::{Result, bail};

/// The server that a case works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Starts its own.
    Itself,
    /// A new one.
    Fresh,
    /// A new one, which then has the objects for [`Place::Populated`].
    Populate,
    /// The one with 10,000 objects.
    Populated,
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    /// Whether our own generator can do it too.
    pub(crate) own: bool,
    full: &'static str,
    quick: &'static str,
}

/// In the order in which they run. The kernel counts CPU time in steps of 10 ms: cheap operations need large counts.
const CASES: [Case; 23] = [
    case("start", Place::Itself, true, "start", "start"),
    case("idle", Place::Fresh, true, "idle --seconds 10", "idle --seconds 3"),
    case("create-c1", Place::Fresh, true, "create --objects 3000 -c 1", "create --objects 1000 -c 1"),
    case("create-c64", Place::Fresh, true, "create --objects 10000 -c 64", "create --objects 3000 -c 64"),
    // Always 10,000: what follows is about a list of that size.
    case("create-c16", Place::Populate, true, "create --objects 10000 -c 16", "create --objects 10000 -c 16"),
    case("get", Place::Populated, true, "get -n 20000 -c 16", "get -n 10000 -c 16"),
    case("list-full", Place::Populated, true, "list full -n 20 -c 1", "list full -n 10 -c 1"),
    case("list-label", Place::Populated, true, "list label -n 1000 -c 1", "list label -n 500 -c 1"),
    case("list-paged", Place::Populated, false, "list paged -n 20 -c 1", "list paged -n 10 -c 1"),
    case("list-field", Place::Populated, false, "list field -n 500 -c 1", "list field -n 200 -c 1"),
    case("list-table", Place::Populated, false, "list table -n 20 -c 1", "list table -n 10 -c 1"),
    case("list-metadata", Place::Populated, false, "list metadata -n 20 -c 1", "list metadata -n 10 -c 1"),
    case("update", Place::Populated, false, "update -n 5000 -c 16", "update -n 2000 -c 16"),
    case("status", Place::Populated, false, "status -n 5000 -c 16", "status -n 2000 -c 16"),
    case("patch", Place::Populated, false, "patch -n 5000 -c 16", "patch -n 2000 -c 16"),
    case("apply", Place::Populated, false, "apply -n 5000 -c 16", "apply -n 2000 -c 16"),
    // Last on this server: it leaves other objects behind.
    case("mixed", Place::Populated, false, "mixed --seconds 20", "mixed --seconds 5"),
    case("watch-w1", Place::Fresh, true, "watch -w 1 -e 5000", "watch -w 1 -e 1000"),
    case("watch-w100", Place::Fresh, true, "watch -w 100 -e 2000", "watch -w 100 -e 500"),
    case("watch-w1000", Place::Fresh, true, "watch -w 1000 -e 1000", "watch -w 1000 -e 100"),
    case("validate-cel", Place::Fresh, false, "validate cel -n 200 -c 4", "validate cel -n 50 -c 4"),
    case("validate-large", Place::Fresh, false, "validate large -n 15 -c 1", "validate large -n 5 -c 1"),
    case("crds", Place::Fresh, false, "crds -n 100 -c 4", "crds -n 100 -c 4"),
];

const fn case(name: &'static str, place: Place, own: bool, full: &'static str, quick: &'static str) -> Case {
    Case { name, place, own, full, quick }
}

impl Case {
    /// The words for the generator.
    pub(crate) fn words(&self, quick: bool) -> impl Iterator<Item = &'static str> {
        let line = if quick { self.quick } else { self.full };
        line.split(' ')
    }
}

/// The cases that the words name by their beginning, and what those need; all when there are no words.
pub(crate) fn select(words: &[String]) -> Result<Vec<&'static Case>> {
    for word in words {
        if !CASES.iter().any(|case| case.name.starts_with(word.as_str())) {
            let names = CASES.map(|case| case.name).join(", ");
            bail!("there is no case {word}; there are: {names}");
        }
    }
    let named =
        |case: &Case| words.is_empty() || words.iter().any(|word| case.name.starts_with(word.as_str()));
    let needs_objects = CASES.iter().any(|case| case.place == Place::Populated && named(case));
    Ok(CASES.iter().filter(|case| named(case) || (needs_objects && case.place == Place::Populate)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str]) -> Vec<&'static str> {
        let words = words.iter().map(ToString::to_string).collect::<Vec<_>>();
        select(&words).unwrap().iter().map(|case| case.name).collect()
    }

    #[test]
    fn cases_are_named_by_their_beginning() {
        assert_eq!(check(&[]).len(), CASES.len());
        assert_eq!(check(&["create"]), ["create-c1", "create-c64", "create-c16"]);
        assert_eq!(check(&["watch-w1000", "start"]), ["start", "watch-w1000"]);
        assert!(select(&["cretae".into()]).err().unwrap().to_string().contains("no case cretae"));
    }

    #[test]
    fn reads_bring_the_creation_of_their_objects() {
        assert_eq!(check(&["get"]), ["create-c16", "get"]);
    }

    #[test]
    fn the_words_follow_the_mode() {
        assert_eq!(CASES[1].words(true).collect::<Vec<_>>(), ["idle", "--seconds", "3"]);
        assert_eq!(CASES[1].words(false).last(), Some("10"));
    }
}
