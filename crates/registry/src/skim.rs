//! Finds the few facts that reads need in an encoded object, without building its tree.
//!
//! The encoder of this workspace writes `apiVersion`, `kind` and `metadata` first, so a skim stops where
//! `metadata` ends and never touches the bulk of the object. Objects that another API server wrote have
//! other orders; they are found too, only later.
//!
//! Trusts the text to be JSON (it was checked when it was written) but survives when it is not: every
//! malformed text gives `None`, never a panic or a wrong range.

use std::ops::Range;

use meta::Text;

/// Where the parts are and what they say. Ranges are byte offsets into the skimmed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skim {
    /// The value of `apiVersion`, without its quotes.
    pub(crate) api_version: Range<usize>,
    /// When the text starts with `apiVersion` and `kind`, the offset of what follows them:
    /// a list of built-in kinds leaves the two out of its items.
    pub(crate) body_start: Option<usize>,
    /// The value of `metadata`, with its braces.
    pub(crate) metadata: Range<usize>,
    /// What to replace to set the resource version.
    pub(crate) resource_version: Splice,
    pub(crate) name: Range<usize>,
    pub(crate) namespace: Range<usize>,
    pub(crate) uid: Range<usize>,
    pub(crate) labels: Vec<(Text, Text)>,
    pub(crate) deleting: bool,
}

/// How a resource version gets into the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Splice {
    /// The value, with its quotes, stands here.
    Replace(Range<usize>),
    /// A member goes here; another one follows it.
    Before(usize),
    /// A member goes here as the last one, after others.
    After(usize),
    /// The metadata has no members; a member goes here.
    Only(usize),
}

/// Skims one encoded object.
pub(crate) fn skim(text: &[u8]) -> Option<Skim> {
    let mut cursor = Cursor { text, at: 0 };
    let (mut api_version, mut kind, mut metadata) = (None, None, None);
    let mut body_start = None;
    let mut members = 0_usize;
    cursor.open(b'{')?;
    while let Some(key) = cursor.next_key(members == 0)? {
        members += 1;
        match &text[key] {
            b"apiVersion" => api_version = Some(cursor.plain_string()?),
            b"kind" => kind = Some(cursor.plain_string()?),
            b"metadata" => metadata = Some(skim_metadata(&mut cursor)?),
            _ => cursor.skip_value()?,
        }
        if members == 2 && api_version.is_some() && kind.is_some() {
            body_start = cursor.after_comma();
        }
        if metadata.is_some() && api_version.is_some() && kind.is_some() {
            break;
        }
    }
    let mut skim = metadata?;
    skim.api_version = api_version?;
    skim.body_start = body_start;
    Some(skim)
}

fn skim_metadata(cursor: &mut Cursor<'_>) -> Option<Skim> {
    cursor.skip_space();
    let start = cursor.at;
    let mut skim = Skim {
        api_version: 0..0,
        body_start: None,
        metadata: 0..0,
        resource_version: Splice::Only(0),
        name: 0..0,
        namespace: 0..0,
        uid: 0..0,
        labels: Vec::new(),
        deleting: false,
    };
    cursor.open(b'{')?;
    let (mut members, mut splice, mut last_value_end) = (0_usize, None, cursor.at);
    while let Some(key) = cursor.next_key(members == 0)? {
        members += 1;
        let key_start = key.start - 1; // the quote before it
        let key = &cursor.text[key];
        if key == b"resourceVersion" {
            splice = Some(Splice::Replace(cursor.string_with_quotes()?));
            last_value_end = cursor.at;
            continue;
        }
        if key > b"resourceVersion".as_slice() && splice.is_none() {
            splice = Some(Splice::Before(key_start));
        }
        match key {
            b"name" => skim.name = cursor.plain_string()?,
            b"namespace" => skim.namespace = cursor.plain_string()?,
            b"uid" => skim.uid = cursor.plain_string()?,
            b"labels" => skim.labels = cursor.labels()?,
            b"deletionTimestamp" => {
                skim.deleting = true;
                cursor.skip_value()?;
            }
            _ => cursor.skip_value()?,
        }
        last_value_end = cursor.at;
    }
    skim.metadata = start..cursor.at;
    skim.resource_version = match splice {
        Some(splice) => splice,
        None if members == 0 => Splice::Only(last_value_end),
        None => Splice::After(last_value_end),
    };
    Some(skim)
}

