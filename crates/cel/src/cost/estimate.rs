//! Costs before evaluation: the least and the most that an expression can cost.
//!
//! Sizes come from literals, from the host's hints for what is reachable from variables, and from what
//! functions say about their results. The order in which nodes are visited matters: see the `path` module.

use std::collections::HashMap;

use super::path::Path;
use super::{CREATE_LIST, CREATE_MAP, CREATE_OBJECT, SELECT, static_cost};
use crate::ast::{ACCUMULATOR, Call, Comprehension, ExprId, ExprKind, Literal, Name, OLD_ACCUMULATOR};
use crate::checker::{Checked, Reference};
use crate::env::Env;
use crate::types::Type;
use crate::value::character_count;

/// A range of sizes or of costs. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    pub min: u64,
    pub max: u64,
}

/// 2^64, the first double beyond what fits.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl Estimate {
    /// Nothing is known.
    pub const UNKNOWN: Estimate = Estimate { min: 0, max: u64::MAX };

    pub const fn fixed(value: u64) -> Self {
        Estimate { min: value, max: value }
    }

    #[must_use]
    pub const fn add(self, other: Estimate) -> Self {
        Estimate { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    #[must_use]
    pub const fn multiply(self, other: Estimate) -> Self {
        Estimate { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Each bound times a factor, rounded up.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Estimate { min: times(self.min, factor), max: times(self.max, factor) }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn union(self, other: Estimate) -> Self {
        Estimate { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are defined in floating point; the range is checked first"
)]
fn times(value: u64, factor: f64) -> u64 {
    let value = value as f64;
    if value > 0.0 && factor > 0.0 && value > TWO_TO_64 / factor {
        return u64::MAX;
    }
    let product = (value * factor).ceil();
    if product >= TWO_TO_64 { u64::MAX } else { product as u64 }
}

/// What a call may cost, without its arguments, and how large its result may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEstimate {
    pub cost: Estimate,
    pub result_size: Option<Estimate>,
}

impl CallEstimate {
    pub fn sized(cost: Estimate, result_size: Estimate) -> Self {
        CallEstimate { cost, result_size: Some(result_size) }
    }
}

impl From<Estimate> for CallEstimate {
    fn from(cost: Estimate) -> Self {
        CallEstimate { cost, result_size: None }
    }
}

/// What the host knows about the sizes of its data.
pub trait SizeHints {
    /// The size of what a path leads to. The first element is a variable, the others are fields,
    /// `@items`, `@keys`, `@values`, `@indices`. An empty path belongs to a value that no variable holds.
    fn size(&self, path: &[Name]) -> Option<Estimate>;
}

/// No hints.
impl SizeHints for () {
    fn size(&self, _: &[Name]) -> Option<Estimate> {
        None
    }
}

/// A call to be estimated.
pub struct StaticCall<'c> {
    pub overload: &'c str,
    pub target: Option<&'c CostNode>,
    pub args: &'c [CostNode],
    pub hints: &'c dyn SizeHints,
}

/// An operand of a call to be estimated.
pub struct CostNode {
    path: Path,
    ty: Type,
    size: Option<Estimate>,
    literal: Option<Literal>,
}

impl CostNode {
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    pub fn path(&self) -> Vec<Name> {
        self.path.elements()
    }

    /// The size, where anything is known about it.
    pub fn size(&self) -> Option<Estimate> {
        self.size
    }

    pub fn size_or_unknown(&self) -> Estimate {
        self.size.unwrap_or(Estimate::UNKNOWN)
    }

    pub fn literal(&self) -> Option<&Literal> {
        self.literal.as_ref()
    }
}

impl StaticCall<'_> {
    /// The size of the elements of a list operand, by the path to it; `None` when it has no elements.
    pub fn element_size(&self, list: &CostNode) -> Option<Estimate> {
        list.ty.first_parameter()?;
        let mut path = list.path.elements();
        if !list.path.is_empty() {
            path.push("@items".into());
        }
        Some(self.hints.size(&path).unwrap_or(Estimate::UNKNOWN))
    }
}

/// The least and the most that an expression can cost.
///
/// ```
/// use cel::cost::estimate::estimate;
///
/// let env = cel::Env::standard();
/// let checked = env.compile("[1, 2, 3].all(x, x > 1)").unwrap();
/// assert_eq!(estimate(&checked, &env, &()).max, 26);
/// ```
pub fn estimate(checked: &Checked, env: &Env, hints: &dyn SizeHints) -> Estimate {
    let mut estimator = Estimator {
        checked,
        env,
        hints,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entry_sizes: HashMap::new(),
        locals: HashMap::new(),
    };
    estimator.cost(checked.ast.root)
}

/// Sizes of the keys and values of a list or map; of a list, the key is the index.
#[derive(Clone, Copy)]
struct EntrySize {
    is_list: bool,
    key: Estimate,
    value: Estimate,
}

impl EntrySize {
    fn union(left: Option<EntrySize>, right: Option<EntrySize>) -> Option<EntrySize> {
        let (left, right) = (left?, right?);
        Some(EntrySize {
            is_list: left.is_list,
            key: left.key.union(right.key),
            value: left.value.union(right.value),
        })
    }
}

/// A variable that a macro declares.
struct Local {
    path: Path,
    size: Option<Estimate>,
    entry_size: Option<EntrySize>,
}

struct Estimator<'c> {
    checked: &'c Checked,
    env: &'c Env,
    hints: &'c dyn SizeHints,
    paths: HashMap<ExprId, Path>,
    sizes: HashMap<ExprId, Estimate>,
    entry_sizes: HashMap<ExprId, EntrySize>,
    locals: HashMap<Name, Vec<Local>>,
}

