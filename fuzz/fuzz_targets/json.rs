//! JSON bodies: what is written can be read, and settles.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meta::wire::json;

fuzz_target!(|body: &[u8]| {
    let Ok(parsed) = json::parse(body) else { return };
    let compact = json::to_vec(&parsed.value);
    let again = json::parse(&compact).expect("what we write can be read");
    // As in Go, floats may become integers on the way: 2.5e3 is written 2500, -0e1 is written -0 and then 0.
    let settled = json::to_vec(&again.value);
    let last = json::parse(&settled).expect("what we write can be read");
    assert_eq!(last.value, again.value);
    assert_eq!(json::to_vec(&last.value), settled);
    assert!(again.duplicates.is_empty());
    let mut pretty = Vec::new();
    json::encode_pretty(&parsed.value, &mut pretty);
    assert_eq!(json::parse(&pretty).expect("what we print can be read").value, again.value);
});
