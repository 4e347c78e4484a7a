//! From checked expression to program.
//!
//! Literals of constants become constants, conversions of constants are done now (and refused now when
//! they fail), `in` with a constant list becomes a look-up, macro loops are recognised and get steps of
//! their own. What is folded costs nothing at run time, as in the reference.

use std::fmt;

use crate::ast::{self, ACCUMULATOR, Comprehension, ExprId, ExprKind, Literal, Name, operators as op};
use crate::checker::{Checked, Reference, qualified_name};
use crate::collections::Entries;
use crate::cost::standard_rule;
use crate::env::{Env, Function};
use crate::error::{EvalError, Issues};
use crate::eval;
use crate::program::{
    Attribute, Base, Branch, Call, CallCosts, Conditional, CostRule, Dispatch, EntryNode, Equality, Fold,
    FoldKind, InConstant, KeyNode, ListNode, Node, ObjectNode, Operator, OperatorKind, Program, Qualifier,
    Unary,
};
use crate::syntax::macros::MAP_INSERT;
use crate::types::Type;
use crate::value::{ByteStr, Str, Value};

/// Why an expression could not be made into a program.
#[derive(Debug)]
pub enum ProgramError {
    /// It does not parse or check.
    Issues(Issues),
    /// A constant part of it fails.
    Constant(EvalError),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Issues(issues) => issues.fmt(f),
            ProgramError::Constant(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProgramError {}

impl From<EvalError> for ProgramError {
    fn from(error: EvalError) -> Self {
        ProgramError::Constant(error)
    }
}

type Planned = Result<Node, ProgramError>;

pub(crate) fn plan(checked: &Checked, env: &Env) -> Result<Program, ProgramError> {
    let mut planner =
        Planner { checked, env, variables: Vec::new(), scopes: Vec::new(), slots_in_use: 0, slots: 0 };
    let root = planner.node(checked.ast.root)?;
    Ok(Program { root, slots: planner.slots, variables: planner.variables })
}

struct Planner<'c> {
    checked: &'c Checked,
    env: &'c Env,
    variables: Vec<Name>,
    /// Loop variables in sight, with their slots.
    scopes: Vec<(Name, usize)>,
    slots_in_use: usize,
    slots: usize,
}

impl Planner<'_> {
    fn node(&mut self, id: ExprId) -> Planned {
        let checked = self.checked;
        match &checked.ast.expr(id).kind {
            ExprKind::Error => Err(EvalError::new("invalid expression").into()),
            ExprKind::Literal(literal) => Ok(Node::Constant(constant(literal))),
            ExprKind::Ident(name) => self.ident(id, name),
            ExprKind::Select(select) => self.select(id, select),
            ExprKind::Call(call) => self.call(id, call),
            ExprKind::List(list) => {
                let mut elements = Vec::with_capacity(list.elements.len());
                for element in &list.elements {
                    elements.push((self.node(element.value)?, element.optional));
                }
                Ok(fold_constant(Node::List(Box::new(ListNode { elements }))))
            }
            ExprKind::Map(entries) => {
                let mut nodes = Vec::with_capacity(entries.len());
                for entry in entries {
                    let (key, value) = (self.node(entry.key)?, self.node(entry.value)?);
                    nodes.push(EntryNode { key, value, optional: entry.optional });
                }
                Ok(fold_constant(Node::Map(nodes.into())))
            }
            ExprKind::Struct(object) => self.object(id, object),
            ExprKind::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn nodes(&mut self, ids: impl IntoIterator<Item = ExprId>) -> Result<Vec<Node>, ProgramError> {
        ids.into_iter().map(|id| self.node(id)).collect()
    }

    fn ident(&mut self, id: ExprId, name: &Name) -> Planned {
        match self.checked.reference(id) {
            Reference::Type(name) => self.type_constant(id, name),
            Reference::Variable(full_name) => Ok(self.variable(full_name)),
            Reference::Local(name) => Ok(self.local(name).unwrap_or_else(|| self.variable(name))),
            _ => {
                if let Some(node) = self.local(name) {
                    return Ok(node);
                }
                let known = self.env.resolve(name, |candidate| self.env.variable(candidate).map(|_| ()));
                if let Some((full_name, ())) = known {
                    return Ok(self.variable(&full_name));
                }
                match self.env.resolve(name, |candidate| self.env.named_type(candidate)) {
                    Some((_, ty)) => Ok(type_value(&ty)),
                    None => Ok(self.variable(name)),
                }
            }
        }
    }

    fn type_constant(&self, id: ExprId, name: &str) -> Planned {
        if !self.env.is_type_value(name) {
            return Err(EvalError::new(format!("reference to undefined type: {name}")).into());
        }
        Ok(match self.checked.type_of(id) {
            Type::Type(Some(of)) => type_value(of),
            other => type_value(other),
        })
    }

    fn local(&self, name: &str) -> Option<Node> {
        let (_, slot) = self.scopes.iter().rev().find(|(known, _)| &**known == name)?;
        Some(attribute(Base::Local(*slot)))
    }

    fn variable(&mut self, name: &Name) -> Node {
        let known = self.variables.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.variables.push(name.clone());
            self.variables.len() - 1
        });
        attribute(Base::Variable(index))
    }

