//! How long history is kept: which revision was current how long ago.

use std::{collections::VecDeque, time::Duration};

use crate::{Revision, UnixSeconds};

/// Remembers, once per turn, which revision was current when.
///
/// Bound: one mark per second of `keep`, as marks within a second are merged.
#[derive(Debug)]
pub(crate) struct Ages {
    keep: Duration,
    marks: VecDeque<(UnixSeconds, Revision)>,
}

impl Ages {
    pub(crate) fn new(keep: Duration) -> Self {
        Self { keep, marks: VecDeque::new() }
    }

    /// Notes that `current` is current `now`; answers with the newest revision that is old enough
    /// to be the oldest kept.
    pub(crate) fn turn(&mut self, now: UnixSeconds, current: Revision) -> Option<Revision> {
        match self.marks.back_mut() {
            // Nothing was written since: the older mark already covers this revision.
            Some(last) if last.1 == current => {}
            Some(last) if last.0 == now => last.1 = current,
            _ => self.marks.push_back((now, current)),
        }
        let mut oldest = None;
        while let Some(&(then, revision)) = self.marks.front()
            && then.after(self.keep) <= now
        {
            // The newest mark stays, or it would be noted again as if it were young.
            if self.marks.len() == 1 {
                return Some(revision);
            }
            oldest = Some(revision);
            self.marks.pop_front();
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_given_up_when_it_is_old_enough_and_not_before() {
        let mut ages = Ages::new(Duration::from_secs(10));
        let mut turn = |now, current| ages.turn(UnixSeconds(now), Revision(current)).map(|oldest| oldest.0);
        assert_eq!(turn(100, 5), None);
        assert_eq!(turn(105, 9), None);
        assert_eq!(turn(109, 9), None);
        assert_eq!(turn(110, 12), Some(5));
        assert_eq!(turn(115, 12), Some(9));
        assert_eq!(turn(116, 12), None);
        assert_eq!(turn(120, 12), Some(12));
        assert_eq!(turn(200, 12), Some(12));
    }
}
