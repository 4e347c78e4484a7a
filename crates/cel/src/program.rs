//! Programs: checked expressions ready to be evaluated, many times and from many threads.

use crate::ast::Name;
use crate::env::{Constructor, Implementation, Overload, RunCost};
use crate::error::EvalError;
use crate::eval;
use crate::value::{Evaluated, Value};

/// A planned expression.
///
/// Constants are folded, names are slots, overloads are resolved. Evaluation borrows from the program and
/// from the values given; it allocates only for values that the expression itself creates.
#[derive(Debug)]
pub struct Program {
    pub(crate) root: Node,
    /// Variables of the environment that the expression reads.
    pub(crate) variables: Vec<Name>,
    /// Places for loop variables.
    pub(crate) slots: usize,
}

/// What an evaluation gave and what it cost.
#[derive(Debug)]
pub struct Outcome<'a> {
    pub result: Evaluated<'a>,
    pub cost: u64,
}

/// Gives variables their values.
pub trait Activation<'a> {
    /// The value of a variable; `None` when it has none. An absent value, or an error in its place, only
    /// matters if the variable is read.
    fn variable(&self, name: &str) -> Option<Evaluated<'a>>;
}

impl<'a> Activation<'a> for [(&str, Value<'a>)] {
    fn variable(&self, name: &str) -> Option<Evaluated<'a>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| Ok(value.clone()))
    }
}

impl<'a, const N: usize> Activation<'a> for [(&str, Value<'a>); N] {
    fn variable(&self, name: &str) -> Option<Evaluated<'a>> {
        self.as_slice().variable(name)
    }
}

impl<'a> Activation<'a> for Vec<(&str, Value<'a>)> {
    fn variable(&self, name: &str) -> Option<Evaluated<'a>> {
        self.as_slice().variable(name)
    }
}

impl Program {
    /// Evaluates without a limit.
    pub fn evaluate<'a>(&'a self, variables: &(impl Activation<'a> + ?Sized)) -> Evaluated<'a> {
        self.evaluate_within(u64::MAX, variables).result
    }

    /// Evaluates until done or until the cost exceeds `limit`, and says what it cost.
    ///
    /// ```
    /// let program = cel::Env::standard().program("[1, 2, 3].all(x, x > 0)").unwrap();
    /// assert_eq!(program.evaluate_within(100, &[]).cost, 16);
    /// let stopped = program.evaluate_within(10, &[]).result.unwrap_err();
    /// assert_eq!(stopped.kind(), cel::EvalErrorKind::CostLimit);
    /// ```
    pub fn evaluate_within<'a>(
        &'a self,
        limit: u64,
        variables: &(impl Activation<'a> + ?Sized),
    ) -> Outcome<'a> {
        eval::evaluate(self, limit, &|name| variables.variable(name))
    }

    /// The variables of the environment that the expression reads.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|name| &**name)
    }
}

/// One step of a program.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Not(Box<Unary>),
    Equals(Box<Equality>),
    Operator(Box<Operator>),
    Call(Box<Call>),
    List(Box<ListNode>),
    Map(Box<[EntryNode]>),
    Object(Box<ObjectNode>),
    /// Membership in a constant list of scalars.
    InConstant(Box<InConstant>),
    OptionalOr(Box<[Node; 2]>),
    OptionalOrValue(Box<[Node; 2]>),
    Fold(Box<Fold>),
}

/// A variable or an operand, followed by fields and indexes.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
    /// `has(…)`: the last qualifier is only tested for.
    pub(crate) test_only: bool,
}

impl Attribute {
    /// Adds a step. Most paths are short and kept for long, so that no place is held for more.
    pub(crate) fn qualify(&mut self, qualifier: Qualifier) {
        self.qualifiers.reserve_exact(1);
        self.qualifiers.push(qualifier);
    }
}

#[derive(Debug)]
pub(crate) enum Base {
    /// A variable of the environment, by its place in [`Program::variables`].
    Variable(usize),
    /// A loop variable, by its slot.
    Local(usize),
    Operand(Node),
    Conditional(Box<Conditional>),
}

#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Node,
    pub(crate) truthy: Branch,
    pub(crate) falsy: Branch,
}

