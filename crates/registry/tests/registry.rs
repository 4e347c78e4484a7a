//! The registry over a store in memory: what readers, writers and watchers may rely on.

use std::sync::Arc;
use std::time::Duration;

use crest_registry as registry;
use registry::{
    At, Change, ContinueToken, Error, FieldPathSpec, FieldPaths, NewObject, Object, PageRequest, Registry,
    Start, Watcher,
};
use store::memory::MemoryStore;
use store::{Revision, Store};

fn object(namespace: &str, name: &str, value: usize) -> NewObject {
    let text = format!(
        r#"{{"apiVersion":"g.io/v1","kind":"Thing","metadata":{{"labels":{{"parity":"{}"}},"name":"{name}","namespace":"{namespace}"}},"spec":{{"value":{value}}}}}"#,
        value % 2
    );
    NewObject::from(text.into_bytes())
}

struct Fixture {
    store: Arc<MemoryStore>,
    registry: Arc<Registry>,
    things: Arc<registry::Cache>,
}

async fn fixture() -> Fixture {
    let store = Arc::new(MemoryStore::default());
    let registry = Registry::start(store.clone()).await.expect("the store in memory does not fail");
    let things = registry.cache("g.io", "things", &fields());
    Fixture { store, registry, things }
}

fn fields() -> FieldPaths {
    FieldPaths(vec![FieldPathSpec { label: "spec.value".into(), path: vec!["spec".into(), "value".into()] }])
}

impl Fixture {
    async fn create(&self, name: &str, value: usize) -> Arc<Object> {
        let key = format!("ns/{name}");
        self.registry
            .create(&self.things, &key, object("ns", name, value))
            .await
            .expect("the store in memory does not fail")
    }

    async fn page(&self, start: &str, limit: usize, at: At) -> registry::Page {
        let request = PageRequest { namespace: "ns".into(), start: start.into(), only: None, limit, at };
        self.registry.page(&self.things, &request, None).await.expect("the store in memory does not fail")
    }
}

fn names(objects: &[Arc<Object>]) -> Vec<&str> {
    objects.iter().map(|object| object.name()).collect()
}

async fn next(watcher: &mut Watcher) -> Vec<(Change, String, u64)> {
    let events = tokio::time::timeout(Duration::from_secs(10), watcher.next()).await;
    let events = events.expect("a change was announced").expect("the watch goes on");
    events.iter().map(|event| (event.change, event.object.name().to_owned(), event.revision.0)).collect()
}

