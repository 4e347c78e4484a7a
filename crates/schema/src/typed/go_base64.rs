//! Base64 as Go's standard decoder reads it: line breaks are skipped, loose trailing bits are forgiven, and an error
//! names the byte it was noticed at.
//!
//! Upstream: Go's encoding/base64, `StdEncoding`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The canonical text of what `text` holds, or `None` when it is canonical already.
pub(super) fn normalise(text: &str) -> Result<Option<String>, String> {
    // The strict decoder accepts canonical input only.
    if text.is_ascii() && STANDARD.decode(text).is_ok() {
        return Ok(None);
    }
    let bytes = decode(text.as_bytes())?;
    Ok(Some(STANDARD.encode(bytes)))
}

pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The number of bytes a canonical text stands for.
pub(super) fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// The bytes of a text that may not be canonical.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut quantum = [0_u8; 4];
    let mut filled = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if let Some(six) = six_bits(byte) {
            quantum[filled] = six;
            filled += 1;
            if filled == 4 {
                push(&mut out, quantum, 3);
                filled = 0;
            }
        } else if is_line_break(byte) {
            // Skipped wherever it is.
        } else if byte != b'=' || filled < 2 {
            return corrupt(at - 1);
        } else {
            if filled == 2 {
                at = skip_line_breaks(text, at);
                match text.get(at) {
                    None => return corrupt(text.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return corrupt(at - 1),
                }
            }
            at = skip_line_breaks(text, at);
            if at < text.len() {
                return corrupt(at);
            }
            quantum[filled..].fill(0);
            push(&mut out, quantum, filled - 1);
            return Ok(out);
        }
    }
    if filled > 0 { corrupt(at - filled) } else { Ok(out) }
}

fn push(out: &mut Vec<u8>, [a, b, c, d]: [u8; 4], count: usize) {
    let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    out.extend_from_slice(&bytes[..count]);
}

fn six_bits(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn skip_line_breaks(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|byte| !is_line_break(*byte)).map_or(text.len(), |count| from + count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, canonical) in [
            ("", None),
            ("AAEC", None),
            ("AA==", None),
            ("YWI=", None),
            ("YW\nI=\r\n", Some("YWI=")),
            ("YQ=\n=", Some("YQ==")),
            // Bits beyond the last byte are dropped.
            ("YR==", Some("YQ==")),
        ] {
            assert_eq!(normalise(text), Ok(canonical.map(str::to_owned)), "{text:?}");
        }
    }

    #[test]
    fn names_the_byte_go_names() {
        for (text, at) in [
            ("!!", 0),
            ("1", 0),
            ("AAECA", 4),
            ("AAA", 0),
            ("AA=", 3),
            ("AA=A", 2),
            ("A===", 1),
            ("AA==A", 4),
            ("AAé=", 2),
        ] {
            let expected = format!("illegal base64 data at input byte {at}");
            assert_eq!(normalise(text), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn lengths_match_the_bytes() {
        for text in ["", "AA==", "YWI=", "AAEC", "AAECAA=="] {
            assert_eq!(decoded_len(text), decode(text.as_bytes()).unwrap().len(), "{text}");
        }
    }
}
