//! The recorded calls of the reference, where `CREST_SHARED` says where they are.

use std::path::PathBuf;

use meta::{FieldPath, Value};

use crate::expr::Level;
use crate::expr::compile::compile;
use crate::expr::eval::{Ratcheting, Subject, run};
use crate::expr::types::Declaration;
use crate::structural::Schema;

/// Parts of failures that cannot be met, and why.
const UNUSABLE: &[(&str, &str)] = &[
    ("fakeFunction", "the recording test adds a function of its own"),
    ("TestCELValidationLimit", "the recording test lowers the limit of one call, which is not recorded"),
    (r#"\"string 1\" + \"string 2\""#, "likewise"),
    (r#""allOf":["#, "definitions cannot have rules there, so schemas do not keep them"),
    ("exists(k, v, v == 2)", "the cost depends on the order of a map, which is chance in the recording"),
    ("self.val.map(k, self.val[k]).exists(v, v == 1)", "likewise"),
    ("340282346638528859811704183484516925440.000000 && 3", "a 32-bit number was recorded short"),
];

fn read(name: &str) -> Option<Value> {
    let Some(shared) = std::env::var_os("CREST_SHARED") else {
        println!("skipped: CREST_SHARED does not name a directory with vectors");
        return None;
    };
    let bytes = std::fs::read(PathBuf::from(shared).join("cel").join(name)).unwrap();
    Some(meta::wire::json::parse(&bytes).unwrap().value)
}

#[derive(Default)]
struct Tally {
    passed: usize,
    unusable: usize,
    failures: Vec<String>,
}

impl Tally {
    fn record(&mut self, case: &Value, outcome: Result<(), String>) {
        let Err(why) = outcome else {
            self.passed += 1;
            return;
        };
        let shown = format!("{why}\n    {}", meta::wire::json::to_string(case));
        if UNUSABLE.iter().any(|(part, _)| shown.contains(part)) {
            self.unusable += 1;
        } else {
            self.failures.push(shown.chars().take(1500).collect());
        }
    }

    fn finish(self, what: &str) {
        println!("{what}: {} pass, {} unusable, {} fail", self.passed, self.unusable, self.failures.len());
        for failure in self.failures.iter().take(20) {
            println!("  {failure}");
        }
        assert!(self.failures.is_empty(), "{} cases of {what} fail", self.failures.len());
    }
}

/// The number in the type of `self` is of no account.
fn plain(text: &str) -> String {
    let mut parts = text.split("selfType");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        out + "selfType" + part.trim_start_matches(|character: char| character.is_ascii_digit())
    })
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn recorded_evaluations_are_met() {
    let Some(file) = read("k8s-unit-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in list(&file, "validate") {
        tally.record(case, evaluated(case));
    }
    tally.finish("evaluations");
}

fn evaluated(case: &Value) -> Result<(), String> {
    let schema = Schema::compile(case.get("schema").unwrap()).unwrap();
    let is_set = |name| case.get(name).and_then(Value::as_bool) == Some(true);
    let subject = Subject {
        node: &schema.root,
        level: if is_set("isResourceRoot") { Level::Root } else { Level::Inner },
        new: case.get("obj").unwrap(),
        old: case.get("oldObj").filter(|old| !old.is_null()),
    };
    let ratcheting = if is_set("ratcheting") { Ratcheting::On } else { Ratcheting::Off };
    let budget = case.get("budget").and_then(Value::as_int).unwrap();
    let root = text(case, "path");
    let verdict = run(subject, &FieldPath::ROOT.field(root), ratcheting, budget);
    let mut found: Vec<String> = verdict.errors.iter().map(|error| plain(&error.to_string())).collect();
    let mut wanted: Vec<String> =
        list(case, "errors").iter().map(|error| plain(text(error, "error"))).collect();
    found.sort();
    wanted.sort();
    if found != wanted {
        return Err(format!("found {found:?}\n    wanted {wanted:?}"));
    }
    match case.get("remaining").and_then(Value::as_int) {
        Some(remaining) if remaining == verdict.remaining => Ok(()),
        remaining => Err(format!("left {} instead of {remaining:?}", verdict.remaining)),
    }
}

#[test]
fn recorded_compilations_are_met() {
    let Some(file) = read("k8s-unit-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in list(&file, "compile") {
        // Whether the schema is that of a whole object was not recorded.
        let outcome = compiled(case, Level::Inner).or_else(|_| compiled(case, Level::Root));
        tally.record(case, outcome);
    }
    tally.finish("compilations");
}

fn compiled(case: &Value, level: Level) -> Result<(), String> {
    let schema = Schema::compile(case.get("schema").unwrap()).unwrap();
    let declaration = Declaration::of(&schema.root, level).ok_or("no type")?;
    let rules = compile(&schema.root, &declaration);
    for (rule, wanted) in rules.iter().zip(list(case, "results")) {
        let number = |name| wanted.get(name).map_or(0, unsigned);
        let error = rule.program.as_ref().err().map(|error| plain(error)).unwrap_or_default();
        if error != plain(text(wanted, "error")) {
            return Err(format!("found {error}"));
        }
        let costs = [rule.max_cost, rule.message_max_cost];
        let is_same = |found: u64, wanted: u64| {
            found == wanted || (wanted > 1 << 53 && found.abs_diff(wanted) < PRECISION)
        };
        if !is_same(costs[0], number("maxCost")) || !is_same(costs[1], number("messageExpressionMaxCost")) {
            return Err(format!("costs {costs:?}"));
        }
        let is_run = matches!(rule.program, Ok(Some(_)));
        if is_run && declaration.max_cardinality() != number("maxCardinality") {
            return Err(format!("cardinality {}", declaration.max_cardinality()));
        }
        if wanted.get("usesOldSelf").and_then(Value::as_bool).unwrap_or(false) != rule.uses_old_self {
            return Err(format!("old self {}", rule.uses_old_self));
        }
    }
    Ok(())
}

/// What is lost of the largest numbers, which were recorded as doubles.
const PRECISION: u64 = 2048;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs, recorded as doubles if large"
)]
fn unsigned(value: &Value) -> u64 {
    match value {
        Value::Float(number) => *number as u64,
        other => other.as_int().unwrap_or(0).cast_unsigned(),
    }
}

