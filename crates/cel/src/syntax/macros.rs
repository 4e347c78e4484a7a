//! Macros: calls that the parser replaces by loops and conditions.
//!
//! A macro is chosen by name, number of arguments and whether it has a receiver; a call that fits none
//! stays a call, and the checker reports it.

use super::builder::Builder;
use crate::ast::{
    ACCUMULATOR, Comprehension, ExprId, ExprKind, Literal, Name, OLD_ACCUMULATOR, operators as op,
};

/// Why a call that matched a macro could not be expanded, and where.
pub(crate) struct MacroError {
    pub(crate) offset: u32,
    pub(crate) message: String,
}

type Expanded = Result<ExprId, MacroError>;

/// A rewriting rule.
#[derive(Clone, Copy)]
pub(crate) struct Macro {
    pub(crate) name: &'static str,
    pub(crate) args: usize,
    pub(crate) receiver: bool,
    expand: fn(&mut Expander<'_>, ExprId, &[ExprId]) -> Expanded,
}

impl Macro {
    /// Expands the call at `offset`. Without a receiver `target` is ignored.
    pub(crate) fn expand(
        &self,
        builder: &mut Builder,
        offset: u32,
        target: ExprId,
        args: &[ExprId],
    ) -> Expanded {
        (self.expand)(&mut Expander { builder, offset }, target, args)
    }
}

const fn receiver(
    name: &'static str,
    args: usize,
    expand: fn(&mut Expander<'_>, ExprId, &[ExprId]) -> Expanded,
) -> Macro {
    Macro { name, args, receiver: true, expand }
}

/// `has`, `all`, `exists`, `exists_one`, `map`, `filter`.
pub(crate) const STANDARD: &[Macro] = &[
    Macro { name: "has", args: 1, receiver: false, expand: has },
    receiver("all", 2, |e, range, args| e.all(range, &[args[0]], args[1])),
    receiver("exists", 2, |e, range, args| e.exists(range, &[args[0]], args[1])),
    receiver("exists_one", 2, |e, range, args| e.exists_one(range, &[args[0]], args[1])),
    receiver("map", 2, |e, range, args| e.map(range, args[0], None, args[1])),
    receiver("map", 3, |e, range, args| e.map(range, args[0], Some(args[1]), args[2])),
    receiver("filter", 2, |e, range, args| e.map(range, args[0], Some(args[1]), args[0])),
];

/// `optMap`, `optFlatMap`.
pub(crate) const OPTIONAL: &[Macro] = &[
    receiver("optMap", 2, |e, target, args| e.optional_map("optMap", target, args)),
    receiver("optFlatMap", 2, |e, target, args| e.optional_map("optFlatMap", target, args)),
];

/// The forms with two variables: index and item, or key and value.
pub(crate) const TWO_VARIABLES: &[Macro] = &[
    receiver("all", 3, |e, range, args| e.all(range, &args[..2], args[2])),
    receiver("exists", 3, |e, range, args| e.exists(range, &args[..2], args[2])),
    receiver("existsOne", 3, |e, range, args| e.exists_one(range, &args[..2], args[2])),
    receiver("exists_one", 3, |e, range, args| e.exists_one(range, &args[..2], args[2])),
    receiver("transformList", 3, |e, range, args| e.transform_list(range, args, None, args[2])),
    receiver("transformList", 4, |e, range, args| e.transform_list(range, args, Some(args[2]), args[3])),
    receiver("transformMap", 3, |e, range, args| e.transform_map(range, args, None, args[2])),
    receiver("transformMap", 4, |e, range, args| e.transform_map(range, args, Some(args[2]), args[3])),
    receiver("transformMapEntry", 3, |e, range, args| e.transform_entry(range, args, None, args[2])),
    receiver("transformMapEntry", 4, |e, range, args| e.transform_entry(range, args, Some(args[2]), args[3])),
];

/// `sortBy` of the list extension.
pub(crate) const LISTS: &[Macro] = &[receiver("sortBy", 2, sort_by)];

/// The function that the map transformations call to add entries.
pub(crate) const MAP_INSERT: &str = "cel.@mapInsert";
/// The function that `sortBy` calls.
pub(crate) const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";
/// The variable that `sortBy` binds its list to.
const SORT_INPUT: &str = "@__sortBy_input__";
/// The loop variable of a binding, which loops over nothing.
const UNUSED: &str = "#unused";

/// Builds the nodes of one expansion; all stand where the macro's parenthesis stands.
struct Expander<'b> {
    builder: &'b mut Builder,
    offset: u32,
}

/// The variables of a loop.
struct Variables {
    first: Name,
    second: Option<Name>,
}

fn has(e: &mut Expander<'_>, _: ExprId, args: &[ExprId]) -> Expanded {
    match e.builder.kind(args[0]) {
        ExprKind::Select(select) => {
            let (operand, field) = (select.operand, select.field.clone());
            Ok(e.builder.select(operand, field, true, e.offset))
        }
        _ => Err(e.error(args[0], "invalid argument to has() macro")),
    }
}

fn sort_by(e: &mut Expander<'_>, target: ExprId, args: &[ExprId]) -> Expanded {
    let sortable = matches!(
        e.builder.kind(target),
        ExprKind::List(_)
            | ExprKind::Select(_)
            | ExprKind::Ident(_)
            | ExprKind::Comprehension(_)
            | ExprKind::Call(_)
    );
    if !sortable {
        return Err(e.error(
            target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        ));
    }
    let input = e.builder.ident(SORT_INPUT, e.offset);
    let range = e.builder.copy(input);
    let keys = e.map(range, args[0], None, args[1])?;
    let list = e.builder.copy(input);
    let sorted = e.builder.member_call(SORT_BY_KEYS, list, vec![keys], e.offset);
    Ok(e.bind(SORT_INPUT.into(), target, sorted))
}

impl Expander<'_> {
    fn error(&self, at: ExprId, message: impl Into<String>) -> MacroError {
        MacroError { offset: self.builder.offset(at), message: message.into() }
    }

