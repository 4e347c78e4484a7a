//! Reading a page of a resource's objects at one consistent state.

use std::ops::Bound;
use std::sync::Arc;

use meta::Text;
use store::{KeyRange, Range, Revision};

use crate::cache::{self, Cache, Entry, Kept, Objects};
use crate::index::{Candidates, Narrow};
use crate::object::Object;
use crate::{Error, Registry};

/// Bound: objects read from the store at once when an older state is no longer in memory.
const STORE_READ_OBJECTS: usize = 500;

/// Which part of a resource is asked for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Empty: all namespaces, or a resource of the cluster.
    pub namespace: Text,
    /// The first key to look at, below the namespace; empty: from the beginning.
    pub start: Text,
    /// The key of the only object to look at, namespace included.
    pub only: Option<Text>,
    /// At most so many objects; 0: all.
    pub limit: usize,
    pub at: At,
}

/// At which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest one, with everything that was acknowledged before the request.
    Fresh,
    /// Whatever is at hand.
    Any,
    /// At hand, but not older than this.
    NotOlderThan(Revision),
    Exactly(Revision),
}

/// What was found.
pub struct Page {
    pub objects: Vec<Arc<Object>>,
    /// The state it was read at.
    pub revision: Revision,
    /// The key of the last object looked at, below the namespace, when there are more behind it.
    pub last: Option<Text>,
    /// How many are behind it; known only when nothing was filtered.
    pub remaining: Option<usize>,
}

impl Registry {
    /// Reads a page. `matches` is asked for every object in key order; without it all are taken.
    pub async fn page(
        &self,
        cache: &Cache,
        request: &PageRequest,
        matches: Option<&(dyn Fn(&Entry) -> bool + Sync)>,
    ) -> Result<Page, Error> {
        self.page_by(cache, request, None, matches).await
    }

    /// The same where all that match have a value: with an index, only these are looked at.
    pub async fn page_by(
        &self,
        cache: &Cache,
        request: &PageRequest,
        narrow: Option<&Narrow>,
        matches: Option<&(dyn Fn(&Entry) -> bool + Sync)>,
    ) -> Result<Page, Error> {
        let (objects, candidates, revision) = self.state_by(cache, request.at, narrow).await?;
        let page = page_of(&objects, candidates.as_ref(), request, matches, revision);
        if page.last.is_some() {
            let candidates = narrow.map(|narrow| narrow.by.clone()).zip(candidates);
            cache.keep_for_paging(Kept { revision, objects, candidates });
        }
        Ok(page)
    }

    /// The whole resource at a state.
    pub async fn state(&self, cache: &Cache, at: At) -> Result<(Objects, Revision), Error> {
        let (objects, _, revision) = self.state_by(cache, at, None).await?;
        Ok((objects, revision))
    }

    async fn state_by(
        &self,
        cache: &Cache,
        at: At,
        narrow: Option<&Narrow>,
    ) -> Result<(Objects, Option<Candidates>, Revision), Error> {
        let applied = match at {
            At::Fresh => self.fresh(cache).await?,
            At::Any => self.any_state(cache).await?,
            At::NotOlderThan(revision) => {
                self.any_state(cache).await?;
                self.wait_for(revision).await?;
                self.applied()
            }
            At::Exactly(revision) => {
                let (objects, candidates) = self.state_at(cache, revision, narrow).await?;
                return Ok((objects, candidates, revision));
            }
        };
        let (snapshot, candidates) = cache.snapshot_by(applied, narrow);
        Ok((snapshot.objects, candidates, snapshot.revision))
    }

    /// An older state: from memory if it is still there, else from the store's history.
    async fn state_at(
        &self,
        cache: &Cache,
        revision: Revision,
        narrow: Option<&Narrow>,
    ) -> Result<(Objects, Option<Candidates>), Error> {
        self.any_state(cache).await?;
        self.wait_for(revision).await?;
        match cache.snapshot_at(revision, narrow) {
            Some(state) => Ok(state),
            None => Ok((self.state_from_history(cache, revision).await?, None)),
        }
    }

