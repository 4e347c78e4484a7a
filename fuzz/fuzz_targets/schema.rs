//! Schemas of definitions: any JSON is refused or compiled, and what compiles judges any object.
#![no_main]

use crest_schema::Schema;
use libfuzzer_sys::fuzz_target;
use meta::wire::json;

/// Something of every type, for schemas to judge.
const OBJECT: &[u8] = br#"{"apiVersion":"a/v1","kind":"K","metadata":{"name":"n"},
    "spec":{"s":"text","i":3,"d":0.5,"b":true,"n":null,"l":[1,"2",{"k":"v"}],"m":{"a":{"b":[]}}},"status":{}}"#;

fuzz_target!(|body: &[u8]| {
    let Ok(written) = json::parse(body) else { return };
    let Ok(schema) = Schema::compile(&written.value) else { return };
    let mut object = json::parse(OBJECT).expect("the object is JSON").value;
    let _ = schema.validate(&object, None, None);
    schema.prune(&mut object, None);
    let pruned = object.clone();
    schema.prune(&mut object, None);
    assert_eq!(object, pruned, "nothing is left to prune");
    schema.default(&mut object);
    let _ = schema.validate(&object, Some(&pruned), None);
});
