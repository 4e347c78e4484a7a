//! The columns of custom resources in the tables that people read.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/tableconvertor and
//! pkg/apiserver/helpers.go, v1.36.

use jiff::Timestamp;
use meta::json_path::{self, JsonPath};
use meta::wire::json::Wanted;
use meta::{Value, time};

use super::definition::text;
use super::resource::{Cell, Column, ColumnType};

const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
const CREATION_TIMESTAMP: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The columns of one version: the name, then those that the definition gives, or else the age.
///
/// A path that cannot be read ends the list there, as in the reference.
pub(super) fn of_version(version: &Value) -> Vec<Column> {
    let given = version.get("additionalPrinterColumns").and_then(Value::as_array).unwrap_or_default();
    let mut columns = vec![name()];
    if given.is_empty() {
        columns.push(age());
    }
    columns.extend(given.iter().map_while(additional));
    columns
}

/// What of an object the columns of a custom resource show.
pub(super) fn wanted(columns: &[Column]) -> Wanted {
    let mut wanted = Wanted::default();
    for column in columns {
        match &column.cell {
            Cell::Name => wanted.add(["metadata", "name"]),
            Cell::Age => wanted.add(["metadata", "creationTimestamp"]),
            Cell::Path(path, _) => wanted.add(path.members()),
        }
    }
    wanted
}

fn name() -> Column {
    Column {
        name: "Name".to_owned(),
        kind: "string".to_owned(),
        format: "name".to_owned(),
        description: NAME.to_owned(),
        priority: 0,
        cell: Cell::Name,
    }
}

fn age() -> Column {
    Column {
        name: "Age".to_owned(),
        kind: "date".to_owned(),
        format: String::new(),
        description: CREATION_TIMESTAMP.to_owned(),
        priority: 0,
        cell: Cell::Age,
    }
}

fn additional(given: &Value) -> Option<Column> {
    let path = text(given, &["jsonPath"]);
    let parsed = JsonPath::parse(path).ok()?;
    let kind = text(given, &["type"]);
    let described = text(given, &["description"]);
    let description = if described.is_empty() {
        format!("Custom resource definition column (in JSONPath format): {path}")
    } else {
        described.to_owned()
    };
    Some(Column {
        name: text(given, &["name"]).to_owned(),
        kind: kind.to_owned(),
        format: text(given, &["format"]).to_owned(),
        description,
        priority: given.get("priority").and_then(Value::as_int).unwrap_or(0),
        cell: Cell::Path(parsed, ColumnType::of(kind)),
    })
}

/// What a column shows of an object: null when there is nothing, or nothing of its type.
pub fn path_cell(path: &JsonPath, kind: ColumnType, object: &Value, now: Timestamp) -> Value {
    let Some(found) = path.find(object) else { return Value::Null };
    match (kind, &*found) {
        (ColumnType::String, value) => json_path::print(value).into(),
        (ColumnType::Integer, Value::Int(_))
        | (ColumnType::Number, Value::Float(_))
        | (ColumnType::Boolean, Value::Bool(_)) => found.into_owned(),
        (ColumnType::Integer, Value::Float(number)) => truncated(*number).into(),
        (ColumnType::Number, Value::Int(number)) => widened(*number).into(),
        (ColumnType::Date, Value::String(written)) => date(written, now).into(),
        _ => Value::Null,
    }
}

/// Without its fraction. What is too large becomes the smallest integer, as on the reference's processor.
#[expect(clippy::cast_possible_truncation, reason = "dropping the fraction is what is meant")]
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

#[expect(clippy::cast_precision_loss, reason = "the reference shows integers of number columns as floats")]
fn widened(number: i64) -> f64 {
    number as f64
}

