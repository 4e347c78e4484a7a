//! Those who watch, as clients do: from a state on, going on where they were, and anew when that is gone.

use std::sync::Arc;

use serde_json::Value;
use testkit::{Client, Event, Unanswered, Watch, revision};

use crate::selection::{Form, Selection};
use crate::truth::Truth;
use crate::{Dice, KINDS, Round};

/// What was seen from one beginning on.
#[derive(Default)]
pub(crate) struct History {
    /// The revision of the state that it began with, and that state.
    start: u64,
    initial: Vec<Value>,
    events: Vec<Event>,
    /// Everything up to here has been seen.
    end: u64,
}

pub(crate) struct Watcher {
    number: usize,
    selection: Selection,
    form: Form,
    /// Takes its first state from the watch itself rather than from a list.
    streams: bool,
    /// Its watches end after a second, with a bookmark.
    is_brief: bool,
    /// Does not read for half of the time.
    pub(crate) dawdles: bool,
    /// All its beginnings; the last goes on.
    pub(crate) histories: Vec<History>,
    /// How often it went on where it was.
    pub(crate) resumed: usize,
    /// Where the last history goes on; `None`: it does not.
    position: Option<u64>,
}

impl Watcher {
    pub(crate) fn new(number: usize) -> Self {
        let mut dice = Dice::new(number);
        // The first see everything, so that somebody sees every deletion.
        let selection =
            KINDS.get(number).map_or_else(|| Selection::draw(&mut dice), |kind| Selection::everything(*kind));
        let form = dice.pick(&[Form::Whole, Form::Whole, Form::Metadata, Form::Table]);
        let is_first = number < KINDS.len();
        Watcher {
            number,
            selection,
            form: if is_first { Form::Whole } else { form },
            streams: dice.roll(2) == 0,
            is_brief: !is_first && dice.roll(6) == 0,
            dawdles: !is_first && dice.roll(20) == 0,
            histories: Vec::new(),
            resumed: 0,
            position: None,
        }
    }

    /// Watches until the server is gone.
    pub(crate) async fn run(mut self, client: Client, round: Arc<Round>) -> Self {
        let mut half = round.half.subscribe();
        loop {
            let Ok(mut watch) = self.open(&client).await else { return self };
            if self.dawdles {
                let _ = half.wait_for(|half| *half).await; // the round outlives it
            }
            let is_whole = self.read(&mut watch).await;
            if round.is_over() {
                if is_whole && round.ends_in_order && !self.is_brief {
                    self.history().end = u64::MAX;
                }
                return self;
            }
        }
    }

    fn history(&mut self) -> &mut History {
        if self.histories.is_empty() {
            self.histories.push(History::default());
        }
        self.histories.last_mut().expect("there is one")
    }

    /// Opens a watch where it was, or from a new beginning.
    async fn open(&mut self, client: &Client) -> Result<Watch, Unanswered> {
        let streamed = self.streams && self.form == Form::Whole;
        let query = match self.position {
            Some(position) => {
                self.resumed += 1;
                format!("resourceVersion={position}")
            }
            None if streamed => {
                "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=".to_owned()
            }
            None => {
                let request =
                    client.request("GET".parse().expect("a method"), &self.selection.query(), None, "");
                let list = client.try_send(request).await?.expect(200);
                let start = revision(&list);
                let initial = list["items"].as_array().cloned().unwrap_or_default();
                self.histories.push(History { start, initial, events: Vec::new(), end: start });
                self.position = Some(start);
                format!("resourceVersion={start}")
            }
        };
        let brief = if self.is_brief { "&timeoutSeconds=1" } else { "" };
        let path = format!("{}&watch=true&allowWatchBookmarks=true&{query}{brief}", self.selection.query());
        let mut request = client.request("GET".parse().expect("a method"), &path, None, "");
        request.headers_mut().insert("accept", self.form.accept().parse().expect("a header"));
        let opened = client.open_watch(request).await?;
        Ok(opened.unwrap_or_else(|answer| panic!("watcher {}: {}", self.number, answer.text())))
    }

    /// Reads a watch to its end; false when it did not end where it should.
    async fn read(&mut self, watch: &mut Watch) -> bool {
        let mut initial = Vec::new();
        while let Some(event) = watch.next().await {
            let at = self.revision_of(&event);
            match event.kind.as_str() {
                "ERROR" => {
                    assert_eq!(event.object["code"], 410, "watcher {}: {}", self.number, event.object);
                    self.position = None;
                    return false;
                }
                "BOOKMARK" if self.position.is_none() => {
                    let ended = &event.object["metadata"]["annotations"]["k8s.io/initial-events-end"];
                    assert_eq!(ended, "true", "watcher {}: {}", self.number, event.object);
                    let initial = std::mem::take(&mut initial);
                    self.histories.push(History { start: at, initial, events: Vec::new(), end: at });
                }
                "BOOKMARK" => self.history().end = at,
                "ADDED" if self.position.is_none() => {
                    initial.push(event.object);
                    continue;
                }
                _ => {
                    self.history().events.push(event);
                    self.history().end = at;
                }
            }
            let before = self.position.replace(at);
            assert!(before <= Some(at), "watcher {}: {at} after {before:?}", self.number);
        }
        self.position.is_some()
    }

    fn revision_of(&self, event: &Event) -> u64 {
        match event.kind.as_str() {
            "ERROR" => 0,
            "BOOKMARK" if self.form == Form::Table => {
                revision(&event.object).max(revision(self.form.shown(&event.object)))
            }
            _ => revision(self.form.shown(&event.object)),
        }
    }

    /// The uid and revision of every object that it saw go.
    pub(crate) fn deletions(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let events = self.histories.iter().flat_map(|history| &history.events);
        events.filter(|event| event.kind == "DELETED").map(|event| {
            let shown = self.form.shown(&event.object);
            (shown["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), revision(shown))
        })
    }

    /// Holds everything that it saw against what happened; returns how much that was.
    pub(crate) fn check(&self, truth: &Truth) -> usize {
        for history in &self.histories {
            self.check_history(history, truth);
        }
        self.histories.iter().map(|history| history.events.len()).sum()
    }

    fn check_history(&self, history: &History, truth: &Truth) {
        let who = format!("watcher {} of {} as {:?}", self.number, self.selection.query(), self.form);
        let initial: Vec<&Value> = history.initial.iter().map(|object| &object["metadata"]).collect();
        let state = truth.state(&self.selection, history.start);
        let state: Vec<&Value> = state.iter().map(|object| &object["metadata"]).collect();
        assert_eq!(initial, state, "{who}: the state at {}", history.start);
        let expected = truth.events(&self.selection, history.start, history.end);
        for (number, expected) in expected.iter().enumerate() {
            let Some(seen) = history.events.get(number) else {
                panic!("{who} did not see, before {}: {expected:?}", history.end);
            };
            let shown = self.form.shown(&seen.object);
            let told = (seen.kind.as_str(), revision(shown));
            assert_eq!(told, (expected.kind, expected.revision), "{who}: {expected:?}, but saw {seen:?}");
            match self.form {
                Form::Whole => assert_eq!(*shown, expected.object, "{who}"),
                Form::Metadata | Form::Table => {
                    assert_eq!(shown["metadata"], expected.object["metadata"], "{who}");
                }
            }
        }
        let more = history.events.get(expected.len());
        assert!(more.is_none(), "{who} saw what did not happen: {more:?}");
    }
}