    fn bool(&mut self, value: bool) -> ExprId {
        self.builder.literal(Literal::Bool(value), self.offset)
    }

    fn int(&mut self, value: i64) -> ExprId {
        self.builder.literal(Literal::Int(value), self.offset)
    }

    fn accumulator(&mut self) -> ExprId {
        self.builder.ident(ACCUMULATOR, self.offset)
    }

    fn call(&mut self, function: &str, args: &[ExprId]) -> ExprId {
        self.builder.call(function, args.to_vec(), self.offset)
    }

    fn variable(&self, id: ExprId, complaint: &str) -> Result<Name, MacroError> {
        match self.builder.kind(id) {
            ExprKind::Ident(name) => Ok(name.clone()),
            _ => Err(self.error(id, complaint)),
        }
    }

    fn not_accumulator(&self, id: ExprId, name: &str) -> Result<(), MacroError> {
        if name == ACCUMULATOR || name == OLD_ACCUMULATOR {
            return Err(self.error(id, "iteration variable overwrites accumulator variable"));
        }
        Ok(())
    }

    fn variables(&self, ids: &[ExprId]) -> Result<Variables, MacroError> {
        const COMPLAINT: &str = "argument must be a simple name";
        let first = self.variable(ids[0], COMPLAINT)?;
        let second = ids.get(1).map(|id| self.variable(*id, COMPLAINT)).transpose()?;
        if second.as_ref() == Some(&first) {
            return Err(self.error(ids[1], format!("duplicate variable name: {first}")));
        }
        self.not_accumulator(ids[0], &first)?;
        if let Some(second) = &second {
            self.not_accumulator(ids[1], second)?;
        }
        Ok(Variables { first, second })
    }

    /// A loop over `range` with the usual accumulator.
    fn fold(&mut self, range: ExprId, variables: Variables, parts: [ExprId; 4]) -> ExprId {
        let [init, condition, step, result] = parts;
        let comprehension = Comprehension {
            range,
            variable: variables.first,
            second_variable: variables.second,
            accumulator: ACCUMULATOR.into(),
            init,
            condition,
            step,
            result,
        };
        self.builder.add(ExprKind::Comprehension(Box::new(comprehension)), self.offset)
    }

    fn all(&mut self, range: ExprId, variables: &[ExprId], predicate: ExprId) -> Expanded {
        let variables = self.variables(variables)?;
        let init = self.bool(true);
        let accumulator = self.accumulator();
        let condition = self.call(op::NOT_STRICTLY_FALSE, &[accumulator]);
        let accumulator = self.accumulator();
        let step = self.call(op::AND, &[accumulator, predicate]);
        let result = self.accumulator();
        Ok(self.fold(range, variables, [init, condition, step, result]))
    }

    fn exists(&mut self, range: ExprId, variables: &[ExprId], predicate: ExprId) -> Expanded {
        let variables = self.variables(variables)?;
        let init = self.bool(false);
        let accumulator = self.accumulator();
        let not = self.call(op::NOT, &[accumulator]);
        let condition = self.call(op::NOT_STRICTLY_FALSE, &[not]);
        let accumulator = self.accumulator();
        let step = self.call(op::OR, &[accumulator, predicate]);
        let result = self.accumulator();
        Ok(self.fold(range, variables, [init, condition, step, result]))
    }

