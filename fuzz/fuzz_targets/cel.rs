//! CEL: any text is parsed, checked and run within its limit, and gives the same answer twice.
#![no_main]

use std::sync::{Arc, LazyLock};

use cel::{Entries, Env, EvalErrorKind, Type, Value};
use libfuzzer_sys::fuzz_target;

/// Low, so that an input that is slow in spite of it stands out.
const LIMIT: u64 = 10_000;

static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let object = Type::map(Type::String, Type::Dyn);
    cel::k8s::environment().extend().variable("self", object.clone()).variable("oldSelf", object).build()
});

fn object() -> Value<'static> {
    let numbers = Value::list((0..20).map(Value::Int).collect());
    let fields = [("i", Value::Int(5)), ("d", Value::Double(0.5)), ("s", Value::str("aé")), ("l", numbers)];
    let entries: Entries<'_> = fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect();
    Value::from(entries)
}

fuzz_target!(|text: &str| {
    let Ok(ast) = ENV.parse(text) else { return };
    if let Ok(program) = ENV.plan_unchecked(ast.clone()) {
        let _ = program.evaluate_within(LIMIT, &[("self", object()), ("oldSelf", object())]);
    }
    let Ok(checked) = ENV.check(ast) else { return };
    let _ = ENV.validate(&checked);
    let Ok(program) = ENV.plan(&checked) else { return };
    let variables = [("self", object()), ("oldSelf", object())];
    let first = program.evaluate_within(LIMIT, &variables);
    let second = program.evaluate_within(LIMIT, &variables);
    assert_eq!(first.cost, second.cost, "{text}");
    match (&first.result, &second.result) {
        (Ok(_), Ok(_)) => assert!(first.cost <= LIMIT, "{text} cost {}", first.cost),
        (Err(first), Err(second)) => {
            assert_eq!(first.message(), second.message(), "{text}");
            assert_eq!(first.kind() == EvalErrorKind::CostLimit, second.kind() == EvalErrorKind::CostLimit);
        }
        _ => panic!("{text} gives a value once and an error once"),
    }
});
