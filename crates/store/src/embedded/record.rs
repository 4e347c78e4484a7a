//! A record: one version of one key, with the checksum that proves it is what was written.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{failure, schema::Place};
use crate::{Error, EventKind, KeyValue, Result, Revision, UnixSeconds};

/// The columns in the order that [`Record::from_row`] reads them.
macro_rules! columns {
    () => {
        "r.place, r.kind, r.previous, r.created, r.version, r.expires, r.checksum, r.key, r.value"
    };
}
pub(super) use columns;

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) place: Place,
    pub(super) kind: EventKind,
    /// The version before it, deletions included.
    pub(super) previous: Option<Place>,
    pub(super) kv: KeyValue,
}

impl Record {
    /// Reads and verifies a row of [`columns`].
    pub(super) fn from_row(row: &Row<'_>) -> Result<Self> {
        let raw = RawRecord::from_row(row).map_err(failure)?;
        if raw.computed_checksum() != raw.checksum {
            return Err(Error::Corrupt(
                format!("the record at revision {} does not match its checksum", raw.place.revision()).into(),
            ));
        }
        Ok(raw.to_record())
    }

    pub(super) fn at(connection: &Connection, place: Place) -> Result<Option<Self>> {
        let mut find = connection
            .prepare_cached(concat!("SELECT ", columns!(), " FROM record r WHERE r.place = ?1"))
            .map_err(failure)?;
        let found = find.query_row([place.to_sql()], |row| Ok(Self::from_row(row))).optional();
        found.map_err(failure)?.transpose()
    }

    /// The newest version of a key, deletions included. An entry without its record is damage, not
    /// absence: hence the outer join, whose empty row does not decode.
    pub(super) fn newest(connection: &Connection, key: &[u8]) -> Result<Option<Self>> {
        let mut find = connection
            .prepare_cached(concat!(
                "SELECT ",
                columns!(),
                " FROM entry e LEFT JOIN record r ON r.place = e.place WHERE e.key = ?1"
            ))
            .map_err(failure)?;
        let found = find.query_row([key], |row| Ok(Self::from_row(row))).optional();
        let record = found.map_err(failure)?.transpose()?;
        match record {
            Some(record) if record.kv.key != key => Err(wrong_key(record.place)),
            other => Ok(other),
        }
    }

    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let raw = RawRecord::from_record(self);
        let mut insert =
            connection.prepare_cached("INSERT INTO record VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
        insert
            .execute(params![
                raw.place.to_sql(),
                raw.kind,
                raw.previous.cast_signed(),
                raw.created.cast_signed(),
                raw.version.cast_signed(),
                raw.expires.cast_signed(),
                raw.computed_checksum(),
                raw.key,
                raw.value
            ])
            .map(drop)
    }

    pub(super) fn into_live(self) -> Option<KeyValue> {
        (self.kind == EventKind::Put).then_some(self.kv)
    }
}

pub(super) fn wrong_key(place: Place) -> Error {
    Error::Corrupt(format!("the record at revision {} belongs to another key", place.revision()).into())
}

const DELETE: i64 = 0;
const PUT: i64 = 1;

/// A record as the columns hold it. 0 stands for none in `previous` and `expires`.
struct RawRecord<'a> {
    place: Place,
    kind: i64,
    previous: u64,
    created: u64,
    version: u64,
    expires: u64,
    checksum: u32,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> RawRecord<'a> {
    fn from_row(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let number = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
        Ok(Self {
            place: Place(number(0)?),
            kind: row.get(1)?,
            previous: number(2)?,
            created: number(3)?,
            version: number(4)?,
            expires: number(5)?,
            checksum: row.get(6)?,
            key: row.get_ref(7)?.as_blob()?,
            value: row.get_ref(8)?.as_blob()?,
        })
    }

    fn from_record(record: &'a Record) -> Self {
        Self {
            place: record.place,
            kind: if record.kind == EventKind::Put { PUT } else { DELETE },
            previous: record.previous.map_or(0, |place| place.0),
            created: record.kv.create_revision.0,
            version: record.kv.version,
            expires: record.kv.expires_at.map_or(0, |expires_at| expires_at.0),
            checksum: 0,
            key: &record.kv.key,
            value: &record.kv.value,
        }
    }

    fn to_record(&self) -> Record {
        Record {
            place: self.place,
            kind: if self.kind == PUT { EventKind::Put } else { EventKind::Delete },
            previous: (self.previous > 0).then_some(Place(self.previous)),
            kv: KeyValue {
                // Copied to their own size: a slice of a larger buffer would keep all of it.
                key: Bytes::copy_from_slice(self.key),
                value: Bytes::copy_from_slice(self.value),
                create_revision: Revision(self.created),
                mod_revision: self.place.revision(),
                version: self.version,
                expires_at: (self.expires > 0).then_some(UnixSeconds(self.expires)),
            },
        }
    }

    fn computed_checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let numbers = [
            self.place.0,
            self.kind.cast_unsigned(),
            self.previous,
            self.created,
            self.version,
            self.expires,
            self.key.len() as u64,
        ];
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(self.key);
        hasher.update(self.value);
        hasher.finalize()
    }
}
