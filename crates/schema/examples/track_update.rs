//! How long it takes to record the owners of a 3 KB object: `cargo run --release -p crest-schema --example track_update`.

#![expect(clippy::print_stdout, reason = "the numbers are for people")]

use std::hint::black_box;
use std::time::Instant;

use crest_schema::apply::{
    ApplyRequest, Field, ManagerInfo, ResetFields, SingleVersion, TypeRef, apply, track_update,
};
use meta::{Map, Value};

const ROUNDS: u32 = 20_000;

fn main() {
    let kind = kind();
    let created = object();
    let bytes = meta::wire::json::to_string(&created).len();
    let info = ManagerInfo {
        manager: "bench",
        api_version: "example.com/v1",
        subresource: "",
        now: jiff::Timestamp::UNIX_EPOCH,
    };

    let mut live = created.clone();
    track_update(None, &mut live, &info, &kind).expect("conforms");
    live.get_mut("metadata").and_then(Value::as_object_mut).expect("has metadata").insert("uid", "u");
    let mut changed = live.clone();
    changed.get_mut("spec").and_then(Value::as_object_mut).expect("has a spec").insert("replicas", 9_i64);
    let mut replaced = created.clone();
    replaced.get_mut("spec").and_then(Value::as_object_mut).expect("has a spec").insert("replicas", 9_i64);
    let request = ApplyRequest { info, kind: "Widget", force: true };
    let applied = apply(Some(&live), created.clone(), &request, &kind).expect("applies");

    println!("object of {bytes} bytes, µs each:");
    report("clone alone", || drop(black_box(created.clone())));
    report("create", || {
        let mut new = created.clone();
        track_update(None, &mut new, &info, &kind).expect("conforms");
        black_box(new);
    });
    report("update of one field, owners sent back", || {
        let mut new = changed.clone();
        track_update(Some(&live), &mut new, &info, &kind).expect("conforms");
        black_box(new);
    });
    report("update of one field, no owners sent", || {
        let mut new = replaced.clone();
        track_update(Some(&live), &mut new, &info, &kind).expect("conforms");
        black_box(new);
    });
    report("apply again, nothing new", || {
        black_box(apply(Some(&applied), created.clone(), &request, &kind).expect("applies"));
    });
    report("apply, one field changed", || {
        black_box(apply(Some(&applied), replaced.clone(), &request, &kind).expect("applies"));
    });
}

fn report(name: &str, mut work: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            work();
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
    }
    println!("{best:8.2}  {name}");
}

fn kind() -> SingleVersion {
    let string = TypeRef::string;
    let port = TypeRef::object([
        Field::new("containerPort", TypeRef::numeric()),
        Field::new("name", string()),
        Field::new("protocol", string()).with_default("TCP"),
    ]);
    let env = TypeRef::object([Field::new("name", string()), Field::new("value", string())]);
    let container = TypeRef::object([
        Field::new("name", string()),
        Field::new("image", string()),
        Field::new("args", TypeRef::atomic_list(string())),
        Field::new("env", TypeRef::list_map(["name"], env)),
        Field::new("ports", TypeRef::list_map(["containerPort", "protocol"], port)),
        Field::new("resources", TypeRef::map(TypeRef::map(TypeRef::deduced()))),
    ]);
    let spec = TypeRef::object([
        Field::new("replicas", TypeRef::numeric()),
        Field::new("paused", TypeRef::boolean()),
        Field::new("selector", TypeRef::atomic_map(string())),
        Field::new("containers", TypeRef::list_map(["name"], container)),
        Field::new("config", TypeRef::map(string())),
        Field::new("extra", TypeRef::deduced()),
    ]);
    SingleVersion {
        api_version: "example.com/v1".to_owned(),
        ty: TypeRef::root([Field::new("spec", spec)], None),
        reset: ResetFields::new(&[&["status"]]),
        empty: None,
    }
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().collect())
}

fn strings(prefix: &str, count: usize, value: &str) -> Value {
    Value::Object((0..count).map(|n| (format!("{prefix}-{n}"), Value::from(value))).collect::<Map>())
}

fn container(n: i64) -> Value {
    let env = (0..6).map(|variable| {
        let name = format!("SETTING_{variable}");
        map([("name", name.into()), ("value", "a value of ordinary length".into())])
    });
    map([
        ("name", format!("container-{n}").into()),
        ("image", "registry.example.com/team/app:v1.2.3".into()),
        ("args", Value::Array(vec!["--verbose".into(), "--port=8080".into()])),
        ("env", Value::Array(env.collect())),
        (
            "ports",
            Value::Array(vec![map([("containerPort", Value::Int(8080 + n)), ("name", "http".into())])]),
        ),
        ("resources", map([("limits", map([("cpu", "500m".into()), ("memory", "128Mi".into())]))])),
    ])
}

fn object() -> Value {
    let metadata = map([
        ("name", "bench".into()),
        ("namespace", "default".into()),
        ("labels", strings("label", 6, "value")),
        ("annotations", strings("example.com/note", 4, "some words about this object")),
        ("finalizers", Value::Array(vec!["example.com/cleanup".into()])),
    ]);
    let spec = map([
        ("replicas", Value::Int(3)),
        ("paused", Value::Bool(false)),
        ("selector", strings("label", 2, "value")),
        ("containers", Value::Array((0..3).map(container).collect())),
        ("config", strings("key", 10, "a configuration value")),
        ("extra", map([("nested", strings("deep", 5, "x"))])),
    ]);
    map([
        ("apiVersion", "example.com/v1".into()),
        ("kind", "Widget".into()),
        ("metadata", metadata),
        ("spec", spec),
    ])
}
