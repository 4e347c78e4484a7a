//! Named formats: `format.dns1123Label().validate('…')`.

use std::any::Any;

use super::url::check_request_uri;
use crate::{EvalError, Evaluated, Function, Library, Opaque, Overload, Timestamp, Type, Value};

const TYPE_NAME: &str = "kubernetes.NamedFormat";

/// A format: its function, its name, its check, and the length of its pattern as far as costs go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Format {
    function: &'static str,
    name: &'static str,
    check: Check,
    pub(super) pattern_length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Label { prefix: bool },
    Subdomain { prefix: bool },
    Label1035 { prefix: bool },
    QualifiedName,
    LabelValue,
    Uri,
    Uuid,
    Byte,
    Date,
    DateTime,
}

const fn format(function: &'static str, name: &'static str, check: Check, pattern_length: u64) -> Format {
    Format { function, name, check, pattern_length }
}

static FORMATS: [Format; 13] = [
    format("dns1123Label", "DNS1123Label", Check::Label { prefix: false }, 30),
    format("dns1123Subdomain", "DNS1123Subdomain", Check::Subdomain { prefix: false }, 60),
    format("dns1035Label", "DNS1035Label", Check::Label1035 { prefix: false }, 30),
    format("qualifiedName", "QualifiedName", Check::QualifiedName, 60),
    format("dns1123LabelPrefix", "DNS1123LabelPrefix", Check::Label { prefix: true }, 30),
    format("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", Check::Subdomain { prefix: true }, 60),
    format("dns1035LabelPrefix", "DNS1035LabelPrefix", Check::Label1035 { prefix: true }, 30),
    format("labelValue", "LabelValue", Check::LabelValue, 40),
    format("uri", "URI", Check::Uri, 1103),
    format("uuid", "uuid", Check::Uuid, 70),
    format("byte", "byte", Check::Byte, 84),
    format("date", "date", Check::Date, 71),
    format("datetime", "datetime", Check::DateTime, 71),
];

/// A format as a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedFormat(pub(super) &'static Format);

impl Opaque for NamedFormat {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        other.downcast::<NamedFormat>().map(|other| self.0.name == other.0.name)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(super) fn add(mut library: Library) -> Library {
    let named = || Type::object(TYPE_NAME);
    for format in &FORMATS {
        let name = format!("format.{}", format.function);
        let overload =
            Overload::global(&name, [], named()).implemented(move |_| Ok(Value::opaque(NamedFormat(format))));
        library = library.function(Function::new(&name).overload(overload));
    }
    let by_name =
        Overload::global("format-named", [Type::String], Type::optional(named())).implemented(|args| {
            match args {
                [Value::String(name)] => {
                    let found = FORMATS.iter().find(|format| format.function == &**name);
                    Ok(found.map_or(Value::NONE, |format| Value::some(Value::opaque(NamedFormat(format)))))
                }
                _ => Err(EvalError::no_such_overload()),
            }
        });
    let result = Type::optional(Type::list(Type::String));
    let validate = Overload::member("format-validate", [named(), Type::String], result).implemented(validate);
    library
        .function(Function::new("format.named").overload(by_name))
        .function(Function::new("validate").overload(validate))
}

fn validate<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [format, Value::String(text)] = args else { return Err(EvalError::no_such_overload()) };
    let format = format.downcast::<NamedFormat>().ok_or_else(EvalError::no_such_overload)?;
    let problems = problems(format.0.check, text);
    if problems.is_empty() {
        return Ok(Value::NONE);
    }
    Ok(Value::some(Value::list(problems.into_iter().map(Value::from).collect())))
}

fn problems(check: Check, text: &str) -> Vec<String> {
    let unless = |valid: bool, problem: &str| if valid { Vec::new() } else { vec![problem.to_owned()] };
    match check {
        Check::Label { prefix } => label(&masked(text, prefix)),
        Check::Subdomain { prefix } => subdomain(&masked(text, prefix), "characters"),
        Check::Label1035 { prefix } => label_1035(&masked(text, prefix)),
        Check::QualifiedName => qualified_name(text),
        Check::LabelValue => label_value(text),
        Check::Uri => check_request_uri(text).err().into_iter().collect(),
        Check::Uuid => unless(is_uuid(text), "does not match the UUID format"),
        Check::Byte => unless(is_base64(text), "invalid base64"),
        Check::Date => unless(is_date(text), "invalid date"),
        Check::DateTime => unless(is_date_time(text), "invalid datetime"),
    }
}

