//! Leases for keys that leave by themselves: one for many keys, since each costs etcd memory and a timer.
//!
//! A lease lives a little longer than the first key that takes it, so that the keys of the next moments can take
//! the same one. Nothing expires early; a key may stay for a twentieth longer, at most a minute, as in the
//! reference (`apiserver/pkg/storage/etcd3/lease_manager.go`, v1.36).

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{client::Client, grpc::Failure};

/// The part of its time to live that a lease is granted for longer.
const REUSE_PART: u32 = 20;
/// Bound: the longest time that a lease is granted for longer.
const REUSE_AT_MOST: Duration = Duration::from_mins(1);
/// Bound: keys that share a lease. They are deleted together, in one transaction.
const KEYS_PER_LEASE: u32 = 1000;

#[derive(Default)]
pub(super) struct Leases {
    newest: Mutex<Option<Lease>>,
}

#[derive(Copy, Clone)]
struct Lease {
    id: i64,
    ends: Instant,
    keys: u32,
}

impl Leases {
    /// A lease that ends not before `time_to_live`, and not much after.
    pub(super) async fn of(&self, client: &Client, time_to_live: Duration) -> Result<i64, Failure> {
        let seconds = time_to_live.as_secs() + u64::from(time_to_live.subsec_nanos() > 0);
        let wanted = Duration::from_secs(seconds.max(1));
        let longer = (wanted / REUSE_PART).min(REUSE_AT_MOST);
        if let Some(id) = self.take(Instant::now() + wanted, longer) {
            return Ok(id);
        }
        // Counted from before the request: the lease ends later than we believe, never earlier.
        let asked = Instant::now();
        let granted = (wanted + longer).as_secs();
        let lease = client.grant(i64::try_from(granted).unwrap_or(i64::MAX)).await?;
        let ends = asked + Duration::from_secs(granted);
        *self.newest.lock() = Some(Lease { id: lease.id, ends, keys: 1 });
        Ok(lease.id)
    }

    fn take(&self, wanted: Instant, longer: Duration) -> Option<i64> {
        let mut newest = self.newest.lock();
        let lease = newest.as_mut()?;
        let fits = lease.ends > wanted && lease.ends <= wanted + longer + Duration::from_secs(1);
        if !fits || lease.keys >= KEYS_PER_LEASE {
            return None;
        }
        lease.keys += 1;
        Some(lease.id)
    }

    /// Forgets a lease that etcd does not know any more.
    pub(super) fn forget(&self) {
        *self.newest.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_is_shared_by_keys_that_want_about_the_same_end() {
        let hour = Duration::from_hours(1);
        let longer = Duration::from_mins(1);
        let now = Instant::now();
        let leases = Leases::default();
        assert_eq!(leases.take(now + hour, longer), None);
        *leases.newest.lock() = Some(Lease { id: 7, ends: now + hour + longer, keys: 1 });
        assert_eq!(leases.take(now + hour, longer), Some(7));
        assert_eq!(leases.take(now + longer + hour, longer), None, "it would end too early");
        assert_eq!(leases.take(now + hour / 2, longer), None, "it would stay too long");
        leases.newest.lock().as_mut().expect("just set").keys = KEYS_PER_LEASE;
        assert_eq!(leases.take(now + hour, longer), None, "it has its keys");
    }
}
