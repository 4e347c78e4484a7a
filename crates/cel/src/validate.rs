//! Checks on literals, after types have been deduced.
//!
//! Mixed lists and maps, durations, timestamps and regular expressions that cannot be read, and formats
//! that do not fit their arguments are refused before an expression is ever evaluated.

use crate::ast::{Ast, Call, ExprId, ExprKind, Literal};
use crate::checker::{Checked, Reference};
use crate::error::Issues;
use crate::library::{check_format, regex};
use crate::time::{Duration, Timestamp};
use crate::types::Type;

/// Runs all checks, in the reference's order.
pub(crate) fn validate(checked: &Checked) -> Result<(), Issues> {
    let mut validator = Validator { checked, issues: Issues::new(checked.ast.source.clone()) };
    let mut nodes = Vec::new();
    collect(&checked.ast, checked.ast.root, false, &mut nodes);
    validator.mixed_lists(&nodes);
    validator.mixed_maps(&nodes);
    validator.literals(&nodes, "duration", |literal| match literal {
        Literal::String(text) => Duration::parse(text).is_some(),
        _ => false,
    });
    validator.literals(&nodes, "timestamp", |literal| match literal {
        Literal::String(text) => Timestamp::parse(text).is_some(),
        Literal::Int(seconds) => Timestamp::new(*seconds, 0).is_some(),
        _ => false,
    });
    // The first argument is meant to be the pattern. Of the global function it is the text: the reference
    // checks that, too.
    validator.literals(&nodes, "matches", |literal| match literal {
        Literal::String(text) => regex::compile(text).is_ok(),
        _ => true,
    });
    validator.formats(&nodes);
    if validator.issues.is_empty() { Ok(()) } else { Err(validator.issues) }
}

/// A node, and whether it is an argument of `format`, at any depth.
struct Visited {
    id: ExprId,
    in_format: bool,
}

/// Lists nodes in pre-order: receivers and arguments in the order in which they are written.
fn collect(ast: &Ast, id: ExprId, in_format: bool, nodes: &mut Vec<Visited>) {
    nodes.push(Visited { id, in_format });
    let mut visit = |id: ExprId, in_format: bool| collect(ast, id, in_format, nodes);
    match &ast.expr(id).kind {
        ExprKind::Error | ExprKind::Literal(_) | ExprKind::Ident(_) => {}
        ExprKind::Select(select) => visit(select.operand, in_format),
        ExprKind::Call(call) => {
            let in_format = in_format || &*call.function == "format";
            call.target.iter().chain(&call.args).for_each(|part| visit(*part, in_format));
        }
        ExprKind::List(list) => list.elements.iter().for_each(|element| visit(element.value, in_format)),
        ExprKind::Map(entries) => entries.iter().for_each(|entry| {
            visit(entry.key, in_format);
            visit(entry.value, in_format);
        }),
        ExprKind::Struct(object) => object.fields.iter().for_each(|field| visit(field.value, in_format)),
        ExprKind::Comprehension(c) => {
            for part in [c.range, c.init, c.condition, c.step, c.result] {
                visit(part, in_format);
            }
        }
    }
}

struct Validator<'c> {
    checked: &'c Checked,
    issues: Issues,
}

