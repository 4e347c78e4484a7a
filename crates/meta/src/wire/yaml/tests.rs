//! YAML against facts recorded from sigs.k8s.io/yaml.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::{Map, Text};

fn read(text: &str) -> String {
    match parse(text.as_bytes()) {
        Ok(Parsed { value, strict_error: None }) => json::to_string(&value),
        Ok(Parsed { value, strict_error: Some(error) }) => format!("{} {error:?}", json::to_string(&value)),
        Err(error) => error.to_string(),
    }
}

fn check_all(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(read(text), *expected, "{text}");
    }
}

#[test]
fn plain_scalars_resolve_as_yaml_1_1() {
    check_all(&[
        ("[yes, No, on, OFF, y, N, true, tRue]", r#"[true,false,true,false,true,false,true,"tRue"]"#),
        ("[~, null, Null, '', ]", r#"[null,null,null,""]"#),
        ("[0x1F, -0x1F, 017, 0o17, 0b11, -0b11, 1_000, +5, 08]", "[31,-31,15,15,3,-3,1000,5,8]"),
        ("[1.0, 1e3, .5, 1., -0.0, 1e20, 1e21]", "[1,1000,0.5,1,0,100000000000000000000,1e+21]"),
        ("[1234567890123456789.0, 18446744073709551615]", "[1234567890123456800,18446744073709552000]"),
        (
            "[12:30:45, 2024-01-01, 2024-01-01T00:00:00Z, 1e999, 0x, _1, 1.2.3, =]",
            r#"["12:30:45","2024-01-01","2024-01-01T00:00:00Z","1e999","0x","_1","1.2.3","="]"#,
        ),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: -.INF", "json: unsupported value: -Inf"),
        ("a: .NaN", "json: unsupported value: NaN"),
    ]);
}

#[test]
fn tags_decide_what_a_scalar_is() {
    check_all(&[
        (
            r#"[!!str 1, !!int "5", !!float 5, !!bool yes, !!null '', !foo bar, ! 5]"#,
            r#"["1",5,5,true,null,"bar","5"]"#,
        ),
        ("a: !!binary aGVs=\n", "yaml: !!binary value contains invalid base64 data"),
        ("!!binary aGVsbG8=", r#""hello""#),
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("!!int 2024-01-01", "yaml: cannot decode !!str `2024-01-01` as a !!int"),
        ("a: !<tag:yaml.org,2002:str> 1", r#"{"a":"1"}"#),
        ("%TAG !x! tag:yaml.org,2002:\n---\n!x!str 1", r#""1""#),
        ("!x!str 1", "yaml: found undefined tag handle"),
    ]);
}

#[test]
fn keys_become_strings() {
    check_all(&[
        (
            "{1: a, 1.5: b, yes: c, 2024-01-01: d, 1e6: e, .inf: f}",
            r#"{".inf":"f","1":"a","1.5":"b","1e+06":"e","2024-01-01":"d","true":"c"}"#,
        ),
        ("n: 1", r#"{"false":1}"#),
        ("~: a", r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: "a""#),
        (
            "18446744073709551615: ~",
            "unsupported map key of type: uint64, key: 0xffffffffffffffff, value: <nil>",
        ),
        ("{a: 1}: b", r#"yaml: invalid map key: map[interface {}]interface {}{"a":1}"#),
        ("? [a, ~]\n: b", r#"yaml: invalid map key: []interface {}{"a", interface {}(nil)}"#),
    ]);
}

#[test]
fn structure_is_read_as_libyaml_reads_it() {
    check_all(&[
        ("", "null"),
        ("# nothing\n", "null"),
        ("a:\n- 1\n- b: 2\n  c: 3\n-\n- - x\n", r#"{"a":[1,{"b":2,"c":3},null,["x"]]}"#),
        ("a: [\n1,\n2\n]\nb: {\nc: 1\n}\n", r#"{"a":[1,2],"b":{"c":1}}"#),
        ("a:\tb", r#"{"a":"b"}"#),
        ("{a, b: 1, \"c\":2, ? d : 3}", r#"{"a":null,"b":1,"c":2,"d":3}"#),
        ("[a: 1, b]", r#"[{"a":1},"b"]"#),
        ("? a\n: b\n? c", r#"{"a":"b","c":null}"#),
        ("a: x\r\nb: v\rc: z\u{85}d: w", r#"{"a":"x","b":"v","c":"z","d":"w"}"#),
        ("a: 1 # comment\nb: x#y", r#"{"a":1,"b":"x#y"}"#),
        ("a: 1\n---\nb: 2", r#"{"a":1}"#),
        ("a: 1\n...\n@", r#"{"a":1}"#),
        ("%YAML 1.1\n--- [a]\n", r#"["a"]"#),
        ("{\"a\":1}{\"b\":2}", r#"{"a":1}"#),
        ("\u{feff}a: 1", r#"{"a":1}"#),
    ]);
}

#[test]
fn scalars_are_folded() {
    check_all(&[
        ("a: b\n  c\n\n  d", r#"{"a":"b c\nd"}"#),
        ("'it''s\n\n  x'", r#""it's\nx""#),
        ("\"a\\x41\\u00e9\\n \\\n   b\"", r#""aAé\n b""#),
        ("a: |\n  x\n   y\n\n  z\n\nb: 1", r#"{"a":"x\n y\n\nz\n","b":1}"#),
        ("a: |-\n  x\n", r#"{"a":"x"}"#),
        ("a: |+\n  x\n\n", r#"{"a":"x\n\n"}"#),
        ("a: |\n  x", r#"{"a":"x"}"#),
        ("a: >\n  x\n  y\n\n  z\n   w\n  v\n", r#"{"a":"x y\nz\n w\nv\n"}"#),
        ("a: |2\n    x", r#"{"a":"  x"}"#),
    ]);
}

#[test]
fn anchors_and_merge_keys_expand() {
    check_all(&[
        ("a: &x {k: 1}\nb: *x", r#"{"a":{"k":1},"b":{"k":1}}"#),
        ("a: &x 1\nb: &x 2\nc: *x", r#"{"a":1,"b":2,"c":2}"#),
        (
            "b: &b {a: 1, c: 2}\nd:\n  <<: *b\n  c: 3",
            r#"{"b":{"a":1,"c":2},"d":{"a":1,"c":3}} "yaml: unmarshal errors:\n  line 4: key \"c\" already set in map""#,
        ),
        (
            "d:\n  c: 3\n  <<: {c: 1}",
            r#"{"d":{"c":1}} "yaml: unmarshal errors:\n  line 3: key \"c\" already set in map""#,
        ),
        ("<<: [{a: 1, b: 1}, {c: 2}]", r#"{"a":1,"b":1,"c":2}"#),
        ("'<<': 1", r#"{"\u003c\u003c":1}"#),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: *nope", "yaml: unknown anchor 'nope' referenced"),
        ("&a [*a]", "yaml: anchor 'a' value contains itself"),
    ]);
}

#[test]
fn duplicates_are_a_strict_error_and_the_last_wins() {
    check_all(&[
        (
            "a: 1\nb: 2\na:\n  c: 3\n",
            r#"{"a":{"c":3},"b":2} "yaml: unmarshal errors:\n  line 4: key \"a\" already set in map""#,
        ),
        (r#"{"a":1,"a":2}"#, r#"{"a":2} "yaml: unmarshal errors:\n  line 1: key \"a\" already set in map""#),
        ("1: a\n1: b\n", r#"{"1":"b"} "yaml: unmarshal errors:\n  line 2: key 1 already set in map""#),
    ]);
}

#[test]
fn errors_are_those_of_go_yaml() {
    check_all(&[
        ("a: [unclosed", "yaml: line 1: did not find expected ',' or ']'"),
        ("kind: [", "yaml: line 1: did not find expected node content"),
        ("a: {x: 1\nb: 2\n", "yaml: line 1: did not find expected ',' or '}'"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a\nb: 1", "yaml: line 2: mapping values are not allowed in this context"),
        ("a: 1\nb\nc: 2", "yaml: line 3: could not find expected ':'"),
        ("a: 1\n- b", "yaml: line 1: did not find expected key"),
        ("- a\nb: 1", "yaml: line 1: did not find expected '-' indicator"),
        ("a:\n\t- 1", "yaml: line 2: found character that cannot start any token"),
        ("a: @b", "yaml: found character that cannot start any token"),
        ("a: - b", "yaml: block sequence entries are not allowed in this context"),
        ("a: 'x\nb: 1\n", "yaml: line 3: found unexpected end of stream"),
        (r#"a: "\q""#, "yaml: found unknown escape character"),
        (r#"a: "\ud800""#, "yaml: found invalid Unicode character escape code"),
        (r#"a: "\xZ""#, "yaml: did not find expected hexdecimal number"),
        ("a: 'x' y", "yaml: did not find expected key"),
        ("a: *", "yaml: did not find expected alphabetic or numeric character"),
        ("a: |x\n", "yaml: did not find expected comment or line break"),
        ("a: |0\n", "yaml: found an indentation indicator equal to 0"),
        ("a:\n  |\n \tx", "yaml: line 3: found a tab character where an indentation space is expected"),
        ("a: x\n\ty", "yaml: line 2: found a tab character that violates indentation"),
        ("%YAML 2.0\n---\n", "yaml: found incompatible YAML document"),
        ("%FOO\n---\n", "yaml: found unknown directive name"),
        ("%YAML 1.1\na: 1", "yaml: line 1: did not find expected <document start>"),
        ("a: \u{7f}", "yaml: control characters are not allowed"),
        ("]", "yaml: did not find expected node content"),
    ]);
    assert_eq!(parse(b"a: \xff").unwrap_err().to_string(), "yaml: invalid leading UTF-8 octet");
    assert_eq!(parse(b"a: \xe2(\xa1").unwrap_err().to_string(), "yaml: invalid trailing UTF-8 octet");
    assert_eq!(parse(b"a: \xe2").unwrap_err().to_string(), "yaml: incomplete UTF-8 octet sequence");
}

#[test]
fn depth_and_aliases_are_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(nested(read::MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(read(&nested(read::MAX_DEPTH + 1)), "yaml: exceeded max depth of 256");
    assert_eq!(read(&"- ".repeat(read::MAX_DEPTH + 1)), "yaml: exceeded max depth of 256");
    // Nine levels of nine references each.
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = level - 1;
        let references = vec![format!("*a{before}"); 9].join(", ");
        laughs = format!("{laughs}a{level}: &a{level} [{references}]\n");
    }
    assert_eq!(read(&laughs), "yaml: document contains excessive aliasing");
    // Each alias stands at the bottom of the next value: the depth adds up.
    let mut deep = format!("a0: &a0 {}\n", nested(100));
    for level in 1..4 {
        let (open, close) = ("[".repeat(100), "]".repeat(100));
        deep = format!("{deep}a{level}: &a{level} {open}*a{}{close}\n", level - 1);
    }
    assert_eq!(read(&deep), "yaml: exceeded max depth of 256");
}

#[test]
fn json_bodies_take_the_short_way() {
    check_all(&[
        (" {\"a\": 3.0, \"b\": [1e2, \"\\ud83d\\ude00\"]}", "{\"a\":3,\"b\":[100,\"\u{1f600}\"]}"),
        ("{\"a\": 1e999}", r#"{"a":"1e999"}"#),
    ]);
}

#[expect(clippy::needless_pass_by_value, reason = "expect! makes a value")]
fn check_encode(text: &str, expected: Expect) {
    expected.assert_eq(&encode(&json::parse(text.as_bytes()).unwrap().value));
}

#[test]
fn values_are_laid_out_as_go_yaml_does() {
    check_encode(
        r#"{"b":[1,{"x":1,"w":[[],{}]},[1,[2]]],"a10":true,"a2":null,"z":{"f":1.5,"e":1e21,"g":1e-7},"_":3.0}"#,
        expect![[r"
            _: 3
            a2: null
            a10: true
            b:
            - 1
            - w:
              - []
              - {}
              x: 1
            - - 1
              - - 2
            z:
              e: 1e+21
              f: 1.5
              g: 1e-07
        "]],
    );
    check_encode(
        r#"["plain text","yes","1","","2024-01-01","1:30","a: b","a #b","- a","it's","'q'","@x"," x","tab\t","é","😀","line\nbreak\n","no end\nhere","\n","trail \nx"," lead\nx","a\n\n"]"#,
        expect![[r#"
            - plain text
            - "yes"
            - "1"
            - ""
            - "2024-01-01"
            - "1:30"
            - 'a: b'
            - 'a #b'
            - '- a'
            - it's
            - '''q'''
            - '@x'
            - ' x'
            - "tab\t"
            - é
            - "\U0001F600"
            - |
              line
              break
            - |-
              no end
              here
            - |2+

            - "trail \nx"
            - |2-
               lead
              x
            - |+
              a

        "#]],
    );
}

#[test]
fn long_lines_are_folded_and_long_keys_set_apart() {
    let words = "word ".repeat(20);
    check_encode(
        &format!(r#"{{"a":"{words}end","b":"yes: {words}","k{}":1,"x\ny":2}}"#, "k".repeat(128)),
        expect![[r"
            a: word word word word word word word word word word word word word word word word
              word word word word end
            b: 'yes: word word word word word word word word word word word word word word word
              word word word word word '
            ? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
            : 1
            ? |-
              x
              y
            : 2
        "]],
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        r"[ a-z0-9:#'{}\[\],&*!|>%@?.=~<\n\t-]{0,20}".prop_map(String::from),
        "(word |long ){10,30}".prop_map(String::from),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1e9..1e9).prop_map(|number: f64| resolve::float(number)),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((text.clone(), inner), 0..6).prop_map(|members| {
                let members = members.into_iter().map(|(key, value)| (Text::from(key), value));
                Value::Object(members.collect::<Map>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in any_value()) {
        let text = encode(&value);
        let parsed = parse(text.as_bytes());
        prop_assert_eq!(parsed, Ok(Parsed { value, strict_error: None }), "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in r##"([ \n:\[\]{},'"#&*!|>%@?\ta-c1<\\.~-]|\n  |: |- |<<|&a |\*a){0,40}"##) {
        let _ = parse(text.as_bytes());
    }
}