/// A branch that is an attribute costs its qualifiers only.
#[derive(Debug)]
pub(crate) enum Branch {
    Attribute(Attribute),
    Operand(Node),
}

#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: KeyNode,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) enum KeyNode {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    Operand(Node),
}

#[derive(Debug)]
pub(crate) struct Unary {
    pub(crate) operand: Node,
    pub(crate) cost: CallCosts,
}

#[derive(Debug)]
pub(crate) struct Equality {
    pub(crate) left: Node,
    pub(crate) right: Node,
    pub(crate) negated: bool,
    pub(crate) cost: CallCosts,
}

/// An operator with two operands, or `-` with one and a right side that is never read.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) kind: OperatorKind,
    pub(crate) left: Node,
    pub(crate) right: Node,
    pub(crate) cost: CallCosts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorKind {
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    In,
}

/// How a call is charged: rules of the function, then of the overload, then the language's.
#[derive(Clone, Default)]
pub(crate) struct CallCosts {
    pub(crate) custom: Vec<RunCost>,
    /// Whether the custom rules concern a library's own values only.
    pub(crate) opaque_only: bool,
    pub(crate) overload: Option<Name>,
    pub(crate) rule: CostRule,
}

impl CallCosts {
    /// Whether a custom rule may have something to say about a call with this first argument.
    pub(crate) fn asks_about(&self, first: Option<&Value<'_>>) -> bool {
        !self.custom.is_empty() && (!self.opaque_only || matches!(first, Some(Value::Opaque(_))))
    }
}

impl std::fmt::Debug for CallCosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallCosts").field("rule", &self.rule).finish_non_exhaustive()
    }
}

/// The language's own rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CostRule {
    #[default]
    One,
    /// The first argument is traversed.
    Traverse,
    /// The list on the right is searched.
    Search,
    /// The shorter of two is traversed.
    Shorter,
    /// Both are traversed.
    Both,
    /// A regular expression is matched.
    Regex,
    /// Text is searched in text.
    Contains,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: Name,
    pub(crate) args: Vec<Node>,
    pub(crate) dispatch: Dispatch,
    pub(crate) cost: CallCosts,
    /// Whether a failing argument keeps the rest from being evaluated, and the call from being charged.
    pub(crate) stops_early: bool,
}

pub(crate) enum Dispatch {
    /// One implementation, known to fit.
    Fixed(Implementation),
    /// Overloads to be tried by the types of the arguments.
    ByType(Vec<Overload>),
}

impl std::fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dispatch::Fixed(_) => f.write_str("Fixed"),
            Dispatch::ByType(overloads) => f.debug_tuple("ByType").field(overloads).finish(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct ListNode {
    pub(crate) elements: Vec<(Node, bool)>,
}

#[derive(Debug)]
pub(crate) struct EntryNode {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) struct ObjectNode {
    pub(crate) name: Name,
    pub(crate) fields: Vec<(Name, Node, bool)>,
    /// Without one the type is known, but objects of it cannot be made.
    pub(crate) constructor: Option<Constructor>,
}

#[derive(Debug)]
pub(crate) struct InConstant {
    pub(crate) operand: Node,
    /// The list's items as keys.
    pub(crate) items: crate::collections::Entries<'static>,
}

/// A loop.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    /// Slots of the loop variables.
    pub(crate) variable: usize,
    pub(crate) second_variable: Option<usize>,
    pub(crate) kind: FoldKind,
}

#[derive(Debug)]
pub(crate) enum FoldKind {
    All {
        predicate: Node,
    },
    Exists {
        predicate: Node,
    },
    ExistsOne {
        predicate: Node,
    },
    Collect {
        filter: Option<Node>,
        element: Node,
    },
    /// Adds an entry per element.
    Insert {
        filter: Option<Node>,
        key: Node,
        value: Node,
    },
    /// Adds the entries of a map per element.
    InsertMap {
        filter: Option<Node>,
        entries: Node,
    },
    /// Names a value; evaluated when first read.
    Bind {
        slot: usize,
        init: Node,
        result: Node,
    },
}

/// A value that is not there when read.
pub(crate) fn no_such_attribute(name: &str) -> EvalError {
    EvalError::new(format!("no such attribute(s): {name}"))
}
