//! Objects of a kind with most of what a schema can ask: shaped, defaulted and validated whatever they hold.
#![no_main]

use std::sync::LazyLock;

use crest_schema::Schema;
use libfuzzer_sys::fuzz_target;
use meta::object::Malformed;
use meta::wire::json;

const SCHEMA: &[u8] = br#"{"type":"object","required":["spec"],"properties":{
  "spec":{"type":"object","required":["size"],
    "x-kubernetes-validations":[
      {"rule":"self.size <= self.max","message":"too many"},
      {"rule":"self.parts.all(p, p.name != '' && (!has(p.tags) || p.tags.all(t, t.size() < 20)))"},
      {"rule":"self.size >= oldSelf.size","optionalOldSelf":false}],
    "properties":{
      "size":{"type":"integer","minimum":0,"maximum":100,"multipleOf":5},
      "max":{"type":"integer","format":"int32","default":50},
      "mode":{"type":"string","enum":["a","b"],"default":"a"},
      "when":{"type":"string","format":"date-time","nullable":true},
      "name":{"type":"string","pattern":"^[a-z]+(-[a-z0-9]+)*$","maxLength":20},
      "port":{"x-kubernetes-int-or-string":true},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
      "template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
      "labels":{"type":"object","additionalProperties":{"type":"string","maxLength":9},"maxProperties":3},
      "set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
      "parts":{"type":"array","maxItems":9,"default":[],"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
        "items":{"type":"object","required":["name"],"properties":{
          "name":{"type":"string","maxLength":9},
          "weight":{"type":"number","default":0.5,"exclusiveMaximum":true,"maximum":1},
          "tags":{"type":"array","maxItems":5,"items":{"type":"string","maxLength":30}}}}}},
    "anyOf":[{"required":["mode"]},{"required":["name"]}],
    "not":{"required":["forbidden"]}},
  "status":{"type":"object","properties":{"ready":{"type":"boolean"}}}}}"#;

static COMPILED: LazyLock<Schema> = LazyLock::new(|| {
    let written = json::parse(SCHEMA).expect("the schema is JSON");
    Schema::compile(&written.value).expect("the schema compiles")
});

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0).map(json::parse);
    let Some(Ok(parsed)) = parts.next() else { return };
    let mut object = parsed.value;
    let mut unknown = Vec::new();
    if COMPILED.shape(&mut object, Malformed::Reject, Some(&mut unknown)).is_err() {
        return;
    }
    COMPILED.default(&mut object);
    let mut again = object.clone();
    let mut left = Vec::new();
    COMPILED.shape(&mut again, Malformed::Reject, Some(&mut left)).expect("an object in shape stays so");
    COMPILED.default(&mut again);
    assert_eq!(again, object, "shaping and defaulting settle at once");
    assert!(left.is_empty(), "{left:?} outlived the first pruning");
    let created = COMPILED.validate(&object, None, None);
    assert_eq!(COMPILED.validate(&object, None, None), created, "the same object gets the same verdict");
    if let Some(Ok(old)) = parts.next() {
        let mut old = old.value;
        if COMPILED.shape(&mut old, Malformed::Drop, None).is_ok() {
            COMPILED.default(&mut old);
            let _ = COMPILED.validate(&object, Some(&old), None);
            let _ = COMPILED.validate_status(&object, &old, None);
        }
    }
});
