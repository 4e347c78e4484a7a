//! Rules through their whole life: in a definition, and on objects.

mod definitions;
mod hostile;
mod objects;
mod vectors;

use meta::Value;

use crate::expr::Level;
use crate::expr::eval::{OBJECT_BUDGET, Ratcheting, Subject, Verdict, run};
use crate::structural::Schema;
use crate::testing::{schema, value};

/// A schema that has `properties` and rules on the whole.
fn with_rules(properties: &str, rules: &[&str]) -> Schema {
    let rules: Vec<String> = rules.iter().map(|rule| format!(r#"{{"rule": {}}}"#, quoted(rule))).collect();
    let rules = rules.join(", ");
    schema(&format!(
        r#"{{"type": "object", "properties": {{{properties}}}, "x-kubernetes-validations": [{rules}]}}"#
    ))
}

fn quoted(text: &str) -> String {
    meta::wire::json::to_string(&text.into())
}

/// What the rules of a schema say of an object.
fn judge(schema: &Schema, new: &Value, old: Option<&Value>) -> Verdict {
    let subject = Subject { node: &schema.root, level: Level::Root, new, old };
    run(subject, &meta::FieldPath::ROOT, Ratcheting::On, OBJECT_BUDGET)
}

/// The errors and warnings of an object, one in a line.
fn told(schema: &Schema, new: &str, old: Option<&str>) -> String {
    let old = old.map(value);
    let verdict = judge(schema, &value(new), old.as_ref());
    let errors = verdict.errors.iter().map(ToString::to_string);
    let warnings = verdict.warnings.iter().map(|warning| format!("warning: {warning}"));
    errors.chain(warnings).collect::<Vec<_>>().join("\n")
}