/// A rule on the schema of a file of vectors.
fn rule(schema: &Value, case: &Value, expression: &str) -> (Result<u64, String>, bool) {
    let mut schema = schema.clone();
    let mut rule: meta::Map = [("rule", Value::from(expression))].into_iter().collect();
    if let Some(optional) = case.get("optionalOldSelf") {
        rule.insert("optionalOldSelf", optional.clone());
    }
    schema.as_object_mut().unwrap().insert("x-kubernetes-validations", vec![Value::Object(rule)]);
    let schema = Schema::compile(&schema).unwrap();
    let declaration = Declaration::of(&schema.root, Level::Inner).unwrap();
    let compiled = compile(&schema.root, &declaration);
    match &compiled[0].program {
        Ok(_) => (Ok(compiled[0].max_cost), compiled[0].uses_old_self),
        Err(error) => (Err(plain(error)), false),
    }
}

#[test]
fn recorded_compile_errors_are_met() {
    let Some(file) = read("compile-error-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in list(&file, "cases") {
        let (found, _) = rule(file.get("schema").unwrap(), case, text(case, "rule"));
        let wanted = list(case, "causes").first().and_then(Value::as_str).map(plain);
        let outcome = match (found.err(), wanted) {
            (found, wanted) if found == wanted => Ok(()),
            (found, wanted) => Err(format!("found {found:?}\n    wanted {wanted:?}")),
        };
        tally.record(case, outcome);
    }
    tally.finish("compile errors");
}

#[test]
fn recorded_costs_are_met() {
    let Some(file) = read("static-cost-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in list(&file, "cases") {
        let (found, _) = rule(file.get("schema").unwrap(), case, text(case, "rule"));
        let number = |value: Option<&Value>| value.filter(|value| !value.is_null()).map(unsigned);
        let range = list(case, "range");
        let fits = match &found {
            Err(_) => case.get("error").is_some(),
            Ok(cost) => {
                let exact = number(case.get("cost")).is_none_or(|wanted| wanted == *cost);
                let more = number(case.get("more_than")).is_none_or(|wanted| *cost > wanted);
                let within = range.is_empty()
                    || (number(range.first()) <= Some(*cost) && Some(*cost) <= number(range.last()));
                exact && more && within && case.get("error").is_none()
            }
        };
        tally.record(case, if fits { Ok(()) } else { Err(format!("found {found:?}")) });
    }
    tally.finish("static costs");
}

/// A schema with one more rule, which fails and whose message is made by an expression.
fn saying(schema: &Value, rule: &str, expression: &str) -> Schema {
    let mut schema = schema.clone();
    let rule: meta::Map =
        [("rule", Value::from(rule)), ("messageExpression", Value::from(expression))].into_iter().collect();
    schema.as_object_mut().unwrap().insert("x-kubernetes-validations", vec![Value::Object(rule)]);
    Schema::compile(&schema).unwrap()
}

#[test]
fn recorded_values_are_met() {
    let Some(file) = read("k8s-eval-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in list(&file, "cases") {
        tally.record(case, value_of(&file, case));
    }
    tally.finish("values");
}

