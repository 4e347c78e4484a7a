//! Stored objects as one version of their definition shows them.
//!
//! An object is shaped by the version it is stored in, converted, and shaped by the version it is shown in. The outcome
//! is remembered with the object. Whoever needs an object that somebody else is just converting waits for that, so that
//! a change is converted once however many watch it; a list converts all it lacks in one call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use meta::object::Malformed;
use meta::wire::json;
use meta::{Text, Value};
use parking_lot::Mutex;
use registry::Object;
use store::Revision;

use super::{ConversionError, Converter, unknown_version};

/// Bound: bytes of stored objects that one call of a webhook carries, unless it is a single object.
const MAX_CALL_BYTES: usize = 8 << 20;

/// How long the reference tries to go on from where a conversion failed before it begins anew.
const FAILURE_PATIENCE: Duration = Duration::from_secs(30);

/// From here on work that was given up half-way is looked for and forgotten.
const MANY_UNDER_WAY: usize = 256;

/// One version of a definition, as readers see it.
pub struct Views {
    /// Tells this state of the definition from every other one.
    description: u64,
    api_version: String,
    converter: Arc<Converter>,
    /// What was written by then was written under another state of the definition.
    since: Revision,
    /// When conversions began to fail; `None` while they succeed.
    failing: Mutex<Option<Instant>>,
    under_way: Mutex<HashMap<Key, WeakShared<Work>>>,
}

/// A stored object: where it is, and which version of it.
type Key = (Text, Revision);

type Work = BoxFuture<'static, Arc<Outcomes>>;

/// What became of the objects of one piece of work. Those after a failure are missing.
type Outcomes = HashMap<Key, Result<Arc<Object>, ConversionError>>;

fn key_of(object: &Object) -> Key {
    (registry::join_key(object.namespace(), object.name()), object.revision)
}

impl Views {
    pub fn new(description: u64, api_version: String, converter: Arc<Converter>, since: Revision) -> Self {
        let (failing, under_way) = (Mutex::default(), Mutex::default());
        Views { description, api_version, converter, since, failing, under_way }
    }

    pub fn converter(&self) -> &Converter {
        &self.converter
    }

    /// A number that no other state of any definition has.
    pub fn description(&self) -> u64 {
        self.description
    }

    /// Whether a failure concerns objects that were there before this state of the definition, or lasts. The reference
    /// reads those objects when it begins to serve a definition, and begins anew when it could not go on for a while;
    /// it serves no list before it can.
    pub fn cannot_begin(&self, error: &ConversionError) -> bool {
        let lasts = || self.failing.lock().is_some_and(|since| since.elapsed() >= FAILURE_PATIENCE);
        match error {
            ConversionError::Failed { oldest: Some(oldest), .. } => *oldest <= self.since || lasts(),
            _ => false,
        }
    }

    /// What is wrong with the first object that is stored in a version which the definition no longer has.
    pub fn stranded(&self, objects: &[Arc<Object>]) -> Option<ConversionError> {
        let stranded = objects.iter().find(|object| !self.converter.knows(object.api_version()))?;
        Some(unknown_version(stranded.api_version()).about(stranded.revision))
    }

    /// Whether an object has to be converted by somebody outside.
    fn asks_for(&self, object: &Object) -> bool {
        let stored = object.api_version();
        stored != self.api_version && (self.converter.asks() || !self.converter.knows(stored))
    }

    /// The object as it is shown, if nobody has to be asked for it.
    pub fn at_hand(&self, object: &Arc<Object>) -> Option<Arc<Object>> {
        if let Some(known) = object.known_view(self.description) {
            return Some(known);
        }
        if self.asks_for(object) {
            return None;
        }
        let shown = self.shaped(object).map(Arc::new);
        object.remember_view(self.description, shown.clone());
        Some(shown.unwrap_or_else(|| object.clone()))
    }

    /// What becomes of an object that only changes its version's name; `None` when nothing does.
    fn shaped(&self, object: &Object) -> Option<Object> {
        let stored = json::parse(object.bytes()).ok()?.value;
        let mut shown = stored.clone();
        self.shape_stored(&mut shown, object.api_version());
        // Another version takes fields away, but its defaults are for what is written in it.
        if object.api_version() != self.api_version
            && let Some(schema) = self.converter.schema(&self.api_version)
        {
            let _ = schema.shape(&mut shown, Malformed::Drop, None);
        }
        if shown == stored {
            return None;
        }
        if let Value::Object(members) = &mut shown {
            members.insert("apiVersion", self.api_version.as_str());
        }
        object.with_text(&registry::codec::encode(&shown))
    }

    /// Shapes an object by the version it is stored in. What is malformed in storage is dropped, so this does not fail.
    fn shape_stored(&self, object: &mut Value, stored_version: &str) {
        if let Some(schema) = self.converter.schema(stored_version) {
            let _ = schema.shape(object, Malformed::Drop, None);
            schema.default(object);
        }
    }

