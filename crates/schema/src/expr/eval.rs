//! Running the rules of a schema on an object.
//!
//! The walk goes only where rules are. On an update each value has beside it the old one that it corresponds to:
//! rules about changes need it, and the failures of other rules are forgiven where nothing changed.
//!
//! Bound: one evaluation costs at most [`CALL_LIMIT`], all of an object together [`OBJECT_BUDGET`]; the first to
//! exceed its limit is the last to run.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, v1.36.

use cel::{Activation, EvalErrorKind, Evaluated, Outcome, Program, Value as Cel};
use meta::{FieldError, FieldPath, Value};

use super::compile::Compiled;
use super::host::{Level, RootView, is_visible, read};
use super::messages;
use crate::ratchet::{OldItems, unchanged};
use crate::structural::{Facts, Node, Rule};

/// What one evaluation may cost.
const CALL_LIMIT: u64 = 1_000_000;

/// What all evaluations for one object may cost together.
pub(crate) const OBJECT_BUDGET: i64 = 10_000_000;

/// What the rules found.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) errors: Vec<FieldError>,
    /// Failures that are forgiven because nothing changed.
    pub(crate) warnings: Vec<String>,
    /// What is left of the budget; negative when it was used up.
    pub(crate) remaining: i64,
}

/// A value to judge.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) node: &'a Node,
    pub(crate) level: Level,
    pub(crate) new: &'a Value,
    /// What the value was, as far as that can be told.
    pub(crate) old: Option<&'a Value>,
}

/// Whether failures are forgiven where nothing changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ratcheting {
    Off,
    On,
}

/// Runs the rules of a value and of everything in it.
pub(crate) fn run(
    subject: Subject<'_>,
    path: &FieldPath<'_>,
    ratcheting: Ratcheting,
    budget: i64,
) -> Verdict {
    let mut run = Run { verdict: Verdict { remaining: budget, ..Verdict::default() } };
    let mut correlation = Correlation::default();
    if ratcheting == Ratcheting::On
        && let Some(old) = subject.old
    {
        correlation.current = Some(Pair { node: subject.node, new: subject.new, old });
    }
    run.value(subject, path, correlation);
    run.verdict
}

/// A value and the one it corresponds to.
#[derive(Clone, Copy)]
struct Pair<'a> {
    node: &'a Node,
    new: &'a Value,
    old: &'a Value,
}

/// What decides whether a failure is an old one: the value itself, or the nearest one around it that corresponds to
/// an old value.
#[derive(Clone, Copy, Default)]
struct Correlation<'a> {
    current: Option<Pair<'a>>,
    parent: Option<Pair<'a>>,
}

impl<'a> Correlation<'a> {
    fn is_unchanged(self) -> bool {
        self.current.or(self.parent).is_some_and(|pair| unchanged(pair.node, pair.new, pair.old))
    }

    /// The correlation of a member. Changes of what an object is cannot be seen: both are of the same version.
    fn member(self, name: &str) -> Correlation<'a> {
        let Some(current) = self.current else { return self };
        if self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Correlation::default();
        }
        let member = || {
            let (new, old) = (current.new.get(name)?, current.old.get(name)?);
            Some(Pair { node: current.node.member(name)?, new, old })
        };
        Correlation { current: member(), parent: Some(current) }
    }

    fn item(self, new: &'a Value, old: Option<&'a Value>) -> Correlation<'a> {
        let Some(current) = self.current else { return self };
        let item = || Some(Pair { node: current.node.items.as_deref()?, new, old: old? });
        Correlation { current: item(), parent: Some(current) }
    }
}

struct Run {
    verdict: Verdict,
}

impl Run {
    fn is_over(&self) -> bool {
        self.verdict.remaining < 0
    }

    fn stop(&mut self, error: FieldError) {
        self.verdict.errors.push(error);
        self.verdict.remaining = -1;
    }

