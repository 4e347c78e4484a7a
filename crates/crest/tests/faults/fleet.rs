//! How clients reach the replicas, which come back at other addresses.

use std::sync::{Mutex, PoisonError};

use testkit::Client;

/// The replicas as clients know them.
#[derive(Default)]
pub(crate) struct Fleet {
    replicas: Mutex<Vec<(usize, Client)>>,
}

impl Fleet {
    pub(crate) fn of(clients: impl IntoIterator<Item = Client>) -> Self {
        Fleet { replicas: Mutex::new(clients.into_iter().map(|client| (0, client)).collect()) }
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// A replica is now reached in another way.
    pub(crate) fn replace(&self, replica: usize, client: Client) {
        let mut replicas = self.lock();
        let generation = replicas[replica].0 + 1;
        replicas[replica] = (generation, client);
    }

    /// The way to a replica, and a number that changes with it.
    pub(crate) fn client(&self, replica: usize) -> (usize, Client) {
        let replicas = self.lock();
        replicas[replica % replicas.len()].clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(usize, Client)>> {
        self.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
