//! The libraries through whole expressions: values, errors, costs at run time and before.

use expect_test::{Expect, expect};

use super::environment;
use crate::cost::estimate::estimate;

fn check(expressions: &[&str], expect: &Expect) {
    let env = environment();
    let mut out = String::new();
    for expression in expressions {
        let checked = match env.compile(expression) {
            Ok(checked) => checked,
            Err(issues) => {
                let messages: Vec<&str> = issues.iter().map(|issue| issue.message.as_str()).collect();
                out.extend([*expression, " => ", &messages.join("; "), "\n"]);
                continue;
            }
        };
        let shown = match env.plan(&checked) {
            Err(error) => format!("refused: {error}"),
            Ok(program) => {
                let outcome = program.evaluate_within(1_000_000, &[]);
                let max = estimate(&checked, &env, &()).max;
                let max = if max > 1_000_000_000 { "∞".to_owned() } else { max.to_string() };
                let result = match outcome.result {
                    Ok(value) => format!("{value:?}"),
                    Err(error) => format!("error: {error}"),
                };
                format!("{result} ({} of {max})", outcome.cost)
            }
        };
        out.extend([*expression, " => ", &shown, "\n"]);
    }
    expect.assert_eq(&out);
}

#[test]
fn addresses() {
    check(
        &[
            "ip('127.0.0.1').isLoopback()",
            "ip('::1').family()",
            "ip('1.2.3')",
            "isIP('::ffff:1.2.3.4')",
            "string(ip('2001:DB8:0:0::1'))",
            "ip.isCanonical('2001:DB8::1')",
            "ip('::') == ip('::')",
            "cidr('10.0.0.0/8').containsIP('10.1.2.3')",
            "cidr('10.0.0.0/8').containsIP('x')",
            "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
            "string(cidr('10.1.2.3/8').masked())",
            "type(ip('::1')) == net.IP",
            "cidr('bad')",
            "ip('1.2.3.4') == '1.2.3.4'",
        ],
        &expect![[r#"
            ip('127.0.0.1').isLoopback() => Bool(true) (2 of 2)
            ip('::1').family() => Int(6) (2 of 2)
            ip('1.2.3') => error: IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short (1 of 1)
            isIP('::ffff:1.2.3.4') => Bool(false) (2 of 2)
            string(ip('2001:DB8:0:0::1')) => String("2001:db8::1") (3 of 3)
            ip.isCanonical('2001:DB8::1') => Bool(false) (3 of 3)
            ip('::') == ip('::') => Bool(true) (3 of 3)
            cidr('10.0.0.0/8').containsIP('10.1.2.3') => Bool(true) (3 of 6)
            cidr('10.0.0.0/8').containsIP('x') => error: no such overload (3 of 6)
            cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') => Bool(true) (6 of 10)
            string(cidr('10.1.2.3/8').masked()) => String("10.0.0.0/8") (3 of 3)
            type(ip('::1')) == net.IP => Bool(true) (3 of ∞)
            cidr('bad') => error: network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("bad"): no '/' (1 of 1)
            ip('1.2.3.4') == '1.2.3.4' => found no matching overload for '_==_' applied to '(net.IP, string)'
        "#]],
    );
}

#[test]
fn quantities_and_versions() {
    check(
        &[
            "quantity('1Gi').isGreaterThan(quantity('1G'))",
            "quantity('50k').add(20).asInteger()",
            "quantity('1.5').isInteger()",
            "quantity('70k') == quantity('50k').add(quantity('20k'))",
            "quantity('50k').add(quantity('20k')) == quantity('70k')",
            "sign(quantity('-1'))",
            "quantity('1').sign()",
            "quantity('Three')",
            "isQuantity('1.3Gi')",
            "semver('1.2.3').isLessThan(semver('1.2.4'))",
            "semver('v1.2', true).patch()",
            "semver('1.2')",
            "semver('1.2.3-rc.1').compareTo(semver('1.2.3'))",
            "isSemver('v1.0.0')",
        ],
        &expect![[r"
            quantity('1Gi').isGreaterThan(quantity('1G')) => Bool(true) (3 of 3)
            quantity('50k').add(20).asInteger() => Int(50020) (3 of 3)
            quantity('1.5').isInteger() => Bool(false) (2 of 2)
            quantity('70k') == quantity('50k').add(quantity('20k')) => error: no such overload (5 of 5)
            quantity('50k').add(quantity('20k')) == quantity('70k') => Bool(true) (5 of 5)
            sign(quantity('-1')) => Int(-1) (2 of 2)
            quantity('1').sign() => found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'
            quantity('Three') => error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' (1 of 1)
            isQuantity('1.3Gi') => Bool(true) (1 of 1)
            semver('1.2.3').isLessThan(semver('1.2.4')) => Bool(true) (3 of 3)
            semver('v1.2', true).patch() => Int(0) (2 of 2)
            semver('1.2') => error: No Major.Minor.Patch elements found (1 of 1)
            semver('1.2.3-rc.1').compareTo(semver('1.2.3')) => Int(-1) (3 of 3)
            isSemver('v1.0.0') => Bool(false) (1 of 1)
        "]],
    );
}

#[test]
fn urls_patterns_lists_and_formats() {
    check(
        &[
            "url('https://u:p@example.com:80/a b?x=1&x=2#f').getHost()",
            "url('https://example.com/a b').getEscapedPath()",
            "url('https://example.com/?x=1&x=2').getQuery()['x'].size()",
            "url('x')",
            "isURL('/a')",
            "'a1b22'.find('[0-9]+')",
            "'a1b22'.findAll('[0-9]+', 1).size()",
            "'a'.find('[')",
            "[3, 1].isSorted()",
            "[1, 2].sum()",
            "[].max()",
            "['b', 'a'].min()",
            "[1, 2, 2].lastIndexOf(2)",
            "[[1]].min()",
            "format.dns1123Label().validate('a.b').value()[0]",
            "format.named('nope').hasValue()",
            "format.uuid() == format.uuid()",
            "'%s'.format([url('/a')])",
            "timestamp == int",
        ],
        &expect![[r#"
            url('https://u:p@example.com:80/a b?x=1&x=2#f').getHost() => String("example.com:80") (5 of 5)
            url('https://example.com/a b').getEscapedPath() => String("/a%20b") (4 of 4)
            url('https://example.com/?x=1&x=2').getQuery()['x'].size() => Int(2) (7 of 6)
            url('x') => error: URL parse error during conversion from string: parse "x": invalid URI for request (1 of 1)
            isURL('/a') => Bool(true) (1 of 1)
            'a1b22'.find('[0-9]+') => String("1") (2 of 2)
            'a1b22'.findAll('[0-9]+', 1).size() => Int(1) (3 of 3)
            'a'.find('[') => refused: error parsing regexp: missing closing ]: `[`
            [3, 1].isSorted() => Bool(false) (2 of 12)
            [1, 2].sum() => Int(3) (2 of 12)
            [].max() => error: max called on empty list (0 of 10)
            ['b', 'a'].min() => String("a") (0 of ∞)
            [1, 2, 2].lastIndexOf(2) => Int(2) (3 of 13)
            [[1]].min() => found no matching overload for 'min' applied to 'list(list(int)).()'
            format.dns1123Label().validate('a.b').value()[0] => String("must not contain dots") (12 of 35)
            format.named('nope').hasValue() => Bool(false) (2 of 2)
            format.uuid() == format.uuid() => Bool(true) (3 of 9)
            '%s'.format([url('/a')]) => error: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.URL (12 of 12)
            timestamp == int => refused: reference to undefined type: timestamp
        "#]],
    );
}
