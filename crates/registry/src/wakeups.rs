//! Wakes those who wait for the changes of one resource.
//!
//! A thousand watchers are woken by every change, so what a wakeup costs is much of what a change costs.
//! Each watcher has a seat that stays its own between changes, and leaves its waker there when it has nothing
//! to do. Seats stand in the order of lanes: the watchers of one lane (a connection) are woken one after the
//! other, so that what they have to say is written together.
//!
//! The thread that commits wakes only a few by itself; many are left to [`Waking`], a task of the runtime,
//! whose wakeups are cheaper and hold up no writer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Bound: watchers that the thread that commits wakes by itself.
const WOKEN_AT_ONCE: usize = 4;

/// All who wait for the changes of one resource.
#[derive(Default)]
pub(crate) struct Wakeups {
    seats: Mutex<Seats>,
    /// Somebody is about to wake everybody.
    due: AtomicBool,
}

#[derive(Default)]
struct Seats {
    places: BTreeMap<(u64, u64), Arc<Place>>,
    /// Tells apart the seats of one lane.
    next: u64,
}

/// Where a watcher leaves its waker.
#[derive(Default)]
struct Place(Mutex<Option<Waker>>);

/// The place of one watcher; dropping it gives it up.
pub(crate) struct Seat {
    wakeups: Arc<Wakeups>,
    key: (u64, u64),
    place: Arc<Place>,
}

impl Wakeups {
    /// A seat among those of `lane`, behind the earlier ones.
    pub(crate) fn seat(self: &Arc<Self>, lane: u64) -> Seat {
        let mut seats = self.seats.lock();
        let key = (lane, seats.next);
        seats.next += 1;
        let place = Arc::<Place>::default();
        seats.places.insert(key, place.clone());
        Seat { wakeups: self.clone(), key, place }
    }

    /// Wakes everybody who waits, lane by lane.
    pub(crate) fn wake(&self) {
        // Before looking for who waits: a change from now on asks for another round.
        self.due.swap(false, Ordering::AcqRel);
        let waiting: Vec<Waker> = {
            let seats = self.seats.lock();
            seats.places.values().filter_map(|place| place.0.lock().take()).collect()
        };
        waiting.into_iter().for_each(Waker::wake); // no lock is held: this may run anything
    }
}

impl Seat {
    /// Asks to be woken at the next change. To miss none, look again after this.
    pub(crate) fn wait(&self, cx: &Context<'_>) {
        let mut waker = self.place.0.lock();
        match &*waker {
            Some(waiting) if waiting.will_wake(cx.waker()) => {}
            _ => *waker = Some(cx.waker().clone()),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.wakeups.seats.lock().places.remove(&self.key);
    }
}

/// The resources with many watchers to be woken, and the task that does it.
#[derive(Default)]
pub(crate) struct Waking {
    due: Mutex<Vec<Arc<Wakeups>>>,
    bell: Notify,
}

impl Waking {
    /// Wakes the watchers of a resource: soon, if they are many.
    pub(crate) fn wake(&self, wakeups: &Arc<Wakeups>) {
        if wakeups.seats.lock().places.len() <= WOKEN_AT_ONCE {
            wakeups.wake();
        } else if !wakeups.due.swap(true, Ordering::AcqRel) {
            self.due.lock().push(wakeups.clone());
            self.bell.notify_one();
        }
    }

    /// Wakes whom [`Waking::wake`] left over, for ever.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            self.bell.notified().await;
            let due = std::mem::take(&mut *self.due.lock());
            for wakeups in due {
                wakeups.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    /// Notes in which order it was woken.
    struct Note {
        order: Arc<AtomicUsize>,
        woken: AtomicUsize,
    }

    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.woken.store(1 + self.order.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        }
    }

    fn note(order: &Arc<AtomicUsize>) -> (Arc<Note>, Waker) {
        let note = Arc::new(Note { order: order.clone(), woken: AtomicUsize::new(0) });
        (note.clone(), note.into())
    }

    #[test]
    fn those_of_a_lane_are_woken_together_once_and_only_while_they_wait() {
        let wakeups = Arc::<Wakeups>::default();
        let order = Arc::default();
        let watchers: Vec<_> = [2, 1, 2, 1].map(|lane| (wakeups.seat(lane), note(&order))).into();
        for (seat, (_, waker)) in &watchers {
            seat.wait(&Context::from_waker(waker));
            seat.wait(&Context::from_waker(waker));
        }
        wakeups.wake();
        let woken = || watchers.iter().map(|(_, (note, _))| note.woken.load(Ordering::SeqCst));
        assert_eq!(woken().collect::<Vec<_>>(), [3, 1, 4, 2]);
        wakeups.wake();
        assert_eq!(order.load(Ordering::SeqCst), 4, "nobody waits any more");
        drop(watchers);
        assert!(wakeups.seats.lock().places.is_empty());
    }

    #[tokio::test]
    async fn many_are_woken_by_the_task() {
        let waking = Arc::<Waking>::default();
        let wakeups = Arc::<Wakeups>::default();
        let order = Arc::default();
        let watchers: Vec<_> = (0..=WOKEN_AT_ONCE).map(|_| (wakeups.seat(0), note(&order))).collect();
        for (seat, (_, waker)) in &watchers {
            seat.wait(&Context::from_waker(waker));
        }
        waking.wake(&wakeups);
        waking.wake(&wakeups);
        assert_eq!((order.load(Ordering::SeqCst), waking.due.lock().len()), (0, 1));
        let task = tokio::spawn(waking.clone().run());
        while order.load(Ordering::SeqCst) < watchers.len() {
            tokio::task::yield_now().await;
        }
        assert!(!wakeups.due.load(Ordering::SeqCst) && waking.due.lock().is_empty());
        task.abort();
    }
}
