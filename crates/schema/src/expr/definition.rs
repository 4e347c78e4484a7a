//! What is wrong with the rules of a definition: expressions that do not compile, that cost too much, that compare
//! with something that cannot be told.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and `cel_validation.go`, v1.36.

use meta::{FieldError, FieldPath, Value};

use super::compile::{Compiled, compile};
use super::host::{Level, is_visible};
use super::messages;
use super::types::{Declaration, count};
use crate::structural::{Node, Rule, Types};

/// What one rule may cost, as often as it can run, or one message expression once.
const RULE_COST_LIMIT: u64 = 10_000_000;

/// What all rules of a schema may cost together.
const SCHEMA_COST_LIMIT: u64 = 100_000_000;

/// How many of the most expensive rules are named when all together cost too much.
const NAMED_MAX: usize = 4;

/// What a definition's rules cost, as far as they were looked at.
#[derive(Debug, Default)]
pub(crate) struct TotalCost {
    total: u64,
    /// The most expensive first.
    most_expensive: Vec<(String, u64)>,
}

impl TotalCost {
    fn add(&mut self, path: &FieldPath<'_>, cost: u64) {
        self.total = self.total.saturating_add(cost);
        if cost < SCHEMA_COST_LIMIT / 100 {
            return;
        }
        self.most_expensive.push((path.to_string(), cost));
        self.most_expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        self.most_expensive.truncate(NAMED_MAX);
    }

    /// The errors about a schema at `path` whose rules together cost too much.
    pub(crate) fn judge(self, path: &FieldPath<'_>) -> Vec<FieldError> {
        if self.total <= SCHEMA_COST_LIMIT {
            return Vec::new();
        }
        let contributed =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let named = self
            .most_expensive
            .into_iter()
            .map(|(field, _)| FieldError { field, ..FieldError::forbidden(&FieldPath::ROOT, contributed) });
        let subject = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let detail = messages::exceeds_budget(subject, self.total, SCHEMA_COST_LIMIT);
        named.chain([FieldError::forbidden(path, detail)]).collect()
    }
}

/// A schema on the way through a definition, with what its place means for rules.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'n> {
    node: &'n Node,
    level: Level,
    /// How many values there can be; `None` when nothing says.
    cardinality: Option<u64>,
    /// Whether this schema or one around it has rules.
    has_rules: bool,
    /// Whether expressions cannot see this schema, or one around it that has rules or is inside of one that has.
    is_hidden: bool,
}

impl<'n> Scope<'n> {
    pub(crate) fn root(node: &'n Node) -> Self {
        let outer =
            Scope { node, level: Level::Root, cardinality: Some(1), has_rules: false, is_hidden: false };
        outer.enter(node, Level::Root, Some(1))
    }

    pub(crate) fn property(self, name: &str) -> Option<Self> {
        self.node.property(name).map(|node| self.inner(node))
    }

    pub(crate) fn additional(self) -> Option<Self> {
        self.node.additional.schema().map(|node| self.inner(node))
    }

    pub(crate) fn items(self) -> Option<Self> {
        self.node.items.as_ref().map(|node| self.inner(node))
    }

    fn inner(self, node: &'n Node) -> Self {
        let times = self.cardinality.zip(max_children(self.node));
        self.enter(node, Level::Inner, times.map(|(outer, own)| outer.saturating_mul(own)))
    }

    fn enter(self, node: &'n Node, level: Level, cardinality: Option<u64>) -> Self {
        let has_rules = self.has_rules || !node.rules.is_empty();
        let is_hidden = self.is_hidden || (has_rules && !is_visible(node, level));
        Scope { node, level, cardinality, has_rules, is_hidden }
    }

