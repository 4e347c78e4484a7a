//! Following the changes of a resource.
//!
//! An event is encoded once for each way of showing it and shared by everybody who watches that way.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/{get,watch}.go, apiserver/pkg/storage/cacher, v1.36.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use meta::status::Status;
use meta::{Map, Text, Value, wire::json};
use registry::{At, Change, Event, Narrow, Object, Objects, Start, Watcher, in_namespace};
use schema::typed::binary::write_event;
use store::Revision;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use super::get::read_version;
use super::options::ListOptions;
use super::select::Selection;
use super::table::Include;
use super::{Answer, Call, converted, storage_status, table};
use crate::Server;
use crate::binary::{self, Messages};
use crate::catalog::Resource;
use crate::env::SharedEnv;
use crate::metrics::InFlight;
use crate::negotiate::{self, Media, Output, Shown};
use crate::websocket::{Opcode, push_head};

/// How often a watcher that asked for it is told how far it has come.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// A bookmark comes this long before a watch ends.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The shortest time that a watch without a limit of its own lasts; the longest is twice that.
const MIN_TIMEOUT: Duration = Duration::from_mins(30);
/// Bound: the longest time that a client may ask for.
const MAX_TIMEOUT: Duration = Duration::from_hours(365 * 24);
/// Bound: bytes of events that are joined into one chunk.
const CHUNK_BYTES: usize = 64 * 1024;
/// Room for what stands before an event whose encoding does not say where it ends.
const FRAME_HEAD_BYTES: usize = 10;
/// How long a watch waits for a webhook that fails, and how long between two attempts.
const CONVERSION_PATIENCE: Duration = Duration::from_secs(30);
const CONVERSION_PAUSE: Duration = Duration::from_secs(1);
/// Marks the end of the initial state for clients that list by watching.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An open watch, to be drained chunk by chunk.
pub struct WatchAnswer {
    watcher: Watcher,
    view: View,
    initial: std::vec::IntoIter<Arc<Object>>,
    /// Changes that wait for objects to be converted.
    pending: Option<Pending>,
    /// To be said when the initial state has been sent.
    end_of_initial: Option<Revision>,
    deadline: Instant,
    bookmarks: bool,
    /// Where the watch began; a bookmark that says no more is not sent.
    began: Revision,
    /// Rings when the next bookmark is due, or the end.
    timer: Pin<Box<Sleep>>,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    stopping: watch::Receiver<bool>,
    /// Whom `timer` and `stopped` wake: they need not be asked at every event.
    armed: Option<Waker>,
    ended: bool,
    /// Sent first and alone: what is wrong with the watch.
    failure: Option<Status>,
    _counted: InFlight,
}

/// Changes, and the work that brings their objects into the version of the watch.
struct Pending {
    events: Vec<Arc<Event>>,
    work: Conversion,
}

/// Gives nothing when a webhook has failed for too long.
type Conversion = Pin<Box<dyn Future<Output = Option<Vec<Converted>>> + Send>>;

/// An object as it is stored, and as it is shown.
type Converted = (Arc<Object>, Arc<Object>);

/// How and which events are shown.
struct View {
    resource: Arc<Resource>,
    namespace: Text,
    selection: Selection,
    output: Output,
    form: Arc<str>,
    framing: Framing,
    env: SharedEnv,
    server: Arc<Server>,
    /// Objects of the changes at hand that a webhook has converted.
    converted: Vec<Converted>,
}

