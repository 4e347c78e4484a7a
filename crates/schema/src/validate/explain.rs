//! The thorough walk: everything that is wrong with a value, in the reference's words and order.
//!
//! Members of objects are visited in the order of their names, where the reference has none.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use meta::wire::json;
use meta::{ErrorType, FieldError, FieldPath, Map, Value, go_fmt};

use super::Purpose;
use super::checks::{
    Compared, Range, enum_contains, format_for, has_duplicates, is_above, is_below, is_too_long,
    is_too_short, text_format, type_mismatch, types_for,
};
use crate::ratchet;
use crate::structural::{Additional, Bound, Checks, Combined, Enum, Node, NumberChecks};

/// What an error of an object as a whole, or of several fields together, has for a field.
const NO_FIELD: &str = "<nil>";

pub(super) fn explain(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    prefix: &str,
    purpose: Purpose,
) -> Vec<FieldError> {
    let mut walk = Walk { path: String::new(), prefix, purpose };
    let outcome = walk.ratcheted(node, value, old);
    // The reference keeps equal messages once, whichever checks they come from.
    let mut seen = HashSet::new();
    let unique = outcome.failures.into_iter().filter(|failure| seen.insert(failure.message.clone()));
    unique.map(|failure| failure.error).collect()
}

struct Failure {
    /// The text by which the reference tells failures apart.
    message: String,
    error: FieldError,
}

/// The failures of a value and how many checks it passed, as the reference counts them.
#[derive(Default)]
struct Outcome {
    failures: Vec<Failure>,
    passed: usize,
}

impl Outcome {
    fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    fn add(&mut self, mut other: Outcome) {
        self.failures.append(&mut other.failures);
        self.passed += other.passed;
    }
}

struct Walk<'p> {
    /// From the value that is validated, in the reference's spelling: `spec.list[0].name`, a leading dot for some.
    path: String,
    prefix: &'p str,
    purpose: Purpose,
}

