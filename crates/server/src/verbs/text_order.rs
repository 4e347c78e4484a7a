//! What strict reading finds wrong with a text, in the order of the text.
//!
//! Objects are read into sorted maps; the reference reads typed objects from front to back and complains on the way.
//! Which of several complaints comes first is therefore looked up in the text, once there are several.

use std::collections::HashMap;
use std::fmt::Write as _;

use meta::Value;
use meta::wire::json;

/// Sorts texts such as `unknown field "spec.a"` and `duplicate field "b[0].c"` by where their fields stand in a JSON
/// text. What cannot be found there stays at the end.
pub(super) fn sort(findings: &mut [String], text: &str) {
    if findings.len() < 2 {
        return;
    }
    let mut keys = Keys { text: text.as_bytes(), at: 0, seen: 0, places: HashMap::new() };
    keys.value(&mut String::new());
    findings.sort_by_cached_key(|finding| {
        let mut words = finding.splitn(3, ' ');
        let nth = usize::from(words.next() == Some("duplicate"));
        let path = words.nth(1).unwrap_or_default().trim_matches('"');
        keys.places.get(path).and_then(|places| places.get(nth)).copied().unwrap_or(usize::MAX)
    });
}

/// A walk over the keys of a text that is known to be JSON.
struct Keys<'a> {
    text: &'a [u8],
    at: usize,
    /// How many keys have been passed.
    seen: usize,
    /// For every path, the numbers of the keys that lead there.
    places: HashMap<String, Vec<usize>>,
}

impl Keys<'_> {
    fn peek(&mut self) -> u8 {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or_default()
    }

    fn value(&mut self, path: &mut String) {
        match self.peek() {
            b'{' => self.items(b'}', path, Self::member),
            b'[' => {
                let mut index = 0;
                self.items(b']', path, |keys, path| {
                    let length = path.len();
                    write!(path, "[{index}]").expect("a String takes any text");
                    index += 1;
                    keys.value(path);
                    path.truncate(length);
                });
            }
            b'"' => drop(self.string()),
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                self.at += self.text[self.at..].iter().take_while(|byte| !ends(byte)).count();
            }
        }
    }

    /// Walks what stands between brackets, with commas between.
    fn items(&mut self, end: u8, path: &mut String, mut item: impl FnMut(&mut Self, &mut String)) {
        self.at += 1;
        while !matches!(self.peek(), 0) && self.peek() != end {
            let before = self.at;
            item(self, path);
            if self.peek() == b',' {
                self.at += 1;
            }
            if self.at == before {
                return; // not JSON after all
            }
        }
        self.at += 1;
    }

    fn member(&mut self, path: &mut String) {
        self.peek();
        let key = self.string();
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(&key);
        self.places.entry(path.clone()).or_default().push(self.seen);
        self.seen += 1;
        if self.peek() == b':' {
            self.at += 1;
        }
        self.value(path);
        path.truncate(length);
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            self.at += 1 + usize::from(*byte == b'\\');
            if *byte == b'"' {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
        let parsed = json::parse(&self.text[start..self.at]).ok().map(|parsed| parsed.value);
        parsed.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_follow_the_text() {
        let text = r#" {"z": 1, "metadata": {"name": "a\"b", "owners": [{"ok": [1, -2.5e3]}, {"x": {}}], "name": "f"}, "a": null} "#;
        let mut findings = vec![
            r#"unknown field "a""#.to_owned(),
            r#"unknown field "metadata.owners[1].x""#.to_owned(),
            r#"duplicate field "metadata.name""#.to_owned(),
            r#"unknown field "nowhere""#.to_owned(),
            r#"unknown field "z""#.to_owned(),
        ];
        sort(&mut findings, text);
        assert_eq!(
            findings,
            [
                r#"unknown field "z""#,
                r#"unknown field "metadata.owners[1].x""#,
                r#"duplicate field "metadata.name""#,
                r#"unknown field "a""#,
                r#"unknown field "nowhere""#,
            ]
        );
    }

    #[test]
    fn a_text_that_is_no_json_ends_the_walk() {
        for text in ["", "{", "{\"a", "[[[", "{\"a\":}", "{]", "[,]", "{\"a\" 1}"] {
            let mut findings = vec!["unknown field \"b\"".to_owned(), "unknown field \"a\"".to_owned()];
            sort(&mut findings, text);
            assert_eq!(findings.len(), 2, "{text}");
        }
    }
}