/// How one event is told from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// JSON tells itself where it ends; a message has its length before it.
    Stream,
    /// Frames of a `WebSocket`.
    Messages,
}

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = negotiate::watch_output(&call.headers, &call.info.query, &call.resource)?;
    let options = ListOptions::parse(&call.info.query)?;
    let selection = Selection::for_call(call, &options)?;
    let version = read_version(&options.resource_version)?;
    let narrow = selection.narrow();
    let opened = open(call, start(&options, version), version, narrow.as_ref()).await?;
    let form = form_name(&output, &call.resource);
    let view = View {
        resource: call.resource.clone(),
        namespace: call.namespace().into(),
        selection,
        output,
        form,
        framing: Framing::Stream,
        env: call.server.env.clone(),
        server: call.server.clone(),
        converted: Vec::new(),
    };
    let wants_initial = options.send_initial_events != Some(false);
    let (initial, state_revision) = match opened.state {
        Some((objects, revision)) if wants_initial => (view.initial(call, &objects).await?, Some(revision)),
        Some((_, revision)) => (Vec::new(), Some(revision)),
        None => (Vec::new(), None),
    };
    let now = Instant::now();
    let end_of_initial =
        state_revision.filter(|_| options.send_initial_events == Some(true) && options.allow_bookmarks);
    let lasts = timeout(&options, &view.env);
    let deadline = now + lasts;
    let stopping = call.server.stopping.subscribe();
    let mut stopped = stopping.clone();
    Ok(Answer::Watch(Box::new(WatchAnswer {
        began: opened.watcher.seen(),
        watcher: opened.watcher.in_lane(call.connection),
        initial: initial.into_iter(),
        pending: None,
        end_of_initial,
        deadline,
        bookmarks: options.allow_bookmarks,
        timer: Box::pin(tokio::time::sleep_until(next_ring(now, deadline, options.allow_bookmarks))),
        stopped: Box::pin(async move {
            let _ = stopped.wait_for(|stopping| *stopping).await; // or the server is gone altogether
        }),
        stopping,
        armed: None,
        ended: lasts.is_zero(),
        failure: opened.failure,
        _counted: call.server.metrics.watch_opened(),
        view,
    })))
}

/// A watch that began, or what its only event says of why it could not.
struct Opened {
    watcher: Watcher,
    state: Option<(Objects, Revision)>,
    failure: Option<Status>,
}

async fn open(call: &Call, start: Start, version: u64, narrow: Option<&Narrow>) -> Result<Opened, Status> {
    let (registry, cache) = (&call.server.registry, &call.resource.cache);
    let waited = match start {
        Start::State(At::NotOlderThan(revision)) => call.wait_for(revision).await,
        _ => Ok(()),
    };
    let opened = match waited {
        Ok(()) => Watcher::open_by(registry.clone(), cache.clone(), start, narrow).await,
        Err(status) => return failed(call, status).await,
    };
    match opened {
        Ok((watcher, state)) => Ok(Opened { watcher, state, failure: None }),
        Err(registry::Error::Expired { oldest }) => {
            let message = format!("too old resource version: {version} ({oldest})");
            failed(call, Status::resource_expired(message)).await
        }
        Err(error) => Err(storage_status(&error, call)),
    }
}

/// A watch that only tells what is wrong with it: by now, failures are events.
async fn failed(call: &Call, failure: Status) -> Result<Opened, Status> {
    let now = Start::After(call.server.registry.applied());
    let opened = Watcher::open(call.server.registry.clone(), call.resource.cache.clone(), now).await;
    let (watcher, _) = opened.map_err(|error| storage_status(&error, call))?;
    Ok(Opened { watcher, state: None, failure: Some(failure) })
}

fn start(options: &ListOptions, version: u64) -> Start {
    match (options.send_initial_events, version) {
        (_, 0) if options.resource_version.is_empty() => Start::State(At::Fresh),
        (_, 0) => Start::State(At::Any),
        (Some(true), version) => Start::State(At::NotOlderThan(Revision(version))),
        (_, version) => Start::After(Revision(version)),
    }
}

/// Watches without a limit end after a while that differs, so that they do not all come back at once.
fn timeout(options: &ListOptions, env: &SharedEnv) -> Duration {
    match options.timeout_seconds {
        None | Some(0) => {
            let share = f64::from(env.random()[0]) / 256.0;
            MIN_TIMEOUT.mul_f64(1.0 + share)
        }
        // Less than nothing is over before it begins.
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(MAX_TIMEOUT),
    }
}

