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
use registry::{At, Change, Event, Object, Start, Watcher};
use store::Revision;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use super::options::ListOptions;
use super::select::Selection;
use super::write::parse_resource_version;
use super::{Answer, Call, storage_status, table};
use crate::catalog::Resource;
use crate::env::SharedEnv;
use crate::metrics::InFlight;
use crate::negotiate::{self, Output, Shown};

/// How often a watcher that asked for it is told how far it has come.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// A bookmark comes this long before a watch ends.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The shortest time that a watch without a limit of its own lasts; the longest is twice that.
const MIN_TIMEOUT: Duration = Duration::from_mins(30);
/// Bound: bytes of events that are joined into one chunk.
const CHUNK_BYTES: usize = 64 * 1024;
/// Marks the end of the initial state for clients that list by watching.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An open watch, to be drained chunk by chunk.
pub struct WatchAnswer {
    watcher: Watcher,
    view: View,
    initial: std::vec::IntoIter<Arc<Object>>,
    /// To be said when the initial state has been sent.
    end_of_initial: Option<Revision>,
    deadline: Instant,
    bookmarks: bool,
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

/// How and which events are shown.
struct View {
    resource: Arc<Resource>,
    namespace: Text,
    /// The one object that an old-style path names; empty: all.
    name: Text,
    selection: Selection,
    output: Output,
    form: Arc<str>,
    env: SharedEnv,
}

pub(super) async fn run(call: &Call) -> Result<Answer, Status> {
    let output = negotiate::watch_output(&call.headers, &call.info.query, &call.resource)?;
    let options = ListOptions::parse(&call.info.query, true)?;
    let selection = Selection::new(&call.resource, &options)?;
    let version = parse_resource_version(&options.resource_version)?;
    let start = start(&options, version);
    if let Start::State(At::NotOlderThan(revision)) = start {
        call.wait_for(revision).await?;
    }
    let opened = Watcher::open(call.server.registry.clone(), call.resource.cache.clone(), start).await;
    let mut failure = None;
    let (watcher, state) = match opened {
        Ok(opened) => opened,
        Err(registry::Error::Expired { oldest }) => {
            failure =
                Some(Status::resource_expired(format!("too old resource version: {version} ({oldest})")));
            let now = Start::After(call.server.registry.applied());
            let reopened =
                Watcher::open(call.server.registry.clone(), call.resource.cache.clone(), now).await;
            reopened.map_err(|error| storage_status(&error, call))?
        }
        Err(error) => return Err(storage_status(&error, call)),
    };
    let form = output.form_name(&call.resource.api_version());
    let view = View {
        resource: call.resource.clone(),
        namespace: call.namespace().into(),
        name: if call.target().name_from_path { call.name().into() } else { Text::default() },
        selection,
        output,
        form,
        env: call.server.env.clone(),
    };
    let wants_initial = options.send_initial_events != Some(false);
    let (initial, revision) = match state {
        Some((objects, revision)) if wants_initial => {
            let shown = objects.values().filter(|entry| view.shows_entry(entry));
            (shown.map(|entry| entry.object.clone()).collect::<Vec<_>>(), Some(revision))
        }
        Some((_, revision)) => (Vec::new(), Some(revision)),
        None => (Vec::new(), None),
    };
    let now = Instant::now();
    let end_of_initial =
        revision.filter(|_| options.send_initial_events == Some(true) && options.allow_bookmarks);
    let deadline = now + timeout(&options, &view.env);
    let stopping = call.server.stopping.subscribe();
    let mut stopped = stopping.clone();
    Ok(Answer::Watch(Box::new(WatchAnswer {
        watcher: watcher.in_lane(call.connection),
        initial: initial.into_iter(),
        end_of_initial,
        deadline,
        bookmarks: options.allow_bookmarks,
        timer: Box::pin(tokio::time::sleep_until(next_ring(now, deadline, options.allow_bookmarks))),
        stopped: Box::pin(async move {
            let _ = stopped.wait_for(|stopping| *stopping).await; // or the server is gone altogether
        }),
        stopping,
        armed: None,
        ended: false,
        failure,
        _counted: call.server.metrics.watch_opened(),
        view,
    })))
}

fn start(options: &ListOptions, version: u64) -> Start {
    let given = !options.resource_version.is_empty();
    match (options.send_initial_events, version) {
        (Some(true), 0) if given => Start::State(At::Any),
        (Some(_) | None, 0) if !given => Start::State(At::Fresh),
        (_, 0) => Start::State(At::Any),
        (Some(true), version) => Start::State(At::NotOlderThan(Revision(version))),
        (_, version) => Start::After(Revision(version)),
    }
}

/// Watches without a limit end after a while that differs, so that they do not all come back at once.
fn timeout(options: &ListOptions, env: &SharedEnv) -> Duration {
    match options.timeout_seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => {
            let share = f64::from(env.random()[0]) / 256.0;
            MIN_TIMEOUT.mul_f64(1.0 + share)
        }
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
            return Poll::Ready(Some(error_event(&failure)));
        }
        if let Some(chunk) = self.initial_chunk() {
            return Poll::Ready(Some(chunk));
        }
        while let Poll::Ready(events) = self.watcher.poll_next(cx) {
            match events {
                Ok(events) => {
                    if let Some(chunk) = self.view.chunk(&events) {
                        return Poll::Ready(Some(chunk));
                    }
                }
                Err(registry::Error::Gone) => {
                    self.ended = true;
                    return Poll::Ready(None);
                }
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(error_event(&self.broken(&error))));
                }
            }
        }
        ready!(self.poll_ring(cx));
        Poll::Ready(self.on_timer())
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
            text.extend_from_slice(&self.view.encode(Change::Added, &object));
            self.view.hide_headers();
            if text.len() >= CHUNK_BYTES {
                return Some(text.freeze());
            }
        }
        if let Some(revision) = self.end_of_initial.take() {
            text.extend_from_slice(&self.view.bookmark(revision, true));
        }
        (!text.is_empty()).then(|| text.freeze())
    }

    /// A bookmark is due, or the end.
    fn on_timer(&mut self) -> Option<Bytes> {
        let now = Instant::now();
        if now >= self.deadline {
            self.ended = true;
            return None;
        }
        self.armed = None;
        self.timer.as_mut().reset(next_ring(now, self.deadline, self.bookmarks));
        Some(self.view.bookmark(self.watcher.seen(), false))
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
        (self.namespace.is_empty() || self.namespace == object.namespace())
            && (self.name.is_empty() || self.name == object.name())
    }

    fn shows(&self, object: &Arc<Object>) -> bool {
        self.is_in_scope(object) && self.selection.selects(object)
    }

    /// The events that this watcher sees, joined.
    fn chunk(&mut self, events: &[Arc<Event>]) -> Option<Bytes> {
        let mut joined: Option<BytesMut> = None;
        let mut first: Option<Bytes> = None;
        for event in events {
            let Some(frame) = self.frame(event) else { continue };
            self.hide_headers();
            match (&mut joined, &first) {
                (Some(joined), _) => joined.extend_from_slice(&frame),
                (None, None) => first = Some(frame),
                (None, Some(first)) => {
                    let mut both = BytesMut::with_capacity(first.len() + frame.len());
                    both.extend_from_slice(first);
                    both.extend_from_slice(&frame);
                    joined = Some(both);
                }
            }
        }
        joined.map(BytesMut::freeze).or(first)
    }

    /// The first table of a watch says what its columns are, the others do not.
    fn hide_headers(&mut self) {
        if let Shown::Table(options) = &mut self.output.shown
            && options.headers == table::Headers::Shown
        {
            options.headers = table::Headers::Known;
            self.form = self.output.form_name(&self.resource.api_version());
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
            if change == Change::Deleted && event.change != Change::Deleted {
                // It left the selection: shown as it last was in it, under the revision of the change.
                let left = event.previous.as_ref().and_then(|previous| previous.at_revision(event.revision));
                return left.map_or_else(Bytes::new, |object| self.encode(change, &Arc::new(object)));
            }
            self.encode(change, &event.object)
        }))
    }

    fn encode(&self, change: Change, object: &Arc<Object>) -> Bytes {
        let kind = match change {
            Change::Added => "ADDED",
            Change::Modified => "MODIFIED",
            Change::Deleted => "DELETED",
        };
        let shown = self.show(&self.resource.form.show(object));
        event_line(kind, &shown)
    }

    fn show(&self, object: &Object) -> Bytes {
        let api_version = self.resource.api_version();
        match &self.output.shown {
            Shown::Whole => object.with_api_version(&api_version),
            Shown::Metadata | Shown::MetadataList => table::partial_metadata(object),
            Shown::Table(options) => {
                let table = table::of_objects(&self.resource, &[object], options, self.env.now(), None);
                json::to_vec(&table).into()
            }
        }
    }

    fn bookmark(&self, revision: Revision, end_of_initial: bool) -> Bytes {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion", revision.to_string());
        if end_of_initial {
            let annotations: Map = [(INITIAL_EVENTS_END, Value::from("true"))].into_iter().collect();
            metadata.insert("annotations", annotations);
        }
        let (api_version, kind) = match &self.output.shown {
            Shown::Metadata | Shown::MetadataList => {
                ("meta.k8s.io/v1".to_owned(), "PartialObjectMetadata".into())
            }
            _ => (self.resource.api_version(), self.resource.names.kind.clone()),
        };
        let object: Map = [
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("metadata", Value::Object(metadata)),
        ]
        .into_iter()
        .collect();
        let object = Value::Object(object);
        let shown = match &self.output.shown {
            Shown::Table(options) => table::of_bookmark(object, options),
            _ => object,
        };
        event_line("BOOKMARK", &json::to_vec(&shown))
    }
}

fn error_event(status: &Status) -> Bytes {
    event_line("ERROR", &json::to_vec(&status.to_value()))
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
