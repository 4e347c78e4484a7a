//! The grammar of label selectors.
//!
//! `in` and `notin` are operators behind a key and ordinary words everywhere else.

use std::collections::BTreeSet;

use super::{LabelSelectorError, Operator, Requirement};
use crate::{FieldError, FieldPath, names};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    End,
    Identifier,
    In,
    NotIn,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    Comma,
    Open,
    Close,
}

pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, LabelSelectorError> {
    let mut parser = Parser { tokens: Lexer { text, at: 0 }.tokens(), at: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            (Token::End, _) => return Ok(requirements),
            (Token::Identifier | Token::Not, _) => {}
            (_, literal) => return Err(found(literal, ", expected: !, identifier, or 'end of string'")),
        }
        let requirement = parser.requirement().map_err(|error| {
            LabelSelectorError::new(format!("unable to parse requirement: {}", error.message))
        })?;
        requirements.push(requirement);
        match parser.next() {
            (Token::End, _) => return Ok(requirements),
            (Token::Comma, _) => match parser.peek() {
                (Token::Identifier | Token::Not, _) => {}
                (_, literal) => return Err(found(literal, ", expected: identifier after ','")),
            },
            (_, literal) => return Err(found(literal, ", expected: ',' or 'end of string'")),
        }
    }
}

fn found(literal: &str, expected: &str) -> LabelSelectorError {
    LabelSelectorError::new(format!("found '{literal}'{expected}"))
}

struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    at: usize,
}

impl<'a> Parser<'a> {
    /// The next token where `in` and `notin` are words.
    fn peek(&self) -> (Token, &'a str) {
        match self.peek_operator() {
            (Token::In | Token::NotIn, literal) => (Token::Identifier, literal),
            other => other,
        }
    }

    /// The next token where `in` and `notin` are operators.
    fn peek_operator(&self) -> (Token, &'a str) {
        self.tokens.get(self.at).copied().unwrap_or((Token::End, ""))
    }

    fn next(&mut self) -> (Token, &'a str) {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, LabelSelectorError> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return Err(found(key, ", expected: identifier"));
        }
        check_key(key)?;
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, &[]);
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, &[]);
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => BTreeSet::from([self.exact_value()?]),
        };
        Requirement::new(key, operator, &values.into_iter().collect::<Vec<_>>())
    }

    fn operator(&mut self) -> Result<Operator, LabelSelectorError> {
        let (token, literal) = self.peek_operator();
        self.at += 1;
        Ok(match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            _ => return Err(found(literal, ", expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    fn exact_value(&mut self) -> Result<&'a str, LabelSelectorError> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.next() {
            (Token::Identifier, literal) => Ok(literal),
            (_, literal) => Err(found(literal, ", expected: identifier")),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<&'a str>, LabelSelectorError> {
        match self.next() {
            (Token::Open, _) => {}
            (_, literal) => return Err(found(literal, " expected: '('")),
        }
        match self.peek() {
            (Token::Close, _) => {
                self.at += 1;
                Ok(BTreeSet::from([""]))
            }
            (Token::Identifier | Token::Comma, _) => self.list(),
            (_, literal) => Err(found(literal, ", expected: ',', ')' or identifier")),
        }
    }

    /// Words between commas up to the closing parenthesis; nothing between two commas is the empty word.
    fn list(&mut self) -> Result<BTreeSet<&'a str>, LabelSelectorError> {
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Identifier, literal) => {
                    values.insert(literal);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => break,
                        (_, literal) => return Err(found(literal, ", expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    let following = self.peek().0;
                    if values.is_empty() || matches!(following, Token::Close | Token::Comma) {
                        values.insert("");
                    }
                    if following == Token::Close {
                        break;
                    }
                }
                (_, literal) => return Err(found(literal, ", expected: ',', or identifier")),
            }
        }
        self.at += 1; // the parenthesis
        Ok(values)
    }
}

/// The reference checks a key once while parsing, without a path, before it checks the whole requirement.
fn check_key(key: &str) -> Result<(), LabelSelectorError> {
    let errors = names::qualified_name(key);
    if errors.is_empty() {
        return Ok(());
    }
    let error = FieldError::invalid(&FieldPath::ROOT, key, errors.join("; "));
    Err(LabelSelectorError::new(format!("<nil>: {}", error.body())))
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// All tokens before the end of the text. A NUL ends the text too, as in the reference.
    fn tokens(mut self) -> Vec<(Token, &'a str)> {
        let mut tokens = Vec::new();
        loop {
            while self.peek().is_some_and(is_space) {
                self.at += 1;
            }
            match self.peek() {
                None => return tokens,
                Some(byte) if is_symbol(byte) => tokens.push(self.symbol()),
                Some(_) => tokens.push(self.word()),
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied().filter(|&byte| byte != 0)
    }

    fn symbol(&mut self) -> (Token, &'a str) {
        let rest = &self.text[self.at..];
        let (token, length) = match rest.as_bytes() {
            [b'=', b'=', ..] => (Token::DoubleEquals, 2),
            [b'!', b'=', ..] => (Token::NotEquals, 2),
            [b'=', ..] => (Token::Equals, 1),
            [b'!', ..] => (Token::Not, 1),
            [b'>', ..] => (Token::Greater, 1),
            [b'<', ..] => (Token::Less, 1),
            [b',', ..] => (Token::Comma, 1),
            [b'(', ..] => (Token::Open, 1),
            _ => (Token::Close, 1),
        };
        self.at += length;
        (token, &rest[..length])
    }

    fn word(&mut self) -> (Token, &'a str) {
        let start = self.at;
        while self.peek().is_some_and(|byte| !is_symbol(byte) && !is_space(byte)) {
            self.at += 1;
        }
        match &self.text[start..self.at] {
            "in" => (Token::In, "in"),
            "notin" => (Token::NotIn, "notin"),
            word => (Token::Identifier, word),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_symbol(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}
