//! The functions of the language: the standard ones, and the extensions a host may add.

mod comprehensions;
mod conversions;
mod format;
pub mod lists;
mod optional;
mod protobuf;
pub(crate) mod regex;
mod sets;
mod standard;
mod strings;
mod time;

pub(crate) use conversions::display;
pub(crate) use format::check_format;
pub use lists::lists;
pub use optional::optional;
pub use regex::compile as compile_regex;
pub use sets::sets;
pub use strings::strings;

pub use crate::text::quoted;

use crate::env::Library;
use crate::syntax::macros;

/// Operators, conversions, text, time: what every environment has.
pub fn standard() -> Library {
    let library = Library::new().macros(macros::STANDARD);
    let library = standard::add(library);
    let library = conversions::add(library);
    let library = time::add(library);
    protobuf::add(library)
}

/// `all`, `exists`, `existsOne`, `transformList`, `transformMap`, `transformMapEntry` with two variables.
pub fn two_variable_comprehensions() -> Library {
    comprehensions::library()
}
