//! Merge patches: any patch on any document ends with a document, and the same patch again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::patch::{Strictness, merge};
use meta::wire::json;

/// Something to be merged into, when the input brings no document of its own.
const DOCUMENT: &[u8] = br#"{"metadata":{"labels":{"a":"b"}},"spec":{"a":1,"l":[{"k":1}],"n":null}}"#;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let patch = parts.next().unwrap_or_default();
    let Ok(document) = json::parse(parts.next().unwrap_or(DOCUMENT)) else { return };
    let loose = merge::from_request(patch, Strictness::Ignore);
    let Ok(decoded) = merge::from_request(patch, Strictness::Report) else { return };
    assert_eq!(loose.expect("what is checked is also read unchecked").patch, decoded.patch);
    let mut once = document.value;
    merge::apply(&mut once, decoded.patch.clone());
    json::parse(&json::to_vec(&once)).expect("what we write can be read");
    let mut twice = once.clone();
    merge::apply(&mut twice, decoded.patch);
    assert_eq!(twice, once, "merging settles at once");
});
