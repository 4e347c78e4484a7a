//! The language's own conformance cases.

use std::sync::{Arc, OnceLock};

use cel::{Duration, Entries, Env, Function, Overload, Timestamp, Type, Value};
use serde_json::Value as Json;

/// An environment with everything.
fn environment() -> Arc<Env> {
    static ENVIRONMENT: OnceLock<Arc<Env>> = OnceLock::new();
    Arc::clone(ENVIRONMENT.get_or_init(cel::k8s::environment))
}

pub(crate) fn run(case: &Json) -> Result<(), String> {
    let expression = case["expr"].as_str().expect("an expression");
    let mut builder = environment().extend().container(case["container"].as_str().unwrap_or_default());
    for declaration in case["type_env"].as_array().expect("a list") {
        let name = declaration["name"].as_str().expect("a name");
        if let Some(ident) = declaration.get("ident") {
            builder = builder.variable(name, type_of(&ident["type"]));
        } else {
            builder = builder.function(function(name, &declaration["function"]["overloads"]));
        }
    }
    let bindings = case["bindings"].as_object().expect("bindings");
    let env = builder.build();
    let variables: Vec<(&str, Value<'static>)> =
        bindings.iter().map(|(name, value)| (name.as_str(), value_of(unwrap(value)))).collect();
    let expected = &case["expect"];
    let outcome = evaluate(&env, case, expression, &variables);
    match (expected["kind"].as_str().expect("a kind"), outcome) {
        ("error", Err(_)) => Ok(()),
        ("error", Ok((_, value))) => Err(format!("{expression}: an error is expected, got {value:?}")),
        (_, Err(error)) => Err(format!("{expression}: {error}")),
        (_, Ok((ty, value))) => {
            if let Some(wanted) = expected.get("deduced_type") {
                let wanted = type_of(wanted);
                if ty != wanted.to_string() {
                    return Err(format!("{expression}: type {ty} instead of {wanted}"));
                }
            }
            match (expected.get("value"), value) {
                (Some(wanted), Some(value)) => {
                    let wanted = value_of(wanted);
                    let got = format!("{:?}", canonical(&value));
                    let wanted = format!("{:?}", canonical(&wanted));
                    if got == wanted {
                        Ok(())
                    } else {
                        Err(format!("{expression}: {got} instead of {wanted}"))
                    }
                }
                _ => Ok(()),
            }
        }
    }
}

type Evaluation = (String, Option<Value<'static>>);

fn evaluate(
    env: &Arc<Env>,
    case: &Json,
    expression: &str,
    variables: &[(&str, Value<'static>)],
) -> Result<Evaluation, String> {
    let ast = env.parse(expression).map_err(|issues| issues.to_string())?;
    let check = case["disable_check"] != Json::Bool(true);
    let (ty, program) = if check {
        let checked = env.check(ast).map_err(|issues| issues.to_string())?;
        (checked.result_type().to_string(), env.plan(&checked).map_err(|error| error.to_string())?)
    } else {
        (String::new(), env.plan_unchecked(ast).map_err(|error| error.to_string())?)
    };
    if case["check_only"] == Json::Bool(true) {
        return Ok((ty, None));
    }
    // Test programs live as long as the test.
    let program: &'static cel::Program = Box::leak(Box::new(program));
    let value = program.evaluate(variables).map_err(|error| error.to_string())?;
    Ok((ty, Some(value)))
}

fn unwrap(value: &Json) -> &Json {
    value.get("value").filter(|inner| inner.is_object()).unwrap_or(value)
}

fn function(name: &str, overloads: &Json) -> Function {
    let types =
        |list: &Json| list.as_array().map(|list| list.iter().map(type_of).collect()).unwrap_or_default();
    let overload = |overload: &Json| {
        let params: Vec<Type> = types(&overload["params"]);
        let (id, result) = (overload["id"].as_str().expect("an id"), type_of(&overload["result"]));
        if overload["member"] == Json::Bool(true) {
            Overload::member(id, params, result)
        } else {
            Overload::global(id, params, result)
        }
    };
    Function::new(name).overloads(overloads.as_array().expect("a list").iter().map(overload))
}

fn type_of(ty: &Json) -> Type {
    let param = |index: usize| type_of(&ty["params"][index]);
    let name = ty["name"].as_str().unwrap_or_default();
    match ty["kind"].as_str().expect("a kind") {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null" => Type::Null,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "list" => Type::list(param(0)),
        "map" => Type::map(param(0), param(1)),
        "type" if ty["params"].as_array().is_some_and(|params| !params.is_empty()) => Type::type_of(param(0)),
        "type" => Type::Type(None),
        "type_param" => Type::param(name),
        "wrapper" => Type::wrapper(param(0)),
        "message" => Type::object(name),
        "opaque" => {
            let params: Option<Arc<[Type]>> =
                ty["params"].as_array().map(|params| params.iter().map(type_of).collect());
            Type::Opaque(name.into(), params.unwrap_or_default())
        }
        "error" => Type::Error,
        _ => Type::Dyn,
    }
}

fn value_of(value: &Json) -> Value<'static> {
    let text = || value["value"].as_str().expect("text");
    match value["type"].as_str().expect("a type") {
        "null" => Value::Null,
        "bool" => Value::Bool(value["value"].as_bool().expect("a bool")),
        "int" => Value::Int(text().parse().expect("an int")),
        "uint" => Value::Uint(text().parse().expect("a uint")),
        "double" => Value::Double(text().parse().expect("a double")),
        "string" => Value::string(text()),
        "bytes" => Value::bytes(base64(value["base64"].as_str().expect("base64"))),
        "list" => Value::list(value["value"].as_array().expect("a list").iter().map(value_of).collect()),
        "map" => {
            let entries = value["entries"].as_array().expect("entries");
            entries
                .iter()
                .map(|entry| (value_of(&entry[0]), value_of(&entry[1])))
                .collect::<Entries<'_>>()
                .into()
        }
        "type" => Value::Type(cel::Str::Shared(text().into())),
        "timestamp" => {
            let (seconds, nanos) = parts(value);
            Value::Timestamp(Timestamp::new(seconds, u32::try_from(nanos).expect("nanos")).expect("in range"))
        }
        "duration" => {
            let (seconds, nanos) = parts(value);
            Value::Duration(Duration::from_nanos(seconds * 1_000_000_000 + nanos))
        }
        other => panic!("unknown type {other}"),
    }
}

fn parts(value: &Json) -> (i64, i64) {
    let seconds = value["seconds"].as_str().expect("seconds").parse().expect("a number");
    (seconds, value["nanos"].as_i64().unwrap_or(0))
}

/// Decodes base64 without complaint.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        bits = bits << 6 | u32::from(digit(byte));
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}

/// A value as text in which maps are sorted, so that it can be compared strictly.
fn canonical(value: &Value<'_>) -> String {
    match value {
        Value::Double(value) if value.is_nan() => "NaN".to_owned(),
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| canonical(&item.expect("readable"))).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entry = |key: Value<'_>| {
                let value = map.get(&key).expect("there").expect("readable");
                format!("{}: {}", canonical(&key), canonical(&value))
            };
            let mut entries: Vec<String> = map.keys().into_iter().map(entry).collect();
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Timestamp(instant) => format!("timestamp {} {}", instant.seconds(), instant.nanos()),
        Value::Optional(Some(inner)) => format!("optional {}", canonical(inner)),
        other => format!("{other:?}"),
    }
}
