//! JSON patches: any patch on any document ends with a document or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::patch::JsonPatch;
use meta::patch::json::MAX_COPIED_BYTES;
use meta::wire::json;

/// Something for paths to find, when the input brings no document of its own.
const DOCUMENT: &[u8] = br#"{"spec":{"a":1,"l":[1,2,3],"n":null,"x/y":{"~":0}}}"#;

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let patch = parts.next().unwrap_or_default();
    let document = parts.next().unwrap_or(DOCUMENT);
    let (Ok(patch), Ok(document)) = (JsonPatch::decode(patch), json::parse(document)) else { return };
    if let Ok(patched) = patch.apply(document.value) {
        let text = json::to_vec(&patched);
        assert!(text.len() <= 8 * input.len() + MAX_COPIED_BYTES + DOCUMENT.len());
        json::parse(&text).expect("what we write can be read");
    }
});