/// A name that is to be continued may end in a dash.
fn masked(text: &str, is_prefix: bool) -> String {
    match text.strip_suffix('-') {
        // The reference drops the character before the dash, too.
        Some(rest) if is_prefix && !rest.is_empty() => {
            let kept = rest.char_indices().next_back().map_or("", |(at, _)| &rest[..at]);
            format!("{kept}a")
        }
        _ => text.to_owned(),
    }
}

fn too_long(length: usize, unit: &str) -> String {
    format!("must be no more than {length} {unit}")
}

fn pattern_error(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

const LABEL_PATTERN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_PATTERN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

fn is_label(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inside) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push(too_long(63, "characters"));
    }
    if !is_label(text) {
        problems.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            pattern_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL_PATTERN,
                &["my-name", "123-abc"],
            )
        });
    }
    problems
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(too_long(253, unit));
    }
    if !is_subdomain(text) {
        problems.push(pattern_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN_PATTERN,
            &["example.com"],
        ));
    }
    problems
}

fn label_1035(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push(too_long(63, "characters"));
    }
    if !is_label(text) || text.starts_with(|c: char| c.is_ascii_digit()) {
        problems.push(pattern_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    problems
}

fn is_key(text: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let at_edge = |edge: Option<u8>| edge.is_some_and(|b| b.is_ascii_alphanumeric());
    text.bytes().all(inside) && at_edge(text.bytes().next()) && at_edge(text.bytes().next_back())
}

fn qualified_name(text: &str) -> Vec<String> {
    const MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    let key_error = || pattern_error(MESSAGE, KEY_PATTERN, &["MyName", "my.name", "123-abc"]);
    let parts: Vec<&str> = text.split('/').collect();
    let mut problems = Vec::new();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(subdomain(prefix, "bytes").into_iter().map(|p| format!("prefix part {p}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                key_error()
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !is_key(name) {
        problems.push(format!("name part {}", key_error()));
    }
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push(too_long(63, "bytes"));
    }
    if !text.is_empty() && !is_key(text) {
        problems.push(pattern_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

/// Groups of 8, 4, 4, 4 and 12 hexadecimal digits, each dash optional.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.get(..length) {
            Some(group) if group.bytes().all(|b| b.is_ascii_hexdigit()) => rest = &rest[length..],
            _ => return false,
        }
    }
    rest.is_empty()
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && body.bytes().all(inside)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some()
}

/// A date, `t`, and a time with an optional fraction and a zone, in either case.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let two = |from: usize, max: &str| {
        time.get(from..from + 2).is_some_and(|part| digits(part) == 2 && part <= max)
    };
    let colon = |at: usize| time.as_bytes().get(at) == Some(&b':');
    if !(is_date(date) && two(0, "23") && colon(2) && two(3, "59") && colon(5) && two(6, "59")) {
        return false;
    }
    let rest = time.get(8..).unwrap_or_default();
    is_zone(rest) || {
        // Any one character may introduce the fraction.
        let mut after = rest.chars();
        let fraction = after.next().map_or("", |_| after.as_str());
        let length = digits(fraction);
        length > 0 && is_zone(&fraction[length..])
    }
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || (bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].iter().all(|at| bytes[*at].is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_what_they_should() {
        for (check, good, bad) in [
            (Check::Label { prefix: false }, "my-name", "My"),
            (Check::Label { prefix: true }, "my-", "-"),
            (Check::Subdomain { prefix: false }, "a.b-c", "a..b"),
            (Check::Label1035 { prefix: false }, "abc", "1abc"),
            (Check::QualifiedName, "example.com/MyName", "a/b/c"),
            (Check::LabelValue, "", "-a"),
            (Check::Uri, "https://a", "a"),
            (Check::Uuid, "123e4567-e89b-12d3-a456-426614174000", "x"),
            (Check::Byte, "aGVsbG8=", "!!"),
            (Check::Date, "2021-01-01", "2021-13-01"),
            (Check::DateTime, "2021-01-01T00:00:00.5+01:00", "x"),
        ] {
            assert!(problems(check, good).is_empty(), "{check:?} {good}");
            assert!(!problems(check, bad).is_empty(), "{check:?} {bad}");
        }
        assert_eq!(problems(Check::Label { prefix: false }, "a.b"), ["must not contain dots"]);
    }
}
