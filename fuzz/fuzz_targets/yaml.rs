//! YAML bodies: no panic, no growth beyond the input's, and what is read can be sent as JSON and as YAML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::wire::{json, yaml};

fuzz_target!(|body: &[u8]| {
    let Ok(parsed) = yaml::parse(body) else { return };
    let text = json::to_vec(&parsed.value);
    // Aliases may repeat what they name, but only within what the reader allows.
    assert!(text.len() < (body.len() + 1024) * 10_000, "{} bytes became {}", body.len(), text.len());
    assert_eq!(json::parse(&text).expect("what we write can be read").value, parsed.value);
    let printed = yaml::encode(&parsed.value);
    let again = yaml::parse(printed.as_ref()).expect("what we print can be read");
    assert_eq!(again.value, parsed.value);
});
