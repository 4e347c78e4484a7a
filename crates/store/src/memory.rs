//! The store in memory: for tests and for servers that need not remember.
//!
//! One lock, ordered maps, no cleverness: it is also the model the other backends are compared to.
//! A thread of its own lets keys expire and gives up old history; it ends with the store.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future;
use parking_lot::Mutex;
use tokio::sync::watch as signal;

use crate::{
    BoxFuture, Clock, Committed, Error, Event, EventBatch, EventKind, KeyRange, KeyValue, MAX_VALUE_BYTES,
    Observer, Range, RangeResult, Result, Revision, Stats, Store, SystemClock, Txn, UnixSeconds, Watch,
    WatchMessage, What, Write, retention::Ages,
};

/// How a [`MemoryStore`] behaves.
#[derive(Clone)]
pub struct Options {
    /// The largest transaction, keys and values together.
    pub max_bytes: usize,
    /// How long superseded values and events are kept.
    pub keep_history: Duration,
    /// How often expiry and the age of history are looked at.
    pub housekeeping: Duration,
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_bytes: MAX_VALUE_BYTES,
            keep_history: Duration::from_mins(5),
            housekeeping: Duration::from_secs(1),
            clock: Arc::new(SystemClock),
        }
    }
}

/// See the [module documentation](self). Clones share one store.
#[derive(Clone)]
pub struct MemoryStore(Arc<Shared>);

struct Shared {
    options: Options,
    state: Mutex<State>,
}

struct State {
    current: Revision,
    compacted: Revision,
    /// Every kept version of every key, oldest first. `None` as value is a deletion.
    versions: BTreeMap<Bytes, Vec<(Revision, Option<KeyValue>)>>,
    /// Every batch after `compacted`.
    history: VecDeque<Arc<EventBatch>>,
    expiries: BTreeSet<(UnixSeconds, Bytes)>,
    ages: Ages,
    observers: Vec<Arc<dyn Observer>>,
    /// Tells watches that there is more to read. `None` when the store is closed.
    signal: Option<signal::Sender<Revision>>,
    stats: Stats,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl MemoryStore {
    pub fn new(options: Options) -> Self {
        let interval = options.housekeeping;
        let state = State {
            current: Revision::FIRST,
            compacted: Revision::ZERO,
            versions: BTreeMap::new(),
            history: VecDeque::new(),
            expiries: BTreeSet::new(),
            ages: Ages::new(options.keep_history),
            observers: Vec::new(),
            signal: Some(signal::channel(Revision::FIRST).0),
            stats: Stats::default(),
        };
        let shared = Arc::new(Shared { options, state: Mutex::new(state) });
        let weak = Arc::downgrade(&shared);
        // Without the thread the store still works; keys then outlive their time.
        let spawned =
            thread::Builder::new().name("store-memory".into()).spawn(move || keep_house(&weak, interval));
        drop(spawned);
        Self(shared)
    }
}

/// Ends when the store is gone or closed. Holds the store only while it works.
fn keep_house(shared: &Weak<Shared>, interval: Duration) {
    while let Some(shared) = shared.upgrade() {
        let mut state = shared.state.lock();
        if state.signal.is_none() {
            return;
        }
        state.keep_house(shared.options.clock.now());
        drop(state);
        drop(shared);
        thread::sleep(interval);
    }
}

impl State {
    fn newest(&self, key: &[u8]) -> Option<&KeyValue> {
        self.versions.get(key)?.last()?.1.as_ref()
    }

    fn commit(&mut self, txn: Txn, now: UnixSeconds) -> Result<Committed> {
        self.check_open()?;
        let holds = |condition: &crate::Condition| {
            condition.expect.holds(self.newest(&condition.key).map(|kv| kv.mod_revision))
        };
        if !txn.conditions.iter().all(holds) {
            self.stats.conflicts += 1;
            let current = txn.conditions.iter().map(|condition| self.newest(&condition.key).cloned());
            return Err(Error::Conflict { current: current.collect() });
        }
        let revision = self.current.next();
        let previous: Vec<_> = txn.writes.iter().map(|write| self.newest(write.key()).cloned()).collect();
        let writes = txn.writes.into_iter().zip(&previous);
        let events: Vec<Event> =
            writes.filter_map(|(write, previous)| event(write, previous.clone(), revision, now)).collect();
        if events.is_empty() {
            return Ok(Committed { revision: self.current, previous });
        }
        self.publish(EventBatch { revision, events });
        Ok(Committed { revision, previous })
    }

