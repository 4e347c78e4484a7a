//! JSON bodies: what is written can be read, and is written the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::wire::json;

fuzz_target!(|body: &[u8]| {
    let Ok(parsed) = json::parse(body) else { return };
    let compact = json::to_vec(&parsed.value);
    let again = json::parse(&compact).expect("what we write can be read");
    // Texts, not values: 2.5e3 is written as Go does, 2500, and is an integer from then on.
    assert_eq!(json::to_vec(&again.value), compact);
    assert!(again.duplicates.is_empty());
    let mut pretty = Vec::new();
    json::encode_pretty(&parsed.value, &mut pretty);
    assert_eq!(json::parse(&pretty).expect("what we print can be read").value, again.value);
});
