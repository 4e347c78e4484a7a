//! Deduces types, resolves names and overloads, and reports everything that does not fit.
//!
//! All overloads whose parameters accept the arguments are kept: with dynamic arguments several may, and
//! evaluation picks one of them. Checking goes on after an error so that all are reported at once.

use crate::ast::{Ast, Comprehension, Entry, ExprId, ExprKind, List, Literal, Name, Select, operators as op};
use crate::env::{Env, Function};
use crate::error::Issues;
use crate::types::Type;
use crate::unify::{Bindings, most_general};
use crate::value::Value;

/// What a name or call refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Nothing was resolved: the node was not checked, or is neither name nor call.
    None,
    /// A variable of the environment, under its full name.
    Variable(Name),
    /// A variable that a macro declares.
    Local(Name),
    /// A type, under its full name.
    Type(Name),
    /// A function under its full name, and the overloads that may be meant.
    Function { name: Name, overloads: Vec<Name>, target_is_namespace: bool },
}

/// A checked expression: the tree, the type of every node, what names refer to.
#[derive(Clone, Debug)]
pub struct Checked {
    pub(crate) ast: Ast,
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Reference>,
    /// Whether types were deduced at all.
    pub(crate) has_types: bool,
}

impl Checked {
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// The type of the whole expression.
    pub fn result_type(&self) -> &Type {
        self.type_of(self.ast.root)
    }

    /// Whether a variable of this name is read anywhere, be it the environment's or a macro's.
    ///
    /// ```
    /// let env = cel::Env::standard().extend().variable("old", cel::Type::Int).build();
    /// assert!(env.compile("1 + old > 2").unwrap().refers_to("old"));
    /// assert!(!env.compile("[1].all(x, true)").unwrap().refers_to("x"));
    /// ```
    pub fn refers_to(&self, name: &str) -> bool {
        let is_meant = |reference: &Reference| match reference {
            Reference::Variable(known) | Reference::Local(known) => &**known == name,
            _ => false,
        };
        self.references.iter().any(is_meant)
    }

    pub fn type_of(&self, id: ExprId) -> &Type {
        &self.types[id.index()]
    }

    pub(crate) fn reference(&self, id: ExprId) -> &Reference {
        &self.references[id.index()]
    }

    pub(crate) fn unchecked(ast: Ast) -> Checked {
        let count = ast.nodes.len();
        Checked {
            ast,
            types: vec![Type::Dyn; count],
            references: vec![Reference::None; count],
            has_types: false,
        }
    }
}

pub(crate) fn check(ast: Ast, env: &Env) -> Result<Checked, Issues> {
    let count = ast.nodes.len();
    let mut checker = Checker {
        issues: Issues::new(ast.source.clone()),
        ast: &ast,
        env,
        types: vec![None; count],
        references: vec![Reference::None; count],
        bindings: Bindings::default(),
        scopes: Vec::new(),
    };
    checker.check(ast.root);
    let Checker { issues, types, references, bindings, .. } = checker;
    if !issues.is_empty() {
        return Err(issues);
    }
    let resolve = |ty: Option<Type>| ty.map_or(Type::Dyn, |ty| bindings.substitute(&ty, true));
    let types = types.into_iter().map(resolve).collect();
    Ok(Checked { ast, types, references, has_types: true })
}

struct Checker<'e> {
    issues: Issues,
    ast: &'e Ast,
    env: &'e Env,
    types: Vec<Option<Type>>,
    references: Vec<Reference>,
    bindings: Bindings,
    /// Variables that macros declare, innermost last.
    scopes: Vec<(Name, Type)>,
}

