//! Evaluates programs and counts what that costs.
//!
//! Errors are values to `&&`, `||`, `all` and `exists`, which may make up for them; everywhere else the
//! first error is the result. The cost limit is checked whenever the cost grows and ends everything.

mod fold;
pub(crate) mod operators;
#[cfg(test)]
mod tests;

use crate::collections::{Entries, List, Map};
use crate::compare::{equal, list_index};
use crate::cost::{self, RunCall, run_cost};
use crate::error::{EvalError, EvalErrorKind};
use crate::program::{
    Attribute, Base, Branch, Call, CallCosts, Dispatch, EntryNode, Equality, InConstant, KeyNode, ListNode,
    Node, ObjectNode, Operator, Outcome, Program, Qualifier, Unary, no_such_attribute,
};
use crate::value::{Evaluated, Value};

/// Programs with at most this many variables and slots are evaluated without allocating places for them.
const INLINE_PLACES: usize = 6;

/// Evaluates a program with variables found by `resolve`.
pub(crate) fn evaluate<'a>(
    program: &'a Program,
    limit: u64,
    resolve: &dyn Fn(&str) -> Option<Evaluated<'a>>,
) -> Outcome<'a> {
    let mut inline_variables = [const { None }; INLINE_PLACES];
    let mut inline_locals = [const { Slot::Empty }; INLINE_PLACES];
    let (mut many_variables, mut many_locals) = (Vec::new(), Vec::new());
    let variables = places(&mut inline_variables, &mut many_variables, program.variables.len());
    let locals = places(&mut inline_locals, &mut many_locals, program.slots);
    for (place, name) in variables.iter_mut().zip(&program.variables) {
        *place = resolve(name);
    }
    let mut evaluator = Evaluator { program: Some(program), variables, locals, cost: 0, limit };
    let result = evaluator.node(&program.root);
    Outcome { result, cost: evaluator.cost }
}

fn places<'p, T: Default>(inline: &'p mut [T], many: &'p mut Vec<T>, count: usize) -> &'p mut [T] {
    if count <= inline.len() {
        return &mut inline[..count];
    }
    many.resize_with(count, T::default);
    many
}

/// Evaluates a step that depends on nothing.
pub(crate) fn constant(node: &Node) -> Result<Value<'static>, EvalError> {
    let mut evaluator =
        Evaluator { program: None, variables: &mut [], locals: &mut [], cost: 0, limit: u64::MAX };
    evaluator.node(node).map(|value| into_static(&value))
}

/// A copy that borrows nothing.
fn into_static(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(*value),
        Value::Int(value) => Value::Int(*value),
        Value::Uint(value) => Value::Uint(*value),
        Value::Double(value) => Value::Double(*value),
        Value::String(text) => Value::string(&**text),
        Value::Bytes(bytes) => Value::bytes(&**bytes),
        Value::Timestamp(value) => Value::Timestamp(*value),
        Value::Duration(value) => Value::Duration(*value),
        Value::Type(name) => Value::Type(crate::value::Str::Shared((&**name).into())),
        Value::List(list) => Value::list(list.iter().flatten().map(|item| into_static(&item)).collect()),
        Value::Map(map) => {
            let entry = |key: Value<'_>| {
                let value = map.get(&key)?.ok()?;
                Some((into_static(&key), into_static(&value)))
            };
            map.keys().into_iter().filter_map(entry).collect::<Entries<'static>>().into()
        }
        Value::Optional(inner) => {
            Value::Optional(inner.as_ref().map(|inner| std::sync::Arc::new(into_static(inner))))
        }
        Value::Opaque(opaque) => Value::Opaque(opaque.clone()),
    }
}

/// The place of a loop variable.
#[derive(Default)]
enum Slot<'a> {
    #[default]
    Empty,
    Value(Value<'a>),
    Error(EvalError),
    /// Evaluated when first read.
    Lazy(&'a Node),
}

struct Evaluator<'p, 'a> {
    program: Option<&'a Program>,
    variables: &'p mut [Option<Evaluated<'a>>],
    locals: &'p mut [Slot<'a>],
    cost: u64,
    limit: u64,
}

