//! The grammar, one function per rule.
//!
//! Each rule tells [`Tokens`] what may follow it and where its choices are, so that errors read as the
//! reference's do. Rules count their depth, as the reference does, and no rule may nest deeper than
//! [`NESTING_MAX`].

use std::sync::Arc;

use super::builder::{Builder, NOWHERE};
use super::literal;
use super::macros::Macro;
use super::recovery::{Choice, Failure, Next, Site, Tokens};
use super::token::{Token, TokenKind as K, TokenSet};
use crate::ast::{
    Ast, Entry, ExprId, ExprKind, Field, List, ListElement, Literal, Name, Struct, operators as op,
};
use crate::error::Issues;
use crate::source::Source;

/// Bound: nesting of any one rule of the grammar, and of the tree.
pub(crate) const NESTING_MAX: u16 = 250;
/// Bound: length of an expression in code points.
const CODE_POINTS_MAX: usize = 100_000;

/// Which parts of the syntax are switched on.
pub(crate) struct Dialect<'m> {
    pub(crate) macros: &'m [Macro],
    /// `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`.
    pub(crate) optional_syntax: bool,
    /// Field names in backticks.
    pub(crate) escaped_identifiers: bool,
}

/// Parses an expression and expands its macros.
pub(crate) fn parse(text: &str, dialect: &Dialect<'_>) -> Result<Ast, Issues> {
    let source = Source::new(text);
    let mut tokens = Tokens::new(text, source.clone());
    let size = text.chars().count();
    if size > CODE_POINTS_MAX {
        tokens.issues.report(
            None,
            format!("expression code point size exceeds limit: size: {size}, limit {CODE_POINTS_MAX}"),
        );
        return Err(tokens.issues);
    }
    let mut parser = Parser { tokens, builder: Builder::new(), dialect, depths: [0; Rule::COUNT] };
    let root = parser.start();
    let Parser { mut tokens, builder, .. } = parser;
    match root {
        Ok(root) => {
            if builder.is_oversized() || builder.nesting(root) > NESTING_MAX {
                tokens.issues.report(None, "max recursion depth exceeded");
            }
            if tokens.issues.is_empty() { Ok(builder.finish(source, root)) } else { Err(tokens.issues) }
        }
        Err(_) => Err(tokens.issues),
    }
}

#[derive(Clone, Copy)]
enum Rule {
    Expr,
    Or,
    And,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    Elements,
}

impl Rule {
    const COUNT: usize = Rule::Elements as usize + 1;
}

const PRIMARY_FIRST: TokenSet = TokenSet::of(&[
    K::Identifier,
    K::Dot,
    K::LeftParen,
    K::LeftBracket,
    K::LeftBrace,
    K::Minus,
    K::Int,
    K::Uint,
    K::Float,
    K::String,
    K::Bytes,
    K::True,
    K::False,
    K::Null,
]);
const EXPR_FIRST: TokenSet = PRIMARY_FIRST.with(TokenSet::of(&[K::Exclamation]));
const OPTIONAL_EXPR_FIRST: TokenSet = EXPR_FIRST.with(TokenSet::of(&[K::Question]));
const FIELD_FIRST: TokenSet = TokenSet::of(&[K::Identifier, K::EscapedIdentifier]);
const OPTIONAL_FIELD_FIRST: TokenSet = FIELD_FIRST.with(TokenSet::of(&[K::Question]));
const RELATIONS: TokenSet =
    TokenSet::of(&[K::Less, K::LessEquals, K::GreaterEquals, K::Greater, K::Equals, K::NotEquals, K::In]);
const FACTORS: TokenSet = TokenSet::of(&[K::Star, K::Slash, K::Percent]);
const SUMS: TokenSet = TokenSet::of(&[K::Plus, K::Minus]);
const ACCESS: TokenSet = TokenSet::of(&[K::Dot, K::LeftBracket]);

const fn only(kind: K) -> Next {
    Next::only(TokenSet::of(&[kind]))
}

const fn either(first: K, second: K) -> Next {
    Next::only(TokenSet::of(&[first, second]))
}

const fn or_end(kind: K) -> Next {
    Next::or_end(TokenSet::of(&[kind]))
}

const END: Next = Next::or_end(TokenSet::EMPTY);
const EXPR: Next = Next::only(EXPR_FIRST);

type Parsed = Result<ExprId, Failure>;

