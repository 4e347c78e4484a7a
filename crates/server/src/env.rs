//! Time and chance, passed in, so that tests can decide them and two servers can run in one process.

use std::sync::Arc;

use jiff::Timestamp;

/// What the server takes from the world besides requests and storage.
pub trait Env: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
    /// A fresh unique id for an object.
    fn uid(&self) -> String;
    /// Random bytes, for generated names.
    fn random(&self) -> [u8; 16];
}

/// Shared by everything in a server.
pub type SharedEnv = Arc<dyn Env>;

/// The real world.
pub struct SystemEnv;

impl Env for SystemEnv {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn uid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn random(&self) -> [u8; 16] {
        *uuid::Uuid::new_v4().as_bytes()
    }
}

/// Letters that cannot form words, as the reference picks them for generated names.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Random letters behind a `generateName`.
const NAME_SUFFIX_LETTERS: usize = 5;
/// The longest name the server makes up.
const GENERATED_NAME_MAX: usize = 63;

/// A name from `prefix`, cut so that the random end always fits.
///
/// Upstream: apiserver/pkg/storage/names/generate.go, v1.36.
pub fn generate_name(env: &dyn Env, prefix: &str) -> String {
    let mut cut = prefix.len().min(GENERATED_NAME_MAX - NAME_SUFFIX_LETTERS);
    while !prefix.is_char_boundary(cut) {
        cut -= 1;
    }
    let mut name = prefix[..cut].to_owned();
    let random = env.random();
    // Bytes 6 and 8 of a version 4 UUID are not wholly random: the first five are.
    for byte in &random[..NAME_SUFFIX_LETTERS] {
        name.push(char::from(NAME_LETTERS[usize::from(*byte) % NAME_LETTERS.len()]));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_fit_and_end_in_five_letters() {
        for prefix in ["a-", &"x".repeat(63), &"é".repeat(40)] {
            let name = generate_name(&SystemEnv, prefix);
            assert!(name.len() <= GENERATED_NAME_MAX, "{name}");
            assert!(name.bytes().rev().take(5).all(|byte| NAME_LETTERS.contains(&byte)), "{name}");
        }
    }
}
