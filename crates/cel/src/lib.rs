//! The CEL language: parse, check, cost, evaluate. Knows no JSON crate.
//!
#![doc = include_str!("../README.md")]

pub mod ast;
mod checker;
mod collections;
mod compare;
pub mod cost;
mod env;
mod error;
mod eval;
mod eval_limits;
mod host;
pub mod k8s;
pub mod library;
mod plan;
mod program;
mod source;
mod syntax;
mod text;
mod time;
mod types;
mod unify;
mod validate;
mod value;

pub use checker::Checked;
pub use collections::{Entries, Items, List, Map};
pub use compare::{compare, equal};
pub use env::{
    CallCost, Constructor, Env, EnvBuilder, Function, Implementation, Library, ObjectType, Overload, RunCost,
    Specializer, StaticCost,
};
pub use error::{EvalError, EvalErrorKind, Issue, Issues};
pub use host::{Data, HostList, HostMap, ListView, MapView, Semantics};
pub use plan::ProgramError;
pub use program::{Activation, Outcome, Program};
pub use source::{Location, Source};
pub use time::{Duration, Timestamp};
pub use types::Type;
pub use value::{ByteStr, Evaluated, Opaque, Str, Value};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_between_threads_can_be() {
        fn is_shareable<T: Send + Sync>() {}
        is_shareable::<Env>();
        is_shareable::<Checked>();
        is_shareable::<Program>();
        is_shareable::<Value<'static>>();
    }
}
