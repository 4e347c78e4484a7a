//! Applies and updates, step by step, against what the reference made of the same requests.
//!
//! `cases.txt` says what a row is; a case is a story of one object. A kind in two versions carries every kind of
//! field that ownership knows: sets, list maps, atomic and granular ones, preserved ones, defaults, and some that are
//! of another kind in the other version.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crest_schema::apply::{
    ApplyError, ApplyRequest, ConvertError, ManagerInfo, ResetFields, TypeRef, Versions, apply,
    restore_times_if_unchanged, track_update,
};
use crest_schema::{Schema, ownership};
use jiff::Timestamp;
use meta::gvk::GroupKind;
use meta::object::Malformed;
use meta::status::Status;
use meta::wire::json;
use meta::{Map, Value};

const GROUP: &str = "g.example.com";
const SCHEMAS: &str = include_str!("schemas.json");
const CASES: &str = include_str!("cases.txt");

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("the rows are JSON").value
}

/// The kind in its two versions.
struct Kind {
    versions: BTreeMap<String, (Schema, TypeRef)>,
    main: ResetFields,
    status: ResetFields,
}

impl Kind {
    fn new() -> Self {
        let schemas = parse(SCHEMAS);
        let compile = |(version, schema): (&str, &Value)| {
            let schema = Schema::compile(schema).expect("the schemas are structural");
            let types = ownership::of_schema(&schema, false);
            (format!("{GROUP}/{version}"), (schema, types))
        };
        Kind {
            versions: schemas.as_object().expect("versions by name").iter().map(compile).collect(),
            main: ResetFields::new(&[&["status"]]),
            status: ResetFields::new(&[&["spec"], &["metadata"]]),
        }
    }

    fn schema(&self, api_version: &str) -> &Schema {
        &self.versions[api_version].0
    }
}

/// One endpoint of the kind.
struct Endpoint<'a> {
    kind: &'a Kind,
    api_version: &'a str,
    status: bool,
}

impl Versions for Endpoint<'_> {
    fn type_of(&self, api_version: &str) -> Option<&TypeRef> {
        self.kind.versions.get(api_version).map(|(_, types)| types)
    }

    fn reset_fields(&self, api_version: &str) -> &ResetFields {
        match (api_version == self.api_version, self.status) {
            (true, true) => &self.kind.status,
            (true, false) => &self.kind.main,
            _ => ResetFields::none(),
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        self.type_of(api_version).ok_or(ConvertError::UnknownVersion)?;
        Ok(in_version(object, api_version))
    }
}

fn in_version(object: &Value, api_version: &str) -> Value {
    let mut object = object.clone();
    if let Value::Object(members) = &mut object {
        members.insert("apiVersion", api_version);
    }
    object
}

/// A request of a row.
struct Request<'a> {
    manager: &'a str,
    verb: &'a str,
    version: &'a str,
    body: Value,
}

impl<'a> Request<'a> {
    fn read(line: &'a str) -> Self {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().expect("manager, verb, version, body");
        let (manager, verb, version) = (word(), word(), word());
        Request { manager, verb, version, body: parse(word()) }
    }
}

/// The object of one case.
struct Story<'a> {
    kind: &'a Kind,
    name: String,
    live: Option<Value>,
}

impl Story<'_> {
    /// What a request leads to, in the words of the rows.
    fn answer(&mut self, request: &Request<'_>) -> String {
        match self.run(request) {
            Ok(object) => {
                let shown = show(&object);
                self.live = Some(object);
                shown
            }
            Err(refusal) => refusal,
        }
    }

    fn run(&self, request: &Request<'_>) -> Result<Value, String> {
        let api_version = format!("{GROUP}/{}", request.version);
        let status = request.verb == "status";
        let endpoint = Endpoint { kind: self.kind, api_version: &api_version, status };
        let info = ManagerInfo {
            manager: request.manager,
            api_version: &api_version,
            subresource: if status { "status" } else { "" },
            now: Timestamp::UNIX_EPOCH,
        };
        let live = self.live.as_ref().map(|live| in_version(live, &api_version));
        let schema = self.kind.schema(&api_version);
        let mut object = self.body(request, live.as_ref(), &api_version);
        if matches!(request.verb, "create" | "update") {
            schema.shape(&mut object, Malformed::Reject, None).map_err(|error| error.to_string())?;
            schema.default(&mut object);
            track_update(live.as_ref(), &mut object, &info, &endpoint).map_err(|error| error.to_string())?;
        } else {
            let wanted = ApplyRequest { info, kind: "Widget", force: request.verb == "force" };
            object = apply(live.as_ref(), object, &wanted, &endpoint).map_err(|error| refusal(&error))?;
            schema.default(&mut object);
        }
        keep_the_other_part(&mut object, live.as_ref(), status);
        self.validate(&object, live.as_ref(), &api_version, status)?;
        schema.prune(&mut object, None);
        if let Some(live) = &live {
            restore_times_if_unchanged(live, &mut object);
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("uid", "u");
            metadata.retain(|_, value| !is_empty(value));
        }
        Ok(object)
    }

    /// The body of a request; an update starts from what is there.
    fn body(&self, request: &Request<'_>, live: Option<&Value>, api_version: &str) -> Value {
        let named = [("name", Value::from(self.name.as_str()))].into_iter().collect::<Map>();
        let bare = [
            ("apiVersion", Value::from(api_version)),
            ("kind", "Widget".into()),
            ("metadata", Value::Object(named)),
        ];
        let mut object = match live {
            Some(live) if request.verb == "update" => live.clone(),
            _ => Value::Object(bare.into_iter().collect()),
        };
        let members = object.as_object_mut().expect("an object");
        for (key, value) in request.body.as_object().expect("bodies are objects").iter() {
            match (members.get_mut(key), value) {
                (Some(Value::Object(metadata)), Value::Object(added)) if key == "metadata" => {
                    added.iter().for_each(|(key, value)| drop(metadata.insert(key, value.clone())));
                }
                (_, Value::Null) => drop(members.remove(key)),
                _ => drop(members.insert(key, value.clone())),
            }
        }
        object
    }

    fn validate(
        &self,
        object: &Value,
        live: Option<&Value>,
        api_version: &str,
        status: bool,
    ) -> Result<(), String> {
        let schema = self.kind.schema(api_version);
        let found = match live {
            Some(live) if status => schema.validate_status(object, live, None),
            _ => schema.validate(object, live, None),
        };
        if found.errors.is_empty() {
            return Ok(());
        }
        let status = Status::invalid(&GroupKind::new(GROUP, "Widget"), &self.name, &found.errors);
        Err(format!("! 422 {}\n", status.message))
    }
}

