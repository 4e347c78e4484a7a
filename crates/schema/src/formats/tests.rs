//! Rows are the reference's own answers where a row is surprising.

use super::text_rule;

fn check(format: &str, valid: &[&str], invalid: &[&str]) {
    let rule = text_rule(format).unwrap();
    for text in valid {
        assert!(rule(text), "{format} should accept {text:?}");
    }
    for text in invalid {
        assert!(!rule(text), "{format} should refuse {text:?}");
    }
}

#[test]
fn identifiers() {
    check(
        "bsonobjectid",
        &["507f1f77bcf86cd799439011"],
        &["", "507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g"],
    );
    let uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    check(
        "uuid",
        &[uuid, "F47AC10B58CC4372A5670E02B2C3D479", "f47ac10b58cc-4372a567-0e02b2c3d479"],
        &[
            "",
            "f47ac10b--58cc-4372-a567-0e02b2c3d479",
            "f47ac10b-58cc-4372-a567-0e02b2c3d47",
            "g47ac10b-58cc-4372-a567-0e02b2c3d479",
        ],
    );
    check("uuid3", &["f47ac10b-58cc-3372-0567-0e02b2c3d479"], &[uuid]);
    check(
        "uuid4",
        &[uuid, "F47AC10B-58CC-4372-B567-0E02B2C3D479"],
        &["f47ac10b-58cc-4372-c567-0e02b2c3d479"],
    );
    check("uuid5", &["f47ac10b-58cc-5372-8567-0e02b2c3d479"], &[uuid]);
    check("k8s-short-name", &["a", "a-1", "1"], &["", "-a", "a-", "A", "a.b", &"a".repeat(64)]);
    check(
        "k8s-long-name",
        &["a.b-c", &"a".repeat(100), &"a".repeat(253)],
        &["", "a..b", ".a", &"a".repeat(254)],
    );
}

#[test]
fn numbers_with_check_digits() {
    check("isbn10", &["0321751043", "3 401 01319 X", "1-61729-085-8"], &["", "0321751044", "978-0321751041"]);
    check("isbn13", &["978-0321751041", "9784873113685"], &["9784873113684", "0321751043"]);
    check("isbn", &["0321751043", "978-0321751041"], &["foo"]);
    check(
        "creditcard",
        &[
            "4220 8554 2622 2389",
            "5139288802098206",
            "374953669708156",
            "6011464355444102",
            "3548209662790989",
        ],
        &["", "4220855426213389", "30190239451016", "624356436327468104"],
    );
    check("ssn", &["111-22-3333", "111 22-3333"], &["", "111223333", "111-223333x", "111-22-333a"]);
}

#[test]
fn colours_and_bytes() {
    check("hexcolor", &["#FFFFFF", "fff"], &["#ffff", "#ggg", ""]);
    check(
        "rgbcolor",
        &["rgb(255,0,12)", "rgb( 1 ,\t2,3 )"],
        &["rgb(256,0,0)", "rgb(01,0,0)", "rgb(1,2)", "rgba(1,2,3)"],
    );
    check("byte", &["YWJj", "YQ==", "YWI="], &["", "YQ", "YQ=", "Y-Q=", "YQ==YQ=="]);
    check("password", &["", "anything"], &[]);
}

#[test]
fn network_names() {
    // One label takes a dash only after its first character; labels with a top-level name take more.
    check(
        "hostname",
        &["a", "a-b", "a-", "my-host.example", "xn--a.éxample", "$.com"],
        &["", "my-host", "a..b", "a.b1", "a_b", "-a", "a.c"],
    );
    check("ipv4", &["1.2.3.4", "01.002.3.4", "::ffff:1.2.3.4"], &["1.2.3", "1.2.3.256", "::1", "1.2.3.4 "]);
    check(
        "ipv6",
        &["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
        &["1.2.3.4", "1:2", "::1%eth0", ":::"],
    );
    check(
        "cidr",
        &["10.0.0.0/8", "010.0.0.0/08", "::/0", "fe80::1/64"],
        &["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/x"],
    );
    check(
        "mac",
        &["01:23:45:67:89:ab", "01-23-45-67-89-ab-cd-ef", "0123.4567.89AB", "0123456789ab"],
        &["01:23:45:67:89", "01:23-45:67:89:ab", "0123.4567"],
    );
}

#[test]
fn uris() {
    check(
        "uri",
        &[
            "http://a.b/c?d#e",
            "/abs",
            "mailto:x@y",
            "*",
            "http://u:p@h:80/",
            "http://[::1]:80/",
            "x:",
            "/a%20b",
        ],
        &[
            "",
            "a.b",
            "./rel",
            ":x",
            "http://a b/",
            "http://h:8x/",
            "http://[::1/",
            "/a%zz",
            "http://a#b",
            "/\u{1}",
        ],
    );
}

#[test]
fn mail_addresses() {
    check(
        "email",
        &["a@b", "a.b@c.d", "Bob <a@b>", "\"a b\"@c", "<a@b>", "a@[1.2.3.4]", "a@b (comment)", "é@ü", " a@b"],
        &["", "a", "a@", "@b", "a..b@c", ".a@b", "a@b.", "a b@c", "a@b, c@d", "Bob <a@b", "\"\"@b"],
    );
}

#[test]
fn times() {
    check(
        "date",
        &["2020-02-29", "0000-01-01"],
        &["2021-02-29", "2020-1-01", "2020-13-01", "2020-00-10", "20200101"],
    );
    check(
        "date-time",
        &[
            "2014-12-15T19:30:20.000Z",
            "2014-12-15t19:30:20z",
            "2014-12-15T19:30:20,5Z",
            "2014-12-15T19:30:20+01:00",
            "2014-12-15T19:30:20ztail",
        ],
        &[
            "2014-12-15",
            "2014-12-15 19:30:20Z",
            "2014-12-15T24:00:00Z",
            "2014-12-15T19:30:60Z",
            "2014-12-15T19:30Z",
            "2014-12-15T19:30:20",
        ],
    );
    check(
        "duration",
        &["1h30m", "0", "-0", "1.5s", "P1D", "1w", "3 days", "2 weeks", "1μs", "x 5 sec y"],
        &["", "1", "abc", "1 month", "day", "99999999999999999999d"],
    );
}

#[test]
fn names_ignore_dashes_and_unknown_ones_mean_nothing() {
    assert!(
        text_rule("date-time").is_some()
            && text_rule("datetime").is_some()
            && text_rule("-u-u-i-d").is_some()
    );
    assert!(text_rule("int32").is_none() && text_rule("quantity").is_none() && text_rule("UUID").is_none());
}