    fn select(&mut self, id: ExprId, select: &ast::Select) -> Planned {
        match self.checked.reference(id) {
            Reference::Type(name) => return self.type_constant(id, name),
            Reference::Variable(name) => return Ok(self.variable(name)),
            _ => {}
        }
        if !self.checked.has_types
            && !select.test_only
            && let Some(name) = qualified_name(&self.checked.ast, id)
            && self.local(name.split('.').next().unwrap_or_default()).is_none()
            && let Some((name, ())) = self.env.resolve(&name, |name| self.env.variable(name).map(|_| ()))
        {
            return Ok(self.variable(&name));
        }
        let operand = self.node(select.operand)?;
        let mut attribute = into_attribute(operand);
        let key = KeyNode::Constant(Value::string(select.field.clone()));
        attribute.qualify(Qualifier { key, optional: false });
        attribute.test_only = select.test_only;
        Ok(Node::Attribute(Box::new(attribute)))
    }

    fn call(&mut self, id: ExprId, call: &ast::Call) -> Planned {
        let (name, overloads, is_namespace) = match self.checked.reference(id) {
            Reference::Function { name, overloads, target_is_namespace } => {
                (name.clone(), overloads.clone(), *target_is_namespace)
            }
            _ => self.unchecked_function(call),
        };
        let target = if is_namespace { None } else { call.target };
        let args = self.nodes(target.into_iter().chain(call.args.iter().copied()))?;
        let function = self.env.function(&name).cloned();
        let costs = call_costs(&name, function.as_deref(), &overloads);
        let mut args = args.into_iter();
        let mut next = || args.next().unwrap_or(Node::Constant(Value::Null));
        let count = usize::from(target.is_some()) + call.args.len();
        Ok(match (&*name, count) {
            (op::AND, 2) => Node::And(Box::new([next(), next()])),
            (op::OR, 2) => Node::Or(Box::new([next(), next()])),
            (op::CONDITIONAL, 3) => conditional(next(), next(), next()),
            (op::NOT, 1) => Node::Not(Box::new(Unary { operand: next(), cost: costs })),
            (op::EQUALS | op::NOT_EQUALS, 2) => Node::Equals(Box::new(Equality {
                left: next(),
                right: next(),
                negated: &*name == op::NOT_EQUALS,
                cost: costs,
            })),
            (op::INDEX, 2) => index(next(), next(), false),
            (op::OPTIONAL_INDEX | op::OPTIONAL_SELECT, 2) => index(next(), next(), true),
            ("or", 2) if may_mean(&overloads, "optional_or_optional") => {
                Node::OptionalOr(Box::new([next(), next()]))
            }
            ("orValue", 2) if may_mean(&overloads, "optional_orValue_value") => {
                Node::OptionalOrValue(Box::new([next(), next()]))
            }
            (other, 2) if operator(other).is_some() => {
                let kind = operator(other).unwrap_or(OperatorKind::Add);
                plan_operator(kind, next(), next(), costs, &overloads)
            }
            _ => {
                return self.function_call(id, &name, function.as_deref(), &overloads, args.collect(), costs);
            }
        })
    }