impl Validator<'_> {
    fn kind(&self, id: ExprId) -> &ExprKind {
        &self.checked.ast.expr(id).kind
    }

    fn report(&mut self, at: ExprId, message: String) {
        self.issues.report(Some(self.checked.ast.expr(at).offset), message);
    }

    fn mismatch(&mut self, at: ExprId, expected: &Type, found: &Type) {
        self.report(at, format!("expected type '{expected}' but found '{found}'"));
    }

    fn element_type(&self, id: ExprId, optional: bool) -> Type {
        let ty = self.checked.type_of(id);
        if optional { ty.optional_value().unwrap_or(ty).clone() } else { ty.clone() }
    }

    fn mixed_lists(&mut self, nodes: &[Visited]) {
        let checked = self.checked;
        for visited in nodes.iter().filter(|visited| !visited.in_format) {
            let ExprKind::List(list) = &checked.ast.expr(visited.id).kind else { continue };
            let mut expected: Option<Type> = None;
            for element in &list.elements {
                let ty = self.element_type(element.value, element.optional);
                match &expected {
                    None => expected = Some(ty),
                    Some(expected) if *expected == ty => {}
                    Some(expected) => {
                        let expected = expected.clone();
                        self.mismatch(element.value, &expected, &ty);
                        break;
                    }
                }
            }
        }
    }

    fn mixed_maps(&mut self, nodes: &[Visited]) {
        let checked = self.checked;
        for visited in nodes.iter().filter(|visited| !visited.in_format) {
            let ExprKind::Map(entries) = &checked.ast.expr(visited.id).kind else { continue };
            let Some(first) = entries.first() else { continue };
            let key_type = self.element_type(first.key, false);
            let value_type = self.element_type(first.value, first.optional);
            for entry in &entries[1..] {
                let (key, value) =
                    (self.element_type(entry.key, false), self.element_type(entry.value, entry.optional));
                if key != key_type {
                    self.mismatch(entry.key, &key_type, &key);
                }
                if value != value_type {
                    self.mismatch(entry.value, &value_type, &value);
                }
            }
        }
    }

    /// Reports calls of a function whose first argument is a literal that does not do.
    fn literals(&mut self, nodes: &[Visited], function: &str, is_valid: fn(&Literal) -> bool) {
        for visited in nodes {
            let Some(call) = self.call_of(visited.id, function) else { continue };
            let Some(first) = call.args.first().copied() else { continue };
            if let ExprKind::Literal(literal) = self.kind(first)
                && !is_valid(literal)
            {
                self.report(first, format!("invalid {function} argument"));
            }
        }
    }

    fn call_of(&self, id: ExprId, function: &str) -> Option<&Call> {
        let ExprKind::Call(call) = self.kind(id) else { return None };
        let name = match self.checked.reference(id) {
            Reference::Function { name, .. } => name,
            _ => &call.function,
        };
        (&**name == function).then_some(call)
    }

    fn formats(&mut self, nodes: &[Visited]) {
        for visited in nodes {
            let Some(call) = self.call_of(visited.id, "format") else { continue };
            let (Some(target), [arg]) = (call.target, &call.args[..]) else { continue };
            let ExprKind::Literal(Literal::String(format)) = self.kind(target) else { continue };
            let ExprKind::List(list) = self.kind(*arg) else { continue };
            let args: Vec<ExprId> = list.elements.iter().map(|element| element.value).collect();
            match check_format(self.checked, format, &args) {
                Err(error) => self.report(error.at.unwrap_or(visited.id), error.message),
                Ok(used) if args.len() > used => {
                    let given = args.len();
                    self.report(
                        visited.id,
                        format!(
                            "too many arguments supplied to string.format (expected {used}, got {given})"
                        ),
                    );
                }
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    fn check(expressions: &[&str], expect: &Expect) {
        let env = crate::k8s::environment();
        let mut out = String::new();
        for expression in expressions {
            let checked = env.compile(expression).unwrap();
            let outcome = match env.validate(&checked) {
                Ok(()) => "fine".to_owned(),
                Err(issues) => {
                    issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>().join("; ")
                }
            };
            out.extend([*expression, " => ", &outcome, "\n"]);
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn literals_that_cannot_be_meant() {
        check(
            &[
                "[1, 'a', 2.0]",
                "[1, dyn(2)]",
                "{'a': 1, 2: 'b'}",
                "'%s %s'.format([1, 'a'])",
                "duration('1d')",
                "duration(5)",
                "timestamp('x')",
                "timestamp(253402300800)",
                "'a'.matches('x++')",
                "matches('[', 'a')",
                "'%s'.format([1, 2])",
                "'%s %s'.format([1])",
                "'%d'.format(['a'])",
                "'%'.format([1])",
                "'%.3z'.format([1])",
                "[?optional.of(1), 2]",
            ],
            &expect![[r#"
                [1, 'a', 2.0] => expected type 'int' but found 'string'
                [1, dyn(2)] => expected type 'int' but found 'dyn'
                {'a': 1, 2: 'b'} => expected type 'string' but found 'int'; expected type 'int' but found 'string'
                '%s %s'.format([1, 'a']) => fine
                duration('1d') => invalid duration argument
                duration(5) => invalid duration argument
                timestamp('x') => invalid timestamp argument
                timestamp(253402300800) => invalid timestamp argument
                'a'.matches('x++') => invalid matches argument
                matches('[', 'a') => invalid matches argument
                '%s'.format([1, 2]) => too many arguments supplied to string.format (expected 1, got 2)
                '%s %s'.format([1]) => index 1 out of range
                '%d'.format(['a']) => error during formatting: decimal clause can only be used on integers, was given string
                '%'.format([1]) => unexpected end of string
                '%.3z'.format([1]) => could not parse formatting clause: unrecognized formatting clause "z"
                [?optional.of(1), 2] => fine
            "#]],
        );
    }
}
