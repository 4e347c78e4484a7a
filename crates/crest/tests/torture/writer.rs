//! Those who write: each owns some objects, and knows after every crash what has become of them.

use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{Client, MERGE_PATCH, Request, revision};

use crate::selection::{COLOURS, Kind, NAMESPACES, TIERS};
use crate::{Dice, KINDS, Round};

/// Objects of one writer, of each kind.
pub(crate) const OBJECTS: usize = 4;

pub(crate) fn name(writer: usize, object: usize) -> String {
    format!("w{writer}-{object}")
}

/// Where an object is made, changed, deleted and made again.
pub(crate) struct Place {
    pub(crate) kind: Kind,
    collection: String,
    name: String,
    /// What has been there, in order; `None`: nothing any more.
    pub(crate) states: Vec<Option<Value>>,
}

impl Place {
    fn path(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }

    fn current(&self) -> Option<&Value> {
        self.states.last().and_then(Option::as_ref)
    }
}

pub(crate) struct Writer {
    dice: Dice,
    pub(crate) places: Vec<Place>,
    /// Where something was under way when the server went.
    unknown: Option<usize>,
}

impl Writer {
    pub(crate) fn new(number: usize) -> Self {
        let mut dice = Dice::new(1_000 + number);
        let mut places = Vec::new();
        for kind in KINDS {
            for object in 0..OBJECTS {
                let collection = kind.collection(Some(dice.pick(&NAMESPACES)));
                places.push(Place { kind, collection, name: name(number, object), states: Vec::new() });
            }
        }
        Writer { dice, places, unknown: None }
    }

    /// Writes until the round is over or the server is gone.
    pub(crate) async fn run(mut self, client: Client, round: Arc<Round>) -> Self {
        while !round.is_over() {
            let at = self.dice.roll(self.places.len());
            let request = self.draw(at, &client);
            let deletes = request.method() == "DELETE";
            let Ok(answer) = client.try_send(request).await else {
                self.unknown = Some(at);
                return self;
            };
            assert!(matches!(answer.code, 200 | 201), "a write was refused: {}", answer.text());
            self.places[at].states.push((!deletes).then(|| answer.json()));
            round.write_done();
        }
        self
    }

    /// Something that certainly changes what is there.
    fn draw(&mut self, at: usize, client: &Client) -> Request {
        let (colour, tier) = (self.dice.pick(&COLOURS), self.dice.pick(&TIERS));
        let choice = self.dice.roll(6);
        let place = &self.places[at];
        let method = |name: &str| name.parse().expect("a method");
        let Some(current) = place.current() else {
            return client.json(
                method("POST"),
                &place.collection,
                &place.kind.object(&place.name, colour, tier),
            );
        };
        let note = json!({"note": place.states.len().to_string()});
        match choice {
            0 => client.request(method("DELETE"), &place.path(), None, ""),
            1 => {
                let patch = json!({"metadata": {"labels": {"tier": tier}, "annotations": note}}).to_string();
                client.request(method("PATCH"), &place.path(), Some(MERGE_PATCH), patch)
            }
            // With the version that it knows: nobody else may have changed it.
            _ => {
                let mut object = place.kind.object(&place.name, colour, tier);
                object["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
                object["metadata"]["annotations"] = note;
                client.json(method("PUT"), &place.path(), &object)
            }
        }
    }

    /// After a crash: the change that was under way has happened, or not.
    pub(crate) async fn look_what_happened(&mut self, client: &Client) {
        let Some(at) = self.unknown.take() else { return };
        let place = &mut self.places[at];
        let answer = client.get(&place.path()).await;
        let found = (answer.code != 404).then(|| answer.expect(200));
        if found.as_ref().map(revision) != place.current().map(revision) {
            place.states.push(found);
        }
    }
}
