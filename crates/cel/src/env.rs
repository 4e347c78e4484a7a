//! Environments: what an expression may name.
//!
//! An environment is built once, shared, and extended cheaply: a host keeps one with its libraries and
//! adds the variables and object types of a single expression on top.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::ast::{Ast, Name};
use crate::checker::{self, Checked};
use crate::cost::RunCall;
use crate::cost::estimate::{CallEstimate, StaticCall};
use crate::error::{EvalError, Issues};
use crate::plan::{self, ProgramError};
use crate::program::Program;
use crate::syntax::macros::Macro;
use crate::syntax::{self, Dialect};
use crate::types::Type;
use crate::validate;
use crate::value::{Evaluated, Value};

/// What a function does. Arguments are the receiver first; all are values, errors having ended the call.
pub type Implementation = Arc<dyn for<'v, 'a> Fn(&'v [Value<'a>]) -> Evaluated<'a> + Send + Sync>;

/// Looks at the arguments that are constant and may return a better implementation, or refuse the call.
pub type Specializer = fn(&[Option<&Value<'_>>]) -> Result<Option<Implementation>, EvalError>;

/// The cost of a call that was made; `None` leaves it to the next rule.
pub type RunCost = Arc<dyn for<'c, 'a> Fn(&RunCall<'c, 'a>) -> Option<u64> + Send + Sync>;

/// The cost of a call before it is made; `None` leaves it to the next rule.
pub type StaticCost = Arc<dyn Fn(&StaticCall<'_>) -> Option<CallEstimate> + Send + Sync>;

/// The costs of a function or of one of its overloads. Without any, a call costs 1 and its arguments.
#[derive(Clone, Default)]
pub struct CallCost {
    pub run: Option<RunCost>,
    pub estimate: Option<StaticCost>,
    /// Whether `run` has nothing to say unless the first argument is a library's own value. Then it is not
    /// asked, which keeps comparisons of plain values fast.
    pub opaque_only: bool,
}

impl CallCost {
    /// Costs by two rules.
    pub fn new(
        run: impl for<'c, 'a> Fn(&RunCall<'c, 'a>) -> Option<u64> + Send + Sync + 'static,
        estimate: impl Fn(&StaticCall<'_>) -> Option<CallEstimate> + Send + Sync + 'static,
    ) -> Self {
        CallCost { run: Some(Arc::new(run)), estimate: Some(Arc::new(estimate)), opaque_only: false }
    }

    /// Says that the rule for calls made concerns a library's own values only.
    #[must_use]
    pub fn opaque_only(mut self) -> Self {
        self.opaque_only = true;
        self
    }
}

impl fmt::Debug for CallCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallCost").finish_non_exhaustive()
    }
}

/// One form of a function: its parameter types decide whether it is meant.
#[derive(Clone)]
pub struct Overload {
    pub(crate) id: Name,
    pub(crate) member: bool,
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) type_params: Vec<Name>,
    pub(crate) implementation: Option<Implementation>,
    pub(crate) specializer: Option<Specializer>,
    pub(crate) cost: CallCost,
    /// Whether values are compared with the parameters before a call.
    guarded: bool,
}

impl fmt::Debug for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overload").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Overload {
    /// Called as `f(args)`.
    ///
    /// ```
    /// use cel::{Env, Function, Overload, Type, Value};
    ///
    /// let twice = Function::new("twice").overload(
    ///     Overload::global("twice_int", [Type::Int], Type::Int)
    ///         .implemented(|args| Ok(Value::Int(args[0].as_int().unwrap_or(0).wrapping_mul(2)))),
    /// );
    /// let env = Env::standard().extend().function(twice).build();
    /// assert_eq!(env.program("twice(21)").unwrap().evaluate(&[]).unwrap().as_int(), Some(42));
    /// ```
    pub fn global(id: &str, params: impl IntoIterator<Item = Type>, result: Type) -> Self {
        Overload::new(id, false, params, result)
    }

    /// Called as `receiver.f(args)`; the first parameter is the receiver.
    pub fn member(id: &str, params: impl IntoIterator<Item = Type>, result: Type) -> Self {
        Overload::new(id, true, params, result)
    }

    fn new(id: &str, member: bool, params: impl IntoIterator<Item = Type>, result: Type) -> Self {
        let params: Vec<Type> = params.into_iter().collect();
        let mut type_params = Vec::new();
        params.iter().chain([&result]).for_each(|ty| ty.collect_params(&mut type_params));
        Overload {
            id: id.into(),
            member,
            params,
            result,
            type_params,
            implementation: None,
            specializer: None,
            cost: CallCost::default(),
            guarded: true,
        }
    }

    #[must_use]
    pub fn implemented(
        mut self,
        implementation: impl for<'v, 'a> Fn(&'v [Value<'a>]) -> Evaluated<'a> + Send + Sync + 'static,
    ) -> Self {
        self.implementation = Some(Arc::new(implementation));
        self
    }

    /// Lets constant arguments (a regular expression, say) be prepared once per program.
    #[must_use]
    pub fn specialized(mut self, specializer: Specializer) -> Self {
        self.specializer = Some(specializer);
        self
    }

    #[must_use]
    pub fn cost(mut self, cost: CallCost) -> Self {
        self.cost = cost;
        self
    }

    /// Leaves it to the implementation to refuse dynamic values that do not fit the parameters.
    #[must_use]
    pub fn unguarded(mut self) -> Self {
        self.guarded = false;
        self
    }

    /// Whether values fit the parameters at run time.
    pub(crate) fn accepts(&self, args: &[Value<'_>]) -> bool {
        let fits = |(param, arg): (&Type, &Value<'_>)| !self.guarded || checker::accepts(param, arg);
        self.params.len() == args.len() && self.params.iter().zip(args).all(fits)
    }
}

/// A function with its forms.
#[derive(Clone, Debug)]
pub struct Function {
    pub(crate) name: Name,
    pub(crate) overloads: Vec<Overload>,
    /// Costs that hold for every overload, before the overload's own.
    pub(crate) cost: CallCost,
}

impl Function {
    pub fn new(name: &str) -> Self {
        Function { name: name.into(), overloads: Vec::new(), cost: CallCost::default() }
    }

    #[must_use]
    pub fn overload(mut self, overload: Overload) -> Self {
        self.overloads.push(overload);
        self
    }

    #[must_use]
    pub fn overloads(mut self, overloads: impl IntoIterator<Item = Overload>) -> Self {
        self.overloads.extend(overloads);
        self
    }

    #[must_use]
    pub fn cost(mut self, cost: CallCost) -> Self {
        self.cost = cost;
        self
    }

    fn merge(&mut self, other: Function) {
        for overload in other.overloads {
            match self.overloads.iter_mut().find(|known| known.id == overload.id) {
                Some(known) => *known = overload,
                None => self.overloads.push(overload),
            }
        }
        if other.cost.run.is_some() || other.cost.estimate.is_some() {
            self.cost = other.cost;
        }
    }
}

/// Makes an object from the fields of a literal.
pub type Constructor = for<'a> fn(Vec<(Name, Value<'a>)>) -> Evaluated<'a>;

