//! Reads: ranges at a revision, and history for watches that fell behind.
//!
//! Each read happens in one snapshot of the engine, on one of a few threads of their own, so that
//! a slow disk holds up neither writers nor the caller's runtime.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{Arc, mpsc},
    thread,
};

use bytes::Bytes;
use parking_lot::Mutex;
use rusqlite::{Connection, Statement};
use tokio::sync::{Semaphore, oneshot};

use super::{
    failure,
    published::Published,
    record::{Record, columns, wrong_key},
    schema::{Place, newest_revision},
};
use crate::{Error, Event, EventBatch, KeyRange, KeyValue, Range, RangeResult, Result, Revision, What};

/// Bound: reads that wait for a thread; further callers wait for a place.
const WAITING: usize = 64;
/// Bound: what a watch takes from disk at once; a single revision may exceed it.
const HISTORY_EVENTS: usize = 256;
const HISTORY_BYTES: usize = 1 << 20;

type Job = Box<dyn FnOnce(&Reader) + Send>;

/// The threads that read.
pub(super) struct Readers {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    places: Semaphore,
}

impl Readers {
    pub(super) fn start(connections: Vec<Connection>, published: &Arc<Published>) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let start = |connection| {
            let (queue, published) = (Arc::clone(&queue), Arc::clone(published));
            let reader = Reader { connection, published };
            thread::Builder::new().name("store-read".into()).spawn(move || serve(&queue, &reader))
        };
        let threads = connections.into_iter().map(start).collect::<Result<_, _>>()?;
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            threads: Mutex::new(threads),
            places: Semaphore::new(WAITING),
        })
    }

    /// Runs `read` on one of the threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _place = self.places.acquire().await.map_err(|_| Error::closed())?;
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |reader| drop(answer.send(read(reader))));
        self.jobs.lock().as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or_else(Error::closed)?;
        answered.await.map_err(|_| Error::closed())?
    }

    /// Waits for the reads that were begun.
    pub(super) fn stop(&self) {
        self.jobs.lock().take();
        self.places.close();
        for thread in self.threads.lock().drain(..) {
            // A reader that panicked has told its caller by dropping the answer.
            thread.join().ok();
        }
    }
}

fn serve(queue: &Mutex<mpsc::Receiver<Job>>, reader: &Reader) {
    loop {
        // One waits for the next job, the others for the lock.
        let job = queue.lock().recv();
        match job {
            Ok(job) => {
                // A panic is a bug of that one read, whose caller sees it end without an answer.
                panic::catch_unwind(AssertUnwindSafe(|| job(reader))).ok();
            }
            Err(mpsc::RecvError) => return,
        }
    }
}

pub(super) struct Reader {
    connection: Connection,
    published: Arc<Published>,
}

impl Reader {
    pub(super) fn range(&self, range: &Range) -> Result<RangeResult> {
        let snapshot = self.connection.unchecked_transaction().map_err(failure)?;
        // The first read fixes the snapshot.
        let revision = newest_revision(&snapshot).map_err(failure)?;
        let at = range.at.unwrap_or(revision);
        if at > revision {
            return Err(Error::FutureRevision { current: revision });
        }
        let mut result = RangeResult { kvs: Vec::new(), more: false, count: 0, revision };
        if at == revision {
            // Whole in any snapshot, even if compaction has overtaken it since.
            newest(&snapshot, range, &mut result)?;
        } else {
            self.check_kept(at)?;
            historic(&snapshot, range, at, &mut result)?;
        }
        Ok(result)
    }

    /// Batches after `seen` up to `upto`, as many as the bounds allow, at least one if there is any.
    pub(super) fn history(&self, seen: Revision, upto: Revision) -> Result<Vec<Arc<EventBatch>>> {
        let snapshot = self.connection.unchecked_transaction().map_err(failure)?;
        let mut records = snapshot
            .prepare_cached(concat!(
                "SELECT ",
                columns!(),
                " FROM record r WHERE r.place > ?1 AND r.place <= ?2 ORDER BY r.place"
            ))
            .map_err(failure)?;
        let bounds = (Place::end_of(seen).to_sql(), Place::end_of(upto).to_sql());
        let mut rows = records.query(bounds).map_err(failure)?;
        let mut batches: Vec<EventBatch> = Vec::new();
        let (mut events, mut bytes) = (0, 0);
        let mut checked = false;
        while let Some(row) = rows.next().map_err(failure)? {
            // The first row has fixed the snapshot. Asked before a gap is taken for damage.
            if !checked {
                self.check_kept(seen)?;
                checked = true;
            }
            let record = Record::from_row(row)?;
            let revision = record.place.revision();
            check_follows(batches.last().map_or(seen, |batch| batch.revision), revision)?;
            let same = batches.last().is_some_and(|batch| batch.revision == revision);
            if !same && (events >= HISTORY_EVENTS || bytes >= HISTORY_BYTES) {
                break;
            }
            events += 1;
            bytes += record.kv.value.len();
            let event = self.event(record)?;
            bytes += event.previous.as_ref().map_or(0, |kv| kv.value.len());
            match batches.last_mut() {
                Some(batch) if same => batch.events.push(event),
                _ => batches.push(EventBatch { revision, events: vec![event] }),
            }
        }
        if batches.is_empty() {
            self.check_kept(seen)?;
            check_follows(seen, upto.next())?;
        }
        Ok(batches.into_iter().map(Arc::new).collect())
    }

