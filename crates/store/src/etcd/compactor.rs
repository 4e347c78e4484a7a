//! Gives up history every few minutes, together with every other process that does so on the same etcd.
//!
//! The protocol is the reference's, so that a kube-apiserver on the same etcd takes part in it: the key
//! `compact_rev_key` is written by whoever comes first in each turn, under the condition that nobody else
//! has written it since they last looked. The winner compacts to the revision that was current at the turn before;
//! the others only note which turn it is. So history is kept for one to two intervals, whoever runs.
//!
//! Upstream: apiserver/pkg/storage/etcd3/compact.go, v1.36.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{client::Client, commit::single, grpc::Failure, proto, translate};
use crate::Revision;

const KEY: &[u8] = b"compact_rev_key";

/// What one process knows of the common clock.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Turn {
    /// How often the key has been written.
    version: i64,
    /// The revision at that time: what is compacted to when this process wins the next turn.
    revision: Revision,
}

/// Runs until its task is aborted.
pub(super) async fn run(client: Arc<Client>, interval: Duration) {
    let mut turn = Turn::default();
    loop {
        tokio::time::sleep(interval).await;
        match turn.next(&client).await {
            Ok(next) => turn = next,
            Err(failure) => {
                tracing::warn!(%failure, "etcd could not be compacted; trying again at the next turn");
            }
        }
    }
}

impl Turn {
    async fn next(self, client: &Client) -> Result<Turn, Failure> {
        let key = Bytes::from_static(KEY);
        let op = |op| proto::RequestOp { op: Some(op) };
        let put = proto::PutRequest {
            key: key.clone(),
            value: self.revision.to_string().into(),
            ..proto::PutRequest::default()
        };
        let request = proto::TxnRequest {
            compare: vec![proto::Compare {
                result: 0,
                target: proto::COMPARE_VERSION,
                key: key.clone(),
                operand: Some(proto::Operand::Version(self.version)),
            }],
            success: vec![op(proto::Op::Put(put))],
            failure: vec![op(proto::Op::Range(single(key)))],
        };
        let answer = client.txn(&request).await?;
        let current = translate::revision_of(answer.header.as_ref());
        if !answer.succeeded {
            let found = answer.responses.into_iter().find_map(|response| match response.answer {
                Some(proto::OpAnswer::Range(read)) => read.kvs.into_iter().next(),
                _ => None,
            });
            return Ok(Turn { version: found.map_or(0, |kv| kv.version), revision: current });
        }
        let next = Turn { version: self.version + 1, revision: current };
        if self.revision > Revision::ZERO {
            match client.compact(translate::number(self.revision)).await {
                Ok(_) => tracing::debug!(revision = self.revision.0, "compacted etcd"),
                Err(failure) if failure.says(translate::COMPACTED) => {}
                Err(failure) => {
                    tracing::warn!(%failure, revision = self.revision.0, "etcd could not be compacted");
                }
            }
        }
        Ok(next)
    }
}