/// Values were recorded in messages, errors in those of a rule.
fn value_of(file: &Value, case: &Value) -> Result<(), String> {
    let expression = text(case, "expr");
    let (rule, message) = match case.get("value") {
        Some(_) => ("false".to_owned(), format!("'V:%s'.format([dyn({expression})])")),
        None => (format!("dyn([{expression}]).size() == 1"), String::new()),
    };
    let schema = saying(file.get("schema").unwrap(), &rule, &message);
    let object = file.get("object_spec").unwrap();
    let subject = Subject { node: &schema.root, level: Level::Inner, new: object, old: None };
    let verdict = run(subject, &FieldPath::ROOT.field("spec"), Ratcheting::Off, 10_000_000);
    let found = verdict.errors.first().map(|error| plain(&error.detail)).unwrap_or_default();
    let fits = if let Some(wanted) = case.get("value").and_then(Value::as_str) {
        let order = |text: &str| {
            let mut characters: Vec<char> = text.chars().collect();
            characters.sort_unstable();
            characters
        };
        // A map is printed in any order.
        let found = found.strip_prefix("V:").unwrap_or(&found);
        found == wanted.trim_end() || (wanted.contains(", ") && order(found) == order(wanted))
    } else if let Some(wanted) = case.get("error").and_then(Value::as_str) {
        found.contains(wanted)
    } else if let Some(wanted) = case.get("compile_error").and_then(Value::as_str) {
        let wanted = plain(wanted);
        let detail =
            |text: &str| text.split_once(": ").map(|(_, detail)| detail.to_owned()).unwrap_or_default();
        wanted.starts_with("messageExpression") || found.contains(&detail(&wanted))
    } else {
        true
    };
    if fits { Ok(()) } else { Err(format!("found {found}")) }
}

#[test]
fn recorded_messages_are_met() {
    let Some(file) = read("message-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in list(&file, "cases").iter().filter(|case| case.get("schema").is_some()) {
        // Of large objects it was not recorded how large they were.
        let lengths = [800, 375, 370, 365];
        let outcomes = lengths.map(|length| message(case, length));
        tally.record(case, outcomes.into_iter().reduce(Result::or).expect("some lengths"));
    }
    tally.finish("messages");
}

fn message(case: &Value, length: i64) -> Result<(), String> {
    let part = case.get("schema").unwrap();
    let is_whole = part.at(&["properties", "spec"]).is_some();
    let schema = if is_whole {
        part.clone()
    } else {
        object([("type", "object".into()), ("properties", object([("spec", part.clone())]))])
    };
    let (errors, warnings) = match case.get("spec") {
        None => (crate::crd::validate(&definition(schema)), Vec::new()),
        Some(spec) => {
            let new = object([("spec", enlarged(spec, length))]);
            let old = case.get("old_spec").map(|spec| object([("spec", spec.clone())]));
            let found = Schema::compile(&schema).unwrap().validate(&new, old.as_ref(), None);
            (found.errors, found.warnings)
        }
    };
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let found =
        sorted(errors.iter().map(|error| plain(&format!("{}: {}", error.field, error.body()))).collect());
    let cause = |cause: &Value| plain(&format!("{}: {}", text(cause, "field"), text(cause, "message")));
    let wanted = sorted(list(case, "causes").iter().map(cause).collect());
    let warned = sorted(warnings.iter().map(|warning| format!("299 - \"{warning}\"")).collect());
    let warnings = list(case, "warnings").iter().filter_map(Value::as_str).map(str::to_owned);
    if found == wanted && warned == sorted(warnings.collect()) {
        Ok(())
    } else {
        Err(format!("found {found:?} {warned:?}\n   wanted {wanted:?}"))
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().collect())
}

/// The object that was recorded, or a list of numbers for a large one.
fn enlarged(spec: &Value, length: i64) -> Value {
    match spec {
        Value::String(_) => object([("l", (0..length).map(Value::Int).collect::<Vec<_>>().into())]),
        spec => spec.clone(),
    }
}

/// A definition with this schema and nothing special.
fn definition(schema: Value) -> Value {
    let mut definition = crate::testing::value(
        r#"{"metadata": {"name": "foos.ex.io"}, "spec": {"group": "ex.io", "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"}, "versions": [{"name": "v1", "served": true, "storage": true}]}}"#,
    );
    let versions = definition.get_mut("spec").and_then(|spec| spec.get_mut("versions")).unwrap();
    let version = versions.as_array_mut().unwrap()[0].as_object_mut().unwrap();
    version.insert("schema", object([("openAPIV3Schema", schema)]));
    crate::crd::default(&mut definition);
    crate::crd::prepare_for_create(&mut definition);
    definition
}