    fn event(&self, record: Record) -> Result<Event> {
        let previous = match record.previous {
            Some(place) => Record::at(&self.connection, place)?.and_then(Record::into_live),
            None => None,
        };
        Ok(Event { kind: record.kind, kv: record.kv, previous })
    }

    /// Asked after the snapshot was taken: if the revision is kept now, the snapshot has all of it.
    fn check_kept(&self, revision: Revision) -> Result<()> {
        let oldest = self.published.compacted();
        if revision < oldest { Err(Error::Compacted { oldest }) } else { Ok(()) }
    }
}

/// Every revision has left a record: a gap in history is damage, and not to be skipped in silence.
fn check_follows(last: Revision, next: Revision) -> Result<()> {
    if next == last || next == last.max(Revision::FIRST).next() {
        return Ok(());
    }
    Err(Error::Corrupt(format!("history has no record between revisions {last} and {next}").into()))
}

/// The entries of a range, in order; the second form has no end.
fn entries<'a>(
    connection: &'a Connection,
    keys: &KeyRange,
    bounded: &str,
    unbounded: &str,
) -> Result<rusqlite::CachedStatement<'a>> {
    let query = if keys.end.is_empty() { unbounded } else { bounded };
    connection.prepare_cached(query).map_err(failure)
}

fn query<'a>(statement: &'a mut Statement<'_>, keys: &KeyRange) -> Result<rusqlite::Rows<'a>> {
    if keys.end.is_empty() {
        statement.query([&keys.start[..]]).map_err(failure)
    } else {
        statement.query([&keys.start[..], &keys.end[..]]).map_err(failure)
    }
}

fn newest(connection: &Connection, range: &Range, result: &mut RangeResult) -> Result<()> {
    if range.keys.is_empty() {
        return Ok(());
    }
    if range.what != What::Count {
        return collect_newest(connection, range, result);
    }
    let mut count = entries(
        connection,
        &range.keys,
        "SELECT count(*) FROM entry e JOIN record r ON r.place = e.place
         WHERE e.key >= ?1 AND e.key < ?2 AND r.kind = 1",
        "SELECT count(*) FROM entry e JOIN record r ON r.place = e.place
         WHERE e.key >= ?1 AND r.kind = 1",
    )?;
    let mut rows = query(&mut count, &range.keys)?;
    if let Some(row) = rows.next().map_err(failure)? {
        result.count = row.get::<_, i64>(0).map_err(failure)?.cast_unsigned();
    }
    Ok(())
}

/// Deletions are left out. An entry without its record is not: it does not decode, and is damage.
fn collect_newest(connection: &Connection, range: &Range, result: &mut RangeResult) -> Result<()> {
    let mut records = entries(
        connection,
        &range.keys,
        concat!(
            "SELECT ",
            columns!(),
            ", e.key FROM entry e LEFT JOIN record r ON r.place = e.place
             WHERE e.key >= ?1 AND e.key < ?2 AND r.kind IS NOT 0 ORDER BY e.key"
        ),
        concat!(
            "SELECT ",
            columns!(),
            ", e.key FROM entry e LEFT JOIN record r ON r.place = e.place
             WHERE e.key >= ?1 AND r.kind IS NOT 0 ORDER BY e.key"
        ),
    )?;
    let mut rows = query(&mut records, &range.keys)?;
    while let Some(row) = rows.next().map_err(failure)? {
        result.count += 1;
        if range.limit > 0 && result.kvs.len() == range.limit {
            result.more = true;
            return Ok(());
        }
        let record = Record::from_row(row)?;
        let key = row.get_ref(9).map_err(failure)?;
        if key.as_blob().ok() != Some(&record.kv.key[..]) {
            return Err(wrong_key(record.place));
        }
        result.kvs.push(shown(record.kv, range.what));
    }
    Ok(())
}

/// Follows each key from its newest version back to the one that was current at the revision.
fn historic(connection: &Connection, range: &Range, at: Revision, result: &mut RangeResult) -> Result<()> {
    if range.keys.is_empty() {
        return Ok(());
    }
    let mut places = entries(
        connection,
        &range.keys,
        "SELECT place FROM entry WHERE key >= ?1 AND key < ?2 ORDER BY key",
        "SELECT place FROM entry WHERE key >= ?1 ORDER BY key",
    )?;
    let mut rows = query(&mut places, &range.keys)?;
    while let Some(row) = rows.next().map_err(failure)? {
        let place = Place(row.get::<_, i64>(0).map_err(failure)?.cast_unsigned());
        let Some(kv) = version_at(connection, place, at)? else { continue };
        result.count += 1;
        if range.what == What::Count {
            continue;
        }
        if range.limit > 0 && result.kvs.len() == range.limit {
            result.more = true;
            return Ok(());
        }
        result.kvs.push(shown(kv, range.what));
    }
    Ok(())
}

fn version_at(connection: &Connection, newest: Place, at: Revision) -> Result<Option<KeyValue>> {
    let mut place = newest;
    loop {
        // A missing record is a deletion that compaction has removed.
        let Some(record) = Record::at(connection, place)? else { return Ok(None) };
        if place.revision() <= at {
            return Ok(record.into_live());
        }
        match record.previous {
            None => return Ok(None),
            Some(previous) => place = previous,
        }
    }
}

fn shown(mut kv: KeyValue, what: What) -> KeyValue {
    if what == What::Keys {
        kv.value = Bytes::new();
    }
    kv
}
