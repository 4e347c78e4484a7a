//! Rules compiled at a node of a schema, and run on data.

use std::fmt::Write as _;

use cel::cost::estimate::estimate;
use cel::{EvalErrorKind, Evaluated, Outcome, Program, ProgramError, Type, Value};
use serde_json::Value as Json;

use super::schema::{Kind, REQUEST_BYTES, Schema, environment};

/// The cost at which one evaluation stops.
const CALL_LIMIT: u64 = 1_000_000;

/// A rule ready to run.
pub(crate) struct Rule {
    pub(crate) program: Program,
    pub(crate) max_cost: u64,
    pub(crate) uses_old_self: bool,
}

/// Compiles an expression; the error is what a definition is refused with.
pub(crate) fn compile(
    schema: &Schema,
    text: &str,
    optional_old_self: bool,
    result: &Type,
) -> Result<Rule, String> {
    let env = environment(schema, optional_old_self).ok_or("no type information")?;
    let failed = |issues: cel::Issues| format!("compilation failed: {issues}");
    let checked = env.compile(text).map_err(failed)?;
    env.validate(&checked).map_err(failed)?;
    if checked.result_type() != result {
        return Err(match result {
            Type::Bool => "cel expression must evaluate to a bool".to_owned(),
            _ => "messageExpression must evaluate to a string".to_owned(),
        });
    }
    let program = env.plan(&checked).map_err(|error| match error {
        ProgramError::Constant(error) => format!("program instantiation failed: {error}"),
        ProgramError::Issues(issues) => failed(issues),
    })?;
    let max_cost = estimate(&checked, &env, schema).max;
    Ok(Rule { program, max_cost, uses_old_self: checked.refers_to("oldSelf") })
}

/// How often a rule at this node runs at most, where nothing else bounds it.
pub(crate) fn max_cardinality(schema: &Schema) -> u64 {
    REQUEST_BYTES / (schema.min_size + 1)
}

/// The variables of a rule.
struct Variables<'a> {
    new: Evaluated<'a>,
    old: Option<Evaluated<'a>>,
}

impl<'a> cel::Activation<'a> for Variables<'a> {
    fn variable(&self, name: &str) -> Option<Evaluated<'a>> {
        match name {
            "self" => Some(self.new.clone()),
            "oldSelf" => self.old.clone(),
            _ => None,
        }
    }
}

/// A value and what it was before, if it was.
type Pair<'a> = (&'a Json, Option<&'a Json>);

/// What an object is compared with to see whether an error is old.
#[derive(Clone, Copy, Default)]
struct Correlation<'a> {
    current: Option<Pair<'a>>,
    parent: Option<Pair<'a>>,
}

impl<'a> Correlation<'a> {
    fn is_unchanged(self) -> bool {
        let same = |(new, old): Pair<'_>| old == Some(new);
        self.current.or(self.parent).is_some_and(same)
    }

    /// The correlation of a part; `None` when its earlier value cannot be told.
    fn child(self, part: Option<Pair<'a>>) -> Correlation<'a> {
        match self.current {
            None => self,
            current => Correlation { current: part, parent: current },
        }
    }
}

/// Runs all rules of a schema on an object.
pub(crate) struct Run {
    pub(crate) errors: Vec<String>,
    pub(crate) remaining: i64,
}

impl Run {
    pub(crate) fn new(schema: &Schema, case: &Json) -> Run {
        let mut run = Run { errors: Vec::new(), remaining: case["budget"].as_i64().expect("a budget") };
        let old = Some(&case["oldObj"]).filter(|old| !old.is_null());
        let object = &case["obj"];
        let mut correlation = Correlation::default();
        if case["ratcheting"] == true {
            correlation.current = Some((object, old));
        }
        let path = case["path"].as_str().expect("a path");
        run.node(schema, path, object, old, correlation);
        run
    }

    fn stop(&mut self, message: String) {
        self.errors.push(message);
        self.remaining = -1;
    }

    fn node(
        &mut self,
        schema: &Schema,
        path: &str,
        new: &Json,
        old: Option<&Json>,
        correlation: Correlation<'_>,
    ) {
        if new.is_null() || self.remaining < 0 {
            return;
        }
        self.rules(schema, path, new, old, correlation);
        for part in &schema.all_of {
            let correlation = Correlation { current: None, parent: correlation.parent };
            self.node(part, path, new, old, correlation);
        }
        match (&schema.kind, new) {
            (Kind::List { item: Some(item), list_type, keys }, Json::Array(items)) => {
                for (index, element) in items.iter().enumerate() {
                    let matching =
                        |candidate: &&Json| keys.iter().all(|key| candidate[&**key] == element[&**key]);
                    let is_keyed = list_type == "map";
                    let old_items = old.and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
                    let counterpart = old_items.iter().find(matching).filter(|_| is_keyed);
                    let correlation = correlation.child(is_keyed.then_some((element, counterpart)));
                    self.node(item, &format!("{path}[{index}]"), element, counterpart, correlation);
                }
            }
            (Kind::Map { value }, Json::Object(entries)) => {
                for (key, entry) in entries {
                    let counterpart = old.and_then(|old| old.get(key));
                    let correlation = correlation.child(Some((entry, counterpart)));
                    self.node(value, &format!("{path}[{key}]"), entry, counterpart, correlation);
                }
            }
            (Kind::Object { fields }, Json::Object(entries)) => {
                for (key, entry) in entries {
                    let Some(field) = fields.get(key) else { continue };
                    let counterpart = old.and_then(|old| old.get(key));
                    let is_type = correlation.parent.is_none() && (key == "apiVersion" || key == "kind");
                    let correlation = match correlation.current {
                        Some(_) if is_type => Correlation::default(),
                        _ => correlation.child(Some((entry, counterpart))),
                    };
                    self.node(field, &format!("{path}.{key}"), entry, counterpart, correlation);
                }
            }
            _ => {}
        }
    }

