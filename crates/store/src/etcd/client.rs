//! Calls to the cluster, repeated where that can do no harm.

use std::{sync::Arc, time::Duration};

use prost::Message;
use tokio::time::Instant;

use super::{
    grpc::{self, Failure, code},
    link::{Link, Live},
    proto,
};

/// Bound: how long one attempt to read may wait for a sign of life before another member is asked.
const READ_PATIENCE: Duration = Duration::from_secs(3);
/// Bound: how long a write may wait. Longer than etcd's own limit (seven seconds), which has the better words.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// Bound: how long a call is repeated altogether.
const REPEAT_FOR: Duration = Duration::from_secs(10);
/// Between two attempts, doubled each time up to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];

/// etcd's words for a request that it refused before doing anything.
const UNAPPLIED: [&str; 6] = [
    "etcdserver: no leader",
    "etcdserver: too many requests",
    "etcdserver: rpc not supported for learner",
    "raft proposal dropped",
    INVALID_TOKEN,
    OLD_AUTH_REVISION,
];
const INVALID_TOKEN: &str = "etcdserver: invalid auth token";
const OLD_AUTH_REVISION: &str = "etcdserver: revision of auth store is old";

/// Whether doing something twice is the same as doing it once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Repeat {
    Freely,
    /// Only while it is certain that nothing has happened.
    IfUnapplied,
}

impl Repeat {
    fn allows(self, failure: &Failure) -> bool {
        match failure {
            Failure::NotSent(_) => true,
            Failure::Broken(_) | Failure::TimedOut => self == Repeat::Freely,
            Failure::Status { code, message } => {
                UNAPPLIED.contains(&message.as_str())
                    || (self == Repeat::Freely && *code == code::UNAVAILABLE)
            }
        }
    }
}

pub(super) struct Client {
    link: Link,
}

impl Client {
    pub(super) fn new(link: Link) -> Self {
        Client { link }
    }

    pub(super) async fn live(&self) -> Result<Arc<Live>, Failure> {
        self.link.live().await
    }

    pub(super) async fn range(&self, request: &proto::RangeRequest) -> Result<proto::RangeResponse, Failure> {
        self.call("etcdserverpb.KV/Range", request, Repeat::Freely, READ_PATIENCE).await
    }

    pub(super) async fn txn(&self, request: &proto::TxnRequest) -> Result<proto::TxnResponse, Failure> {
        self.call("etcdserverpb.KV/Txn", request, Repeat::IfUnapplied, WRITE_PATIENCE).await
    }

    /// Compacting twice is compacting once.
    pub(super) async fn compact(&self, revision: i64) -> Result<proto::CompactionResponse, Failure> {
        let request = proto::CompactionRequest { revision };
        self.call("etcdserverpb.KV/Compact", &request, Repeat::Freely, WRITE_PATIENCE).await
    }

    /// A lease that was granted twice leaves by itself.
    pub(super) async fn grant(&self, seconds: i64) -> Result<proto::LeaseGrantResponse, Failure> {
        let request = proto::LeaseGrantRequest { time_to_live: seconds };
        self.call("etcdserverpb.Lease/LeaseGrant", &request, Repeat::Freely, WRITE_PATIENCE).await
    }

    pub(super) async fn time_to_live(&self, lease: i64) -> Result<proto::LeaseTimeToLiveResponse, Failure> {
        let request = proto::LeaseTimeToLiveRequest { id: lease };
        self.call("etcdserverpb.Lease/LeaseTimeToLive", &request, Repeat::Freely, READ_PATIENCE).await
    }

    async fn call<A: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
        repeat: Repeat,
        patience: Duration,
    ) -> Result<A, Failure> {
        let message = grpc::frame(request);
        let deadline = Instant::now() + REPEAT_FOR;
        let [mut pause, longest] = PAUSES;
        loop {
            let failure = match self.link.live().await {
                Err(failure) => failure,
                Ok(live) => match live.send(method, message.clone(), patience).await {
                    Ok(answer) => return Ok(answer),
                    Err(failure) => {
                        self.after(&failure, &live).await;
                        failure
                    }
                },
            };
            if !repeat.allows(&failure) || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
            pause = longest.min(2 * pause);
        }
    }

    /// Draws the consequences of a failure for the connection it happened on.
    pub(super) async fn after(&self, failure: &Failure, live: &Arc<Live>) {
        match failure {
            Failure::Status { code: code::UNAUTHENTICATED, .. } => self.link.log_in_again(live).await,
            failure if failure.says(OLD_AUTH_REVISION) => self.link.log_in_again(live).await,
            Failure::NotSent(_)
            | Failure::Broken(_)
            | Failure::TimedOut
            | Failure::Status { code: code::UNAVAILABLE, .. } => self.link.give_up(live).await,
            Failure::Status { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u32, message: &str) -> Failure {
        Failure::Status { code, message: message.to_owned() }
    }

    #[test]
    fn a_write_is_repeated_only_when_it_certainly_did_not_happen() {
        let repeated = [
            Failure::NotSent("connection refused".to_owned()),
            status(14, "etcdserver: no leader"),
            status(8, "etcdserver: too many requests"),
            status(16, "etcdserver: invalid auth token"),
        ];
        assert!(repeated.iter().all(|failure| Repeat::IfUnapplied.allows(failure)));
        let unknown = [
            Failure::TimedOut,
            Failure::Broken("reset".to_owned()),
            status(14, "etcdserver: request timed out"),
            status(14, "etcdserver: request timed out, possibly due to previous leader failure"),
            status(14, "etcdserver: server stopped"),
            status(2, "context canceled"),
        ];
        assert!(!unknown.iter().any(|failure| Repeat::IfUnapplied.allows(failure)));
    }

    #[test]
    fn a_read_is_repeated_unless_the_answer_would_be_the_same() {
        assert!(Repeat::Freely.allows(&Failure::TimedOut));
        assert!(Repeat::Freely.allows(&status(14, "etcdserver: request timed out")));
        assert!(
            !Repeat::Freely.allows(&status(11, "etcdserver: mvcc: required revision has been compacted"))
        );
        assert!(!Repeat::Freely.allows(&status(7, "etcdserver: permission denied")));
    }
}