    fn exists_one(&mut self, range: ExprId, variables: &[ExprId], predicate: ExprId) -> Expanded {
        let variables = self.variables(variables)?;
        let init = self.int(0);
        let condition = self.bool(true);
        let (accumulator, one) = (self.accumulator(), self.int(1));
        let more = self.call(op::ADD, &[accumulator, one]);
        let same = self.accumulator();
        let step = self.call(op::CONDITIONAL, &[predicate, more, same]);
        let (accumulator, one) = (self.accumulator(), self.int(1));
        let result = self.call(op::EQUALS, &[accumulator, one]);
        Ok(self.fold(range, variables, [init, condition, step, result]))
    }

    /// `map` in both forms, and `filter`, which maps each element to itself.
    fn map(
        &mut self,
        range: ExprId,
        variable: ExprId,
        filter: Option<ExprId>,
        transform: ExprId,
    ) -> Expanded {
        let first = self.variable(variable, "argument is not an identifier")?;
        self.not_accumulator(variable, &first)?;
        Ok(self.collect(range, Variables { first, second: None }, filter, transform))
    }

    fn collect(
        &mut self,
        range: ExprId,
        variables: Variables,
        filter: Option<ExprId>,
        transform: ExprId,
    ) -> ExprId {
        let init = self.builder.list(&[], self.offset);
        let condition = self.bool(true);
        let accumulator = self.accumulator();
        let element = self.builder.list(&[transform], self.offset);
        let step = self.call(op::ADD, &[accumulator, element]);
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        self.fold(range, variables, [init, condition, step, result])
    }

    fn filtered(&mut self, filter: Option<ExprId>, step: ExprId) -> ExprId {
        let Some(filter) = filter else { return step };
        let same = self.accumulator();
        self.call(op::CONDITIONAL, &[filter, step, same])
    }

    fn transform_list(
        &mut self,
        range: ExprId,
        args: &[ExprId],
        filter: Option<ExprId>,
        transform: ExprId,
    ) -> Expanded {
        let variables = self.variables(&args[..2])?;
        Ok(self.collect(range, variables, filter, transform))
    }

    fn transform_map(
        &mut self,
        range: ExprId,
        args: &[ExprId],
        filter: Option<ExprId>,
        transform: ExprId,
    ) -> Expanded {
        let variables = self.variables(&args[..2])?;
        let key = self.builder.ident(&variables.first, self.offset);
        Ok(self.insert(range, variables, filter, &[key, transform]))
    }

    fn transform_entry(
        &mut self,
        range: ExprId,
        args: &[ExprId],
        filter: Option<ExprId>,
        entry: ExprId,
    ) -> Expanded {
        let variables = self.variables(&args[..2])?;
        Ok(self.insert(range, variables, filter, &[entry]))
    }

    fn insert(
        &mut self,
        range: ExprId,
        variables: Variables,
        filter: Option<ExprId>,
        what: &[ExprId],
    ) -> ExprId {
        let init = self.builder.add(ExprKind::Map(Vec::new()), self.offset);
        let condition = self.bool(true);
        let accumulator = self.accumulator();
        let args: Vec<ExprId> = [accumulator].into_iter().chain(what.iter().copied()).collect();
        let step = self.call(MAP_INSERT, &args);
        let step = self.filtered(filter, step);
        let result = self.accumulator();
        self.fold(range, variables, [init, condition, step, result])
    }

    /// `name = init in result`: a loop over nothing, with `name` as the accumulator.
    fn bind(&mut self, name: Name, init: ExprId, result: ExprId) -> ExprId {
        let range = self.builder.list(&[], self.offset);
        let condition = self.bool(false);
        let step = self.builder.ident(&name, self.offset);
        let comprehension = Comprehension {
            range,
            variable: UNUSED.into(),
            second_variable: None,
            accumulator: name,
            init,
            condition,
            step,
            result,
        };
        self.builder.add(ExprKind::Comprehension(Box::new(comprehension)), self.offset)
    }

    fn optional_map(&mut self, name: &str, target: ExprId, args: &[ExprId]) -> Expanded {
        let complaint = format!("{name}() variable name must be a simple identifier");
        let variable = self.variable(args[0], &complaint)?;
        let present = self.builder.member_call("hasValue", target, Vec::new(), self.offset);
        let copy = self.builder.copy(target);
        let value = self.builder.member_call("value", copy, Vec::new(), self.offset);
        let mut mapped = self.bind(variable, value, args[1]);
        if name == "optMap" {
            mapped = self.call("optional.of", &[mapped]);
        }
        let none = self.call("optional.none", &[]);
        Ok(self.call(op::CONDITIONAL, &[present, mapped, none]))
    }
}
