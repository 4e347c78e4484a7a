//! The parsed expression: nodes in one vector, macros already expanded.
//!
//! Operators are calls with the names below. A node may be referenced twice (`filter` uses its variable
//! as declaration and as element), never in a cycle.

use std::sync::Arc;

use crate::source::Source;

/// Names under which operators appear as functions.
pub mod operators {
    pub const CONDITIONAL: &str = "_?_:_";
    pub const AND: &str = "_&&_";
    pub const OR: &str = "_||_";
    pub const NOT: &str = "!_";
    pub const EQUALS: &str = "_==_";
    pub const NOT_EQUALS: &str = "_!=_";
    pub const LESS: &str = "_<_";
    pub const LESS_EQUALS: &str = "_<=_";
    pub const GREATER: &str = "_>_";
    pub const GREATER_EQUALS: &str = "_>=_";
    pub const ADD: &str = "_+_";
    pub const SUBTRACT: &str = "_-_";
    pub const MULTIPLY: &str = "_*_";
    pub const DIVIDE: &str = "_/_";
    pub const MODULO: &str = "_%_";
    pub const NEGATE: &str = "-_";
    pub const INDEX: &str = "_[_]";
    pub const OPTIONAL_INDEX: &str = "_[?_]";
    pub const OPTIONAL_SELECT: &str = "_?._";
    pub const IN: &str = "@in";
    pub const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";
}

/// The accumulator that macros declare.
pub(crate) const ACCUMULATOR: &str = "@result";
/// Its name in older versions of the language; still refused as a variable.
pub(crate) const OLD_ACCUMULATOR: &str = "__result__";

/// A name shared between nodes.
pub type Name = Arc<str>;

/// The index of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub(crate) u32);

impl ExprId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Ast {
    pub(crate) source: Source,
    pub(crate) nodes: Vec<Expr>,
    pub(crate) root: ExprId,
}

impl Ast {
    pub fn root(&self) -> ExprId {
        self.root
    }

    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }

    pub fn source(&self) -> &Source {
        &self.source
    }
}

/// A node and where it stands.
#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    /// Position in code points of the node's characteristic token: the operator, the dot, the parenthesis.
    pub offset: u32,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Stands where the text was not understood. Never part of an [`Ast`] without issues.
    Error,
    Literal(Literal),
    Ident(Name),
    Select(Select),
    Call(Call),
    List(List),
    Map(Vec<Entry>),
    Struct(Struct),
    Comprehension(Box<Comprehension>),
}

/// A constant written in the source.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// `operand.field`, or `has(operand.field)` when it only tests.
#[derive(Clone, Debug)]
pub struct Select {
    pub operand: ExprId,
    pub field: Name,
    pub test_only: bool,
}

/// `function(args)` or `target.function(args)`.
#[derive(Clone, Debug)]
pub struct Call {
    pub function: Name,
    pub target: Option<ExprId>,
    pub args: Vec<ExprId>,
}

/// `[a, ?b]`.
#[derive(Clone, Debug)]
pub struct List {
    pub elements: Vec<ListElement>,
}

/// One element of a list literal; an optional one (`?b`) is left out when it has no value.
#[derive(Clone, Copy, Debug)]
pub struct ListElement {
    pub value: ExprId,
    pub optional: bool,
}

/// One entry of a map literal.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: ExprId,
    pub value: ExprId,
    pub optional: bool,
    /// Position of the colon.
    pub offset: u32,
}

/// `type.Name{field: value}`.
#[derive(Clone, Debug)]
pub struct Struct {
    pub type_name: Name,
    pub fields: Vec<Field>,
}

/// One field of a struct literal.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Name,
    pub value: ExprId,
    pub optional: bool,
    /// Position of the colon.
    pub offset: u32,
}

/// A loop over a list or map; what macros expand to.
#[derive(Clone, Debug)]
pub struct Comprehension {
    pub range: ExprId,
    pub variable: Name,
    /// Second variable: index and item, or key and value.
    pub second_variable: Option<Name>,
    pub accumulator: Name,
    pub init: ExprId,
    pub condition: ExprId,
    pub step: ExprId,
    pub result: ExprId,
}
