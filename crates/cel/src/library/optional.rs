//! Optional values.

use crate::ast::operators as op;
use crate::env::{Function, Library, Overload};
use crate::error::EvalError;
use crate::syntax::macros;
use crate::types::{OPTIONAL, Type};
use crate::value::{Evaluated, Value};

/// `optional.of` and its like, `a.?b`, `a[?b]`, `optMap`, `optFlatMap`, `first`, `last`.
pub fn optional() -> Library {
    let (k, v) = (Type::param("K"), Type::param("V"));
    let some = Type::optional(v.clone());
    let list = Type::list(v.clone());
    let map = Type::map(k.clone(), v.clone());
    let optional_list = Type::optional(list.clone());
    let optional_map = Type::optional(map.clone());
    let optionals = Type::list(some.clone());
    let library = Library::new().macros(macros::OPTIONAL).optional_syntax();
    let library = library.type_name(OPTIONAL, Type::opaque(OPTIONAL));
    let unary = |name: &str, overload: Overload, f: for<'v, 'a> fn(&'v Value<'a>) -> Evaluated<'a>| {
        Function::new(name).overload(overload.implemented(move |args| match args {
            [only] => f(only),
            _ => Err(EvalError::no_such_overload()),
        }))
    };
    library
        .function(unary("optional.of", Overload::global("optional_of", [v.clone()], some.clone()), |value| {
            Ok(Value::some(value.clone()))
        }))
        .function(unary(
            "optional.ofNonZeroValue",
            Overload::global("optional_ofNonZeroValue", [v.clone()], some.clone()),
            |value| Ok(if value.is_zero() { Value::NONE } else { Value::some(value.clone()) }),
        ))
        .function(
            Function::new("optional.none").overload(
                Overload::global("optional_none", [], some.clone()).implemented(|_| Ok(Value::NONE)),
            ),
        )
        .function(unary("value", Overload::member("optional_value", [some.clone()], v.clone()), value))
        .function(unary(
            "hasValue",
            Overload::member("optional_hasValue", [some.clone()], Type::Bool),
            |value| match value {
                Value::Optional(inner) => Ok(Value::Bool(inner.is_some())),
                _ => Err(EvalError::no_such_overload()),
            },
        ))
        .function(Function::new("or").overload(Overload::member(
            "optional_or_optional",
            [some.clone(), some.clone()],
            some.clone(),
        )))
        .function(Function::new("orValue").overload(Overload::member(
            "optional_orValue_value",
            [some.clone(), v.clone()],
            v,
        )))
        .function(Function::new(op::OPTIONAL_SELECT).overload(Overload::global(
            "select_optional_field",
            [Type::Dyn, Type::String],
            some.clone(),
        )))
        .function(Function::new(op::OPTIONAL_INDEX).overloads([
            Overload::global("list_optindex_optional_int", [list.clone(), Type::Int], some.clone()),
            Overload::global(
                "optional_list_optindex_optional_int",
                [optional_list.clone(), Type::Int],
                some.clone(),
            ),
            Overload::global("map_optindex_optional_value", [map, k.clone()], some.clone()),
            Overload::global(
                "optional_map_optindex_optional_value",
                [optional_map.clone(), k.clone()],
                some.clone(),
            ),
        ]))
        .function(Function::new(op::INDEX).overloads([
            Overload::global("optional_list_index_int", [optional_list, Type::Int], some.clone()),
            Overload::global("optional_map_index_value", [optional_map, k], some.clone()),
        ]))
        .function(unary("first", Overload::member("list_first", [list.clone()], some.clone()), |list| {
            end_of(list, |_| 0)
        }))
        .function(unary("last", Overload::member("list_last", [list.clone()], some), |list| {
            end_of(list, |length| length.saturating_sub(1))
        }))
        .function(unary(
            "optional.unwrap",
            Overload::global("optional_unwrap", [optionals.clone()], list.clone()),
            unwrap,
        ))
        .function(unary("unwrapOpt", Overload::member("optional_unwrapOpt", [optionals], list), unwrap))
}

fn value<'a>(optional: &Value<'a>) -> Evaluated<'a> {
    match optional {
        Value::Optional(Some(inner)) => Ok(Value::clone(inner)),
        Value::Optional(None) => Err(EvalError::new("optional.none() dereference")),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn end_of<'a>(list: &Value<'a>, place: fn(usize) -> usize) -> Evaluated<'a> {
    let Value::List(list) = list else { return Err(EvalError::no_such_overload()) };
    match list.get(place(list.len())) {
        Some(item) => item.map(Value::some),
        None => Ok(Value::NONE),
    }
}

fn unwrap<'a>(list: &Value<'a>) -> Evaluated<'a> {
    let Value::List(list) = list else { return Err(EvalError::no_such_overload()) };
    let mut items = Vec::new();
    for item in list.iter() {
        match item? {
            Value::Optional(Some(inner)) => items.push(Value::clone(&inner)),
            Value::Optional(None) => {}
            other => {
                let shown = super::display(&other);
                return Err(EvalError::new(format!("value {shown} is not optional")));
            }
        }
    }
    Ok(Value::list(items))
}
