//! Label selectors: `a=b,c in (d,e),!f`, and their structured form with `matchLabels`.
//!
//! Upstream: apimachinery/pkg/labels/selector.go and `LabelSelectorAsSelector` in
//! apimachinery/pkg/apis/meta/v1/helpers.go, v1.36.

mod parse;

use std::fmt;

use crate::status::aggregate;
use crate::{FieldError, FieldPath, Text, Value, go_fmt, names};

/// Requirements that all must hold, sorted by key.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    /// Whether nothing at all is selected, whatever the requirements.
    nothing: bool,
}

/// What one label must be.
///
/// Invariant: key, operator and values passed [`Requirement::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: Text,
    operator: Operator,
    values: Vec<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
    Exists,
    DoesNotExist,
}

/// Why a text or an object is no label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelectorError {
    message: String,
}

impl LabelSelectorError {
    fn new(message: impl Into<String>) -> Self {
        LabelSelectorError { message: message.into() }
    }

    fn of_fields(errors: &[FieldError]) -> Self {
        LabelSelectorError::new(aggregate(errors.iter().map(FieldError::to_string)))
    }
}

impl fmt::Display for LabelSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LabelSelectorError {}

impl Requirement {
    /// Checks that the operator fits the values and that key and values are well-formed.
    pub fn new(key: &str, operator: Operator, values: &[&str]) -> Result<Self, LabelSelectorError> {
        let mut errors = Vec::new();
        let key_errors = names::qualified_name(key);
        if !key_errors.is_empty() {
            errors.push(FieldError::invalid(&FieldPath::ROOT.field("key"), key, key_errors.join("; ")));
        }
        check_values(key, operator, values, &mut errors);
        if !errors.is_empty() {
            return Err(LabelSelectorError::of_fields(&errors));
        }
        Ok(Requirement {
            key: key.into(),
            operator,
            values: values.iter().copied().map(Text::from).collect(),
        })
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn operator(&self) -> Operator {
        self.operator
    }

    pub fn values(&self) -> &[Text] {
        &self.values
    }

    /// Whether a label with this value, or a missing label, is acceptable.
    pub fn accepts(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                value.is_some_and(|value| self.has_value(value))
            }
            Operator::NotIn | Operator::NotEquals => value.is_none_or(|value| !self.has_value(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compares(value, |label, limit| label > limit),
            Operator::LessThan => self.compares(value, |label, limit| label < limit),
        }
    }

    fn has_value(&self, value: &str) -> bool {
        self.values.iter().any(|candidate| candidate == value)
    }

    fn compares(&self, value: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let label = value.and_then(|value| value.parse().ok());
        let limit = self.values.first().and_then(|limit| limit.parse().ok());
        label.zip(limit).is_some_and(|(label, limit)| holds(label, limit))
    }
}

fn check_values(key: &str, operator: Operator, values: &[&str], errors: &mut Vec<FieldError>) {
    let path = FieldPath::ROOT.field("values");
    let complaint = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            Some("for 'in', 'notin' operators, values set can't be empty")
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
            Some("exact-match compatibility requires one single value")
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            Some("values set must be empty for exists and does not exist")
        }
        Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
            Some("for 'Gt', 'Lt' operators, exactly one value is required")
        }
        _ => None,
    };
    if let Some(complaint) = complaint {
        errors.push(FieldError::invalid(&path, shown_values(values), complaint));
    }
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(FieldError::invalid(&path.index(index), *value, detail));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let value_errors = names::label_value(value);
        if !value_errors.is_empty() {
            let path = path.index(index);
            errors.push(FieldError::invalid(&path.key(key), *value, value_errors.join("; ")));
        }
    }
}

/// An empty list is a nil slice in the reference and prints as `null`.
fn shown_values(values: &[&str]) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    Value::Array(values.iter().copied().map(Value::from).collect())
}

impl LabelSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        LabelSelector::default()
    }

    /// Selects no object.
    pub fn nothing() -> Self {
        LabelSelector { nothing: true, ..LabelSelector::default() }
    }

    pub fn from_requirements(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        LabelSelector { requirements, nothing: false }
    }

    /// ```
    /// use crest_meta::selector::LabelSelector;
    /// let selector = LabelSelector::parse("tier in (web,db), !old, env=prod").unwrap();
    /// let labels = [("tier", "db"), ("env", "prod")];
    /// assert!(selector.matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)));
    /// assert_eq!(selector.equalities().collect::<Vec<_>>(), [("env", "prod")]);
    /// assert_eq!(selector.to_string(), "env=prod,!old,tier in (db,web)");
    /// ```
    pub fn parse(text: &str) -> Result<Self, LabelSelectorError> {
        parse::requirements(text).map(LabelSelector::from_requirements)
    }

    /// Reads a `metav1.LabelSelector`: null selects nothing, an empty object everything.
    ///
    /// Relies on a value whose types a schema has checked; members of other types are passed over.
    pub fn from_value(value: &Value) -> Result<Self, LabelSelectorError> {
        if value.is_null() {
            return Ok(LabelSelector::nothing());
        }
        let mut requirements = Vec::new();
        if let Some(labels) = value.get("matchLabels").and_then(Value::as_object) {
            for (key, label) in labels.iter() {
                let label = label.as_str().unwrap_or_default();
                requirements.push(Requirement::new(key, Operator::Equals, &[label])?);
            }
        }
        for expression in value.get("matchExpressions").and_then(Value::as_array).unwrap_or_default() {
            requirements.push(expression_requirement(expression)?);
        }
        Ok(LabelSelector::from_requirements(requirements))
    }

    /// Whether every object is selected.
    pub fn is_empty(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    pub fn selects_nothing(&self) -> bool {
        self.nothing
    }

    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Labels that must have exactly this value, for an index to start from.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &str)> {
        self.requirements.iter().filter_map(|requirement| {
            match (requirement.operator, requirement.values.as_slice()) {
                (Operator::Equals | Operator::DoubleEquals | Operator::In, [value]) => {
                    Some((requirement.key.as_str(), value.as_str()))
                }
                _ => None,
            }
        })
    }

    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        !self.nothing
            && self.requirements.iter().all(|requirement| requirement.accepts(lookup(&requirement.key)))
    }
}

