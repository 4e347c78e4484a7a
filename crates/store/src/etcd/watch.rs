//! A watch on etcd: one stream, its fragments put together, its events put in batches of one revision.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use prost::Message;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    Counters, EtcdStore,
    client::Client,
    grpc::{self, Answer, Failure},
    keyspace::Keyspace,
    link::Live,
    proto, translate,
};
use crate::{
    BoxFuture, Error, Event, EventBatch, EventKind, KeyRange, KeyValue, Result, Revision, Watch, WatchMessage,
};

const METHOD: &str = "etcdserverpb.Watch/Watch";
/// Bound: how long a member may take to open a watch.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);
/// Bound: how long a stream may be silent after a question. It is asked again meanwhile, since etcd leaves the
/// question unanswered while the watch is catching up.
const SILENCE: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// Bound: events of one revision held while its fragments come; etcd allows so many in a transaction by far.
const MAX_FRAGMENT_EVENTS: usize = 1 << 20;

pub(super) struct EtcdWatch {
    client: Arc<Client>,
    live: Arc<Live>,
    answer: Answer,
    requests: mpsc::Sender<Bytes>,
    /// Changes when somebody wants to know how far the watch is.
    progress_wanted: watch::Receiver<u64>,
    closed: watch::Receiver<bool>,
    asked: Option<Asked>,
    assembly: Assembly,
    _open: Open,
}

/// A question that nothing has come after.
#[derive(Copy, Clone)]
struct Asked {
    first: Instant,
    last: Instant,
}

/// Counts an open watch for as long as it is one.
struct Open(Arc<Counters>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.watch_closed();
    }
}

impl EtcdStore {
    pub(super) async fn open_watch(&self, keys: &KeyRange, after: Revision) -> Result<EtcdWatch> {
        let live = self.watches.live().await.map_err(translate::error)?;
        let widened = !live.version.tells_progress_in_order();
        // A member that cannot tell progress reliably is watched for every key: then each revision is an event.
        let range = if widened { KeyRange::all() } else { self.keyspace.range_outward(keys) };
        let (requests, answer) = self.open_stream(&live, &range, after).await?;
        self.counters.watch_opened();
        let mut watch = EtcdWatch {
            client: self.watches.clone(),
            live,
            answer,
            requests,
            progress_wanted: self.progress_wanted.subscribe(),
            closed: self.closed.subscribe(),
            asked: None,
            assembly: Assembly::new(keys.clone(), self.keyspace.clone(), after, widened),
            _open: Open(self.counters.clone()),
        };
        watch.wait_until_open().await?;
        Ok(watch)
    }

    async fn open_stream(
        &self,
        live: &Arc<Live>,
        range: &KeyRange,
        after: Revision,
    ) -> Result<(mpsc::Sender<Bytes>, Answer)> {
        let (key, range_end) = translate::bounds(range);
        let create = proto::WatchCreateRequest {
            key,
            range_end,
            // From `after` itself, though what happened there is known: etcd then refuses when it has compacted
            // that revision. One later, it might have forgotten a deletion and not say so.
            start_revision: translate::number(after).max(1),
            progress_notify: true,
            prev_kv: true,
            fragment: true,
        };
        let request = proto::WatchRequest { op: Some(proto::WatchOp::Create(create)) };
        match live.stream(METHOD, &request, OPEN_PATIENCE).await {
            Ok(opened) => Ok(opened),
            Err(failure) => {
                self.watches.after(&failure, live).await;
                Err(translate::error(failure))
            }
        }
    }

    /// The oldest revision that etcd still has: it tells those who want to watch from the very first.
    pub(super) async fn oldest(&self) -> Result<Revision> {
        match self.open_watch(&KeyRange::key(self.keyspace.key_below_prefix("")), Revision::FIRST).await {
            Ok(mut watch) => match tokio::time::timeout(OPEN_PATIENCE, watch.next_message()).await {
                Ok(Err(Error::Compacted { oldest })) => Ok(oldest),
                Ok(Err(error)) => Err(error),
                _ => Ok(Revision::FIRST),
            },
            Err(Error::Compacted { oldest }) => Ok(oldest),
            Err(error) => Err(error),
        }
    }
}

impl EtcdWatch {
    async fn wait_until_open(&mut self) -> Result<()> {
        let opened = tokio::time::timeout(OPEN_PATIENCE, self.answer.next()).await;
        let answer = opened.unwrap_or(Err(Failure::TimedOut));
        let response = self.decoded(answer).await?;
        if response.canceled {
            return Err(canceled(&response));
        }
        Ok(())
    }

