//! The string extension, version 2. Positions count characters.

use crate::env::{Function, Library, Overload};
use crate::error::EvalError;
use crate::eval_limits::check_built;
use crate::types::Type;
use crate::value::{Evaluated, Value};

type StringFunction = for<'v, 'a> fn(&'v [Value<'a>]) -> Evaluated<'a>;

/// `charAt`, `indexOf`, `lastIndexOf`, `lowerAscii`, `upperAscii`, `replace`, `split`, `substring`, `trim`,
/// `format`, `join`, `strings.quote`.
pub fn strings() -> Library {
    use Type::{Int, String};
    let texts = || Type::list(String);
    let member = |id: &str, params: &[Type], result: Type, f: StringFunction| {
        Overload::member(id, params.iter().cloned(), result).implemented(f)
    };
    let one = |name: &str, overload: Overload| Function::new(name).overload(overload);
    Library::new()
        .function(one("charAt", member("string_char_at_int", &[String, Int], String, char_at)))
        .function(Function::new("indexOf").overloads([
            member("string_index_of_string", &[String, String], Int, index_of),
            member("string_index_of_string_int", &[String, String, Int], Int, index_of),
        ]))
        .function(Function::new("lastIndexOf").overloads([
            member("string_last_index_of_string", &[String, String], Int, last_index_of),
            member("string_last_index_of_string_int", &[String, String, Int], Int, last_index_of),
        ]))
        .function(one(
            "lowerAscii",
            member("string_lower_ascii", &[String], String, |args| on_text(args, str::to_ascii_lowercase)),
        ))
        .function(one(
            "upperAscii",
            member("string_upper_ascii", &[String], String, |args| on_text(args, str::to_ascii_uppercase)),
        ))
        .function(Function::new("replace").overloads([
            member("string_replace_string_string", &[String, String, String], String, replace),
            member("string_replace_string_string_int", &[String, String, String, Int], String, replace),
        ]))
        .function(Function::new("split").overloads([
            member("string_split_string", &[String, String], texts(), split),
            member("string_split_string_int", &[String, String, Int], texts(), split),
        ]))
        .function(Function::new("substring").overloads([
            member("string_substring_int", &[String, Int], String, substring),
            member("string_substring_int_int", &[String, Int, Int], String, substring),
        ]))
        .function(one(
            "trim",
            member("string_trim", &[String], String, |args| on_text(args, |text| text.trim().to_owned())),
        ))
        .function(Function::new("join").overloads([
            member("list_join", &[texts()], String, join),
            member("list_join_string", &[texts(), String], String, join),
        ]))
        .function(one(
            "format",
            member("string_format", &[String, Type::list(Type::Dyn)], String, super::format::format),
        ))
        .function(one(
            "strings.quote",
            Overload::global("strings_quote", [String], String).implemented(|args| on_text(args, quote)),
        ))
}

fn on_text<'a>(args: &[Value<'a>], f: impl Fn(&str) -> String) -> Evaluated<'a> {
    match args {
        [Value::String(text)] => Ok(Value::from(f(text))),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::new(format!("index out of range: {index}"))
}

fn int<'a>(value: usize) -> Value<'a> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn char_at<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(text), Value::Int(index)] = args else { return Err(EvalError::no_such_overload()) };
    let at = usize::try_from(*index).map_err(|_| out_of_range(*index))?;
    match text.chars().nth(at) {
        Some(character) => Ok(Value::from(character.to_string())),
        None if at == text.chars().count() => Ok(Value::str("")),
        None => Err(out_of_range(*index)),
    }
}

fn index_of<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (text, part, from) = match args {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, *from),
        _ => return Err(EvalError::no_such_overload()),
    };
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    let from = usize::try_from(from).map_err(|_| out_of_range(from))?;
    let Some(start) = byte_at(text, from) else { return Ok(Value::Int(-1)) };
    match text[start..].find(&**part) {
        Some(at) => Ok(int(text[..start + at].chars().count())),
        None => Ok(Value::Int(-1)),
    }
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (text, part, from) = match args {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(from)] => (text, part, Some(*from)),
        _ => return Err(EvalError::no_such_overload()),
    };
    let length = text.chars().count();
    if part.is_empty() {
        return Ok(from.map_or_else(|| int(length), Value::Int));
    }
    // Where the part may start at the latest; a place beyond the text finds nothing.
    let latest = match from {
        None => length,
        Some(from) => {
            let from = usize::try_from(from).map_err(|_| out_of_range(from))?;
            if from >= length {
                return Ok(Value::Int(-1));
            }
            from
        }
    };
    let starts = text.char_indices().map(|(at, _)| at).enumerate();
    let found =
        starts.take(latest.saturating_add(1)).filter(|(_, at)| text[*at..].starts_with(&**part)).last();
    Ok(found.map_or(Value::Int(-1), |(index, _)| int(index)))
}

/// The byte position of a character; `None` beyond the last one.
fn byte_at(text: &str, index: usize) -> Option<usize> {
    text.char_indices().nth(index).map(|(at, _)| at)
}

fn replace<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (text, old, new, limit) = match args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => {
            (text, old, new, *limit)
        }
        _ => return Err(EvalError::no_such_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = text.matches(&**old).take(limit).count();
    check_built(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::from(text.replacen(&**old, new, limit)))
}

fn split<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (text, separator, limit) = match args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return Err(EvalError::no_such_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let parts: Vec<Value<'a>> = match (limit, separator.is_empty()) {
        (0, _) => Vec::new(),
        (_, true) => characters(text, limit).into_iter().map(Value::from).collect(),
        (_, false) => text.splitn(limit, &**separator).map(Value::string).collect(),
    };
    Ok(Value::list(parts))
}

/// Each character by itself, the last of `limit` with all the rest.
fn characters(text: &str, limit: usize) -> Vec<String> {
    let mut parts: Vec<String> = text.chars().take(limit).map(String::from).collect();
    if let (Some(last), Some(at)) = (parts.last_mut(), byte_at(text, limit.saturating_sub(1))) {
        text[at..].clone_into(last);
        if limit == usize::MAX {
            last.truncate(last.chars().next().map_or(0, char::len_utf8));
        }
    }
    parts
}

fn substring<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (text, start, end) = match args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(EvalError::no_such_overload()),
    };
    if let Some(end) = end
        && start > end
    {
        return Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let length = text.chars().count();
    let place = |index: i64| match usize::try_from(index) {
        Ok(at) if at <= length => Ok(byte_at(text, at).unwrap_or(text.len())),
        _ => Err(out_of_range(index)),
    };
    let from = place(start)?;
    let to = end.map_or(Ok(text.len()), place)?;
    Ok(Value::string(&text[from..to]))
}

fn join<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let (list, separator) = match args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(EvalError::no_such_overload()),
    };
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        match item? {
            Value::String(text) => joined.push_str(&text),
            other => return Err(EvalError::new(format!("join: invalid input: {}", super::display(&other)))),
        }
        check_built(joined.len())?;
    }
    Ok(Value::from(joined))
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