/// A type with fields.
#[derive(Clone, Debug)]
pub struct ObjectType {
    pub(crate) name: Name,
    pub(crate) fields: HashMap<Name, Type>,
    pub(crate) constructor: Option<Constructor>,
}

impl ObjectType {
    pub fn new<N: Into<Name>>(name: &str, fields: impl IntoIterator<Item = (N, Type)>) -> Self {
        let fields = fields.into_iter().map(|(name, ty)| (name.into(), ty)).collect();
        ObjectType { name: name.into(), fields, constructor: None }
    }

    /// Lets expressions create objects: `Name{field: value}`.
    #[must_use]
    pub fn constructed(mut self, constructor: Constructor) -> Self {
        self.constructor = Some(constructor);
        self
    }
}

/// A type that has a name.
#[derive(Clone, Debug)]
pub(crate) struct NamedType {
    pub(crate) ty: Type,
    /// Whether the name is also a value.
    pub(crate) has_value: bool,
}

/// Functions, macros and types that belong together.
#[derive(Clone, Default)]
pub struct Library {
    pub(crate) functions: Vec<Function>,
    pub(crate) macros: Vec<Macro>,
    pub(crate) objects: Vec<ObjectType>,
    /// Names that denote types.
    pub(crate) types: Vec<(Name, NamedType)>,
    pub(crate) optional_syntax: bool,
}

impl Library {
    pub fn new() -> Self {
        Library::default()
    }

