//! One question for all who ask at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::Result;

/// An answer is shared only with those who came before it was asked for, so nobody gets an old one.
pub(super) struct SharedQuestion<T> {
    /// Counts arrivals and questions in one order.
    order: AtomicU64,
    /// The newest answer, and when its question was asked.
    answer: Mutex<Option<(u64, Result<T>)>>,
}

impl<T> Default for SharedQuestion<T> {
    fn default() -> Self {
        SharedQuestion { order: AtomicU64::new(0), answer: Mutex::new(None) }
    }
}

impl<T: Clone> SharedQuestion<T> {
    pub(super) async fn ask(&self, question: impl AsyncFnOnce() -> Result<T>) -> Result<T> {
        let arrived = self.order.fetch_add(1, Ordering::SeqCst);
        let mut answer = self.answer.lock().await;
        if let Some((asked, answer)) = &*answer
            && *asked > arrived
        {
            return answer.clone();
        }
        let asked = self.order.fetch_add(1, Ordering::SeqCst);
        *answer = None; // should we be cancelled now, the next one asks
        let found = question().await;
        *answer = Some((asked, found.clone()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_while_a_question_is_under_way_waits_for_the_next_one() {
        let shared = SharedQuestion::<u32>::default();
        let asked = AtomicU64::new(0);
        let ask = async || {
            shared
                .ask(async || {
                    let number = asked.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    Ok(u32::try_from(number).expect("small"))
                })
                .await
                .expect("an answer")
        };
        let answers = futures_util::future::join_all((0..10).map(|_| ask())).await;
        assert_eq!(answers[0], 0);
        assert!(answers[1..].iter().all(|&answer| answer == 1), "{answers:?}");
        assert_eq!(ask().await, 2);
    }
}
