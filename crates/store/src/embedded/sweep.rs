//! Compaction: removes the versions that nobody can ask for any more, a little at a time.
//!
//! A record that supersedes another one is noted when it is written. Once its revision is given up,
//! the older one can go; and if it is a deletion, it can go itself. So the work is in proportion to
//! what there is to remove, and creations cost nothing here.

use rusqlite::Connection;

use super::{
    record::Record,
    schema::{Meta, Place},
};
use crate::{EventKind, Revision};

/// How far compaction has come.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sweep {
    /// Nothing is left to remove up to here.
    done: Revision,
}

struct Superseding {
    place: Place,
    previous: Place,
    is_delete: bool,
}

/// Remembers that `record` supersedes the one at `previous`.
pub(super) fn note(connection: &Connection, record: &Record, previous: Place) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO superseding VALUES (?1, ?2, ?3)")?;
    let is_delete = record.kind == EventKind::Delete;
    insert.execute((record.place.to_sql(), previous.to_sql(), is_delete)).map(drop)
}

impl Sweep {
    /// Nothing is known to be done: the first step finds out.
    pub(super) const START: Self = Self { done: Revision::ZERO };

    pub(super) fn is_pending(self, compacted: Revision) -> bool {
        self.done < compacted
    }

    /// Removes what at most `limit` records have superseded. The caller's transaction decides
    /// whether it happened, so the progress is returned, to be kept only when it did.
    pub(super) fn step(
        self,
        connection: &Connection,
        compacted: Revision,
        current: Revision,
        limit: usize,
    ) -> rusqlite::Result<Self> {
        let found = superseding(connection, compacted, limit)?;
        for record in &found {
            remove(connection, record)?;
        }
        if let Some(last) = found.last() {
            let mut forget = connection.prepare_cached("DELETE FROM superseding WHERE place <= ?1")?;
            forget.execute([last.place.to_sql()])?;
            // The newest record may be among the removed ones.
            Meta::Revision.write(connection, current.0)?;
        }
        Ok(if found.len() < limit { Self { done: compacted } } else { self })
    }
}

fn superseding(
    connection: &Connection,
    compacted: Revision,
    limit: usize,
) -> rusqlite::Result<Vec<Superseding>> {
    let mut records = connection.prepare_cached(
        "SELECT place, previous, is_delete FROM superseding WHERE place <= ?1 ORDER BY place LIMIT ?2",
    )?;
    let bounds = (Place::end_of(compacted).to_sql(), i64::try_from(limit).unwrap_or(i64::MAX));
    let found = records.query_map(bounds, |row| {
        Ok(Superseding {
            place: Place(row.get::<_, i64>(0)?.cast_unsigned()),
            previous: Place(row.get::<_, i64>(1)?.cast_unsigned()),
            is_delete: row.get(2)?,
        })
    })?;
    found.collect()
}

fn remove(connection: &Connection, record: &Superseding) -> rusqlite::Result<()> {
    let mut remove = connection.prepare_cached("DELETE FROM record WHERE place = ?1")?;
    remove.execute([record.previous.to_sql()])?;
    if record.is_delete {
        // Not when the key was created again: its entry names a later place then.
        let mut forget = connection.prepare_cached(
            "DELETE FROM entry WHERE key = (SELECT key FROM record WHERE place = ?1) AND place = ?1",
        )?;
        forget.execute([record.place.to_sql()])?;
        remove.execute([record.place.to_sql()])?;
    }
    Ok(())
}