/// An endpoint writes its own part of the object.
fn keep_the_other_part(object: &mut Value, live: Option<&Value>, status: bool) {
    let kept: &[&str] = if status { &["spec"] } else { &["status"] };
    let members = object.as_object_mut().expect("an object");
    for key in kept {
        match live.and_then(|live| live.get(key)) {
            Some(value) => drop(members.insert(*key, value.clone())),
            None => drop(members.remove(key)),
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(<[Value]>::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

fn refusal(error: &ApplyError) -> String {
    match error {
        ApplyError::BadRequest(message) => format!("! 400 {message}\n"),
        ApplyError::Internal(message) => format!("! 500 {}\n", message.replace('\n', " ")),
        ApplyError::Conflict(conflict) => {
            let mut causes: Vec<String> = conflict
                .causes
                .iter()
                .map(|cause| format!("! {} {}\n", cause.field, cause.message))
                .collect();
            causes.sort_unstable();
            causes.concat()
        }
    }
}

/// The object and its owners, as the rows show them.
fn show(object: &Value) -> String {
    let mut shown = Map::new();
    for key in ["spec", "status"] {
        if let Some(value) = object.get(key) {
            shown.insert(key, value.clone());
        }
    }
    let metadata = ["labels", "annotations", "finalizers"].into_iter();
    let metadata: Map =
        metadata.filter_map(|key| Some((key, object.at(&["metadata", key])?.clone()))).collect();
    if !metadata.is_empty() {
        shown.insert("metadata", metadata);
    }
    let mut out = format!("< {}\n", json::to_string(&Value::Object(shown)));
    let owners = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap_or_default();
    let mut lines: Vec<String> = owners.iter().map(show_owner).collect();
    lines.sort_unstable();
    out.extend(lines);
    out
}

fn show_owner(owner: &Value) -> String {
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut operation = text("operation").to_owned();
    if !text("subresource").is_empty() {
        write!(operation, "/{}", text("subresource")).expect("a String takes any text");
    }
    let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
    let fields = json::to_string(owner.get("fieldsV1").unwrap_or(&Value::Null));
    format!("@ {} {operation} {version} {fields}\n", text("manager"))
}

/// The recorded outcome of a row, with its owners and conflicts sorted.
fn recorded(lines: &[&str]) -> String {
    let mut sorted: Vec<&str> = lines.to_vec();
    sorted.sort_unstable_by_key(|line| (line.starts_with('@'), *line));
    sorted.iter().fold(String::new(), |mut out, line| {
        writeln!(out, "{line}").expect("a String takes any text");
        out
    })
}

#[test]
fn requests_lead_to_what_they_lead_to_in_the_reference() {
    let kind = Kind::new();
    let (mut rows, mut failures) = (0, String::new());
    for (index, case) in CASES.split("\n\n").skip(1).enumerate() {
        let mut lines = case.lines().peekable();
        let title = lines.next().unwrap_or_default();
        let mut story = Story { kind: &kind, name: format!("o{index}"), live: None };
        while let Some(line) = lines.next() {
            let request = line.strip_prefix("> ").expect("a request");
            let mut outcome = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("> ")) {
                outcome.push(line);
            }
            rows += 1;
            let expected = recorded(&outcome);
            let found = story.answer(&Request::read(request));
            if found != expected {
                write!(failures, "{title}\n> {request}\nexpected\n{expected}found\n{found}\n")
                    .expect("a String takes any text");
            }
        }
    }
    assert!(rows > 250, "only {rows} rows were found");
    assert!(failures.is_empty(), "{failures}");
}
