//! The wire format: numbered fields of four kinds.

use std::fmt;

/// Why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinaryError {
    /// The body does not begin with the magic number.
    NotBinary,
    /// The message ends within a field.
    Truncated,
    /// A field is not of the kind its type has.
    WrongWireType { wire_type: u8, field: String },
    /// A number of more than 64 bits.
    Overflow,
    /// A string that is not UTF-8.
    NotText,
    /// JSON inside a message that is not JSON.
    NotJson(String),
    /// More nested messages than an object may have.
    TooDeep,
}

impl fmt::Display for BinaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BinaryError::NotBinary => f.write_str(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            ),
            BinaryError::Truncated => f.write_str("unexpected EOF"),
            BinaryError::WrongWireType { wire_type, field } => {
                write!(f, "proto: wrong wireType = {wire_type} for field {field}")
            }
            BinaryError::Overflow => f.write_str("proto: integer overflow"),
            BinaryError::NotText => f.write_str("proto: invalid UTF-8 string"),
            BinaryError::NotJson(error) => f.write_str(error),
            BinaryError::TooDeep => f.write_str("proto: message nested too deeply"),
        }
    }
}

impl std::error::Error for BinaryError {}

/// The payload of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl<'a> Payload<'a> {
    fn wrong<T>(self) -> Result<T, BinaryError> {
        let wire_type = match self {
            Payload::Varint(_) => 0,
            Payload::Fixed64(_) => 1,
            Payload::Bytes(_) => 2,
            Payload::Fixed32(_) => 5,
        };
        Err(BinaryError::WrongWireType { wire_type, field: String::new() })
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], BinaryError> {
        match self {
            Payload::Bytes(bytes) => Ok(bytes),
            other => other.wrong(),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, BinaryError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| BinaryError::NotText)
    }

    /// A signed number; negative ones are written in ten bytes.
    pub(super) fn int(self) -> Result<i64, BinaryError> {
        match self {
            Payload::Varint(value) => Ok(value.cast_signed()),
            other => other.wrong(),
        }
    }

    pub(super) fn double(self) -> Result<f64, BinaryError> {
        match self {
            Payload::Fixed64(bits) => Ok(f64::from_bits(bits)),
            other => other.wrong(),
        }
    }
}

/// The fields of a message, in the order they are written.
pub(super) fn fields(message: &[u8]) -> impl Iterator<Item = Result<(u32, Payload<'_>), BinaryError>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = field(&mut rest);
        if field.is_err() {
            rest = &[];
        }
        Some(field)
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<(u32, Payload<'a>), BinaryError> {
    let key = varint(rest)?;
    let number = u32::try_from(key >> 3).map_err(|_| BinaryError::Overflow)?;
    let payload = match key & 7 {
        0 => Payload::Varint(varint(rest)?),
        1 => Payload::Fixed64(u64::from_le_bytes(array(rest)?)),
        2 => {
            let length = usize::try_from(varint(rest)?).map_err(|_| BinaryError::Truncated)?;
            Payload::Bytes(take(rest, length)?)
        }
        5 => Payload::Fixed32(u32::from_le_bytes(array(rest)?)),
        wire_type => {
            let wire_type = u8::try_from(wire_type).expect("three bits");
            return Err(BinaryError::WrongWireType { wire_type, field: String::new() });
        }
    };
    Ok((number, payload))
}

fn varint(rest: &mut &[u8]) -> Result<u64, BinaryError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let [byte] = array(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(BinaryError::Overflow)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], BinaryError> {
    let (taken, left) = rest.split_at_checked(length).ok_or(BinaryError::Truncated)?;
    *rest = left;
    Ok(taken)
}

fn array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], BinaryError> {
    let (taken, left) = rest.split_first_chunk::<N>().ok_or(BinaryError::Truncated)?;
    *rest = left;
    Ok(*taken)
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn push_key(out: &mut Vec<u8>, number: u32, wire_type: u64) {
    push_varint(out, u64::from(number) << 3 | wire_type);
}

pub(super) fn put_int(out: &mut Vec<u8>, number: u32, value: i64) {
    push_key(out, number, 0);
    push_varint(out, value.cast_unsigned());
}

pub(super) fn put_double(out: &mut Vec<u8>, number: u32, value: f64) {
    push_key(out, number, 1);
    out.extend_from_slice(&value.to_bits().to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_length(out, number, bytes.len());
    out.extend_from_slice(bytes);
}

/// Writes what stands before so many bytes.
pub(super) fn put_length(out: &mut Vec<u8>, number: u32, len: usize) {
    push_key(out, number, 2);
    push_varint(out, len as u64);
}

/// Writes a nested message; its length is put in front once it is known.
pub(super) fn put_message(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    push_key(out, number, 2);
    let start = out.len();
    write(out);
    let mut length = Vec::with_capacity(4);
    push_varint(&mut length, (out.len() - start) as u64);
    out.splice(start..start, length);
}
