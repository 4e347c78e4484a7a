//! Paths that point from a schema to the schema of a field: `.spec.colour`, `.spec['my key']`.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go (`ValidFieldPath`), v1.36.

#[cfg(test)]
mod tests;

use meta::FieldPath;

use crate::parse::{Props, PropsOrBool};
use crate::structural::Node;

/// Whether keys in brackets are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Brackets {
    Allowed,
    Refused,
}

/// A schema that a path can go through.
pub(crate) trait Steps {
    /// Whether it names any of its members.
    fn names_members(&self) -> bool;

    fn named(&self, name: &str) -> Option<&Self>;

    /// The schema of members that are not named.
    fn others(&self) -> Option<&Self>;
}

impl Steps for Props<'_> {
    fn names_members(&self) -> bool {
        !self.properties.is_empty()
    }

    fn named(&self, name: &str) -> Option<&Self> {
        self.properties.iter().find(|(candidate, _)| *candidate == name).map(|(_, props)| props)
    }

    fn others(&self) -> Option<&Self> {
        self.additional_properties.as_ref().and_then(PropsOrBool::props)
    }
}

impl Steps for Node {
    fn names_members(&self) -> bool {
        !self.properties.is_empty()
    }

    fn named(&self, name: &str) -> Option<&Self> {
        self.property(name).map(|node| &**node)
    }

    fn others(&self) -> Option<&Self> {
        self.additional.schema().map(|node| &**node)
    }
}

/// Where a path leads.
pub(crate) struct Found<'p, S> {
    /// The path in the spelling of field errors.
    pub(crate) path: String,
    /// The first step of the path.
    pub(crate) first: String,
    pub(crate) schema: &'p S,
}

/// Follows a path through a schema.
pub(crate) fn resolve<'p, S: Steps>(
    text: &str,
    schema: &'p S,
    brackets: Brackets,
) -> Result<Found<'p, S>, String> {
    let mut tokens = Tokens { rest: text };
    let mut found = Found { path: String::new(), first: String::new(), schema };
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" if brackets == Brackets::Refused => return Err("array notation is not allowed".to_owned()),
            "[" => quoted(tokens.required()?)?,
            "." => tokens.required()?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        found.step(&name)?;
        if token == "[" {
            match tokens.required()? {
                "]" => {}
                other => return Err(format!("expected ] but got {other}")),
            }
        }
    }
    Ok(found)
}

impl<S: Steps> Found<'_, S> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let invalid = || "does not refer to a valid field".to_owned();
        let step = if self.schema.names_members() {
            self.schema = self.schema.named(name).ok_or_else(invalid)?;
            name.to_owned()
        } else {
            self.schema = self.schema.others().ok_or_else(invalid)?;
            FieldPath::ROOT.key(name).to_string()
        };
        if self.path.is_empty() {
            self.first.clone_from(&step);
        } else if !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(&step);
        Ok(())
    }
}

/// Splits a path at dots and brackets, which are tokens of their own, outside of quotes.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = if self.rest.starts_with('\'') { self.quote_end() } else { self.word_end() };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }

    fn required(&mut self) -> Result<&'a str, String> {
        self.next().ok_or_else(|| "unexpected end of JSON path".to_owned())
    }

    fn quote_end(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let end = (1..bytes.len()).find(|&index| bytes[index] == b'\'' && bytes[index - 1] != b'\\');
        end.map_or(bytes.len(), |end| end + 1)
    }

    fn word_end(&self) -> usize {
        match self.rest.find(['.', '[', ']']) {
            Some(0) => 1,
            Some(end) => end,
            None => self.rest.len(),
        }
    }
}

/// The content of a token in single quotes.
fn quoted(token: &str) -> Result<String, String> {
    let inner = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let inner = inner.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        let plain = match (character, characters.clone().next()) {
            ('\\', Some(escaped)) => {
                characters.next();
                match escaped {
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    '\'' | '\\' => escaped,
                    _ => return Err(format!("invalid string literal: invalid escape char \\{escaped}")),
                }
            }
            (character, _) => character,
        };
        text.push(plain);
    }
    Ok(text)
}
