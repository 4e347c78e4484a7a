//! Comma separated values as the reference reads them: its quoting rules, its errors, its line and column numbers.
//!
//! Own code because the token file's errors are part of its behaviour; the rules are those of RFC 4180 as Go's
//! `encoding/csv` understands them: empty lines are skipped, `\r\n` counts as `\n`, records may differ in length, a
//! quote inside an unquoted field is an error, a quoted field may span lines.

use std::fmt;

/// Where and why reading stopped. Lines and columns count from one, columns in bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct CsvError {
    record_line: usize,
    line: usize,
    column: usize,
    fault: Fault,
}

#[derive(Debug, PartialEq, Eq)]
enum Fault {
    BareQuote,
    Quote,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.record_line != self.line {
            write!(f, "record on line {}; ", self.record_line)?;
        }
        let fault = match self.fault {
            Fault::BareQuote => "bare \" in non-quoted-field",
            Fault::Quote => "extraneous or missing \" in quoted-field",
        };
        write!(f, "parse error on line {}, column {}: {fault}", self.line, self.column)
    }
}

impl std::error::Error for CsvError {}

pub(super) type Record = Vec<Vec<u8>>;

/// Reads records one by one; after an error the rest is not worth reading.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Reader { rest: text, line: 0 }
    }

    pub(super) fn next_record(&mut self) -> Option<Result<Record, CsvError>> {
        loop {
            let line = self.next_line()?;
            if !line.content.is_empty() {
                return Some(self.record(line));
            }
        }
    }

    fn next_line(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let (content, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &self.rest[self.rest.len()..]),
        };
        self.rest = rest;
        self.line += 1;
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        Some(Line { content, ended: end.is_some(), column: 1 })
    }

    fn record(&mut self, mut line: Line<'a>) -> Result<Record, CsvError> {
        let record_line = self.line;
        let mut record = Vec::new();
        loop {
            let (field, more) = match line.content.strip_prefix(b"\"") {
                Some(_) => self.quoted_field(&mut line, record_line)?,
                None => line.plain_field().map_err(|column| CsvError {
                    record_line,
                    line: self.line,
                    column,
                    fault: Fault::BareQuote,
                })?,
            };
            record.push(field);
            if !more {
                return Ok(record);
            }
        }
    }

    /// The field at the start of `line`, which is moved behind it, and whether another field follows.
    fn quoted_field(&mut self, line: &mut Line<'a>, record_line: usize) -> Result<(Vec<u8>, bool), CsvError> {
        let mut field = Vec::new();
        line.skip(1);
        loop {
            let Some(quote) = line.content.iter().position(|&byte| byte == b'"') else {
                let at = self.continue_on_next_line(line, &mut field);
                at.map_err(|(line, column)| CsvError { record_line, line, column, fault: Fault::Quote })?;
                continue;
            };
            field.extend_from_slice(&line.content[..quote]);
            line.skip(quote + 1);
            match line.content.first() {
                Some(b'"') => {
                    field.push(b'"');
                    line.skip(1);
                }
                Some(b',') => {
                    line.skip(1);
                    return Ok((field, true));
                }
                None => return Ok((field, false)),
                Some(_) => {
                    let column = line.column - 1;
                    return Err(CsvError { record_line, line: self.line, column, fault: Fault::Quote });
                }
            }
        }
    }

    /// Takes the rest of `line` and its end into `field` and moves to the next line. Without one the quote is never
    /// closed, and the position behind the last byte is returned.
    fn continue_on_next_line(
        &mut self,
        line: &mut Line<'a>,
        field: &mut Vec<u8>,
    ) -> Result<(), (usize, usize)> {
        field.extend_from_slice(line.content);
        let mut end = line.column + line.content.len();
        if line.ended {
            field.push(b'\n');
            end += 1;
        }
        let number = self.line;
        let next = self.next_line().filter(|next| next.ended || !next.content.is_empty());
        *line = next.ok_or((number, end))?;
        Ok(())
    }
}

/// What is left of a line, without its end.
struct Line<'a> {
    content: &'a [u8],
    /// Whether a line end follows, which a quoted field takes in.
    ended: bool,
    column: usize,
}

