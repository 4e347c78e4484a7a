//! What a write costs in this crate: shape, default and validate an object; and what a definition costs to judge and
//! compile.
//!
//! `cargo bench -p crest-schema`. With `CREST_SHARED` set, also the largest definitions of the corpus.
//! No harness: the numbers are the fastest of several rounds, which is what a change should be held against.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crest_schema::{Schema, crd};
use meta::Value;
use meta::object::Malformed;
use meta::wire::{json, yaml};

const ROUNDS: usize = 7;

fn main() {
    let written = parse(SCHEMA);
    let schema = Schema::compile(&written).expect("a schema that compiles");
    for (name, items) in [("1.5 KB", 6), ("1 MB", 5_200)] {
        passes(&format!("object of {name}"), &schema, &object(items));
    }
    report(
        "compile a small schema",
        fastest(|| {
            black_box(Schema::compile(&written).expect("a schema that compiles"));
        }),
    );
    if let Some(shared) = std::env::var_os("CREST_SHARED") {
        corpus(&PathBuf::from(shared).join("corpus/crds"));
    }
}

/// A workload-like schema: nested objects, lists, maps, limits, patterns, formats, defaults.
const SCHEMA: &str = r#"{"type": "object", "properties": {
    "spec": {"type": "object", "required": ["replicas", "items"], "properties": {
        "replicas": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 1},
        "paused": {"type": "boolean", "default": false},
        "image": {"type": "string", "maxLength": 200, "pattern": "^[a-z0-9./:-]+$"},
        "selector": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}},
        "items": {"type": "array", "maxItems": 100000, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 63},
                "port": {"x-kubernetes-int-or-string": true},
                "protocol": {"type": "string", "enum": ["TCP", "UDP", "SCTP"], "default": "TCP"},
                "weight": {"type": "number", "minimum": 0},
                "tags": {"type": "array", "items": {"type": "string"}},
                "since": {"type": "string", "format": "date-time"},
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}},
    "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}"#;

fn object(items: usize) -> Value {
    let items: Vec<String> = (0..items)
        .map(|index| {
            format!(
                r#"{{"name": "item-{index}", "port": {index}, "protocol": "UDP", "weight": 1.5,
                    "tags": ["one", "two", "three"], "since": "2024-01-02T03:04:05Z", "extra": {{"a": {{"b": [1, 2]}}}}}}"#
            )
        })
        .collect();
    parse(&format!(
        r#"{{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {{"name": "a", "namespace": "default",
            "labels": {{"app": "web", "tier": "front"}}}}, "spec": {{"replicas": 3, "image": "registry/web:1.2.3",
            "selector": {{"app": "web", "tier": "front"}}, "items": [{}]}}, "status": {{"phase": "Running"}}}}"#,
        items.join(",")
    ))
}

fn passes(name: &str, schema: &Schema, object: &Value) {
    let size = json::to_vec(object).len();
    let copies: Vec<Value> = (0..ROUNDS).map(|_| object.clone()).collect();
    let mut copies = copies.into_iter();
    let shaping = fastest(|| {
        let mut object = copies.next().expect("a copy for each round");
        let mut unknown = Vec::new();
        schema.shape(&mut object, Malformed::Reject, Some(&mut unknown)).expect("a well-formed object");
        schema.default(&mut object);
        black_box(object);
    });
    let validating = fastest(|| {
        black_box(schema.validate(object, None, None));
    });
    println!("{name} ({size} bytes): shape and default {shaping:?}, validate {validating:?}");
}

fn corpus(root: &std::path::Path) {
    let projects = std::fs::read_dir(root).expect("the corpus").filter_map(Result::ok);
    let files = projects.filter_map(|project| std::fs::read_dir(project.path()).ok()).flatten();
    let mut files: Vec<(u64, PathBuf)> = files
        .filter_map(Result::ok)
        .map(|file| (file.metadata().map_or(0, |metadata| metadata.len()), file.path()))
        .collect();
    files.sort();
    for (size, path) in files.iter().rev().take(3) {
        let bytes = std::fs::read(path).expect("a definition");
        let mut definition = yaml::parse(&bytes).expect("a definition in YAML").value;
        crd::default(&mut definition);
        crd::prepare_for_create(&mut definition);
        let judging = fastest(|| {
            assert!(crd::validate(&definition).is_empty());
        });
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default();
        let written: Vec<&Value> =
            versions.iter().filter_map(|version| version.at(&["schema", "openAPIV3Schema"])).collect();
        let compiling = fastest(|| {
            for written in &written {
                black_box(Schema::compile(written).expect("a schema that compiles"));
            }
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("{name} ({size} bytes): judge {judging:?}, compile {compiling:?}");
    }
}

fn fastest(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..ROUNDS).map(time).min().unwrap_or_default()
}

fn report(name: &str, time: Duration) {
    println!("{name}: {time:?}");
}

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("valid JSON").value
}
