//! How long it takes to compile and to evaluate typical rules. Run with `cargo bench -p crest-cel`.

#![expect(clippy::print_stdout, reason = "the numbers are the point")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use cel::{Entries, Type, Value};

/// How long one batch takes about, and how many are made. The best counts: the machine may have other work.
const BATCH: Duration = Duration::from_millis(5);
const BATCHES: u32 = 60;

const RULES: &[&str] = &[
    "self.i > 3 && self.i < 10 && self.s.startsWith('ab') && self.s != 'abc'",
    "self.a.all(x, self.b.all(y, x < y))",
    "self.a.map(x, x * 2).filter(y, y > 10).size() > 3",
    "self.s.matches('^[a-z]+$')",
    "self.s in ['ab', 'abc', 'abcd', 'abcde'] || has(self.missing)",
    "'%s has %d'.format([self.s, self.i]).size() > 3",
    "quantity('1Gi').isGreaterThan(quantity('1G'))",
];

/// The time of one run in the best of many batches.
fn measure(mut work: impl FnMut()) -> Duration {
    let mut runs = 1_u32;
    let mut batch = |runs: u32| {
        let started = Instant::now();
        (0..runs).for_each(|_| work());
        started.elapsed()
    };
    while batch(runs) < BATCH {
        runs *= 2;
    }
    (0..BATCHES).map(|_| batch(runs)).min().unwrap_or_default() / runs
}

fn main() {
    let ty = Type::map(Type::String, Type::Dyn);
    let env = cel::k8s::environment().extend().variable("self", ty).build();
    let numbers = |from: i64| Value::list((from..from + 50).map(Value::Int).collect());
    let fields = [("i", Value::Int(5)), ("s", Value::str("abcd")), ("a", numbers(0)), ("b", numbers(100))];
    let object: Entries<'_> = fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect();
    let variables = [("self", Value::from(object))];
    for rule in RULES {
        let compile = measure(|| {
            black_box(env.program(black_box(rule)).expect("the rule compiles"));
        });
        let program = env.program(rule).expect("the rule compiles");
        let evaluate = measure(|| {
            black_box(program.evaluate_within(1_000_000, &variables).result.expect("the rule runs"));
        });
        println!("compile {compile:>10.1?}  evaluate {evaluate:>10.1?}  {rule}");
    }
}
