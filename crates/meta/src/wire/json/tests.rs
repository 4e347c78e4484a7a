//! The reader and writer against facts recorded from Go, against `serde_json`, and against each other.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::{Map, Text, Value};

#[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
fn check(text: &[u8], expected: Expect) {
    let found = match parse(text) {
        Ok(Parsed { value, duplicates }) if duplicates.is_empty() => to_string(&value),
        Ok(Parsed { value, duplicates }) => format!("{} {duplicates:?}", to_string(&value)),
        Err(error) => format!("{}: {error}", error.offset()),
    };
    expected.assert_eq(&found);
}

#[test]
fn errors_are_those_of_go() {
    check(b"", expect!["0: unexpected end of JSON input"]);
    check(b" {", expect!["2: unexpected end of JSON input"]);
    check(b"x", expect!["1: invalid character 'x' looking for beginning of value"]);
    check(b"{a", expect!["2: invalid character 'a' looking for beginning of object key string"]);
    check(br#"{"a"}"#, expect!["5: invalid character '}' after object key"]);
    check(br#"{"a":1"#, expect!["6: unexpected end of JSON input"]);
    check(br#"{"a":1 2}"#, expect!["8: invalid character '2' after object key:value pair"]);
    check(br#"{"a":1,}"#, expect!["8: invalid character '}' looking for beginning of object key string"]);
    check(b"[1,]", expect!["4: invalid character ']' looking for beginning of value"]);
    check(b"[1;", expect!["3: invalid character ';' after array element"]);
    check(b"{} {}", expect!["4: invalid character '{' after top-level value"]);
    check(b"01", expect!["2: invalid character '1' after top-level value"]);
    check(b"-x", expect!["2: invalid character 'x' in numeric literal"]);
    check(b"1.e", expect!["3: invalid character 'e' after decimal point in numeric literal"]);
    check(b"1e+", expect!["3: invalid character ' ' in exponent of numeric literal"]);
    check(b"1ex", expect!["3: invalid character 'x' in exponent of numeric literal"]);
    check(b"trux", expect!["4: invalid character 'x' in literal true (expecting 'e')"]);
    check(b"nul", expect!["3: invalid character ' ' in literal null (expecting 'l')"]);
    check(br#""a\u00"#, expect![[r"6: invalid character ' ' in \u hexadecimal character escape"]]);
    check(br#""a"#, expect!["2: unexpected end of JSON input"]);
    check(b"fa\"", expect![[r#"3: invalid character '"' in literal false (expecting 'l')"#]]);
    check(b"\"a\nb\"", expect![[r"3: invalid character '\n' in string literal"]]);
    check(br#""\x""#, expect!["3: invalid character 'x' in string escape code"]);
    check(br#""\u00g0""#, expect![[r"6: invalid character 'g' in \u hexadecimal character escape"]]);
    check(b"'", expect![[r"1: invalid character '\'' looking for beginning of value"]]);
    check(b"\xff\xfe", expect!["1: invalid character 'ÿ' looking for beginning of value"]);
    check(b"\x00", expect![[r"1: invalid character '\x00' looking for beginning of value"]]);
}

#[test]
fn numbers_keep_their_kind() {
    check(
        b"[0,-0,9223372036854775807,-9223372036854775808]",
        expect!["[0,0,9223372036854775807,-9223372036854775808]"],
    );
    check(b"[9223372036854775808,1e2,-0.0,1.50]", expect!["[9223372036854776000,100,-0,1.5]"]);
    check(b"[1e21,1e20,1e-6,1e-7,123e-9]", expect!["[1e+21,100000000000000000000,0.000001,1e-7,1.23e-7]"]);
    check(b"1e-999", expect!["0"]);
    assert_eq!(parse(b"3.0").unwrap().value, Value::Float(3.0));
    assert_eq!(parse(b"3").unwrap().value, Value::Int(3));
}

#[test]
fn a_number_out_of_range_is_reported_only_when_the_text_is_well_formed() {
    check(b"[1e999,-2e999]", expect!["6: json: cannot unmarshal number 1e999 into Go value of type float64"]);
    check(b"[1e999", expect!["6: unexpected end of JSON input"]);
}

#[test]
fn strings_are_repaired_as_go_repairs_them() {
    check(b"\"\xe2\x82|\xff\"", expect!["\"\u{fffd}\u{fffd}|\u{fffd}\""]);
    check(
        br#""\ud83d\ude00 \ud83d \ude00 \ud83d\u0041""#,
        expect!["\"\u{1f600} \u{fffd} \u{fffd} \u{fffd}A\""],
    );
    check(br#""\"\\\/\b\f\n\r\t\u0001""#, expect![[r#""\"\\/\b\f\n\r\t\u0001""#]]);
    check(
        "\"<a&b>\u{2028}\u{2029}\u{2027}é\"".as_bytes(),
        expect![[r#""\u003ca\u0026b\u003e\u2028\u2029‧é""#]],
    );
}

#[test]
fn duplicates_are_reported_where_they_are_met() {
    check(
        br#"{"b":{"x":1,"x":2},"a":[{"k":1,"k":{"z":1,"z":2}}],"b":3,"b":4}"#,
        expect![[r#"{"a":[{"k":{"z":2}}],"b":4} ["b.x", "a[0].k", "a[0].k.z", "b"]"#]],
    );
    check(br#"[{"a":1,"a":1}]"#, expect![[r#"[{"a":1}] ["[0].a"]"#]]);
}

#[test]
fn large_unsorted_objects_are_sorted_and_still_report_duplicates() {
    let keys: Vec<String> = (0..500).rev().map(|n| format!("\"k{n:03}\":{n}")).collect();
    let text = format!("{{{},\"k007\":-1,\"k007\":-2}}", keys.join(","));
    let parsed = parse(text.as_bytes()).unwrap();
    assert_eq!(parsed.duplicates, ["k007"]);
    let map = parsed.value.as_object().unwrap();
    assert_eq!(map.len(), 500);
    assert_eq!(map.get("k007"), Some(&Value::Int(-2)));
    assert_eq!(map.get("k499"), Some(&Value::Int(499)));
}

#[test]
fn depth_and_duplicates_are_bounded() {
    let nested = |depth: usize| [b"[".repeat(depth), b"]".repeat(depth)].concat();
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    check(&nested(MAX_DEPTH + 1), expect!["1001: invalid character '[' exceeded max depth"]);
    let twice: Vec<String> = (0..150).map(|n| format!("\"k{n}\":1,\"k{n}\":1")).collect();
    let parsed = parse(format!("{{{}}}", twice.join(",")).as_bytes()).unwrap();
    assert_eq!(parsed.duplicates.len(), MAX_DUPLICATES);
}

#[test]
fn pretty_print_matches_marshal_indent() {
    let value = parse(br#"{"a":{},"b":[],"c":[1,{"d":"x"}]}"#).unwrap().value;
    let mut out = Vec::new();
    encode_pretty(&value, &mut out);
    expect![[r#"
        {
          "a": {},
          "b": [],
          "c": [
            1,
            {
              "d": "x"
            }
          ]
        }"#]]
    .assert_eq(&String::from_utf8(out).unwrap());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |f| f.is_finite() && f.fract() != 0.0).prop_map(Value::Float),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..8).prop_map(|members| {
                let members = members.into_iter().map(|(key, value)| (Text::from(key), value));
                Value::Object(members.collect::<Map>())
            }),
        ]
    })
}

fn from_serde(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(integer) => Value::Int(integer),
            None => Value::Float(number.as_f64().unwrap()),
        },
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => Value::Array(items.iter().map(from_serde).collect()),
        serde_json::Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.as_str(), from_serde(value))).collect())
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in any_value()) {
        let parsed = parse(&to_vec(&value)).unwrap();
        prop_assert_eq!(&parsed.value, &value);
        prop_assert!(parsed.duplicates.is_empty());
        let mut pretty = Vec::new();
        encode_pretty(&value, &mut pretty);
        prop_assert_eq!(parse(&pretty).unwrap().value, value);
    }

    #[test]
    fn serde_json_reads_the_same(value in any_value()) {
        let text = to_vec(&value);
        let theirs: serde_json::Value = serde_json::from_slice(&text).unwrap();
        prop_assert_eq!(from_serde(&theirs), value);
    }

    #[test]
    fn serde_json_and_we_accept_the_same_texts(text in r#"[\[\]{}":,0-9.eE+\-\\ua-ftrulsn ]{0,40}"#) {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match (parse(text.as_bytes()), theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours.value, from_serde(&theirs)),
            // serde_json refuses lone surrogates, which Go repairs.
            (Ok(_), Err(error)) => prop_assert!(text.contains("\\u"), "{text}: {error}"),
            (Err(error), Ok(_)) => prop_assert!(false, "{text}: {error}"),
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse(&[b"{\"", bytes.as_slice()].concat());
    }
}

#[test]
fn a_text_is_laid_out_alike_however_it_is_cut() {
    let text = br#"{"a":"x\"{,\\","b":[],"c":[{},{"d":[1,2]}],"e":{"f":"\\"}}
"#;
    let mut whole = Vec::new();
    indent(text, &mut whole);
    assert!(whole.ends_with(b"\n}"));
    for size in 1..text.len() {
        let (mut pieces, mut indenter) = (Vec::new(), Indenter::default());
        text.chunks(size).for_each(|piece| indenter.push(piece, &mut pieces));
        assert_eq!(pieces, whole, "in pieces of {size}");
    }
}
