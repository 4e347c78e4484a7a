//! Field selectors: `a=b,c!=d`, with backslash escapes in values.
//!
//! Which fields a kind has is its own matter: see [`FieldSelector::transform`].
//!
//! Upstream: apimachinery/pkg/fields/selector.go, v1.36.

use std::fmt;

use crate::Text;

/// Terms that all must hold.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FieldSelector {
    requirements: Vec<Requirement>,
}

/// One term. A field that an object lacks counts as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub field: Text,
    pub operator: Operator,
    pub value: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equals,
    NotEquals,
}

/// Why a text is no field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldSelectorError {
    NoOperator { selector: String, term: String },
    InvalidEscape { sequence: String },
    Unescaped { character: char },
}

impl fmt::Display for FieldSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldSelectorError::NoOperator { selector, term } => {
                write!(f, "invalid selector: '{selector}'; can't understand '{term}'")
            }
            FieldSelectorError::InvalidEscape { sequence } => {
                write!(f, "invalid field selector: invalid escape sequence: {sequence}")
            }
            // The reference prints the code point as a number.
            FieldSelectorError::Unescaped { character } => {
                let code = u32::from(*character);
                write!(f, "invalid field selector: unescaped character in value: {code}")
            }
        }
    }
}

impl std::error::Error for FieldSelectorError {}

impl FieldSelector {
    pub fn everything() -> Self {
        FieldSelector::default()
    }

    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Fields that must have exactly this value.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &str)> {
        let equal = self.requirements.iter().filter(|term| term.operator == Operator::Equals);
        equal.map(|term| (term.field.as_str(), term.value.as_str()))
    }

    /// The value `field` must have, when a term says so.
    pub fn required_value(&self, field: &str) -> Option<&str> {
        self.equalities().find(|(name, _)| *name == field).map(|(_, value)| value)
    }

    /// A term without field and value says nothing and is dropped.
    ///
    /// ```
    /// use crest_meta::selector::FieldSelector;
    /// let selector = FieldSelector::parse("metadata.name=a,spec.x!=1").unwrap();
    /// assert!(selector.matches(|field| (field == "metadata.name").then_some("a")));
    /// assert_eq!(selector.required_value("metadata.name"), Some("a"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, FieldSelectorError> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let terms = terms.into_iter().filter(|term| !term.is_empty());
        let mut requirements = terms.map(|term| parse_term(term, text)).collect::<Result<Vec<_>, _>>()?;
        requirements.retain(|term| !(term.field.is_empty() && term.value.is_empty()));
        Ok(FieldSelector { requirements })
    }

    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements.iter().all(|term| {
            let found = lookup(&term.field).unwrap_or("");
            (found == term.value) == (term.operator == Operator::Equals)
        })
    }

    /// Renames or refuses fields. A term whose field and value both become empty is dropped.
    pub fn transform<E>(
        &self,
        mut convert: impl FnMut(&str, &str) -> Result<(Text, Text), E>,
    ) -> Result<Self, E> {
        let mut requirements = Vec::with_capacity(self.requirements.len());
        for term in &self.requirements {
            let (field, value) = convert(&term.field, &term.value)?;
            if !(field.is_empty() && value.is_empty()) {
                requirements.push(Requirement { field, operator: term.operator, value });
            }
        }
        Ok(FieldSelector { requirements })
    }
}

impl From<Vec<Requirement>> for FieldSelector {
    fn from(requirements: Vec<Requirement>) -> Self {
        FieldSelector { requirements }
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let operator = match term.operator {
                Operator::Equals => "=",
                Operator::NotEquals => "!=",
            };
            write!(f, "{comma}{}{operator}{}", term.field, escape_value(&term.value))?;
        }
        Ok(())
    }
}

/// Escapes a literal for use as a value.
pub fn escape_value(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Splits at commas that no backslash precedes; escapes stay as they are.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(term: &str, selector: &str) -> Result<Requirement, FieldSelectorError> {
    let split = (0..term.len()).find_map(|index| match &term.as_bytes()[index..] {
        [b'!', b'=', ..] => Some((index, 2, Operator::NotEquals)),
        [b'=', b'=', ..] => Some((index, 2, Operator::Equals)),
        [b'=', ..] => Some((index, 1, Operator::Equals)),
        _ => None,
    });
    let Some((index, width, operator)) = split else {
        return Err(FieldSelectorError::NoOperator { selector: selector.to_owned(), term: term.to_owned() });
    };
    let value = unescape_value(&term[index + width..])?;
    Ok(Requirement { field: term[..index].into(), operator, value })
}

fn unescape_value(text: &str) -> Result<Text, FieldSelectorError> {
    let mut value = Text::default();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => value.push(escaped),
                other => {
                    let sequence = other.map_or("\\".to_owned(), |other| format!("\\{other}"));
                    return Err(FieldSelectorError::InvalidEscape { sequence });
                }
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped { character }),
            _ => value.push(character),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
    fn check(text: &str, expected: Expect) {
        let found = FieldSelector::parse(text);
        expected.assert_eq(&found.map_or_else(|error| error.to_string(), |selector| selector.to_string()));
    }

    #[test]
    fn terms_are_sorted_and_escapes_kept() {
        check("", expect![""]);
        check(",,", expect![""]);
        check("b==1,a!=2", expect!["a!=2,b=1"]);
        check("x=,=,!=", expect!["x="]);
        check("=y", expect!["=y"]);
        check(r"a=x\,y\=z\\", expect![[r"a=x\,y\=z\\"]]);
        check("a b=c d", expect!["a b=c d"]);
    }

    #[test]
    fn errors_are_those_of_the_reference() {
        check("a,b=c", expect!["invalid selector: 'a,b=c'; can't understand 'a'"]);
        check("a=b=c", expect!["invalid field selector: unescaped character in value: 61"]);
        check(r"a=\x", expect![[r"invalid field selector: invalid escape sequence: \x"]]);
        check(r"a=b\", expect![[r"invalid field selector: invalid escape sequence: \"]]);
    }

    #[test]
    fn a_missing_field_counts_as_empty() {
        let lookup = |field: &str| (field == "a").then_some("1");
        for (text, matches) in
            [("a=1", true), ("a!=1", false), ("b=", true), ("b!=", false), ("a=1,b!=2", true)]
        {
            assert_eq!(FieldSelector::parse(text).unwrap().matches(lookup), matches, "{text}");
        }
    }

    #[test]
    fn transform_drops_what_becomes_empty() {
        let selector = FieldSelector::parse("a=1,b=2").unwrap();
        let kept = selector.transform(|field, value| match field {
            "a" => Ok::<_, ()>((Text::default(), Text::default())),
            _ => Ok((format!("x.{field}").into(), value.into())),
        });
        assert_eq!(kept.unwrap().to_string(), "x.b=2");
        assert_eq!(selector.transform(|field, _| Err(field.to_owned())), Err("a".to_owned()));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(text in r"[ab=!,\\é]{0,20}") {
            if let Ok(selector) = FieldSelector::parse(&text) {
                let again = FieldSelector::parse(&selector.to_string()).unwrap();
                // `==` sorts elsewhere than the `=` it prints as.
                prop_assert_eq!(again.requirements.len(), selector.requirements.len());
                prop_assert!(selector.requirements.iter().all(|term| again.requirements.contains(term)));
            }
        }
    }
}
