//! Loops with two variables.

use crate::env::{Function, Library, Overload};
use crate::syntax::macros::{self, MAP_INSERT};
use crate::types::Type;

/// The macros, and the functions that their expansions name. Loops over them are planned as such, so the
/// functions are only declared.
pub(super) fn library() -> Library {
    let (k, v) = (Type::param("K"), Type::param("V"));
    let map = Type::map(k.clone(), v.clone());
    Library::new().macros(macros::TWO_VARIABLES).function(
        Function::new(MAP_INSERT)
            .overload(Overload::global("@mapInsert_map_key_value", [map.clone(), k, v], map.clone()))
            .overload(Overload::global("@mapInsert_map_map", [map.clone(), map.clone()], map)),
    )
}
