//! Creations of objects: what is pruned and defaulted, what is refused and why.

use meta::object::{Malformed, validate_object_meta};
use meta::wire::json;
use meta::{FieldError, FieldPath, Meta, Value, names};

use crate::kinds::{Kind, each, prepare, store_and_read, target};
use crate::recorded::{Corpus, Verdicts, as_causes, code, compare, text};

pub(crate) fn replay(corpus: &Corpus, verdicts: &mut Verdicts) {
    each(corpus, &["create-strict", "create-warn", "mutation"], verdicts, |case, kind, verdicts| {
        judge(case, kind, corpus.body(case), verdicts);
    });
}

fn judge(case: &Value, kind: &Kind, mut object: Value, verdicts: &mut Verdicts) {
    if code(case) == 500 {
        return verdicts.skip(case, "conversion webhook");
    }
    if text(&object, "apiVersion") != kind.api_version || text(&object, "kind") != kind.name {
        return verdicts.skip(case, "another type: not the schema's question");
    }
    let request = case.get("request").expect("a request");
    let namespace = target(text(request, "path")).1;
    let strict = text(request, "query").contains("fieldValidation=Strict");
    let mut unknown = Vec::new();
    if let Err(error) = kind.schema.shape(&mut object, Malformed::Reject, Some(&mut unknown)) {
        return check_bad_request(case, &error.to_string(), verdicts);
    }
    if strict && !unknown.is_empty() {
        let listed: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        return check_bad_request(case, &format!("strict decoding error: {}", listed.join(", ")), verdicts);
    }
    kind.schema.default(&mut object);
    prepare(&mut object, kind, namespace);
    let errors = validate(&object, kind);
    match code(case) {
        201 if !errors.is_empty() => {
            verdicts.differ(case, "refused", "201", &format!("{:?}", as_causes(&errors)));
        }
        201 => {
            store_and_read(&mut object, kind);
            check_object(case, &object, &unknown, verdicts);
        }
        _ => compare(case, &errors, verdicts),
    }
}

fn validate(object: &Value, kind: &Kind) -> Vec<FieldError> {
    let meta = Meta::of(object);
    let path = FieldPath::ROOT.field("metadata");
    let mut errors = match meta.name() {
        "<generated>" => Vec::new(),
        _ => validate_object_meta(meta, kind.scope, names::name_is_dns_subdomain, &path),
    };
    errors.extend(kind.schema.validate(object, None, kind.scale.as_ref()).errors);
    errors
}

fn check_bad_request(case: &Value, found: &str, verdicts: &mut Verdicts) {
    let message = text(case.at(&["response", "body"]).expect("a body"), "message");
    // The order of fields in one message is not stable in the recording.
    let sorted = |text: &str| {
        let mut parts: Vec<String> = text.split(", ").map(str::to_owned).collect();
        parts.sort();
        parts
    };
    let wanted = message.split_once(": ").map_or(message, |(_, wanted)| wanted);
    if code(case) == 400 && sorted(wanted) == sorted(found) {
        verdicts.agree(case);
    } else {
        verdicts.differ(case, "bad request", &format!("{} {message}", code(case)), found);
    }
}

fn check_object(case: &Value, object: &Value, unknown: &[String], verdicts: &mut Verdicts) {
    let wanted = case.at(&["response", "body"]).expect("a body");
    if wanted != object && json::to_string(wanted) != json::to_string(object) {
        return verdicts.differ(case, "object", &json::to_string(wanted), &json::to_string(object));
    }
    let warnings = case.at(&["response", "warnings"]).and_then(Value::as_array).unwrap_or_default();
    let mut recorded: Vec<&str> = warnings
        .iter()
        .filter_map(Value::as_str)
        .filter(|warning| warning.contains("unknown field"))
        .collect();
    let mut found: Vec<String> =
        unknown.iter().map(|path| format!("299 - \"unknown field \\\"{path}\\\"\"")).collect();
    recorded.sort_unstable();
    found.sort();
    if recorded == found {
        verdicts.agree(case);
    } else {
        verdicts.differ(case, "warnings", &format!("{recorded:?}"), &format!("{found:?}"));
    }
}
