//! Parsing as a whole: trees, positions, error texts.

use expect_test::{Expect, expect};

use super::{Dialect, macros, parse};
use crate::ast::{Ast, ExprId, ExprKind};

fn dialect_macros() -> Vec<macros::Macro> {
    [macros::STANDARD, macros::OPTIONAL, macros::TWO_VARIABLES, macros::LISTS].concat()
}

fn check(source: &str, expect: &Expect) {
    let macros = dialect_macros();
    let dialect = Dialect { macros: &macros, optional_syntax: true, escaped_identifiers: false };
    let actual = match parse(source, &dialect) {
        Ok(ast) => render(&ast, ast.root()),
        Err(issues) => issues.to_string(),
    };
    expect.assert_eq(&actual);
}

/// The tree in prefix form.
fn render(ast: &Ast, id: ExprId) -> String {
    let all = |ids: &[ExprId]| ids.iter().map(|id| render(ast, *id)).collect::<Vec<_>>().join(" ");
    let optional = |is: bool| if is { "?" } else { "" };
    match &ast.expr(id).kind {
        ExprKind::Error => "<error>".to_owned(),
        ExprKind::Literal(literal) => format!("{literal:?}"),
        ExprKind::Ident(name) => name.to_string(),
        ExprKind::Select(s) if s.test_only => format!("(has {} {})", render(ast, s.operand), s.field),
        ExprKind::Select(s) => format!("{}.{}", render(ast, s.operand), s.field),
        ExprKind::Call(c) => match c.target {
            Some(target) => format!("({} of {} {})", c.function, render(ast, target), all(&c.args)),
            None => format!("({} {})", c.function, all(&c.args)),
        },
        ExprKind::List(list) => {
            let elements: Vec<String> = list
                .elements
                .iter()
                .map(|element| format!("{}{}", optional(element.optional), render(ast, element.value)))
                .collect();
            format!("[{}]", elements.join(" "))
        }
        ExprKind::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|e| format!("{}{}: {}", optional(e.optional), render(ast, e.key), render(ast, e.value)))
                .collect();
            format!("{{{}}}", entries.join(" "))
        }
        ExprKind::Struct(object) => {
            let fields: Vec<String> =
                object.fields.iter().map(|f| format!("{}: {}", f.name, render(ast, f.value))).collect();
            format!("{}{{{}}}", object.type_name, fields.join(" "))
        }
        ExprKind::Comprehension(c) => format!(
            "(fold {}{} in {} | {} = {} | while {} | {} | {})",
            c.variable,
            c.second_variable.as_ref().map(|name| format!(" {name}")).unwrap_or_default(),
            render(ast, c.range),
            c.accumulator,
            render(ast, c.init),
            render(ast, c.condition),
            render(ast, c.step),
            render(ast, c.result),
        ),
    }
}

#[test]
fn operators_bind_as_in_the_grammar() {
    check(
        "a + b * c - d % e == f && !g || h ? i : j ? k : l",
        &expect!["(_?_:_ (_||_ (_&&_ (_==_ (_-_ (_+_ a (_*_ b c)) (_%_ d e)) f) (!_ g)) h) i (_?_:_ j k l))"],
    );
    check("a - b - c", &expect!["(_-_ (_-_ a b) c)"]);
    check("a < b == c", &expect!["(_==_ (_<_ a b) c)"]);
    check("-5 - -x - --y", &expect!["(_-_ (_-_ Int(-5) (-_ x)) y)"]);
    check("a && b && c && d", &expect!["(_&&_ (_&&_ a b) (_&&_ c d))"]);
    check("a && b && c && d && e", &expect!["(_&&_ (_&&_ (_&&_ a b) c) (_&&_ d e))"]);
}

