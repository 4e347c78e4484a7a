//! Runs the shared vector files, when the environment variable `CREST_SHARED` says where they are.
//!
//! Without it the test says so and passes: the crate's own cases stand alone.

#![expect(clippy::print_stdout, reason = "the counts are the point")]

#[path = "vectors/rules.rs"]
mod rules;
#[path = "vectors/schema.rs"]
mod schema;
#[path = "vectors/spec.rs"]
mod spec;

use std::path::PathBuf;

use cel::Type;
use rules::{Run, compile, max_cardinality};
use schema::Schema;
use serde_json::Value as Json;

/// The directory with the vector files.
#[expect(clippy::disallowed_methods, reason = "tests are configured by the environment")]
fn directory() -> Option<PathBuf> {
    let found = std::env::var("CREST_SHARED").ok().map(|root| PathBuf::from(root).join("cel"));
    if found.is_none() {
        println!("skipped: CREST_SHARED does not name a directory with vectors");
    }
    found
}

fn read(name: &str) -> Option<Json> {
    let path = directory()?.join(name);
    let text = std::fs::read_to_string(&path).expect("the vector file can be read");
    Some(serde_json::from_str(&text).expect("the vector file is JSON"))
}

/// Cases that cannot pass, with the reason.
const UNUSABLE: &[(&str, &str)] = &[
    (
        "triple_single_quoted_unescaped_punctuation",
        "the recorded value holds a backslash that the source lacks",
    ),
    (
        "triple_double_quoted_unescaped_punctuation",
        "the recorded value holds a backslash that the source lacks",
    ),
    (
        "comprehension_shadowing_disambiguation",
        "newer than the reference, which takes `.y` for the loop's variable",
    ),
    ("fakeFunction('abc') == 'ABC'", "the recording test adds a function of its own"),
    ("TestCELValidationLimit", "the recording test lowers the cost limit of one call, which is not recorded"),
    (
        "no further validation rules will be run due to call cost exceeds limit for messageExpression",
        "likewise",
    ),
    ("\"allOf\":[{\"properties\":{\"myProperty\":{}}}]", "the recorded schema lost its rules"),
    ("\"allOf\":[{}]", "the recorded schema lost its rules"),
    (
        "self.val.exists(k, v, v == 2)",
        "the cost depends on the order of a map, which is random in the recording",
    ),
    ("self.val.map(k, self.val[k]).exists(v, v == 1)", "likewise"),
    (
        "self.val3 == 340282346638528859811704183484516925440.000000 && 3",
        "a 32-bit number was recorded short",
    ),
];

/// Counts outcomes and shows the first failures.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    unusable: usize,
    failures: Vec<String>,
}

impl Tally {
    pub(crate) fn record(&mut self, name: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => {
                let failure = format!("{name}: {why}");
                if UNUSABLE.iter().any(|(part, _)| failure.contains(part)) {
                    self.unusable += 1;
                } else {
                    self.failures.push(failure);
                }
            }
        }
    }

    pub(crate) fn finish(self, what: &str) {
        let total = self.passed + self.unusable + self.failures.len();
        println!("{what}: {} of {total} pass, {} unusable", self.passed, self.unusable);
        for failure in self.failures.iter().take(60) {
            println!("  {failure}");
        }
        assert!(self.failures.is_empty(), "{} cases of {what} fail", self.failures.len());
    }
}

#[test]
fn language_vectors() {
    let Some(file) = read("cel-spec-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in file["tests"].as_array().expect("tests is a list") {
        if case["k8s"]["applies"] != Json::Bool(false) {
            let name = format!("{}/{}/{}", case["file"], case["section"], case["name"]);
            tally.record(&name, spec::run(case));
        }
    }
    tally.finish("language vectors");
}

fn cases<'j>(file: &'j Json, key: &str) -> &'j [Json] {
    file[key].as_array().expect("a list of cases")
}

