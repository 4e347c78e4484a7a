//! Creations of definitions, good and broken ones.

use crest_schema::crd;
use meta::Value;
use meta::patch::JsonPatch;
use meta::wire::json;

use crate::recorded::{Corpus, Verdicts, as_causes, causes, code, text};

pub(crate) fn replay(corpus: &Corpus, verdicts: &mut Verdicts) {
    for case in &corpus.cases {
        match text(case, "op") {
            "crd-create" => judge(case, corpus.body(case), verdicts),
            "crd-mutation" => {
                let patch = case.at(&["request", "json_patch"]).expect("a patch");
                let patched = apply(corpus.body(case), patch);
                judge(case, patched, verdicts);
            }
            _ => {}
        }
    }
}

fn judge(case: &Value, mut definition: Value, verdicts: &mut Verdicts) {
    if code(case) == 400 {
        return verdicts.skip(case, "strict decoding: not the schema's question");
    }
    crd::default(&mut definition);
    crd::prepare_for_create(&mut definition);
    let errors = crd::validate(&definition);
    let found = as_causes(&errors);
    match code(case) {
        201 if !errors.is_empty() => verdicts.differ(case, "refused", "201", &format!("{found:?}")),
        201 => check_accepted(case, &definition, verdicts),
        // The reference crashed.
        0 if errors.is_empty() => verdicts.differ(case, "accepted", "a refusal", "none"),
        0 => verdicts.agree(case),
        _ => compare(case, &found, verdicts),
    }
}

/// Compares causes.
fn compare(case: &Value, found: &[[String; 3]], verdicts: &mut Verdicts) {
    let mut missing = causes(case);
    let mut extra = Vec::new();
    // Of rules that cost the same, which four are named is chance in the reference.
    let is_named = |cause: &[String; 3]| cause[2].contains("contributed to estimated rule cost total");
    let is_same =
        |left: &[String; 3], right: &[String; 3]| left == right || (is_named(left) && is_named(right));
    for cause in found {
        match missing.iter().position(|candidate| is_same(candidate, cause)) {
            Some(index) => {
                missing.remove(index);
            }
            None => extra.push(cause),
        }
    }
    if extra.is_empty() && missing.is_empty() {
        verdicts.agree(case);
    } else {
        verdicts.differ(case, "causes", &format!("{missing:?}"), &format!("{extra:?}"));
    }
}

fn check_accepted(case: &Value, definition: &Value, verdicts: &mut Verdicts) {
    let spec = definition.get("spec").expect("a spec");
    let wanted = case.at(&["response", "body"]).expect("a body");
    let wanted = wanted.get("spec").unwrap_or(wanted);
    if let Some(conversion) = wanted.get("conversion")
        && spec.get("conversion") != Some(conversion)
    {
        let found = spec.get("conversion").map(json::to_string).unwrap_or_default();
        return verdicts.differ(case, "conversion", &json::to_string(conversion), &found);
    }
    if let Some(names) = wanted.get("names")
        && spec.get("names") != Some(names)
    {
        let found = spec.get("names").map(json::to_string).unwrap_or_default();
        return verdicts.differ(case, "names", &json::to_string(names), &found);
    }
    let recorded = case.at(&["response", "warnings"]).and_then(Value::as_array).unwrap_or_default();
    let mut recorded: Vec<&str> = recorded.iter().filter_map(Value::as_str).collect();
    recorded.retain(|warning| warning.contains("unrecognized format"));
    let mut found: Vec<String> = crd::warnings_on_create(definition)
        .iter()
        .map(|warning| format!("299 - \"{}\"", warning.replace('"', "\\\"")))
        .collect();
    // Equal warnings are sent once.
    found.sort();
    found.dedup();
    recorded.sort_unstable();
    if recorded == found {
        verdicts.agree(case);
    } else {
        verdicts.differ(case, "warnings", &format!("{recorded:?}"), &format!("{found:?}"));
    }
}

fn apply(document: Value, patch: &Value) -> Value {
    let patch = JsonPatch::decode(&json::to_vec(patch)).expect("a recorded patch");
    patch.apply(document).expect("a patch that applies")
}