    async fn next_message(&mut self) -> Result<WatchMessage> {
        loop {
            if let Some(message) = self.assembly.ready.pop_front() {
                return Ok(message);
            }
            if *self.closed.borrow() {
                return Err(Error::closed());
            }
            tokio::select! {
                biased; // what has come counts before how long it took
                _ = self.closed.changed() => return Err(Error::closed()),
                answer = self.answer.next() => {
                    self.asked = None;
                    let response = self.decoded(answer).await?;
                    self.assembly.take(response)?;
                }
                Ok(()) = self.progress_wanted.changed() => self.ask(),
                () = ask_again(self.asked) => {
                    if self.asked.is_some_and(|asked| asked.first.elapsed() >= SILENCE) {
                        self.client.after(&Failure::TimedOut, &self.live).await;
                        return Err(translate::error(Failure::TimedOut));
                    }
                    self.ask();
                }
            }
        }
    }

    /// Asks how far the watch is. Of a member whose answer cannot be relied upon, it at least shows that it lives.
    fn ask(&mut self) {
        let progress = proto::WatchOp::Progress(proto::WatchProgressRequest {});
        // When the last request still waits to be sent, it will tell the same.
        let _ = self.requests.try_send(grpc::frame(&proto::WatchRequest { op: Some(progress) }));
        let now = Instant::now();
        self.asked = Some(Asked { first: self.asked.map_or(now, |asked| asked.first), last: now });
    }

    async fn decoded(&self, answer: Result<Option<Bytes>, Failure>) -> Result<proto::WatchResponse> {
        let decoded = match answer {
            Ok(Some(message)) => proto::WatchResponse::decode(message)
                .map_err(|error| Failure::Broken(format!("the answer is no gRPC: {error}"))),
            Ok(None) => Err(Failure::Broken("etcd ended the watch".to_owned())),
            Err(failure) => Err(failure),
        };
        match decoded {
            Ok(response) => Ok(response),
            Err(failure) => {
                self.client.after(&failure, &self.live).await;
                Err(translate::error(failure))
            }
        }
    }
}

impl Watch for EtcdWatch {
    fn next(&mut self) -> BoxFuture<'_, Result<WatchMessage>> {
        Box::pin(self.next_message())
    }
}

/// Resolves when a question has been unanswered for a while; never, when there is none.
async fn ask_again(asked: Option<Asked>) {
    match asked {
        Some(asked) => tokio::time::sleep_until(asked.last + ASK_AGAIN).await,
        None => std::future::pending().await,
    }
}

fn canceled(response: &proto::WatchResponse) -> Error {
    if response.compact_revision > 0 {
        return Error::Compacted { oldest: translate::revision(response.compact_revision) };
    }
    let reason = if response.cancel_reason.is_empty() {
        "etcd ended the watch".to_owned()
    } else {
        response.cancel_reason.clone()
    };
    translate::error(Failure::Broken(reason))
}

/// Makes messages of responses. Knows no network.
struct Assembly {
    keys: KeyRange,
    keyspace: Keyspace,
    /// Told up to here, or not wanted.
    seen: Revision,
    /// All keys are watched, and the others' are progress.
    widened: bool,
    /// Events whose response is not whole yet.
    fragments: Vec<proto::Event>,
    ready: VecDeque<WatchMessage>,
}

impl Assembly {
    fn new(keys: KeyRange, keyspace: Keyspace, after: Revision, widened: bool) -> Self {
        Assembly { keys, keyspace, seen: after, widened, fragments: Vec::new(), ready: VecDeque::new() }
    }

    fn take(&mut self, response: proto::WatchResponse) -> Result<()> {
        if response.canceled {
            return Err(canceled(&response));
        }
        if response.created {
            return Ok(());
        }
        if response.events.is_empty() && !response.fragment && self.fragments.is_empty() {
            // Of a widened watch it may be wrong, and is not needed.
            if !self.widened {
                self.progress(translate::revision_of(response.header.as_ref()));
            }
            return Ok(());
        }
        self.fragments.extend(response.events);
        if response.fragment {
            return match self.fragments.len() {
                0..MAX_FRAGMENT_EVENTS => Ok(()),
                _ => Err(Error::Corrupt("etcd sends one revision without end".into())),
            };
        }
        for batch in std::mem::take(&mut self.fragments).chunk_by(|one, next| revision(one) == revision(next))
        {
            self.batch(batch)?;
        }
        Ok(())
    }

    fn batch(&mut self, events: &[proto::Event]) -> Result<()> {
        let revision = events.first().map_or(Revision::ZERO, revision);
        if revision <= self.seen {
            return Ok(());
        }
        let mut batch = EventBatch { revision, events: Vec::new() };
        for event in events {
            batch.events.extend(self.event(event, revision)?);
        }
        if batch.events.is_empty() {
            self.progress(revision);
        } else {
            self.seen = revision;
            self.ready.push_back(WatchMessage::Events(Arc::new(batch)));
        }
        Ok(())
    }