impl<'a> Evaluator<'_, 'a> {
    fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::cost_limit()) } else { Ok(()) }
    }

    // One function per kind of step: this one recurses most, and its frame has to be small.
    fn node(&mut self, node: &'a Node) -> Evaluated<'a> {
        match node {
            Node::Constant(value) => Ok(value.borrowed()),
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::And(terms) => self.and(terms),
            Node::Or(terms) => self.or(terms),
            Node::Not(unary) => self.not(unary),
            Node::Equals(equality) => self.equals(equality),
            Node::Operator(operator) => self.operator(operator),
            Node::Call(call) => self.call(call),
            Node::List(list) => self.list(list),
            Node::Map(entries) => self.map(entries),
            Node::Object(object) => self.object(object),
            Node::InConstant(membership) => self.in_constant(membership),
            Node::OptionalOr(sides) => self.optional_or(sides, false),
            Node::OptionalOrValue(sides) => self.optional_or(sides, true),
            Node::Fold(fold) => self.fold(fold),
        }
    }

    fn not(&mut self, unary: &'a Unary) -> Evaluated<'a> {
        let operand = self.settled(&unary.operand)?;
        self.charge_call(&unary.cost, std::slice::from_ref(&operand), None)?;
        operators::not(&operand?)
    }

    /// The value of a constant or of a plain variable, in place, and what reading it costs.
    fn peek(&self, node: &'a Node) -> Option<(&Value<'a>, u64)> {
        match node {
            Node::Constant(value) => Some((value, 0)),
            Node::Attribute(attribute) if attribute.qualifiers.is_empty() => match attribute.base {
                Base::Local(slot) => match &self.locals[slot] {
                    Slot::Value(value) => Some((value, cost::SELECT)),
                    _ => None,
                },
                Base::Variable(index) => match &self.variables[index] {
                    Some(Ok(value)) => Some((value, cost::SELECT)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn equals(&mut self, equality: &'a Equality) -> Evaluated<'a> {
        if let (Some((left, left_cost)), Some((right, right_cost))) =
            (self.peek(&equality.left), self.peek(&equality.right))
            && !equality.cost.asks_about(Some(left))
            && let Some(cost) = cost::scalar_cost(equality.cost.rule, left, right)
        {
            let result = equal(left, right);
            self.charge(left_cost + right_cost + cost)?;
            return match (result, equality.negated) {
                (Ok(same), negated) => Ok(Value::Bool(same != negated)),
                (Err(_), true) => Ok(Value::Bool(true)),
                (Err(error), false) => Err(error),
            };
        }
        let args = [self.settled(&equality.left)?, self.settled(&equality.right)?];
        self.charge_call(&equality.cost, &args, None)?;
        let [left, right] = args;
        let (left, right) = (left?, right?);
        if equality.negated {
            // Values that cannot be compared are different.
            return Ok(Value::Bool(!equal(&left, &right).unwrap_or(false)));
        }
        equal(&left, &right).map(Value::Bool)
    }

    fn operator(&mut self, operator: &'a Operator) -> Evaluated<'a> {
        if let (Some((left, left_cost)), Some((right, right_cost))) =
            (self.peek(&operator.left), self.peek(&operator.right))
            && !operator.cost.asks_about(Some(left))
            && let Some(cost) = cost::scalar_cost(operator.cost.rule, left, right)
        {
            let result = operators::apply(operator.kind, left, right);
            self.charge(left_cost + right_cost + cost)?;
            return result;
        }
        let args = [self.settled(&operator.left)?, self.settled(&operator.right)?];
        self.charge_call(&operator.cost, &args, None)?;
        let [left, right] = args;
        operators::apply(operator.kind, &left?, &right?)
    }

    fn in_constant(&mut self, membership: &'a InConstant) -> Evaluated<'a> {
        let operand = self.node(&membership.operand)?;
        Ok(Value::Bool(membership.items.get(&operand).is_some()))
    }

    /// The left side if it has a value, unwrapped if asked for; otherwise the right side.
    fn optional_or(&mut self, sides: &'a [Node; 2], unwrap: bool) -> Evaluated<'a> {
        match self.node(&sides[0])? {
            Value::Optional(None) => self.node(&sides[1]),
            Value::Optional(Some(value)) if unwrap => Ok(Value::clone(&value)),
            other => Ok(other),
        }
    }

    /// The value or the error of a step; only the cost limit ends the evaluation.
    fn settled(&mut self, node: &'a Node) -> Result<Evaluated<'a>, EvalError> {
        match self.node(node) {
            Err(error) if error.kind() == EvalErrorKind::CostLimit => Err(error),
            other => Ok(other),
        }
    }

    fn and(&mut self, terms: &'a [Node; 2]) -> Evaluated<'a> {
        let mut failure = None;
        for term in terms {
            match self.settled(term)? {
                Ok(Value::Bool(false)) => return Ok(Value::Bool(false)),
                Ok(Value::Bool(true)) => {}
                Ok(_) => failure = failure.or_else(|| Some(EvalError::no_such_overload())),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Value::Bool(true)), Err)
    }

    fn or(&mut self, terms: &'a [Node; 2]) -> Evaluated<'a> {
        let mut failure = None;
        for term in terms {
            match self.settled(term)? {
                Ok(Value::Bool(true)) => return Ok(Value::Bool(true)),
                Ok(Value::Bool(false)) => {}
                Ok(_) => failure = failure.or_else(|| Some(EvalError::no_such_overload())),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Value::Bool(false)), Err)
    }

    fn attribute(&mut self, attribute: &'a Attribute) -> Evaluated<'a> {
        let result = match self.resolve(attribute) {
            Err(error) if error.kind() == EvalErrorKind::CostLimit => return Err(error),
            other => other,
        };
        let is_conditional = matches!(attribute.base, Base::Conditional(_));
        if !attribute.test_only && !is_conditional {
            self.charge(cost::SELECT)?;
        }
        result
    }

    /// The value of an attribute, charged for its qualifiers only.
    fn resolve(&mut self, attribute: &'a Attribute) -> Evaluated<'a> {
        let base = match &attribute.base {
            Base::Variable(index) => match &self.variables[*index] {
                Some(value) => value.clone()?,
                None => return Err(no_such_attribute(self.variable_name(*index))),
            },
            Base::Local(slot) => self.local(*slot)?,
            Base::Operand(operand) => self.node(operand)?,
            Base::Conditional(conditional) => {
                let branch = match self.node(&conditional.condition)? {
                    Value::Bool(true) => &conditional.truthy,
                    Value::Bool(false) => &conditional.falsy,
                    _ => return Err(EvalError::no_such_overload()),
                };
                match branch {
                    Branch::Attribute(branch) => self.resolve(branch)?,
                    Branch::Operand(operand) => self.node(operand)?,
                }
            }
        };
        if attribute.qualifiers.is_empty() {
            return Ok(base);
        }
        self.qualify_all(base, attribute)
    }

    fn variable_name(&self, index: usize) -> &str {
        self.program.map_or("", |program| &program.variables[index])
    }

    fn local(&mut self, slot: usize) -> Evaluated<'a> {
        if let Slot::Lazy(init) = &self.locals[slot] {
            let init: &'a Node = init;
            self.locals[slot] = match self.settled(init)? {
                Ok(value) => Slot::Value(value),
                Err(error) => Slot::Error(error),
            };
        }
        match &self.locals[slot] {
            Slot::Value(value) => Ok(value.clone()),
            Slot::Error(error) => Err(error.clone()),
            Slot::Empty | Slot::Lazy(_) => Err(no_such_attribute("")),
        }
    }

    fn qualify_all(&mut self, base: Value<'a>, attribute: &'a Attribute) -> Evaluated<'a> {
        let mut is_optional = false;
        let mut value = match base {
            Value::Optional(None) if attribute.test_only => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::NONE),
            Value::Optional(Some(inner)) => {
                is_optional = true;
                Value::clone(&inner)
            }
            other => other,
        };
        let last = attribute.qualifiers.len() - 1;
        for (index, qualifier) in attribute.qualifiers.iter().enumerate() {
            is_optional |= qualifier.optional;
            let presence_only = attribute.test_only && index == last;
            let found = self.qualify(&value, qualifier, is_optional || presence_only);
            let found = match found {
                Err(error) if error.kind() == EvalErrorKind::CostLimit => return Err(error),
                other => other,
            };
            // An absent optional part is not charged; everything else is, failures included.
            if !matches!(found, Ok(None)) || !is_optional {
                self.charge(cost::SELECT)?;
            }
            value = match found? {
                Some(_) if presence_only => return Ok(Value::Bool(true)),
                Some(found) => found,
                None if attribute.test_only => return Ok(Value::Bool(false)),
                None => return Ok(Value::NONE),
            };
        }
        Ok(if is_optional { Value::some(value) } else { value })
    }

    /// One field or element; `None` when it is absent and may be.
    fn qualify(
        &mut self,
        value: &Value<'a>,
        qualifier: &'a Qualifier,
        may_be_absent: bool,
    ) -> Result<Option<Value<'a>>, EvalError> {
        match &qualifier.key {
            KeyNode::Constant(key) => member(value, key, may_be_absent),
            KeyNode::Attribute(attribute) => {
                let key = self.resolve(attribute)?;
                member(value, &key, may_be_absent)
            }
            KeyNode::Operand(operand) => {
                let key = self.node(operand)?;
                member(value, &key, may_be_absent)
            }
        }
    }

    fn call(&mut self, call: &'a Call) -> Evaluated<'a> {
        match call.args.as_slice() {
            [] => self.finish_call(call, []),
            [only] => {
                let arg = self.settled(only)?;
                self.finish_call(call, [arg])
            }
            [left, right] => {
                let left = self.settled(left)?;
                if call.stops_early && left.is_err() {
                    return left;
                }
                let right = self.settled(right)?;
                self.finish_call(call, [left, right])
            }
            [first, second, third] => {
                let args = [Ok(self.node(first)?), Ok(self.node(second)?), self.settled(third)?];
                self.finish_call(call, args)
            }
            many => {
                let mut values = Vec::with_capacity(many.len());
                for (index, arg) in many.iter().enumerate() {
                    match self.settled(arg)? {
                        Ok(value) => values.push(value),
                        Err(error) if index + 1 < many.len() => return Err(error),
                        Err(error) => {
                            values.push(Value::Null);
                            self.charge_values(&call.cost, &values, None)?;
                            return Err(error);
                        }
                    }
                }
                let result = invoke(call, &values);
                self.charge_values(&call.cost, &values, result.as_ref().ok())?;
                result
            }
        }
    }

    /// Makes a call whose arguments were all evaluated; it is charged even if one of them failed.
    fn finish_call<const N: usize>(&mut self, call: &'a Call, args: [Evaluated<'a>; N]) -> Evaluated<'a> {
        if let Some(Err(error)) = args.iter().find(|arg| arg.is_err()) {
            let error = error.clone();
            self.charge_call(&call.cost, &args, None)?;
            return Err(error);
        }
        let values = args.map(|arg| arg.unwrap_or(Value::Null));
        let result = invoke(call, &values);
        self.charge_values(&call.cost, &values, result.as_ref().ok())?;
        result
    }

    /// Charges a call whose arguments may have failed.
    fn charge_call(
        &mut self,
        costs: &CallCosts,
        args: &[Evaluated<'a>],
        result: Option<&Value<'a>>,
    ) -> Result<(), EvalError> {
        let first = args.first().and_then(|arg| arg.as_ref().ok());
        if !costs.asks_about(first)
            && let Some(cost) = cost::simple_cost(costs.rule, args)
        {
            return self.charge(cost);
        }
        let values: Vec<Value<'a>> =
            args.iter().map(|arg| arg.as_ref().map_or(Value::Null, Value::clone)).collect();
        self.charge_values(costs, &values, result)
    }

    fn charge_values(
        &mut self,
        costs: &CallCosts,
        args: &[Value<'a>],
        result: Option<&Value<'a>>,
    ) -> Result<(), EvalError> {
        let call = RunCall { overload: costs.overload.as_deref(), args, result };
        let custom = costs.custom.iter().find_map(|rule| rule(&call));
        self.charge(custom.unwrap_or_else(|| run_cost(costs.rule, &call)))
    }

    fn list(&mut self, list: &'a ListNode) -> Evaluated<'a> {
        let built = self.list_items(list);
        if !matches!(&built, Err(error) if error.kind() == EvalErrorKind::CostLimit) {
            self.charge(cost::CREATE_LIST)?;
        }
        built.map(Value::list)
    }

    fn list_items(&mut self, list: &'a ListNode) -> Result<Vec<Value<'a>>, EvalError> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (element, optional) in &list.elements {
            let value = self.node(element)?;
            match value {
                Value::Optional(inner) if *optional => items.extend(inner.map(|inner| Value::clone(&inner))),
                _ if *optional => {
                    return Err(EvalError::new(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        crate::library::display(&value)
                    )));
                }
                other => items.push(other),
            }
        }
        Ok(items)
    }

    fn map(&mut self, entries: &'a [EntryNode]) -> Evaluated<'a> {
        let built = self.map_entries(entries);
        if !matches!(&built, Err(error) if error.kind() == EvalErrorKind::CostLimit) {
            self.charge(cost::CREATE_MAP)?;
        }
        built.map(Value::from)
    }

    fn map_entries(&mut self, entries: &'a [EntryNode]) -> Result<Entries<'a>, EvalError> {
        let mut built = Entries::new();
        for entry in entries {
            let key = self.node(&entry.key)?;
            let value = self.node(&entry.value)?;
            match value {
                Value::Optional(Some(inner)) if entry.optional => {
                    built.insert(key, Value::clone(&inner));
                }
                Value::Optional(None) if entry.optional => built.remove(&key),
                other if entry.optional => return Err(not_optional(&key, &other)),
                other => {
                    built.insert(key, other);
                }
            }
        }
        Ok(built)
    }

    fn object(&mut self, object: &'a ObjectNode) -> Evaluated<'a> {
        let mut fields = Vec::with_capacity(object.fields.len());
        let mut failure = None;
        for (name, value, optional) in &object.fields {
            match self.settled(value)? {
                Ok(Value::Optional(inner)) if *optional => {
                    fields.extend(inner.map(|inner| (name.clone(), Value::clone(&inner))));
                }
                Ok(other) if *optional => failure = Some(not_optional(&Value::string(&**name), &other)),
                Ok(other) => fields.push((name.clone(), other)),
                Err(error) => failure = Some(error),
            }
            if failure.is_some() {
                break;
            }
        }
        self.charge(cost::CREATE_OBJECT)?;
        if let Some(error) = failure {
            return Err(error);
        }
        match object.constructor {
            Some(constructor) => constructor(fields),
            None => Err(EvalError::new(format!("unknown type '{}'", object.name))),
        }
    }
}

fn not_optional(key: &Value<'_>, value: &Value<'_>) -> EvalError {
    EvalError::new(format!(
        "cannot initialize optional entry '{}' from non-optional value {}",
        crate::library::display(key),
        crate::library::display(value)
    ))
}

fn invoke<'a>(call: &Call, args: &[Value<'a>]) -> Evaluated<'a> {
    match &call.dispatch {
        Dispatch::Fixed(implementation) => implementation(args),
        Dispatch::ByType(overloads) => {
            let fits = overloads.iter().find(|overload| overload.accepts(args));
            match fits.and_then(|overload| overload.implementation.as_ref()) {
                Some(implementation) => implementation(args),
                None => Err(no_overload(&call.function, args)),
            }
        }
    }
}

fn no_overload(function: &str, args: &[Value<'_>]) -> EvalError {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    EvalError::new(format!("no such overload: {function}({})", types.join(", ")))
}

/// A field or element of a value; `None` when it is absent and may be.
fn member<'a>(
    value: &Value<'a>,
    key: &Value<'_>,
    may_be_absent: bool,
) -> Result<Option<Value<'a>>, EvalError> {
    check_qualifier(key)?;
    let missing = |what: &str| {
        if may_be_absent {
            return Ok(None);
        }
        Err(EvalError::new(format!("{what}: {}", crate::library::display(key))))
    };
    match value {
        Value::Map(map) => match find(map, key) {
            Some(found) => found.map(Some),
            None => missing("no such key"),
        },
        Value::List(list) => {
            let index = list_index(key)?;
            match usize::try_from(index).ok().and_then(|index| element(list, index)) {
                Some(found) => found.map(Some),
                None => missing("index out of bounds"),
            }
        }
        _ => missing("no such key"),
    }
}

/// Refuses values that can neither be keys nor positions.
fn check_qualifier(key: &Value<'_>) -> Result<(), EvalError> {
    match key {
        Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_) => Ok(()),
        other => Err(EvalError::new(format!("invalid qualifier type: {}", reference_name(other)))),
    }
}

/// What the reference calls the type of a value inside; some error texts show it.
pub(crate) fn reference_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Type(_) => "*types.Type",
        Value::Optional(_) => "*types.Optional",
        Value::Opaque(opaque) => opaque.type_name(),
    }
}

fn find<'a>(map: &Map<'a>, key: &Value<'_>) -> Option<Evaluated<'a>> {
    match key {
        Value::String(text) => map.get_str(text),
        other => map.get(other),
    }
}

fn element<'a>(list: &List<'a>, index: usize) -> Option<Evaluated<'a>> {
    list.get(index)
}
