//! From the rules of a schema node to programs with their costs.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go, v1.36.

use std::sync::Arc;

use cel::cost::estimate::estimate;
use cel::{Env, Program, ProgramError, Type};

use super::types::{Declaration, OldSelf};
use crate::field_path::{Brackets, resolve};
use crate::structural::{Node, Rule};

/// A rule that was compiled, or why it was not.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) program: Result<Program, String>,
    /// Whether the rule compares with what was there before.
    pub(super) uses_old_self: bool,
    /// What one evaluation can cost at most.
    pub(super) max_cost: u64,
    /// The program that makes the message. Not there when the rule itself has no program.
    pub(super) message: Option<Result<Program, String>>,
    pub(super) message_max_cost: u64,
    /// The field that is to blame, in the spelling of field errors and relative to the value; often empty.
    pub(super) field_path: Box<str>,
}

/// Compiles the rules of a node, each on its own.
pub(super) fn compile(node: &Node, declaration: &Declaration) -> Box<[Compiled]> {
    let mut compiler = Compiler { node, declaration, plain: None, optional: None };
    node.rules.iter().map(|rule| compiler.rule(rule)).collect()
}

/// The environments of one node's rules, made when they are needed.
struct Compiler<'n> {
    node: &'n Node,
    declaration: &'n Declaration,
    plain: Option<Arc<Env>>,
    optional: Option<Arc<Env>>,
}

/// An expression that was compiled.
struct Expression {
    program: Result<Program, String>,
    max_cost: u64,
    uses_old_self: bool,
}

impl Compiler<'_> {
    fn environment(&mut self, rule: &Rule) -> Arc<Env> {
        let (kept, old_self) = match rule.optional_old_self {
            Some(true) => (&mut self.optional, OldSelf::Optional),
            _ => (&mut self.plain, OldSelf::Plain),
        };
        Arc::clone(kept.get_or_insert_with(|| self.declaration.environment(old_self)))
    }

    fn rule(&mut self, rule: &Rule) -> Compiled {
        let env = self.environment(rule);
        let own = self.expression(&env, &rule.rule, &Type::Bool);
        let message = (own.program.is_ok() && !rule.message_expression.is_empty())
            .then(|| self.expression(&env, &rule.message_expression, &Type::String));
        Compiled {
            program: own.program,
            uses_old_self: own.uses_old_self,
            max_cost: own.max_cost,
            message_max_cost: message.as_ref().map_or(0, |message| message.max_cost),
            message: message.map(|message| message.program),
            field_path: self.field_path(rule),
        }
    }

    fn field_path(&self, rule: &Rule) -> Box<str> {
        if rule.field_path.is_empty() {
            return Box::default();
        }
        let found = resolve(&rule.field_path, self.node, Brackets::Allowed);
        found.map(|found| found.path.into()).unwrap_or_default()
    }

    fn expression(&self, env: &Env, text: &str, result: &Type) -> Expression {
        let is_message = *result == Type::String;
        let failed = |issues: cel::Issues| {
            let subject = if is_message { "messageExpression compilation" } else { "compilation" };
            format!("{subject} failed: {issues}")
        };
        let refused = |why| Expression { program: Err(why), max_cost: 0, uses_old_self: false };
        let checked = match env.compile(text) {
            Ok(checked) => checked,
            Err(issues) => return refused(failed(issues)),
        };
        if let Err(issues) = env.validate(&checked) {
            return refused(failed(issues));
        }
        if checked.result_type() != result {
            return refused(match is_message {
                true => "messageExpression must evaluate to a string".to_owned(),
                false => "cel expression must evaluate to a bool".to_owned(),
            });
        }
        let uses_old_self = checked.ast().mentions("oldSelf");
        let program = env.plan(&checked).map_err(|error| match error {
            ProgramError::Constant(error) => {
                let subject = if is_message { "messageExpression" } else { "program" };
                format!("{subject} instantiation failed: {error}")
            }
            ProgramError::Issues(issues) => failed(issues),
        });
        let max_cost = if program.is_ok() { estimate(&checked, env, self.declaration).max } else { 0 };
        Expression { program, max_cost, uses_old_self }
    }
}
