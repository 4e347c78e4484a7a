//! One transaction against the open group: look up, check, write.

use rusqlite::Connection;

use super::{failure, record::Record, schema::Place, sweep};
use crate::{
    Committed, Error, Event, EventBatch, EventKind, KeyValue, Result, Revision, Txn, UnixSeconds, Write,
};

/// How a transaction ended.
pub(super) struct Applied {
    pub(super) committed: Committed,
    /// `None` when nothing was changed.
    pub(super) batch: Option<EventBatch>,
}

/// Why it could not be done, and whose problem that is.
pub(super) enum Refused {
    /// Of this transaction alone; nothing was written.
    Here(Error),
    /// Of the whole group: the engine failed in the middle of writing.
    Group(rusqlite::Error),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Group(error)
    }
}

/// Sees what earlier transactions of the group wrote. `current` is the revision reached so far.
pub(super) fn apply(
    connection: &Connection,
    txn: Txn,
    current: Revision,
    now: UnixSeconds,
) -> Result<Applied, Refused> {
    let mut found = Found { connection, records: Vec::with_capacity(1) };
    for condition in &txn.conditions {
        found.load(&condition.key).map_err(Refused::Here)?;
    }
    let holds = |condition: &crate::Condition| {
        condition.expect.holds(found.live(&condition.key).map(|kv| kv.mod_revision))
    };
    if !txn.conditions.iter().all(holds) {
        let keys = txn.conditions.iter().map(|condition| found.live(&condition.key).cloned());
        return Err(Refused::Here(Error::Conflict { current: keys.collect() }));
    }
    for write in &txn.writes {
        found.load(write.key()).map_err(Refused::Here)?;
    }
    let revision = current.next();
    let mut previous = Vec::with_capacity(txn.writes.len());
    let mut events = Vec::with_capacity(txn.writes.len());
    for write in txn.writes {
        let before = found.record(write.key());
        let live = found.live(write.key()).cloned();
        let kind = if matches!(write, Write::Put { .. }) { EventKind::Put } else { EventKind::Delete };
        if let Some(kv) = successor(write, live.as_ref(), revision, now) {
            let ordinal = u16::try_from(events.len()).expect("Txn::check bounds the writes");
            let previous = before.map(|record| record.place);
            let record = Record { place: Place::new(revision, ordinal), kind, previous, kv };
            write_record(connection, &record, live.as_ref())?;
            events.push(Event { kind, kv: record.kv, previous: live.clone() });
        }
        previous.push(live);
    }
    let batch = (!events.is_empty()).then_some(EventBatch { revision, events });
    let reached = if batch.is_some() { revision } else { current };
    Ok(Applied { committed: Committed { revision: reached, previous }, batch })
}

/// The newest records of the keys that a transaction names, deletions included.
struct Found<'a> {
    connection: &'a Connection,
    /// Few: nearly always one.
    records: Vec<(bytes::Bytes, Option<Record>)>,
}

impl Found<'_> {
    fn load(&mut self, key: &bytes::Bytes) -> Result<()> {
        if self.records.iter().all(|(known, _)| known != key) {
            self.records.push((key.clone(), Record::newest(self.connection, key)?));
        }
        Ok(())
    }

    fn record(&self, key: &bytes::Bytes) -> Option<&Record> {
        self.records.iter().find(|(known, _)| known == key)?.1.as_ref()
    }

    fn live(&self, key: &bytes::Bytes) -> Option<&KeyValue> {
        self.record(key).filter(|record| record.kind == EventKind::Put).map(|record| &record.kv)
    }
}

/// What the key holds after the write; `None` when that changes nothing.
fn successor(
    write: Write,
    live: Option<&KeyValue>,
    revision: Revision,
    now: UnixSeconds,
) -> Option<KeyValue> {
    match write {
        Write::Put { key, value, expires_in } => Some(KeyValue {
            key,
            value,
            create_revision: live.map_or(revision, |kv| kv.create_revision),
            mod_revision: revision,
            version: live.map_or(0, |kv| kv.version) + 1,
            expires_at: expires_in.map(|time_to_live| now.after(time_to_live)),
        }),
        Write::Delete { key } => live.map(|_| KeyValue::tombstone(key, revision)),
    }
}

fn write_record(connection: &Connection, record: &Record, live: Option<&KeyValue>) -> rusqlite::Result<()> {
    record.insert(connection)?;
    let (key, place) = (&record.kv.key[..], record.place.to_sql());
    if let Some(previous) = record.previous {
        sweep::note(connection, record, previous)?;
        let mut update = connection.prepare_cached("UPDATE entry SET place = ?2 WHERE key = ?1")?;
        update.execute((key, place))?;
    } else {
        let mut insert = connection.prepare_cached("INSERT INTO entry VALUES (?1, ?2)")?;
        insert.execute((key, place))?;
    }
    if let Some(expires_at) = live.and_then(|kv| kv.expires_at) {
        let mut remove = connection.prepare_cached("DELETE FROM expiry WHERE expires = ?1 AND key = ?2")?;
        remove.execute((expires_at.0.cast_signed(), key))?;
    }
    if let Some(expires_at) = record.kv.expires_at {
        let mut insert = connection.prepare_cached("INSERT INTO expiry VALUES (?1, ?2)")?;
        insert.execute((expires_at.0.cast_signed(), key))?;
    }
    Ok(())
}

/// The keys whose time is over, at most `limit`, as transactions that delete them.
pub(super) fn expired(connection: &Connection, now: UnixSeconds, limit: usize) -> Result<Vec<Txn>> {
    let query = "SELECT key FROM expiry WHERE expires <= ?1 ORDER BY expires LIMIT ?2";
    let mut due = connection.prepare_cached(query).map_err(failure)?;
    let bounds = (now.0.cast_signed(), i64::try_from(limit).unwrap_or(i64::MAX));
    let keys = due.query_map(bounds, |row| row.get::<_, Vec<u8>>(0)).map_err(failure)?;
    keys.map(|key| {
        let delete = Write::Delete { key: key.map_err(failure)?.into() };
        Ok(Txn { conditions: Vec::new(), writes: vec![delete] })
    })
    .collect()
}