    fn publish(&mut self, batch: EventBatch) {
        for event in &batch.events {
            if let Some(expires_at) = event.previous.as_ref().and_then(|kv| kv.expires_at) {
                self.expiries.remove(&(expires_at, event.kv.key.clone()));
            }
            if let Some(expires_at) = event.kv.expires_at {
                self.expiries.insert((expires_at, event.kv.key.clone()));
            }
            let kept = (event.kind == EventKind::Put).then(|| event.kv.clone());
            self.versions.entry(event.kv.key.clone()).or_default().push((batch.revision, kept));
        }
        self.current = batch.revision;
        self.stats.commits += 1;
        let batch = Arc::new(batch);
        for observer in &self.observers {
            observer.committed(&batch);
        }
        self.history.push_back(batch);
        if let Some(signal) = &self.signal {
            signal.send_replace(self.current);
        }
    }

    fn range(&self, range: &Range) -> Result<RangeResult> {
        self.check_open()?;
        let at = range.at.unwrap_or(self.current);
        if at > self.current {
            return Err(Error::FutureRevision { current: self.current });
        }
        if at < self.compacted {
            return Err(Error::Compacted { oldest: self.compacted });
        }
        let mut result = RangeResult { kvs: Vec::new(), more: false, count: 0, revision: self.current };
        if range.keys.is_empty() {
            return Ok(result);
        }
        for versions in self.versions.range::<[u8], _>(bounds(&range.keys)).map(|(_, versions)| versions) {
            let Some(mut kv) = at_revision(versions, at) else { continue };
            result.count += 1;
            if range.what == What::Count {
                continue;
            }
            if range.limit > 0 && result.kvs.len() == range.limit {
                result.more = true;
                break;
            }
            if range.what == What::Keys {
                kv.value = Bytes::new();
            }
            result.kvs.push(kv);
        }
        Ok(result)
    }

    fn compact(&mut self, oldest: Revision) -> Result<()> {
        self.check_open()?;
        if oldest > self.current {
            return Err(Error::FutureRevision { current: self.current });
        }
        if oldest <= self.compacted {
            return Ok(());
        }
        self.compacted = oldest;
        let given_up = self.history.partition_point(|batch| batch.revision <= oldest);
        for batch in self.history.drain(..given_up) {
            for event in &batch.events {
                forget_before(&mut self.versions, &event.kv.key, oldest);
            }
        }
        Ok(())
    }

    fn keep_house(&mut self, now: UnixSeconds) {
        while let Some((expires_at, key)) = self.expiries.first().cloned()
            && expires_at <= now
        {
            self.stats.expired += 1;
            let delete = Txn { conditions: Vec::new(), writes: vec![Write::Delete { key }] };
            // Publishing takes the key out of `expiries`, so this ends.
            self.commit(delete, now).expect("an unconditional delete in an open store cannot fail");
        }
        if let Some(oldest) = self.ages.turn(now, self.current) {
            self.compact(oldest).expect("a revision that was current can be compacted");
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.signal.is_some() { Ok(()) } else { Err(Error::closed()) }
    }
}

fn at_revision(versions: &[(Revision, Option<KeyValue>)], revision: Revision) -> Option<KeyValue> {
    let count = versions.partition_point(|version| version.0 <= revision);
    versions[..count].last()?.1.clone()
}

/// What a write changes; `None` for the deletion of an absent key.
fn event(write: Write, previous: Option<KeyValue>, revision: Revision, now: UnixSeconds) -> Option<Event> {
    match write {
        Write::Put { key, value, expires_in } => {
            let kv = KeyValue {
                key,
                value,
                create_revision: previous.as_ref().map_or(revision, |kv| kv.create_revision),
                mod_revision: revision,
                version: previous.as_ref().map_or(0, |kv| kv.version) + 1,
                expires_at: expires_in.map(|time_to_live| now.after(time_to_live)),
            };
            Some(Event { kind: EventKind::Put, kv, previous })
        }
        Write::Delete { key } => previous.map(|previous| Event {
            kind: EventKind::Delete,
            kv: KeyValue::tombstone(key, revision),
            previous: Some(previous),
        }),
    }
}

/// Drops the versions of a key that nobody can ask for any more.
fn forget_before(
    versions: &mut BTreeMap<Bytes, Vec<(Revision, Option<KeyValue>)>>,
    key: &Bytes,
    oldest: Revision,
) {
    let Some(kept) = versions.get_mut(key) else { return };
    let superseded = kept.partition_point(|version| version.0 <= oldest).saturating_sub(1);
    kept.drain(..superseded);
    if matches!(&kept[..], [(_, None)]) {
        versions.remove(key);
    }
}

fn bounds(keys: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let end = if keys.end.is_empty() { Bound::Unbounded } else { Bound::Excluded(&keys.end[..]) };
    (Bound::Included(&keys.start[..]), end)
}

impl Store for MemoryStore {
    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<Committed>> {
        let answer = txn
            .check(self.0.options.max_bytes)
            .and_then(|()| self.0.state.lock().commit(txn, self.0.options.clock.now()));
        Box::pin(future::ready(answer))
    }