    fn value<'a>(&mut self, subject: Subject<'a>, path: &FieldPath<'_>, correlation: Correlation<'a>) {
        let Subject { node, new, .. } = subject;
        if !node.facts.has(Facts::RULES) || new.is_null() || self.is_over() {
            return;
        }
        if !node.rules.is_empty() {
            self.rules(subject, path, correlation);
        }
        match new {
            Value::Object(_) => self.members(subject, path, correlation),
            Value::Array(items) => self.items(subject, items, path, correlation),
            _ => {}
        }
    }

    fn members<'a>(&mut self, subject: Subject<'a>, path: &FieldPath<'_>, correlation: Correlation<'a>) {
        let Subject { node, new, old, .. } = subject;
        let Some(members) = new.as_object() else { return };
        let inner = |node, name: &str, new| Subject {
            node,
            level: Level::Inner,
            new,
            old: old.and_then(|old| old.get(name)),
        };
        if let Some(values) = node.additional.schema()
            && values.facts.has(Facts::RULES)
        {
            for (name, value) in members.iter() {
                self.value(inner(values, name, value), &path.key(name), correlation.member(name));
            }
        }
        // The reference does not look below what expressions cannot see.
        if node.properties.is_empty() || !is_visible(node, subject.level) {
            return;
        }
        for (name, value) in members.iter() {
            let Some(property) = node.property(name) else { continue };
            if property.facts.has(Facts::RULES) && is_visible(property, Level::Inner) {
                self.value(inner(property, name, value), &path.field(name), correlation.member(name));
            }
        }
    }

    fn items<'a>(
        &mut self,
        subject: Subject<'a>,
        items: &'a [Value],
        path: &FieldPath<'_>,
        correlation: Correlation<'a>,
    ) {
        let Some(node) = subject.node.items.as_deref().filter(|node| node.facts.has(Facts::RULES)) else {
            return;
        };
        let old_items = OldItems::new(subject.node, subject.old);
        for (index, item) in items.iter().enumerate() {
            let old = old_items.find(item);
            let subject = Subject { node, level: Level::Inner, new: item, old };
            self.value(subject, &path.index(index), correlation.item(item, old));
        }
    }

    fn rules(&mut self, subject: Subject<'_>, path: &FieldPath<'_>, correlation: Correlation<'_>) {
        let Subject { node, level, new, old } = subject;
        let Some(programs) = node.rules.programs(node, level) else {
            self.verdict.errors.push(messages::evaluation_error(path, node, messages::NO_TYPE));
            return;
        };
        if self.verdict.remaining <= 0 {
            return self.stop(messages::evaluation_error(path, node, messages::OUT_OF_BUDGET));
        }
        let root = RootView::of(node);
        let value = |data| match level {
            Level::Root => root.read(data),
            Level::Inner => read(node, data),
        };
        let values = Values {
            new: value(new),
            // The variable is only there for nodes with rules that use it.
            old: match old.filter(|old| !old.is_null()) {
                Some(old) if programs.iter().any(|compiled| compiled.uses_old_self) => Some(value(old)),
                _ => None,
            },
        };
        let place = Place { node, path, new, correlation };
        for (rule, compiled) in node.rules.iter().zip(programs) {
            self.rule(place, rule, compiled, &values);
            if self.is_over() {
                return;
            }
        }
    }

    fn rule<'v>(
        &mut self,
        place: Place<'_, '_>,
        rule: &'v Rule,
        compiled: &'v Compiled,
        values: &Values<'v>,
    ) {
        let Place { node, path, .. } = place;
        let program = match &compiled.program {
            Ok(Some(program)) => program,
            Ok(None) => return,
            Err(error) => {
                let detail = format!("rule compile error: {error}");
                self.verdict.errors.push(messages::evaluation_error(path, node, detail));
                return;
            }
        };
        let is_optional = rule.optional_old_self == Some(true);
        if compiled.uses_old_self && values.old.is_none() && !is_optional {
            return;
        }
        let Outcome { result, cost } = if is_optional {
            program.evaluate_within(CALL_LIMIT, &OptionalOld(values))
        } else {
            program.evaluate_within(CALL_LIMIT, values)
        };
        if !self.charge(cost) {
            return self.stop(messages::evaluation_error(path, node, messages::OUT_OF_BUDGET));
        }
        match result {
            Ok(Cel::Bool(true)) => {}
            Ok(_) => self.violated(place, rule, compiled, values),
            Err(error) => {
                let found = messages::evaluation_error(path, node, messages::failed_evaluation(&error, rule));
                match error.kind() {
                    EvalErrorKind::CostLimit => self.stop(found),
                    EvalErrorKind::Expression => self.verdict.errors.push(found),
                }
            }
        }
    }

    /// Takes a cost from the budget; false when there is not enough left.
    fn charge(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.verdict.remaining => {
                self.verdict.remaining -= cost;
                true
            }
            _ => false,
        }
    }

    fn violated<'v>(
        &mut self,
        place: Place<'_, '_>,
        rule: &'v Rule,
        compiled: &'v Compiled,
        values: &Values<'v>,
    ) {
        let blamed = compiled.field_path.as_deref().map(|field| place.path.field(field));
        let path = blamed.as_ref().unwrap_or(place.path);
        let is_old = !compiled.uses_old_self && place.correlation.is_unchanged();
        let made = match &compiled.message {
            Some(Ok(program)) => self.message(program, rule, values),
            _ => Ok(None),
        };
        let error = match made {
            Ok(made) => {
                let detail = made.unwrap_or_else(|| messages::plain_message(rule));
                messages::violation(path, place.node, place.new, detail, rule)
            }
            Err(problem) => {
                self.verdict.remaining = -1;
                messages::evaluation_error(path, place.node, problem)
            }
        };
        if is_old {
            self.verdict.warnings.push(error.to_string());
        } else {
            self.verdict.errors.push(error);
        }
    }

    /// The message that an expression makes, if it makes one; the error ends all rules. Even for rules with an
    /// optional old value, the expression gets it as it is.
    fn message<'v>(
        &mut self,
        program: &'v Program,
        rule: &Rule,
        values: &Values<'v>,
    ) -> Result<Option<String>, String> {
        let Outcome { result, cost } = program.evaluate_within(CALL_LIMIT, values);
        if !self.charge(cost) {
            return Err(messages::MESSAGE_OUT_OF_BUDGET.to_owned());
        }
        match result {
            Err(error) if error.kind() == EvalErrorKind::CostLimit => {
                Err(messages::costly_message(&rule.message_expression))
            }
            Ok(Cel::String(made)) => Ok(messages::usable_message(&made).map(str::to_owned)),
            _ => Ok(None),
        }
    }
}

/// Where rules run.
#[derive(Clone, Copy)]
struct Place<'p, 'a> {
    node: &'a Node,
    path: &'p FieldPath<'p>,
    new: &'a Value,
    correlation: Correlation<'a>,
}

/// `self` and `oldSelf`.
struct Values<'a> {
    new: Evaluated<'a>,
    old: Option<Evaluated<'a>>,
}

impl<'a> Activation<'a> for Values<'a> {
    fn variable(&self, name: &str) -> Option<Evaluated<'a>> {
        match name {
            "self" => Some(self.new.clone()),
            "oldSelf" => self.old.clone(),
            _ => None,
        }
    }
}

/// `self`, and `oldSelf` as an optional value.
struct OptionalOld<'v, 'a>(&'v Values<'a>);

impl<'a> Activation<'a> for OptionalOld<'_, 'a> {
    fn variable(&self, name: &str) -> Option<Evaluated<'a>> {
        match (name, &self.0.old) {
            ("oldSelf", None) => Some(Ok(Cel::NONE)),
            ("oldSelf", Some(old)) => Some(old.clone().map(Cel::some)),
            _ => self.0.variable(name),
        }
    }
}
