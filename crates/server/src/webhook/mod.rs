//! Calling webhooks: from a client configuration to the text of an answer or a typed error.
//!
//! Knows nothing of what is asked: conversion, admission, authentication and authorization bring their own reviews.
//! `config` says where a webhook is, `services` where a service is, `connect` and `tls` make a connection that is
//! believed, `client` posts over it. A client is made once for each configuration and shared.

mod client;
mod config;
mod connect;
mod services;
mod tls;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

pub use client::{CallError, Client};
pub use config::{ClientConfig, ConfigError, Service, Target};
pub use services::{NoEntry, Place, ResolveError, ServiceMap, Services};

/// Bound: clients kept, as in the reference.
const MAX_CLIENTS: usize = 200;

/// All clients of webhooks.
pub struct Webhooks {
    services: Arc<Services>,
    /// The one that was asked for last is at the back.
    clients: Mutex<VecDeque<(ClientConfig, Arc<Client>)>>,
}

impl Webhooks {
    pub fn new(services: Services) -> Self {
        Webhooks { services: Arc::new(services), clients: Mutex::default() }
    }

    /// The client of a configuration, made when it is first asked for.
    pub fn client(&self, config: &ClientConfig) -> Result<Arc<Client>, ConfigError> {
        let mut clients = self.clients.lock();
        if let Some(index) = clients.iter().position(|(known, _)| known == config)
            && let Some(found) = clients.remove(index)
        {
            let client = found.1.clone();
            clients.push_back(found);
            return Ok(client);
        }
        let client = Arc::new(Client::new(config, self.services.clone())?);
        if clients.len() == MAX_CLIENTS {
            clients.pop_front();
        }
        clients.push_back((config.clone(), client.clone()));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use registry::Registry;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn webhooks() -> Webhooks {
        let registry =
            Registry::start(Arc::new(store::memory::MemoryStore::new(store::memory::Options::default())))
                .await
                .unwrap();
        Webhooks::new(Services { map: ServiceMap::default(), registry, objects: None, slices: None })
    }

    fn at(address: std::net::SocketAddr) -> ClientConfig {
        let target = Target::Url { authority: address.to_string(), path: "/c".to_owned() };
        ClientConfig { target, ca_bundle: Vec::new() }
    }

    async fn post(config: &ClientConfig, timeout: Duration) -> Result<bytes::Bytes, String> {
        let client = webhooks().await.client(config).unwrap();
        client.post(bytes::Bytes::from_static(b"{}"), timeout).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_webhook_that_does_not_answer_is_given_up() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answered = post(&at(address), Duration::from_millis(30)).await;
        let text = format!(
            "Post \"https://{address}/c?timeout=30ms\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        );
        assert_eq!(answered, Err(text));
    }

    #[tokio::test]
    async fn a_server_without_tls_is_told() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let plain = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut hello = [0; 16];
            stream.read_exact(&mut hello).await.unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            stream
        });
        let answered = post(&at(address), Duration::from_secs(10)).await;
        let why = "http: server gave HTTP response to HTTPS client";
        assert_eq!(answered, Err(format!("Post \"https://{address}/c?timeout=10s\": {why}")));
        plain.await.unwrap();
    }

    #[tokio::test]
    async fn a_service_that_is_not_there_is_told() {
        let service = Service { namespace: "n".into(), name: "s".into(), port: 443 };
        let target = Target::Service { service, path: "/c".to_owned() };
        let config = ClientConfig { target, ca_bundle: Vec::new() };
        let answered = post(&config, Duration::from_secs(30)).await;
        let text = "Post \"https://s.n.svc:443/c?timeout=30s\": service \"s\" not found";
        assert_eq!(answered, Err(text.to_owned()));
    }

    #[tokio::test]
    async fn a_client_is_made_once_and_the_oldest_is_forgotten() {
        let webhooks = webhooks().await;
        let config =
            |port: usize| at(std::net::SocketAddr::from(([127, 0, 0, 1], u16::try_from(port).unwrap())));
        let first = webhooks.client(&config(1)).unwrap();
        assert!(Arc::ptr_eq(&first, &webhooks.client(&config(1)).unwrap()));
        for port in 2..=MAX_CLIENTS {
            webhooks.client(&config(port)).unwrap();
        }
        assert!(Arc::ptr_eq(&first, &webhooks.client(&config(1)).unwrap()), "there is room for all");
        webhooks.client(&config(MAX_CLIENTS + 1)).unwrap();
        assert_eq!(webhooks.clients.lock().len(), MAX_CLIENTS);
        assert!(Arc::ptr_eq(&first, &webhooks.client(&config(1)).unwrap()), "it was used last but one");
        let broken = ClientConfig { ca_bundle: b"no certificate".to_vec(), ..config(1) };
        assert_eq!(webhooks.client(&broken).err(), Some(ConfigError::CaBundle));
    }
}