    async fn state_from_history(&self, cache: &Cache, revision: Revision) -> Result<Objects, Error> {
        let mut keys = KeyRange::prefix(cache.prefix.clone());
        let mut objects = Objects::new();
        loop {
            let read = self
                .store()
                .range(Range::values(keys.clone()).at(revision).limit(STORE_READ_OBJECTS))
                .await?;
            for kv in &read.kvs {
                let object = cache.read(&kv.value, kv.mod_revision).ok_or(Error::Unreadable)?;
                let key =
                    std::str::from_utf8(&kv.key[cache.prefix.len()..]).map_err(|_| Error::Unreadable)?;
                objects.insert(key.into(), cache::entry(object));
            }
            match read.kvs.last() {
                Some(last) if read.more => keys = keys.behind(&last.key),
                _ => return Ok(objects),
            }
        }
    }
}

/// A page of a state that has been read. `matches` is asked for every object in key order.
pub fn page_of_state(
    cache: &Cache,
    objects: Objects,
    revision: Revision,
    request: &PageRequest,
    matches: Option<&(dyn Fn(&Entry) -> bool + Sync)>,
) -> Page {
    let page = page_of(&objects, None, request, matches, revision);
    if page.last.is_some() {
        cache.keep_for_paging(Kept { revision, objects, candidates: None });
    }
    page
}

fn page_of(
    objects: &Objects,
    candidates: Option<&Candidates>,
    request: &PageRequest,
    matches: Option<&(dyn Fn(&Entry) -> bool + Sync)>,
    revision: Revision,
) -> Page {
    let below =
        if request.namespace.is_empty() { Text::default() } else { cache::join_key(&request.namespace, "") };
    let start: Text = [below.as_str(), request.start.as_str()].concat().into();
    let end = (!below.is_empty()).then(|| [request.namespace.as_str(), "0"].concat()); // '0' follows '/'
    let bounds = match (&request.only, &end) {
        (Some(only), _) => (Bound::Included(only.as_str()), Bound::Included(only.as_str())),
        (None, Some(end)) => (Bound::Included(start.as_str()), Bound::Excluded(end.as_str())),
        (None, None) => (Bound::Included(start.as_str()), Bound::Unbounded),
    };
    if let Some(candidates) = candidates {
        let bounds = (bounds, below.len());
        return page_of_candidates(objects, candidates, bounds, request.limit, matches, revision);
    }
    let mut rest = objects.range::<_, str>(bounds);

    let mut page = Page { objects: Vec::new(), revision, last: None, remaining: None };
    while let Some((key, entry)) = rest.next() {
        if matches.is_some_and(|matches| !matches(entry)) {
            continue;
        }
        page.objects.push(entry.object.clone());
        if page.objects.len() == request.limit {
            // Whether something behind the last one matches is not looked at: the next page may be empty.
            let behind = if matches.is_none() { rest.count() } else { usize::from(rest.next().is_some()) };
            page.last = (behind > 0).then(|| key[below.len()..].into());
            page.remaining = (behind > 0 && matches.is_none()).then_some(behind);
            break;
        }
    }
    page
}

/// A page of those objects that an index has found. `bounds` of the keys, and how much of a key is the namespace.
fn page_of_candidates(
    objects: &Objects,
    candidates: &Candidates,
    ((start, end), below): ((Bound<&str>, Bound<&str>), usize),
    limit: usize,
    matches: Option<&(dyn Fn(&Entry) -> bool + Sync)>,
    revision: Revision,
) -> Page {
    let mut page = Page { objects: Vec::new(), revision, last: None, remaining: None };
    for (key, entry) in candidates.range((start, end)) {
        if matches.is_some_and(|matches| !matches(entry)) {
            continue;
        }
        page.objects.push(entry.object.clone());
        if page.objects.len() == limit {
            // As without an index: something is behind it, whether or not it matches.
            let mut behind = objects.range::<_, str>((Bound::Excluded(key.as_str()), end));
            page.last = behind.next().map(|_| key[below..].into());
            break;
        }
    }
    page
}
