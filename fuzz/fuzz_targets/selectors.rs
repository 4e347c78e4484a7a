//! Selectors: what is read is printed and read back as the same selector, and matching never fails.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::selector::{FieldSelector, LabelSelector};

/// The terms in a fixed order: they are kept in that of their texts, in which `==` and `=` differ.
fn terms(selector: &FieldSelector) -> Vec<String> {
    let mut terms: Vec<String> = selector.requirements().iter().map(|term| format!("{term:?}")).collect();
    terms.sort();
    terms
}

fuzz_target!(|text: &str| {
    if let Ok(labels) = LabelSelector::parse(text) {
        let printed = labels.to_string();
        let again = LabelSelector::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(again.to_string(), printed);
        let _ = labels.matches(|_| None);
        let _ = labels.matches(|_| Some("1"));
    }
    if let Ok(fields) = FieldSelector::parse(text) {
        let printed = fields.to_string();
        let again = FieldSelector::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(terms(&again), terms(&fields));
        let _ = fields.matches(|_| None);
    }
});
