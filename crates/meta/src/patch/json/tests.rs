//! JSON patches against the answers of the reference's library and of the server.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::patch::Strictness;

const DOCUMENT: &[u8] = br#"{"spec":{"a":1,"l":[1,2,3],"n":null,"x/y":{"~":0}}}"#;

fn apply(patch: &str) -> Result<String, PatchError> {
    let document = json::parse(DOCUMENT).unwrap().value;
    JsonPatch::decode(patch.as_bytes())?.apply(document).map(|value| json::to_string(&value))
}

#[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
fn check(patch: &str, expected: Expect) {
    expected.assert_eq(&apply(&format!("[{patch}]")).unwrap_or_else(|error| error.to_string()));
}

#[test]
fn operations_change_the_document() {
    check(
        r#"{"op":"add","path":"/spec/b","value":{}}"#,
        expect![[r#"{"spec":{"a":1,"b":{},"l":[1,2,3],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/l/1","value":9}"#,
        expect![[r#"{"spec":{"a":1,"l":[1,9,2,3],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/l/-1","value":9}"#,
        expect![[r#"{"spec":{"a":1,"l":[1,2,3,9],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/x~1y/~0","value":9}"#,
        expect![[r#"{"spec":{"a":1,"l":[1,2,3],"n":null,"x/y":{"~":9}}}"#]],
    );
    check(
        r#"{"op":"remove","path":"/spec/l/-3"}"#,
        expect![[r#"{"spec":{"a":1,"l":[2,3],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(
        r#"{"op":"replace","path":"/spec/l/-1","value":5}"#,
        expect![[r#"{"spec":{"a":1,"l":[1,2,5],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(
        r#"{"op":"move","from":"/spec/l/0","path":"/spec/l/-"}"#,
        expect![[r#"{"spec":{"a":1,"l":[2,3,1],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(
        r#"{"op":"copy","from":"/spec/l","path":"/spec/l/0"}"#,
        expect![[r#"{"spec":{"a":1,"l":[[1,2,3],1,2,3],"n":null,"x/y":{"~":0}}}"#]],
    );
    check(r#"{"op":"replace","path":"","value":[1]}"#, expect!["[1]"]);
    check(
        r#"{"op":"test","path":"","value":{"spec":1}},{"op":"test","path":"/spec"}"#,
        expect!["testing value  failed: test failed"],
    );
    check(r#"{"op":"test","path":"/spec/l","value":[1,2,3]},{"op":"remove","path":"/spec"}"#, expect!["{}"]);
}

#[test]
fn the_library_is_more_lenient_than_the_rfc() {
    check(
        r#"{"op":"replace","path":"/spec","value":1},{"op":"replace","path":"/none","value":1}"#,
        expect![[r#"{"none":1,"spec":1}"#]],
    );
    check(
        r#"{"op":"add","path":"spec/a","value":1},{"op":"remove","path":"x/spec"}"#,
        expect![[r#"{"a":1}"#]],
    );
    check(r#"{"op":"copy","from":"/zip","path":"/spec"}"#, expect![[r#"{"spec":null}"#]]);
    check(r#"{"op":"add","path":"/spec"}"#, expect![[r#"{"spec":null}"#]]);
    check(
        r#"{"op":"test","path":"/zip"},{"op":"test","path":"/spec/n","value":null},{"op":"remove","path":"/spec"}"#,
        expect!["{}"],
    );
    assert_eq!(apply("null").unwrap().as_bytes(), DOCUMENT);
}

#[test]
fn failures_have_the_library_s_words() {
    check(
        r#"{"op":"test","path":"/spec/a","value":1.0}"#,
        expect!["testing value /spec/a failed: test failed"],
    );
    check(
        r#"{"op":"test","path":"/spec/none","value":2}"#,
        expect!["testing value /spec/none failed: test failed"],
    );
    check(
        r#"{"op":"test","path":"/spec/l/7"}"#,
        expect![
            "error in test for path: '/spec/l/7': Unable to access invalid index: 7: invalid index referenced"
        ],
    );
    check(
        r#"{"op":"remove","path":"/spec/none"}"#,
        expect![
            "error in remove for path: '/spec/none': Unable to remove nonexistent key: none: missing value"
        ],
    );
    check(
        r#"{"op":"remove","path":"/spec/l/-"}"#,
        expect![[r#"error in remove for path: '/spec/l/-': strconv.Atoi: parsing "-": invalid syntax"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/none/deep"}"#,
        expect![[r#"add operation does not apply: doc is missing path: "/spec/none/deep": missing value"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/n/deep"}"#,
        expect![[r#"add operation does not apply: doc is missing path: "/spec/n/deep": missing value"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/a/deep"}"#,
        expect![[r#"add operation does not apply: doc is missing path: "/spec/a/deep": missing value"#]],
    );
    check(
        r#"{"op":"add","path":""}"#,
        expect![[r#"add operation does not apply: doc is missing path: "": missing value"#]],
    );
    check(
        r#"{"op":"add","path":"/spec/l/9"}"#,
        expect![
            "error in add for path: '/spec/l/9': Unable to access invalid index: 9: invalid index referenced"
        ],
    );
    check(
        r#"{"op":"add","path":"/spec/l/x"}"#,
        expect![[
            r#"error in add for path: '/spec/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing "x": invalid syntax"#
        ]],
    );
    check(
        r#"{"op":"replace","path":"/spec/l/3"}"#,
        expect!["replace operation does not apply: doc is missing key: /spec/l/3: missing value"],
    );
    check(
        r#"{"op":"replace","path":"/no/3"}"#,
        expect!["replace operation does not apply: doc is missing path: /no/3: missing value"],
    );
    check(
        r#"{"op":"move","from":"/spec/zip","path":"/x"}"#,
        expect!["error in move for path: 'zip': Unable to remove nonexistent key: zip: missing value"],
    );
    check(
        r#"{"op":"move","path":"/x"}"#,
        expect!["move operation failed to decode from: operation, missing from field: missing value"],
    );
    check(
        r#"{"op":"replace"}"#,
        expect!["replace operation failed to decode path: operation missing path field: missing value"],
    );
    check(r#"{"op":"add"}"#, expect!["add operation failed to decode path: missing value"]);
    check(r#"{"op":"bogus"}"#, expect!["Unexpected kind: bogus"]);
    check("{}", expect!["Unexpected kind: unknown"]);
    check("1", expect!["json: cannot unmarshal number into Go value of type jsonpatch.Operation"]);
    assert_eq!(
        apply("{}").unwrap_err().to_string(),
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    );
}

#[test]
fn requests_are_refused_as_the_server_refuses_them() {
    let message = |body: &str, strictness| match JsonPatch::from_request(body.as_bytes(), strictness) {
        Ok(decoded) => decoded.strict_errors.join("; "),
        Err(status) => format!("{} {}", status.code, status.message),
    };
    for (body, report, ignore) in [
        (
            r#"{"op":"add"}"#,
            "400 error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            "400 json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ),
        (
            "[1]",
            "400 error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            "400 json: cannot unmarshal number into Go value of type jsonpatch.Operation",
        ),
        (
            r#"[{"op":1}]"#,
            "400 error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
            "",
        ),
        (
            "not json",
            "400 error decoding patch: invalid character 'o' in literal null (expecting 'u')",
            "400 invalid character 'o' in literal null (expecting 'u')",
        ),
        (
            r#"[{"op":"add","x":{"y":1,"y":2},"path":"/a","path":"/b","value":{"v":1,"v":2}}]"#,
            r#"json patch duplicate field "[0].path"; json patch duplicate field "[0].value.v"; json patch unknown field "[0].x""#,
            "",
        ),
        ("null", "", ""),
    ] {
        assert_eq!(message(body, Strictness::Report), report);
        assert_eq!(message(body, Strictness::Ignore), ignore);
    }
    let many = format!("[{}]", vec![r#"{"op":"test","path":""}"#; MAX_OPERATIONS + 1].join(","));
    assert_eq!(
        message(&many, Strictness::Report),
        "413 Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn copies_cannot_grow_or_deepen_a_document_without_limit() {
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(1024 * 1024));
    let copy = |n: usize| format!(r#"{{"op":"copy","from":"/a","path":"/c{n}"}}"#);
    let patch = format!("[{}]", (0..4).map(copy).collect::<Vec<_>>().join(","));
    let document = json::parse(large.as_bytes()).unwrap().value;
    let error = JsonPatch::decode(patch.as_bytes()).unwrap().apply(document).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Unable to complete the copy, the accumulated size increase of copy is 3145734, exceeding the limit 3145728"
    );
    // Copying a value below itself doubles its depth each time.
    let doubling: Vec<String> = (0..12)
        .map(|n| format!(r#"{{"op":"copy","from":"/a","path":"{}"}}"#, "/a".repeat(1 << n) + "/a"))
        .collect();
    let document = json::parse(br#"{"a":{}}"#).unwrap().value;
    let patch = format!("[{}]", doubling.join(","));
    let error = JsonPatch::decode(patch.as_bytes()).unwrap().apply(document).unwrap_err();
    assert_eq!(error.to_string(), "error while adding value during copy: exceeded max depth");
}

proptest! {
    #[test]
    fn no_patch_makes_it_panic(
        operations in prop::collection::vec(
            (
                prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test", "x"]),
                r"(/?(spec|l|a|-|-?[0-9]{1,20}|~[01]|)){0,4}",
                r"(/?(spec|l|a|-|-?[0-4]|)){0,4}",
            ),
            0..6,
        ),
    ) {
        let operations: Vec<String> = operations
            .iter()
            .map(|(op, path, from)| format!(r#"{{"op":"{op}","path":"{path}","from":"{from}","value":[1]}}"#))
            .collect();
        let _ = apply(&format!("[{}]", operations.join(",")));
    }
}
