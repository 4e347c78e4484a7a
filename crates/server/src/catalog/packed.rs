//! Large texts put together from compressed pieces.
//!
//! A piece is raw deflate that ends on a byte and refers to nothing outside itself, so that pieces one behind
//! the other are again deflate: a document in gzip is a copy of its pieces between a header and a checksum. Who
//! wants it plain gets each piece inflated. Documents of thousands of definitions repeat themselves; a piece has
//! about a twentieth of the size of its text.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};

use super::discovery::Document;

/// Fast, and hardly worse than better levels on texts that repeat themselves.
const LEVEL: u32 = 3;
/// Magic, deflate, no flags, no time, no hints, unknown system.
static GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// A last block with nothing in it.
const END: [u8; 2] = [3, 0];

static COMMA: LazyLock<Piece> = LazyLock::new(|| Piece::of(b","));

/// A compressed text.
#[derive(Clone)]
pub struct Piece {
    deflated: Bytes,
    crc: Arc<Crc>,
}

impl Piece {
    pub fn of(text: &[u8]) -> Self {
        let mut crc = Crc::new();
        crc.update(text);
        let mut compress = Compress::new(Compression::new(LEVEL), false);
        let mut deflated = Vec::with_capacity(text.len() / 8 + 64);
        loop {
            let done = usize::try_from(compress.total_in()).unwrap_or(text.len());
            let status = compress.compress_vec(&text[done..], &mut deflated, FlushCompress::Sync);
            debug_assert!(!matches!(status, Ok(Status::StreamEnd) | Err(_)), "neither is asked for");
            let all = compress.total_in() == text.len() as u64;
            // Room left over means that the flush is complete.
            if all && deflated.len() < deflated.capacity() {
                break;
            }
            deflated.reserve(deflated.len().max(64));
        }
        Piece { deflated: Bytes::from(deflated.into_boxed_slice()), crc: Arc::new(crc) }
    }

    fn is_empty(&self) -> bool {
        self.crc.amount() == 0
    }

    fn inflate(&self) -> Bytes {
        let mut text = Vec::with_capacity(self.crc.amount() as usize);
        let status = Decompress::new(false).decompress_vec(&self.deflated, &mut text, FlushDecompress::None);
        debug_assert!(status.is_ok(), "made by `Piece::of`");
        text.into()
    }
}

/// A text in pieces. Cheap: pieces are shared.
#[derive(Default)]
pub struct Packed(Vec<Piece>);

impl Packed {
    pub fn text(&mut self, text: impl AsRef<[u8]>) {
        self.0.push(Piece::of(text.as_ref()));
    }

    pub fn piece(&mut self, piece: &Piece) {
        self.0.push(piece.clone());
    }

    /// Adds pieces that are members of an object, with commas between them.
    pub fn members<'a>(&mut self, pieces: impl IntoIterator<Item = &'a Piece>) {
        let mut pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        let Some(first) = pieces.next() else { return };
        self.piece(first);
        for piece in pieces {
            self.piece(&COMMA);
            self.piece(piece);
        }
    }

    /// How long the text is.
    pub fn len(&self) -> usize {
        self.0.iter().map(|piece| piece.crc.amount() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text, piece by piece: it is never in memory as a whole.
    pub fn plain(self) -> impl Iterator<Item = Bytes> + Send {
        self.0.into_iter().map(|piece| piece.inflate())
    }

    /// The text in gzip, piece by piece.
    pub fn gzip(self) -> impl Iterator<Item = Bytes> + Send {
        let mut crc = Crc::new();
        self.0.iter().for_each(|piece| crc.combine(&piece.crc));
        let end = [&END[..], &crc.sum().to_le_bytes(), &crc.amount().to_le_bytes()].concat();
        let pieces = self.0.into_iter().map(|piece| piece.deflated);
        std::iter::once(Bytes::from_static(&GZIP_HEADER)).chain(pieces).chain([end.into()])
    }

    /// How long the text is in gzip.
    pub fn gzip_len(&self) -> usize {
        let pieces: usize = self.0.iter().map(|piece| piece.deflated.len()).sum();
        GZIP_HEADER.len() + pieces + END.len() + 2 * size_of::<u32>()
    }
}

impl From<Document> for Packed {
    fn from(document: Document) -> Self {
        let mut packed = Packed::default();
        packed.text(&document.body);
        packed
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn check(pieces: &[Piece], make: impl Fn(&mut Packed, &[Piece]), expected: &[u8]) {
        let packed = || {
            let mut packed = Packed::default();
            make(&mut packed, pieces);
            packed
        };
        assert_eq!(packed().len(), expected.len());
        assert!(packed().plain().collect::<Vec<_>>().concat() == expected);
        let gzip = packed().gzip().collect::<Vec<_>>().concat();
        assert_eq!(packed().gzip_len(), gzip.len());
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&*gzip).read_to_end(&mut text).unwrap();
        assert!(text == expected);
    }

    #[test]
    fn pieces_join_to_one_text_in_both_forms() {
        let texts: Vec<Vec<u8>> = (0..40_u32)
            .map(|size| (0..size * size * 7).flat_map(|n| (n % 251 * size).to_le_bytes()).collect())
            .collect();
        let pieces: Vec<Piece> = texts.iter().map(|text| Piece::of(text)).collect();
        check(&pieces, |packed, pieces| pieces.iter().for_each(|piece| packed.piece(piece)), &texts.concat());
    }

    #[test]
    fn members_are_separated_and_empty_pieces_are_none() {
        let pieces = ["", "\"a\":1", "", "\"b\":2", ""].map(|text| Piece::of(text.as_bytes()));
        let object = |packed: &mut Packed, pieces: &[Piece]| {
            packed.text("{");
            packed.members(pieces);
            packed.text("}");
        };
        check(&pieces, object, br#"{"a":1,"b":2}"#);
    }
}
