//! Operators, `size`, and the basic functions on text.

use std::sync::Arc;

use super::regex;
use crate::ast::operators as op;
use crate::env::{Function, Implementation, Library, Overload};
use crate::error::EvalError;
use crate::eval::operators::unsupported;
use crate::types::Type;
use crate::value::{Evaluated, Value, character_count};

fn operator(name: &str, overloads: &[(&str, &[Type], Type)]) -> Function {
    let overload = |(id, params, result): &(&str, &[Type], Type)| {
        Overload::global(id, params.iter().cloned(), result.clone())
    };
    Function::new(name).overloads(overloads.iter().map(overload))
}

pub(super) fn add(library: Library) -> Library {
    let library = add_logic(library);
    let library = add_arithmetic(library);
    let library = add_order(library);
    let library = add_containers(library);
    add_text(library)
}

fn add_logic(library: Library) -> Library {
    let a = Type::param("A");
    library
        .function(operator(
            op::CONDITIONAL,
            &[("conditional", &[Type::Bool, a.clone(), a.clone()], a.clone())],
        ))
        .function(operator(op::AND, &[("logical_and", &[Type::Bool, Type::Bool], Type::Bool)]))
        .function(operator(op::OR, &[("logical_or", &[Type::Bool, Type::Bool], Type::Bool)]))
        .function(operator(op::NOT, &[("logical_not", &[Type::Bool], Type::Bool)]))
        .function(operator(op::NOT_STRICTLY_FALSE, &[("not_strictly_false", &[Type::Bool], Type::Bool)]))
        .function(operator(op::EQUALS, &[("equals", &[a.clone(), a.clone()], Type::Bool)]))
        .function(operator(op::NOT_EQUALS, &[("not_equals", &[a.clone(), a], Type::Bool)]))
}