    #[must_use]
    pub fn function(mut self, function: Function) -> Self {
        self.functions.push(function);
        self
    }

    #[must_use]
    pub fn object(mut self, object: ObjectType) -> Self {
        self.objects.push(object);
        self
    }

    /// Makes a name denote a type: `type(x) == name`.
    #[must_use]
    pub fn type_name(mut self, name: &str, ty: Type) -> Self {
        self.types.push((name.into(), NamedType { ty, has_value: true }));
        self
    }

    /// Makes a name known as that of a type, without a value: expressions that name it check, but do not run.
    #[must_use]
    pub fn type_name_only(mut self, name: &str, ty: Type) -> Self {
        self.types.push((name.into(), NamedType { ty, has_value: false }));
        self
    }

    #[must_use]
    pub(crate) fn macros(mut self, macros: &[Macro]) -> Self {
        self.macros.extend_from_slice(macros);
        self
    }

    #[must_use]
    pub(crate) fn optional_syntax(mut self) -> Self {
        self.optional_syntax = true;
        self
    }
}

/// What an expression may name. Immutable and shared; see [`Env::extend`].
///
/// ```
/// use cel::{Env, Type, Value};
///
/// let env = Env::standard().extend().variable("who", Type::String).build();
/// let program = env.program("'hello ' + who").unwrap();
/// let greeting = program.evaluate(&[("who", Value::str("you"))]).unwrap();
/// assert_eq!(greeting.as_str(), Some("hello you"));
/// ```
pub struct Env {
    base: Option<Arc<Env>>,
    variables: HashMap<Name, Type>,
    objects: HashMap<Name, Arc<ObjectType>>,
    types: HashMap<Name, NamedType>,
    functions: HashMap<Name, Arc<Function>>,
    macros: Vec<Macro>,
    options: Options,
}

/// Switches of an environment.
#[derive(Clone, Debug, Default)]
struct Options {
    container: String,
    optional_syntax: bool,
    escaped_identifiers: bool,
    homogeneous_literals: bool,
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("variables", &self.variables).finish_non_exhaustive()
    }
}

impl Env {
    /// The standard functions and macros of the language.
    pub fn standard() -> Arc<Env> {
        EnvBuilder::default().library(crate::library::standard()).build()
    }

    /// Starts an environment that adds to this one.
    pub fn extend(self: &Arc<Self>) -> EnvBuilder {
        EnvBuilder {
            env: Env {
                base: Some(Arc::clone(self)),
                macros: self.macros.clone(),
                options: self.options.clone(),
                ..Env::empty()
            },
        }
    }

    fn empty() -> Env {
        Env {
            base: None,
            variables: HashMap::new(),
            objects: HashMap::new(),
            types: HashMap::new(),
            functions: HashMap::new(),
            macros: Vec::new(),
            options: Options::default(),
        }
    }

    /// Parses an expression and expands its macros.
    pub fn parse(&self, text: &str) -> Result<Ast, Issues> {
        let dialect = Dialect {
            macros: &self.macros,
            optional_syntax: self.options.optional_syntax,
            escaped_identifiers: self.options.escaped_identifiers,
        };
        syntax::parse(text, &dialect)
    }

    /// Deduces the types of a parsed expression.
    pub fn check(&self, ast: Ast) -> Result<Checked, Issues> {
        checker::check(ast, self)
    }

    /// Parses and checks.
    pub fn compile(&self, text: &str) -> Result<Checked, Issues> {
        self.check(self.parse(text)?)
    }

    /// Looks for literals that cannot be meant: lists and maps of mixed types, durations, timestamps and
    /// patterns that cannot be read, formats that do not fit their arguments.
    pub fn validate(&self, checked: &Checked) -> Result<(), Issues> {
        validate::validate(checked)
    }

    /// Makes a checked expression ready to be evaluated.
    pub fn plan(&self, checked: &Checked) -> Result<Program, ProgramError> {
        plan::plan(checked, self)
    }

    /// Plans an expression that was only parsed; names and overloads are then found while it runs.
    pub fn plan_unchecked(&self, ast: Ast) -> Result<Program, ProgramError> {
        plan::plan(&Checked::unchecked(ast), self)
    }

    /// Parses, checks and plans.
    pub fn program(&self, text: &str) -> Result<Program, ProgramError> {
        let checked = self.compile(text).map_err(ProgramError::Issues)?;
        self.plan(&checked)
    }

