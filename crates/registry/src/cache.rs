//! The watch cache of one resource: its objects in key order, and the recent changes to them.
//!
//! One writer (the feed) applies changes in revision order. Readers take a snapshot, which is a reference to
//! an immutable map, and hold no lock while they work. Watchers hold a cursor into the ring of recent
//! changes and nothing else, so that a thousand of them cost no memory per change and a slow one costs
//! nobody anything: when it has fallen out of the ring it goes on from the store's history
//! (see [`crate::watch`]).
//!
//! A cache is cold until somebody asks for its resource; a definition that nobody uses costs nothing.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use imbl::OrdMap;
use meta::Text;
use parking_lot::{Mutex, RwLock};
use store::Revision;
use tokio::sync::Notify;

use crate::index::{By, Candidates, INDEXED_FROM, Index, Indexes, Narrow};
use crate::object::{self, FieldPaths, Foreign, Object};
use crate::wakeups::Wakeups;

/// Bound: changes kept in the ring of one resource.
const RING_EVENTS: usize = 8192;
/// Bound: bytes of replaced and removed objects that the ring of one resource keeps alive.
const RING_BYTES: usize = 4 << 20;
/// Bound: the newest changes whose encoded forms are kept for all watchers. Those who follow are within a few.
const RING_FRAMES: usize = 256;
/// Bound: older states kept for lists that are read page by page.
const PAGING_SNAPSHOTS: usize = 8;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

/// One change of one object, shared by all who watch.
#[derive(Debug)]
pub struct Event {
    pub change: Change,
    pub revision: Revision,
    /// The object after the change; of a deletion, the last state under the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the change.
    pub previous: Option<Arc<Object>>,
    /// None once so many changes came since that hardly anybody asks any more.
    frames: Option<Box<Frames>>,
}

impl Event {
    pub(crate) fn new(
        change: Change,
        revision: Revision,
        object: Arc<Object>,
        previous: Option<Arc<Object>>,
    ) -> Self {
        Event { change, revision, object, previous, frames: Some(Box::default()) }
    }

    /// The encoded event for one way of showing it, made once and shared.
    ///
    /// `change` is what a watcher sees it as; `form` names version and form: equal texts must mean equal bytes.
    pub fn frame(&self, change: Change, form: &Arc<str>, encode: impl FnOnce() -> Bytes) -> Bytes {
        match &self.frames {
            Some(frames) => frames.get(change, form, encode),
            None => encode(),
        }
    }

    /// Whether the object is there after the change.
    pub(crate) fn is_present(&self) -> bool {
        self.change != Change::Deleted
    }

    /// The same without what was encoded: who comes so late encodes for itself.
    fn retired(&self) -> Self {
        let (object, previous) = (self.object.clone(), self.previous.clone());
        Event { change: self.change, revision: self.revision, object, previous, frames: None }
    }
}

/// An encoded event, and the way of showing it that this is.
#[derive(Debug)]
struct Frame {
    change: Change,
    form: Arc<str>,
    bytes: Bytes,
}

impl Frame {
    fn shows(&self, change: Change, form: &Arc<str>) -> bool {
        self.change == change && (Arc::ptr_eq(&self.form, form) || self.form == *form)
    }
}

/// Encoded events. Nearly always there is one form, which needs no lock.
#[derive(Debug, Default)]
struct Frames {
    first: OnceLock<Frame>,
    others: Mutex<Vec<Frame>>,
}

impl Frames {
    fn get(&self, change: Change, form: &Arc<str>, encode: impl FnOnce() -> Bytes) -> Bytes {
        let mut encode = Some(encode);
        let mut make = || {
            let bytes = encode.take().map_or_else(Bytes::new, |encode| encode());
            Frame { change, form: form.clone(), bytes }
        };
        let first = self.first.get_or_init(&mut make);
        if first.shows(change, form) {
            return first.bytes.clone();
        }
        let mut others = self.others.lock();
        if let Some(frame) = others.iter().find(|frame| frame.shows(change, form)) {
            return frame.bytes.clone();
        }
        let frame = make();
        let bytes = frame.bytes.clone();
        others.push(frame);
        bytes
    }
}

