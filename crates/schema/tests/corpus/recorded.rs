//! The corpus on disk: cases, definitions, bodies; and the count of agreements.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use meta::wire::{json, yaml};
use meta::{FieldError, Value};

/// How many documents are kept read: about those of one project.
const KEPT_DOCUMENTS: usize = 200;

pub(crate) struct Corpus {
    root: PathBuf,
    loaded: RefCell<HashMap<String, Value>>,
    pub(crate) cases: Vec<Value>,
}

impl Corpus {
    pub(crate) fn open() -> Option<Corpus> {
        let Some(shared) = std::env::var_os("CREST_SHARED") else {
            println!("skipped: CREST_SHARED is not set");
            return None;
        };
        let root = PathBuf::from(shared).join("corpus");
        let lines = std::fs::read_to_string(root.join("oracle.jsonl")).expect("the recorded cases");
        let cases = lines.lines().map(|line| json::parse(line.as_bytes()).expect("a recorded case").value);
        Some(Corpus { cases: cases.collect(), root, loaded: RefCell::default() })
    }

    /// A document of the corpus by its path.
    pub(crate) fn load(&self, file: &str) -> Value {
        let mut loaded = self.loaded.borrow_mut();
        if let Some(document) = loaded.get(file) {
            return document.clone();
        }
        if loaded.len() == KEPT_DOCUMENTS {
            loaded.clear();
        }
        let bytes = std::fs::read(self.root.join(file)).expect("a document of the corpus");
        let document = yaml::parse(&bytes).expect("a document in YAML").value;
        loaded.insert(file.to_owned(), document.clone());
        document
    }

    /// The body that a case sends.
    pub(crate) fn body(&self, case: &Value) -> Value {
        let request = case.get("request").expect("a request");
        match request.get("body") {
            Some(body) => body.clone(),
            None => self.load(text(request, "body_file")),
        }
    }
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn code(case: &Value) -> i64 {
    case.at(&["response", "code"]).and_then(Value::as_int).expect("a code")
}

/// The causes of a Status, sorted: field, reason, message.
pub(crate) fn causes(case: &Value) -> Vec<[String; 3]> {
    let causes =
        case.at(&["response", "body", "details", "causes"]).and_then(Value::as_array).unwrap_or_default();
    let mut causes: Vec<[String; 3]> = causes
        .iter()
        .map(|cause| {
            [text(cause, "field").to_owned(), text(cause, "reason").to_owned(), cut(text(cause, "message"))]
        })
        .collect();
    causes.sort();
    causes
}

/// What the errors become in a Status, sorted.
pub(crate) fn as_causes(errors: &[FieldError]) -> Vec<[String; 3]> {
    let mut causes: Vec<[String; 3]> = errors
        .iter()
        .map(|error| [error.field.clone(), error.kind.reason().to_owned(), cut(&error.body())])
        .collect();
    causes.sort();
    causes
}

/// Compares recorded causes with errors.
pub(crate) fn compare(case: &Value, errors: &[FieldError], verdicts: &mut Verdicts) {
    let (wanted, found) = (causes(case), as_causes(errors));
    if code(case) == 422 && wanted == found {
        verdicts.agree(case);
    } else {
        let wanted = format!("{} {wanted:?}", code(case));
        verdicts.differ(case, "causes", &wanted, &format!("{found:?}"));
    }
}

/// Long messages were cut when they were recorded.
fn cut(message: &str) -> String {
    let message = message.split("...<truncated").next().unwrap_or_default();
    message.chars().take(2900).collect()
}

/// How often the recorded answer was met, by operation and outcome.
#[derive(Default)]
pub(crate) struct Verdicts {
    counts: BTreeMap<(String, String), usize>,
    differences: usize,
}

impl Verdicts {
    pub(crate) fn agree(&mut self, case: &Value) {
        self.count(case, "agrees");
    }

    pub(crate) fn skip(&mut self, case: &Value, why: &str) {
        self.count(case, &format!("skipped: {why}"));
    }

    pub(crate) fn differ(&mut self, case: &Value, what: &str, wanted: &str, found: &str) {
        self.count(case, &format!("differs: {what}"));
        self.differences += 1;
        if self.differences <= 40 {
            let id = text(case, "id");
            println!("{id} {what}\n  recorded: {}\n  found:    {}", shorten(wanted), shorten(found));
        }
    }

    fn count(&mut self, case: &Value, outcome: &str) {
        *self.counts.entry((text(case, "op").to_owned(), outcome.to_owned())).or_default() += 1;
    }

    pub(crate) fn report(&self, what: &str) {
        for ((operation, outcome), count) in &self.counts {
            println!("{what}: {operation}: {outcome}: {count}");
        }
        assert_eq!(self.differences, 0, "recorded answers that were not met");
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(700).collect()
}
