//! The `JSONPath` of printer columns: fields, indices, slices, unions, wildcards, filters, descent.
//!
//! A path is parsed once and looked up in many objects. The dialect is that of the reference's client
//! library with all its corners: a quoted key is itself a path, a filter without an operator asks whether
//! something is there, an index outside of an array is a failure and a missing field is not.
//! `range … end` is a matter of templates and left out: a path with it finds nothing.
//!
//! Upstream: client-go/util/jsonpath, v1.36.

mod find;
mod parse;

use std::borrow::Cow;

use crate::{Text, Value, go_fmt, wire::json};

/// A parsed path.
///
/// ```
/// use crest_meta::{json_path::JsonPath, wire::json};
/// let object = json::parse(br#"{"status":{"conditions":[{"type":"A"},{"type":"Ready","status":"True"}]}}"#).unwrap().value;
/// let path = JsonPath::parse(r#".status.conditions[?(@.type=="Ready")].status"#).unwrap();
/// assert_eq!(path.find(&object).unwrap().as_str(), Some("True"));
/// assert!(JsonPath::parse(".spec[").is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    /// A column's text is put between braces, so one with braces of its own makes several parts. Only the
    /// first is shown, but all must be sound.
    parts: Vec<Steps>,
}

/// Why a text is no path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(&'static str);

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ParseError {}

type Steps = Vec<Step>;

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(Text),
    Wildcard,
    /// Everything below that has something below it, and itself.
    Descent,
    Slice(Slice),
    Union(Vec<Steps>),
    Filter(Filter),
    /// Stands for itself, once whatever comes in.
    Literal(Text),
    /// Stands for itself, for each that comes in.
    Scalar(Value),
    /// A word without a meaning; found out only when it is looked up.
    Word,
}

/// Part of an array; bounds below zero count from its end.
#[derive(Clone, Debug, PartialEq)]
struct Slice {
    start: i64,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    At(i64),
    /// A single index.
    AfterStart,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Steps,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Compare(Operator, Steps),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    /// Found out only when it is looked up.
    Unknown,
}

impl JsonPath {
    /// Reads a path as a column writes it: without braces around it.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::column(text).map(|parts| JsonPath { parts })
    }

    /// The members below each other that the path begins with: nothing else of an object matters to it.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        // Further parts show nothing but can fail, so they need to see everything.
        let steps = if let [steps] = &self.parts[..] { &steps[..] } else { &[] };
        steps.iter().map_while(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The first value that the path leads to. `None` also when the path does not fit the object, as an index
    /// that is out of bounds.
    pub fn find<'a>(&self, object: &'a Value) -> Option<Cow<'a, Value>> {
        find::first(&self.parts, object)
    }
}

/// A value as a template prints it: texts as they are, objects and arrays as JSON.
pub fn print(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => go_fmt::float_v(*value),
        Value::String(text) => text.to_string(),
        Value::Array(_) | Value::Object(_) => json::to_string(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = r#"{"a":{"b":[1,2,3],"s":"x","n":null,"e":{},"x.y":7},"l":[{"k":"p","v":1},{"k":"q","v":2.5,"on":true},{"v":3}]}"#;

    /// `expected` is what is printed; `-` when nothing is found, `!` when the path is refused.
    fn check(path: &str, expected: &str) {
        let object = json::parse(OBJECT.as_bytes()).unwrap().value;
        let found = match JsonPath::parse(path) {
            Err(_) => "!".to_owned(),
            Ok(path) => path.find(&object).map_or_else(|| "-".to_owned(), |value| print(&value)),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn fields_are_followed_by_dot_and_by_key() {
        check(".a.s", "x");
        check(".a['s']", "x");
        check(".a", r#"{"b":[1,2,3],"e":{},"n":null,"s":"x","x.y":7}"#);
        check(".a.missing.deeper", "-");
        check(".a.s.deeper", "-");
        check(".a.n", "<no value>");
        check(r".a.x\.y", "7");
        check(r".a['x\.y']", "7");
        check(".a['x.y']", "-"); // a key is a path: x, then y
        check(".", "-");
    }

    #[test]
    fn indices_and_slices_stay_within_bounds() {
        check(".a.b[0]", "1");
        check(".a.b[-1]", "3");
        check(".a.b[3]", "-");
        check(".a.b[-4]", "-");
        check(".a.b[1:]", "2");
        check(".a.b[:2]", "1");
        check(".a.b[-2:-1]", "2");
        check(".a.b[2:2]", "-");
        check(".a.b[2:1]", "-");
        check(".a.b[::2]", "1");
        check(".a.b[::0]", "-");
        check(".a.b[0:2:2]", "1");
        check(".a.b[-3]", "1");
        check(".a.b[-1:]", "3");
        check(".a.s[0]", "-");
        check(".a.b[x]", "!");
        check(".a.b[0", "!");
        check(".a.missing[0]", "-");
    }

    #[test]
    fn of_many_the_first_is_shown() {
        check(".a.b[*]", "1");
        check(".l[*].k", "p");
        check(".l[*].on", "true");
        check(".a.*", "[1,2,3]");
        check(".a.b[2,0]", "3");
        check("..k", "p");
        check("..missing", "-");
        check(".l....k", "!");
    }

    #[test]
    fn filters_compare_values_of_one_type() {
        check(".l[?(@.k==\"q\")].v", "2.5");
        check(".l[?(@.k=='q')].v", "2.5");
        check(".l[?(@.k!=\"p\")].k", "q");
        check(".l[?(@.on==true)].k", "q");
        check(".l[?(@.on)].k", "q");
        check(".l[?(@.v>0)].v", "-"); // a float does not compare with an integer
        check(".a.b[?(@>=2)]", "2");
        check(".a.b[?(@<2)]", "1");
        check(".a.b[?(@<=0)]", "-");
        check(".a.b[?(@=<1)]", "-"); // no such operator
        check(".l[?(@.k==\"a)b\")].v", "-");
        check(".a.s[?(@.x)]", "-");
        check(".l[?(@.k==\"q\"]", "!");
        check(".l[?(@.k==\"q)]", "!");
        check(".l[?(@.v==1)].k", "-"); // nor an integer with the float after it
        check(".l[?(@.k)].k", "p");
        check(".l[?(@[\"k\"])].k", "!");
    }

    #[test]
    fn words_and_odd_texts_find_nothing() {
        check(".a range", "-");
        check(".a;b", "-");
        check(".a}{.b", r#"{"b":[1,2,3],"e":{},"n":null,"s":"x","x.y":7}"#);
        check(".a ;", "!");
        check(".a\n", "!");
        check(".a 5", "5");
        check(".a 1.5", "1.5");
        check(".a 1.5.2", "!");
        check(".a 'it\\'s \\x41'", "it's A");
        check(".a 'it", "!");
    }

    #[test]
    fn work_is_bounded() {
        let mut deep = Value::Null;
        for _ in 0..200 {
            deep = [("a", deep.clone()), ("b", deep)].into_iter().take(1).collect::<crate::Map>().into();
        }
        let path = JsonPath::parse("..a..a..a..a..a..missing").unwrap();
        assert_eq!(path.find(&deep), None);
        let nested = format!(".a{}{}", "[?(@".repeat(1000), ")]".repeat(1000));
        assert!(JsonPath::parse(&nested).is_err());
    }
}
