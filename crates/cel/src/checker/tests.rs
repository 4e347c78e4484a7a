//! Types deduced, and everything that is reported.

use expect_test::{Expect, expect};

use crate::{Env, ObjectType, Type, library};

fn check(expressions: &[&str], expect: &Expect) {
    let point = ObjectType::new("Point", [("x", Type::Int), ("name", Type::String)]);
    let env = Env::standard()
        .extend()
        .library(library::optional())
        .library(library::lists())
        .library(library::two_variable_comprehensions())
        .object(point)
        .variable("point", Type::object("Point"))
        .variable("points", Type::list(Type::object("Point")))
        .variable("names", Type::map(Type::String, Type::Int))
        .variable("maybe", Type::optional(Type::list(Type::Int)))
        .variable("any", Type::Dyn)
        .build();
    let mut out = String::new();
    for expression in expressions {
        let outcome = match env.compile(expression) {
            Ok(checked) => checked.result_type().to_string(),
            Err(issues) => issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>().join("; "),
        };
        out.extend([*expression, " => ", &outcome, "\n"]);
    }
    expect.assert_eq(&out);
}

#[test]
fn literals_and_operators_have_types() {
    check(
        &[
            "1 + 2", "1u < 2.0", "'a' + 'b'", "[1, 2]", "[]", "{}", "{'a': [1u]}", "[1, 'a']", "null", "b'a'",
            "1 in [1]", "type(1)", "type([1])", "dyn(1) + 1", "any.a.b", "any + 1", "-1.5", "1 == null",
        ],
        &expect![[""]],
    );
}

#[test]
fn fields_indexes_and_optionals() {
    check(
        &[
            "point.x", "point.y", "points[0].name", "points.x", "names.a", "names['a']", "names[1]", "has(point.x)",
            "point.?x", "point.?x.orValue(1)", "maybe[0]", "maybe.a", "names[?'a']", "point == null", "point.x == null",
            "[?point.?x, 2]", "[?1]", "{?'a': point.?name}", "optional.of(1).or(optional.none())", "maybe.optMap(l, l.size())",
        ],
        &expect![[""]],
    );
}

#[test]
fn loops_have_the_types_of_their_results() {
    check(
        &[
            "points.all(p, p.x > 1)", "points.map(p, p.name)", "points.filter(p, p.x)", "names.map(k, k)",
            "points.exists_one(p, p.x)", "names.exists(k, v, v == 1)", "names.transformMap(k, v, string(v))",
            "points.transformList(i, p, i + p.x)", "1.all(x, true)", "points.sortBy(p, p.x)", "points.sortBy(p, [p])",
            "points.all(p, q.x > 1)", "points.map(p, points.map(p, p.x))", "any.map(x, x)",
        ],
        &expect![[""]],
    );
}

#[test]
fn everything_wrong_is_reported_at_once() {
    check(
        &[
            "nope + other", "point.nope == names.nope.more", "f(1)", "'a'.f()", "1 + 'a' == true && 2", "size(1)",
            "'a'.startsWith(1)", "Point{x: 'a', z: 1}", "Nope{}", "int{}", "point{}", "1 ? 2 : 3", "true ? 1 : 'a'",
            "!1", "[1] < [2]", "1 == 'a'", "names in [1]",
        ],
        &expect![[""]],
    );
}