/// Type names of objects contain the time at which they were made.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("selfType") {
        let after = at + "selfType".len();
        out.push_str(&rest[..after]);
        rest = rest[after..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

fn same(got: &str, wanted: &str) -> Result<(), String> {
    let wanted = without_times(wanted);
    if got == wanted { Ok(()) } else { Err(format!("got {got}\n    wanted {wanted}")) }
}

#[test]
fn compile_errors() {
    let Some(file) = read("compile-error-vectors.json") else { return };
    let schema = Schema::new(&file["schema"], "selfType", false);
    let mut tally = Tally::default();
    for case in cases(&file, "cases") {
        let rule = case["rule"].as_str().expect("a rule");
        let got = compile(&schema, rule, case["optionalOldSelf"] == true, &Type::Bool).err();
        let outcome = match (got, case["causes"][0].as_str()) {
            (None, None) => Ok(()),
            (got, wanted) => same(&got.unwrap_or_default(), wanted.unwrap_or_default()),
        };
        tally.record(&rule.chars().take(100).collect::<String>(), outcome);
    }
    tally.finish("compile errors");
}

#[test]
fn static_costs() {
    let Some(file) = read("static-cost-vectors.json") else { return };
    let schema = Schema::new(&file["schema"], "selfType", false);
    let mut tally = Tally::default();
    for case in cases(&file, "cases") {
        let rule = case["rule"].as_str().expect("a rule");
        let got =
            compile(&schema, rule, case["optionalOldSelf"] == true, &Type::Bool).map(|rule| rule.max_cost);
        let outcome = match (&got, &case["cost"], &case["range"], &case["more_than"]) {
            (Err(_), ..) if case["error"].is_string() => Ok(()),
            (Ok(cost), Json::Number(wanted), ..) if wanted.as_u64() == Some(*cost) => Ok(()),
            (Ok(cost), _, Json::Array(range), _)
                if (range[0].as_u64() <= Some(*cost)) && (Some(*cost) <= range[1].as_u64()) =>
            {
                Ok(())
            }
            (Ok(cost), _, _, Json::Number(more)) if Some(*cost) > more.as_u64() => Ok(()),
            (Ok(_), Json::Null, Json::Null, Json::Null) if case["info"] == "approx" => Ok(()),
            _ => Err(format!("{got:?} instead of {case}")),
        };
        tally.record(rule, outcome);
    }
    tally.finish("static costs");
}

#[test]
fn evaluations() {
    let Some(file) = read("k8s-eval-vectors.json") else { return };
    let schema = Schema::new(&file["schema"], "selfType", false);
    let mut tally = Tally::default();
    for case in cases(&file, "cases") {
        let expression = case["expr"].as_str().expect("an expression");
        tally.record(expression, evaluation(&schema, &file["object_spec"], expression, case));
    }
    tally.finish("evaluations");
}

/// Expressions were recorded as arguments of a format.
fn evaluation(schema: &Schema, object: &Json, expression: &str, case: &Json) -> Result<(), String> {
    if let Some(wanted) =
        case["compile_error"].as_str().filter(|wanted| wanted.starts_with("compilation failed"))
    {
        let rule = compile(schema, &format!("dyn([{expression}]).size() == 1"), false, &Type::Bool);
        return same(&rule.err().unwrap_or_default(), wanted);
    }
    let text = format!("'V:%s'.format([dyn({expression})])");
    let compiled = match compile(schema, &text, false, &Type::String) {
        Ok(compiled) => compiled,
        Err(error) => {
            let error = error.replace("program instantiation failed", "instantiation failed");
            let wanted = case["compile_error"].as_str().ok_or(error.clone())?;
            return same(&error, wanted.strip_prefix("messageExpression ").unwrap_or(wanted));
        }
    };
    let variables = [("self", schema.value(object).map_err(|error| error.to_string())?)];
    let got = compiled.program.evaluate_within(1_000_000, &variables).result;
    match (got, case["value"].as_str(), case["error"].as_str()) {
        (Ok(got), Some(wanted), _) => {
            // Maps are unordered.
            let got = got.as_str().unwrap_or_default().strip_prefix("V:").unwrap_or_default().to_owned();
            if got == "[\"a\", \"b\"]" && wanted == "[\"b\", \"a\"]" { Ok(()) } else { same(&got, wanted) }
        }
        (Err(got), _, Some(wanted)) => same(got.message(), wanted),
        (Err(_), _, _) if case.get("message_failed").is_some() => Ok(()),
        (_, _, _) if case.get("static_cost_exceeded").is_some() => Ok(()),
        (got, _, _) => Err(format!("{got:?} instead of {case}")),
    }
}

#[test]
fn unit_cases_compile() {
    let Some(file) = read("k8s-unit-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in cases(&file, "compile") {
        // Whether the schema was taken for a resource's root is not recorded.
        let outcomes = [true, false].map(|is_root| unit_compile(case, is_root));
        let [as_root, nested] = outcomes;
        tally.record(case["test"].as_str().unwrap_or_default(), nested.or(as_root));
    }
    tally.finish("unit cases, compiled");
}

fn unit_compile(case: &Json, is_root: bool) -> Result<(), String> {
    let schema = Schema::new(&case["schema"], "selfType", is_root);
    for (result, rule) in cases(case, "results").iter().zip(&schema.rules) {
        let text = rule["rule"].as_str().expect("a rule");
        let optional = rule["optionalOldSelf"] == true;
        if text.trim().is_empty() {
            continue;
        }
        match (compile(&schema, text, optional, &Type::Bool), result["error"].as_str()) {
            (Err(got), Some(wanted)) => same(&got, wanted)?,
            (Ok(got), None) => {
                let wanted = (result["maxCost"].as_u64(), result["usesOldSelf"].as_bool());
                if (Some(got.max_cost), Some(got.uses_old_self)) != wanted {
                    return Err(format!("{text}: {} instead of {result}", got.max_cost));
                }
                if Some(max_cardinality(&schema)) != result["maxCardinality"].as_u64() {
                    return Err(format!("{text}: cardinality {}", max_cardinality(&schema)));
                }
            }
            (Err(got), None) => return Err(format!("{text}: {got}")),
            (Ok(_), Some(wanted)) => return Err(format!("{text}: compiles, but wanted {wanted}")),
        }
        let Some(wanted) = result["messageExpressionMaxCost"].as_u64().filter(|cost| *cost > 0) else {
            continue;
        };
        let message = rule["messageExpression"].as_str().expect("a message expression");
        let got = compile(&schema, message, optional, &Type::String)?.max_cost;
        if got != wanted {
            return Err(format!("{message}: {got} instead of {wanted}"));
        }
    }
    Ok(())
}

#[test]
fn unit_cases_validate() {
    let Some(file) = read("k8s-unit-vectors.json") else { return };
    let mut tally = Tally::default();
    for case in cases(&file, "validate") {
        tally.record(case["test"].as_str().unwrap_or_default(), unit_validate(case));
    }
    tally.finish("unit cases, validated");
}

fn unit_validate(case: &Json) -> Result<(), String> {
    let schema = Schema::new(&case["schema"], "selfType", case["isResourceRoot"] == true);
    let mut run = Run::new(&schema, case);
    let texts = cases(case, "errors").iter().map(|error| error["error"].as_str().expect("text"));
    let mut wanted: Vec<String> = texts.map(without_times).collect();
    run.errors.sort();
    wanted.sort();
    if run.errors != wanted {
        return Err(format!("{}\n    got {:?}\n    wanted {wanted:?}", case["schema"], run.errors));
    }
    if Some(run.remaining) != case["remaining"].as_i64() {
        let rules = &case["schema"]["x-kubernetes-validations"];
        return Err(format!("remaining {} instead of {}: {rules}", run.remaining, case["remaining"]));
    }
    Ok(())
}
