//! Writes to a connection together what is ready together.
//!
//! An HTTP/2 connection writes each frame as soon as it has one, and the runtime runs the connection right
//! after the first of its streams: with many streams that is a record and a system call for every frame.
//! Here a flush first lets everybody else who is ready have their turn, again as long as that brings more, and
//! then writes what has gathered.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bound: bytes gathered before they are written without waiting for a flush; what the TLS layer takes at once.
const GATHERED_BYTES: usize = 64 * 1024;
/// Bound: turns that others get before what has gathered is written.
const TURNS: u32 = 16;
/// Pieces of this size are not worth a copy when nothing waits before them.
const LARGE_PIECE_BYTES: usize = 8 * 1024;

pub(crate) struct Coalescing<S> {
    stream: S,
    gathered: Vec<u8>,
    /// How much of `gathered` has been written.
    written: usize,
    /// How often others have had their turn since the first byte was gathered, and what there was then.
    turns: u32,
    gathered_before: usize,
}

impl<S> Coalescing<S> {
    pub(crate) fn new(stream: S) -> Self {
        Coalescing { stream, gathered: Vec::new(), written: 0, turns: 0, gathered_before: 0 }
    }
}

impl<S: AsyncWrite + Unpin> Coalescing<S> {
    fn write_gathered(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.gathered.len() {
            let rest = &self.gathered[self.written..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        self.gathered.clear();
        self.written = 0;
        self.turns = 0;
        self.gathered_before = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Coalescing<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, piece: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(piece)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        if self.gathered.is_empty() && length >= LARGE_PIECE_BYTES {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        }
        if self.gathered.len() + length > GATHERED_BYTES {
            ready!(self.write_gathered(cx))?;
        }
        for piece in pieces {
            self.gathered.extend_from_slice(piece);
        }
        Poll::Ready(Ok(length))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gathered.len() > self.gathered_before && self.turns < TURNS {
            self.gathered_before = self.gathered.len();
            self.turns += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(self.write_gathered(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_gathered(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Coalescing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn every_byte_arrives_in_order_whatever_the_sizes() {
        let (near, mut far) = tokio::io::duplex(1000);
        let sizes = [1, 10, LARGE_PIECE_BYTES, 3, GATHERED_BYTES, 7, LARGE_PIECE_BYTES * 3, 1];
        let writer = tokio::spawn(async move {
            let mut stream = Coalescing::new(near);
            for (index, size) in sizes.iter().enumerate() {
                stream.write_all(&vec![u8::try_from(index).unwrap(); *size]).await.unwrap();
                if index % 3 == 0 {
                    stream.flush().await.unwrap();
                }
            }
            stream.shutdown().await.unwrap();
        });
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        writer.await.unwrap();
        let expected: Vec<u8> = sizes
            .iter()
            .enumerate()
            .flat_map(|(index, size)| vec![u8::try_from(index).unwrap(); *size])
            .collect();
        assert!(read == expected);
    }
}
