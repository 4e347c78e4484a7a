//! The frames of RFC 6455: writing those of a server, and reading those of a client, of which only the control
//! frames matter.

use bytes::{Bytes, BytesMut};

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// The last frame of a message; all of ours are.
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;
/// Bound: bytes that a control frame may carry.
const CONTROL_MAX_BYTES: usize = 125;

/// Writes what stands before so many bytes of a message.
#[expect(clippy::cast_possible_truncation, reason = "each arm takes what fits")]
pub(crate) fn push_head(opcode: Opcode, length: usize, out: &mut BytesMut) {
    out.extend_from_slice(&[FIN | opcode as u8]);
    match length {
        0..=CONTROL_MAX_BYTES => out.extend_from_slice(&[length as u8]),
        126..=0xffff => {
            out.extend_from_slice(&[126]);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.extend_from_slice(&[127]);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// What a client says that must be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Ping(Bytes),
    Close,
    /// A frame that breaks the protocol.
    Nonsense,
}

/// Takes a client's frames apart as they come. Messages are passed over without being kept.
#[derive(Debug, Default)]
pub(super) struct Reader {
    unread: BytesMut,
    /// Bytes of a message that are still to be passed over.
    to_skip: u64,
}

/// The beginning of a frame.
struct Head {
    opcode: u8,
    masked: bool,
    length: u64,
    /// Its own bytes, without the mask.
    bytes: usize,
}

impl Head {
    /// `None` when there is not enough of it yet.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (&first, &second) = (bytes.first()?, bytes.get(1)?);
        let (length, head_bytes) = match second & !MASKED {
            126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
            127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?) & (u64::MAX >> 1), 10),
            length => (u64::from(length), 2),
        };
        Some(Head { opcode: first & 0x0f, masked: second & MASKED != 0, length, bytes: head_bytes })
    }

    fn is(&self, opcode: Opcode) -> bool {
        self.opcode == opcode as u8
    }
}

const MASK_BYTES: usize = 4;

impl Reader {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next thing that must be answered, or `None` when more has to be read.
    pub(super) fn next(&mut self) -> Option<Heard> {
        loop {
            let skipped = usize::try_from(self.to_skip).unwrap_or(usize::MAX).min(self.unread.len());
            drop(self.unread.split_to(skipped));
            self.to_skip -= skipped as u64;
            if self.to_skip > 0 {
                return None;
            }
            let head = Head::read(&self.unread)?;
            if !head.masked {
                return Some(Heard::Nonsense); // clients must mask
            }
            if head.is(Opcode::Close) {
                return Some(Heard::Close);
            }
            let behind_head = head.bytes + MASK_BYTES;
            if !head.is(Opcode::Ping) {
                self.to_skip = head.length.saturating_add(behind_head as u64);
                continue;
            }
            let Ok(length) = usize::try_from(head.length) else { return Some(Heard::Nonsense) };
            if length > CONTROL_MAX_BYTES {
                return Some(Heard::Nonsense);
            }
            if self.unread.len() < behind_head + length {
                return None;
            }
            let frame = self.unread.split_to(behind_head + length);
            let (mask, payload) = frame[head.bytes..].split_at(MASK_BYTES);
            let payload = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
            return Some(Heard::Ping(payload.collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(length: usize) -> Vec<u8> {
        let mut out = BytesMut::new();
        push_head(Opcode::Text, length, &mut out);
        out.to_vec()
    }

    #[test]
    fn lengths_take_as_few_bytes_as_they_need() {
        assert_eq!(head(0), [0x81, 0]);
        assert_eq!(head(125), [0x81, 125]);
        assert_eq!(head(126), [0x81, 126, 0, 126]);
        assert_eq!(head(0xffff), [0x81, 126, 0xff, 0xff]);
        assert_eq!(head(0x1_0000), [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    /// A masked frame with the mask 1, 2, 3, 4.
    fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [1, 2, 3, 4];
        let mut out = vec![FIN | opcode];
        match payload.len() {
            short @ 0..=125 => out.push(MASKED | u8::try_from(short).unwrap()),
            long => {
                out.push(MASKED | 0x7e);
                out.extend_from_slice(&u16::try_from(long).unwrap().to_be_bytes());
            }
        }
        out.extend_from_slice(&mask);
        out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        out
    }

    #[test]
    fn messages_are_passed_over_and_pings_heard_wherever_reads_end() {
        let mut sent = frame(1, &[7; 1000]);
        sent.extend(frame(10, b"pong"));
        sent.extend(frame(9, b"are you there"));
        sent.extend(frame(2, b""));
        sent.extend(frame(8, &[3, 232]));
        for step in [1, 2, 3, 7, 500, sent.len()] {
            let mut reader = Reader::default();
            let mut heard = Vec::new();
            for piece in sent.chunks(step) {
                reader.feed(piece);
                while let Some(next) = reader.next() {
                    let closed = next == Heard::Close;
                    heard.push(next);
                    if closed {
                        break;
                    }
                }
                if heard.last() == Some(&Heard::Close) {
                    break;
                }
            }
            assert_eq!(heard, [Heard::Ping(Bytes::from("are you there")), Heard::Close], "{step}");
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_noticed() {
        let hear = |bytes: &[u8]| {
            let mut reader = Reader::default();
            reader.feed(bytes);
            reader.next()
        };
        assert_eq!(hear(&[0x81, 1, b'x']), Some(Heard::Nonsense)); // not masked
        assert_eq!(hear(&frame(9, &[0; 126])), Some(Heard::Nonsense)); // a ping too long
        assert_eq!(hear(&[0x81]), None);
    }

    proptest::proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in proptest::collection::vec(0u8.., 0..64)) {
            let mut reader = Reader::default();
            reader.feed(&bytes);
            let _ = reader.next();
        }
    }
}
