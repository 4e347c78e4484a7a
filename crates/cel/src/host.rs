//! Data of another crate, read in place.
//!
//! A host has its own tree (parsed JSON, say) and its own description of it (a schema). A list or map of
//! that tree enters the language as a pair: the data, and a *view* that knows how to read it. Nothing is
//! copied; scalars become values when they are read.
//!
//! ```
//! use cel::{Data, Env, Evaluated, HostList, ListView, Type, Value};
//!
//! #[derive(Debug)]
//! struct Numbers;
//!
//! impl ListView for Numbers {
//!     fn len(&self, data: &Data) -> usize {
//!         data.downcast_ref::<Vec<i64>>().map_or(0, Vec::len)
//!     }
//!     fn item<'a>(&'a self, data: &'a Data, index: usize) -> Evaluated<'a> {
//!         let numbers = data.downcast_ref::<Vec<i64>>().expect("this view is paired with numbers only");
//!         Ok(Value::Int(numbers[index]))
//!     }
//! }
//!
//! let env = Env::standard().extend().variable("self", Type::list(Type::Int)).build();
//! let program = env.program("self.all(n, n > 1)").unwrap();
//! let numbers: Vec<i64> = vec![2, 3];
//! let list = Value::from(HostList { data: &numbers, view: &Numbers });
//! assert_eq!(program.evaluate(&[("self", list)]).unwrap().as_bool(), Some(true));
//! ```

use std::any::Any;
use std::fmt;

use crate::ast::Name;
use crate::collections::{List, Map};
use crate::error::EvalError;
use crate::value::{Evaluated, Str, Value};

/// Host data, to be downcast by the view that it is paired with.
pub type Data = dyn Any + Send + Sync;

/// Reads a list.
pub trait ListView: fmt::Debug + Send + Sync {
    fn len(&self, data: &Data) -> usize;

    /// The item at `index`, which is below [`ListView::len`].
    fn item<'a>(&'a self, data: &'a Data, index: usize) -> Evaluated<'a>;

    /// How the list compares and concatenates.
    fn semantics(&self) -> Semantics<'_> {
        Semantics::Ordered
    }

    /// The outcome of comparing with something that is no list and not null.
    fn equals_other(&self) -> Result<bool, EvalError> {
        Ok(false)
    }
}

/// Reads a map with text keys, or an object with fields.
pub trait MapView: fmt::Debug + Send + Sync {
    /// The number of entries, hidden ones included.
    fn len(&self, data: &Data) -> usize;

    /// The entry of this key; `None` when there is none.
    fn get<'a>(&'a self, data: &'a Data, key: &str) -> Option<Evaluated<'a>>;

    /// The keys that expressions see.
    fn keys<'a>(&'a self, data: &'a Data) -> Vec<Str<'a>>;

    /// Whether this equals another map; `None` leaves it to comparing size and entries.
    fn equals(&self, data: &Data, other: &Map<'_>) -> Option<Result<bool, EvalError>> {
        let _ = (data, other);
        None
    }

    /// The outcome of comparing with something that is no map and not null.
    fn equals_other(&self) -> Result<bool, EvalError> {
        Ok(false)
    }
}

/// How a list compares and concatenates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics<'a> {
    /// Item by item.
    #[default]
    Ordered,
    /// Order does not matter, and concatenation adds what is not there yet.
    Set,
    /// Items are maps told apart by these fields; concatenation replaces items with the same fields.
    Keyed(&'a [Name]),
}

/// A list of the host.
#[derive(Clone, Copy)]
pub struct HostList<'a> {
    pub data: &'a Data,
    pub view: &'a dyn ListView,
}

/// A map or object of the host.
#[derive(Clone, Copy)]
pub struct HostMap<'a> {
    pub data: &'a Data,
    pub view: &'a dyn MapView,
}

impl fmt::Debug for HostList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostList").field(&self.view).finish()
    }
}

impl fmt::Debug for HostMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostMap").field(&self.view).finish()
    }
}

impl<'a> From<HostList<'a>> for Value<'a> {
    fn from(list: HostList<'a>) -> Self {
        Value::List(List::Host(list))
    }
}

impl<'a> From<HostMap<'a>> for Value<'a> {
    fn from(map: HostMap<'a>) -> Self {
        Value::Map(Map::Host(map))
    }
}