fn add_arithmetic(library: Library) -> Library {
    use Type::{Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let list = Type::list(Type::param("A"));
    let negate = Function::new(op::NEGATE)
        .overload(Overload::global("negate_double", [Double], Double).implemented(negate).unguarded())
        .overload(Overload::global("negate_int64", [Int], Int).implemented(negate).unguarded());
    library
        .function(operator(
            op::ADD,
            &[
                ("add_bytes", &[Bytes, Bytes], Bytes),
                ("add_double", &[Double, Double], Double),
                ("add_duration_duration", &[Duration, Duration], Duration),
                ("add_duration_timestamp", &[Duration, Timestamp], Timestamp),
                ("add_timestamp_duration", &[Timestamp, Duration], Timestamp),
                ("add_int64", &[Int, Int], Int),
                ("add_list", &[list.clone(), list.clone()], list),
                ("add_string", &[String, String], String),
                ("add_uint64", &[Uint, Uint], Uint),
            ],
        ))
        .function(operator(
            op::DIVIDE,
            &[
                ("divide_double", &[Double, Double], Double),
                ("divide_int64", &[Int, Int], Int),
                ("divide_uint64", &[Uint, Uint], Uint),
            ],
        ))
        .function(operator(
            op::MODULO,
            &[("modulo_int64", &[Int, Int], Int), ("modulo_uint64", &[Uint, Uint], Uint)],
        ))
        .function(operator(
            op::MULTIPLY,
            &[
                ("multiply_double", &[Double, Double], Double),
                ("multiply_int64", &[Int, Int], Int),
                ("multiply_uint64", &[Uint, Uint], Uint),
            ],
        ))
        .function(operator(
            op::SUBTRACT,
            &[
                ("subtract_double", &[Double, Double], Double),
                ("subtract_duration_duration", &[Duration, Duration], Duration),
                ("subtract_int64", &[Int, Int], Int),
                ("subtract_timestamp_duration", &[Timestamp, Duration], Timestamp),
                ("subtract_timestamp_timestamp", &[Timestamp, Timestamp], Duration),
                ("subtract_uint64", &[Uint, Uint], Uint),
            ],
        ))
        .function(negate)
}

fn negate<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [Value::Int(value)] => {
            value.checked_neg().map(Value::Int).ok_or_else(|| EvalError::new("integer overflow"))
        }
        [Value::Double(value)] => Ok(Value::Double(-value)),
        [other] => Err(unsupported(op::NEGATE, other)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn add_order(mut library: Library) -> Library {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let pairs: [(&str, Type, Type); 14] = [
        ("bool", Bool, Bool),
        ("int64", Int, Int),
        ("int64_double", Int, Double),
        ("int64_uint64", Int, Uint),
        ("uint64", Uint, Uint),
        ("uint64_double", Uint, Double),
        ("uint64_int64", Uint, Int),
        ("double", Double, Double),
        ("double_int64", Double, Int),
        ("double_uint64", Double, Uint),
        ("string", String, String),
        ("bytes", Bytes, Bytes),
        ("timestamp", Timestamp, Timestamp),
        ("duration", Duration, Duration),
    ];
    let orders = [
        (op::LESS, "less"),
        (op::LESS_EQUALS, "less_equals"),
        (op::GREATER, "greater"),
        (op::GREATER_EQUALS, "greater_equals"),
    ];
    for (name, prefix) in orders {
        let overload = |(suffix, left, right): &(&str, Type, Type)| {
            Overload::global(&format!("{prefix}_{suffix}"), [left.clone(), right.clone()], Bool)
        };
        library = library.function(Function::new(name).overloads(pairs.iter().map(overload)));
    }
    library
}

fn add_containers(library: Library) -> Library {
    let (a, b) = (Type::param("A"), Type::param("B"));
    let (list, map) = (Type::list(a.clone()), Type::map(a.clone(), b.clone()));
    let size = |id: &str, member: bool, ty: &Type| {
        let params = [ty.clone()];
        let overload = if member {
            Overload::member(id, params, Type::Int)
        } else {
            Overload::global(id, params, Type::Int)
        };
        overload.implemented(size).unguarded()
    };
    let size = Function::new("size")
        .overload(size("size_bytes", false, &Type::Bytes))
        .overload(size("bytes_size", true, &Type::Bytes))
        .overload(size("size_list", false, &list))
        .overload(size("list_size", true, &list))
        .overload(size("size_map", false, &map))
        .overload(size("map_size", true, &map))
        .overload(size("size_string", false, &Type::String))
        .overload(size("string_size", true, &Type::String));
    library
        .function(operator(
            op::INDEX,
            &[
                ("index_list", &[list.clone(), Type::Int], a.clone()),
                ("index_map", &[map.clone(), a.clone()], b),
            ],
        ))
        .function(operator(
            op::IN,
            &[("in_list", &[a.clone(), list], Type::Bool), ("in_map", &[a, map], Type::Bool)],
        ))
        .function(size)
}

fn size<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let size = match args {
        [Value::String(text)] => character_count(text),
        [Value::Bytes(bytes)] => bytes.len() as u64,
        [Value::List(list)] => list.len() as u64,
        [Value::Map(map)] => map.len() as u64,
        [other] => return Err(unsupported("size", other)),
        _ => return Err(EvalError::no_such_overload()),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn add_text(library: Library) -> Library {
    let test = |name: &str, id: &str, holds: fn(&str, &str) -> bool| {
        let overload = Overload::member(id, [Type::String, Type::String], Type::Bool);
        let overload = overload.unguarded().implemented(move |args| match args {
            [Value::String(text), Value::String(part)] => Ok(Value::Bool(holds(text, part))),
            _ => Err(EvalError::no_such_overload()),
        });
        Function::new(name).overload(overload)
    };
    let matches = Function::new("matches")
        .overload(
            Overload::global("matches", [Type::String, Type::String], Type::Bool)
                .implemented(matches)
                .unguarded()
                .specialized(specialized_matches),
        )
        .overload(
            Overload::member("matches_string", [Type::String, Type::String], Type::Bool)
                .implemented(matches)
                .unguarded()
                .specialized(specialized_matches),
        );
    library
        .function(test("contains", "contains_string", |text, part| text.contains(part)))
        .function(test("endsWith", "ends_with_string", |text, part| text.ends_with(part)))
        .function(test("startsWith", "starts_with_string", |text, part| text.starts_with(part)))
        .function(matches)
}

fn matches<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    match args {
        [Value::String(text), Value::String(pattern)] => {
            let pattern = regex::compile(pattern).map_err(EvalError::new)?;
            Ok(Value::Bool(pattern.is_match(text)))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Compiles a constant pattern once.
fn specialized_matches(args: &[Option<&Value<'_>>]) -> Result<Option<Implementation>, EvalError> {
    let [_, Some(Value::String(pattern))] = args else { return Ok(None) };
    let pattern = regex::compile(pattern).map_err(EvalError::new)?;
    Ok(Some(Arc::new(move |args| match args {
        [Value::String(text), _] => Ok(Value::Bool(pattern.is_match(text))),
        _ => Err(EvalError::no_such_overload()),
    })))
}
