//! Reads only the wanted members of an encoded object, and passes over the rest without building it.
//!
//! For those who need three fields of a stored object of some kilobytes. Trusts the text to be JSON, since it
//! was checked when it was written, but survives when it is not: whatever is odd about it, including keys
//! with escapes, gives `None`, and the caller reads the whole.

use super::parse;
use super::swar::end_of_plain;
use crate::{Map, Text, Value};

/// Which members of an object are wanted: those named, as a whole or again only in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    members: Vec<(Text, Wanted)>,
    whole: bool,
}

impl Wanted {
    /// Everything.
    pub fn whole() -> Self {
        Wanted { members: Vec::new(), whole: true }
    }

    /// Also what is below this path; an empty one means everything.
    pub fn add<'a>(&mut self, path: impl IntoIterator<Item = &'a str>) {
        let mut path = path.into_iter();
        let Some(name) = path.next() else {
            *self = Wanted::whole();
            return;
        };
        if self.whole {
            return;
        }
        let at = self.members.iter().position(|(member, _)| member == name).unwrap_or_else(|| {
            self.members.push((name.into(), Wanted::default()));
            self.members.len() - 1
        });
        self.members[at].1.add(path);
    }
}

/// The wanted part of an encoded object. `None` when the text has to be read as a whole.
///
/// ```
/// use crest_meta::wire::json::{Wanted, parse_part, to_string};
/// let mut wanted = Wanted::default();
/// wanted.add(["spec", "size"]);
/// let part = parse_part(br#"{"kind":"X","spec":{"colour":"red","size":{"x":1}}}"#, &wanted).unwrap();
/// assert_eq!(to_string(&part), r#"{"spec":{"size":{"x":1}}}"#);
/// ```
pub fn parse_part(text: &[u8], wanted: &Wanted) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    let part = reader.part(wanted)?;
    reader.skip_space();
    (reader.at == text.len()).then_some(part)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Bound: as deep as `wanted` is.
    fn part(&mut self, wanted: &Wanted) -> Option<Value> {
        self.skip_space();
        if wanted.whole || self.peek()? != b'{' {
            let start = self.at;
            self.skip_value()?;
            return parse(&self.text[start..self.at]).ok().map(|parsed| parsed.value);
        }
        self.at += 1;
        let mut members = Map::new();
        self.skip_space();
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(Value::Object(members));
        }
        loop {
            self.skip_space();
            let key = self.key()?;
            match wanted.members.iter().find(|(name, _)| name.as_bytes() == key) {
                Some((name, inner)) => {
                    let value = self.part(inner)?;
                    if members.insert(name.clone(), value).is_some() {
                        return None;
                    }
                }
                None => self.skip_value()?,
            }
            self.skip_space();
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// A key without escapes, and the colon behind it.
    fn key(&mut self) -> Option<&[u8]> {
        let start = self.at + 1;
        self.skip_string()?;
        let end = self.at - 1;
        self.skip_space();
        if self.peek()? != b':' {
            return None;
        }
        self.at += 1;
        let key = &self.text[start..end];
        (!key.contains(&b'\\')).then_some(key)
    }

    fn skip_string(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            self.at = end_of_plain(self.text, self.at);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' if self.at + 2 <= self.text.len() => self.at += 2,
                _ => return None,
            }
        }
    }

    /// Passes over a value: to the end of its last bracket, string, number or word.
    fn skip_value(&mut self) -> Option<()> {
        self.skip_space();
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth == 0 => return None,
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                _ => self.skip_word(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Passes over a number or a literal.
    fn skip_word(&mut self) {
        while let Some(byte) = self.peek()
            && !matches!(byte, b',' | b':' | b']' | b'}' | b'[' | b'{' | b'"' | b' ' | b'\n' | b'\r' | b'\t')
        {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::to_string;
    use super::*;

    fn check(paths: &[&[&str]], text: &str) -> Option<String> {
        let mut wanted = Wanted::default();
        for path in paths {
            wanted.add(path.iter().copied());
        }
        parse_part(text.as_bytes(), &wanted).map(|value| to_string(&value))
    }

    #[test]
    fn only_what_is_wanted_is_read() {
        let text = r#" {"a": {"x": "}\"", "y": [1, {"z": null}]}, "b": -1.5e3, "c": "\\", "d": {}} "#;
        assert_eq!(check(&[&["a", "y"]], text).unwrap(), r#"{"a":{"y":[1,{"z":null}]}}"#);
        assert_eq!(check(&[&["d"], &["b"]], text).unwrap(), r#"{"b":-1500,"d":{}}"#);
        assert_eq!(check(&[&["a", "x"], &["a"]], text).unwrap(), r#"{"a":{"x":"}\"","y":[1,{"z":null}]}}"#);
        assert_eq!(check(&[&["none"]], text).unwrap(), "{}");
        assert_eq!(check(&[&["b", "below"], &["c"]], text).unwrap(), r#"{"b":-1500,"c":"\\"}"#);
        assert_eq!(check(&[&[]], text).unwrap(), to_string(&parse(text.as_bytes()).unwrap().value));
    }

    #[test]
    fn what_is_odd_is_left_to_the_reader_of_all() {
        for text in [
            "",
            "{",
            r#"{"a""#,
            r#"{"a":}"#,
            r#"{"a":1,"#,
            r#"{"\u0061":1}"#,
            r#"{"a":1}x"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":tru}"#,
            r"{a:1}",
            r#"{"a":1 2}"#,
        ] {
            assert_eq!(check(&[&["a"]], text), None, "{text}");
        }
    }

    proptest! {
        /// Whatever is read is what the reader of all reads there.
        #[test]
        fn a_part_is_part_of_the_whole(text in r#"\{"a":[\[\]{}":,0-9 \\ab]{0,20},"b":[\[\]{}":,0-9 \\ab]{0,20}\}"#) {
            let mut wanted = Wanted::default();
            wanted.add(["b"]);
            if let (Some(part), Ok(whole)) = (parse_part(text.as_bytes(), &wanted), parse(text.as_bytes())) {
                prop_assert_eq!(part.get("b"), whole.value.get("b"));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut wanted = Wanted::default();
            wanted.add(["a"]);
            let _ = parse_part(&bytes, &wanted);
        }
    }
}