impl Walk<'_> {
    /// Validates a value and forgives it when it is what it was.
    fn ratcheted(&mut self, node: &Node, value: &Value, old: Option<&Value>) -> Outcome {
        let mut outcome = self.value(node, value, old);
        if !outcome.is_valid() && old.is_some_and(|old| ratchet::unchanged(node, value, old)) {
            outcome.failures.clear();
        }
        outcome
    }

    fn value(&mut self, node: &Node, value: &Value, old: Option<&Value>) -> Outcome {
        let mut outcome = Outcome::default();
        let checks = node.checks.as_deref();
        let types = types_for(node, self.purpose);
        if let Value::Null = value {
            self.null(node, checks, &mut outcome);
            return outcome;
        }
        let format = format_for(checks, self.purpose);
        if !types.is_empty() || !format.is_empty() {
            match type_mismatch(types, format, value) {
                Some(mismatch) => outcome.failures.push(self.wrong_type(mismatch.expected, mismatch.found)),
                None => outcome.passed += 1,
            }
            outcome.passed += 1;
        }
        if let Some(combined) = checks.and_then(|checks| checks.combined.as_deref()) {
            self.combinations(combined, value, &mut outcome);
        }
        outcome.passed += 2;
        match value {
            Value::String(text) => self.text(checks, text, &mut outcome),
            Value::Int(_) | Value::Float(_) => {
                self.number(checks, Range::of(types, format), (types.spelled(), format), value, &mut outcome);
            }
            Value::Array(items) => self.items(node, checks, items, old, &mut outcome),
            _ => {}
        }
        if let Some(values) = checks.and_then(|checks| checks.one_of_values.as_ref()) {
            self.one_of_values(values, value, &mut outcome);
        }
        outcome.passed += 1;
        if let Value::Object(map) = value {
            self.members(node, checks, map, old, &mut outcome);
            outcome.passed += 1;
        }
        outcome.passed += 1;
        outcome
    }

    fn null(&mut self, node: &Node, checks: Option<&Checks>, outcome: &mut Outcome) {
        let types = types_for(node, self.purpose);
        if types.is_empty() || node.nullable {
            outcome.passed += 1;
        } else {
            outcome.failures.push(self.wrong_type(types.spelled(), "null"));
        }
        if let Some(values) = checks.and_then(|checks| checks.one_of_values.as_ref()) {
            outcome.failures.push(self.not_in(values, &Value::Null));
        }
    }

    fn combinations(&mut self, combined: &Combined, value: &Value, outcome: &mut Outcome) {
        if !combined.any_of.is_empty() {
            self.any_of(&combined.any_of, value, outcome);
        }
        if !combined.one_of.is_empty() {
            self.one_of(&combined.one_of, value, outcome);
        }
        if !combined.all_of.is_empty() {
            self.all_of(&combined.all_of, value, outcome);
        }
        if let Some(node) = &combined.not
            && self.value(node, value, None).is_valid()
        {
            outcome.failures.push(self.whole("must not validate the schema (not)"));
        }
    }

    fn any_of(&mut self, nodes: &[Arc<Node>], value: &Value, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for node in nodes {
            let alternative = self.value(node, value, None);
            if alternative.is_valid() {
                outcome.add(alternative);
                return;
            }
            if best.as_ref().is_none_or(|best| alternative.passed > best.passed) {
                best = Some(alternative);
            }
        }
        outcome.failures.push(self.whole("must validate at least one schema (anyOf)"));
        outcome.add(best.unwrap_or_default());
    }

    fn one_of(&mut self, nodes: &[Arc<Node>], value: &Value, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        let mut first: Option<Outcome> = None;
        let mut valid = 0;
        for node in nodes {
            let alternative = self.value(node, value, None);
            if alternative.is_valid() {
                valid += 1;
                first.get_or_insert(alternative);
            } else if best.as_ref().is_none_or(|best| alternative.passed > best.passed) {
                best = Some(alternative);
            }
        }
        match valid {
            0 => {
                outcome
                    .failures
                    .push(self.whole("must validate one and only one schema (oneOf). Found none valid"));
                outcome.add(best.unwrap_or_default());
            }
            1 => outcome.add(first.unwrap_or_default()),
            _ => outcome.failures.push(self.whole(&format!(
                "must validate one and only one schema (oneOf). Found {valid} valid alternatives"
            ))),
        }
    }

    fn all_of(&mut self, nodes: &[Arc<Node>], value: &Value, outcome: &mut Outcome) {
        let mut valid = 0;
        for node in nodes {
            let part = self.value(node, value, None);
            valid += usize::from(part.is_valid());
            outcome.add(part);
        }
        if valid != nodes.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.failures.push(self.whole(&format!("must validate all the schemas (allOf){none}")));
        }
    }

    /// Only the first of the checks of length and pattern is reported.
    fn text(&mut self, checks: Option<&Checks>, text: &str, outcome: &mut Outcome) {
        outcome.passed += 1;
        let Some(checks) = checks else {
            return;
        };
        if let Some(limit) = checks.sizes().max_length.filter(|limit| is_too_long(text, *limit)) {
            let message = self.in_body(&format!("should be at most {limit} chars long"));
            outcome.failures.push(self.failure(ErrorType::TooLong, Value::Null, message, &too_long(limit)));
        } else if let Some(limit) = checks.sizes().min_length.filter(|limit| is_too_short(text, *limit)) {
            outcome
                .failures
                .push(self.invalid(text.into(), &format!("should be at least {limit} chars long")));
        } else if let Some(pattern) = checks.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            let shown = match pattern.broken() {
                Some(error) => format!("{}, but pattern is invalid: {error}", pattern.source),
                None => pattern.source.to_string(),
            };
            outcome.failures.push(self.invalid(text.into(), &format!("should match '{shown}'")));
        }
        if let Some(rule) = text_format(checks, self.purpose) {
            outcome.passed += 1;
            if !rule(text) {
                let spelled = &checks.format_as_written;
                outcome.failures.push(self.wrong_type(spelled, text));
            }
        }
    }

    fn number(
        &mut self,
        checks: Option<&Checks>,
        range: Range,
        (type_name, format): (&str, &str),
        value: &Value,
        outcome: &mut Outcome,
    ) {
        outcome.passed += 2;
        let suffix = match format {
            "" => format!("{type_name} (default format) in {}", self.path),
            format => format!("{type_name} with format {format} in {}", self.path),
        };
        let prefix = self.prefix;
        let out_of_range = |what: &str| plain(prefix, format!("{what} value must be of type {suffix}"));
        if !range.holds_value(value) {
            outcome.failures.push(out_of_range("Checked"));
        }
        let Some(checks) = checks else {
            return;
        };
        let NumberChecks { maximum, minimum, multiple_of } = checks.numbers();
        if let Some(factor) = multiple_of {
            if !range.holds(factor) {
                outcome.failures.push(out_of_range("MultipleOf"));
            }
            self.multiple_of(Compared::new(value, factor, range), outcome);
        }
        if let Some(Bound { limit, exclusive }) = minimum {
            if !range.holds(limit) {
                outcome.failures.push(out_of_range("Minimum boundary"));
            }
            let compared = Compared::new(value, limit, range);
            if compared.falls_short(exclusive) {
                let words = if exclusive { "greater than" } else { "greater than or equal to" };
                outcome.failures.push(self.beyond(words, compared));
            }
        }
        if let Some(Bound { limit, exclusive }) = maximum {
            if !range.holds(limit) {
                outcome.failures.push(out_of_range("Maximum boundary"));
            }
            let compared = Compared::new(value, limit, range);
            if compared.exceeds(exclusive) {
                let words = if exclusive { "less than" } else { "less than or equal to" };
                outcome.failures.push(self.beyond(words, compared));
            }
        }
    }

    fn multiple_of(&mut self, compared: Compared, outcome: &mut Outcome) {
        let (value, limit) = parts(compared);
        if !compared.has_positive_limit() {
            let message =
                format!("factor MultipleOf declared for {} must be positive: {}", self.path, shown(&limit));
            let detail = message.clone();
            outcome.failures.push(self.failure(ErrorType::Invalid, limit, message, &detail));
        } else if !compared.is_multiple() {
            outcome.failures.push(self.invalid(value, &format!("should be a multiple of {}", shown(&limit))));
        }
    }

    fn beyond(&self, words: &str, compared: Compared) -> Failure {
        let (value, limit) = parts(compared);
        self.invalid(value, &format!("should be {words} {}", shown(&limit)))
    }

    fn items(
        &mut self,
        node: &Node,
        checks: Option<&Checks>,
        items: &[Value],
        old: Option<&Value>,
        outcome: &mut Outcome,
    ) {
        if let Some(schema) = &node.items {
            let old = ratchet::OldItems::new(node, old);
            for (index, item) in items.iter().enumerate() {
                let length = self.path.len();
                write!(self.path, "[{index}]").expect("writing to a String never fails");
                outcome.add(self.ratcheted(schema, item, old.find(item)));
                self.path.truncate(length);
            }
        }
        outcome.passed += 2;
        let Some(checks) = checks else {
            return;
        };
        if let Some(limit) = checks.sizes().min_items.filter(|limit| is_below(items.len(), Some(*limit))) {
            outcome
                .failures
                .push(self.invalid(count(items.len()), &format!("should have at least {limit} items")));
        }
        if let Some(limit) = checks.sizes().max_items.filter(|limit| is_above(items.len(), Some(*limit))) {
            let message = self.in_body(&format!("should have at most {limit} items"));
            outcome.failures.push(self.too_many(items.len(), limit, message));
        }
        if checks.unique_items && has_duplicates(items) {
            outcome.failures.push(self.invalid("".into(), "shouldn't contain duplicates"));
        }
    }

    fn one_of_values(&mut self, values: &Enum, value: &Value, outcome: &mut Outcome) {
        if !enum_contains(values, value) {
            outcome.failures.push(self.not_in(values, value));
        }
    }

    fn members(
        &mut self,
        node: &Node,
        checks: Option<&Checks>,
        map: &Map,
        old: Option<&Value>,
        outcome: &mut Outcome,
    ) {
        let min = checks.and_then(|checks| checks.sizes().min_properties);
        if let Some(limit) = min.filter(|limit| is_below(map.len(), Some(*limit))) {
            outcome
                .failures
                .push(self.invalid(count(map.len()), &format!("should have at least {limit} properties")));
        }
        let max = checks.and_then(|checks| checks.sizes().max_properties);
        if let Some(limit) = max.filter(|limit| is_above(map.len(), Some(*limit))) {
            let message = self.in_body(&format!("should have at most {limit} properties"));
            outcome.failures.push(self.too_many(map.len(), limit, message));
        }
        self.undeclared(node, map, old, outcome);
        for (name, schema) in &node.properties {
            let Some(value) = map.get(name) else {
                continue;
            };
            // The type of the object itself cannot be seen to change: both versions were converted to it.
            let is_type = self.path.is_empty() && matches!(name.as_str(), "kind" | "apiVersion");
            let old = old.and_then(|old| old.get(name)).filter(|_| !is_type);
            let length = self.path.len();
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            outcome.add(self.ratcheted(schema, value, old));
            self.path.truncate(length);
        }
        let required = checks.map_or(&[][..], |checks| &checks.required);
        for name in required.iter().filter(|name| !map.contains_key(name)) {
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(name);
            let message = self.in_body("is required");
            outcome.failures.push(self.failure(ErrorType::Required, Value::Null, message, ""));
            self.path.truncate(length);
        }
    }

    fn undeclared(&mut self, node: &Node, map: &Map, old: Option<&Value>, outcome: &mut Outcome) {
        if !matches!(node.additional, Additional::Denied | Additional::Schema(_)) {
            return;
        }
        for (name, value) in map.iter().filter(|(name, _)| node.property(name).is_none()) {
            let Additional::Schema(schema) = &node.additional else {
                let message = format!("{}.{name} in body is a forbidden property", self.path);
                let detail = message.clone();
                outcome.failures.push(self.failure(ErrorType::Invalid, name.into(), message, &detail));
                continue;
            };
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(name);
            outcome.add(self.ratcheted(schema, value, old.and_then(|old| old.get(name))));
            self.path.truncate(length);
        }
    }

    fn wrong_type(&self, expected: &str, found: &str) -> Failure {
        let message = self.in_body(&format!("must be of type {expected}: {}", go_fmt::quote(found)));
        let detail = message.clone();
        self.failure(ErrorType::TypeInvalid, found.into(), message, &detail)
    }

    fn not_in(&self, values: &Enum, value: &Value) -> Failure {
        let listed: Vec<String> = values
            .values
            .iter()
            .map(|value| match value {
                Value::String(text) => go_fmt::quote(text),
                other => go_fmt::quote(&json::to_string(other)),
            })
            .collect();
        let listed = listed.join(", ");
        let message = self.in_body(&format!("should be one of {listed}"));
        self.failure(ErrorType::NotSupported, value.clone(), message, &format!("supported values: {listed}"))
    }

    fn too_many(&self, found: usize, limit: i64, message: String) -> Failure {
        let detail = match limit {
            1 => "must have at most 1 item".to_owned(),
            0.. => format!("must have at most {limit} items"),
            _ => "has too many items".to_owned(),
        };
        self.failure(ErrorType::TooMany, count(found), message, &detail)
    }

    fn invalid(&self, value: Value, words: &str) -> Failure {
        let message = self.in_body(words);
        let detail = message.clone();
        self.failure(ErrorType::Invalid, value, message, &detail)
    }

    /// A failure of the value as a whole, which the reference does not attribute to a field.
    fn whole(&self, words: &str) -> Failure {
        plain(self.prefix, format!("{} {words}", go_fmt::quote(&self.path)))
    }

    fn in_body(&self, words: &str) -> String {
        format!("{} in body {words}", self.path)
    }

    fn failure(&self, kind: ErrorType, value: Value, message: String, detail: &str) -> Failure {
        let name = self.path.strip_prefix('.').unwrap_or(&self.path);
        let field = match (self.prefix.is_empty(), name.is_empty()) {
            (true, true) => NO_FIELD.to_owned(),
            (true, false) => name.to_owned(),
            (false, true) => self.prefix.to_owned(),
            (false, false) => format!("{}.{name}", self.prefix),
        };
        Failure { message, error: at(field, kind, value, detail) }
    }
}

/// A failure that names no field of its own.
fn plain(prefix: &str, message: String) -> Failure {
    let field = if prefix.is_empty() { NO_FIELD } else { prefix }.to_owned();
    let error = at(field, ErrorType::Invalid, "".into(), &message);
    Failure { message, error }
}

fn at(field: String, kind: ErrorType, value: Value, detail: &str) -> FieldError {
    FieldError { field, ..FieldError::new(kind, &FieldPath::ROOT, value, detail) }
}

fn too_long(limit: i64) -> String {
    match limit {
        1 => "may not be more than 1 byte".to_owned(),
        0.. => format!("may not be more than {limit} bytes"),
        _ => "value is too long".to_owned(),
    }
}

fn parts(compared: Compared) -> (Value, Value) {
    match compared {
        Compared::Ints { value, limit } => (value.into(), limit.into()),
        Compared::Floats { value, limit } => (value.into(), limit.into()),
    }
}

fn shown(number: &Value) -> String {
    match number {
        Value::Float(number) => go_fmt::float_v(*number),
        other => json::to_string(other),
    }
}

fn count(items: usize) -> Value {
    Value::Int(i64::try_from(items).unwrap_or(i64::MAX))
}