    /// Judges the rules of this schema, which is at `path`.
    pub(crate) fn check(
        self,
        path: &FieldPath<'_>,
        terms: &Terms<'_>,
        total: &mut TotalCost,
    ) -> Vec<FieldError> {
        let path = path.field("x-kubernetes-validations");
        let declaration = if self.is_hidden { None } else { Declaration::of(self.node, self.level) };
        let Some(declaration) = declaration else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            return vec![FieldError::internal(&path, detail)];
        };
        let times = self.cardinality.unwrap_or_else(|| declaration.max_cardinality());
        let mut errors = Vec::new();
        let compiled = compile(self.node, &declaration);
        for (index, (rule, compiled)) in self.node.rules.iter().zip(&compiled).enumerate() {
            let path = path.index(index);
            judge_rule(rule, compiled, times, &path, terms, total, &mut errors);
            judge_message(rule, compiled, &path, terms, total, &mut errors);
            judge_old_self(rule, compiled, &path, terms, &mut errors);
        }
        errors
    }
}

/// What else decides about rules.
pub(crate) struct Terms<'p> {
    /// The schema around, if any, inside of which old values cannot be told.
    pub(crate) uncorrelatable: Option<&'p FieldPath<'p>>,
    /// The schema is as it was, and its single rules may cost what they cost.
    pub(crate) is_unchanged: bool,
}

/// How many values a value holds at most under each schema inside.
fn max_children(node: &Node) -> Option<u64> {
    let limits = node.checks.as_deref();
    match node.declared_types {
        Types::OBJECT if node.additional.is_specified() => limits?.sizes().max_properties.map(count),
        Types::ARRAY => limits?.sizes().max_items.map(count),
        _ => Some(1),
    }
}

fn judge_rule(
    rule: &Rule,
    compiled: &Compiled,
    times: u64,
    path: &FieldPath<'_>,
    terms: &Terms<'_>,
    total: &mut TotalCost,
    errors: &mut Vec<FieldError>,
) {
    let path = path.field("rule");
    let cost = compiled.max_cost.saturating_mul(times);
    judge_cost("estimated rule cost", cost, &path, terms, total, errors);
    if let Err(detail) = &compiled.program {
        errors.push(FieldError::invalid(&path, Value::Null, detail).shown_as(messages::printed(rule)));
    }
}

fn judge_message(
    rule: &Rule,
    compiled: &Compiled,
    path: &FieldPath<'_>,
    terms: &Terms<'_>,
    total: &mut TotalCost,
    errors: &mut Vec<FieldError>,
) {
    let path = path.field("messageExpression");
    match &compiled.message {
        None => {}
        Some(Ok(_)) => {
            let subject = "estimated messageExpression cost";
            judge_cost(subject, compiled.message_max_cost, &path, terms, total, errors);
        }
        Some(Err(detail)) => {
            errors.push(FieldError::invalid(&path, Value::Null, detail).shown_as(messages::printed(rule)));
        }
    }
}

fn judge_cost(
    subject: &str,
    cost: u64,
    path: &FieldPath<'_>,
    terms: &Terms<'_>,
    total: &mut TotalCost,
    errors: &mut Vec<FieldError>,
) {
    if cost > RULE_COST_LIMIT && !terms.is_unchanged {
        let detail = messages::exceeds_budget(subject, cost, RULE_COST_LIMIT);
        errors.push(FieldError::forbidden(path, detail));
    }
    total.add(path, cost);
}

fn judge_old_self(
    rule: &Rule,
    compiled: &Compiled,
    path: &FieldPath<'_>,
    terms: &Terms<'_>,
    errors: &mut Vec<FieldError>,
) {
    match (compiled.uses_old_self, terms.uncorrelatable, rule.optional_old_self) {
        (true, Some(within), _) => {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {within}");
            errors.push(FieldError::invalid(&path.field("rule"), rule.rule.as_str(), detail));
        }
        (false, _, Some(optional)) => {
            let detail = "may not be set if oldSelf is not used in rule";
            errors.push(FieldError::invalid(&path.field("optionalOldSelf"), optional, detail));
        }
        _ => {}
    }
}
