//! A watch: a position in the history, read from memory when it is near the end, else from disk.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::watch as signal;

use super::{Shared, published::Next};
use crate::{BoxFuture, Error, EventBatch, KeyRange, Result, Revision, Watch, WatchMessage};

/// Bound: batches that a watch takes from memory at once.
const TAKE: usize = 64;

pub(super) struct EmbeddedWatch {
    shared: Arc<Shared>,
    signal: signal::Receiver<Revision>,
    keys: KeyRange,
    /// Taken, not yet told.
    taken: VecDeque<Arc<EventBatch>>,
    /// Everything up to here has been looked at, but for `taken`.
    seen: Revision,
    /// The reader knows that nothing up to here is missing.
    told: Revision,
}

impl EmbeddedWatch {
    pub(super) fn open(shared: Arc<Shared>, keys: KeyRange, after: Revision) -> Result<Self> {
        let oldest = shared.published.compacted();
        if after < oldest {
            return Err(Error::Compacted { oldest });
        }
        let signal = shared.published.subscribe();
        Ok(Self { shared, signal, keys, taken: VecDeque::new(), seen: after, told: after })
    }

    /// The next message among what was taken.
    fn tell(&mut self) -> Option<WatchMessage> {
        while let Some(batch) = self.taken.pop_front() {
            self.seen = batch.revision;
            if let Some(batch) = batch.within(&self.keys) {
                self.told = batch.revision;
                return Some(WatchMessage::Events(batch));
            }
        }
        None
    }

    async fn message(&mut self) -> Result<WatchMessage> {
        loop {
            if let Some(message) = self.tell() {
                return Ok(message);
            }
            // Marked before looking: what comes after the look wakes the wait.
            self.signal.mark_unchanged();
            match self.shared.published.next(self.seen, TAKE) {
                Next::Closed => return Err(Error::closed()),
                Next::Compacted { oldest } => return Err(Error::Compacted { oldest }),
                Next::OnDisk { upto } => self.take_from_disk(upto).await?,
                Next::Here(batches) if !batches.is_empty() => self.taken.extend(batches),
                Next::Here(_) if self.told < self.seen => {
                    self.told = self.seen;
                    return Ok(WatchMessage::Progress(self.seen));
                }
                Next::Here(_) => self.signal.changed().await.map_err(|_| Error::closed())?,
            }
        }
    }

    async fn take_from_disk(&mut self, upto: Revision) -> Result<()> {
        self.shared.counters.watch_read_disk();
        let seen = self.seen;
        let batches = self.shared.readers.run(move |reader| reader.history(seen, upto)).await?;
        self.taken.extend(batches);
        Ok(())
    }
}

impl Watch for EmbeddedWatch {
    fn next(&mut self) -> BoxFuture<'_, Result<WatchMessage>> {
        Box::pin(self.message())
    }
}
