//! Compressing an answer as it is made.

use std::io::Write;

/// Fast rather than small: the wire is usually a local one.
const GZIP_LEVEL: u32 = 1;

/// Compresses chunk by chunk.
pub(super) struct Gzip<I> {
    chunks: I,
    encoder: Option<flate2::write::GzEncoder<Vec<u8>>>,
}

impl<I> Gzip<I> {
    pub(super) fn new(chunks: I) -> Self {
        let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(GZIP_LEVEL));
        Gzip { chunks, encoder: Some(encoder) }
    }
}

impl<I: Iterator<Item = Vec<u8>>> Iterator for Gzip<I> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(chunk) = self.chunks.next() else {
                return self.encoder.take()?.finish().ok();
            };
            let encoder = self.encoder.as_mut()?;
            encoder.write_all(&chunk).ok()?; // writing to a vector does not fail
            if !encoder.get_ref().is_empty() {
                return Some(std::mem::take(encoder.get_mut()));
            }
        }
    }
}
