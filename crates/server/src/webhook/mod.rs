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