    /// Finds the function of a call that was not checked.
    fn unchecked_function(&self, call: &ast::Call) -> (Name, Vec<Name>, bool) {
        let find = |name: &str| self.env.function(name).map(|_| ());
        if let Some(target) = call.target
            && let Some(prefix) = qualified_name(&self.checked.ast, target)
            && let Some((name, ())) = self.env.resolve(&format!("{prefix}.{}", call.function), find)
        {
            return (name, Vec::new(), true);
        }
        match self.env.resolve(&call.function, find) {
            Some((name, ())) => (name, Vec::new(), false),
            None => (call.function.clone(), Vec::new(), false),
        }
    }

    fn function_call(
        &mut self,
        id: ExprId,
        name: &Name,
        function: Option<&Function>,
        overloads: &[Name],
        args: Vec<Node>,
        cost: CallCosts,
    ) -> Planned {
        let is_member =
            matches!(&self.checked.ast.expr(id).kind, ExprKind::Call(call) if call.target.is_some());
        let candidates: Vec<_> = function
            .map(|function| function.overloads.iter())
            .into_iter()
            .flatten()
            .filter(|overload| overloads.is_empty() || overloads.contains(&overload.id))
            .filter(|overload| self.checked.has_types || !is_member || overload.params.len() == args.len())
            .cloned()
            .collect();
        let stops_early = args.len() > 2;
        if let [only] = candidates.as_slice() {
            let constants: Vec<Option<&Value<'_>>> = args.iter().map(as_constant).collect();
            if let Some(specializer) = only.specializer
                && let Some(implementation) = specializer(&constants)?
            {
                let dispatch = Dispatch::Fixed(implementation);
                let call = Call { function: name.clone(), args, dispatch, cost, stops_early: true };
                return Ok(Node::Call(Box::new(call)));
            }
        }
        let fixed = match candidates.as_slice() {
            [only] if self.checked.has_types && self.is_certain(id) => only.implementation.clone(),
            _ => None,
        };
        let dispatch = fixed.map_or(Dispatch::ByType(candidates), Dispatch::Fixed);
        let call = Call { function: name.clone(), args, dispatch, cost, stops_early };
        let node = Node::Call(Box::new(call));
        if is_conversion(name) && is_constant_call(&node) {
            return Ok(Node::Constant(eval::constant(&node)?));
        }
        Ok(node)
    }

    /// Whether the arguments are certain to have the types that were deduced.
    fn is_certain(&self, id: ExprId) -> bool {
        let ExprKind::Call(call) = &self.checked.ast.expr(id).kind else { return false };
        let certain = |id: &ExprId| !has_dyn(self.checked.type_of(*id));
        call.target.iter().chain(&call.args).all(certain)
    }

    fn object(&mut self, id: ExprId, object: &ast::Struct) -> Planned {
        let name = match self.checked.reference(id) {
            Reference::Type(name) => name.clone(),
            _ => object.type_name.clone(),
        };
        let Some((name, constructor)) =
            self.env.resolve(&name, |name| Some(self.env.object(name)?.constructor))
        else {
            return Err(EvalError::new(format!("unknown type: {name}")).into());
        };
        let mut fields = Vec::with_capacity(object.fields.len());
        for field in &object.fields {
            fields.push((field.name.clone(), self.node(field.value)?, field.optional));
        }
        Ok(Node::Object(Box::new(ObjectNode { name, fields, constructor })))
    }

    fn declare(&mut self, name: &Name) -> usize {
        let slot = self.slots_in_use;
        self.slots_in_use += 1;
        self.slots = self.slots.max(self.slots_in_use);
        self.scopes.push((name.clone(), slot));
        slot
    }

    fn forget(&mut self, count: usize) {
        self.slots_in_use -= count;
        self.scopes.truncate(self.scopes.len() - count);
    }

    fn comprehension(&mut self, comprehension: &Comprehension) -> Planned {
        if &*comprehension.accumulator != ACCUMULATOR {
            let init = self.node(comprehension.init)?;
            let range = self.node(comprehension.range)?;
            let slot = self.declare(&comprehension.accumulator);
            let result = self.node(comprehension.result)?;
            self.forget(1);
            let kind = FoldKind::Bind { slot, init, result };
            return Ok(Node::Fold(Box::new(Fold { range, variable: slot, second_variable: None, kind })));
        }
        let range = self.node(comprehension.range)?;
        let variable = self.declare(&comprehension.variable);
        let second_variable = comprehension.second_variable.as_ref().map(|name| self.declare(name));
        let kind = self.fold_kind(comprehension)?;
        self.forget(1 + usize::from(second_variable.is_some()));
        Ok(Node::Fold(Box::new(Fold { range, variable, second_variable, kind })))
    }

