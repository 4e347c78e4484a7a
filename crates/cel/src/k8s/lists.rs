//! `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf` of lists.

use std::cmp::Ordering;

use crate::{Duration, EvalError, Evaluated, Function, Library, List, Overload, Type, Value, compare, equal};

/// Types with an order, in the order in which overloads are tried.
const COMPARABLE: [Type; 8] = [
    Type::Int,
    Type::Uint,
    Type::Double,
    Type::Bool,
    Type::Duration,
    Type::Timestamp,
    Type::String,
    Type::Bytes,
];

pub(super) fn add(library: Library) -> Library {
    let of = |ty: &Type| Type::list(ty.clone());
    let sorted = COMPARABLE.iter().map(|ty| {
        let id = format!("list_{}_is_sorted_bool", short_name(ty));
        Overload::member(&id, [of(ty)], Type::Bool).implemented(|args| match args {
            [Value::List(list)] => is_sorted(list),
            _ => Err(EvalError::no_such_overload()),
        })
    });
    let extreme = |name: &'static str, wanted: Ordering| {
        let overload = move |ty: &Type| {
            let id = format!("list_{0}_{name}_{0}", short_name(ty));
            Overload::member(&id, [Type::list(ty.clone())], ty.clone()).implemented(move |args| match args {
                [Value::List(list)] => find_extreme(list, name, wanted),
                _ => Err(EvalError::no_such_overload()),
            })
        };
        Function::new(name).overloads(COMPARABLE.iter().map(overload))
    };
    let zeroes: [(Type, Value<'static>); 4] = [
        (Type::Int, Value::Int(0)),
        (Type::Uint, Value::Uint(0)),
        (Type::Double, Value::Double(0.0)),
        (Type::Duration, Value::Duration(Duration::from_nanos(0))),
    ];
    let sums = zeroes.into_iter().map(|(ty, zero)| {
        let id = format!("list_{0}_sum_{0}", short_name(&ty));
        Overload::member(&id, [of(&ty)], ty).implemented(move |args| match args {
            [Value::List(list)] => sum(list, zero.clone()),
            _ => Err(EvalError::no_such_overload()),
        })
    });
    let t = Type::param("T");
    let index = |name: &str, id: &str, last: bool| {
        let overload = Overload::member(id, [Type::list(t.clone()), t.clone()], Type::Int);
        Function::new(name).overload(overload.implemented(move |args| match args {
            [Value::List(list), item] => index_of(list, item, last),
            _ => Err(EvalError::no_such_overload()),
        }))
    };
    library
        .function(Function::new("isSorted").overloads(sorted))
        .function(Function::new("sum").overloads(sums))
        .function(extreme("max", Ordering::Greater))
        .function(extreme("min", Ordering::Less))
        .function(index("indexOf", "list_a_index_of_int", false))
        .function(index("lastIndexOf", "list_a_last_index_of_int", true))
}

/// A type's name in overloads.
fn short_name(ty: &Type) -> &'static str {
    match ty {
        Type::Int => "int",
        Type::Uint => "uint",
        Type::Double => "double",
        Type::Bool => "bool",
        Type::Duration => "duration",
        Type::Timestamp => "timestamp",
        Type::String => "string",
        _ => "bytes",
    }
}

fn is_sorted<'a>(list: &List<'a>) -> Evaluated<'a> {
    let mut previous: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if let Some(previous) = &previous
            && compare(previous, &item)? == Ordering::Greater
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn find_extreme<'a>(list: &List<'a>, name: &str, wanted: Ordering) -> Evaluated<'a> {
    let mut found: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        let better = match &found {
            None => true,
            Some(found) => compare(&item, found)? == wanted,
        };
        if better {
            found = Some(item);
        }
    }
    found.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

fn sum<'a>(list: &List<'a>, zero: Value<'a>) -> Evaluated<'a> {
    list.iter().try_fold(zero, |sum, item| {
        let overflow = |what: &'static str| move || EvalError::new(what);
        match (sum, item?) {
            (Value::Int(left), Value::Int(right)) => {
                left.checked_add(right).map(Value::Int).ok_or_else(overflow("integer overflow"))
            }
            (Value::Uint(left), Value::Uint(right)) => {
                left.checked_add(right).map(Value::Uint).ok_or_else(overflow("unsigned integer overflow"))
            }
            (Value::Double(left), Value::Double(right)) => Ok(Value::Double(left + right)),
            (Value::Duration(left), Value::Duration(right)) => {
                left.checked_add(right).map(Value::Duration).ok_or_else(overflow("integer overflow"))
            }
            _ => Err(EvalError::no_such_overload()),
        }
    })
}

fn index_of<'a>(list: &List<'a>, wanted: &Value<'a>, last: bool) -> Evaluated<'a> {
    let mut found = -1;
    for (index, item) in list.iter().enumerate() {
        if equal(&item?, wanted)? {
            found = i64::try_from(index).unwrap_or(i64::MAX);
            if !last {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}
