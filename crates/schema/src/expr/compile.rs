//! From the rules of a schema node to programs with their costs.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go, v1.36.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use cel::cost::estimate::estimate;
use cel::{Env, Program, ProgramError, Type};

use super::types::{Declaration, OldSelf};
use crate::field_path::{Brackets, resolve};
use crate::structural::{Node, Rule};

/// A rule that was compiled, or why it was not.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Nothing for a blank rule, which only a default can meet: definitions with blank rules are refused.
    pub(super) program: Result<Option<Program>, String>,
    /// Whether the rule compares with what was there before.
    pub(super) uses_old_self: bool,
    /// What one evaluation can cost at most.
    pub(super) max_cost: u64,
    /// The program that makes the message. Not there when the rule itself has no program.
    pub(super) message: Option<Result<Program, String>>,
    pub(super) message_max_cost: u64,
    /// The field that is to blame, in the spelling of field errors and relative to the value.
    pub(super) field_path: Option<Box<str>>,
}

impl Compiled {
    const BLANK: Compiled = Compiled {
        program: Ok(None),
        uses_old_self: false,
        max_cost: 0,
        message: None,
        message_max_cost: 0,
        field_path: None,
    };
}

/// Compiles the rules of a node, each on its own.
pub(super) fn compile(node: &Node, declaration: &Declaration) -> Box<[Compiled]> {
    let mut compiler =
        Compiler { node, declaration, type_name: type_name(node), plain: None, optional: None };
    node.rules.iter().map(|rule| compiler.rule(rule)).collect()
}

/// The name of the type of `self`. Rules are not to name it, so it changes with them.
///
/// DIFFERENCE: the reference takes the number from the clock.
fn type_name(node: &Node) -> String {
    let mut hasher = DefaultHasher::new();
    node.rules.hash(&mut hasher);
    format!("selfType{}", hasher.finish() % 1_000_000_000)
}

/// The environments of one node's rules, made when they are needed.
struct Compiler<'n> {
    node: &'n Node,
    declaration: &'n Declaration,
    type_name: String,
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
        Arc::clone(kept.get_or_insert_with(|| self.declaration.environment(&self.type_name, old_self)))
    }

    fn rule(&mut self, rule: &Rule) -> Compiled {
        if rule.rule.trim().is_empty() {
            return Compiled::BLANK;
        }
        let env = self.environment(rule);
        let own = self.expression(&env, &rule.rule, &Type::Bool);
        let has_message = own.program.is_ok() && !rule.message_expression.is_empty();
        let message = has_message.then(|| self.expression(&env, &rule.message_expression, &Type::String));
        Compiled {
            program: own.program.map(Some),
            uses_old_self: own.uses_old_self,
            max_cost: own.max_cost,
            message_max_cost: message.as_ref().map_or(0, |message| message.max_cost),
            message: message.map(|message| message.program),
            field_path: self.field_path(rule),
        }
    }

    fn field_path(&self, rule: &Rule) -> Option<Box<str>> {
        let found = resolve(&rule.field_path, self.node, Brackets::Allowed).ok()?;
        (!found.path.is_empty()).then(|| found.path.into())
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
            let subject = if is_message {
                "messageExpression must evaluate to a string"
            } else {
                "cel expression must evaluate to a bool"
            };
            return refused(subject.to_owned());
        }
        let uses_old_self = checked.refers_to("oldSelf");
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
