//! The contract of [`Store`] as a suite that every backend has to pass.
//!
//! A backend's test makes a [`Factory`] and calls [`all`]. Each case gets a fresh, empty store and
//! panics, with its name, when a promise is broken. Nothing here knows a backend.

mod expiry;
mod history;
mod model;
mod range;
mod restart;
mod txn;
mod watch;

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{BoxFuture, Committed, Error, EventBatch, KeyRange, Range, RangeResult, Revision, Store, Txn};

/// Makes empty stores of one backend.
pub trait Factory {
    fn make(&self) -> BoxFuture<'_, Box<dyn Backend>>;
}

/// One store under test, and what a test may do to it from outside.
pub trait Backend: Send {
    fn store(&self) -> Arc<dyn Store>;

    /// Lets that much time pass for the store.
    fn advance(&mut self, by: Duration) -> BoxFuture<'_, ()>;

    /// Ends the store and starts it again on the same data. `false`: it has none to start on.
    fn reopen(&mut self) -> BoxFuture<'_, bool>;
}

type Case = (&'static str, for<'a> fn(&'a mut dyn Backend) -> BoxFuture<'a, ()>);

/// Runs every case. A panic names the case that broke.
pub async fn all(factory: &dyn Factory) {
    let cases =
        [txn::CASES, range::CASES, watch::CASES, history::CASES, expiry::CASES, restart::CASES, model::CASES];
    for (name, case) in cases.concat() {
        let _name = Named(name);
        let mut backend = factory.make().await;
        case(&mut *backend).await;
    }
}

/// Tells which case was running when a panic passes.
struct Named(&'static str);

impl Drop for Named {
    #[expect(clippy::print_stderr, reason = "it runs in tests only")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the case that failed: {}", self.0);
        }
    }
}

/// Longer than any promise takes, so that a broken one fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("an answer in time")
}

async fn commit(store: &dyn Store, txn: Txn) -> Committed {
    soon(store.commit(txn)).await.expect("the transaction is fine")
}

/// Creates a key and answers with its revision.
async fn create(store: &dyn Store, key: &'static str, value: &'static str) -> Revision {
    commit(store, Txn::create(key, value)).await.revision
}

async fn update(store: &dyn Store, key: &'static str, value: &'static str, at: Revision) -> Revision {
    commit(store, Txn::update(key, value, at)).await.revision
}

async fn refused(store: &dyn Store, txn: Txn) -> Error {
    soon(store.commit(txn)).await.expect_err("the transaction is to be refused")
}

async fn read(store: &dyn Store, range: Range) -> RangeResult {
    soon(store.range(range)).await.expect("the range can be read")
}

async fn value_of(store: &dyn Store, key: &'static str) -> Option<Bytes> {
    let result = read(store, Range::values(KeyRange::key(key))).await;
    result.kvs.into_iter().next().map(|kv| kv.value)
}

async fn current(store: &dyn Store) -> Revision {
    soon(store.current()).await.expect("the store is open")
}

/// `key=value` pairs, for comparison at a glance.
fn pairs(result: &RangeResult) -> Vec<String> {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    result.kvs.iter().map(|kv| format!("{}={}", text(&kv.key), text(&kv.value))).collect()
}

/// `+key=value` for puts, `-key` for deletes.
fn changes(batch: &EventBatch) -> Vec<String> {
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let change = |event: &crate::Event| match event.kind {
        crate::EventKind::Put => format!("+{}={}", text(&event.kv.key), text(&event.kv.value)),
        crate::EventKind::Delete => format!("-{}", text(&event.kv.key)),
    };
    batch.events.iter().map(change).collect()
}

/// A sequence that looks random and is the same in every run.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