fn date(written: &str, now: Timestamp) -> String {
    if matches!(written, "" | "null") {
        return "<unknown>".to_owned();
    }
    match time::parse(written) {
        Ok(then) if time::is_zero(then) => "<unknown>".to_owned(),
        Ok(then) => schema::typed::columns::human_duration(now.as_second() - then.as_second()),
        Err(_) => "<invalid>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap().value
    }

    fn check(kind: &str, object: &str, expected: &str) {
        let path = JsonPath::parse(".v").unwrap();
        let now = "2020-01-01T01:00:00Z".parse().unwrap();
        let cell = path_cell(&path, ColumnType::of(kind), &value(object), now);
        assert_eq!(json::to_string(&cell), expected, "{kind} {object}");
    }

    #[test]
    fn cells_hold_values_of_their_columns_type() {
        check("integer", r#"{"v":7}"#, "7");
        check("integer", r#"{"v":7.9}"#, "7");
        check("integer", r#"{"v":1e300}"#, "-9223372036854775808");
        check("integer", r#"{"v":"7"}"#, "null");
        check("number", r#"{"v":7}"#, "7");
        check("number", r#"{"v":7.5}"#, "7.5");
        check("boolean", r#"{"v":true}"#, "true");
        check("boolean", r#"{"v":"true"}"#, "null");
        check("integer", r"{}", "null");
    }

    #[test]
    fn text_columns_print_whatever_is_there() {
        check("string", r#"{"v":"a"}"#, r#""a""#);
        check("string", r#"{"v":1000000.5}"#, r#""1.0000005e+06""#);
        check("string", r#"{"v":true}"#, r#""true""#);
        check("string", r#"{"v":{"b":[1]}}"#, r#""{\"b\":[1]}""#);
        check("string", r#"{"v":null}"#, r#""\u003cno value\u003e""#);
        check("string", r"{}", "null");
    }

    #[test]
    fn dates_are_told_as_durations() {
        check("date", r#"{"v":"2020-01-01T00:00:00Z"}"#, r#""60m""#);
        check("date", r#"{"v":"2020-01-01T00:00:00+01:00"}"#, r#""120m""#);
        check("date", r#"{"v":"2020-01-01"}"#, r#""\u003cinvalid\u003e""#);
        check("date", r#"{"v":""}"#, r#""\u003cunknown\u003e""#);
        check("date", r#"{"v":5}"#, "null");
    }

    #[test]
    fn columns_show_the_same_of_the_wanted_part_as_of_the_whole() {
        let object = r#"{"kind":"X","metadata":{"name":"n","creationTimestamp":"2020-01-01T00:00:00Z","labels":{"a":"b"},"managedFields":[{"f:x":{}}]},"spec":{"text":"t","list":[{"k":1,"v":"one"},{"k":2}],"map":{"a":{"b":3}}},"status":"odd"}"#;
        let whole = value(object);
        let now = "2020-01-01T01:00:00Z".parse().unwrap();
        for path in [
            ".spec.text",
            ".spec.list[?(@.k==2)].k",
            ".spec.list[0].v",
            ".spec.list[*].k",
            ".spec.map.*.b",
            ".status.phase",
            ".status",
            ".metadata.labels.a",
            ".metadata.labels",
            "..b",
            ".none.x",
            ".spec",
            "['spec','kind']",
            "$.spec.text",
            ".spec.text}{.kind",
            ".metadata.creationTimestamp",
        ] {
            let Ok(parsed) = JsonPath::parse(path) else { panic!("{path} is no path") };
            let cell = Cell::Path(parsed, ColumnType::String);
            let columns = [name(), age(), Column { cell, ..name() }];
            let part = json::parse_part(object.as_bytes(), &wanted(&columns)).unwrap();
            let Cell::Path(parsed, kind) = &columns[2].cell else { unreachable!("it was put there") };
            let shown = |object| path_cell(parsed, *kind, object, now);
            assert_eq!(shown(&part), shown(&whole), "{path}");
            assert_eq!(part.at(&["metadata", "name"]), whole.at(&["metadata", "name"]));
        }
    }

    #[test]
    fn age_is_shown_unless_columns_are_given() {
        let names = |version: &str| {
            let columns = of_version(&value(version));
            columns.into_iter().map(|column| column.name).collect::<Vec<_>>()
        };
        assert_eq!(names("{}"), ["Name", "Age"]);
        let columns = r#"{"additionalPrinterColumns":[{"name":"A","type":"string","jsonPath":".a"},{"name":"B","type":"string","jsonPath":".b["},{"name":"C","type":"string","jsonPath":".c"}]}"#;
        assert_eq!(names(columns), ["Name", "A"]);
    }
}
