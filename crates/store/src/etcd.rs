//! The backend that several processes share: an etcd cluster, spoken to in its v3 API.
//!
//! ```text
//! EtcdStore ─► commit · read · watch      the store's words as etcd's, and back (translate)
//!                 └─► client ─► link      repeats what may be repeated; one connection, to a member that answers
//!                                 └─► grpc, proto
//!              compactor · lease          history and time to live, as the reference does them
//! ```
//!
//! Nothing is kept here: every answer is etcd's, linearizable. A write whose outcome is unknown is
//! [`Error::Unavailable`] and never repeated.

mod client;
mod commit;
mod compactor;
mod counters;
mod endpoint;
mod grpc;
mod keyspace;
mod lease;
mod link;
mod proto;
mod read;
mod restore;
mod shared_question;
mod translate;
mod watch;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::{
    sync::{RwLock, watch as signal},
    task::JoinHandle,
};

use self::{client::Client, counters::Counters, lease::Leases, link::Link, shared_question::SharedQuestion};
pub use self::{
    endpoint::{Access, AccessError, User},
    keyspace::Keyspace,
    restore::{RestoreError, Revisions, restore},
};
use crate::{
    BoxFuture, Committed, Error, KeyRange, Observer, Outage, Range, RangeResult, Result, Revision, Stats,
    Store, Txn, Watch,
};

#[derive(Clone, Debug, Default)]
pub struct Options {
    pub access: Access,
    /// Where the keys are.
    pub keyspace: Keyspace,
    /// How often history is given up, in agreement with others; `None`: somebody else sees to it.
    pub compaction_interval: Option<Duration>,
}

/// See the module's description.
pub struct EtcdStore {
    client: Arc<Client>,
    /// Watches have a connection of their own: unread events stop no request.
    watches: Arc<Client>,
    keyspace: Keyspace,
    leases: Leases,
    newest: SharedQuestion<Revision>,
    counters: Arc<Counters>,
    progress_wanted: signal::Sender<u64>,
    /// Held to read by every request: who closes waits for them.
    open: RwLock<bool>,
    closed: signal::Sender<bool>,
    compactor: Option<JoinHandle<()>>,
}

impl EtcdStore {
    /// Checks what can be checked here. The cluster may be down: requests tell, and the store recovers by itself.
    ///
    /// Call it within a runtime: the compactor is a task.
    pub fn new(options: Options) -> Result<Self, AccessError> {
        let endpoints = options.access.endpoints()?;
        // By chance, so that the replicas' load is spread over the members.
        let first = usize::try_from(RandomState::new().build_hasher().finish() >> 1).unwrap_or(0);
        let client = || Arc::new(Client::new(Link::new(options.access.clone(), endpoints.clone(), first)));
        let (calls, watches) = (client(), client());
        let compactor =
            options.compaction_interval.map(|interval| tokio::spawn(compactor::run(calls.clone(), interval)));
        Ok(EtcdStore {
            client: calls,
            watches,
            keyspace: options.keyspace,
            leases: Leases::default(),
            newest: SharedQuestion::default(),
            counters: Arc::default(),
            progress_wanted: signal::Sender::new(0),
            open: RwLock::new(true),
            closed: signal::Sender::new(false),
            compactor,
        })
    }

    fn saw(&self, header: Option<&proto::Header>) {
        self.counters.saw(translate::revision_of(header));
    }

    /// Runs a request unless the store is closed, which then waits for it.
    async fn while_open<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        let open = self.open.read().await;
        if !*open {
            return Err(Error::closed());
        }
        request.await
    }
}

impl Store for EtcdStore {
    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<Committed>> {
        Box::pin(async move { self.while_open(self.commit_txn(&txn)).await })
    }

    fn range(&self, range: Range) -> BoxFuture<'_, Result<RangeResult>> {
        Box::pin(async move { self.while_open(self.read_range(&range)).await })
    }

    fn watch(&self, keys: KeyRange, after: Revision) -> BoxFuture<'_, Result<Box<dyn Watch>>> {
        Box::pin(async move {
            let watch = self.while_open(self.open_watch(&keys, after)).await?;
            Ok(Box::new(watch) as Box<dyn Watch>)
        })
    }

    fn current(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(self.while_open(self.newest()))
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.while_open(async move {
            match self.client.compact(translate::number(oldest)).await {
                Ok(_) => Ok(()),
                Err(failure) if failure.says(translate::COMPACTED) => Ok(()),
                Err(failure) if failure.says(translate::FUTURE) => {
                    Err(Error::FutureRevision { current: self.newest().await? })
                }
                Err(failure) => Err(translate::error(failure)),
            }
        }))
    }

    fn observe(&self, _: Arc<dyn Observer>) -> Option<Revision> {
        None
    }

    fn request_progress(&self) {
        self.progress_wanted.send_modify(|count| *count += 1);
    }

    fn stats(&self) -> Stats {
        self.counters.stats(!*self.closed.borrow())
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            if let Some(compactor) = &self.compactor {
                compactor.abort();
            }
            self.closed.send_replace(true);
            *self.open.write().await = false;
            Ok(())
        })
    }
}

/// What may be said of a failed request to etcd: its own words, not ours about its addresses.
pub(crate) fn outage(cause: &(dyn std::error::Error + 'static)) -> Option<Outage> {
    Some(match cause.downcast_ref::<grpc::Failure>()? {
        grpc::Failure::Status { message, .. } => Outage::Said(message.clone()),
        grpc::Failure::TimedOut => Outage::TimedOut,
        grpc::Failure::NotSent(_) | grpc::Failure::Broken(_) => Outage::Unreachable,
    })
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        if let Some(compactor) = &self.compactor {
            compactor.abort();
        }
    }
}
