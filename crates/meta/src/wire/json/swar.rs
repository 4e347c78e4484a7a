//! Looking at eight bytes at once: where does a run of plain characters end?

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The index of the first byte from `at` on that ends a plain run in a text to be read: a quote, a backslash or
/// a control character; the length of the text when there is none.
#[inline]
pub(super) fn end_of_plain(bytes: &[u8], at: usize) -> usize {
    find(
        bytes,
        at,
        |word| zero_bytes(word ^ splat(b'"')) | zero_bytes(word ^ splat(b'\\')) | below_space(word),
        |byte| byte < 0x20 || byte == b'"' || byte == b'\\',
    )
}

/// The same for a text to be written: also `<`, `>`, `&`, and 0xE2, with which two characters that are escaped
/// begin.
#[inline]
pub(super) fn end_of_unescaped(bytes: &[u8], at: usize) -> usize {
    find(
        bytes,
        at,
        |word| {
            // Two bytes that differ in one bit are found at once by ignoring that bit.
            zero_bytes((word & !splat(0x04)) ^ splat(b'"'))
                | zero_bytes((word & !splat(0x02)) ^ splat(b'<'))
                | zero_bytes(word ^ splat(b'\\'))
                | zero_bytes(word ^ splat(0xe2))
                | below_space(word)
        },
        |byte| byte < 0x20 || matches!(byte, b'"' | b'&' | b'<' | b'>' | b'\\' | 0xe2),
    )
}

#[inline]
fn find(bytes: &[u8], mut at: usize, words: impl Fn(u64) -> u64, single: impl Fn(u8) -> bool) -> usize {
    while let Some(chunk) = bytes[at..].first_chunk::<8>() {
        let special = words(u64::from_le_bytes(*chunk)) & HIGHS;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| !single(byte)) {
        at += 1;
    }
    at
}

#[inline]
const fn splat(byte: u8) -> u64 {
    ONES * byte as u64
}

/// Sets the high bit of bytes that are zero. Bits above the lowest set one may be wrong, by borrows, which does
/// not matter to those who want the first.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

/// Sets the high bit of bytes below the space, with the same reservation.
#[inline]
fn below_space(word: u64) -> u64 {
    word.wrapping_sub(splat(0x20)) & !word
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn eight_bytes_at_once_find_what_one_by_one_finds(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'a'), Just(b' ')], 0..40)
        ) {
            let plain = bytes.iter().position(|b| *b < 0x20 || b"\"\\".contains(b));
            prop_assert_eq!(end_of_plain(&bytes, 0), plain.unwrap_or(bytes.len()));
            let unescaped = bytes.iter().position(|b| *b < 0x20 || b"\"\\<>&\xe2".contains(b));
            prop_assert_eq!(end_of_unescaped(&bytes, 0), unescaped.unwrap_or(bytes.len()));
        }
    }
}
