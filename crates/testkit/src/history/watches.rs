//! Whether a watch told everything, once, in order.

use super::timeline::Timeline;
use super::{Change, Told, Watched};

pub(super) fn check(watched: &Watched, timeline: &Timeline<'_>, wrong: &mut Vec<String>) {
    let mut expected: Vec<&Change> = timeline.changes().filter(|change| is_due(watched, change)).collect();
    expected.sort_by_key(|change| change.revision);
    let mut expected = expected.into_iter().peekable();
    let mut newest = watched.after;
    for told in &watched.told {
        match told {
            Told::Change(change) => {
                match expected.next() {
                    Some(due) if due == change => {}
                    due => {
                        wrong.push(format!("a watch told {change:?} where {due:?} was due"));
                        return; // what follows is out of step
                    }
                }
                newest = change.revision;
            }
            Told::Bookmark(revision) => {
                if *revision < newest {
                    wrong.push(format!("a bookmark went back to {revision} from {newest}"));
                }
                if let Some(due) = expected.peek().filter(|due| due.revision <= *revision) {
                    wrong.push(format!("a bookmark at {revision} came before {due:?}"));
                }
                newest = newest.max(*revision);
            }
        }
    }
}

fn is_due(watched: &Watched, change: &Change) -> bool {
    change.revision > watched.after && change.key.starts_with(&watched.prefix)
}