/// An object in the map, with a summary of its labels beside it so that most objects that a selector does
/// not match are passed over without being touched.
#[derive(Clone, Debug)]
pub struct Entry {
    pub object: Arc<Object>,
    label_bits: u64,
}

impl Entry {
    fn new(object: Arc<Object>) -> Self {
        let label_bits = object.labels().iter().fold(0, |bits, (key, value)| bits | label_bits(key, value));
        Entry { object, label_bits }
    }

    /// False only when the object certainly lacks one of the labels that `bits` was made of.
    pub fn may_have(&self, bits: u64) -> bool {
        self.label_bits & bits == bits
    }
}

/// A summary of one label: two of 64 bits.
pub fn label_bits(key: &str, value: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64; // FNV-1a: short inputs, no secrets
    for byte in key.bytes().chain([b'=']).chain(value.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (1 << (hash & 63)) | (1 << ((hash >> 32) & 63))
}

/// The objects of a resource by `namespace/name` or `name`.
pub type Objects = OrdMap<Text, Entry>;

/// The objects in a namespace; with an empty one, all.
pub fn in_namespace<'a>(objects: &'a Objects, namespace: &str) -> impl Iterator<Item = &'a Entry> {
    let start = if namespace.is_empty() { Text::default() } else { join_key(namespace, "") };
    let end = (!namespace.is_empty()).then(|| Text::from([namespace, "0"].concat())); // '0' follows '/'
    let end = end.map_or(Bound::Unbounded, Bound::Excluded);
    objects.range((Bound::Included(start), end)).map(|(_, entry)| entry)
}

/// A consistent state of a resource.
#[derive(Clone)]
pub struct Snapshot {
    pub objects: Objects,
    /// Everything up to here is in it, and nothing after.
    pub revision: Revision,
    /// The cursor of a watch that goes on from this state.
    pub cursor: u64,
}

/// A state that pages of a list are read from.
pub(crate) struct Kept {
    pub(crate) revision: Revision,
    pub(crate) objects: Objects,
    /// What the list is narrowed to.
    pub(crate) candidates: Option<(By, Candidates)>,
}

/// See the module's description.
pub struct Cache {
    /// All keys of the resource start with this.
    pub prefix: Bytes,
    /// Lock order: never taken while `state` is held.
    fields: RwLock<Arc<FieldPaths>>,
    state: RwLock<State>,
    /// The cursor behind the newest change, for those who only want to know whether there is something new.
    head: AtomicU64,
    /// Those who follow the changes.
    pub(crate) wakeups: Arc<Wakeups>,
    /// Those who wait for one change.
    changed: Arc<Notify>,
    /// The resource is no longer served: nothing will come any more.
    closed: AtomicBool,
    pub(crate) loaded: tokio::sync::OnceCell<()>,
    foreign: Foreign,
}

struct State {
    phase: Phase,
    objects: Objects,
    /// The revision of the newest change applied here.
    revision: Revision,
    ring: VecDeque<Arc<Event>>,
    /// The cursor of the ring's first event.
    ring_start: u64,
    /// Changes up to and including this revision are not in the ring any more.
    ring_floor: Revision,
    ring_bytes: usize,
    paging: VecDeque<Kept>,
    indexes: Indexes,
}

enum Phase {
    /// Nobody asked yet: changes are not kept.
    Cold,
    /// The objects are being read: changes wait.
    Loading(Vec<store::EventBatch>),
    /// They were being read when changes were lost: what is read must be read again.
    Overtaken,
    Ready,
}

/// What a watcher at a cursor finds.
pub enum Tail {
    Events(Vec<Arc<Event>>),
    /// The ring has moved on past the cursor.
    FellBehind,
}

impl Cache {
    pub(crate) fn new(prefix: Bytes, fields: FieldPaths, foreign: Foreign) -> Self {
        Cache {
            prefix,
            fields: RwLock::new(Arc::new(fields)),
            state: RwLock::new(State {
                phase: Phase::Cold,
                objects: OrdMap::new(),
                revision: Revision(0),
                ring: VecDeque::new(),
                ring_start: 0,
                ring_floor: Revision(0),
                ring_bytes: 0,
                paging: VecDeque::new(),
                indexes: Indexes::default(),
            }),
            head: AtomicU64::new(0),
            wakeups: Arc::default(),
            changed: Arc::new(Notify::new()),
            closed: AtomicBool::new(false),
            loaded: tokio::sync::OnceCell::new(),
            foreign,
        }
    }

