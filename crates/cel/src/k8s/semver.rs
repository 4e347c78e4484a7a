//! Semantic versions.

use std::any::Any;
use std::cmp::Ordering;

use crate::library::quoted;
use crate::{EvalError, Function, Library, Opaque, Overload, Type, Value};

const TYPE_NAME: &str = "kubernetes.Semver";

/// A version; build metadata does not take part in comparisons and is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Semver {
    fn compare(&self, other: &Semver) -> Ordering {
        let releases = match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.prerelease.cmp(&other.prerelease),
        };
        self.numbers.cmp(&other.numbers).then(releases)
    }
}

impl Opaque for Semver {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        other.downcast::<Semver>().map(|other| self.compare(other).is_eq())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(super) fn add(library: Library) -> Library {
    let semver = || Type::object(TYPE_NAME);
    let parsed = |id: &str, params: Vec<Type>| {
        Overload::global(id, params, semver())
            .implemented(|args| from_args(args)?.map(Value::opaque).map_err(EvalError::new))
    };
    let tested = |id: &str, params: Vec<Type>| {
        Overload::global(id, params, Type::Bool).implemented(|args| Ok(Value::Bool(from_args(args)?.is_ok())))
    };
    let number = |name: &str, id: &str, index: usize| {
        let overload = Overload::member(id, [semver()], Type::Int).implemented(move |args| {
            let version = args.first().and_then(Value::downcast::<Semver>);
            let version = version.ok_or_else(EvalError::no_such_overload)?;
            Ok(Value::Int(version.numbers[index].cast_signed()))
        });
        Function::new(name).overload(overload)
    };
    let compared = |name: &str, id: &str, result: Type, of: fn(Ordering) -> Value<'static>| {
        let overload = Overload::member(id, [semver(), semver()], result).implemented(move |args| {
            let [left, right] = args else { return Err(EvalError::no_such_overload()) };
            match (left.downcast::<Semver>(), right.downcast::<Semver>()) {
                (Some(left), Some(right)) => Ok(of(left.compare(right))),
                _ => Err(EvalError::no_such_overload()),
            }
        });
        Function::new(name).overload(overload)
    };
    library
        .function(Function::new("semver").overloads([
            parsed("string_to_semver", vec![Type::String]),
            parsed("string_bool_to_semver", vec![Type::String, Type::Bool]),
        ]))
        .function(Function::new("isSemver").overloads([
            tested("is_semver_string", vec![Type::String]),
            tested("is_semver_string_bool", vec![Type::String, Type::Bool]),
        ]))
        .function(number("major", "semver_major", 0))
        .function(number("minor", "semver_minor", 1))
        .function(number("patch", "semver_patch", 2))
        .function(compared("isGreaterThan", "semver_is_greater_than", Type::Bool, |order| {
            Value::Bool(order.is_gt())
        }))
        .function(compared("isLessThan", "semver_is_less_than", Type::Bool, |order| {
            Value::Bool(order.is_lt())
        }))
        .function(compared("compareTo", "semver_compare_to", Type::Int, |order| Value::Int(order as i64)))
}

/// The version in a call's arguments, or why there is none.
fn from_args(args: &[Value<'_>]) -> Result<Result<Semver, String>, EvalError> {
    match args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Ok(parse(text)),
        [Value::String(text), Value::Bool(true)] => Ok(normalized(text).and_then(|text| parse(&text))),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// Without a leading `v`, with three numbers, without leading zeros.
fn normalized(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let without_zeros = |part: &str| {
        let trimmed = part.trim_start_matches('0');
        if part.len() <= 1 {
            part.to_owned()
        } else if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
            trimmed.to_owned()
        } else {
            format!("0{trimmed}")
        }
    };
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

fn parse(text: &str) -> Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, prerelease) = rest.split_once('-').map_or((rest, None), |(rest, pre)| (rest, Some(pre)));
    let numbers = [number(major, "Major")?, number(minor, "Minor")?, number(patch, "Patch")?];
    let prerelease = prerelease.map(|list| list.split('.').map(identifier).collect()).transpose()?;
    if let Some(build) = build {
        for part in build.split('.') {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.bytes().all(is_identifier) {
                return Err(format!("Invalid character(s) found in build meta data {}", quoted(part)));
            }
        }
    }
    Ok(Semver { numbers, prerelease: prerelease.unwrap_or_default() })
}

fn number(text: &str, which: &str) -> Result<u64, String> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "Invalid character(s) found in {} number {}",
            which.to_lowercase(),
            quoted(text)
        ));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{which} number must not contain leading zeroes {}", quoted(text)));
    }
    text.parse().map_err(|_| {
        let problem = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {}: {problem}", quoted(text))
    })
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quoted(text)
            ));
        }
        return text
            .parse()
            .map(Identifier::Number)
            .map_err(|_| format!("strconv.ParseUint: parsing {}: value out of range", quoted(text)));
    }
    if !text.bytes().all(is_identifier) {
        return Err(format!("Invalid character(s) found in prerelease {}", quoted(text)));
    }
    Ok(Identifier::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(left: &str, right: &str) -> Ordering {
        parse(left).unwrap().compare(&parse(right).unwrap())
    }

    #[test]
    fn precedence_follows_the_standard() {
        let ascending = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "1.0.1",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compared(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compared("1.2.3+a", "1.2.3+b"), Ordering::Equal);
    }

    #[test]
    fn errors_name_the_part() {
        for (text, expected) in [
            ("", "Version string empty"),
            ("1.2", "No Major.Minor.Patch elements found"),
            ("1.2.3.4", "Invalid character(s) found in patch number \"3.4\""),
            ("01.2.3", "Major number must not contain leading zeroes \"01\""),
            ("1.2.3-", "Prerelease is empty"),
            ("1.2.3-01", "Numeric PreRelease version must not contain leading zeroes \"01\""),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
        assert_eq!(normalized("v01.02").unwrap(), "1.2.0");
        assert!(normalized("1.2-x").is_err());
    }
}
