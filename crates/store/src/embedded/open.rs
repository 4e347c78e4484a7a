//! Opening: one process at a time, a known format, and nothing missing that was acknowledged.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{
    record::{Record, columns},
    schema::{APPLICATION_ID, FORMAT, Meta, TABLES, connect, newest_revision},
    watermark::Watermark,
};
use crate::{Error, Revision};

/// Why a store cannot be opened. Each text is one sentence for the person who started the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("the data in {} is already in use by another process", dir.display())]
    Locked { dir: PathBuf },
    #[error(
        "the data in {} has format {found}, but this program reads format {FORMAT} only",
        dir.display()
    )]
    Format { dir: PathBuf, found: i32 },
    #[error("the data in {} is damaged ({what}); restore it from a backup", dir.display())]
    Corrupt { dir: PathBuf, what: String },
    #[error("the data in {} cannot be opened", dir.display())]
    Io {
        dir: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the data in {} cannot be opened", dir.display())]
    Engine {
        dir: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
}

/// Where the files are.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub(super) dir: PathBuf,
}

impl Files {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.dir.join("store.db")
    }

    fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    fn watermark(&self) -> PathBuf {
        self.dir.join("acknowledged")
    }

    /// Bytes of all files that grow.
    pub(super) fn size(&self) -> u64 {
        let size = |name| fs::metadata(self.dir.join(name)).map_or(0, |metadata| metadata.len());
        size("store.db") + size("store.db-wal") + size("store.db-shm")
    }

    pub(super) fn io(&self, source: io::Error) -> OpenError {
        OpenError::Io { dir: self.dir.clone(), source }
    }

    pub(super) fn engine(&self, source: rusqlite::Error) -> OpenError {
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.corrupt(source.to_string()),
            _ => OpenError::Engine { dir: self.dir.clone(), source },
        }
    }

    fn corrupt(&self, what: String) -> OpenError {
        OpenError::Corrupt { dir: self.dir.clone(), what }
    }
}

/// An opened store: what the threads are made from.
pub(super) struct Opened {
    pub(super) files: Files,
    /// Held as long as the store is open.
    pub(super) lock: File,
    pub(super) writer: Connection,
    pub(super) watermark: Watermark,
    pub(super) current: Revision,
    pub(super) compacted: Revision,
}

pub(super) fn open(dir: &Path, cache_bytes: usize) -> Result<Opened, OpenError> {
    let files = Files::new(dir);
    let create = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    create.map_err(|error| files.io(error))?;
    let lock = lock(&files)?;
    let watermark = Watermark::open(&files.watermark()).map_err(|error| files.io(error))?;
    let acknowledged = watermark.read().map_err(|error| files.io(error))?;
    let writer = open_database(&files, cache_bytes, acknowledged)?;
    let current = verify(&files, &writer, acknowledged)?;
    let compacted = Meta::Compacted.read(&writer).map_err(|error| files.engine(error))?;
    Ok(Opened { files, lock, writer, watermark, current, compacted: Revision(compacted) })
}

/// Patience with a process that is just ending, or has just started another one: 0.4 seconds.
const LOCK_TRIES: usize = 20;
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// The kernel lets go of it when the process ends, however it ends.
fn lock(files: &Files) -> Result<File, OpenError> {
    let options = File::options().read(true).write(true).create(true).truncate(false).open(files.lock());
    let file = options.map_err(|error| files.io(error))?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_WAIT),
            Err(TryLockError::Error(error)) => return Err(files.io(error)),
        }
    }
    Err(OpenError::Locked { dir: files.dir.clone() })
}

fn open_database(
    files: &Files,
    cache_bytes: usize,
    acknowledged: Option<Revision>,
) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let engine = |error| files.engine(error);
    let connection = connect(&files.database(), cache_bytes, flags).map_err(engine)?;
    if is_blank(&connection).map_err(engine)? {
        if let Some(revision) = acknowledged {
            return Err(files.corrupt(format!("the database is gone, which was at revision {revision}")));
        }
        initialize(&connection).map_err(engine)?;
        sync_dir(&files.dir).map_err(|error| files.io(error))?;
    }
    check_format(files, &connection)?;
    Ok(connection)
}

fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// Atomic: a crash leaves a blank database or a complete one.
fn initialize(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    let transaction = connection.unchecked_transaction()?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.execute_batch(TABLES)?;
    Meta::Revision.write(&transaction, Revision::FIRST.0)?;
    Meta::Compacted.write(&transaction, 0)?;
    transaction.commit()
}

fn check_format(files: &Files, connection: &Connection) -> Result<(), OpenError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if pragma("application_id").map_err(|error| files.engine(error))? != APPLICATION_ID {
        return Err(files.corrupt("the database was not made by this program".to_owned()));
    }
    match pragma("user_version").map_err(|error| files.engine(error))? {
        FORMAT => Ok(()),
        found => Err(OpenError::Format { dir: files.dir.clone(), found }),
    }
}

/// Looks at the end of the log, where a crash or a bad disk shows first. What lies further back is
/// verified when it is read.
fn verify(
    files: &Files,
    connection: &Connection,
    acknowledged: Option<Revision>,
) -> Result<Revision, OpenError> {
    let current = newest_revision(connection).map_err(|error| files.engine(error))?;
    if let Some(acknowledged) = acknowledged
        && current < acknowledged
    {
        return Err(files.corrupt(format!(
            "writes up to revision {acknowledged} were acknowledged, but its log ends at {current}"
        )));
    }
    match verify_newest_records(connection) {
        Ok(()) => Ok(current),
        Err(Error::Corrupt(what)) => Err(files.corrupt(what.to_string())),
        Err(error) => Err(files.io(io::Error::other(error))),
    }
}

const VERIFIED_RECORDS: i64 = 64;

fn verify_newest_records(connection: &Connection) -> Result<(), Error> {
    let query = concat!("SELECT ", columns!(), " FROM record r ORDER BY r.place DESC LIMIT ?1");
    let mut records = connection.prepare(query).map_err(super::failure)?;
    let mut rows = records.query([VERIFIED_RECORDS]).map_err(super::failure)?;
    while let Some(row) = rows.next().map_err(super::failure)? {
        Record::from_row(row)?;
    }
    Ok(())
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
