//! Continue tokens: what a client sends back is read, refused or read as the same place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use registry::ContinueToken;

fuzz_target!(|text: &str| {
    let Ok(token) = ContinueToken::decode(text) else { return };
    assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
});
