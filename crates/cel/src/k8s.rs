//! The functions that Kubernetes adds to the language, and the environment its rules are written in.
//!
//! Everything here is built on the crate's public interface, as a host's own functions would be.

mod authorization;
mod cost;
mod format;
mod lists;
mod net;
mod quantity;
mod regex;
mod semver;
#[cfg(test)]
mod tests;
mod url;

use std::sync::Arc;

use crate::{Env, Library, Type, library};

/// The environment of validation rules: the standard library, the extensions and the Kubernetes libraries.
/// Variables are for the host to add.
///
/// ```
/// use cel::{Type, Value};
///
/// let env = cel::k8s::environment().extend().variable("self", Type::String).build();
/// let program = env.program("quantity(self).isGreaterThan(quantity('1G'))").unwrap();
/// let outcome = program.evaluate_within(1_000_000, &[("self", Value::str("1Gi"))]);
/// assert_eq!(outcome.result.unwrap().as_bool(), Some(true));
/// assert_eq!(outcome.cost, 4);
/// ```
pub fn environment() -> Arc<Env> {
    Env::standard()
        .extend()
        .library(library::strings())
        .library(library::sets())
        .library(library::lists())
        .library(library::optional())
        .library(library::two_variable_comprehensions())
        .library(library())
        .build()
}

/// `url`, `ip`, `cidr`, `quantity`, `semver`, `format.*`, `find`, list functions, and what all of these cost.
pub fn library() -> Library {
    // The reference knows these names from its schema types, and can do nothing with them.
    let library = Library::new()
        .type_name_only("timestamp", Type::Timestamp)
        .type_name_only("duration", Type::Duration);
    let library = url::add(library);
    let library = regex::add(library);
    let library = lists::add(library);
    let library = quantity::add(library);
    let library = net::add(library);
    let library = format::add(library);
    let library = semver::add(library);
    let library = authorization::add(library);
    cost::add(library)
}