    /// Takes a stored value of this resource; `None` when it cannot be read.
    pub(crate) fn read(&self, stored: &[u8], revision: Revision) -> Option<Arc<Object>> {
        object::read(stored, revision, &self.fields(), self.foreign).map(Arc::new)
    }

    /// The fields that objects are read for when they enter.
    pub(crate) fn fields(&self) -> Arc<FieldPaths> {
        self.fields.read().clone()
    }

    /// From now on objects are read for these fields, and those that are here already are read again. Watchers
    /// and older states go on with what they have: an object finds a field that it was not read for, too.
    pub(crate) fn select_by(&self, fields: &FieldPaths) {
        let changed = {
            let mut current = self.fields.write();
            if **current == *fields {
                return;
            }
            *current = Arc::new(fields.clone());
            current.clone()
        };
        let mut state = self.state.write();
        let reread = |(key, entry): (&Text, &Entry)| {
            let object = Arc::new(entry.object.with_fields(&changed));
            (key.clone(), Entry { object, label_bits: entry.label_bits })
        };
        state.objects = state.objects.iter().map(reread).collect();
        state.indexes.clear();
    }

    /// The current object, which the caller knows to be fresh enough.
    pub fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.state.read().objects.get(key).map(|entry| entry.object.clone())
    }

    /// The current state. `applied` is a revision that the feed is known to have passed.
    pub fn snapshot(&self, applied: Revision) -> Snapshot {
        self.state.read().snapshot(applied)
    }

    /// The current state, with those of its objects that have a value where an index knows them. The index is made
    /// when it is missing and pays.
    pub(crate) fn snapshot_by(
        &self,
        applied: Revision,
        narrow: Option<&Narrow>,
    ) -> (Snapshot, Option<Candidates>) {
        let Some(narrow) = narrow else { return (self.snapshot(applied), None) };
        self.index(narrow);
        let state = self.state.read();
        (state.snapshot(applied), state.indexes.candidates(narrow))
    }

    /// Makes an index of the objects without keeping the writer waiting, and catches up with what it wrote.
    fn index(&self, narrow: &Narrow) {
        let fields = self.fields();
        let (objects, cursor) = {
            let state = self.state.read();
            let pays = state.objects.len() >= INDEXED_FROM && matches!(state.phase, Phase::Ready);
            if !pays || state.indexes.has(&narrow.by) || !state.indexes.has_room() {
                return;
            }
            (state.objects.clone(), state.next_cursor())
        };
        let mut index = Index::of(narrow, &objects);
        let mut state = self.state.write();
        let same_fields = Arc::ptr_eq(&fields, &self.fields.read());
        let Some(skipped) = cursor.checked_sub(state.ring_start).filter(|_| same_fields) else { return };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        state.ring.iter().skip(skipped).for_each(|event| index.catch_up(event));
        state.indexes.add(index);
    }

    /// The state at an older revision, if it is still known.
    pub(crate) fn snapshot_at(
        &self,
        revision: Revision,
        narrow: Option<&Narrow>,
    ) -> Option<(Objects, Option<Candidates>)> {
        let state = self.state.read();
        if state.revision <= revision {
            let candidates = narrow.and_then(|narrow| state.indexes.candidates(narrow));
            return Some((state.objects.clone(), candidates));
        }
        let kept = state.paging.iter().find(|kept| kept.revision == revision)?;
        let same = |by: &By| narrow.is_some_and(|narrow| narrow.by == *by);
        let candidates = kept.candidates.as_ref().filter(|(by, _)| same(by)).map(|(_, found)| found.clone());
        Some((kept.objects.clone(), candidates))
    }

    /// Keeps a state for the pages that follow.
    pub(crate) fn keep_for_paging(&self, kept: Kept) {
        let mut state = self.state.write();
        if state.paging.iter().any(|known| known.revision == kept.revision) {
            return;
        }
        if state.paging.len() == PAGING_SNAPSHOTS {
            state.paging.pop_front();
        }
        state.paging.push_back(kept);
    }

    /// The revision of the newest change to this resource that has come in.
    pub fn newest(&self) -> Revision {
        self.state.read().revision
    }

    pub fn len(&self) -> usize {
        self.state.read().objects.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cursor of the first change after `revision`, or `None` when the ring does not reach back so far.
    pub fn cursor_after(&self, revision: Revision) -> Option<u64> {
        let state = self.state.read();
        if revision < state.ring_floor {
            return None;
        }
        let skipped = state.ring.partition_point(|event| event.revision <= revision);
        Some(state.ring_start + skipped as u64)
    }

    /// The changes from a cursor on: about `limit`, but never only some of one revision.
    pub fn tail(&self, cursor: u64, limit: usize) -> Tail {
        let state = self.state.read();
        let Some(skipped) = cursor.checked_sub(state.ring_start) else {
            return Tail::FellBehind;
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let mut events: Vec<Arc<Event>> = Vec::new();
        for event in state.ring.iter().skip(skipped) {
            let complete = events.last().is_some_and(|last| last.revision != event.revision);
            if events.len() >= limit && complete {
                break;
            }
            events.push(event.clone());
        }
        Tail::Events(events)
    }

    /// The cursor of the change that comes next.
    pub(crate) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Resolves at the next change. To miss none, call it before looking.
    pub fn changed(&self) -> tokio::sync::futures::OwnedNotified {
        self.changed.clone().notified_owned()
    }

    /// Ends the watches on it, once they have seen what is in the ring.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.changed.notify_waiters();
        self.wakeups.wake();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// The change that a write at `revision` made to `key`, if the ring still has it.
    pub(crate) fn event_at(&self, revision: Revision, key: &str) -> Option<Arc<Event>> {
        let state = self.state.read();
        let from = state.ring.partition_point(|event| event.revision < revision);
        let mut same = state.ring.iter().skip(from).take_while(|event| event.revision == revision);
        same.find(|event| object_key(&event.object) == key).cloned()
    }

    /// From now on changes are kept. Called once, by the loader.
    pub(crate) fn start_loading(&self) {
        self.state.write().phase = Phase::Loading(Vec::new());
    }

    pub(crate) fn stop_loading(&self) {
        self.state.write().phase = Phase::Cold;
    }

    /// Takes the objects read at `revision` and applies what happened since. False: changes were lost meanwhile,
    /// and the objects must be read again.
    #[must_use]
    pub(crate) fn finish_loading(&self, objects: Objects, revision: Revision) -> bool {
        let fields = self.fields();
        let mut state = self.state.write();
        let phase = std::mem::replace(&mut state.phase, Phase::Ready);
        let Phase::Loading(waiting) = phase else {
            state.phase = Phase::Loading(Vec::new());
            return false;
        };
        state.begin(objects, revision);
        for batch in &waiting {
            state.apply(batch, &self.prefix, &fields, self.foreign);
        }
        self.head.store(state.next_cursor(), Ordering::Release);
        true
    }

    /// Whether changes that were lost concern it. One that is being read is told to start over.
    pub(crate) fn needs_reading_anew(&self) -> bool {
        let mut state = self.state.write();
        if matches!(state.phase, Phase::Loading(_)) {
            state.phase = Phase::Overtaken;
        }
        matches!(state.phase, Phase::Ready)
    }

    /// Takes a newer state, of which it is not known how it came about. The watchers have to find that out from
    /// the store's history. The caller wakes [`Cache::wakeups`] afterwards.
    pub(crate) fn replace_all(&self, objects: Objects, revision: Revision) {
        {
            let mut state = self.state.write();
            if revision <= state.revision {
                return;
            }
            // Beyond every cursor there is: all of them have fallen behind.
            state.ring_start = state.next_cursor() + 1;
            state.ring.clear();
            state.ring_bytes = 0;
            state.begin(objects, revision);
            self.head.store(state.next_cursor(), Ordering::Release);
        }
        self.changed.notify_waiters();
    }

    /// Applies one batch of changes, of which only those of this resource are taken. The caller wakes
    /// [`Cache::wakeups`] afterwards.
    pub(crate) fn apply(&self, batch: &store::EventBatch) {
        {
            let fields = self.fields();
            let mut state = self.state.write();
            match &mut state.phase {
                Phase::Cold | Phase::Overtaken => return,
                Phase::Loading(waiting) => {
                    waiting.push(batch.clone());
                    return;
                }
                Phase::Ready => state.apply(batch, &self.prefix, &fields, self.foreign),
            }
            self.head.store(state.next_cursor(), Ordering::Release);
        }
        self.changed.notify_waiters();
    }
}

impl State {
    fn snapshot(&self, applied: Revision) -> Snapshot {
        Snapshot {
            objects: self.objects.clone(),
            revision: self.revision.max(applied),
            cursor: self.next_cursor(),
        }
    }

    fn next_cursor(&self) -> u64 {
        self.ring_start + self.ring.len() as u64
    }

    /// Starts from a state that was read at `revision`.
    fn begin(&mut self, objects: Objects, revision: Revision) {
        self.objects = objects;
        self.indexes.clear();
        self.revision = revision;
        self.ring_floor = revision;
    }

    fn apply(
        &mut self,
        batch: &store::EventBatch,
        prefix: &Bytes,
        fields: &Arc<FieldPaths>,
        foreign: Foreign,
    ) {
        // The objects of a shared store may have been read before their changes are told.
        if batch.revision <= self.revision {
            return;
        }
        for event in batch.events.iter().filter(|event| event.kv.key.starts_with(prefix)) {
            let Ok(key) = std::str::from_utf8(&event.kv.key[prefix.len()..]) else {
                continue; // no writer of ours makes such a key
            };
            let previous = self.objects.get(key).map(|entry| entry.object.clone());
            let written = match event.kind {
                store::EventKind::Put => {
                    let object = object::read(&event.kv.value, batch.revision, fields, foreign);
                    if object.is_none() {
                        tracing::error!(key, revision = batch.revision.0, "a stored object cannot be read");
                    }
                    object
                }
                store::EventKind::Delete => None,
            };
            let (change, object) = match (written, &previous) {
                (Some(object), None) => (Change::Added, object),
                (Some(object), Some(_)) => (Change::Modified, object),
                // What nobody can read is not there for anybody: showing what it replaced would be wrong.
                (None, Some(previous)) => match previous.at_revision(batch.revision) {
                    Some(object) => (Change::Deleted, object),
                    None => continue,
                },
                (None, None) => continue,
            };
            let object = Arc::new(object);
            let key = Text::from(key);
            if change == Change::Deleted {
                self.indexes.follow(&key, previous.as_ref(), None);
                self.objects.remove(&key);
            } else {
                let entry = Entry::new(object.clone());
                self.indexes.follow(&key, previous.as_ref(), Some(&entry));
                self.objects.insert(key, entry);
            }
            self.push(Arc::new(Event::new(change, batch.revision, object, previous)));
        }
        self.revision = batch.revision;
    }

    fn push(&mut self, event: Arc<Event>) {
        self.ring_bytes += kept_alive_by(&event);
        self.ring.push_back(event);
        let old = self.ring.len().checked_sub(RING_FRAMES + 1);
        if let Some(old) = old.and_then(|old| self.ring.get_mut(old)) {
            *old = Arc::new(old.retired());
        }
        while self.ring.len() > RING_EVENTS || self.ring_bytes > RING_BYTES {
            let Some(oldest) = self.ring.pop_front() else { return };
            self.ring_bytes -= kept_alive_by(&oldest);
            self.ring_floor = oldest.revision;
            self.ring_start += 1;
        }
    }
}

/// The bytes of old objects that an event holds.
fn kept_alive_by(event: &Event) -> usize {
    event.previous.as_ref().map_or(0, |previous| previous.bytes().len())
        + if event.change == Change::Deleted { event.object.bytes().len() } else { 0 }
}

/// The key of an object below its resource's prefix.
pub(crate) fn object_key(object: &Object) -> Text {
    join_key(object.namespace(), object.name())
}

/// The key of a name below its resource's prefix; `namespace` is empty for objects of the cluster.
pub fn join_key(namespace: &str, name: &str) -> Text {
    if namespace.is_empty() {
        return name.into();
    }
    let mut key = Text::with_capacity(namespace.len() + 1 + name.len());
    key.push_str(namespace);
    key.push('/');
    key.push_str(name);
    key
}

pub(crate) fn entry(object: Arc<Object>) -> Entry {
    Entry::new(object)
}
