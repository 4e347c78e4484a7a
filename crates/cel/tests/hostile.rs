//! Text that wishes us ill: nothing may panic, overflow the stack, or run beyond its cost limit.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cel::{Env, Type, Value};
use proptest::prelude::*;

/// The cost at which evaluations stop here.
const LIMIT: u64 = 100_000;

fn environment() -> Arc<Env> {
    static ENVIRONMENT: OnceLock<Arc<Env>> = OnceLock::new();
    let build =
        || cel::k8s::environment().extend().variable("self", Type::Dyn).variable("s", Type::String).build();
    Arc::clone(ENVIRONMENT.get_or_init(build))
}

/// Parses, checks, estimates, plans and evaluates, as far as the text allows.
fn run(text: &str) {
    let env = environment();
    let Ok(ast) = env.parse(text) else { return };
    let checked = match env.check(ast.clone()) {
        Ok(checked) => checked,
        Err(issues) => {
            assert!(!issues.to_string().is_empty());
            if let Ok(program) = env.plan_unchecked(ast) {
                evaluate(&program);
            }
            return;
        }
    };
    let _ = env.validate(&checked);
    let _ = cel::cost::estimate::estimate(&checked, &env, &());
    if let Ok(program) = env.plan(&checked) {
        evaluate(&program);
    }
}

fn evaluate(program: &cel::Program) {
    let items = Value::list(vec![Value::Int(1), Value::str("a"), Value::Null]);
    let map = [(Value::str("a"), items.clone()), (Value::Int(2), Value::Double(0.5))];
    let map = Value::from(map.into_iter().collect::<cel::Entries<'_>>());
    let variables = [("self", map), ("s", Value::str("some text"))];
    let _ = program.evaluate_within(LIMIT, &variables);
}

/// Pieces from which expressions are made.
const PIECES: &[&str] = &[
    "self",
    "s",
    "x",
    "1",
    "-1",
    "0u",
    "1.5",
    "'a'",
    "\"é\"",
    "b'\\x00'",
    "true",
    "null",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".",
    ",",
    "?",
    ":",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    ">=",
    "&&",
    "||",
    " in ",
    ".size()",
    ".all(x, ",
    ".map(x, ",
    ".filter(x, ",
    ".exists(i, x, ",
    ".optMap(x, ",
    ".transformMap(k, v, ",
    ".matches(",
    ".replace('', s)",
    ".split('')",
    ".format([",
    "has(",
    "self.a",
    "self[?'a']",
    "self.?b",
    "[0]",
    "['a']",
    "duration('1h')",
    "timestamp(0)",
    "lists.range(9)",
    ".sort()",
    ".flatten()",
    "quantity('1Ki')",
    "ip('::1')",
    "optional.of(",
    ".orValue(",
    "string(",
    "int(",
    "dyn(",
    "type(",
    "\\",
    "@",
    "`",
    "'",
    "\n",
    "//",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn random_pieces_do_no_harm(picks in prop::collection::vec(0..PIECES.len(), 0..40)) {
        run(&picks.iter().map(|pick| PIECES[*pick]).collect::<String>());
    }

    #[test]
    fn random_text_does_no_harm(text in "\\PC{0,60}") {
        run(&text);
    }

    #[test]
    fn random_operators_between_values_do_no_harm(
        operands in prop::collection::vec(0..20_usize, 1..12),
        operators in prop::collection::vec(0..14_usize, 12),
    ) {
        const OPERANDS: [&str; 20] = [
            "self", "s", "1", "-9223372036854775808", "18446744073709551615u", "0.0", "'a'", "b'a'", "true", "null",
            "[1]", "{'a': 1}", "dyn(2)", "self.a", "duration('-1h')", "timestamp('9999-12-31T23:59:59Z')",
            "type(1)", "optional.none()", "quantity('1')", "[[]]",
        ];
        const OPERATORS: [&str; 14] =
            ["==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", " in ", "&&", "||"];
        let mut text = String::new();
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                text += OPERATORS[operators[index % operators.len()]];
            }
            text.extend(["dyn(", OPERANDS[*operand], ")"]);
        }
        run(&text);
    }
}

/// Runs on a thread with the stack that ordinary threads have. Without optimization frames are far larger.
fn on_a_small_stack(texts: Vec<String>) {
    let work = move || texts.iter().for_each(|text| run(text));
    let size = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };
    let thread = std::thread::Builder::new().stack_size(size).spawn(work).expect("a thread starts");
    thread.join().expect("nothing panics");
}

#[test]
fn nesting_is_bounded_before_the_stack_is() {
    let nested = |open: &str, core: &str, close: &str, depth: usize| {
        format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
    };
    let mut texts = Vec::new();
    for depth in [30, 60, 120, 200, 249, 251, 1_000, 20_000] {
        texts.push(nested("[", "1", "]", depth));
        texts.push(nested("(", "1", ")", depth));
        texts.push(nested("{1: ", "1", "}", depth));
        texts.push(nested("[1].all(x, ", "x > 0", ")", depth));
        texts.push(nested("[1].map(x, x > 0, ", "[x]", ")", depth));
        texts.push(nested("optional.of(1).optMap(x, ", "x", ")", depth));
        texts.push(nested("[1].sortBy(x, ", "x", ")", depth));
        texts.push(nested("true ? ", "1", " : 2", depth));
        texts.push(nested("dyn(", "1", ")", depth));
        texts.push(nested("1 + (", "1", ")", depth));
        texts.push(nested("!(", "true", ")", depth));
        texts.push(format!("{}true", "!".repeat(depth)));
        texts.push(format!("self{}", ".a".repeat(depth)));
        texts.push(format!("self{}", "['a']".repeat(depth)));
        texts.push(vec!["1"; depth].join(" + "));
        texts.push(vec!["true"; depth].join(" && "));
        texts.push(format!("optional.of(1){}", ".optMap(x, x)".repeat(depth)));
    }
    on_a_small_stack(texts);
}

#[test]
fn the_cost_limit_comes_before_the_clock() {
    let started = Instant::now();
    let texts = [
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, true)))",
        "lists.range(9223372036854775807).size() > 0",
        "lists.range(1000).map(a, lists.range(1000)).map(b, lists.range(1000)).size()",
        "lists.range(1000).map(a, 'aaaaaaaaaaaaaaaaaaaa').join('bbbbbbbbbbbbbbbbbbbbbbbbb').replace('', s.replace('', s))",
        "s.replace('', s.replace('', s.replace('', s.replace('', s.replace('', s.replace('', s))))))",
        "[s, s, s, s].map(a, [s, s, s, s].map(b, (a + b).matches('(a+)+$'))).flatten().distinct().size()",
        "quantity('1e2147483647').add(quantity('1n')).isInteger()",
        "'%.999999999f'.format([1.5])",
        "s.matches('(((((a{1,100}){1,100}){1,100}){1,100}){1,100})')",
    ];
    texts.into_iter().for_each(run);
    assert!(started.elapsed() < Duration::from_secs(20), "took {:?}", started.elapsed());
}