#[tokio::test]
async fn a_write_answers_with_what_it_wrote_and_readers_see_it_at_once() {
    let fixture = fixture().await;
    let created = fixture.create("a", 1).await;
    assert!(created.field_is(&fields().0[0], "1"));
    assert_eq!(created.label("parity"), Some("1"));
    fixture.registry.fresh(&fixture.things).await.unwrap();
    let read = fixture.things.get("ns/a").unwrap();
    assert_eq!(read.bytes(), created.bytes());
    assert!(
        std::str::from_utf8(read.bytes())
            .unwrap()
            .contains(&format!(r#""resourceVersion":"{}""#, created.revision))
    );
}

#[tokio::test]
async fn only_the_version_that_was_seen_can_be_replaced_or_removed() {
    let fixture = fixture().await;
    let first = fixture.create("a", 1).await;
    let (registry, things) = (&fixture.registry, &fixture.things);
    assert!(matches!(registry.create(things, "ns/a", object("ns", "a", 9)).await, Err(Error::AlreadyExists)));
    let second = registry.replace(things, "ns/a", first.revision, object("ns", "a", 2)).await.unwrap();
    let lost = registry.replace(things, "ns/a", first.revision, object("ns", "a", 3)).await;
    let Err(Error::Conflict(Some(current))) = lost else { panic!("the race was lost: {lost:?}") };
    assert_eq!(current.revision, second.revision);
    assert!(matches!(registry.remove(things, "ns/a", &first).await, Err(Error::Conflict(Some(_)))));
    let removed = registry.remove(things, "ns/a", &second).await.unwrap();
    assert!(removed.revision > second.revision);
    assert!(matches!(registry.remove(things, "ns/a", &second).await, Err(Error::Conflict(None))));
}

#[tokio::test]
async fn pages_show_one_state_whatever_is_written_between_them() {
    let fixture = fixture().await;
    for (index, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        fixture.create(name, index).await;
    }
    let first = fixture.page("", 2, At::Fresh).await;
    assert_eq!((names(&first.objects), first.remaining), (vec!["a", "b"], Some(3)));
    fixture.create("bb", 1).await;
    fixture.create("z", 1).await;
    let token = ContinueToken::behind(Some(first.revision), first.last.as_ref().unwrap());
    let second = fixture.page(&token.start, 2, At::Exactly(first.revision)).await;
    assert_eq!((names(&second.objects), second.remaining), (vec!["c", "d"], Some(1)));
    // The state is still found when it is no longer kept in memory.
    for index in 0..20 {
        fixture.create(&format!("later{index:02}"), index).await;
        fixture.page("", 1, At::Fresh).await;
    }
    let again = fixture.page(&token.start, 9, At::Exactly(first.revision)).await;
    assert_eq!(names(&again.objects), ["c", "d", "e"]);
    assert_eq!(again.last, None);
}

#[tokio::test]
async fn a_filter_is_asked_and_labels_that_cannot_match_are_passed_over() {
    let fixture = fixture().await;
    for index in 0..10 {
        fixture.create(&format!("n{index}"), index).await;
    }
    let bits = registry::label_bits("parity", "1");
    let odd = |entry: &registry::Entry| entry.may_have(bits) && entry.object.label("parity") == Some("1");
    let request =
        PageRequest { namespace: "ns".into(), start: "".into(), only: None, limit: 3, at: At::Fresh };
    let page = fixture.registry.page(&fixture.things, &request, Some(&odd)).await.unwrap();
    assert_eq!(names(&page.objects), ["n1", "n3", "n5"]);
    assert_eq!((page.last.as_deref(), page.remaining), (Some("n5"), None));
}

#[tokio::test]
async fn a_watch_begins_with_a_state_and_misses_nothing_after_it() {
    let fixture = fixture().await;
    let a = fixture.create("a", 1).await;
    let start = Start::State(At::Fresh);
    let opened = Watcher::open(fixture.registry.clone(), fixture.things.clone(), start).await.unwrap();
    let (mut watcher, Some((objects, revision))) = opened else { panic!("it begins with a state") };
    assert_eq!((objects.len(), revision), (1, a.revision));
    let b = fixture.create("b", 2).await;
    assert_eq!(next(&mut watcher).await, [(Change::Added, "b".to_owned(), b.revision.0)]);
    let removed = fixture.registry.remove(&fixture.things, "ns/a", &a).await.unwrap();
    assert_eq!(next(&mut watcher).await, [(Change::Deleted, "a".to_owned(), removed.revision.0)]);
}

#[tokio::test]
async fn a_watch_from_before_the_cache_was_filled_reads_the_history() {
    let fixture = fixture().await;
    let a = fixture.create("a", 1).await;
    let b = fixture.create("b", 2).await;
    // A second registry on the same store knows nothing of how things came to be.
    let late = Registry::start(fixture.store.clone()).await.unwrap();
    let things = late.cache("g.io", "things", &fields());
    late.fresh(&things).await.unwrap();
    let (mut watcher, _) = Watcher::open(late, things, Start::After(a.revision)).await.unwrap();
    assert_eq!(next(&mut watcher).await, [(Change::Added, "b".to_owned(), b.revision.0)]);
    let c = fixture.create("c", 3).await;
    assert_eq!(next(&mut watcher).await, [(Change::Added, "c".to_owned(), c.revision.0)]);
}

#[tokio::test]
async fn a_watch_that_falls_out_of_the_ring_goes_on_without_a_gap() {
    let fixture = fixture().await;
    let mut expected = fixture.create("a", 0).await.revision.0;
    let start = Start::After(Revision(expected));
    let (mut watcher, _) =
        Watcher::open(fixture.registry.clone(), fixture.things.clone(), start).await.unwrap();
    // More changes than any ring keeps.
    let mut revision = Revision(expected);
    for value in 0..9000 {
        let new = object("ns", "a", value);
        revision = fixture.registry.replace(&fixture.things, "ns/a", revision, new).await.unwrap().revision;
    }
    while expected < revision.0 {
        for (change, _, seen) in next(&mut watcher).await {
            assert_eq!((change, seen), (Change::Modified, expected + 1));
            expected = seen;
        }
    }
}

#[tokio::test]
async fn a_watch_from_a_forgotten_revision_is_refused() {
    let fixture = fixture().await;
    let a = fixture.create("a", 1).await;
    let b = fixture.create("b", 2).await;
    fixture.store.compact(b.revision).await.unwrap();
    let late = Registry::start(fixture.store.clone()).await.unwrap();
    let things = late.cache("g.io", "things", &fields());
    let before = Revision(a.revision.0 - 1);
    let opened = Watcher::open(late, things, Start::After(before)).await;
    assert!(matches!(opened.err(), Some(Error::Expired { .. })));
}

#[tokio::test]
async fn the_watches_of_a_forgotten_resource_end_after_its_last_change() {
    let fixture = fixture().await;
    let a = fixture.create("a", 1).await;
    let start = Start::State(At::Fresh);
    let (mut watcher, _) =
        Watcher::open(fixture.registry.clone(), fixture.things.clone(), start).await.unwrap();
    let removed = fixture.registry.remove(&fixture.things, "ns/a", &a).await.unwrap();
    fixture.registry.forget(&fixture.things);
    assert_eq!(next(&mut watcher).await, [(Change::Deleted, "a".to_owned(), removed.revision.0)]);
    assert!(matches!(watcher.next().await, Err(Error::Gone)));
    let again = fixture.registry.cache("g.io", "things", &fields());
    assert!(!Arc::ptr_eq(&again, &fixture.things));
}

#[tokio::test]
async fn resources_do_not_see_each_other() {
    let fixture = fixture().await;
    let others = fixture.registry.cache("", "things", &FieldPaths::default());
    fixture.create("a", 1).await;
    fixture.registry.fresh(&others).await.unwrap();
    assert!(others.is_empty());
    fixture.registry.create(&others, "ns/x", object("ns", "x", 1)).await.unwrap();
    fixture.registry.fresh(&fixture.things).await.unwrap();
    assert_eq!(fixture.things.len(), 1);
}

/// The cache is filled page by page, from one state, while others write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_of_many_objects_is_filled_without_gaps_while_they_change() {
    const OBJECTS: usize = 5_000;
    let fixture = fixture().await;
    for number in 0..OBJECTS {
        fixture.create(&format!("n{number:05}"), 0).await;
    }
    fixture.registry.fresh(&fixture.things).await.unwrap();
    let registry = Registry::start(fixture.store.clone()).await.expect("the store in memory does not fail");
    let things = registry.cache("g.io", "things", &fields());
    let writer = tokio::spawn(async move {
        for number in (0..OBJECTS).step_by(7) {
            let key = format!("ns/n{number:05}");
            let old = fixture.things.get(&key).expect("it was made");
            fixture.registry.remove(&fixture.things, &key, &old).await.expect("nobody else changes it");
            fixture.create(&format!("m{number:05}"), 1).await;
        }
        fixture
    });
    registry.any_state(&things).await.unwrap();
    let fixture = writer.await.unwrap();
    registry.fresh(&things).await.unwrap();
    fixture.registry.fresh(&fixture.things).await.unwrap();
    let all = |cache: &registry::Cache| -> Vec<(String, u64)> {
        let objects = cache.snapshot(Revision::ZERO).objects;
        objects.iter().map(|(key, entry)| (key.to_string(), entry.object.revision.0)).collect()
    };
    assert_eq!(all(&things).len(), OBJECTS);
    assert_eq!(all(&things), all(&fixture.things));
}
