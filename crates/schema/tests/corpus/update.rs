//! Updates of objects and of their status: what is forgiven because it did not change.

use meta::object::{Malformed, validate_object_meta_update};
use meta::patch::merge;
use meta::wire::json;
use meta::{FieldPath, Meta, Value};

use crate::kinds::{Kind, each, prepare, store_and_read, target};
use crate::recorded::{Corpus, Verdicts, as_causes, code, compare, text};

pub(crate) fn replay(corpus: &Corpus, verdicts: &mut Verdicts) {
    each(corpus, &["update", "status-patch"], verdicts, |case, kind, verdicts| {
        let request = case.get("request").expect("a request");
        let mut old = corpus.load(text(request, "setup_body_file"));
        create(&mut old, kind, target(text(request, "setup_post_path")).1);
        let body = request.get("body").expect("a body").clone();
        judge(case, kind, old, body, verdicts);
    });
}

/// Makes the object that the case changes.
fn create(object: &mut Value, kind: &Kind, namespace: Option<&str>) {
    kind.schema.shape(object, Malformed::Reject, None).expect("an object that was accepted");
    kind.schema.default(object);
    prepare(object, kind, namespace);
    store_and_read(object, kind);
    set(object, "resourceVersion", "1");
}

fn set(object: &mut Value, field: &str, value: &str) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
    metadata.insert(field, value);
}

fn judge(case: &Value, kind: &Kind, mut old: Value, body: Value, verdicts: &mut Verdicts) {
    let is_status = text(case, "op") == "status-patch";
    let mut new = body;
    if is_status {
        let patch = std::mem::replace(&mut new, old.clone());
        merge::apply(&mut new, patch);
    }
    let mut unknown = Vec::new();
    if kind.schema.shape(&mut new, Malformed::Reject, Some(&mut unknown)).is_err() || !unknown.is_empty() {
        return verdicts.skip(case, "strict decoding: replayed as creations");
    }
    kind.schema.default(&mut new);
    keep(&mut new, &mut old, kind, is_status);
    let path = FieldPath::ROOT.field("metadata");
    let mut errors = validate_object_meta_update(Meta::of(&new), Meta::of(&old), &path);
    let found = if is_status {
        kind.schema.validate_status(&new, &old, kind.scale.as_ref())
    } else {
        kind.schema.validate(&new, Some(&old), kind.scale.as_ref())
    };
    errors.extend(found.errors);
    match code(case) {
        200 if !errors.is_empty() => {
            verdicts.differ(case, "refused", "200", &format!("{:?}", as_causes(&errors)));
        }
        200 => {
            store_and_read(&mut new, kind);
            let wanted = case.at(&["response", "body"]).expect("a body");
            // Cases of one setup ran on the same object, so a status may stand beside an earlier case's spec.
            let parts: &[&str] = if is_status { &["status"] } else { &["spec", "status"] };
            let same = parts.iter().all(|part| wanted.get(part) == new.get(part));
            if same {
                verdicts.agree(case);
            } else {
                verdicts.differ(case, "object", &json::to_string(wanted), &json::to_string(&new));
            }
        }
        _ => compare(case, &errors, verdicts),
    }
}

/// An update keeps the status, a write of the status keeps everything else.
fn keep(new: &mut Value, old: &mut Value, kind: &Kind, is_status: bool) {
    let take = |from: &Value, to: &mut Value| {
        let to = to.as_object_mut().expect("an object");
        match from.get("status") {
            Some(status) => to.insert("status", status.clone()),
            None => to.remove("status"),
        };
    };
    if is_status {
        let mut object = old.clone();
        take(new, &mut object);
        *new = object;
    } else if kind.has_status {
        take(old, new);
    }
    let namespace = Meta::of(old).namespace().to_owned();
    set(new, "resourceVersion", "1");
    if !namespace.is_empty() {
        set(new, "namespace", &namespace);
    }
    for object in [new, old] {
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
        for field in ["uid", "creationTimestamp", "managedFields", "generation", "finalizers"] {
            metadata.remove(field);
        }
    }
}
