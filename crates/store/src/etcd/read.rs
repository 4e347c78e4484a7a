//! Ranges, in pages whose size follows the size of the objects.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;

use super::{EtcdStore, commit::single, proto, translate};
use crate::{Clock, Error, KeyValue, Range, RangeResult, Result, Revision, SystemClock, UnixSeconds, What};

/// Bound: keys of the first page.
const FIRST_PAGE: usize = 500;
/// Bound: keys of any page.
const LARGEST_PAGE: usize = 10_000;
/// What a page should weigh: enough to make the round trip worth it, little enough to be held twice.
const PAGE_BYTES: usize = 4 << 20;

impl EtcdStore {
    pub(super) async fn read_range(&self, range: &Range) -> Result<RangeResult> {
        let keys = self.keyspace.range_outward(&range.keys);
        if keys.is_empty() {
            let revision = self.newest().await?;
            return Ok(RangeResult { kvs: Vec::new(), more: false, count: 0, revision });
        }
        loop {
            match self.pages(range, translate::bounds(&keys)).await {
                // The pages that follow the first were given up meanwhile: the newest state is a newer one now.
                Err(Error::Compacted { .. }) if range.at.is_none() => {}
                result => return result,
            }
        }
    }

    async fn pages(&self, range: &Range, (mut start, end): (Bytes, Bytes)) -> Result<RangeResult> {
        let limit = if range.limit == 0 { usize::MAX } else { range.limit };
        let mut page = FIRST_PAGE;
        let mut at = range.at;
        let mut result = RangeResult { kvs: Vec::new(), more: false, count: 0, revision: Revision::ZERO };
        loop {
            let wanted = page.min(limit - result.kvs.len());
            let request = proto::RangeRequest {
                key: start,
                range_end: end.clone(),
                limit: i64::try_from(wanted).unwrap_or(i64::MAX),
                revision: at.map_or(0, translate::number),
                keys_only: range.what == What::Keys,
                count_only: range.what == What::Count,
            };
            let answer = self.read(&request).await?;
            if result.revision == Revision::ZERO {
                result.revision = translate::revision_of(answer.header.as_ref());
                result.count = u64::try_from(answer.count).unwrap_or(0);
                at = at.or(Some(result.revision));
            }
            page = next_page(&answer.kvs);
            start = answer.kvs.last().map(|kv| after(&kv.key)).unwrap_or_default();
            let ends = if range.expiry { self.ends(&answer.kvs).await? } else { HashMap::new() };
            for kv in answer.kvs {
                let expires_at = ends.get(&kv.lease).copied();
                let kv = translate::key_value(kv, &self.keyspace);
                result.kvs.extend(kv.map(|kv| KeyValue { expires_at, ..kv }));
            }
            result.more = answer.more;
            if !answer.more || result.kvs.len() >= limit || start.is_empty() {
                return Ok(result);
            }
        }
    }

    /// When the leases of these keys end.
    async fn ends(&self, kvs: &[proto::KeyValue]) -> Result<HashMap<i64, UnixSeconds>> {
        let mut ends = HashMap::new();
        for kv in kvs.iter().filter(|kv| kv.lease != 0) {
            if ends.contains_key(&kv.lease) {
                continue;
            }
            let now = SystemClock.now();
            let left = self.client.time_to_live(kv.lease).await.map_err(translate::error)?.time_to_live;
            ends.insert(kv.lease, now.after(Duration::from_secs(u64::try_from(left).unwrap_or(0))));
        }
        Ok(ends)
    }

    async fn read(&self, request: &proto::RangeRequest) -> Result<proto::RangeResponse> {
        match self.client.range(request).await {
            Ok(answer) => {
                self.saw(answer.header.as_ref());
                Ok(answer)
            }
            Err(failure) if failure.says(translate::COMPACTED) => {
                Err(Error::Compacted { oldest: self.oldest().await? })
            }
            Err(failure) if failure.says(translate::FUTURE) => {
                Err(Error::FutureRevision { current: self.newest().await? })
            }
            Err(failure) => Err(translate::error(failure)),
        }
    }

    /// The newest revision. Those who ask at the same time share one question, asked after they came.
    pub(super) async fn newest(&self) -> Result<Revision> {
        self.newest
            .ask(async || {
                let request = proto::RangeRequest { keys_only: true, ..single(self.keyspace.some_key()) };
                let answer = self.client.range(&request).await.map_err(translate::error)?;
                self.saw(answer.header.as_ref());
                Ok(translate::revision_of(answer.header.as_ref()))
            })
            .await
    }
}

/// How many keys weigh about a page, going by those of the last one.
fn next_page(kvs: &[proto::KeyValue]) -> usize {
    let bytes: usize = kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
    let each = (bytes / kvs.len().max(1)).max(1);
    (PAGE_BYTES / each).clamp(1, LARGEST_PAGE)
}

fn after(key: &Bytes) -> Bytes {
    [&key[..], &[0]].concat().into()
}
