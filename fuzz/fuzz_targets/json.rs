//! JSON bodies: whatever is read is written and read back as the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::wire::json;

fuzz_target!(|body: &[u8]| {
    let Ok(parsed) = json::parse(body) else { return };
    let compact = json::to_vec(&parsed.value);
    let again = json::parse(&compact).expect("what we write can be read");
    assert_eq!(again.value, parsed.value);
    assert!(again.duplicates.is_empty());
    let mut pretty = Vec::new();
    json::encode_pretty(&parsed.value, &mut pretty);
    assert_eq!(json::parse(&pretty).expect("what we print can be read").value, parsed.value);
});
