//! The store on disk, for one process.
//!
//! One thread commits: it takes the transactions that wait, checks and writes them as one engine
//! transaction, syncs once, calls observers, wakes watches, answers. A few threads read. The engine
//! is `SQLite`, by the comparison in docs/design/embedded-store.md, which also has the layout, the
//! protocol and what is assumed of the disk.
//!
//! Memory does not grow with the data: values stay on disk, with a small cache before them.

mod apply;
mod committer;
mod counters;
mod open;
mod published;
mod queue;
mod reader;
mod record;
mod restore;
mod schema;
mod sweep;
mod wal;
mod watch;
mod watermark;

use std::{fs::File, path::Path, sync::Arc, thread, time::Duration};

use parking_lot::Mutex;
use rusqlite::{ErrorCode, OpenFlags};

use self::{
    committer::Committer, counters::Counters, open::Files, published::Published, queue::Queue,
    reader::Readers, wal::WriteAheadLog, watch::EmbeddedWatch,
};
pub use self::{
    open::OpenError,
    restore::{RestoreError, restore},
};
use crate::{
    BoxFuture, Clock, Committed, Error, KeyRange, MAX_VALUE_BYTES, Observer, Range, RangeResult, Result,
    Revision, Stats, Store, SystemClock, Txn, Watch,
};

/// How an [`EmbeddedStore`] behaves.
#[derive(Clone)]
pub struct Options {
    /// The largest transaction, keys and values together.
    pub max_bytes: usize,
    /// How long superseded values and events are kept.
    pub keep_history: Duration,
    /// How often expiry and the age of history are looked at.
    pub housekeeping: Duration,
    /// Pages that the engine keeps in memory for the writer; each reader has a quarter of it.
    pub cache_bytes: usize,
    /// The log is copied into the database when it is longer. It may grow to a few times as much
    /// under load or while something long is read.
    pub log_bytes: usize,
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_bytes: MAX_VALUE_BYTES,
            keep_history: Duration::from_mins(5),
            housekeeping: Duration::from_secs(1),
            cache_bytes: 4 << 20,
            log_bytes: 6 << 20,
            clock: Arc::new(SystemClock),
        }
    }
}

/// A checkpoint reads each page once.
const CHECKPOINT_CACHE_BYTES: usize = 64 << 10;
/// Threads that read; more than one so that a long range does not hold up a watch.
const READERS: usize = 2;

/// See the [module documentation](self). Dropping it closes it.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    committer: Mutex<Option<thread::JoinHandle<()>>>,
    /// Held until the last thread is gone.
    lock: Mutex<Option<File>>,
}

/// What the threads, the watches and the handle share.
struct Shared {
    options: Options,
    files: Files,
    queue: Queue,
    published: Arc<Published>,
    readers: Readers,
    counters: Counters,
}

impl EmbeddedStore {
    /// Opens the store in `dir`, which is made when it does not exist.
    ///
    /// Takes milliseconds, however much is stored; the end of the log is checked, and a store that
    /// lacks writes which were acknowledged is refused.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let mut opened = open::open(dir, options.cache_bytes)?;
        let engine = |error| opened.files.engine(error);
        let published = Arc::new(Published::new(opened.current, opened.compacted));
        let connect = |cache_bytes| {
            schema::connect(&opened.files.database(), cache_bytes, OpenFlags::SQLITE_OPEN_READ_WRITE)
        };
        let connect_reader = |_| {
            let connection = connect(options.cache_bytes / 4)?;
            connection.pragma_update(None, "query_only", true)?;
            Ok(connection)
        };
        let connections = (0..READERS).map(connect_reader).collect::<Result<_, _>>().map_err(engine)?;
        let helper = connect(CHECKPOINT_CACHE_BYTES).map_err(engine)?;
        let readers = Readers::start(connections, &published).map_err(|error| opened.files.io(error))?;
        let shared = Arc::new(Shared {
            options,
            files: opened.files.clone(),
            queue: Queue::new(),
            published,
            readers,
            counters: Counters::default(),
        });
        let queue = Arc::downgrade(&shared);
        let failed = move |error: rusqlite::Error| {
            if let Some(shared) = queue.upgrade()
                && !committer::passes(&error)
            {
                shared.queue.poison(Arc::new(failure(error)));
            }
        };
        let engine = |error| shared.files.engine(error);
        let log = WriteAheadLog::follow(&mut opened.writer, shared.options.log_bytes, helper, failed);
        let log = log.map_err(engine)?;
        let committer = Committer::new(opened.writer, Arc::clone(&shared), opened.watermark, log);
        let committer = committer.map_err(engine)?;
        let thread = thread::Builder::new().name("store-commit".into()).spawn(move || committer.run());
        let thread = thread.map_err(|error| shared.files.io(error))?;
        Ok(Self { shared, committer: Mutex::new(Some(thread)), lock: Mutex::new(Some(opened.lock)) })
    }

    /// Waits for everything accepted to be done, then lets go of the files. Again: does nothing.
    fn shut_down(&self) {
        self.shared.queue.close();
        if let Some(committer) = self.committer.lock().take() {
            // It catches its panics; the callers have been told.
            committer.join().ok();
        }
        self.shared.readers.stop();
        self.lock.lock().take();
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl Store for EmbeddedStore {
    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<Committed>> {
        Box::pin(async move {
            txn.check(self.shared.options.max_bytes)?;
            self.shared.queue.commit(txn).await
        })
    }

    fn range(&self, range: Range) -> BoxFuture<'_, Result<RangeResult>> {
        Box::pin(self.shared.readers.run(move |reader| reader.range(&range)))
    }

    fn watch(&self, keys: KeyRange, after: Revision) -> BoxFuture<'_, Result<Box<dyn Watch>>> {
        Box::pin(async move {
            let watch = EmbeddedWatch::open(Arc::clone(&self.shared), keys, after)?;
            Ok(Box::new(watch) as Box<dyn Watch>)
        })
    }

    fn current(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async move { self.shared.published.current_if_open().ok_or_else(Error::closed) })
    }

    fn compact(&self, oldest: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.shared.queue.compact(oldest))
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Option<Revision> {
        Some(self.shared.published.observe(observer))
    }

    fn stats(&self) -> Stats {
        let published = &self.shared.published;
        let (current, compacted) = (published.current(), published.compacted());
        Stats {
            current,
            writable: self.shared.queue.is_open(),
            compacted,
            history: current.0 - compacted.0.min(current.0),
            watches: published.watches() as u64,
            ..self.shared.counters.stats()
        }
    }

    /// Blocks the calling thread until the last group is synced.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.shut_down();
            Ok(())
        })
    }
}

/// What an error of the engine means to a caller.
fn failure(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Corrupt(error.to_string().into())
        }
        None => Error::Corrupt(format!("a row has an unexpected form: {error}").into()),
        Some(_) => Error::Unavailable(Arc::new(error)),
    }
}