    fn rules(
        &mut self,
        schema: &Schema,
        path: &str,
        new: &Json,
        old: Option<&Json>,
        correlation: Correlation<'_>,
    ) {
        if schema.rules.is_empty() {
            return;
        }
        let kind = format!("{:?}", schema.type_name);
        let invalid = |what: String| format!("{path}: Invalid value: {kind}: {what}");
        if self.remaining <= 0 {
            return self.stop(invalid(
                "validation failed due to running out of cost budget, no further validation rules will be run"
                    .to_owned(),
            ));
        }
        let old = old.filter(|old| !old.is_null());
        for rule in &schema.rules {
            if self.remaining < 0 {
                return;
            }
            let text = rule["rule"].as_str().expect("a rule");
            let optional = rule["optionalOldSelf"] == true;
            let compiled = match compile(schema, text, optional, &Type::Bool) {
                Ok(compiled) => compiled,
                Err(error) => {
                    self.errors.push(invalid(format!("rule compile error: {error}")));
                    continue;
                }
            };
            if compiled.uses_old_self && old.is_none() && !optional {
                continue;
            }
            let message = rule["message"].as_str().unwrap_or_default().trim();
            let shown = if message.is_empty() { text.trim() } else { message };
            let variables = Variables { new: schema.value(new), old: old_self(schema, old, optional) };
            let Outcome { result, cost } = compiled.program.evaluate_within(CALL_LIMIT, &variables);
            let cost = i64::try_from(cost).unwrap_or(i64::MAX);
            if cost > self.remaining {
                return self.stop(invalid(
                    "validation failed due to running out of cost budget, no further validation rules will be run"
                        .to_owned(),
                ));
            }
            self.remaining -= cost;
            match result {
                Ok(Value::Bool(true)) => {}
                Ok(_) => self.failed(schema, path, new, rule, shown, &variables, correlation, &compiled),
                Err(error) if error.kind() == EvalErrorKind::CostLimit => {
                    return self.stop(invalid(format!(
                        "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
                    )));
                }
                Err(error) if error.message().starts_with("no such overload") => {
                    self.errors.push(invalid(format!(
                        "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
                    )));
                }
                Err(error) => self.errors.push(invalid(format!("{error} evaluating rule: {shown}"))),
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one call, and everything about the rule matters")]
    fn failed(
        &mut self,
        schema: &Schema,
        path: &str,
        new: &Json,
        rule: &Json,
        shown: &str,
        variables: &Variables<'_>,
        correlation: Correlation<'_>,
        compiled: &Rule,
    ) {
        let mut detail = match rule["message"].as_str() {
            Some(message) if !message.is_empty() => message.trim().to_owned(),
            _ => format!("failed rule: {shown}"),
        };
        let path = field_path(path, rule["fieldPath"].as_str().unwrap_or_default());
        if let Some(expression) = rule["messageExpression"].as_str()
            && let Ok(message) = compile(schema, expression, rule["optionalOldSelf"] == true, &Type::String)
        {
            let Outcome { result, cost } = message.program.evaluate_within(CALL_LIMIT, variables);
            let cost = i64::try_from(cost).unwrap_or(i64::MAX);
            let kind = &schema.type_name;
            if cost > self.remaining {
                return self.stop(format!(
                    "{path}: Invalid value: {kind:?}: messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
                ));
            }
            if matches!(&result, Err(error) if error.kind() == EvalErrorKind::CostLimit) {
                return self.stop(format!(
                    "{path}: Invalid value: {kind:?}: no further validation rules will be run due to call cost exceeds limit for messageExpression: {expression:?}"
                ));
            }
            self.remaining -= cost;
            if let Ok(Value::String(text)) = result
                && usable_message(&text)
            {
                text.trim().clone_into(&mut detail);
            }
        }
        if !compiled.uses_old_self && correlation.is_unchanged() {
            return;
        }
        let value = match new {
            Json::Object(_) | Json::Array(_) => String::new(),
            scalar => format!(": {scalar}"),
        };
        self.errors.push(match rule["reason"].as_str() {
            Some("FieldValueForbidden") => format!("{path}: Forbidden: {detail}"),
            Some("FieldValueRequired") => format!("{path}: Required value: {detail}"),
            Some("FieldValueDuplicate") => format!("{path}: Duplicate value{value}"),
            _ => format!("{path}: Invalid value{value}: {detail}"),
        });
    }
}

fn old_self<'a>(schema: &'a Schema, old: Option<&'a Json>, optional: bool) -> Option<Evaluated<'a>> {
    let value = old.map(|old| schema.value(old));
    if !optional {
        return value;
    }
    Some(match value {
        None => Ok(Value::NONE),
        Some(value) => value.map(Value::some),
    })
}

fn usable_message(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.len() <= 5120 && !text.contains('\n')
}

/// Adds a rule's field path, given as `.a['b']`.
fn field_path(path: &str, field: &str) -> String {
    let mut out = path.to_owned();
    let mut rest = field;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("['") {
            let (key, tail) = after.split_once("']").unwrap_or((after, ""));
            let _ = write!(out, ".{key}");
            rest = tail;
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let _ = write!(out, ".{}", &after[..end]);
            rest = &after[end..];
        }
    }
    out
}