impl WatchAnswer {
    /// The next chunk of events, or `None` at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(failure) = self.failure.take() {
            self.ended = true;
            return Poll::Ready(Some(self.view.error_event(&failure)));
        }
        if let Some(chunk) = self.initial_chunk() {
            return Poll::Ready(Some(chunk));
        }
        if let Some(poll) = self.poll_pending(cx) {
            return poll;
        }
        while let Poll::Ready(events) = self.watcher.poll_next(cx) {
            match events {
                Ok(events) => {
                    if let Some(work) = self.view.conversion(&events) {
                        self.pending = Some(Pending { events, work });
                        return self.poll_chunk(cx);
                    }
                    let chunk = self.view.chunk(&events);
                    self.view.converted = Vec::new();
                    if let Some(chunk) = chunk {
                        return Poll::Ready(Some(chunk));
                    }
                }
                Err(registry::Error::Gone) => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(self.view.error_event(&self.broken(&error))));
                }
            }
        }
        loop {
            ready!(self.poll_ring(cx));
            let bookmark = self.on_timer();
            if self.ended || bookmark.is_some() {
                return Poll::Ready(bookmark);
            }
        }
    }

    /// Makes a message of a `WebSocket` of every event.
    pub(crate) fn send_messages(&mut self) {
        self.view.framing = Framing::Messages;
    }

    /// The content type of its events.
    pub fn content_type(&self) -> &'static str {
        self.view.output.stream_type()
    }

    pub(super) fn shown(&self) -> &Shown {
        &self.view.output.shown
    }

    /// Whether something is due that is no change. Asked after every event, but nearly always the answer is no and
    /// who is to be woken is the same as before, so that there is nothing to be done.
    fn poll_ring(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let armed = self.armed.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        let rung = self.timer.is_elapsed() || self.stopping.has_changed().unwrap_or(true);
        if armed && !rung {
            return Poll::Pending;
        }
        self.armed = Some(cx.waker().clone());
        if self.stopped.as_mut().poll(cx).is_ready() {
            self.deadline = Instant::now();
            return Poll::Ready(());
        }
        self.timer.as_mut().poll(cx)
    }

    /// What comes of changes that wait for their objects; `None` when none do (any more).
    ///
    /// While a webhook fails, the watch stands still, and after a while it ends without a word, as in the reference.
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Option<Poll<Option<Bytes>>> {
        let pending = self.pending.as_mut()?;
        match pending.work.as_mut().poll(cx) {
            Poll::Ready(Some(converted)) => {
                let pending = self.pending.take()?;
                self.view.converted = converted;
                let chunk = self.view.chunk(&pending.events);
                self.view.converted = Vec::new();
                chunk.map(|chunk| Poll::Ready(Some(chunk)))
            }
            Poll::Ready(None) => {
                self.ended = true;
                Some(Poll::Ready(None))
            }
            Poll::Pending => {
                while self.poll_ring(cx).is_ready() {
                    // No bookmark: what waits has not been sent.
                    if self.reset_timer().is_none() {
                        return Some(Poll::Ready(None));
                    }
                }
                Some(Poll::Pending)
            }
        }
    }

    fn broken(&self, error: &registry::Error) -> Status {
        match error {
            registry::Error::Expired { oldest } => {
                let seen = self.watcher.seen();
                Status::resource_expired(format!("too old resource version: {seen} ({oldest})"))
            }
            error => {
                tracing::error!(error = error as &dyn std::error::Error, "a watch broke");
                Status::internal_error("the storage failed; the server's log says why")
            }
        }
    }

    fn initial_chunk(&mut self) -> Option<Bytes> {
        let mut text = BytesMut::new();
        for object in self.initial.by_ref() {
            self.view.push_frame(&self.view.encode_initial(&object), &mut text);
            self.view.hide_headers();
            if text.len() >= CHUNK_BYTES {
                return Some(text.freeze());
            }
        }
        if let Some(revision) = self.end_of_initial.take() {
            self.view.push_frame(&self.view.bookmark(revision, true), &mut text);
            self.view.hide_headers();
        }
        (!text.is_empty()).then(|| text.freeze())
    }

    /// Goes on to the next ring; nothing when this was the last one.
    fn reset_timer(&mut self) -> Option<()> {
        let now = Instant::now();
        if now >= self.deadline {
            self.ended = true;
            return None;
        }
        self.armed = None;
        self.timer.as_mut().reset(next_ring(now, self.deadline, self.bookmarks));
        Some(())
    }

    /// A bookmark is due, or the end. Nothing is said where a bookmark would say nothing.
    fn on_timer(&mut self) -> Option<Bytes> {
        self.reset_timer()?;
        let seen = self.watcher.seen();
        if seen <= self.began {
            return None;
        }
        let mut text = BytesMut::new();
        self.view.push_frame(&self.view.bookmark(seen, false), &mut text);
        self.view.hide_headers();
        Some(text.freeze())
    }
}

