//! Hands transactions to the committer, as many as wait at once.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::{Cause, Committed, Error, Result, Revision, Txn};

/// Bound: transactions that may wait; further callers wait for a place.
const WAITING: usize = 1_024;
/// Bound: transactions that share a sync.
const GROUP: usize = 256;

pub(super) enum Request {
    Commit { txn: Txn, answer: oneshot::Sender<Result<Committed>>, permit: OwnedSemaphorePermit },
    Compact { oldest: Revision, answer: oneshot::Sender<Result<()>> },
}

pub(super) struct Queue {
    state: Mutex<State>,
    /// Told when there is something to do.
    filled: Condvar,
    places: Arc<Semaphore>,
}

struct State {
    waiting: VecDeque<Request>,
    /// Why nothing is taken any more.
    refusal: Option<Error>,
    closing: bool,
    poisoned: bool,
}

/// What the committer is to do next.
pub(super) enum Turn {
    /// These transactions; none when the wait was over before any came.
    Work(Vec<Request>),
    /// Everything accepted is done and nothing will come.
    Close,
}

impl Queue {
    pub(super) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), refusal: None, closing: false, poisoned: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), places: Arc::new(Semaphore::new(WAITING)) }
    }

    pub(super) async fn commit(&self, txn: Txn) -> Result<Committed> {
        let places = Arc::clone(&self.places);
        let permit = places.acquire_owned().await.map_err(|_| Error::closed())?;
        let (answer, answered) = oneshot::channel();
        self.push(Request::Commit { txn, answer, permit })?;
        answered.await.map_err(|_| self.refusal())?
    }

    pub(super) async fn compact(&self, oldest: Revision) -> Result<()> {
        let (answer, answered) = oneshot::channel();
        self.push(Request::Compact { oldest, answer })?;
        answered.await.map_err(|_| self.refusal())?
    }

    fn push(&self, request: Request) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(refusal) = &state.refusal {
            return Err(refusal.clone());
        }
        state.waiting.push_back(request);
        // The committer takes all that waits: one call for the first is enough.
        if state.waiting.len() == 1 {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Why a request was dropped unanswered.
    fn refusal(&self) -> Error {
        self.state.lock().refusal.clone().unwrap_or_else(Error::closed)
    }

    /// Waits for work until `deadline`.
    pub(super) fn take(&self, deadline: Instant) -> Turn {
        let mut state = self.state.lock();
        while state.waiting.is_empty() {
            if state.closing {
                return Turn::Close;
            }
            if state.poisoned {
                // Not even housekeeping: nothing is written any more.
                self.filled.wait(&mut state);
            } else if self.filled.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        let count = state.waiting.len().min(GROUP);
        Turn::Work(state.waiting.drain(..count).collect())
    }

    /// Whether transactions are taken.
    pub(super) fn is_open(&self) -> bool {
        self.state.lock().refusal.is_none()
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.state.lock().poisoned
    }

    /// Takes nothing more; what waits is still done.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.refusal.get_or_insert_with(Error::closed);
        state.closing = true;
        self.filled.notify_all();
    }

    /// Takes nothing more and does nothing more: nobody knows what is on disk.
    pub(super) fn poison(&self, cause: Cause) {
        let mut state = self.state.lock();
        state.refusal = Some(Error::Unavailable(cause));
        state.poisoned = true;
        state.waiting.clear();
    }
}
