//! Where the store gets the time from: keys expire and history ages by it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Seconds since 1970, without leap seconds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSeconds(pub u64);

impl UnixSeconds {
    /// That much later, rounded up: nothing expires early.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        Self(self.0.saturating_add(seconds))
    }
}

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> UnixSeconds;
}

/// The time of the machine.
#[derive(Copy, Clone, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that others are given")]
    fn now(&self) -> UnixSeconds {
        // A clock before 1970 reads as 1970: nothing expires until it is set.
        UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }
}

/// A clock that stands still until told to go on; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub fn starting_at(start: UnixSeconds) -> Self {
        Self(Arc::new(AtomicU64::new(start.0)))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_secs(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixSeconds {
        UnixSeconds(self.0.load(Ordering::SeqCst))
    }
}