/// Operands of a chain of one operator, and where the operators stand.
#[derive(Default)]
struct Terms {
    terms: Vec<ExprId>,
    offsets: Vec<u32>,
}

struct Parser<'s, 'm> {
    tokens: Tokens<'s>,
    builder: Builder,
    dialect: &'m Dialect<'m>,
    depths: [u16; Rule::COUNT],
}

impl Parser<'_, '_> {
    /// Runs a rule; when it fails, recovers and stands in an error node for it.
    fn rule(&mut self, rule: Rule, follow: Next, body: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.guarded(rule, follow, body, Parser::error_node)
    }

    fn guarded<T>(
        &mut self,
        rule: Rule,
        follow: Next,
        body: impl FnOnce(&mut Self) -> Result<T, Failure>,
        stand_in: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, Failure> {
        self.begin(rule, follow)?;
        let result = match body(self) {
            Ok(value) => Ok(value),
            Err(failure) => self.tokens.recover(&failure).map(|()| stand_in(self)),
        };
        self.end(rule);
        result
    }

    fn error_node(&mut self) -> ExprId {
        self.builder.add(ExprKind::Error, NOWHERE)
    }

    /// Reports something wrong with text that is grammatical.
    fn complain(&mut self, offset: u32, message: impl Into<String>) -> ExprId {
        self.tokens.issues.report(Some(offset), message);
        self.builder.add(ExprKind::Error, offset)
    }

    fn nested(&mut self, id: ExprId, children: &[ExprId]) -> ExprId {
        let nesting = 1 + self.builder.deepest(children.iter().copied());
        self.builder.set_nesting(id, nesting);
        id
    }

    fn flat(&mut self, id: ExprId, children: &[ExprId]) -> ExprId {
        let nesting = self.builder.deepest(children.iter().copied());
        self.builder.set_nesting(id, nesting);
        id
    }

    fn start(&mut self) -> Parsed {
        let body = |parser: &mut Self| {
            let root = parser.expr(only(K::Eof))?;
            let result = parser.tokens.expect(1, K::Eof, END).map(|_| root);
            match result {
                Err(failure) => parser.tokens.recover(&failure).map(|()| root),
                other => other,
            }
        };
        body(self)
    }

    fn expr(&mut self, follow: Next) -> Parsed {
        self.rule(Rule::Expr, follow, |parser| {
            let condition = parser.or(or_end(K::Question))?;
            if parser.tokens.look(1)? != K::Question {
                return Ok(condition);
            }
            let question = parser.tokens.take()?;
            let truthy = parser.or(only(K::Colon))?;
            let colon = parser.tokens.expect(3, K::Colon, EXPR);
            let falsy = match colon {
                Ok(_) => parser.expr(END)?,
                Err(failure) => {
                    parser.tokens.recover(&failure)?;
                    parser.error_node()
                }
            };
            let args = [condition, truthy, falsy];
            let id = parser.builder.call(op::CONDITIONAL, args.to_vec(), question.offset);
            Ok(parser.nested(id, &args))
        })
    }

    // The rules between `expr` and `unary` cannot fail by themselves, so they need no recovery of their own;
    // two functions run through all of them, which keeps the stack shallow.

    /// Enters a rule that cannot fail.
    fn begin(&mut self, rule: Rule, follow: Next) -> Result<(), Failure> {
        self.tokens.enter(follow);
        self.depths[rule as usize] += 1;
        if self.depths[rule as usize] > NESTING_MAX {
            return Err(self.tokens.abort(format!("expression recursion limit exceeded: {NESTING_MAX}")));
        }
        Ok(())
    }

    fn end(&mut self, rule: Rule) {
        self.depths[rule as usize] -= 1;
        self.tokens.leave();
    }

    /// `a || b && c == d`: alternatives of conjunctions of relations.
    fn or(&mut self, follow: Next) -> Parsed {
        self.begin(Rule::Or, follow)?;
        let mut alternatives = Terms::default();
        loop {
            self.begin(Rule::And, or_end(K::LogicalOr))?;
            let mut conjunction = Terms::default();
            loop {
                let term = self.relation()?;
                conjunction.terms.push(term);
                if self.tokens.look(1)? != K::LogicalAnd {
                    break;
                }
                conjunction.offsets.push(self.tokens.take()?.offset);
            }
            self.end(Rule::And);
            let term = self.balanced(op::AND, &conjunction.terms, &conjunction.offsets);
            alternatives.terms.push(term);
            if self.tokens.look(1)? != K::LogicalOr {
                break;
            }
            alternatives.offsets.push(self.tokens.take()?.offset);
        }
        self.end(Rule::Or);
        Ok(self.balanced(op::OR, &alternatives.terms, &alternatives.offsets))
    }

    /// `a && b && c` as a balanced tree.
    fn balanced(&mut self, function: &str, terms: &[ExprId], offsets: &[u32]) -> ExprId {
        if offsets.is_empty() {
            return terms[0];
        }
        let middle = offsets.len() / 2;
        let left = self.balanced(function, &terms[..=middle], &offsets[..middle]);
        let right = self.balanced(function, &terms[middle + 1..], &offsets[middle + 1..]);
        let id = self.builder.call(function, vec![left, right], offsets[middle]);
        self.flat(id, &[left, right])
    }

    fn relation(&mut self) -> Parsed {
        const OPERATORS: Next = Next::or_end(RELATIONS);
        self.begin(Rule::Relation, or_end(K::LogicalAnd))?;
        let mut left = self.sum(OPERATORS)?;
        while RELATIONS.contains(self.tokens.look(1)?) {
            let operator = self.tokens.take()?;
            self.begin(Rule::Relation, OPERATORS)?;
            let right = self.sum(OPERATORS)?;
            self.end(Rule::Relation);
            left = self.binary(operator, left, right);
        }
        self.end(Rule::Relation);
        Ok(left)
    }

    /// `a + b * c`: sums of products.
    fn sum(&mut self, follow: Next) -> Parsed {
        const OPERATORS: Next = Next::or_end(FACTORS.with(SUMS));
        self.begin(Rule::Calc, follow)?;
        let mut sum = None;
        loop {
            let mut product = self.unary(OPERATORS)?;
            while FACTORS.contains(self.tokens.look(1)?) {
                let operator = self.tokens.take()?;
                self.begin(Rule::Calc, OPERATORS)?;
                let right = self.unary(OPERATORS)?;
                self.end(Rule::Calc);
                product = self.binary(operator, product, right);
            }
            let total = match sum {
                None => product,
                Some((left, operator)) => {
                    self.end(Rule::Calc);
                    self.binary(operator, left, product)
                }
            };
            if !SUMS.contains(self.tokens.look(1)?) {
                self.end(Rule::Calc);
                return Ok(total);
            }
            sum = Some((total, self.tokens.take()?));
            self.begin(Rule::Calc, OPERATORS)?;
        }
    }

    fn binary(&mut self, operator: Token, left: ExprId, right: ExprId) -> ExprId {
        let function = match operator.kind {
            K::Less => op::LESS,
            K::LessEquals => op::LESS_EQUALS,
            K::Greater => op::GREATER,
            K::GreaterEquals => op::GREATER_EQUALS,
            K::Equals => op::EQUALS,
            K::NotEquals => op::NOT_EQUALS,
            K::In => op::IN,
            K::Star => op::MULTIPLY,
            K::Slash => op::DIVIDE,
            K::Percent => op::MODULO,
            K::Plus => op::ADD,
            _ => op::SUBTRACT,
        };
        let id = self.builder.call(function, vec![left, right], operator.offset);
        self.nested(id, &[left, right])
    }

    fn unary(&mut self, follow: Next) -> Parsed {
        let start = self.tokens.current()?.offset;
        let stand_in = |parser: &mut Self| parser.builder.add(ExprKind::Error, start);
        self.guarded(Rule::Unary, follow, Self::unary_body, stand_in)
    }

    fn unary_body(&mut self) -> Parsed {
        self.tokens.sync(10, Choice::Start, EXPR)?;
        match self.tokens.look(1)? {
            K::Exclamation => self.prefixed(K::Exclamation, op::NOT),
            K::Minus => match self.tokens.look(2)? {
                K::Int | K::Float => self.member(END),
                next if PRIMARY_FIRST.contains(next) => self.prefixed(K::Minus, op::NEGATE),
                _ => Err(self.tokens.no_alternative(12, 2)),
            },
            next if PRIMARY_FIRST.contains(next) => self.member(END),
            _ => Err(self.tokens.no_alternative(12, 1)),
        }
    }

    /// `!!a`, `--a`: pairs cancel out.
    fn prefixed(&mut self, operator: K, function: &str) -> Parsed {
        let first = self.tokens.take()?;
        let again = Next::only(PRIMARY_FIRST.with(TokenSet::of(&[operator])));
        let mut count = 1;
        self.tokens.sync(11, Choice::Again, again)?;
        while self.tokens.look(1)? == operator {
            if operator == K::Minus && !PRIMARY_FIRST.contains(self.tokens.look(2)?) {
                return Err(self.tokens.no_alternative(13, 2));
            }
            self.tokens.take()?;
            count += 1;
            self.tokens.sync(11, Choice::Again, again)?;
        }
        let operand = self.member(END)?;
        if count % 2 == 0 {
            return Ok(operand);
        }
        let id = self.builder.call(function, vec![operand], first.offset);
        Ok(self.flat(id, &[operand]))
    }

    fn member(&mut self, follow: Next) -> Parsed {
        self.rule(Rule::Member, follow, |parser| {
            let mut target = parser.primary(Next::or_end(ACCESS))?;
            loop {
                let (next, goes_on) = match parser.tokens.look(1)? {
                    K::LeftBracket => parser.index(target)?,
                    K::Dot => match parser.tokens.look(2)? {
                        K::Identifier if parser.tokens.look(3)? == K::LeftParen => {
                            parser.member_call(target)?
                        }
                        K::Identifier | K::EscapedIdentifier | K::Question => (parser.select(target)?, true),
                        _ => {
                            // What was read so far stands.
                            let failure = parser.tokens.no_alternative(22, 2);
                            parser.tokens.recover(&failure)?;
                            (target, false)
                        }
                    },
                    _ => (target, false),
                };
                target = next;
                if !goes_on {
                    return Ok(target);
                }
            }
        })
    }

    /// Stands before a choice after an opening bracket. Where nothing fits, the rule ends here, but what it has
    /// read still counts.
    fn opening(&mut self, site: Site, next: TokenSet) -> Result<bool, Failure> {
        match self.tokens.sync(site, Choice::Start, Next::only(next)) {
            Ok(()) => Ok(true),
            Err(failure) => self.tokens.recover(&failure).map(|()| false),
        }
    }

    /// Takes a closing bracket. Without one the rule ends here, but what it has read still counts.
    fn closing(&mut self, site: Site, kind: K, after: Next) -> Result<bool, Failure> {
        match self.tokens.expect(site, kind, after) {
            Ok(_) => Ok(true),
            Err(failure) => self.tokens.recover(&failure).map(|()| false),
        }
    }

    fn index(&mut self, target: ExprId) -> Result<(ExprId, bool), Failure> {
        let bracket = self.tokens.take()?;
        if !self.opening(20, OPTIONAL_EXPR_FIRST)? {
            let id = self.builder.add(ExprKind::Error, bracket.offset);
            return Ok((self.nested(id, &[target]), false));
        }
        let optional = self.question(bracket.offset, "unsupported syntax '[?'")?;
        let index = self.expr(only(K::RightBracket))?;
        let goes_on = self.closing(21, K::RightBracket, Next::or_end(ACCESS))?;
        let function = if optional { op::OPTIONAL_INDEX } else { op::INDEX };
        let id = self.builder.call(function, vec![target, index], bracket.offset);
        Ok((self.nested(id, &[target, index]), goes_on))
    }

    /// Takes a `?` where one may stand, and says whether there was one.
    fn question(&mut self, offset: u32, complaint: &str) -> Result<bool, Failure> {
        if self.tokens.look(1)? != K::Question {
            return Ok(false);
        }
        self.tokens.take()?;
        if !self.dialect.optional_syntax {
            self.complain(offset, complaint);
        }
        Ok(true)
    }

    fn select(&mut self, target: ExprId) -> Parsed {
        let dot = self.tokens.take()?;
        let optional = self.question(dot.offset, "unsupported syntax '.?'")?;
        let Some((name, name_offset)) = self.field_name(Next::or_end(ACCESS), None)? else {
            let id = self.builder.add(ExprKind::Error, dot.offset);
            return Ok(self.nested(id, &[target]));
        };
        let id = if optional {
            let field = self.builder.literal(Literal::String(name), name_offset);
            self.builder.call(op::OPTIONAL_SELECT, vec![target, field], dot.offset)
        } else {
            self.builder.select(target, name, false, dot.offset)
        };
        Ok(self.nested(id, &[target]))
    }

    /// A field name, plain or in backticks; `None` after a syntax error, which is also reported at `list`, the
    /// start of the list that the field belongs to.
    fn field_name(&mut self, follow: Next, list: Option<u32>) -> Result<Option<(Name, u32)>, Failure> {
        let body = |parser: &mut Self| {
            parser.tokens.sync(25, Choice::Start, Next::only(FIELD_FIRST))?;
            if !FIELD_FIRST.contains(parser.tokens.look(1)?) {
                return Err(parser.tokens.no_alternative(25, 1));
            }
            let token = parser.tokens.take()?;
            let text = parser.tokens.text(token);
            if token.kind == K::Identifier {
                return Ok(Some((Name::from(text), token.offset)));
            }
            if !parser.dialect.escaped_identifiers {
                parser.complain(token.offset, "unsupported syntax: '`'");
            }
            Ok(Some((Name::from(&text[1..text.len() - 1]), token.offset)))
        };
        let start = list.unwrap_or(self.tokens.current()?.offset);
        self.guarded(Rule::Elements, follow, body, |parser| {
            parser.complain(start, "unsupported ident kind");
            None
        })
    }

    fn member_call(&mut self, target: ExprId) -> Result<(ExprId, bool), Failure> {
        self.tokens.take()?;
        let name = self.tokens.take()?;
        let open = self.tokens.take()?;
        let (args, goes_on) = self.arguments(30)?;
        let function = self.tokens.text(name);
        let id = self.call_or_macro(function, Some(target), &args, open.offset);
        let children: Vec<ExprId> = [target].into_iter().chain(args).collect();
        Ok((self.nested(id, &children), goes_on))
    }

    /// Arguments and the closing parenthesis; says whether that was there.
    fn arguments(&mut self, site: Site) -> Result<(Vec<ExprId>, bool), Failure> {
        let close = TokenSet::of(&[K::RightParen]);
        if !self.opening(site, EXPR_FIRST.with(close))? {
            return Ok((Vec::new(), false));
        }
        let mut args = Vec::new();
        if EXPR_FIRST.contains(self.tokens.look(1)?) {
            args = self.guarded(Rule::Elements, only(K::RightParen), Self::expr_list, |_| Vec::new())?;
        }
        let is_closed = self.closing(site + 1, K::RightParen, Next::or_end(ACCESS))?;
        Ok((args, is_closed))
    }

    fn expr_list(&mut self) -> Result<Vec<ExprId>, Failure> {
        let mut items = vec![self.expr(or_end(K::Comma))?];
        while self.tokens.look(1)? == K::Comma {
            self.tokens.take()?;
            items.push(self.expr(or_end(K::Comma))?);
        }
        Ok(items)
    }

    fn call_or_macro(
        &mut self,
        function: &str,
        target: Option<ExprId>,
        args: &[ExprId],
        offset: u32,
    ) -> ExprId {
        let fits = |m: &&Macro| m.name == function && m.args == args.len() && m.receiver == target.is_some();
        if let Some(found) = self.dialect.macros.iter().find(fits) {
            let unused = ExprId(0);
            return match found.expand(&mut self.builder, offset, target.unwrap_or(unused), args) {
                Ok(id) => id,
                Err(error) => self.complain(error.offset, error.message),
            };
        }
        match target {
            Some(target) => self.builder.member_call(function, target, args.to_vec(), offset),
            None => self.builder.call(function, args.to_vec(), offset),
        }
    }

    fn primary(&mut self, follow: Next) -> Parsed {
        self.rule(Rule::Primary, follow, |parser| {
            parser.tokens.sync(40, Choice::Start, Next::only(PRIMARY_FIRST))?;
            match parser.tokens.look(1)? {
                K::LeftParen => parser.parenthesized(),
                K::LeftBracket => parser.list(),
                K::LeftBrace => parser.map(),
                K::Dot if parser.tokens.look(2)? != K::Identifier => Err(parser.tokens.no_alternative(43, 2)),
                K::Dot | K::Identifier => parser.named(),
                K::Minus if !matches!(parser.tokens.look(2)?, K::Int | K::Float) => {
                    Err(parser.tokens.no_alternative(43, 2))
                }
                K::Minus
                | K::Int
                | K::Uint
                | K::Float
                | K::String
                | K::Bytes
                | K::True
                | K::False
                | K::Null => parser.literal(),
                _ => Err(parser.tokens.no_alternative(43, 1)),
            }
        })
    }

    fn parenthesized(&mut self) -> Parsed {
        self.tokens.take()?;
        let inner = self.expr(only(K::RightParen))?;
        self.closing(41, K::RightParen, END)?;
        Ok(inner)
    }

    /// An identifier, a call, or a message literal.
    fn named(&mut self) -> Parsed {
        let leading = usize::from(self.tokens.look(1)? == K::Dot);
        let mut length = leading + 1;
        while self.tokens.look(length + 1)? == K::Dot && self.tokens.look(length + 2)? == K::Identifier {
            length += 2;
        }
        if self.tokens.look(length + 1)? == K::LeftBrace {
            return self.message();
        }
        let start = self.tokens.current()?;
        if leading == 1 {
            self.tokens.take()?;
        }
        let token = self.tokens.take()?;
        let text = self.tokens.text(token);
        let is_call = self.tokens.look(1)? == K::LeftParen;
        let dotted = if leading == 1 { format!(".{text}") } else { text.to_owned() };
        if !is_call {
            if is_reserved(text) {
                return Ok(self.complain(start.offset, format!("reserved identifier: {text}")));
            }
            return Ok(self.builder.ident(&dotted, token.offset));
        }
        let open = self.tokens.take()?;
        let (args, _) = self.arguments(48)?;
        if is_reserved(text) {
            return Ok(self.complain(start.offset, format!("reserved identifier: {text}")));
        }
        let id = self.call_or_macro(&dotted, None, &args, open.offset);
        Ok(self.flat(id, &args))
    }

    fn message(&mut self) -> Parsed {
        let mut type_name = String::new();
        while self.tokens.look(1)? != K::LeftBrace {
            let token = self.tokens.take()?;
            type_name += self.tokens.text(token);
        }
        let brace = self.tokens.take()?;
        let close = TokenSet::of(&[K::Comma, K::RightBrace]);
        let mut fields = Vec::new();
        if self.opening(44, OPTIONAL_FIELD_FIRST.with(close))? {
            if OPTIONAL_FIELD_FIRST.contains(self.tokens.look(1)?) {
                let follow = either(K::Comma, K::RightBrace);
                fields = self.guarded(Rule::Elements, follow, Self::fields, |_| Vec::new())?;
            }
            self.close(45, K::RightBrace)?;
        }
        let children: Vec<ExprId> = fields.iter().map(|field| field.value).collect();
        let object = Struct { type_name: type_name.into(), fields };
        let id = self.builder.add(ExprKind::Struct(object), brace.offset);
        Ok(self.flat(id, &children))
    }

    /// A trailing comma and the closing bracket.
    fn close(&mut self, site: Site, bracket: K) -> Result<(), Failure> {
        if let Err(failure) = self.tokens.sync(site, Choice::Start, either(K::Comma, bracket)) {
            return self.tokens.recover(&failure);
        }
        if self.tokens.look(1)? == K::Comma {
            self.tokens.take()?;
        }
        self.closing(site + 1, bracket, END).map(|_| ())
    }

    fn fields(&mut self) -> Result<Vec<Field>, Failure> {
        let mut fields = Vec::new();
        let start = self.tokens.current()?.offset;
        loop {
            let optional = self.optional_field(start)?;
            let colon = self.tokens.expect(47, K::Colon, EXPR)?;
            let value = self.expr(or_end(K::Comma))?;
            if let (Some((name, optional)), Some(colon)) = (optional, colon) {
                fields.push(Field { name, value, optional, offset: colon.offset });
            }
            if self.tokens.look(1)? != K::Comma || !OPTIONAL_FIELD_FIRST.contains(self.tokens.look(2)?) {
                return Ok(fields);
            }
            self.tokens.take()?;
        }
    }

    fn optional_field(&mut self, list: u32) -> Result<Option<(Name, bool)>, Failure> {
        let body = |parser: &mut Self| {
            parser.tokens.sync(58, Choice::Start, Next::only(OPTIONAL_FIELD_FIRST))?;
            let offset = parser.tokens.current()?.offset;
            let optional = parser.question(offset, "unsupported syntax '?'")?;
            Ok(parser.field_name(END, Some(list))?.map(|(name, _)| (name, optional)))
        };
        self.guarded(Rule::Elements, only(K::Colon), body, |_| None)
    }

    fn list(&mut self) -> Parsed {
        let bracket = self.tokens.take()?;
        let close = TokenSet::of(&[K::Comma, K::RightBracket]);
        let mut elements = Vec::new();
        if self.opening(50, OPTIONAL_EXPR_FIRST.with(close))? {
            if OPTIONAL_EXPR_FIRST.contains(self.tokens.look(1)?) {
                let follow = either(K::Comma, K::RightBracket);
                elements = self.guarded(Rule::Elements, follow, Self::elements, |_| Vec::new())?;
            }
            self.close(51, K::RightBracket)?;
        }
        let children: Vec<ExprId> = elements.iter().map(|element| element.value).collect();
        let id = self.builder.add(ExprKind::List(List { elements }), bracket.offset);
        Ok(self.flat(id, &children))
    }

    fn elements(&mut self) -> Result<Vec<ListElement>, Failure> {
        let mut elements = Vec::new();
        loop {
            let (value, optional) = self.optional_expr(or_end(K::Comma))?;
            elements.push(ListElement { value, optional });
            if !self.another_element()? {
                return Ok(elements);
            }
            self.tokens.take()?;
        }
    }

    /// Whether a comma and another element follow, rather than a trailing comma.
    fn another_element(&mut self) -> Result<bool, Failure> {
        Ok(self.tokens.look(1)? == K::Comma && OPTIONAL_EXPR_FIRST.contains(self.tokens.look(2)?))
    }

    fn optional_expr(&mut self, follow: Next) -> Result<(ExprId, bool), Failure> {
        let body = |parser: &mut Self| {
            parser.tokens.sync(53, Choice::Start, Next::only(OPTIONAL_EXPR_FIRST))?;
            let offset = parser.tokens.current()?.offset;
            let optional = parser.question(offset, "unsupported syntax '?'")?;
            Ok((parser.expr(END)?, optional))
        };
        self.guarded(Rule::Elements, follow, body, |parser| (parser.error_node(), false))
    }

    fn map(&mut self) -> Parsed {
        let brace = self.tokens.take()?;
        let close = TokenSet::of(&[K::Comma, K::RightBrace]);
        let mut entries = Vec::new();
        if self.opening(54, OPTIONAL_EXPR_FIRST.with(close))? {
            if OPTIONAL_EXPR_FIRST.contains(self.tokens.look(1)?) {
                let follow = either(K::Comma, K::RightBrace);
                entries = self.guarded(Rule::Elements, follow, Self::entries, |_| Vec::new())?;
            }
            self.close(55, K::RightBrace)?;
        }
        let children: Vec<ExprId> = entries.iter().flat_map(|entry| [entry.key, entry.value]).collect();
        let id = self.builder.add(ExprKind::Map(entries), brace.offset);
        Ok(self.flat(id, &children))
    }

    fn entries(&mut self) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        loop {
            let (key, optional) = self.optional_expr(only(K::Colon))?;
            let colon = self.tokens.expect(57, K::Colon, EXPR)?;
            let value = self.expr(or_end(K::Comma))?;
            let offset = colon.map_or(0, |token| token.offset);
            entries.push(Entry { key, value, optional, offset });
            if !self.another_element()? {
                return Ok(entries);
            }
            self.tokens.take()?;
        }
    }