/// When something is due that is no change: a bookmark at intervals and shortly before the end, or the end.
fn next_ring(now: Instant, deadline: Instant, bookmarks: bool) -> Instant {
    let last = deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    match last {
        Some(last) if bookmarks => last.min(now + BOOKMARK_INTERVAL),
        _ => deadline,
    }
}

impl Stream for WatchAnswer {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_chunk(cx)
    }
}

impl View {
    fn shows_entry(&self, entry: &registry::Entry) -> bool {
        self.is_in_scope(&entry.object) && self.selection.selects_entry(entry)
    }

    fn is_in_scope(&self, object: &Object) -> bool {
        self.namespace.is_empty() || self.namespace == object.namespace()
    }

    fn shows(&self, object: &Arc<Object>) -> bool {
        if !self.selection.asks() {
            return self.is_in_scope(object) && self.selection.selects(object);
        }
        self.may_show(object) && self.shown(object).is_some_and(|shown| self.selection.selects_shown(&shown))
    }

    /// What can be said of an object before it is converted.
    fn may_show(&self, object: &Object) -> bool {
        self.is_in_scope(object) && self.selection.selects_name(object)
    }

    /// The object as the version of the watch shows it.
    fn shown(&self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let converted = self.converted.iter().find(|(stored, _)| Arc::ptr_eq(stored, object));
        converted.map(|(_, shown)| shown.clone()).or_else(|| self.resource.form.at_hand(object))
    }

    /// The objects that a watch begins with; already as they are shown where a webhook converts them.
    async fn initial(&self, call: &Call, objects: &Objects) -> Result<Vec<Arc<Object>>, Status> {
        let Some(views) = self.resource.form.asking_views() else {
            let shown = in_namespace(objects, &self.namespace).filter(|entry| self.shows_entry(entry));
            return Ok(shown.map(|entry| entry.object.clone()).collect());
        };
        let candidates = in_namespace(objects, &self.namespace)
            .map(|entry| &entry.object)
            .filter(|object| self.may_show(object));
        let candidates: Vec<_> = candidates.cloned().collect();
        let shown = views.show_all(&candidates).await;
        let mut shown = shown.map_err(|error| converted::cannot_begin(call, &error))?;
        shown.retain(|shown| self.selection.selects_shown(shown));
        Ok(shown)
    }

