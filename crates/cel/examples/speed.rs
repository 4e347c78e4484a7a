//! Times compiling and evaluating a handful of rules, to be set beside other implementations of the language.
//!
//! Run with `cargo run --release -p crest-cel --example speed`. The columns are nanoseconds per compilation and per
//! evaluation, without and with a limit on cost. They are of CPU time, so that a busy machine disturbs them little.

#![expect(clippy::print_stdout, reason = "the numbers are the point")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use cel::{Entries, Env, Type, Value, library};
use rustix::time::{ClockId, clock_gettime};

/// How long one round of a measurement goes on.
const ROUND: Duration = Duration::from_millis(100);

/// The best round counts: whatever disturbs a round makes it slower, never faster.
const ROUNDS: usize = 5;

/// What validation rules usually allow.
const LIMIT: u64 = 1_000_000;

const RULES: &[&str] = &[
    "self.replicas <= self.max",
    "self.replicas > 3 && self.replicas < 10 && self.name.startsWith('ab') && self.name != 'abc'",
    "self.items.all(x, x < 1000)",
    "self.items.all(x, self.others.all(y, x < y))",
    "self.items.map(x, x * 2).filter(y, y > 10).size() > 3",
    "self.name.matches('^[a-z]+$')",
    "self.labels['key-25'] == 'value-25' && 'key-49' in self.labels",
    "self.name in ['ab', 'abc', 'abcd', 'abcde'] || has(self.missing)",
    "'%s has %d'.format([self.name, self.replicas]).size() > 3",
    "self.labels.all(k, self.labels[k].startsWith('value'))",
];

/// The CPU time that this program has taken.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("a clock that began at zero")
}

/// Nanoseconds per run.
fn measure(mut work: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let started = cpu_time();
        let mut runs = 0_u32;
        while cpu_time().saturating_sub(started) < ROUND {
            // The clock is read rarely, because some rules take no longer than that.
            (0..64).for_each(|_| work());
            runs += 64;
        }
        cpu_time().saturating_sub(started).as_secs_f64() * 1e9 / f64::from(runs)
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn environment() -> Arc<Env> {
    Env::standard()
        .extend()
        .library(library::strings())
        .library(library::sets())
        .library(library::lists())
        .library(library::optional())
        .variable("self", Type::map(Type::String, Type::Dyn))
        .build()
}

fn object() -> Value<'static> {
    let numbers = |from: i64| Value::list((from..from + 50).map(Value::Int).collect());
    let text = |text: String| Value::string(text);
    let label = |n: i32| (text(format!("key-{n}")), text(format!("value-{n}")));
    let labels: Entries<'_> = (0..50).map(label).collect();
    let fields = [
        ("replicas", Value::Int(5)),
        ("max", Value::Int(9)),
        ("name", Value::str("abcd")),
        ("items", numbers(0)),
        ("others", numbers(100)),
        ("labels", Value::from(labels)),
    ];
    let entries: Entries<'_> = fields.into_iter().map(|(name, value)| (Value::str(name), value)).collect();
    Value::from(entries)
}

fn main() {
    let env = environment();
    let variables = [("self", object())];
    println!("{:>10} {:>10} {:>10}  rule", "compile", "evaluate", "limited");
    for rule in RULES {
        let compile = measure(|| {
            black_box(env.program(black_box(rule)).expect("the rule compiles"));
        });
        let program = env.program(rule).expect("the rule compiles");
        let evaluate = measure(|| {
            black_box(program.evaluate(&variables).expect("the rule runs"));
        });
        let limited = measure(|| {
            black_box(
                program.evaluate_within(LIMIT, &variables).result.expect("the rule is within the limit"),
            );
        });
        println!("{compile:>10.0} {evaluate:>10.0} {limited:>10.0}  {rule}");
    }
}
