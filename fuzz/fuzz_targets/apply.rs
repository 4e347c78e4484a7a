//! Applied configurations on objects with any owners: it ends with an object or an error, and applying the same again
//! changes nothing.
#![no_main]

use std::sync::LazyLock;

use crest_schema::apply::{ApplyRequest, ManagerInfo, ResetFields, SingleVersion, apply, track_update};
use crest_schema::{Schema, ownership};
use libfuzzer_sys::fuzz_target;
use meta::Value;
use meta::wire::{json, yaml};

const SCHEMA: &[u8] = br#"{"type":"object","properties":{"spec":{"type":"object","properties":{
  "n":{"type":"integer"},
  "map":{"type":"object","additionalProperties":{"type":"string"}},
  "whole":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"}}},
  "list":{"type":"array","items":{"type":"object","properties":{"z":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}}}},
  "set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
  "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","proto"],
    "items":{"type":"object","required":["port"],"properties":{
      "port":{"type":"integer"},"proto":{"type":"string","default":"TCP"},"v":{"type":"string"}}}},
  "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}"#;

static KIND: LazyLock<SingleVersion> = LazyLock::new(|| {
    let schema = json::parse(SCHEMA).expect("the schema is JSON").value;
    let schema = Schema::compile(&schema).expect("the schema compiles");
    SingleVersion {
        api_version: "g/v1".to_owned(),
        ty: ownership::of_schema(&schema, false),
        reset: ResetFields::new(&[&["status"]]),
        empty: None,
    }
});

fn info(manager: &str) -> ManagerInfo<'_> {
    ManagerInfo { manager, api_version: "g/v1", subresource: "", now: Default::default() }
}

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let Ok(config) = yaml::parse(parts.next().unwrap_or_default()) else { return };
    let mut live = parts.next().and_then(|text| json::parse(text).ok()).map(|parsed| parsed.value);
    if let Some(live) = &mut live {
        let _ = track_update(None, live, &info("before"), &*KIND);
    }
    for force in [false, true] {
        let request = ApplyRequest { info: info("one"), kind: "Widget", force };
        let Ok(once) = apply(live.as_ref(), config.value.clone(), &request, &*KIND) else { continue };
        json::parse(&json::to_vec(&once)).expect("what we write can be read");
        let twice = apply(Some(&once), config.value.clone(), &request, &*KIND);
        assert_eq!(twice.as_ref().map(json::to_string), Ok(json::to_string(&once)), "applying settles at once");
        let mut updated: Value = once.clone();
        let _ = track_update(Some(&once), &mut updated, &info("after"), &*KIND);
        assert_eq!(json::to_string(&updated), json::to_string(&once), "no change has no owner");
    }
});
