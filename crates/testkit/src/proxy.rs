//! A TCP proxy that breaks connections in the ways networks do.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// How the link behaves from now on, for connections that are open and those to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Open,
    /// Connections are reset, and new ones at once.
    Cut,
    /// Nothing passes and nothing is lost: what was sent arrives once the link opens again.
    Silent,
    /// Requests arrive, answers do not (until the link opens again): their effect is unknown to who asked.
    OneWay,
    /// Every piece is this late.
    Slow(Duration),
}

/// A proxy before one address; dropping it closes everything.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    link: watch::Sender<Link>,
    acceptor: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and passes everything on to `target`.
    pub async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port can be had");
        let address = listener.local_addr().expect("a listener knows its address");
        let link = watch::Sender::new(Link::Open);
        let acceptor = tokio::spawn(accept(listener, target, link.subscribe()));
        Proxy { address, link, acceptor }
    }

    pub fn set(&self, link: Link) {
        self.link.send_replace(link);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The connections are tasks of the acceptor's and go with it.
        self.acceptor.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, link: watch::Receiver<Link>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(connect(stream, target, link.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(client: TcpStream, target: SocketAddr, link: watch::Receiver<Link>) {
    // A reset rather than an orderly end, as when a machine has lost its network.
    let reset = |stream: &TcpStream| stream.set_zero_linger();
    if *link.borrow() == Link::Cut {
        let _ = reset(&client);
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else {
        let _ = reset(&client);
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let _ = (reset(&client), reset(&server));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut until_cut = link.clone();
    tokio::select! {
        _ = until_cut.wait_for(|link| *link == Link::Cut) => {}
        () = pump(from_client, to_server, link.clone(), Direction::Request) => {}
        () = pump(from_server, to_client, link, Direction::Answer) => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Answer,
}

/// Passes bytes on until one side ends.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut link: watch::Receiver<Link>,
    direction: Direction,
) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer).await else { return };
        let passes = |link: &Link| match link {
            Link::Silent => false,
            Link::OneWay => direction == Direction::Request,
            Link::Open | Link::Cut | Link::Slow(_) => true,
        };
        let Ok(state) = link.wait_for(passes).await.map(|link| *link) else { return };
        if let Link::Slow(delay) = state {
            tokio::time::sleep(delay).await;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soon;

    /// Answers every byte with the same byte.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    async fn ask(stream: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
        stream.write_all(&[byte]).await?;
        soon("the echo", stream.read_u8()).await
    }

    #[tokio::test]
    async fn an_open_link_passes_everything_and_a_cut_one_resets() {
        let proxy = Proxy::to(echo().await).await;
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        assert_eq!(ask(&mut stream, 7).await.unwrap(), 7);
        proxy.set(Link::Slow(Duration::from_millis(1)));
        assert_eq!(ask(&mut stream, 8).await.unwrap(), 8);
        proxy.set(Link::Cut);
        assert!(ask(&mut stream, 9).await.is_err());
        let mut other = TcpStream::connect(proxy.address).await.unwrap();
        assert!(ask(&mut other, 9).await.is_err());
        proxy.set(Link::Open);
        let mut healed = TcpStream::connect(proxy.address).await.unwrap();
        assert_eq!(ask(&mut healed, 10).await.unwrap(), 10);
    }

    #[tokio::test]
    async fn a_silent_link_keeps_what_was_sent_until_it_opens() {
        let proxy = Proxy::to(echo().await).await;
        for link in [Link::Silent, Link::OneWay] {
            let mut stream = TcpStream::connect(proxy.address).await.unwrap();
            assert_eq!(ask(&mut stream, 1).await.unwrap(), 1);
            proxy.set(link);
            let mut answer = Box::pin(ask(&mut stream, 2));
            let early = tokio::time::timeout(Duration::from_millis(50), &mut answer).await;
            assert!(early.is_err(), "nothing comes through {link:?}");
            proxy.set(Link::Open);
            assert_eq!(answer.await.unwrap(), 2);
        }
    }
}
