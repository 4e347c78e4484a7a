//! What must be there again after the store was ended and started.

use super::{Backend, Case, changes, commit, create, current, pairs, read, soon, update, watch};
use crate::{Error, KeyRange, Range, Revision, Txn};

pub(super) const CASES: &[Case] =
    &[("everything_is_there_again", |backend| Box::pin(everything_is_there_again(backend)))];

async fn everything_is_there_again(backend: &mut dyn Backend) {
    let [first, second, third, deleted] = {
        let store = &*backend.store();
        let first = create(store, "/a", "1").await;
        let second = update(store, "/a", "2", first).await;
        let third = create(store, "/b", "1").await;
        let deleted = commit(store, Txn::delete("/b", third)).await.revision;
        soon(store.compact(second)).await.expect("it can be compacted");
        [first, second, third, deleted]
    };
    for _ in 0..2 {
        if !backend.reopen().await {
            return;
        }
        let store = &*backend.store();
        assert_eq!(current(store).await, deleted);
        let now = read(store, Range::values(KeyRange::all())).await;
        assert_eq!(pairs(&now), ["/a=2"]);
        let kv = &now.kvs[0];
        assert_eq!((kv.create_revision, kv.mod_revision, kv.version), (first, second, 2));
        let then = read(store, Range::values(KeyRange::all()).at(third)).await;
        assert_eq!(pairs(&then), ["/a=2", "/b=1"]);
        let compacted = soon(store.range(Range::values(KeyRange::all()).at(first))).await;
        assert!(matches!(compacted, Err(Error::Compacted { .. })));
        let mut watch = soon(store.watch(KeyRange::all(), second)).await.expect("kept");
        assert_eq!(changes(&*watch::events(&mut *watch).await), ["+/b=1"]);
        assert_eq!(changes(&*watch::events(&mut *watch).await), ["-/b"]);
    }
    let store = &*backend.store();
    assert_eq!(create(store, "/c", "1").await, Revision(deleted.0 + 1), "revisions go on");
}