    /// Recognises the macro that a loop came from.
    fn fold_kind(&mut self, comprehension: &Comprehension) -> Result<FoldKind, ProgramError> {
        let unsupported = || ProgramError::from(EvalError::new("unsupported comprehension"));
        let (function, args) = self.call_parts(comprehension.step).ok_or_else(unsupported)?;
        match (&*function, args.as_slice()) {
            (op::AND, [_, predicate]) => Ok(FoldKind::All { predicate: self.node(*predicate)? }),
            (op::OR, [_, predicate]) => Ok(FoldKind::Exists { predicate: self.node(*predicate)? }),
            (op::CONDITIONAL, [filter, step, _]) => {
                let is_count = matches!(
                    self.checked.ast.expr(comprehension.init).kind,
                    ExprKind::Literal(Literal::Int(_))
                );
                let filter = self.node(*filter)?;
                if is_count {
                    return Ok(FoldKind::ExistsOne { predicate: filter });
                }
                self.accumulation(*step, Some(filter))
            }
            _ => self.accumulation(comprehension.step, None),
        }
    }

    fn accumulation(&mut self, step: ExprId, filter: Option<Node>) -> Result<FoldKind, ProgramError> {
        let unsupported = || ProgramError::from(EvalError::new("unsupported comprehension"));
        let (function, args) = self.call_parts(step).ok_or_else(unsupported)?;
        match (&*function, args.as_slice()) {
            (op::ADD, [_, element]) => Ok(FoldKind::Collect { filter, element: self.node(*element)? }),
            (MAP_INSERT, [_, key, value]) => {
                let (key, value) = (self.node(*key)?, self.node(*value)?);
                Ok(FoldKind::Insert { filter, key, value })
            }
            (MAP_INSERT, [_, entries]) => Ok(FoldKind::InsertMap { filter, entries: self.node(*entries)? }),
            _ => Err(unsupported()),
        }
    }

    fn call_parts(&self, id: ExprId) -> Option<(Name, Vec<ExprId>)> {
        match &self.checked.ast.expr(id).kind {
            ExprKind::Call(call) => Some((call.function.clone(), call.args.clone())),
            _ => None,
        }
    }
}

fn has_dyn(ty: &Type) -> bool {
    match ty {
        Type::Dyn | Type::Error | Type::Null | Type::Param(_) | Type::Var(_) | Type::Wrapper(_) => true,
        Type::List(element) => has_dyn(element),
        Type::Map(entry) => has_dyn(&entry.0) || has_dyn(&entry.1),
        Type::Opaque(_, params) => params.iter().any(has_dyn),
        _ => false,
    }
}

fn may_mean(overloads: &[Name], id: &str) -> bool {
    overloads.is_empty() || overloads.iter().any(|overload| &**overload == id)
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Uint(value) => Value::Uint(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(text) => Value::String(Str::Shared(text.clone())),
        Literal::Bytes(bytes) => Value::Bytes(ByteStr::Shared(bytes.clone())),
    }
}

fn type_value(ty: &Type) -> Node {
    Node::Constant(Value::Type(Str::Shared(ty.runtime_name().into())))
}

fn attribute(base: Base) -> Node {
    Node::Attribute(Box::new(Attribute { base, qualifiers: Vec::new(), test_only: false }))
}

fn into_attribute(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) if !attribute.test_only => *attribute,
        other => Attribute { base: Base::Operand(other), qualifiers: Vec::new(), test_only: false },
    }
}

fn into_branch(node: Node) -> Branch {
    match node {
        Node::Attribute(attribute) if !attribute.test_only => Branch::Attribute(*attribute),
        other => Branch::Operand(other),
    }
}

fn conditional(condition: Node, truthy: Node, falsy: Node) -> Node {
    attribute(Base::Conditional(Box::new(Conditional {
        condition,
        truthy: into_branch(truthy),
        falsy: into_branch(falsy),
    })))
}

