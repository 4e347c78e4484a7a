//! Indexes: the objects of a resource by a value that clients select by.
//!
//! Made when a resource is large enough and somebody selects by the value, kept up by the one writer of the cache,
//! and shared with snapshots as the objects themselves are: a selective read costs what it finds. What a value is,
//! a field as some version shows it, a label, the name, is the caller's to say.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use imbl::OrdMap;
use meta::Text;

use crate::cache::{Entry, Event, Objects, object_key};
use crate::object::Object;

/// Below this many objects looking at each is as fast.
pub(crate) const INDEXED_FROM: usize = 1024;
/// Bound: indexes of one resource.
const INDEXES: usize = 8;
/// An index that was not used for so many changes and reads of others goes.
const IDLE_LIMIT: u32 = 10_000;

/// A value that every object of interest has.
#[derive(Clone)]
pub struct Narrow {
    pub by: By,
    /// Never empty: objects without the value are in no index.
    pub value: Text,
    /// Finds the value in an object. The same for the same `by`.
    pub read: ValueOf,
}

pub type ValueOf = Arc<dyn Fn(&Arc<Object>) -> Option<Text> + Send + Sync>;

/// What an index is by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A selectable field, as the description with this number shows it; 0: as it is stored.
    Field {
        shown_by: u64,
        label: Text,
    },
    Label(Text),
    Name,
}

/// Values and keys in order.
type Places = OrdMap<Place, Entry>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    value: Text,
    key: Text,
}

pub(crate) struct Index {
    by: By,
    read: ValueOf,
    places: Places,
    idle: AtomicU32,
}

/// The objects of a state that have a value.
#[derive(Clone)]
pub(crate) struct Candidates {
    places: Places,
    value: Text,
}

impl Index {
    pub(crate) fn of(narrow: &Narrow, objects: &Objects) -> Self {
        let mut index = Index {
            by: narrow.by.clone(),
            read: narrow.read.clone(),
            places: Places::new(),
            idle: AtomicU32::new(0),
        };
        for (key, entry) in objects {
            if let Some(value) = index.value(&entry.object) {
                index.places.insert(Place { value, key: key.clone() }, entry.clone());
            }
        }
        index
    }

    fn value(&self, object: &Arc<Object>) -> Option<Text> {
        (self.read)(object).filter(|value| !value.is_empty())
    }

    /// Follows a change; `entry` is the object after it.
    fn follow(&mut self, key: &Text, previous: Option<&Arc<Object>>, entry: Option<&Entry>) {
        let old = previous.and_then(|object| self.value(object));
        let new = entry.and_then(|entry| Some((self.value(&entry.object)?, entry)));
        if let Some(value) = old
            && new.as_ref().is_none_or(|(new, _)| *new != value)
        {
            self.places.remove(&Place { value, key: key.clone() });
        }
        if let Some((value, entry)) = new {
            self.places.insert(Place { value, key: key.clone() }, entry.clone());
        }
    }

    /// Follows a change that happened while the index was made.
    pub(crate) fn catch_up(&mut self, event: &Event) {
        let entry = event.is_present().then(|| crate::cache::entry(event.object.clone()));
        self.follow(&object_key(&event.object), event.previous.as_ref(), entry.as_ref());
    }
}

/// The indexes of a resource.
#[derive(Default)]
pub(crate) struct Indexes(Vec<Index>);

impl Indexes {
    pub(crate) fn has(&self, by: &By) -> bool {
        self.0.iter().any(|index| index.by == *by)
    }

    /// Whether another one may be made.
    pub(crate) fn has_room(&self) -> bool {
        self.0.len() < INDEXES
    }

    pub(crate) fn add(&mut self, index: Index) {
        if self.has_room() && !self.has(&index.by) {
            self.0.push(index);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Follows a change of one object; `entry` is the object after it.
    pub(crate) fn follow(&mut self, key: &Text, previous: Option<&Arc<Object>>, entry: Option<&Entry>) {
        self.0.retain_mut(|index| *index.idle.get_mut() < IDLE_LIMIT);
        for index in &mut self.0 {
            *index.idle.get_mut() += 1;
            index.follow(key, previous, entry);
        }
    }

    /// The objects with a value, where there is an index for it.
    pub(crate) fn candidates(&self, narrow: &Narrow) -> Option<Candidates> {
        let mut found = None;
        for index in &self.0 {
            if index.by == narrow.by {
                index.idle.store(0, Ordering::Relaxed);
                found = Some(Candidates { places: index.places.clone(), value: narrow.value.clone() });
            } else {
                index.idle.fetch_add(1, Ordering::Relaxed);
            }
        }
        found
    }
}

impl Candidates {
    /// Those with keys within some bounds, in the order of the keys.
    pub(crate) fn range(
        &self,
        (start, end): (Bound<&str>, Bound<&str>),
    ) -> impl Iterator<Item = (&Text, &Entry)> {
        let place = |key: &str| Place { value: self.value.clone(), key: key.into() };
        let start = match start {
            Bound::Included(key) => Bound::Included(place(key)),
            Bound::Excluded(key) => Bound::Excluded(place(key)),
            Bound::Unbounded => Bound::Included(place("")),
        };
        let end = match end {
            Bound::Included(key) => Bound::Included(place(key)),
            Bound::Excluded(key) => Bound::Excluded(place(key)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let within = self.places.range((start, end));
        within.take_while(|(place, _)| place.value == self.value).map(|(place, entry)| (&place.key, entry))
    }

    /// All of them.
    pub(crate) fn objects(&self) -> Objects {
        let all = self.range((Bound::Unbounded, Bound::Unbounded));
        all.map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }
}