#[test]
fn members_calls_indexes_and_literals() {
    check("a.b.c(d)[e].?f[?g]", &expect!["(_[?_] (_?._ (_[_] (c of a.b d) e) String(\"f\")) g)"]);
    check(".a.b", &expect![".a.b"]);
    check("f()", &expect!["(f )"]);
    check("[1, ?b, 'c',]", &expect![[r#"[Int(1) ?b String("c")]"#]]);
    check("{'a': 1u, ?b: 1.5,}", &expect![[r#"{String("a"): Uint(1) ?b: Double(1.5)}"#]]);
    check("a.b.C{d: 1, e: null}", &expect!["a.b.C{d: Int(1) e: Null}"]);
    check("self.namespace", &expect!["self.namespace"]);
}

#[test]
fn macros_expand() {
    check("has(a.b)", &expect!["(has a b)"]);
    check(
        "l.all(x, x)",
        &expect![
            "(fold x in l | @result = Bool(true) | while (@not_strictly_false @result) | (_&&_ @result x) | @result)"
        ],
    );
    check(
        "l.filter(x, p)",
        &expect![
            "(fold x in l | @result = [] | while Bool(true) | (_?_:_ p (_+_ @result [x]) @result) | @result)"
        ],
    );
    check(
        "m.transformMap(k, v, t)",
        &expect![
            "(fold k v in m | @result = {} | while Bool(true) | (cel.@mapInsert @result k t) | @result)"
        ],
    );
    check(
        "o.optMap(x, y)",
        &expect![
            "(_?_:_ (hasValue of o ) (optional.of (fold #unused in [] | x = (value of o ) | while Bool(false) | x | y)) (optional.none ))"
        ],
    );
    check("l.all(x)", &expect!["(all of l x)"]);
}

#[test]
fn macro_arguments_are_checked() {
    check(
        "l.all(x.y, true)",
        &expect![[r"
        ERROR: <input>:1:8: argument must be a simple name
         | l.all(x.y, true)
         | .......^"]],
    );
    check(
        "l.map(1, true)",
        &expect![[r"
        ERROR: <input>:1:7: argument is not an identifier
         | l.map(1, true)
         | ......^"]],
    );
    check(
        "l.all(i, i, true)",
        &expect![[r"
        ERROR: <input>:1:10: duplicate variable name: i
         | l.all(i, i, true)
         | .........^"]],
    );
    check(
        "l.all(__result__, true)",
        &expect![[r"
        ERROR: <input>:1:7: iteration variable overwrites accumulator variable
         | l.all(__result__, true)
         | ......^"]],
    );
}

#[test]
fn syntax_errors_read_like_the_reference() {
    check(
        "a b c",
        &expect![[r"
        ERROR: <input>:1:3: Syntax error: mismatched input 'b' expecting <EOF>
         | a b c
         | ..^"]],
    );
    check(
        "a b",
        &expect![[r"
        ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>
         | a b
         | ..^"]],
    );
    check(
        "f(a",
        &expect![[r"
        ERROR: <input>:1:4: Syntax error: missing ')' at '<EOF>'
         | f(a
         | ...^"]],
    );
    check(
        "a.true == 1",
        &expect![[r"
        ERROR: <input>:1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER
         | a.true == 1
         | ..^"]],
    );
    check(
        "[1, 2",
        &expect![[r"
        ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}
         | [1, 2
         | .....^"]],
    );
    check(
        "a ? b",
        &expect![[r"
        ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting ':'
         | a ? b
         | .....^"]],
    );
    check(
        "",
        &expect![
            "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
        ],
    );
}

#[test]
fn bounds_are_kept() {
    check(&"[".repeat(300), &expect!["ERROR: <input>:-1:0: expression recursion limit exceeded: 250"]);
    check(&vec!["1"; 300].join(" + "), &expect!["ERROR: <input>:-1:0: max recursion depth exceeded"]);
    check(
        &"a".repeat(100_001),
        &expect!["ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"],
    );
    check(
        &format!("a{}", ".optMap(x, x)".repeat(60)),
        &expect!["ERROR: <input>:-1:0: max recursion depth exceeded"],
    );
}