fn index(operand: Node, key: Node, optional: bool) -> Node {
    let mut attribute = into_attribute(operand);
    let key = match key {
        Node::Constant(value) => KeyNode::Constant(value),
        Node::Attribute(key) if !key.test_only => KeyNode::Attribute(key),
        other => KeyNode::Operand(other),
    };
    attribute.qualify(Qualifier { key, optional });
    Node::Attribute(Box::new(attribute))
}

fn operator(name: &str) -> Option<OperatorKind> {
    Some(match name {
        op::LESS => OperatorKind::Less,
        op::LESS_EQUALS => OperatorKind::LessEquals,
        op::GREATER => OperatorKind::Greater,
        op::GREATER_EQUALS => OperatorKind::GreaterEquals,
        op::ADD => OperatorKind::Add,
        op::SUBTRACT => OperatorKind::Subtract,
        op::MULTIPLY => OperatorKind::Multiply,
        op::DIVIDE => OperatorKind::Divide,
        op::MODULO => OperatorKind::Modulo,
        op::IN => OperatorKind::In,
        _ => return None,
    })
}

fn plan_operator(kind: OperatorKind, left: Node, right: Node, cost: CallCosts, overloads: &[Name]) -> Node {
    if kind == OperatorKind::In
        && matches!(overloads, [only] if &**only == "in_list")
        && let Node::Constant(Value::List(list)) = &right
    {
        if list.len() == 0 {
            return Node::Constant(Value::Bool(false));
        }
        if let Some(items) = scalar_items(list) {
            return Node::InConstant(Box::new(InConstant { operand: left, items }));
        }
    }
    Node::Operator(Box::new(Operator { kind, left, right, cost }))
}

/// The items of a list as keys, if all are scalars that can be keys.
fn scalar_items(list: &crate::collections::List<'static>) -> Option<Entries<'static>> {
    let mut entries = Entries::new();
    for item in list.iter() {
        let item = item.ok()?;
        match item {
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_) => entries.insert(item, Value::Null),
            _ => return None,
        };
    }
    Some(entries)
}

fn call_costs(name: &str, function: Option<&Function>, overloads: &[Name]) -> CallCosts {
    let overload = match (name, overloads) {
        // Equality is one overload whatever was deduced.
        (op::EQUALS, _) => Some(Name::from("equals")),
        (op::NOT_EQUALS, _) => Some(Name::from("not_equals")),
        (_, [only]) => Some(only.clone()),
        _ => None,
    };
    let mut custom = Vec::new();
    let mut opaque_only = true;
    if let Some(function) = function {
        let found = overload.as_ref().and_then(|id| function.overloads.iter().find(|known| known.id == *id));
        for cost in [Some(&function.cost), found.map(|found| &found.cost)].into_iter().flatten() {
            if let Some(run) = &cost.run {
                custom.push(run.clone());
                opaque_only &= cost.opaque_only;
            }
        }
    }
    let rule = overload.as_deref().map_or(CostRule::One, standard_rule);
    CallCosts { custom, opaque_only, overload, rule }
}

fn is_conversion(name: &str) -> bool {
    matches!(
        name,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    )
}

fn as_constant(node: &Node) -> Option<&Value<'static>> {
    match node {
        Node::Constant(value) => Some(value),
        _ => None,
    }
}

fn is_constant_call(node: &Node) -> bool {
    matches!(node, Node::Call(call) if matches!(call.args.as_slice(), [Node::Constant(_)]))
}

/// A list or map of constants is a constant.
fn fold_constant(node: Node) -> Node {
    let is_constant = |node: &Node| matches!(node, Node::Constant(_));
    let all_constant = match &node {
        Node::List(list) => list.elements.iter().all(|(element, _)| is_constant(element)),
        Node::Map(entries) => {
            entries.iter().all(|entry| is_constant(&entry.key) && is_constant(&entry.value))
        }
        _ => false,
    };
    if !all_constant {
        return node;
    }
    match eval::constant(&node) {
        Ok(value) => Node::Constant(value),
        // It fails every time it is evaluated; evaluation then says so.
        Err(_) => node,
    }
}