fn expression_requirement(expression: &Value) -> Result<Requirement, LabelSelectorError> {
    let text = |key: &str| expression.get(key).and_then(Value::as_str).unwrap_or_default();
    let operator = match text("operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => {
            let message = format!("{} is not a valid label selector operator", go_fmt::quote(other));
            return Err(LabelSelectorError::new(message));
        }
    };
    let values = expression.get("values").and_then(Value::as_array).unwrap_or_default();
    let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    Requirement::new(text("key"), operator, &values)
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let mut values: Vec<&str> = self.values.iter().map(Text::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::wire::json;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(text: &str, expected: Expect) {
        let found = LabelSelector::parse(text);
        expected.assert_eq(&found.map_or_else(|error| error.to_string(), |selector| selector.to_string()));
    }

    #[test]
    fn selectors_print_in_their_normal_form() {
        check("", expect![""]);
        check("  ", expect![""]);
        check("b, a", expect!["a,b"]);
        check("x=a,y!=b,z==c", expect!["x=a,y!=b,z==c"]);
        check("x in (c,a,a,,b)", expect!["x in (,a,b,c)"]);
        check("x notin ()", expect!["x notin ()"]);
        check("x in (,)", expect!["x in ()"]);
        check("!x,y>1,z < 2", expect!["!x,y>1,z<2"]);
        check("! x ,y>1", expect!["!x,y>1"]);
        check("x=", expect!["x="]);
        check("x=,y", expect!["x=,y"]);
        check("in in (in,notin)", expect!["in in (in,notin)"]);
        check("notin=in", expect!["notin=in"]);
        check("a=1,a=2", expect!["a=1,a=2"]);
        check("a.b/c=d\tin", expect!["found 'in', expected: ',' or 'end of string'"]);
    }

    #[test]
    fn errors_are_those_of_the_reference() {
        check(",", expect!["found ',', expected: !, identifier, or 'end of string'"]);
        check("a,", expect!["found '', expected: identifier after ','"]);
        check(
            "a b",
            expect!["unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
        );
        check("a in", expect!["unable to parse requirement: found '' expected: '('"]);
        check("a in (", expect!["unable to parse requirement: found '', expected: ',', ')' or identifier"]);
        check("a in (b", expect!["unable to parse requirement: found '', expected: ',' or ')'"]);
        check("a in (b=", expect!["unable to parse requirement: found '=', expected: ',' or ')'"]);
        check("a in (,=", expect!["unable to parse requirement: found '=', expected: ',', or identifier"]);
        check("!", expect!["unable to parse requirement: found '', expected: identifier"]);
        check("!a b", expect!["found 'b', expected: ',' or 'end of string'"]);
        check("a==)", expect!["unable to parse requirement: found ')', expected: identifier"]);
        check(
            "a/b/c=1",
            expect![[
                r#"unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"#
            ]],
        );
        check(
            "a=-",
            expect![[
                r#"unable to parse requirement: values[0][a]: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#
            ]],
        );
        check(
            "a>x",
            expect![[
                r#"unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer"#
            ]],
        );
    }

    #[test]
    fn requirements_match_as_documented() {
        let labels = [("a", "1"), ("b", "x"), ("n", "10")];
        let lookup = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        for (text, matches) in [
            ("", true),
            ("a", true),
            ("c", false),
            ("!c", true),
            ("!a", false),
            ("a=1,b==x", true),
            ("a!=1", false),
            ("c!=1", true),
            ("a in (0,1)", true),
            ("c in (0)", false),
            ("c notin (0)", true),
            ("a notin (1)", false),
            ("n>9", true),
            ("n<9", false),
            ("b>0", false),
            ("c<5", false),
        ] {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(lookup), matches, "{text}");
        }
        assert!(!LabelSelector::nothing().matches(lookup));
    }

    #[test]
    fn structured_selectors_become_requirements() {
        let read = |text: &str| {
            let selector = LabelSelector::from_value(&json::parse(text.as_bytes()).unwrap().value);
            selector.map_or_else(|error| error.to_string(), |selector| selector.to_string())
        };
        assert!(LabelSelector::from_value(&Value::Null).unwrap().selects_nothing());
        assert_eq!(read("{}"), "");
        assert_eq!(
            read(
                r#"{"matchLabels":{"z":"1"},"matchExpressions":[{"key":"b","operator":"In","values":["y","x"]},{"key":"a","operator":"Exists"}]}"#
            ),
            "a,b in (x,y),z=1"
        );
        assert_eq!(
            read(r#"{"matchExpressions":[{"key":"b","operator":"Gt"}]}"#),
            r#""Gt" is not a valid label selector operator"#
        );
        assert_eq!(
            read(r#"{"matchExpressions":[{"key":"b","operator":"In"}]}"#),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
        );
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(text in r"([abin!=,()<>1 ]|in|notin| \(a,b\)){0,12}") {
            if let Ok(selector) = LabelSelector::parse(&text) {
                prop_assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = LabelSelector::parse(&text);
        }
    }
}