impl Checker<'_> {
    fn report(&mut self, at: ExprId, message: String) {
        self.issues.report(Some(self.ast.expr(at).offset), message);
    }

    fn set(&mut self, id: ExprId, ty: Type) {
        self.types[id.index()] = Some(ty);
    }

    fn type_of(&self, id: ExprId) -> Type {
        self.types[id.index()].clone().unwrap_or(Type::Error)
    }

    fn mismatch(&mut self, at: ExprId, expected: &Type, found: &Type) {
        self.report(at, format!("expected type '{expected}' but found '{found}'"));
    }

    fn undeclared(&mut self, at: ExprId, name: &str) {
        let container = self.env.container();
        self.report(at, format!("undeclared reference to '{name}' (in container '{container}')"));
        self.set(at, Type::Error);
    }

    fn check(&mut self, id: ExprId) {
        let ast = self.ast;
        match &ast.expr(id).kind {
            ExprKind::Error => self.set(id, Type::Error),
            ExprKind::Literal(literal) => self.set(id, literal_type(literal)),
            ExprKind::Ident(name) => self.check_ident(id, name),
            ExprKind::Select(select) => self.check_select(id, select),
            ExprKind::Call(_) => self.check_call(id),
            ExprKind::List(list) => self.check_list(id, list),
            ExprKind::Map(entries) => self.check_map(id, entries),
            ExprKind::Struct(_) => self.check_struct(id),
            ExprKind::Comprehension(comprehension) => self.check_comprehension(id, comprehension),
        }
    }

    fn check_select(&mut self, id: ExprId, select: &Select) {
        if !select.test_only
            && let Some(name) = qualified_name(self.ast, id)
            && !self.is_local(&name)
            && self.resolve_ident(id, &name)
        {
            return;
        }
        let field = self.check_field(id, select.operand, &select.field, false);
        let ty = if select.test_only { Type::Bool } else { self.bindings.substitute(&field, false) };
        self.set(id, ty);
    }

    fn check_list(&mut self, id: ExprId, list: &List) {
        let mut element_type = None;
        for element in &list.elements {
            self.check(element.value);
            let ty = self.element_type(element.value, element.optional);
            element_type = Some(self.join(element.value, element_type, ty));
        }
        let element_type = element_type.unwrap_or_else(|| self.bindings.fresh());
        self.set(id, Type::list(element_type));
    }

    fn check_map(&mut self, id: ExprId, entries: &[Entry]) {
        let (mut key_type, mut value_type) = (None, None);
        for entry in entries {
            self.check(entry.key);
            let ty = self.type_of(entry.key);
            key_type = Some(self.join(entry.key, key_type, ty));
            self.check(entry.value);
            let ty = self.element_type(entry.value, entry.optional);
            value_type = Some(self.join(entry.value, value_type, ty));
        }
        let key_type = key_type.unwrap_or_else(|| self.bindings.fresh());
        let value_type = value_type.unwrap_or_else(|| self.bindings.fresh());
        self.set(id, Type::map(key_type, value_type));
    }

    fn check_ident(&mut self, id: ExprId, name: &Name) {
        if !self.resolve_ident(id, name) {
            self.undeclared(id, name);
        }
    }

    /// Finds what a name means: a variable of a macro, one of the environment, or a type.
    fn resolve_ident(&mut self, id: ExprId, name: &str) -> bool {
        let plain = name.strip_prefix('.').unwrap_or(name);
        if let Some((name, ty)) = self.scopes.iter().rev().find(|(known, _)| &**known == plain) {
            self.references[id.index()] = Reference::Local(name.clone());
            let ty = ty.clone();
            self.set(id, ty);
            return true;
        }
        let found = self.env.resolve(name, |candidate| {
            let variable = self.env.variable(candidate).map(|ty| (ty.clone(), true));
            variable.or_else(|| self.env.named_type(candidate).map(|ty| (Type::type_of(ty), false)))
        });
        let Some((name, (ty, is_variable))) = found else { return false };
        self.references[id.index()] =
            if is_variable { Reference::Variable(name) } else { Reference::Type(name) };
        self.set(id, ty);
        true
    }

    /// Whether a qualified name starts with a variable of a macro, which hides everything else.
    fn is_local(&self, qualified: &str) -> bool {
        let first = qualified.split('.').next().unwrap_or_default();
        self.scopes.iter().any(|(known, _)| &**known == first)
    }

    /// The type of `operand.field`.
    fn check_field(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.bindings.substitute(&self.type_of(operand), false);
        let target = operand_type.optional_value().unwrap_or(&operand_type);
        let result = match target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(name) => self.field_type(self.ast.expr(id).offset, name, field),
            Type::Var(_) => {
                self.bindings.assignable(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                let message = format!("type '{other}' does not support field selection");
                self.report(id, message);
                Type::Dyn
            }
        };
        if operand_type.is_optional() || optional { Type::optional(result) } else { result }
    }

    fn field_type(&mut self, offset: u32, object: &str, field: &str) -> Type {
        let Some(object_type) = self.env.object(object) else {
            self.issues.report(Some(offset), format!("unexpected failed resolution of '{object}'"));
            return Type::Error;
        };
        if let Some(ty) = object_type.fields.get(field) {
            ty.clone()
        } else {
            self.issues.report(Some(offset), format!("undefined field '{field}'"));
            Type::Error
        }
    }

    fn check_call(&mut self, id: ExprId) {
        let ast = self.ast;
        let ExprKind::Call(call) = &ast.expr(id).kind else { return };
        if &*call.function == op::OPTIONAL_SELECT {
            return self.check_optional_select(id, &call.args);
        }
        for arg in &call.args {
            self.check(*arg);
        }
        let env = self.env;
        let find = |name: &str| env.function(name);
        let Some(target) = call.target else {
            match env.resolve(&call.function, find) {
                Some((_, function)) => self.resolve_overloads(id, function, None, &call.args, false),
                None => self.undeclared(id, &call.function),
            }
            return;
        };
        if let Some(prefix) = qualified_name(ast, target) {
            let full_name = format!("{prefix}.{}", call.function);
            if let Some((_, function)) = env.resolve(&full_name, find) {
                return self.resolve_overloads(id, function, None, &call.args, true);
            }
        }
        self.check(target);
        match env.resolve(&call.function, find) {
            Some((_, function)) => self.resolve_overloads(id, function, Some(target), &call.args, false),
            None => self.undeclared(id, &call.function),
        }
    }

    fn check_optional_select(&mut self, id: ExprId, args: &[ExprId]) {
        let [operand, field] = args else { return };
        let ExprKind::Literal(Literal::String(field)) = &self.ast.expr(*field).kind else { return };
        let ty = self.check_field(id, *operand, field, true);
        let ty = self.bindings.substitute(&ty, false);
        self.set(id, ty);
        self.references[id.index()] = Reference::Function {
            name: op::OPTIONAL_SELECT.into(),
            overloads: vec!["select_optional_field".into()],
            target_is_namespace: false,
        };
    }

    fn resolve_overloads(
        &mut self,
        id: ExprId,
        function: &Function,
        target: Option<ExprId>,
        args: &[ExprId],
        target_is_namespace: bool,
    ) {
        let arg_types: Vec<Type> = target.iter().chain(args).map(|arg| self.type_of(*arg)).collect();
        let is_logic = matches!(&*function.name, op::AND | op::OR);
        let mut result = None;
        let mut overloads = Vec::new();
        for overload in &function.overloads {
            if overload.member != target.is_some() {
                continue;
            }
            if is_logic {
                overloads.push(overload.id.clone());
                result = self.check_logic(args, &arg_types);
                break;
            }
            let fresh: Vec<Type> = overload.type_params.iter().map(|_| self.bindings.fresh()).collect();
            let instantiate = |ty: &Type| instantiated(ty, &overload.type_params, &fresh);
            let params: Vec<Type> = overload.params.iter().map(instantiate).collect();
            if !self.bindings.all_assignable(&arg_types, &params) {
                continue;
            }
            overloads.push(overload.id.clone());
            let overload_result = self.bindings.substitute(&instantiate(&overload.result), false);
            result = Some(match result {
                None => overload_result,
                Some(Type::Dyn) => Type::Dyn,
                Some(known) if known == overload_result => known,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            if !is_logic {
                self.report_no_overload(id, function, &arg_types, target.is_some());
            }
            self.set(id, Type::Error);
            return;
        };
        self.set(id, result);
        self.references[id.index()] =
            Reference::Function { name: function.name.clone(), overloads, target_is_namespace };
    }

    /// `&&` and `||`: each operand that is not a bool is reported where it stands.
    fn check_logic(&mut self, args: &[ExprId], arg_types: &[Type]) -> Option<Type> {
        let mut result = Some(Type::Bool);
        for (arg, ty) in args.iter().zip(arg_types) {
            if !self.bindings.assignable(ty, &Type::Bool) {
                self.mismatch(*arg, &Type::Bool, ty);
                result = None;
            }
        }
        result
    }

    fn report_no_overload(&mut self, id: ExprId, function: &Function, arg_types: &[Type], member: bool) {
        let shown: Vec<String> =
            arg_types.iter().map(|ty| self.bindings.substitute(ty, true).to_string()).collect();
        let signature = match shown.split_first() {
            Some((receiver, rest)) if member => format!("{receiver}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let name = &function.name;
        self.report(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
    }

    /// The type of a literal's element; an optional one is unwrapped.
    fn element_type(&mut self, id: ExprId, optional: bool) -> Type {
        let ty = self.type_of(id);
        if !optional {
            return ty;
        }
        if let Some(inner) = ty.optional_value() {
            inner.clone()
        } else {
            if ty != Type::Dyn {
                self.mismatch(id, &Type::optional(ty.clone()), &ty);
            }
            ty
        }
    }

    /// The common type of the elements so far and one more.
    fn join(&mut self, at: ExprId, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.bindings.assignable(&previous, &current) {
            return most_general(&previous, &current);
        }
        if self.env.allows_mixed_literals() {
            return Type::Dyn;
        }
        self.mismatch(at, &previous, &current);
        Type::Error
    }

    fn check_struct(&mut self, id: ExprId) {
        let ast = self.ast;
        let ExprKind::Struct(object) = &ast.expr(id).kind else { return };
        let env = self.env;
        let found = env.resolve(&object.type_name, |candidate| {
            let variable = env.variable(candidate).map(|ty| (ty.clone(), false));
            variable.or_else(|| env.named_type(candidate).map(|ty| (ty, true)))
        });
        let Some((full_name, (ty, is_type))) = found else {
            return self.undeclared(id, &object.type_name);
        };
        self.references[id.index()] = Reference::Type(full_name.clone());
        let constructed = if !is_type {
            self.report(id, format!("'{ty}' is not a type"));
            Type::Error
        } else if env.object(&full_name).is_none() {
            self.report(id, format!("'{ty}' is not a message type"));
            Type::Error
        } else {
            ty
        };
        self.set(id, constructed);
        for field in &object.fields {
            self.check(field.value);
            let field_type = self.field_type(field.offset, &full_name, &field.name);
            let value_type = self.element_type(field.value, field.optional);
            if !self.bindings.assignable(&field_type, &value_type) {
                let message = format!(
                    "expected type of field '{}' is '{field_type}' but provided type is '{value_type}'",
                    field.name
                );
                self.issues.report(Some(field.offset), message);
            }
        }
    }

    fn check_comprehension(&mut self, id: ExprId, comprehension: &Comprehension) {
        self.check(comprehension.range);
        self.check(comprehension.init);
        let range = self.bindings.substitute(&self.type_of(comprehension.range), false);
        let accumulator = self.type_of(comprehension.init);
        self.scopes.push((comprehension.accumulator.clone(), accumulator.clone()));
        let (first, second) = self.variable_types(comprehension, &range);
        let depth = self.scopes.len();
        self.scopes.push((comprehension.variable.clone(), first));
        if let Some(name) = &comprehension.second_variable {
            self.scopes.push((name.clone(), second));
        }
        self.check(comprehension.condition);
        self.assert_type(comprehension.condition, &Type::Bool);
        self.check(comprehension.step);
        self.assert_type(comprehension.step, &accumulator);
        self.scopes.truncate(depth);
        self.check(comprehension.result);
        self.scopes.pop();
        let ty = self.bindings.substitute(&self.type_of(comprehension.result), false);
        self.set(id, ty);
    }

    fn variable_types(&mut self, comprehension: &Comprehension, range: &Type) -> (Type, Type) {
        let two = comprehension.second_variable.is_some();
        match range {
            Type::List(element) if two => (Type::Int, Type::clone(element)),
            Type::List(element) => (Type::clone(element), Type::Error),
            Type::Map(entry) => entry.as_ref().clone(),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.bindings.assignable(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(comprehension.range, message);
                (Type::Error, Type::Error)
            }
        }
    }

    fn assert_type(&mut self, id: ExprId, expected: &Type) {
        let found = self.type_of(id);
        if !self.bindings.assignable(expected, &found) {
            self.mismatch(id, expected, &found);
        }
    }
}

fn instantiated(ty: &Type, params: &[Name], fresh: &[Type]) -> Type {
    match ty {
        Type::Param(name) => match params.iter().position(|param| param == name) {
            Some(at) => fresh[at].clone(),
            None => ty.clone(),
        },
        _ if params.is_empty() => ty.clone(),
        other => other.map_parts(&mut |part| instantiated(part, params, fresh)),
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// `a.b.c` as a name, where the expression is nothing but names and dots.
pub(crate) fn qualified_name(ast: &Ast, id: ExprId) -> Option<String> {
    match &ast.expr(id).kind {
        ExprKind::Ident(name) => Some(name.to_string()),
        ExprKind::Select(select) if !select.test_only => {
            qualified_name(ast, select.operand).map(|prefix| format!("{prefix}.{}", select.field))
        }
        _ => None,
    }
}

/// Whether a value fits a declared type at run time. Of lists and maps the first entry is looked at.
pub(crate) fn accepts(ty: &Type, value: &Value<'_>) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Param(_) | Type::Var(_), _)
        | (Type::Null, Value::Null)
        | (Type::Bool, Value::Bool(_))
        | (Type::Int, Value::Int(_))
        | (Type::Uint, Value::Uint(_))
        | (Type::Double, Value::Double(_))
        | (Type::String, Value::String(_))
        | (Type::Bytes, Value::Bytes(_))
        | (Type::Timestamp, Value::Timestamp(_))
        | (Type::Duration, Value::Duration(_))
        | (Type::Type(_), Value::Type(_))
        | (Type::Object(_), Value::Map(_)) => true,
        (Type::Wrapper(inner), value) => matches!(value, Value::Null) || accepts(inner, value),
        (Type::List(element), Value::List(list)) => match list.get(0) {
            Some(Ok(first)) => accepts(element, &first),
            _ => true,
        },
        (Type::Map(entry), Value::Map(map)) => match map.keys().first() {
            None => true,
            Some(key) => {
                accepts(&entry.0, key)
                    && map.get(key).is_none_or(|value| value.is_ok_and(|value| accepts(&entry.1, &value)))
            }
        },
        (Type::Opaque(..), Value::Optional(_)) => ty.is_optional(),
        (Type::Object(name) | Type::Opaque(name, _), Value::Opaque(opaque)) => **name == *opaque.type_name(),
        _ => false,
    }
}
