//! Collects the nodes of an expression while it is parsed, and watches its size and nesting.

use crate::ast::{Ast, Call, Expr, ExprId, ExprKind, List, ListElement, Literal, Name, Select};
use crate::source::Source;

/// Bound: nodes of one expression. Text alone cannot reach it; `optMap`, which repeats its target, can.
const NODES_MAX: usize = 500_000;
/// The position of nodes that stand for text that was not understood at all.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// Bound: nesting of nodes, so that recursion over them fits an ordinary stack.
const HEIGHT_MAX: u16 = 600;

pub(crate) struct Builder {
    nodes: Vec<Expr>,
    /// How deep the node's own text nests, as the reference counts it: set by the parser.
    nesting: Vec<u16>,
    /// The length of the longest path below each node.
    height: Vec<u16>,
    oversized: bool,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Builder { nodes: Vec::new(), nesting: Vec::new(), height: Vec::new(), oversized: false }
    }

    pub(crate) fn add(&mut self, kind: ExprKind, offset: u32) -> ExprId {
        if self.nodes.len() >= NODES_MAX {
            self.oversized = true;
            return ExprId(0);
        }
        let height = 1 + self.height_of_children(&kind);
        if height > HEIGHT_MAX {
            self.oversized = true;
        }
        let id = ExprId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Expr { kind, offset });
        self.nesting.push(0);
        self.height.push(height);
        id
    }

    pub(crate) fn kind(&self, id: ExprId) -> &ExprKind {
        &self.nodes[id.index()].kind
    }

    pub(crate) fn offset(&self, id: ExprId) -> u32 {
        self.nodes[id.index()].offset
    }

    pub(crate) fn nesting(&self, id: ExprId) -> u16 {
        self.nesting[id.index()]
    }

    pub(crate) fn deepest(&self, ids: impl IntoIterator<Item = ExprId>) -> u16 {
        ids.into_iter().map(|id| self.nesting(id)).max().unwrap_or(0)
    }

    pub(crate) fn set_nesting(&mut self, id: ExprId, nesting: u16) {
        self.nesting[id.index()] = nesting;
    }

    /// Whether a bound was hit; the tree is then incomplete and must not be used.
    pub(crate) fn is_oversized(&self) -> bool {
        self.oversized
    }

    pub(crate) fn finish(self, source: Source, root: ExprId) -> Ast {
        Ast { source, nodes: self.nodes, root }
    }

    pub(crate) fn literal(&mut self, literal: Literal, offset: u32) -> ExprId {
        self.add(ExprKind::Literal(literal), offset)
    }

    pub(crate) fn ident(&mut self, name: &str, offset: u32) -> ExprId {
        self.add(ExprKind::Ident(name.into()), offset)
    }

    pub(crate) fn call(&mut self, function: &str, args: Vec<ExprId>, offset: u32) -> ExprId {
        self.add(ExprKind::Call(Call { function: function.into(), target: None, args }), offset)
    }

    pub(crate) fn member_call(
        &mut self,
        function: &str,
        target: ExprId,
        args: Vec<ExprId>,
        offset: u32,
    ) -> ExprId {
        self.add(ExprKind::Call(Call { function: function.into(), target: Some(target), args }), offset)
    }

    pub(crate) fn list(&mut self, values: &[ExprId], offset: u32) -> ExprId {
        let elements = values.iter().map(|value| ListElement { value: *value, optional: false }).collect();
        self.add(ExprKind::List(List { elements }), offset)
    }

    pub(crate) fn select(&mut self, operand: ExprId, field: Name, test_only: bool, offset: u32) -> ExprId {
        self.add(ExprKind::Select(Select { operand, field, test_only }), offset)
    }

    /// A second copy of a subtree.
    pub(crate) fn copy(&mut self, id: ExprId) -> ExprId {
        if self.nodes.len() >= NODES_MAX {
            self.oversized = true;
            return ExprId(0);
        }
        let Expr { mut kind, offset } = self.nodes[id.index()].clone();
        for child in children_mut(&mut kind) {
            *child = self.copy(*child);
        }
        let copy = self.add(kind, offset);
        let nesting = self.nesting(id);
        self.set_nesting(copy, nesting);
        copy
    }

    fn height_of_children(&self, kind: &ExprKind) -> u16 {
        let height = |id: &ExprId| self.height[id.index()];
        let highest = |ids: &mut dyn Iterator<Item = &ExprId>| ids.map(height).max().unwrap_or(0);
        match kind {
            ExprKind::Error | ExprKind::Literal(_) | ExprKind::Ident(_) => 0,
            ExprKind::Select(select) => height(&select.operand),
            ExprKind::Call(call) => highest(&mut call.target.iter().chain(&call.args)),
            ExprKind::List(list) => highest(&mut list.elements.iter().map(|element| &element.value)),
            ExprKind::Map(entries) => highest(&mut entries.iter().flat_map(|e| [&e.key, &e.value])),
            ExprKind::Struct(object) => highest(&mut object.fields.iter().map(|field| &field.value)),
            ExprKind::Comprehension(c) => {
                highest(&mut [&c.range, &c.init, &c.condition, &c.step, &c.result].into_iter())
            }
        }
    }
}

fn children_mut(kind: &mut ExprKind) -> Vec<&mut ExprId> {
    match kind {
        ExprKind::Error | ExprKind::Literal(_) | ExprKind::Ident(_) => Vec::new(),
        ExprKind::Select(select) => vec![&mut select.operand],
        ExprKind::Call(call) => call.args.iter_mut().chain(&mut call.target).collect(),
        ExprKind::List(list) => list.elements.iter_mut().map(|element| &mut element.value).collect(),
        ExprKind::Map(entries) => entries.iter_mut().flat_map(|e| [&mut e.key, &mut e.value]).collect(),
        ExprKind::Struct(object) => object.fields.iter_mut().map(|field| &mut field.value).collect(),
        ExprKind::Comprehension(c) => {
            vec![&mut c.range, &mut c.init, &mut c.condition, &mut c.step, &mut c.result]
        }
    }
}
