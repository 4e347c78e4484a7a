//! Compaction: removes the versions that nobody can ask for any more, a little at a time.
//!
//! Walks the log once, in order, up to the compacted revision. Every record there supersedes the
//! one it names as previous; a deletion is itself of no use any more.

use rusqlite::Connection;

use super::schema::{Meta, Place};
use crate::Revision;

/// Invariant: superseded records up to `done` are gone.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sweep {
    done: Place,
}

struct Visited {
    place: Place,
    is_delete: bool,
    previous: Place,
    key: Option<Vec<u8>>,
}

impl Sweep {
    pub(super) fn resume(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self { done: Place(Meta::Swept.read(connection)?) })
    }

    pub(super) fn is_pending(self, compacted: Revision) -> bool {
        self.done < Place::end_of(compacted)
    }

    /// Visits at most `limit` records. The caller's transaction decides whether it happened, so the
    /// progress is returned and kept only when it did.
    pub(super) fn step(
        self,
        connection: &Connection,
        compacted: Revision,
        current: Revision,
        limit: usize,
    ) -> rusqlite::Result<Self> {
        let visited = self.visit(connection, compacted, limit)?;
        let mut remove = connection.prepare_cached("DELETE FROM record WHERE place = ?1")?;
        let mut forget = connection.prepare_cached("DELETE FROM entry WHERE key = ?1 AND place = ?2")?;
        for record in &visited {
            if record.previous.0 > 0 {
                remove.execute([record.previous.to_sql()])?;
            }
            if record.is_delete {
                remove.execute([record.place.to_sql()])?;
                // Not when the key was created again: its entry names a later place then.
                forget.execute((&record.key, record.place.to_sql()))?;
            }
        }
        let done = match visited.last() {
            Some(last) if visited.len() == limit => last.place,
            _ => Place::end_of(compacted),
        };
        Meta::Swept.write(connection, done.0)?;
        // The newest record may be among the removed ones.
        Meta::Revision.write(connection, current.0)?;
        Ok(Self { done })
    }

    fn visit(
        self,
        connection: &Connection,
        compacted: Revision,
        limit: usize,
    ) -> rusqlite::Result<Vec<Visited>> {
        let mut records = connection.prepare_cached(
            "SELECT place, kind, previous, CASE kind WHEN 0 THEN key END FROM record
             WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let bounds = (self.done.to_sql(), Place::end_of(compacted).to_sql(), limit);
        let visited = records.query_map(bounds, |row| {
            Ok(Visited {
                place: Place(row.get::<_, i64>(0)?.cast_unsigned()),
                is_delete: row.get::<_, i64>(1)? == 0,
                previous: Place(row.get::<_, i64>(2)?.cast_unsigned()),
                key: row.get(3)?,
            })
        })?;
        visited.collect()
    }
}