    /// The work that brings objects of these changes into the version of the watch; `None` when they are there.
    fn conversion(&mut self, events: &[Arc<Event>]) -> Option<Conversion> {
        let views = self.resource.form.asking_views()?.clone();
        let mut stored: Vec<Arc<Object>> = Vec::new();
        for event in events {
            let current = (event.change != Change::Deleted).then_some(&event.object);
            // What was before counts for a deletion, and where objects may leave the selection.
            let before = event.previous.as_ref().filter(|_| current.is_none() || self.selection.asks());
            stored.extend(current.into_iter().chain(before).filter(|object| self.may_show(object)).cloned());
        }
        let shown: Option<Vec<_>> = stored.iter().map(|object| views.at_hand(object)).collect();
        if let Some(shown) = shown {
            self.converted = stored.into_iter().zip(shown).collect();
            return None;
        }
        let (server, resource) = (self.server.clone(), self.resource.clone());
        Some(Box::pin(async move {
            let patience = Instant::now() + CONVERSION_PATIENCE;
            loop {
                match views.show_all(&stored).await {
                    Ok(shown) => return Some(stored.into_iter().zip(shown).collect()),
                    Err(_) if Instant::now() >= patience || !is_served(&server, &resource) => return None,
                    Err(_) => tokio::time::sleep(CONVERSION_PAUSE).await,
                }
            }
        }))
    }

    /// The events that this watcher sees, joined.
    fn chunk(&mut self, events: &[Arc<Event>]) -> Option<Bytes> {
        let mut joined: Option<BytesMut> = None;
        let mut first: Option<Bytes> = None;
        for event in events {
            let Some(frame) = self.frame(event) else { continue };
            self.hide_headers();
            match (&mut joined, &first) {
                (Some(joined), _) => self.push_frame(&frame, joined),
                (None, None) => first = Some(frame),
                (None, Some(first)) => {
                    let mut both = BytesMut::with_capacity(first.len() + frame.len() + 2 * FRAME_HEAD_BYTES);
                    self.push_frame(first, &mut both);
                    self.push_frame(&frame, &mut both);
                    joined = Some(both);
                }
            }
        }
        joined.map(BytesMut::freeze).or_else(|| first.map(|frame| self.framed(frame)))
    }

    /// One event as it goes over the wire; nothing is copied where nothing is added.
    fn framed(&self, frame: Bytes) -> Bytes {
        if self.output.media != Media::Protobuf && self.framing == Framing::Stream {
            return frame;
        }
        let mut framed = BytesMut::with_capacity(frame.len() + FRAME_HEAD_BYTES);
        self.push_frame(&frame, &mut framed);
        framed.freeze()
    }

    fn push_frame(&self, frame: &[u8], out: &mut BytesMut) {
        match (self.framing, self.output.media) {
            (Framing::Messages, Media::Protobuf) => push_head(Opcode::Binary, frame.len(), out),
            (Framing::Messages, _) => push_head(Opcode::Text, frame.len(), out),
            (Framing::Stream, Media::Protobuf) => {
                let length = u32::try_from(frame.len()).expect("an object is far below 4 GiB");
                out.extend_from_slice(&length.to_be_bytes());
            }
            (Framing::Stream, _) => {}
        }
        out.extend_from_slice(frame);
    }

    /// The first table of a watch says what its columns are, the others do not.
    fn hide_headers(&mut self) {
        if let Shown::Table(options) = &mut self.output.shown
            && options.headers == table::Headers::Shown
        {
            options.headers = table::Headers::Known;
            self.form = form_name(&self.output, &self.resource);
        }
    }

    /// An event as this watcher sees it: objects enter and leave its selection.
    fn frame(&self, event: &Event) -> Option<Bytes> {
        let shows_now = event.change != Change::Deleted && self.shows(&event.object);
        let showed_before = event.previous.as_ref().is_some_and(|previous| self.shows(previous));
        let change = match (showed_before, shows_now) {
            (false, false) => return None,
            (false, true) => Change::Added,
            (true, true) => Change::Modified,
            (true, false) => Change::Deleted,
        };
        Some(event.frame(change, &self.form, || {
            if change == Change::Deleted && (event.change != Change::Deleted || self.asks()) {
                // It left the selection or is gone: shown as it last was, under the revision of the change.
                let last = event.previous.as_ref().and_then(|previous| self.shown(previous));
                let last = last.and_then(|last| last.at_revision(event.revision));
                return last.map_or_else(Bytes::new, |last| self.encode(change, &last));
            }
            self.shown(&event.object).map_or_else(Bytes::new, |shown| self.encode(change, &shown))
        }))
    }

