//! Costs estimated before evaluation.

use expect_test::{Expect, expect};

use super::estimate::{Estimate, SizeHints, estimate};
use crate::ast::Name;
use crate::{Env, ObjectType, Type, library};

/// Sizes of the fields of `self`.
struct Hints;

impl SizeHints for Hints {
    fn size(&self, path: &[Name]) -> Option<Estimate> {
        let path: Vec<&str> = path.iter().map(|element| &**element).collect();
        let max = match path.as_slice() {
            ["self", "short"] => 10,
            ["self", "names" | "groups"] => 7,
            ["self", "names", "@items"] => 9,
            ["self", "labels"] => 3,
            ["self", "labels", "@values"] => 5,
            ["self"] | ["self", "labels", "@keys"] => 0,
            ["self", "groups", "@items", "members"] => 4,
            ["self", "groups", "@items", "long"] => 1_000_000,
            ["self", "groups", "@items", "members", "@items"] => 2,
            _ => return None,
        };
        Some(Estimate { min: 0, max })
    }
}

fn check(expressions: &[&str], expect: &Expect) {
    let texts = Type::list(Type::String);
    let group = ObjectType::new("Group", [("members", texts.clone()), ("long", Type::String)]);
    let object = ObjectType::new(
        "Object",
        [
            ("short", Type::String),
            ("unbounded", Type::String),
            ("names", texts),
            ("labels", Type::map(Type::String, Type::String)),
            ("groups", Type::list(Type::object("Group"))),
        ],
    );
    let env = Env::standard()
        .extend()
        .library(library::strings())
        .library(library::lists())
        .library(library::optional())
        .object(group)
        .object(object)
        .variable("self", Type::object("Object"))
        .build();
    let mut out = String::new();
    for expression in expressions {
        let checked = env.compile(expression).unwrap();
        let Estimate { min, max } = estimate(&checked, &env, &Hints);
        out.extend([*expression, &format!(" => {min}..{max}\n")]);
    }
    expect.assert_eq(&out);
}

#[test]
fn operations_cost_by_size() {
    check(
        &[
            "true",
            "self.short == 'abc'",
            "self.short == self.unbounded",
            "self.unbounded == self.unbounded",
            "self.short + 'abc' == 'x'",
            "self.short.matches('^a+$')",
            "self.short.contains('abc')",
            "'a' in self.names",
            "self.names[0] == self.unbounded",
            "self.labels['a'] == self.unbounded",
            "self.labels.a == 'x'",
            "has(self.short)",
            "[1, 2, 3]",
            "{'a': 1}",
            "bytes(self.short) == b'a'",
            "true ? self.short : 'abc'",
            "true && self.short == 'a'",
            "dyn(self.short) == 'abc'",
            "self.?short.orValue('a') == self.unbounded",
        ],
        &expect![[r"
            true => 0..0
            self.short == 'abc' => 3..3
            self.short == self.unbounded => 5..5
            self.unbounded == self.unbounded => 5..1844674407370955268
            self.short + 'abc' == 'x' => 4..5
            self.short.matches('^a+$') => 3..4
            self.short.contains('abc') => 2..3
            'a' in self.names => 2..9
            self.names[0] == self.unbounded => 6..6
            self.labels['a'] == self.unbounded => 6..6
            self.labels.a == 'x' => 4..4
            has(self.short) => 1..1
            [1, 2, 3] => 10..10
            {'a': 1} => 30..30
            bytes(self.short) == b'a' => 3..4
            true ? self.short : 'abc' => 0..2
            true && self.short == 'a' => 0..3
            dyn(self.short) == 'abc' => 4..4
            self.?short.orValue('a') == self.unbounded => 6..1844674407370955269
        "]],
    );
}

#[test]
fn loops_cost_by_the_size_of_their_range() {
    check(
        &[
            "self.names.all(n, n == 'a')",
            "self.names.exists(n, n == 'a')",
            "self.names.map(n, n + 'a')",
            "self.names.filter(n, n == 'a').all(m, m == self.unbounded)",
            "self.labels.all(k, k == 'a')",
            "self.labels.all(k, self.labels[k] == 'abcdef')",
            "[self.short].all(x, x == self.unbounded)",
            "lists.range(5).all(x, x > 1)",
            "self.names.sort().size()",
            "self.names.slice(3, 1).size()",
        ],
        &expect![[r"
            self.names.all(n, n == 'a') => 3..38
            self.names.exists(n, n == 'a') => 3..45
            self.names.map(n, n + 'a') => 13..111
            self.names.filter(n, n == 'a').all(m, m == self.unbounded) => 14..168
            self.labels.all(k, k == 'a') => 3..15
            self.labels.all(k, self.labels[k] == 'abcdef') => 3..27
            [self.short].all(x, x == self.unbounded) => 16..20
            lists.range(5).all(x, x > 1) => 32..42
            self.names.sort().size() => 14..117
            self.names.slice(3, 1).size() => 18446744073709551615..18446744073709551615
        "]],
    );
}

#[test]
fn paths_share_buffers_as_in_the_reference() {
    // Reading `g.long` overwrites the last element of the path to `g.members`, and the loop over the members
    // is then taken to run as often as `long` has characters.
    check(
        &[
            "self.groups.all(g, g.members.all(m, m == 'a'))",
            "self.groups.all(g, g.members.all(m, g.long == m))",
        ],
        &expect![[r"
            self.groups.all(g, g.members.all(m, m == 'a')) => 3..185
            self.groups.all(g, g.members.all(m, g.long == m)) => 3..49000045
        "]],
    );
}