impl Line<'_> {
    fn skip(&mut self, bytes: usize) {
        self.content = &self.content[bytes..];
        self.column += bytes;
    }

    /// The unquoted field in front and whether another follows, or the column of a quote inside it.
    fn plain_field(&mut self) -> Result<(Vec<u8>, bool), usize> {
        let comma = self.content.iter().position(|&byte| byte == b',');
        let field = &self.content[..comma.unwrap_or(self.content.len())];
        if let Some(quote) = field.iter().position(|&byte| byte == b'"') {
            return Err(self.column + quote);
        }
        let field = field.to_vec();
        self.skip(comma.map_or(field.len(), |comma| comma + 1));
        Ok((field, comma.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<String>>, String> {
        let mut reader = Reader::new(text.as_bytes());
        let mut records = Vec::new();
        while let Some(record) = reader.next_record() {
            let record = record.map_err(|error| error.to_string())?;
            records.push(record.into_iter().map(|field| String::from_utf8(field).unwrap()).collect());
        }
        Ok(records)
    }

    #[test]
    fn records_are_those_of_the_reference() {
        for (text, records) in [
            ("", &[][..]),
            ("\n\r\n", &[]),
            ("\r", &[]),
            ("a", &[&["a"][..]]),
            ("a\r", &[&["a"]]),
            ("a,b\n\nc\n", &[&["a", "b"], &["c"]]),
            ("a,b\r\nc,d\r\n", &[&["a", "b"], &["c", "d"]]),
            (" a , b \n", &[&[" a ", " b "]]),
            ("a,,\n", &[&["a", "", ""]]),
            (",\n", &[&["", ""]]),
            ("#a,b\n", &[&["#a", "b"]]),
            ("\"a,b\",c\n", &[&["a,b", "c"]]),
            ("\"a\"\"b\",c\n", &[&["a\"b", "c"]]),
            ("\"\",\"\"", &[&["", ""]]),
            ("\"a\nb\",c\nd\n", &[&["a\nb", "c"], &["d"]]),
            ("\"a\r\nb\"\r\n", &[&["a\nb"]]),
            ("\"a\n\nb\"\n", &[&["a\n\nb"]]),
            ("a\rb\n", &[&["a\rb"]]),
        ] {
            assert_eq!(read(text).unwrap(), records, "{text:?}");
        }
    }

    #[test]
    fn errors_name_line_and_column_as_the_reference_does() {
        for (text, error) in [
            ("a\"b,c\n", "parse error on line 1, column 2: bare \" in non-quoted-field"),
            ("a,b\nc, \"d\"\n", "parse error on line 2, column 4: bare \" in non-quoted-field"),
            ("\"a\"b,c\n", "parse error on line 1, column 3: extraneous or missing \" in quoted-field"),
            ("a,\"b\"c\"\n", "parse error on line 1, column 5: extraneous or missing \" in quoted-field"),
            ("a,\"b", "parse error on line 1, column 5: extraneous or missing \" in quoted-field"),
            ("\"a\n\r", "parse error on line 1, column 4: extraneous or missing \" in quoted-field"),
            ("a,\"b\r", "parse error on line 1, column 5: extraneous or missing \" in quoted-field"),
            ("a,\"b\n", "parse error on line 1, column 6: extraneous or missing \" in quoted-field"),
            (
                "a,\"b\nc",
                "record on line 1; parse error on line 2, column 2: extraneous or missing \" in quoted-field",
            ),
            (
                "x\n\"b\nc\"d\n",
                "record on line 2; parse error on line 3, column 2: extraneous or missing \" in quoted-field",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), error, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_quoted_is_read_back(records in vec(vec("[^\r]*", 1..4), 0..4)) {
            let quote = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |record: &Vec<String>| record.iter().map(quote).collect::<Vec<_>>().join(",") + "\n";
            let text: String = records.iter().map(line).collect();
            prop_assert_eq!(read(&text).unwrap(), records);
        }

        #[test]
        fn any_bytes_end_in_records_or_an_error(text in vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), any::<u8>()], 0..64)) {
            let mut reader = Reader::new(&text);
            let mut records = 0;
            while let Some(Ok(record)) = reader.next_record() {
                prop_assert!(!record.is_empty());
                records += 1;
            }
            prop_assert!(records <= text.len());
        }
    }
}
