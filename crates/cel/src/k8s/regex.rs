//! `find` and `findAll`.

use std::sync::Arc;

use crate::library::compile_regex;
use crate::{EvalError, Evaluated, Function, Implementation, Library, Overload, Type, Value};

pub(super) fn add(library: Library) -> Library {
    let texts = Type::list(Type::String);
    let find = Overload::member("string_find_string", [Type::String, Type::String], Type::String)
        .implemented(|args| with_pattern(args, find))
        .specialized(|args| specialized(args, find));
    let find_all = |id: &str, params: Vec<Type>| {
        Overload::member(id, params, texts.clone())
            .implemented(|args| with_pattern(args, find_all))
            .specialized(|args| specialized(args, find_all))
    };
    library.function(Function::new("find").overload(find)).function(
        Function::new("findAll")
            .overload(find_all("string_find_all_string", vec![Type::String, Type::String]))
            .overload(find_all("string_find_all_string_int", vec![Type::String, Type::String, Type::Int])),
    )
}

type Search = for<'v, 'a> fn(&::regex::Regex, &'v [Value<'a>]) -> Evaluated<'a>;

fn with_pattern<'a>(args: &[Value<'a>], search: Search) -> Evaluated<'a> {
    let Some(Value::String(pattern)) = args.get(1) else { return Err(EvalError::no_such_overload()) };
    let pattern =
        compile_regex(pattern).map_err(|error| EvalError::new(format!("Illegal regex: {error}")))?;
    search(&pattern, args)
}

/// A constant pattern is compiled once, and refused at once.
fn specialized(args: &[Option<&Value<'_>>], search: Search) -> Result<Option<Implementation>, EvalError> {
    let Some(Some(Value::String(pattern))) = args.get(1) else { return Ok(None) };
    let pattern = compile_regex(pattern).map_err(EvalError::new)?;
    Ok(Some(Arc::new(move |args| search(&pattern, args))))
}

fn find<'a>(pattern: &::regex::Regex, args: &[Value<'a>]) -> Evaluated<'a> {
    let Some(Value::String(text)) = args.first() else { return Err(EvalError::no_such_overload()) };
    Ok(Value::string(pattern.find(text).map_or("", |found| found.as_str())))
}

fn find_all<'a>(pattern: &::regex::Regex, args: &[Value<'a>]) -> Evaluated<'a> {
    let (text, limit) = match args {
        [Value::String(text), _] => (text, -1),
        [Value::String(text), _, Value::Int(limit)] => (text, *limit),
        _ => return Err(EvalError::no_such_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = pattern.find_iter(text).take(limit).map(|found| Value::string(found.as_str()));
    Ok(Value::list(found.collect()))
}