/// The text of the scalar at a path of member names: a string without its quotes, anything else as it
/// stands. `None` when there is none, or it is null, or not a scalar. Reads only what lies before it.
pub(crate) fn scalar<'a>(text: &'a [u8], path: &[Text]) -> Option<Scalar<'a>> {
    let mut cursor = Cursor { text, at: 0 };
    for name in path {
        cursor.open(b'{')?;
        let mut first = true;
        loop {
            let key = cursor.next_key(first)??;
            if text[key] == *name.as_bytes() {
                break;
            }
            cursor.skip_value()?;
            first = false;
        }
    }
    cursor.skip_space();
    match text.get(cursor.at)? {
        b'{' | b'[' => None,
        b'"' => cursor.string_with_quotes().map(|range| Scalar::Quoted(&text[range])),
        _ => {
            let start = cursor.at;
            cursor.skip_value()?;
            let plain = text[start..cursor.at].trim_ascii();
            (plain != b"null").then_some(Scalar::Plain(plain))
        }
    }
}

/// A scalar as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar<'a> {
    /// With its quotes and escapes.
    Quoted(&'a [u8]),
    Plain(&'a [u8]),
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn open(&mut self, bracket: u8) -> Option<()> {
        self.skip_space();
        (*self.text.get(self.at)? == bracket).then(|| self.at += 1)
    }

    /// The next member's key (without quotes), with the cursor behind the colon; `Some(None)` at the end of
    /// the object, with the cursor behind the brace.
    #[expect(clippy::option_option, reason = "the outer one is a malformed text, the inner one the end")]
    fn next_key(&mut self, first: bool) -> Option<Option<Range<usize>>> {
        self.skip_space();
        match self.text.get(self.at)? {
            b'}' => {
                self.at += 1;
                return Some(None);
            }
            b',' if !first => self.at += 1,
            _ if first => {}
            _ => return None,
        }
        let key = self.plain_string()?;
        self.open(b':')?;
        Some(Some(key))
    }

    /// The offset behind a comma that stands next, if one does.
    fn after_comma(&self) -> Option<usize> {
        (self.text.get(self.at)? == &b',').then_some(self.at + 1)
    }

    /// A string without its quotes. Escapes stay as they are: names, uids and versions have none.
    fn plain_string(&mut self) -> Option<Range<usize>> {
        let quoted = self.string_with_quotes()?;
        Some(quoted.start + 1..quoted.end - 1)
    }

    fn string_with_quotes(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let start = self.at;
        (self.text.get(start)? == &b'"').then_some(())?;
        let mut at = start + 1;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.text.get(at..)?)?;
            if self.text[at] == b'"' {
                self.at = at + 1;
                return Some(start..self.at);
            }
            at += 2; // an escape and the character it protects
        }
    }

    fn labels(&mut self) -> Option<Vec<(Text, Text)>> {
        let mut labels = Vec::new();
        self.open(b'{')?;
        while let Some(key) = self.next_key(labels.is_empty())? {
            let value = self.plain_string()?;
            // Label keys and values are checked on every write and hold no character that JSON escapes.
            let text = |range: Range<usize>| Text::from_utf8(&self.text[range]).ok();
            labels.push((text(key)?, text(value)?));
        }
        Some(labels)
    }

    fn skip_value(&mut self) -> Option<()> {
        self.skip_space();
        match self.text.get(self.at)? {
            b'"' => self.string_with_quotes().map(drop),
            b'{' | b'[' => self.skip_nested(),
            _ => {
                let rest = &self.text[self.at..];
                self.at += rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']'))?;
                Some(())
            }
        }
    }

    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let rest = self.text.get(self.at..)?;
            self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))?;
            match self.text[self.at] {
                b'"' => {
                    self.string_with_quotes()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                _ => depth -= 1,
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected_with_version: &str) {
        let skim = skim(text.as_bytes()).expect("the text is an object");
        let with_version = crate::object::splice_version(text.as_bytes(), &skim.resource_version, "7");
        assert_eq!(String::from_utf8(with_version).unwrap(), expected_with_version);
    }

    #[test]
    fn a_version_goes_to_its_sorted_place() {
        check(
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n","uid":"u"},"x":1}"#,
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n","resourceVersion":"7","uid":"u"},"x":1}"#,
        );
        check(
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n"}}"#,
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n","resourceVersion":"7"}}"#,
        );
        check(
            r#"{"kind":"A","apiVersion":"v1","metadata":{ }}"#,
            r#"{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"7" }}"#,
        );
        check(
            r#"{"metadata":{"resourceVersion":"123","uid":"u"},"kind":"A","apiVersion":"v1"}"#,
            r#"{"metadata":{"resourceVersion":"7","uid":"u"},"kind":"A","apiVersion":"v1"}"#,
        );
    }

    #[test]
    fn facts_are_found_in_any_order_and_between_foreign_members() {
        let text = r#"{"spec":{"metadata":{"name":"no"},"s":"\"}{\\"},"kind":"A","metadata":{"labels":{"a":"b","c/d":""},"namespace":"ns","managedFields":[{"x":["]"]}],"name":"n","uid":"u","deletionTimestamp":"t"},"apiVersion":"g/v1"}"#;
        let skim = skim(text.as_bytes()).unwrap();
        assert_eq!(&text[skim.name.clone()], "n");
        assert_eq!(&text[skim.namespace.clone()], "ns");
        assert_eq!(&text[skim.uid.clone()], "u");
        assert_eq!(&text[skim.api_version.clone()], "g/v1");
        assert_eq!(skim.labels, [("a".into(), "b".into()), ("c/d".into(), "".into())]);
        assert!(skim.deleting);
        assert_eq!(skim.body_start, None);
    }

    #[test]
    fn scalars_are_found_by_their_path() {
        let text = br#"{"a":{"x":[{"b":"no"}],"b":"y\"es","n":12,"z":null},"b":true}"#;
        let path = |names: &[&str]| names.iter().map(|name| Text::from(*name)).collect::<Vec<_>>();
        let check = |names: &[&str], expected: Option<Scalar<'_>>| {
            assert_eq!(scalar(text, &path(names)), expected, "{names:?}");
        };
        check(&["a", "b"], Some(Scalar::Quoted(br#""y\"es""#)));
        check(&["a", "n"], Some(Scalar::Plain(b"12")));
        check(&["b"], Some(Scalar::Plain(b"true")));
        check(&["a", "z"], None);
        check(&["a", "x"], None);
        check(&["a", "missing"], None);
        check(&["b", "deeper"], None);
    }

    #[test]
    fn the_body_starts_behind_version_and_kind() {
        let text = r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"n"}}"#;
        let skim = skim(text.as_bytes()).unwrap();
        assert_eq!(&text[skim.body_start.unwrap()..], r#""metadata":{"name":"n"}}"#);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[{}\[\]":,a\\ metadataapiVersionkind0-9]{0,80}"#) {
            let _ = skim(text.as_bytes());
        }

        #[test]
        fn no_cut_makes_it_panic(cut in 0_usize..90) {
            let text = br#"{"apiVersion":"v1","kind":"A","metadata":{"labels":{"a":"b"},"name":"n","uid":"u"},"x":["]"]}"#;
            let text = &text[..cut.min(text.len())];
            let _ = skim(text);
            let _ = scalar(text, &["metadata".into(), "labels".into(), "a".into()]);
        }
    }
}