    /// `None`: somebody else's key.
    fn event(&self, event: &proto::Event, revision: Revision) -> Result<Option<Event>> {
        let Some(kv) = event.kv.clone().and_then(|kv| translate::key_value(kv, &self.keyspace)) else {
            return Ok(None);
        };
        if !self.keys.contains(&kv.key) {
            return Ok(None);
        }
        let previous = event.prev_kv.clone().and_then(|kv| translate::key_value(kv, &self.keyspace));
        let (kind, kv) = match event.kind {
            1 => (EventKind::Delete, KeyValue::tombstone(kv.key, revision)),
            _ => (EventKind::Put, kv),
        };
        // What was there before has been compacted away since.
        if previous.is_none() && kv.create_revision != revision {
            return Err(Error::Compacted { oldest: revision });
        }
        Ok(Some(Event { kind, kv, previous }))
    }

    fn progress(&mut self, revision: Revision) {
        if revision <= self.seen {
            // Nothing new, but perhaps what somebody waits to hear.
            if revision == self.seen && self.ready.is_empty() {
                self.ready.push_back(WatchMessage::Progress(revision));
            }
            return;
        }
        self.seen = revision;
        match self.ready.back_mut() {
            Some(WatchMessage::Progress(last)) => *last = revision,
            _ => self.ready.push_back(WatchMessage::Progress(revision)),
        }
    }
}

fn revision(event: &proto::Event) -> Revision {
    event.kv.as_ref().map_or(Revision::ZERO, |kv| translate::revision(kv.mod_revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &'static str, revision: i64) -> proto::Event {
        let kv = proto::KeyValue {
            key: key.into(),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            ..proto::KeyValue::default()
        };
        proto::Event { kind: 0, kv: Some(kv), prev_kv: None }
    }

    fn response(revision: i64, fragment: bool, events: Vec<proto::Event>) -> proto::WatchResponse {
        let header = Some(proto::Header { revision });
        proto::WatchResponse { header, fragment, events, ..proto::WatchResponse::default() }
    }

    fn told(assembly: &mut Assembly) -> Vec<String> {
        let text = |message| match message {
            WatchMessage::Progress(revision) => format!("{revision}"),
            WatchMessage::Events(batch) => {
                let keys: Vec<_> = batch.events.iter().map(|event| event.kv.key.escape_ascii()).collect();
                let keys: Vec<_> = keys.into_iter().map(|key| key.to_string()).collect();
                format!("{}:{}", batch.revision, keys.join(","))
            }
        };
        assembly.ready.drain(..).map(text).collect()
    }

    fn assembly(after: u64, widened: bool) -> Assembly {
        Assembly::new(KeyRange::prefix("/a"), Keyspace::default(), Revision(after), widened)
    }

    #[test]
    fn all_keys_of_a_revision_come_together_however_they_are_sent() {
        let mut assembly = assembly(5, false);
        assembly.take(response(9, true, vec![put("/a1", 5), put("/a2", 6)])).unwrap();
        assembly.take(response(9, true, vec![put("/a3", 6)])).unwrap();
        assert_eq!(told(&mut assembly), [""; 0]);
        assembly.take(response(9, false, vec![put("/a4", 6), put("/a5", 9)])).unwrap();
        assert_eq!(told(&mut assembly), ["6:/a2,/a3,/a4", "9:/a5"]);
    }

    #[test]
    fn progress_never_goes_back() {
        let mut assembly = assembly(5, false);
        assembly.take(response(4, false, Vec::new())).unwrap();
        assert_eq!(told(&mut assembly), [""; 0]);
        assembly.take(response(8, false, Vec::new())).unwrap();
        assembly.take(response(7, false, Vec::new())).unwrap();
        assembly.take(response(9, false, vec![put("/a", 9)])).unwrap();
        assert_eq!(told(&mut assembly), ["8", "9:/a"]);
    }

    #[test]
    fn a_widened_watch_takes_others_keys_as_progress_and_nothing_else() {
        let mut assembly = assembly(5, true);
        assembly.take(response(8, false, Vec::new())).unwrap();
        assert_eq!(told(&mut assembly), [""; 0]);
        let events = vec![put("/b", 6), put("/b", 7), put("/a", 8), put("/c", 9)];
        assembly.take(response(9, false, events)).unwrap();
        assert_eq!(told(&mut assembly), ["7", "8:/a", "9"]);
    }

    #[test]
    fn an_event_without_what_it_replaced_is_not_told() {
        let mut assembly = assembly(5, false);
        let mut event = put("/a", 6);
        event.kv.as_mut().unwrap().create_revision = 3;
        let result = assembly.take(response(6, false, vec![event]));
        assert!(matches!(result, Err(Error::Compacted { oldest: Revision(6) })));
        let deleted = proto::Event { kind: 1, ..put("/a", 7) };
        let result = assembly.take(response(7, false, vec![deleted]));
        assert!(matches!(result, Err(Error::Compacted { .. })));
    }
}
