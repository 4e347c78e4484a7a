//! Selective reads find through an index what a look at every object finds, and look at nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crest_registry as registry;
use registry::{
    At, By, Cache, Entry, FieldPathSpec, FieldPaths, Narrow, NewObject, Object, Page, PageRequest, Registry,
    Start, Watcher,
};
use store::memory::MemoryStore;

/// Enough for an index to pay.
const OBJECTS: usize = 1500;
const VALUES: usize = 50;

fn field() -> FieldPathSpec {
    FieldPathSpec { label: "spec.value".into(), path: vec!["spec".into(), "value".into()] }
}

fn object(namespace: &str, name: &str, value: usize) -> NewObject {
    let text = format!(
        r#"{{"apiVersion":"g.io/v1","kind":"Thing","metadata":{{"labels":{{"v":"{value}"}},"name":"{name}","namespace":"{namespace}"}},"spec":{{"value":"{value}"}}}}"#,
    );
    NewObject::from(text.into_bytes())
}

struct Fixture {
    registry: Arc<Registry>,
    things: Arc<Cache>,
}

impl Fixture {
    async fn new() -> Self {
        let registry = Registry::start(Arc::new(MemoryStore::default()))
            .await
            .expect("the store in memory does not fail");
        let things = registry.cache("g.io", "things", &FieldPaths(vec![field()]));
        let fixture = Fixture { registry, things };
        for number in 0..OBJECTS {
            fixture.put(number, number % VALUES).await;
        }
        fixture
    }

    fn place(number: usize) -> (String, String) {
        (format!("ns{}", number % 3), format!("n{number:05}"))
    }

    async fn put(&self, number: usize, value: usize) {
        let (namespace, name) = Self::place(number);
        let key = registry::join_key(&namespace, &name);
        self.registry.fresh(&self.things).await.expect("the store in memory does not fail");
        let new = object(&namespace, &name, value);
        match self.things.get(&key) {
            None => self
                .registry
                .create(&self.things, &key, new)
                .await
                .expect("the store in memory does not fail"),
            Some(old) => self
                .registry
                .replace(&self.things, &key, old.revision, new)
                .await
                .expect("the store in memory does not fail"),
        };
    }

    async fn remove(&self, number: usize) {
        let (namespace, name) = Self::place(number);
        let key = registry::join_key(&namespace, &name);
        if let Some(old) = self.things.get(&key) {
            self.registry.remove(&self.things, &key, &old).await.expect("the store in memory does not fail");
        }
    }

    /// A page, and how many objects were looked at for it.
    async fn page(&self, request: &PageRequest, narrow: Option<&Narrow>, value: &str) -> (Page, usize) {
        let looked_at = AtomicUsize::new(0);
        let matches = |entry: &Entry| {
            looked_at.fetch_add(1, Ordering::Relaxed);
            entry.object.field_is(&field(), value)
        };
        let page = self
            .registry
            .page_by(&self.things, request, narrow, Some(&matches))
            .await
            .expect("the store in memory does not fail");
        (page, looked_at.into_inner())
    }
}

fn all(namespace: &str) -> PageRequest {
    PageRequest { namespace: namespace.into(), start: "".into(), only: None, limit: 0, at: At::Fresh }
}

fn by_field(value: &str) -> Narrow {
    let field = field();
    Narrow {
        by: By::Field { shown_by: 0, label: field.label.clone() },
        value: value.into(),
        read: Arc::new(move |object| Some(object.field_text(&field))),
    }
}

fn by_label(value: &str) -> Narrow {
    Narrow {
        by: By::Label("v".into()),
        value: value.into(),
        read: Arc::new(|object| object.label("v").map(Into::into)),
    }
}

fn keys(objects: &[Arc<Object>]) -> Vec<String> {
    objects
        .iter()
        .map(|object| format!("{}/{}@{}", object.namespace(), object.name(), object.revision))
        .collect()
}

#[tokio::test]
async fn only_what_is_found_is_looked_at() {
    let fixture = Fixture::new().await;
    for narrow in [by_field("7"), by_label("7")] {
        let (page, looked_at) = fixture.page(&all(""), Some(&narrow), "7").await;
        assert_eq!((page.objects.len(), looked_at), (OBJECTS / VALUES, OBJECTS / VALUES));
        let (scanned, looked_at) = fixture.page(&all(""), None, "7").await;
        assert_eq!((keys(&scanned.objects), looked_at), (keys(&page.objects), OBJECTS));
        let (page, looked_at) = fixture.page(&all("ns1"), Some(&narrow), "7").await;
        assert_eq!((page.objects.len(), looked_at), (OBJECTS / VALUES / 3, OBJECTS / VALUES / 3));
    }
}

#[tokio::test]
async fn an_index_follows_every_change() {
    let fixture = Fixture::new().await;
    fixture.page(&all(""), Some(&by_field("7")), "7").await;
    fixture.page(&all(""), Some(&by_label("7")), "7").await;
    // A sequence without a pattern that repeats itself soon.
    let mut random = 1_usize;
    for _ in 0..2000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (number, value) = ((random >> 33) % (OBJECTS + 100), (random >> 20) % VALUES);
        if random >> 60 == 0 {
            fixture.remove(number).await;
        } else {
            fixture.put(number, value).await;
        }
    }
    for value in 0..VALUES {
        let value = value.to_string();
        let (scanned, _) = fixture.page(&all(""), None, &value).await;
        for narrow in [by_field(&value), by_label(&value)] {
            let (found, looked_at) = fixture.page(&all(""), Some(&narrow), &value).await;
            assert_eq!(keys(&found.objects), keys(&scanned.objects));
            assert_eq!(looked_at, found.objects.len(), "the index was used");
        }
    }
}

#[tokio::test]
async fn pages_are_of_one_state() {
    let fixture = Fixture::new().await;
    let narrow = by_field("7");
    let (whole, _) = fixture.page(&all(""), Some(&narrow), "7").await;
    let (first, _) = fixture.page(&PageRequest { limit: 11, ..all("") }, Some(&narrow), "7").await;
    // Between the pages everything changes its value.
    for number in 0..OBJECTS {
        fixture.put(number, (number + 1) % VALUES).await;
    }
    let mut pages = keys(&first.objects);
    let (mut last, revision) = (first.last, first.revision);
    while let Some(behind) = last {
        let start = format!("{behind}\0").into();
        let request = PageRequest { start, limit: 11, at: At::Exactly(revision), ..all("") };
        let (page, looked_at) = fixture.page(&request, Some(&narrow), "7").await;
        assert!(looked_at <= 11, "the index of that state is kept");
        pages.extend(keys(&page.objects));
        last = page.last;
    }
    assert_eq!(pages, keys(&whole.objects));
}

#[tokio::test]
async fn a_watch_begins_with_what_the_index_has() {
    let fixture = Fixture::new().await;
    let (whole, _) = fixture.page(&all(""), Some(&by_field("7")), "7").await;
    let narrow = by_field("7");
    let opened = Watcher::open_by(
        fixture.registry.clone(),
        fixture.things.clone(),
        Start::State(At::Fresh),
        Some(&narrow),
    );
    let (_, state) = opened.await.expect("the store in memory does not fail");
    let (objects, _) = state.expect("it begins with a state");
    let objects: Vec<_> = objects.values().map(|entry| entry.object.clone()).collect();
    assert_eq!(keys(&objects), keys(&whole.objects));
}
