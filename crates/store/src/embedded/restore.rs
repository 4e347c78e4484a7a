//! Makes an embedded store from a backup, with the revisions it had.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode};

use super::{
    OpenError, open,
    record::Record,
    schema::{Meta, Place},
    wal,
};
use crate::{
    EventKind, KeyValue, Revision,
    backup::{Archive, ArchiveError, Summary, sync_parent},
};

/// Why a backup could not be restored. The directory is then as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    #[error("there is already something in {}", dir.display())]
    NotEmpty { dir: PathBuf },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("the data cannot be written to {}", dir.display())]
    Io {
        dir: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the data cannot be written to {}", dir.display())]
    Engine {
        dir: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Restores a backup into `dir`, which must be absent or empty.
///
/// It is made beside it and moved there when it is whole and on disk, so a crash or a damaged
/// backup leaves nothing half done. States before the backup's revision are as if compacted.
pub fn restore(archive: impl Read, dir: &Path) -> Result<Summary, RestoreError> {
    let failed = |source| RestoreError::Io { dir: dir.to_path_buf(), source };
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(RestoreError::NotEmpty { dir: dir.to_path_buf() });
    }
    let mut archive = Archive::open(archive)?;
    let partial = PartialDir::create(dir).map_err(failed)?;
    fill(&partial.0, &mut archive)?;
    fs::rename(&partial.0, dir).map_err(failed)?;
    sync_parent(dir).map_err(failed)?;
    Ok(archive.summary())
}

/// A directory under a temporary name, removed unless it was moved.
struct PartialDir(PathBuf);

impl PartialDir {
    fn create(target: &Path) -> io::Result<Self> {
        let mut name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(format!(".restoring-{}", std::process::id()));
        let path = target.with_file_name(name);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        Ok(Self(path))
    }
}

impl Drop for PartialDir {
    fn drop(&mut self) {
        // Gone already when it was moved.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Records per engine transaction.
const GROUP: usize = 1_000;

fn fill(dir: &Path, archive: &mut Archive<impl Read>) -> Result<(), RestoreError> {
    let engine = |source| RestoreError::Engine { dir: dir.to_path_buf(), source };
    let failed = |source| RestoreError::Io { dir: dir.to_path_buf(), source };
    let opened = open::open(dir, 4 << 20)?;
    let connection = &opened.writer;
    // Nobody relies on it before the end, where all is synced at once.
    connection.pragma_update(None, "synchronous", "OFF").map_err(engine)?;
    while fill_group(connection, archive).map_err(|error| error.in_dir(dir))? {
        wal::truncate(connection).map_err(engine)?;
    }
    let revision = archive.summary().revision;
    Meta::Revision.write(connection, revision.0).map_err(engine)?;
    Meta::Compacted.write(connection, revision.0).map_err(engine)?;
    wal::truncate(connection).map_err(engine)?;
    opened.watermark.write(revision).and_then(|()| opened.watermark.sync()).map_err(failed)?;
    File::open(opened.files.database()).and_then(|file| file.sync_all()).map_err(failed)?;
    open::sync_dir(dir).map_err(failed)
}

enum FillError {
    Archive(ArchiveError),
    Engine(rusqlite::Error),
}

impl FillError {
    fn in_dir(self, dir: &Path) -> RestoreError {
        match self {
            Self::Archive(error) => error.into(),
            Self::Engine(source) => RestoreError::Engine { dir: dir.to_path_buf(), source },
        }
    }
}

impl From<rusqlite::Error> for FillError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<ArchiveError> for FillError {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}

/// Answers whether there may be more.
fn fill_group(connection: &Connection, archive: &mut Archive<impl Read>) -> Result<bool, FillError> {
    let transaction = connection.unchecked_transaction()?;
    let mut more = true;
    for _ in 0..GROUP {
        let Some(kv) = archive.next()? else {
            more = false;
            break;
        };
        insert(&transaction, kv)?;
    }
    transaction.commit()?;
    Ok(more)
}

fn insert(connection: &Connection, kv: KeyValue) -> Result<(), FillError> {
    let place = free_place(connection, kv.mod_revision)?;
    let record = Record { place, kind: EventKind::Put, previous: None, kv };
    record.insert(connection)?;
    let key = &record.kv.key[..];
    let mut entry = connection.prepare_cached("INSERT INTO entry VALUES (?1, ?2)")?;
    entry.execute((key, place.to_sql())).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => ArchiveError::Damaged("a key occurs twice").into(),
        _ => FillError::from(error),
    })?;
    if let Some(expires_at) = record.kv.expires_at {
        let mut expiry = connection.prepare_cached("INSERT INTO expiry VALUES (?1, ?2)")?;
        expiry.execute((expires_at.0.cast_signed(), key))?;
    }
    Ok(())
}

/// Keys of one transaction share a revision: the next ordinal that is free.
fn free_place(connection: &Connection, revision: Revision) -> Result<Place, FillError> {
    let (first, last) = (Place::new(revision, 0), Place::end_of(revision));
    let mut newest =
        connection.prepare_cached("SELECT max(place) FROM record WHERE place BETWEEN ?1 AND ?2")?;
    let taken: Option<i64> = newest.query_row((first.to_sql(), last.to_sql()), |row| row.get(0))?;
    match taken.map(|place| Place(place.cast_unsigned())) {
        None => Ok(first),
        Some(place) if place < last => Ok(Place(place.0 + 1)),
        Some(_) => Err(ArchiveError::Damaged("too many keys share a revision").into()),
    }
}
