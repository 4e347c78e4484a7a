//! Watches over a WebSocket (RFC 6455), for browsers: every event is a message.
//!
//! The connection changes hands: the request is answered, and what is left of the connection belongs to a
//! [`Session`], which the task of the connection then runs.
//!
//! Upstream: `apiserver/pkg/endpoints/handlers/watch.go` with golang.org/x/net/websocket, v1.36.

mod frames;
mod handshake;

use std::io;

use bytes::BytesMut;
use futures_util::StreamExt;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use crate::verbs::watch::WatchAnswer;
use frames::{Heard, Reader};
pub(crate) use frames::{Opcode, push_head};
pub(crate) use handshake::{Handshake, bearer_token, is_wanted};

/// Bound: bytes of a client's messages that are read at once; they are not kept.
const READ_BYTES: usize = 1024;

/// How a connection ends, as the close message says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    Normal = 1000,
    ProtocolError = 1002,
}

/// A connection that is about to become a `WebSocket`, and what it will say.
pub(crate) struct Session {
    upgrade: OnUpgrade,
    watch: Box<WatchAnswer>,
}

impl Session {
    pub(crate) fn new(upgrade: OnUpgrade, mut watch: Box<WatchAnswer>) -> Self {
        watch.send_messages();
        Session { upgrade, watch }
    }

    /// Sends events until the watch ends or the client goes. What the client says is not listened to.
    pub(crate) async fn run(self) {
        let ended = match self.upgrade.await {
            Ok(upgraded) => talk(upgraded, *self.watch).await,
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a WebSocket ended early");
        }
    }
}

async fn talk(upgraded: Upgraded, mut watch: WatchAnswer) -> io::Result<()> {
    let (mut from_client, mut to_client) = tokio::io::split(TokioIo::new(upgraded));
    let mut reader = Reader::default();
    let mut read = [0; READ_BYTES];
    let close = loop {
        tokio::select! {
            chunk = watch.next() => match chunk {
                Some(chunk) => send(&mut to_client, &chunk).await?,
                None => break Close::Normal,
            },
            heard = hear(&mut from_client, &mut read, &mut reader) => match heard? {
                Heard::Ping(payload) => {
                    let mut pong = BytesMut::new();
                    push_head(Opcode::Pong, payload.len(), &mut pong);
                    pong.extend_from_slice(&payload);
                    send(&mut to_client, &pong).await?;
                }
                Heard::Close => break Close::Normal,
                Heard::Nonsense => break Close::ProtocolError,
            },
        }
    };
    let mut last = BytesMut::new();
    push_head(Opcode::Close, 2, &mut last);
    last.extend_from_slice(&(close as u16).to_be_bytes());
    send(&mut to_client, &last).await?;
    to_client.shutdown().await
}

/// Cancel safety: what has been read is in `reader`.
async fn hear(
    from_client: &mut ReadHalf<TokioIo<Upgraded>>,
    buffer: &mut [u8],
    reader: &mut Reader,
) -> io::Result<Heard> {
    loop {
        if let Some(heard) = reader.next() {
            return Ok(heard);
        }
        match from_client.read(buffer).await? {
            0 => return Ok(Heard::Close),
            count => reader.feed(&buffer[..count]),
        }
    }
}

async fn send(to_client: &mut WriteHalf<TokioIo<Upgraded>>, bytes: &[u8]) -> io::Result<()> {
    to_client.write_all(bytes).await?;
    to_client.flush().await
}
