//! Values, errors and costs of whole expressions.

use expect_test::{Expect, expect};

use crate::{Entries, Env, Type, Value, library};

fn show(value: &Value<'_>) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| show(&item.unwrap())).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entry = |key: &Value<'_>| format!("{}: {}", show(key), show(&map.get(key).unwrap().unwrap()));
            format!("{{{}}}", map.keys().iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Optional(None) => "none".to_owned(),
        Value::Optional(Some(inner)) => format!("some({})", show(inner)),
        other => format!("{other:?}"),
    }
}

fn check(expressions: &[&str], expect: &Expect) {
    let env = Env::standard()
        .extend()
        .library(library::strings())
        .library(library::lists())
        .library(library::sets())
        .library(library::optional())
        .library(library::two_variable_comprehensions())
        .variable("i", Type::Int)
        .variable("s", Type::String)
        .variable("l", Type::list(Type::Int))
        .variable("m", Type::map(Type::String, Type::Dyn))
        .variable("absent", Type::Int)
        .build();
    let numbers = Value::list([3, 1, 2].map(Value::Int).to_vec());
    let nested: Entries<'_> = [(Value::str("b"), numbers.clone())].into_iter().collect();
    let entries = [(Value::str("a"), Value::Int(1)), (Value::str("n"), nested.into())];
    let map = Value::from(entries.into_iter().collect::<Entries<'_>>());
    let variables = [("i", Value::Int(5)), ("s", Value::str("héllo")), ("l", numbers), ("m", map)];
    let mut out = String::new();
    for expression in expressions {
        let program = match env.program(expression) {
            Ok(program) => program,
            Err(error) => {
                out.extend([*expression, " => refused: ", &error.to_string(), "\n"]);
                continue;
            }
        };
        let outcome = program.evaluate_within(10_000, &variables);
        let shown = match &outcome.result {
            Ok(value) => show(value),
            Err(error) => format!("error: {error}"),
        };
        out.extend([*expression, " => ", &shown, &format!(" ({})", outcome.cost), "\n"]);
    }
    expect.assert_eq(&out);
}

#[test]
fn arithmetic_and_its_limits() {
    check(
        &[
            "i + 1 * 2",
            "-7 / 2",
            "-7 % 3",
            "7 % 0",
            "1 / 0",
            "0.0 / 0.0",
            "9223372036854775807 + i",
            "1u - 2u",
            "-(-9223372036854775808)",
            "'a' + s",
            "b'a' + b'b'",
            "[1] + l",
            "duration('1h') + duration('30m')",
            "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
            "timestamp(0) - timestamp(60)",
            "dyn('a') + dyn(1)",
            "dyn(true) + 1",
            "null < null",
        ],
        &expect![[r#"
            i + 1 * 2 => Int(7) (3)
            -7 / 2 => Int(-3) (1)
            -7 % 3 => Int(-1) (1)
            7 % 0 => error: modulus by zero (1)
            1 / 0 => error: division by zero (1)
            0.0 / 0.0 => Double(NaN) (1)
            9223372036854775807 + i => error: integer overflow (2)
            1u - 2u => error: unsigned integer overflow (1)
            -(-9223372036854775808) => error: integer overflow (1)
            'a' + s => String("ahéllo") (2)
            b'a' + b'b' => Bytes([97, 98]) (1)
            [1] + l => [Int(1), Int(3), Int(1), Int(2)] (2)
            duration('1h') + duration('30m') => Duration(Duration(5400000000000)) (1)
            timestamp('9999-12-31T23:59:59Z') + duration('1s') => error: timestamp overflow (1)
            timestamp(0) - timestamp(60) => Duration(Duration(-60000000000)) (1)
            dyn('a') + dyn(1) => error: no such overload (1)
            dyn(true) + 1 => error: no such overload: _+_ (1)
            null < null => error: no such overload: _<_ (1)
        "#]],
    );
}

#[test]
fn comparisons_cross_number_types() {
    check(
        &[
            "1 < 1u",
            "-1 < 0u",
            "dyn(1) == 1.0",
            "dyn(1u) != 1",
            "[1] == [1]",
            "{'a': 1} == {'a': 1}",
            "s == 'héllo'",
            "s < 'z'",
            "1 in l",
            "9 in l",
            "i in [1, 5]",
            "s in []",
            "'a' in m",
            "dyn(1) in [1.0]",
            "null == null",
            "type(1) == int",
            "dyn([1]) == 'a'",
            "double('NaN') == double('NaN')",
            "double('NaN') < 1.0",
        ],
        &expect![[r"
            1 < 1u => Bool(false) (1)
            -1 < 0u => Bool(true) (1)
            dyn(1) == 1.0 => Bool(true) (1)
            dyn(1u) != 1 => Bool(false) (1)
            [1] == [1] => Bool(true) (1)
            {'a': 1} == {'a': 1} => Bool(true) (1)
            s == 'héllo' => Bool(true) (2)
            s < 'z' => Bool(true) (2)
            1 in l => Bool(true) (4)
            9 in l => Bool(false) (4)
            i in [1, 5] => Bool(true) (1)
            s in [] => Bool(false) (0)
            'a' in m => Bool(true) (2)
            dyn(1) in [1.0] => Bool(true) (0)
            null == null => Bool(true) (1)
            type(1) == int => Bool(true) (1)
            dyn([1]) == 'a' => Bool(false) (1)
            double('NaN') == double('NaN') => Bool(false) (1)
            double('NaN') < 1.0 => error: NaN values cannot be ordered (1)
        "]],
    );
}

#[test]
fn errors_are_absorbed_where_they_may_be() {
    check(
        &[
            "absent == 1 || true",
            "absent == 1 && false",
            "absent == 1 || false",
            "true || absent == 1",
            "[0, 1].exists(x, 1 / x == 1)",
            "[0, 2].exists(x, 1 / x == 1)",
            "[0, 1].all(x, 1 / x > 5)",
            "[1, 0].all(x, 1 / x > 0)",
            "[0, 1].exists_one(x, 1 / x == 1)",
            "[0].map(x, 1 / x)",
            "[0].filter(x, 1 / x > 0)",
            "dyn(1) && true",
            "dyn(1) && false",
            "dyn(1) ? 1 : 2",
            "m.nope",
            "m.n.b[5]",
            "l[-1]",
            "m['n']['b'][0]",
        ],
        &expect![[r"
            absent == 1 || true => Bool(true) (2)
            absent == 1 && false => Bool(false) (2)
            absent == 1 || false => error: no such attribute(s): absent (2)
            true || absent == 1 => Bool(true) (0)
            [0, 1].exists(x, 1 / x == 1) => Bool(true) (15)
            [0, 2].exists(x, 1 / x == 1) => error: division by zero (15)
            [0, 1].all(x, 1 / x > 5) => Bool(false) (13)
            [1, 0].all(x, 1 / x > 0) => error: division by zero (13)
            [0, 1].exists_one(x, 1 / x == 1) => error: division by zero (10)
            [0].map(x, 1 / x) => error: division by zero (15)
            [0].filter(x, 1 / x > 0) => error: division by zero (4)
            dyn(1) && true => error: no such overload (0)
            dyn(1) && false => Bool(false) (0)
            dyn(1) ? 1 : 2 => error: no such overload (0)
            m.nope => error: no such key: nope (2)
            m.n.b[5] => error: index out of bounds: 5 (4)
            l[-1] => error: index out of bounds: -1 (2)
            m['n']['b'][0] => Int(3) (4)
        "]],
    );
}

#[test]
fn loops_and_what_they_cost() {
    check(
        &[
            "l.all(x, x > 0)",
            "l.all(x, x > 2)",
            "l.exists(x, x == 1)",
            "l.exists_one(x, x > 2)",
            "l.map(x, x * 2)",
            "l.map(x, x > 1, x * 2)",
            "l.filter(x, x > 1)",
            "m.map(k, k)",
            "l.all(i, x, i < 3)",
            "l.map(x, 1)",
            "m.transformList(k, v, k)",
            "l.transformMap(i, x, x)",
            "l.transformMapEntry(i, x, {x: i})",
            "[1, 1].transformMapEntry(i, x, {x: i})",
            "l.sortBy(x, -x)",
            "optional.of(2).optMap(x, x * i)",
            "[[1, 2], [3]].map(x, x.map(y, y + i))",
            "l.map(x, l).flatten().distinct()",
        ],
        &expect![[r#"
            l.all(x, x > 0) => Bool(true) (17)
            l.all(x, x > 2) => Bool(false) (14)
            l.exists(x, x == 1) => Bool(true) (17)
            l.exists_one(x, x > 2) => Bool(true) (11)
            l.map(x, x * 2) => [Int(6), Int(2), Int(4)] (44)
            l.map(x, x > 1, x * 2) => [Int(6), Int(4)] (36)
            l.filter(x, x > 1) => [Int(3), Int(2)] (34)
            m.map(k, k) => [String("a"), String("n")] (28)
            l.all(i, x, i < 3) => Bool(true) (17)
            l.map(x, 1) => [Int(1), Int(1), Int(1)] (8)
            m.transformList(k, v, k) => [String("a"), String("n")] (28)
            l.transformMap(i, x, x) => {Int(0): Int(3), Int(1): Int(1), Int(2): Int(2)} (14)
            l.transformMapEntry(i, x, {x: i}) => {Int(3): Int(0), Int(1): Int(1), Int(2): Int(2)} (104)
            [1, 1].transformMapEntry(i, x, {x: i}) => error: insert failed: key 1 already exists (69)
            l.sortBy(x, -x) => [Int(3), Int(2), Int(1)] (75)
            optional.of(2).optMap(x, x * i) => some(Int(10)) (8)
            [[1, 2], [3]].map(x, x.map(y, y + i)) => [[Int(6), Int(7)], [Int(8)]] (74)
            l.map(x, l).flatten().distinct() => [Int(3), Int(1), Int(2)] (228)
        "#]],
    );
}

#[test]
fn presence_and_optionals() {
    check(
        &[
            "has(m.a)",
            "has(m.z)",
            "has(m.n.b)",
            "has(m.z.b)",
            "m.?z",
            "m.?n.b",
            "m.?z.b",
            "m[?'a'].orValue(3)",
            "l[?9]",
            "l[?0]",
            "optional.none().or(optional.of(1))",
            "optional.none().value()",
            "optional.ofNonZeroValue('')",
            "[?m.?z, ?m.?a]",
            "{?'x': m.?z, ?'y': m.?a}",
            "optional.of(1) == optional.of(1)",
            "l.first()",
            "[].last()",
        ],
        &expect![[r#"
            has(m.a) => Bool(true) (1)
            has(m.z) => Bool(false) (1)
            has(m.n.b) => Bool(true) (2)
            has(m.z.b) => error: no such key: z (1)
            m.?z => none (1)
            m.?n.b => some([Int(3), Int(1), Int(2)]) (3)
            m.?z.b => none (1)
            m[?'a'].orValue(3) => Int(1) (2)
            l[?9] => none (1)
            l[?0] => some(Int(3)) (2)
            optional.none().or(optional.of(1)) => some(Int(1)) (2)
            optional.none().value() => error: optional.none() dereference (2)
            optional.ofNonZeroValue('') => none (1)
            [?m.?z, ?m.?a] => [Int(1)] (13)
            {?'x': m.?z, ?'y': m.?a} => {String("y"): Int(1)} (33)
            optional.of(1) == optional.of(1) => Bool(true) (3)
            l.first() => some(Int(3)) (2)
            [].last() => none (1)
        "#]],
    );
}

#[test]
fn text_functions() {
    check(
        &[
            "size(s)",
            "s.charAt(1)",
            "s.charAt(9)",
            "s.indexOf('l', 3)",
            "s.lastIndexOf('l')",
            "s.substring(1, 3)",
            "s.substring(3, 1)",
            "s.upperAscii()",
            "s.replace('l', 'L', 1)",
            "'a,b'.split(',')",
            "'ab'.split('')",
            "['a', 'b'].join('-')",
            "'  a '.trim()",
            "strings.quote('a\"b')",
            "s.matches('^h.l+o$')",
            "s.matches('[')",
            "s.contains('é')",
            "'%s %d %.2f %x'.format(['a', 5, 1.5, 255])",
            "'%d'.format(['a'])",
            "s.startsWith('h')",
        ],
        &expect![[r#"
            size(s) => Int(5) (2)
            s.charAt(1) => String("é") (2)
            s.charAt(9) => error: index out of range: 9 (2)
            s.indexOf('l', 3) => Int(3) (2)
            s.lastIndexOf('l') => Int(3) (2)
            s.substring(1, 3) => String("él") (2)
            s.substring(3, 1) => error: invalid substring range. start: 3, end: 1 (2)
            s.upperAscii() => String("HéLLO") (2)
            s.replace('l', 'L', 1) => String("héLlo") (2)
            'a,b'.split(',') => [String("a"), String("b")] (1)
            'ab'.split('') => [String("a"), String("b")] (1)
            ['a', 'b'].join('-') => String("a-b") (1)
            '  a '.trim() => String("a") (1)
            strings.quote('a"b') => String("\"a\\\"b\"") (1)
            s.matches('^h.l+o$') => Bool(true) (3)
            s.matches('[') => refused: error parsing regexp: missing closing ]: `[`
            s.contains('é') => Bool(true) (2)
            '%s %d %.2f %x'.format(['a', 5, 1.5, 255]) => String("a 5 1.50 ff") (2)
            '%d'.format(['a']) => error: error during formatting: decimal clause can only be used on integers, was given string (1)
            s.startsWith('h') => Bool(true) (2)
        "#]],
    );
}

#[test]
fn list_functions() {
    check(
        &[
            "l.sort()",
            "l.reverse()",
            "l.slice(1, 3)",
            "l.slice(1, 9)",
            "lists.range(3)",
            "[1, 1, 2].distinct()",
            "[[1], [2]].flatten()",
            "sets.contains(l, [1])",
            "sets.equivalent([1, 2], [2, 1])",
            "sets.intersects([1], [2])",
        ],
        &expect![[r"
            l.sort() => [Int(1), Int(2), Int(3)] (30)
            l.reverse() => [Int(2), Int(1), Int(3)] (15)
            l.slice(1, 3) => [Int(1), Int(2)] (14)
            l.slice(1, 9) => error: cannot slice(1, 9), list is length 3 (13)
            lists.range(3) => [Int(0), Int(1), Int(2)] (14)
            [1, 1, 2].distinct() => [Int(1), Int(2)] (29)
            [[1], [2]].flatten() => [Int(1), Int(2)] (13)
            sets.contains(l, [1]) => Bool(true) (5)
            sets.equivalent([1, 2], [2, 1]) => Bool(true) (9)
            sets.intersects([1], [2]) => Bool(false) (2)
        "]],
    );
}

#[test]
fn conversions() {
    check(
        &[
            "int('5') + i",
            "int('x')",
            "int(s)",
            "uint(-1)",
            "double(i)",
            "string(1.0)",
            "string(1e20)",
            "bool('t')",
            "string(duration('90m'))",
            "string(timestamp('2023-07-14T10:30:45+02:00'))",
            "int(3.99)",
            "bytes(s)",
            "timestamp('x')",
            "duration(s)",
            "type(m)",
            "timestamp(0).getHours('+02:00')",
            "duration('90m').getMinutes()",
            "timestamp('2023-07-14T10:30:45Z').getDayOfWeek('America/New_York')",
        ],
        &expect![[r#"
            int('5') + i => Int(10) (2)
            int('x') => refused: type conversion error from 'string' to 'int'
            int(s) => error: type conversion error from 'string' to 'int' (2)
            uint(-1) => refused: unsigned integer overflow
            double(i) => Double(5.0) (2)
            string(1.0) => String("1") (0)
            string(1e20) => String("1e+20") (0)
            bool('t') => Bool(true) (0)
            string(duration('90m')) => String("5400s") (0)
            string(timestamp('2023-07-14T10:30:45+02:00')) => String("2023-07-14T10:30:45+02:00") (0)
            int(3.99) => Int(3) (0)
            bytes(s) => Bytes([104, 195, 169, 108, 108, 111]) (2)
            timestamp('x') => refused: type conversion error from 'string' to 'google.protobuf.Timestamp'
            duration(s) => error: type conversion error from 'string' to 'google.protobuf.Duration' (2)
            type(m) => Type("map") (2)
            timestamp(0).getHours('+02:00') => Int(2) (1)
            duration('90m').getMinutes() => Int(90) (1)
            timestamp('2023-07-14T10:30:45Z').getDayOfWeek('America/New_York') => Int(5) (1)
        "#]],
    );
}

#[test]
fn the_limit_ends_everything() {
    check(
        &[
            "lists.range(5000).all(x, x >= 0)",
            "lists.range(5000).all(x, x >= 0) || true",
            "lists.range(200).map(x, lists.range(200)).size()",
        ],
        &expect![[r"
            lists.range(5000).all(x, x >= 0) => error: operation cancelled: actual cost limit exceeded (10001)
            lists.range(5000).all(x, x >= 0) || true => error: operation cancelled: actual cost limit exceeded (10001)
            lists.range(200).map(x, lists.range(200)).size() => error: operation cancelled: actual cost limit exceeded (10012)
        "]],
    );
}