    /// The objects as they are shown, in the same order.
    pub async fn show_all(
        self: &Arc<Self>,
        objects: &[Arc<Object>],
    ) -> Result<Vec<Arc<Object>>, ConversionError> {
        let mut shown: Vec<Option<Arc<Object>>> = objects.iter().map(|object| self.at_hand(object)).collect();
        loop {
            let missing: Vec<usize> = (0..objects.len()).filter(|index| shown[*index].is_none()).collect();
            if missing.is_empty() {
                return Ok(shown.into_iter().flatten().collect());
            }
            let lacking: Vec<&Arc<Object>> = missing.iter().map(|index| &objects[*index]).collect();
            for work in self.work_for(&lacking) {
                let outcomes = work.await;
                for index in &missing {
                    match outcomes.get(&key_of(&objects[*index])) {
                        Some(Ok(view)) => shown[*index] = Some(view.clone()),
                        Some(Err(error)) => return Err(error.clone()),
                        None => {}
                    }
                }
            }
        }
    }

    /// The pieces of work that bring these objects: those under way, and one for all others.
    fn work_for(self: &Arc<Self>, objects: &[&Arc<Object>]) -> Vec<Shared<Work>> {
        let mut under_way = self.under_way.lock();
        if under_way.len() >= MANY_UNDER_WAY {
            under_way.retain(|_, work| work.upgrade().is_some()); // those that everybody has given up
        }
        let mut joined: Vec<Shared<Work>> = Vec::new();
        let mut lacking: Vec<Arc<Object>> = Vec::new();
        for object in objects {
            match under_way.get(&key_of(object)).and_then(WeakShared::upgrade) {
                Some(work) if joined.iter().any(|known| known.ptr_eq(&work)) => {}
                Some(work) => joined.push(work),
                None => lacking.push((*object).clone()),
            }
        }
        if !lacking.is_empty() {
            let keys: Vec<Key> = lacking.iter().map(|object| key_of(object)).collect();
            let work: Work = Box::pin(self.clone().convert(lacking));
            let work = work.shared();
            if let Some(weak) = work.downgrade() {
                under_way.extend(keys.into_iter().map(|key| (key, weak.clone())));
            }
            joined.push(work);
        }
        joined
    }

    /// Converts objects, as many as fit in one call, and remembers what comes of it.
    async fn convert(self: Arc<Self>, objects: Vec<Arc<Object>>) -> Arc<Outcomes> {
        let mut outcomes = Outcomes::new();
        let mut rest = objects.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest));
            rest = later;
            let succeeded = self.convert_some(now, &mut outcomes).await;
            let mut failing = self.failing.lock();
            *failing = if succeeded { None } else { failing.or_else(|| Some(Instant::now())) };
            if !succeeded {
                break;
            }
        }
        let mut under_way = self.under_way.lock();
        for object in &objects {
            under_way.remove(&key_of(object));
        }
        Arc::new(outcomes)
    }

    /// True when all of them could be converted.
    async fn convert_some(&self, objects: &[Arc<Object>], outcomes: &mut Outcomes) -> bool {
        let mut trees: Vec<Value> = objects.iter().map(|object| self.question(object)).collect();
        let (done, failure) = match self.converter.convert_all(&mut trees, &self.api_version).await {
            Ok(None) => (objects.len(), None),
            Ok(Some(partial)) => (partial.done, Some(partial.failure)),
            Err(error) => {
                // Nobody knows whose fault it is: it is told to all.
                let oldest = objects.iter().map(|object| object.revision).min().unwrap_or(Revision::ZERO);
                let error = error.about(oldest);
                outcomes.extend(objects.iter().map(|object| (key_of(object), Err(error.clone()))));
                return false;
            }
        };
        for (object, tree) in objects.iter().zip(trees).take(done) {
            let outcome = self.finished(object, tree).map_err(|error| error.about(object.revision));
            let failed = outcome.is_err();
            outcomes.insert(key_of(object), outcome);
            if failed {
                return false;
            }
        }
        match (failure, objects.get(done)) {
            (Some(error), Some(object)) => {
                outcomes.insert(key_of(object), Err(error.about(object.revision)));
                false
            }
            _ => true,
        }
    }

    /// A stored object as a webhook gets it: the reference keeps no resource version in what it stores.
    fn question(&self, object: &Object) -> Value {
        let mut tree = json::parse(object.bytes()).map(|parsed| parsed.value).unwrap_or_default();
        if let Some(Value::Object(metadata)) = tree.get_mut("metadata") {
            metadata.remove("resourceVersion");
        }
        self.shape_stored(&mut tree, object.api_version());
        tree
    }

    /// What is remembered of a converted object.
    fn finished(&self, object: &Arc<Object>, mut tree: Value) -> Result<Arc<Object>, ConversionError> {
        self.converter.shape(&mut tree, &self.api_version)?;
        let view = object.with_text(&registry::codec::encode(&tree));
        let view =
            Arc::new(view.ok_or_else(|| ConversionError::failed("a converted object cannot be read"))?);
        object.remember_view(self.description, Some(view.clone()));
        Ok(view)
    }

    /// An object that is only about to be stored, as it will be shown.
    pub async fn show_unstored(&self, stored: Value) -> Result<Value, ConversionError> {
        let mut shown = stored;
        let version = meta::object::api_version(&shown).to_owned();
        self.shape_stored(&mut shown, &version);
        if version == self.api_version {
            Ok(shown)
        } else {
            self.converter.convert(shown, &self.api_version).await
        }
    }
}

/// How many objects fit into one call; at least one.
fn fitting(objects: &[Arc<Object>]) -> usize {
    let mut bytes = 0;
    let more = objects.iter().take_while(|object| {
        bytes += object.bytes().len();
        bytes <= MAX_CALL_BYTES
    });
    more.count().max(1)
}