    fn range(&self, range: Range) -> BoxFuture<'_, Result<RangeResult>> {
        Box::pin(future::ready(self.0.state.lock().range(&range)))
    }

    fn watch(&self, keys: KeyRange, after: Revision) -> BoxFuture<'_, Result<Box<dyn Watch>>> {
        let state = self.0.state.lock();
        let answer = match &state.signal {
            None => Err(Error::closed()),
            Some(_) if after < state.compacted => Err(Error::Compacted { oldest: state.compacted }),
            Some(signal) => Ok(Box::new(MemoryWatch {
                shared: Arc::clone(&self.0),
                signal: signal.subscribe(),
                keys,
                seen: after,
                told: after,
            }) as Box<dyn Watch>),
        };
        Box::pin(future::ready(answer))
    }

    fn current(&self) -> BoxFuture<'_, Result<Revision>> {
        let state = self.0.state.lock();
        Box::pin(future::ready(state.check_open().map(|()| state.current)))
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(future::ready(self.0.state.lock().compact(oldest)))
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Option<Revision> {
        let mut state = self.0.state.lock();
        state.observers.push(observer);
        Some(state.current)
    }

    fn stats(&self) -> Stats {
        let state = self.0.state.lock();
        Stats {
            current: state.current,
            writable: state.signal.is_some(),
            compacted: state.compacted,
            history: state.history.len() as u64,
            watches: state.signal.as_ref().map_or(0, |signal| signal.receiver_count() as u64),
            ..state.stats
        }
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        let mut state = self.0.state.lock();
        state.signal = None;
        // Observers may hold the store in turn: let them go.
        state.observers.clear();
        Box::pin(future::ready(Ok(())))
    }
}

struct MemoryWatch {
    shared: Arc<Shared>,
    signal: signal::Receiver<Revision>,
    keys: KeyRange,
    /// History up to here has been looked at.
    seen: Revision,
    /// The reader knows that nothing up to here is missing.
    told: Revision,
}

impl MemoryWatch {
    /// What can be told without waiting.
    fn ready(&mut self) -> Result<Option<WatchMessage>> {
        let state = self.shared.state.lock();
        state.check_open()?;
        if self.seen < state.compacted {
            return Err(Error::Compacted { oldest: state.compacted });
        }
        let unseen = state.history.partition_point(|batch| batch.revision <= self.seen);
        for batch in state.history.range(unseen..) {
            self.seen = batch.revision;
            if let Some(batch) = batch.within(&self.keys) {
                self.told = batch.revision;
                return Ok(Some(WatchMessage::Events(batch)));
            }
        }
        if self.told < self.seen {
            self.told = self.seen;
            return Ok(Some(WatchMessage::Progress(self.seen)));
        }
        Ok(None)
    }
}

impl Watch for MemoryWatch {
    fn next(&mut self) -> BoxFuture<'_, Result<WatchMessage>> {
        Box::pin(async move {
            loop {
                // Marked as seen before looking: what comes after the look wakes the wait.
                self.signal.mark_unchanged();
                if let Some(message) = self.ready()? {
                    return Ok(message);
                }
                self.signal.changed().await.map_err(|_| Error::closed())?;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_watch_is_told_what_a_commit_changed_and_what_it_skipped() {
        let store = MemoryStore::default();
        let mut watch = store.watch(KeyRange::prefix("/a/"), Revision::FIRST).await.unwrap();
        let first = store.commit(Txn::create("/a/1", "x")).await.unwrap().revision;
        let second = store.commit(Txn::create("/b/1", "x")).await.unwrap().revision;
        let WatchMessage::Events(batch) = watch.next().await.unwrap() else { panic!("events first") };
        assert_eq!((batch.revision, &batch.events[0].kv.key[..]), (first, &b"/a/1"[..]));
        assert!(
            matches!(watch.next().await.unwrap(), WatchMessage::Progress(revision) if revision == second)
        );
        store.close().await.unwrap();
        assert!(matches!(watch.next().await, Err(Error::Unavailable(_))));
    }

    #[tokio::test]
    async fn the_housekeeper_lets_keys_expire() {
        let clock = crate::ManualClock::starting_at(UnixSeconds(1000));
        let store = MemoryStore::new(Options {
            clock: Arc::new(clock.clone()),
            housekeeping: Duration::from_millis(1),
            ..Options::default()
        });
        let txn = Txn::create("/a", "x").expiring_in(Duration::from_mins(1));
        let created = store.commit(txn).await.unwrap().revision;
        let mut watch = store.watch(KeyRange::all(), created).await.unwrap();
        clock.advance(Duration::from_mins(1));
        let WatchMessage::Events(batch) = watch.next().await.unwrap() else { panic!("no events") };
        assert_eq!(batch.events[0].kind, EventKind::Delete);
        assert_eq!(batch.events[0].previous.as_ref().unwrap().value, "x");
    }
}
