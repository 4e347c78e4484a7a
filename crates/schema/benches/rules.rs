//! What rules cost: an object with many evaluations, a definition to judge and compile, and the memory that a compiled
//! schema keeps.
//!
//! `cargo bench -p crest-schema --bench rules [-- SCHEMA OBJECT]`, two files of JSON. No harness: the times are the fastest of several rounds, which is what
//! a change should be held against. Memory is what the process gained, so it is only told where the system says it.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use crest_schema::{Schema, crd};
use meta::Value;
use meta::wire::json;

const ROUNDS: usize = 9;

/// How many schemas are kept to see what one takes.
const KEPT: usize = 2_000;

fn main() {
    let written = parse(SCHEMA);
    let schema = Schema::compile(&written).expect("a schema that compiles");
    for items in [1, 50] {
        let object = object(items);
        let found = schema.validate(&object, None, None);
        assert!(found.errors.is_empty(), "{:?}", found.errors);
        let size = json::to_vec(&object).len();
        let created = fastest(|| {
            black_box(schema.validate(&object, None, None));
        });
        let updated = fastest(|| {
            black_box(schema.validate(&object, Some(&object), None));
        });
        println!("{items} items ({size} bytes): create {created:?}, update {updated:?}");
    }
    let compiling = fastest(|| {
        let schema = Schema::compile(&written).expect("a schema that compiles");
        black_box(schema.validate(&object(1), None, None));
    });
    println!("compile the schema and its {} rules, validate once: {compiling:?}", rules(&written));
    let definition = definition(&written);
    let judging = fastest(|| {
        black_box(crd::validate(&definition));
    });
    println!("judge the definition: {judging:?}");
    memory("the schema above", &written, &object(1));
    if let Some(path) = std::env::args().nth(1).filter(|argument| !argument.starts_with('-')) {
        let written = parse(&std::fs::read_to_string(path).expect("a schema"));
        let object = std::env::args().nth(2).map(|path| std::fs::read_to_string(path).expect("an object"));
        memory("the schema given", &written, &object.map_or(Value::Null, |text| parse(&text)));
    }
}

fn memory(name: &str, written: &Value, object: &Value) {
    let unused = gained(|| Schema::compile(written).expect("a schema that compiles"));
    let used = gained(|| {
        let schema = Schema::compile(written).expect("a schema that compiles");
        schema.validate(object, None, None);
        schema
    });
    if let (Some(unused), Some(used)) = (unused, used) {
        let bytes = json::to_vec(written).len();
        println!("{name}, {bytes} bytes, takes {unused} bytes unused and {used} bytes once used");
    }
}

/// What the process gains by keeping one more of what `make` makes.
fn gained<T>(make: impl Fn() -> T) -> Option<usize> {
    let warm: Vec<T> = (0..100).map(|_| make()).collect();
    let before = resident()?;
    let kept: Vec<T> = (0..KEPT).map(|_| make()).collect();
    let after = resident()?;
    black_box((warm, kept));
    Some(after.saturating_sub(before) / KEPT)
}

/// The bytes that the process has in memory.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Cross checks over a list, checks of each item, Kubernetes functions.
const SCHEMA: &str = r#"{"type": "object", "required": ["spec"], "properties": {"spec": {
    "type": "object", "required": ["items"],
    "x-kubernetes-validations": [
        {"rule": "self.items.all(i, self.items.exists_one(j, j.id == i.id))", "message": "ids must be unique"},
        {"rule": "self.items.filter(i, i.enabled).size() > 0", "message": "one must be enabled"},
        {"rule": "self.items.map(i, i.weight).sum() <= 100000", "message": "too heavy"},
        {"rule": "self.items.all(i, i.tags.all(t, t.startsWith('t-')))", "message": "tags begin with t-"},
        {"rule": "self.items.exists(i, i.name == self.leader)", "message": "the leader is one of the items"}],
    "properties": {
        "leader": {"type": "string", "maxLength": 40},
        "items": {"type": "array", "maxItems": 64, "items": {
            "type": "object", "required": ["id", "name", "host", "cidr", "weight", "enabled", "limit"],
            "x-kubernetes-validations": [
                {"rule": "self.name.matches('^[a-z][a-z0-9-]*$')", "message": "name is malformed"},
                {"rule": "self.host.endsWith('.example.com') && self.host.size() < 64", "message": "wrong host"},
                {"rule": "self.host.split('.').size() >= 3", "message": "host needs three labels"},
                {"rule": "isQuantity(self.limit) && quantity(self.limit).isGreaterThan(quantity('0'))"},
                {"rule": "cidr(self.cidr).prefixLength() >= 8", "message": "the range is too large"},
                {"rule": "!self.enabled || self.weight > 0", "message": "an enabled item needs a weight"}],
            "properties": {
                "id": {"type": "integer", "minimum": 0},
                "name": {"type": "string", "maxLength": 40},
                "host": {"type": "string", "maxLength": 64},
                "cidr": {"type": "string", "maxLength": 18},
                "limit": {"type": "string", "maxLength": 16},
                "weight": {"type": "integer", "minimum": 0, "maximum": 1000},
                "enabled": {"type": "boolean"},
                "protocol": {"type": "string", "enum": ["TCP", "UDP", "SCTP"], "default": "TCP"},
                "tags": {"type": "array", "maxItems": 8, "items": {"type": "string", "maxLength": 16}},
                "attributes": {"type": "object", "maxProperties": 8,
                    "additionalProperties": {"type": "string", "maxLength": 64}}}}}}}}}"#;

fn object(items: usize) -> Value {
    let items: Vec<String> = (0..items)
        .map(|index| {
            format!(
                r#"{{"id": {index}, "name": "item-{index}", "host": "host-{index}.eu.example.com",
                    "cidr": "10.{}.0.0/16", "limit": "{}Mi", "weight": {}, "enabled": {}, "protocol": "TCP",
                    "tags": ["t-one", "t-two", "t-three", "t-four"], "attributes": {{"zone": "a", "rack": "r7"}}}}"#,
                index % 200,
                index + 1,
                index % 1000 + 1,
                index % 3 == 0
            )
        })
        .collect();
    parse(&format!(
        r#"{{"apiVersion": "example.com/v1", "kind": "Heavy", "metadata": {{"name": "a"}},
            "spec": {{"leader": "item-0", "items": [{}]}}}}"#,
        items.join(",")
    ))
}

fn definition(schema: &Value) -> Value {
    let text = format!(
        r#"{{"metadata": {{"name": "heavies.example.com"}}, "spec": {{"group": "example.com", "scope": "Namespaced",
            "names": {{"plural": "heavies", "kind": "Heavy"}}, "versions": [{{"name": "v1", "served": true,
            "storage": true, "schema": {{"openAPIV3Schema": {}}}}}]}}}}"#,
        json::to_string(schema)
    );
    let mut definition = parse(&text);
    crd::default(&mut definition);
    crd::prepare_for_create(&mut definition);
    definition
}

fn rules(written: &Value) -> usize {
    json::to_string(written).matches("\"rule\"").count()
}

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("well-formed JSON").value
}

fn fastest(mut work: impl FnMut()) -> Duration {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| time(&mut work)).min().expect("at least one round")
}