    pub(crate) fn container(&self) -> &str {
        &self.options.container
    }

    pub(crate) fn allows_mixed_literals(&self) -> bool {
        !self.options.homogeneous_literals
    }

    pub(crate) fn lookup<'e, T>(&'e self, find: impl Fn(&'e Env) -> Option<T>) -> Option<T> {
        find(self).or_else(|| self.base.as_ref().and_then(|base| base.lookup(find)))
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.lookup(|env| env.variables.get(name))
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.lookup(|env| env.functions.get(name))
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Arc<ObjectType>> {
        self.lookup(|env| env.objects.get(name))
    }

    /// The type that a name denotes.
    pub(crate) fn named_type(&self, name: &str) -> Option<Type> {
        let object = |env: &Env| env.objects.get(name).map(|object| Type::Object(object.name.clone()));
        self.lookup(|env| env.types.get(name).map(|named| named.ty.clone())).or_else(|| self.lookup(object))
    }

    /// Whether the name of a type is a value, too.
    pub(crate) fn is_type_value(&self, name: &str) -> bool {
        self.lookup(|env| env.types.get(name)).is_some_and(|named| named.has_value)
    }

    /// The names that `name` may stand for, the most specific first.
    pub(crate) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_prefix('.') {
            return vec![absolute.to_owned()];
        }
        let mut candidates = Vec::new();
        let mut container = self.container();
        while !container.is_empty() {
            candidates.push(format!("{container}.{name}"));
            container = container.rfind('.').map_or("", |at| &container[..at]);
        }
        candidates.push(name.to_owned());
        candidates
    }

    /// Finds something by the first of the names that `name` may stand for.
    pub(crate) fn resolve<T>(&self, name: &str, find: impl Fn(&str) -> Option<T>) -> Option<(Name, T)> {
        if self.container().is_empty() {
            let name = name.strip_prefix('.').unwrap_or(name);
            return find(name).map(|found| (name.into(), found));
        }
        self.candidates(name)
            .into_iter()
            .find_map(|candidate| find(&candidate).map(|found| (candidate.as_str().into(), found)))
    }
}

/// Collects the declarations of an environment.
pub struct EnvBuilder {
    env: Env,
}

impl Default for EnvBuilder {
    /// An environment without anything, not even operators.
    fn default() -> Self {
        EnvBuilder { env: Env::empty() }
    }
}

impl EnvBuilder {
    #[must_use]
    pub fn variable(mut self, name: &str, ty: Type) -> Self {
        self.env.variables.insert(name.into(), ty);
        self
    }

    #[must_use]
    pub fn object(mut self, object: ObjectType) -> Self {
        self.env.objects.insert(object.name.clone(), Arc::new(object));
        self
    }

    /// Adds a function, or overloads to one of the same name.
    #[must_use]
    pub fn function(mut self, function: Function) -> Self {
        let merged = match self.env.function(&function.name) {
            None => function,
            Some(known) => {
                let mut merged = Function::clone(known);
                merged.merge(function);
                merged
            }
        };
        self.env.functions.insert(merged.name.clone(), Arc::new(merged));
        self
    }

    #[must_use]
    pub fn library(mut self, library: Library) -> Self {
        self.env.macros.extend(library.macros);
        self.env.types.extend(library.types);
        self.env.options.optional_syntax |= library.optional_syntax;
        for object in library.objects {
            self = self.object(object);
        }
        for function in library.functions {
            self = self.function(function);
        }
        self
    }

    /// The namespace in which names are looked up first.
    #[must_use]
    pub fn container(mut self, container: &str) -> Self {
        container.clone_into(&mut self.env.options.container);
        self
    }

    /// Makes mixed types in a list or map literal an error of the checker. Off by default: their common
    /// type is then dynamic, and [`Env::validate`] may still object.
    #[must_use]
    pub fn homogeneous_literals(mut self, required: bool) -> Self {
        self.env.options.homogeneous_literals = required;
        self
    }

    /// Lets field names be written in backticks. Off by default.
    #[must_use]
    pub fn escaped_identifiers(mut self, allowed: bool) -> Self {
        self.env.options.escaped_identifiers = allowed;
        self
    }

    pub fn build(self) -> Arc<Env> {
        Arc::new(self.env)
    }
}