    fn literal(&mut self) -> Parsed {
        let first = self.tokens.take()?;
        let token = if first.kind == K::Minus { self.tokens.take()? } else { first };
        let mut text = self.tokens.text(token).to_owned();
        if first.kind == K::Minus {
            text.insert(0, '-');
        }
        let value = match token.kind {
            K::Int => literal::int(&text).ok_or("invalid int literal"),
            K::Uint => literal::uint(&text).ok_or("invalid uint literal"),
            K::Float => literal::double(&text).ok_or("invalid double literal"),
            K::String => literal::string(&text).map(|value| Literal::String(value.into())),
            K::Bytes => literal::bytes(&text).map(|value| Literal::Bytes(Arc::from(value))),
            K::True => Ok(Literal::Bool(true)),
            K::False => Ok(Literal::Bool(false)),
            _ => Ok(Literal::Null),
        };
        match value {
            Ok(value) => Ok(self.builder.literal(value, first.offset)),
            Err(message) => Ok(self.complain(first.offset, message)),
        }
    }
}

/// Words kept for other languages: not variables, though fields may be called so.
fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "as" | "break"
            | "const"
            | "continue"
            | "else"
            | "for"
            | "function"
            | "if"
            | "import"
            | "let"
            | "loop"
            | "package"
            | "namespace"
            | "return"
            | "var"
            | "void"
            | "while"
    )
}