    fn asks(&self) -> bool {
        self.resource.form.asking_views().is_some()
    }

    fn encode_initial(&self, object: &Arc<Object>) -> Bytes {
        if self.asks() {
            return self.encode(Change::Added, object);
        }
        self.shown(object).map_or_else(Bytes::new, |shown| self.encode(Change::Added, &shown))
    }

    /// A change of an object that is as clients see it.
    fn encode(&self, change: Change, shown: &Object) -> Bytes {
        let kind = match change {
            Change::Added => "ADDED",
            Change::Modified => "MODIFIED",
            Change::Deleted => "DELETED",
        };
        self.event(kind, &self.show(shown))
    }

    fn show(&self, object: &Object) -> Bytes {
        if self.output.media == Media::Protobuf {
            let messages = Messages::new(&self.resource, &self.output.shown);
            return messages.map(|messages| messages.body(object)).unwrap_or_default().into();
        }
        match &self.output.shown {
            Shown::Whole => object.with_api_version(&self.resource.api_version()),
            Shown::Metadata(version) | Shown::MetadataList(version) => {
                table::partial_metadata(object, *version)
            }
            Shown::Table(options) => table::of_object(&self.resource, object, options, self.env.now()).into(),
        }
    }

    /// A bookmark is an event with an object that has nothing but a version.
    fn bookmark(&self, revision: Revision, end_of_initial: bool) -> Bytes {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion", revision.to_string());
        if end_of_initial {
            let annotations: Map = [(INITIAL_EVENTS_END, Value::from("true"))].into_iter().collect();
            metadata.insert("annotations", annotations);
        }
        let object: Map = [
            ("apiVersion", Value::from(self.resource.api_version())),
            ("kind", Value::from(self.resource.names.kind.clone())),
            ("metadata", Value::Object(metadata)),
        ]
        .into_iter()
        .collect();
        let object = Value::Object(object);
        let object = match &self.output.shown {
            Shown::Whole => object,
            Shown::Metadata(version) | Shown::MetadataList(version) => table::reduce(object, *version),
            Shown::Table(options) => {
                // The annotation is all that tells such a bookmark from others.
                let mut options = options.clone();
                if end_of_initial && options.include == Include::None {
                    options.include = Include::Metadata;
                }
                let table = table::of_value(&self.resource, &object, &options, self.env.now());
                return self.event("BOOKMARK", &table);
            }
        };
        let shown = match self.output.media {
            Media::Protobuf => binary::of_value(&object).unwrap_or_default(),
            _ => json::to_vec(&object),
        };
        self.event("BOOKMARK", &shown)
    }

    fn error_event(&self, status: &Status) -> Bytes {
        let shown = match self.output.media {
            Media::Protobuf => binary::of_value(&status.to_value()).unwrap_or_default(),
            _ => status.to_json(),
        };
        self.framed(self.event("ERROR", &shown))
    }

    fn event(&self, kind: &str, object: &[u8]) -> Bytes {
        match self.output.media {
            Media::Protobuf => write_event(kind, object).into(),
            _ => event_line(kind, object),
        }
    }
}

/// Whether a resource is still served as it was: its definition may have got another webhook meanwhile.
fn is_served(server: &Server, resource: &Arc<Resource>) -> bool {
    let catalog = server.catalog.load();
    let current = catalog.resource(&resource.group, &resource.version, &resource.names.plural);
    current.is_some_and(|current| Arc::ptr_eq(current, resource))
}

/// Names the bytes of an event. What a webhook makes of it depends on the state of the definition too.
fn form_name(output: &Output, resource: &Resource) -> Arc<str> {
    let name = output.form_name(&resource.api_version());
    match resource.form.asking_views() {
        Some(views) => format!("{name} {}", views.description()).into(),
        None => name,
    }
}

fn event_line(kind: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + kind.len() + 24);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(kind.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    line.into()
}
