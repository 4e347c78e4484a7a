//! Types as declared and as deduced.

use std::fmt;
use std::sync::Arc;

use crate::ast::Name;

/// The name of the type of optional values.
pub(crate) const OPTIONAL: &str = "optional_type";

/// A type.
///
/// ```
/// use cel::Type;
///
/// let ty = Type::map(Type::String, Type::list(Type::optional(Type::Int)));
/// assert_eq!(ty.to_string(), "map(string, list(optional_type(int)))");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Anything; checked when evaluated.
    Dyn,
    /// What an expression with an error has.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    /// The type of types; with a parameter, of one type.
    Type(Option<Arc<Type>>),
    List(Arc<Type>),
    Map(Arc<(Type, Type)>),
    /// A type with fields, declared by the host or by a library.
    Object(Name),
    /// A type without visible parts, perhaps with parameters.
    Opaque(Name, Arc<[Type]>),
    /// A primitive that may also be null.
    Wrapper(Arc<Type>),
    /// A type parameter of a declaration.
    Param(Name),
    /// A type that checking has yet to find out.
    Var(u32),
}

impl Type {
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }

    pub fn optional(value: Type) -> Type {
        Type::Opaque(OPTIONAL.into(), Arc::new([value]))
    }

    pub fn object(name: &str) -> Type {
        Type::Object(name.into())
    }

    /// An opaque type without parameters.
    pub fn opaque(name: &str) -> Type {
        Type::Opaque(name.into(), Arc::new([]))
    }

    pub fn param(name: &str) -> Type {
        Type::Param(name.into())
    }

    /// The type of the type `of`.
    pub fn type_of(of: Type) -> Type {
        Type::Type(Some(Arc::new(of)))
    }

    pub fn wrapper(of: Type) -> Type {
        Type::Wrapper(Arc::new(of))
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.optional_value().is_some()
    }

    /// The type of the value inside an optional.
    pub fn optional_value(&self) -> Option<&Type> {
        match self {
            Type::Opaque(name, params) if &**name == OPTIONAL => params.first(),
            _ => None,
        }
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// The type without the "or null" of a wrapper.
    pub(crate) fn unwrapped(&self) -> &Type {
        match self {
            Type::Wrapper(inner) => inner,
            other => other,
        }
    }

    /// The first parameter: of a list its element, of a map its key.
    pub fn first_parameter(&self) -> Option<&Type> {
        match self {
            Type::List(element) => Some(element),
            Type::Map(entry) => Some(&entry.0),
            Type::Opaque(_, params) => params.first(),
            Type::Type(Some(of)) => Some(of),
            _ => None,
        }
    }

    /// The name that `type()` gives at run time, without parameters.
    pub fn runtime_name(&self) -> &str {
        match self {
            Type::Dyn | Type::Param(_) | Type::Var(_) => "dyn",
            Type::Error => "!error!",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration => "google.protobuf.Duration",
            Type::Type(_) => "type",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Object(name) | Type::Opaque(name, _) => name,
            Type::Wrapper(inner) => inner.runtime_name(),
        }
    }

    /// Applies `f` to the parts of a type that has any.
    pub(crate) fn map_parts(&self, f: &mut dyn FnMut(&Type) -> Type) -> Type {
        match self {
            Type::List(element) => Type::list(f(element)),
            Type::Map(entry) => Type::map(f(&entry.0), f(&entry.1)),
            Type::Opaque(name, params) if !params.is_empty() => {
                Type::Opaque(name.clone(), params.iter().map(f).collect())
            }
            Type::Type(Some(of)) => Type::type_of(f(of)),
            other => other.clone(),
        }
    }

    /// Collects the names of type parameters, each once.
    pub(crate) fn collect_params(&self, names: &mut Vec<Name>) {
        match self {
            Type::Param(name) if !names.contains(name) => names.push(name.clone()),
            Type::List(element) => element.collect_params(names),
            Type::Map(entry) => {
                entry.0.collect_params(names);
                entry.1.collect_params(names);
            }
            Type::Opaque(_, params) => params.iter().for_each(|param| param.collect_params(names)),
            Type::Type(Some(of)) => of.collect_params(names),
            _ => {}
        }
    }
}

/// As error texts name types.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Null => f.write_str("null"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::Param(name) => f.write_str(name),
            Type::Var(number) => write!(f, "_var{number}"),
            Type::Wrapper(inner) => write!(f, "wrapper({inner})"),
            Type::Type(Some(of)) => write!(f, "type({of})"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Map(entry) => write!(f, "map({}, {})", entry.0, entry.1),
            Type::Opaque(name, params) if !params.is_empty() => {
                let params: Vec<String> = params.iter().map(ToString::to_string).collect();
                write!(f, "{name}({})", params.join(", "))
            }
            other => f.write_str(other.runtime_name()),
        }
    }
}