impl<'c> Estimator<'c> {
    fn kind(&self, id: ExprId) -> &'c ExprKind {
        &self.checked.ast.expr(id).kind
    }

    fn cost(&mut self, id: ExprId) -> Estimate {
        match self.kind(id) {
            ExprKind::Error | ExprKind::Literal(_) => Estimate::default(),
            ExprKind::Ident(name) => {
                let name = self.resolved(id).unwrap_or(name);
                self.note_ident(id, name);
                Estimate::fixed(SELECT)
            }
            ExprKind::Select(select) => {
                if let Some(name) = self.resolved(id) {
                    self.note_ident(id, name);
                    return Estimate::fixed(SELECT);
                }
                let mut cost = self.cost(select.operand);
                if select.test_only {
                    return cost;
                }
                let operand_type = self.checked.type_of(select.operand);
                if matches!(operand_type, Type::Map(_) | Type::Object(_) | Type::Param(_) | Type::Var(_)) {
                    cost = cost.add(Estimate::fixed(SELECT));
                }
                let path = self.path(select.operand).append(&select.field);
                self.paths.insert(id, path);
                cost
            }
            ExprKind::Call(call) => self.call(id, call),
            ExprKind::List(list) => {
                let values = list.elements.iter().map(|element| element.value);
                let (cost, size) = self.parts(values.collect());
                let entry = EntrySize { is_list: true, key: Estimate::fixed(1), value: size };
                self.entry_sizes.insert(id, entry);
                cost.add(Estimate::fixed(CREATE_LIST))
            }
            ExprKind::Map(entries) => {
                let mut cost = Estimate::default();
                let (mut key, mut value) = (empty_union(entries.is_empty()), empty_union(entries.is_empty()));
                for entry in entries {
                    cost = cost.add(self.cost(entry.key)).add(self.cost(entry.value));
                    key = key.union(self.size_or_unknown(entry.key));
                    value = value.union(self.size_or_unknown(entry.value));
                }
                self.entry_sizes.insert(id, EntrySize { is_list: false, key, value });
                cost.add(Estimate::fixed(CREATE_MAP))
            }
            ExprKind::Struct(object) => {
                let mut cost = Estimate::fixed(CREATE_OBJECT);
                for field in &object.fields {
                    cost = cost.add(self.cost(field.value));
                }
                cost
            }
            ExprKind::Comprehension(comprehension) => {
                if self.is_bind(comprehension) {
                    self.bind(id, comprehension)
                } else {
                    self.comprehension(id, comprehension)
                }
            }
        }
    }

    /// The cost of the parts of a list, and the range of their sizes.
    fn parts(&mut self, ids: Vec<ExprId>) -> (Estimate, Estimate) {
        let mut cost = Estimate::default();
        let mut size = empty_union(ids.is_empty());
        for id in ids {
            cost = cost.add(self.cost(id));
            size = size.union(self.size_or_unknown(id));
        }
        (cost, size)
    }

    fn note_ident(&mut self, id: ExprId, name: &Name) {
        let path = match self.local(name) {
            Some(local) => local.path.clone(),
            None => Path::single(name.clone()),
        };
        self.paths.insert(id, path);
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name)?.last()
    }

    /// What a name refers to, without a leading dot.
    fn resolved(&self, id: ExprId) -> Option<&'c Name> {
        match self.checked.reference(id) {
            Reference::Variable(name) | Reference::Local(name) | Reference::Type(name) => Some(name),
            _ => None,
        }
    }

    /// The variable of a macro that a node names.
    fn local_of(&self, id: ExprId) -> Option<&Local> {
        match self.kind(id) {
            ExprKind::Ident(_) => self.local(self.resolved(id)?),
            _ => None,
        }
    }

    fn push(&mut self, name: &Name, local: Local) {
        self.locals.entry(name.clone()).or_default().push(local);
    }

    fn pop(&mut self, name: &Name) {
        if let Some(stack) = self.locals.get_mut(name) {
            stack.pop();
        }
    }

    fn path(&self, id: ExprId) -> Path {
        if let Some(local) = self.local_of(id) {
            return local.path.clone();
        }
        self.paths.get(&id).cloned().unwrap_or_default()
    }

    fn size_or_unknown(&mut self, id: ExprId) -> Estimate {
        self.size(id).unwrap_or(Estimate::UNKNOWN)
    }

    fn size(&mut self, id: ExprId) -> Option<Estimate> {
        if let Some(size) = self.sizes.get(&id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(self.kind(id)) {
            return Some(Estimate::fixed(size));
        }
        if let Some(size) = self.hints.size(&self.path(id).elements()) {
            self.sizes.insert(id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(id)) {
            return Some(Estimate::fixed(1));
        }
        self.local_of(id)?.size
    }

    fn entry_size(&self, id: ExprId) -> Option<EntrySize> {
        if let Some(size) = self.entry_sizes.get(&id) {
            return Some(*size);
        }
        self.local_of(id)?.entry_size
    }

    fn set_size(&mut self, id: ExprId, size: Option<Estimate>) {
        if let Some(size) = size {
            self.sizes.insert(id, size);
        }
    }

    fn set_entry_size(&mut self, id: ExprId, size: Option<EntrySize>) {
        if let Some(size) = size {
            self.entry_sizes.insert(id, size);
        }
    }

    fn operand(&mut self, id: ExprId) -> CostNode {
        let mut path = self.path(id);
        let is_accumulator = |name: &Name| matches!(&**name, ACCUMULATOR | OLD_ACCUMULATOR);
        if path.elements().first().is_some_and(is_accumulator) {
            path = Path::default();
        }
        let literal = match self.kind(id) {
            ExprKind::Literal(literal) => Some(literal.clone()),
            _ => None,
        };
        CostNode { path, ty: self.checked.type_of(id).clone(), size: self.size(id), literal }
    }

    fn call(&mut self, id: ExprId, call: &'c Call) -> Estimate {
        let (function, overloads, is_namespace) = match self.checked.reference(id) {
            Reference::Function { name, overloads, target_is_namespace } => {
                (name.clone(), overloads.clone(), *target_is_namespace)
            }
            _ => (call.function.clone(), Vec::new(), false),
        };
        if &*function == "dyn"
            && let [arg] = call.args[..]
        {
            let cost = self.cost(arg).add(Estimate::fixed(1));
            let (size, entry_size) = (self.size(arg), self.entry_size(arg));
            self.set_size(id, size);
            self.set_entry_size(id, entry_size);
            return cost;
        }
        let mut arg_costs = Vec::with_capacity(call.args.len());
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            arg_costs.push(self.cost(*arg));
            args.push(self.operand(*arg));
        }
        if overloads.is_empty() {
            return Estimate::default();
        }
        let mut cost = Estimate::default();
        let mut target = None;
        if let (Some(id), false) = (call.target, is_namespace) {
            cost = self.cost(id);
            target = Some(self.operand(id));
        }
        let mut call_cost = Estimate { min: u64::MAX, max: 0 };
        let mut result_size = None;
        for overload in &overloads {
            let static_call =
                StaticCall { overload, target: target.as_ref(), args: &args, hints: self.hints };
            let estimate = self.overload_cost(id, &function, &static_call, &call.args, &arg_costs);
            call_cost = call_cost.union(estimate.cost);
            result_size = match (result_size, estimate.result_size) {
                (Some(known), Some(more)) => Some(Estimate::union(known, more)),
                (known, more) => known.or(more),
            };
            let access = match &**overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(access), Some(operand)) = (access, call.args.first()) {
                result_size = self.entry_size(*operand).map(|entry| entry.value);
                let path = self.path(*operand).append(access);
                self.paths.insert(id, path);
            }
            if result_size.is_none() {
                result_size = self.size(id);
            }
        }
        self.set_size(id, result_size);
        cost.add(call_cost)
    }

    /// The cost of one overload, arguments included.
    fn overload_cost(
        &mut self,
        id: ExprId,
        function: &str,
        call: &StaticCall<'_>,
        arg_ids: &[ExprId],
        arg_costs: &[Estimate],
    ) -> CallEstimate {
        let arg_cost = arg_costs.iter().fold(Estimate::default(), |sum, cost| sum.add(*cost));
        let custom = self.env.function(function).and_then(|function| {
            let overload = function.overloads.iter().find(|overload| &*overload.id == call.overload);
            let rules =
                [function.cost.estimate.as_ref(), overload.and_then(|found| found.cost.estimate.as_ref())];
            rules.into_iter().flatten().find_map(|rule| rule(call))
        });
        if let Some(estimate) = custom {
            return CallEstimate { cost: estimate.cost.add(arg_cost), ..estimate };
        }
        match (call.overload, arg_ids) {
            ("logical_and" | "logical_or", [_, _]) => {
                let both = arg_costs[0].add(arg_costs[1]);
                Estimate { min: arg_costs[0].min, max: both.max }.into()
            }
            ("conditional", [_, truthy, falsy]) => {
                let size = call.args[1].size_or_unknown().union(call.args[2].size_or_unknown());
                let entry = EntrySize::union(self.entry_size(*truthy), self.entry_size(*falsy));
                self.set_entry_size(id, entry);
                CallEstimate::sized(arg_costs[0].add(arg_costs[1].union(arg_costs[2])), size)
            }
            ("add_string" | "add_bytes" | "add_list", [left, right]) => {
                let size = call.args[0].size_or_unknown().add(call.args[1].size_or_unknown());
                let entry = EntrySize::union(self.entry_size(*left), self.entry_size(*right));
                self.set_entry_size(id, entry);
                let cost = if call.overload == "add_list" {
                    Estimate::fixed(1)
                } else {
                    size.times(super::STRING_TRAVERSAL)
                };
                CallEstimate::sized(cost.add(arg_cost), size)
            }
            _ => {
                let estimate = static_cost(call).unwrap_or_else(|| Estimate::fixed(1).into());
                CallEstimate { cost: estimate.cost.add(arg_cost), ..estimate }
            }
        }
    }

    fn is_bind(&self, comprehension: &Comprehension) -> bool {
        let over_nothing =
            matches!(self.kind(comprehension.range), ExprKind::List(list) if list.elements.is_empty());
        let never = matches!(self.kind(comprehension.condition), ExprKind::Literal(Literal::Bool(false)));
        over_nothing && never && &*comprehension.accumulator != OLD_ACCUMULATOR
    }

    fn push_value(&mut self, name: &Name, value: ExprId) {
        let (path, entry_size) = (self.path(value), self.entry_size(value));
        let size = self.size(value);
        self.push(name, Local { path, size, entry_size });
    }

    fn bind(&mut self, id: ExprId, comprehension: &Comprehension) -> Estimate {
        let cost = self.cost(comprehension.range).add(self.cost(comprehension.init));
        self.push_value(&comprehension.accumulator, comprehension.init);
        let cost = cost.add(self.cost(comprehension.result));
        self.pop(&comprehension.accumulator);
        let (size, entry_size) = (self.size(comprehension.result), self.entry_size(comprehension.result));
        self.set_size(id, size);
        self.set_entry_size(id, entry_size);
        cost
    }

    fn comprehension(&mut self, id: ExprId, comprehension: &Comprehension) -> Estimate {
        let mut cost = self.cost(comprehension.range).add(self.cost(comprehension.init));
        self.push_value(&comprehension.accumulator, comprehension.init);
        self.push_loop_variables(comprehension);
        let round = self.cost(comprehension.condition).add(self.cost(comprehension.step));
        self.pop(&comprehension.variable);
        if let Some(second) = &comprehension.second_variable {
            self.pop(second);
        }
        cost = cost.add(self.cost(comprehension.result));
        self.pop(&comprehension.accumulator);
        // Only now, when the paths in the body may have overwritten the range's: see the `path` module.
        let rounds = self.size_or_unknown(comprehension.range);
        cost = cost.add(rounds.multiply(round));
        match self.kind(comprehension.init) {
            ExprKind::Literal(_) => {
                let size = self.size(comprehension.init);
                self.set_size(id, size);
            }
            ExprKind::List(_) | ExprKind::Map(_) => {
                self.set_size(id, Some(rounds));
                let entry = self.entry_size(comprehension.step);
                self.set_entry_size(id, entry);
            }
            _ => {}
        }
        cost
    }

    fn push_loop_variables(&mut self, comprehension: &Comprehension) {
        let range = comprehension.range;
        let entry = self.entry_size(range);
        let is_list = match entry {
            Some(entry) => entry.is_list,
            None => matches!(self.checked.type_of(range), Type::List(_)),
        };
        let key_name = if is_list { "@indices" } else { "@keys" };
        let value_name = if is_list { "@items" } else { "@values" };
        let (key_size, value_size) = (entry.map(|entry| entry.key), entry.map(|entry| entry.value));
        let mut push = |name: &Name, part: &str, size: Option<Estimate>| {
            let path = self.path(range).append(part);
            self.push(name, Local { path, size, entry_size: None });
        };
        match &comprehension.second_variable {
            Some(second) => {
                push(&comprehension.variable, key_name, key_size);
                push(second, value_name, value_size);
            }
            None if is_list => push(&comprehension.variable, value_name, value_size),
            None => push(&comprehension.variable, key_name, key_size),
        }
    }
}

/// What a union of sizes starts from.
fn empty_union(is_empty: bool) -> Estimate {
    Estimate { min: if is_empty { 0 } else { u64::MAX }, max: 0 }
}

fn literal_size(kind: &ExprKind) -> Option<u64> {
    match kind {
        ExprKind::Literal(Literal::String(text)) => Some(character_count(text)),
        ExprKind::Literal(Literal::Bytes(bytes)) => Some(bytes.len() as u64),
        ExprKind::Literal(_) => Some(1),
        ExprKind::List(list) => Some(list.elements.len() as u64),
        ExprKind::Map(entries) => Some(entries.len() as u64),
        _ => None,
    }
}

fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Wrapper(inner) => is_scalar(inner),
        other => other.optional_value().is_some_and(is_scalar),
    }
}
