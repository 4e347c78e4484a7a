//! A transaction of the store as a transaction of etcd.

use bytes::Bytes;
use prost::Message;

use super::{EtcdStore, proto, translate};
use crate::{Committed, Error, Expect, KeyValue, MAX_VALUE_BYTES, Result, Txn, Write};

/// Bound: an encoded request, as the reference's client has it. etcd itself refuses from 1.5 MiB on.
const MAX_REQUEST_BYTES: usize = 2 << 20;

impl EtcdStore {
    pub(super) async fn commit_txn(&self, txn: &Txn) -> Result<Committed> {
        txn.check(MAX_REQUEST_BYTES).map_err(|error| match error {
            Error::TooLarge { limit: MAX_REQUEST_BYTES } => Error::TooLarge { limit: MAX_VALUE_BYTES },
            other => other,
        })?;
        if txn.writes.is_empty() && txn.conditions.is_empty() {
            // etcd would answer this from whatever one member knows.
            return Ok(Committed { revision: self.newest().await?, previous: Vec::new() });
        }
        let request = self.request(txn).await?;
        let answer = match self.client.txn(&request).await {
            // A lease ends when its members were down for long: etcd refuses the whole transaction.
            Err(failure) if failure.says(translate::LEASE_NOT_FOUND) => {
                self.leases.forget();
                self.client.txn(&self.request(txn).await?).await
            }
            answer => answer,
        };
        let answer = answer.map_err(translate::error)?;
        self.saw(answer.header.as_ref());
        let answers = answer.responses.into_iter().map(|response| response.answer);
        let mut kvs = Vec::new();
        for answer in answers {
            kvs.push(self.first_kv(answer)?);
        }
        if !answer.succeeded {
            self.counters.conflict();
            return Err(Error::Conflict { current: kvs });
        }
        self.counters.commit();
        Ok(Committed { revision: translate::revision_of(answer.header.as_ref()), previous: kvs })
    }

    async fn request(&self, txn: &Txn) -> Result<proto::TxnRequest> {
        let mut request = proto::TxnRequest::default();
        for condition in &txn.conditions {
            let key = self.keyspace.outward(&condition.key)?;
            if let Some(revision) = expected(condition.expect) {
                request.compare.push(proto::Compare {
                    result: 0,
                    target: proto::COMPARE_MOD_REVISION,
                    key: key.clone(),
                    operand: Some(proto::Operand::ModRevision(revision)),
                });
            }
            request.failure.push(op(proto::Op::Range(single(key))));
        }
        for write in &txn.writes {
            let key = self.keyspace.outward(write.key())?;
            request.success.push(op(match write {
                Write::Delete { .. } => proto::Op::DeleteRange(proto::DeleteRangeRequest {
                    key,
                    range_end: Bytes::new(),
                    prev_kv: true,
                }),
                Write::Put { value, expires_in, .. } => {
                    let lease = match expires_in {
                        None => 0,
                        Some(time) => self.leases.of(&self.client, *time).await.map_err(translate::error)?,
                    };
                    proto::Op::Put(proto::PutRequest { key, value: value.clone(), lease, prev_kv: true })
                }
            }));
        }
        if request.encoded_len() > MAX_REQUEST_BYTES {
            return Err(Error::TooLarge { limit: MAX_VALUE_BYTES });
        }
        Ok(request)
    }

    /// What an operation found: what was there before a write, or what is there now.
    fn first_kv(&self, answer: Option<proto::OpAnswer>) -> Result<Option<KeyValue>> {
        let kv = match answer {
            None => return Err(Error::Corrupt("etcd left an operation unanswered".into())),
            Some(proto::OpAnswer::Put(put)) => put.prev_kv,
            Some(proto::OpAnswer::DeleteRange(deleted)) => deleted.prev_kvs.into_iter().next(),
            Some(proto::OpAnswer::Range(read)) => read.kvs.into_iter().next(),
        };
        Ok(kv.and_then(|kv| translate::key_value(kv, &self.keyspace)))
    }
}

/// The revision that a key must have been written at; 0 stands for a key that does not exist.
fn expected(expect: Expect) -> Option<i64> {
    match expect {
        Expect::Anything => None,
        Expect::Absent => Some(0),
        Expect::At(revision) => Some(translate::number(revision)),
    }
}

fn op(op: proto::Op) -> proto::RequestOp {
    proto::RequestOp { op: Some(op) }
}

pub(super) fn single(key: Bytes) -> proto::RangeRequest {
    proto::RangeRequest { key, ..proto::RangeRequest::default() }
}
