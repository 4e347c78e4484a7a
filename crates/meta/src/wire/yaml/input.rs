//! A text with a position: looking ahead, moving on, counting lines.
//!
//! Line breaks are those of YAML 1.1: LF, CR, CRLF, NEL, LS and PS.

use super::YamlError;

/// A place in the text, counted from zero in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Checks what the reference's reader checks about the bytes.
pub(super) fn text(bytes: &[u8]) -> Result<&str, YamlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let lead = bytes[error.valid_up_to()];
        YamlError::new(match error.error_len() {
            None => "incomplete UTF-8 octet sequence",
            Some(_) if (0xc0..0xf8).contains(&lead) => "invalid trailing UTF-8 octet",
            Some(_) => "invalid leading UTF-8 octet",
        })
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.chars().all(is_allowed) {
        Ok(text)
    } else {
        Err(YamlError::new("control characters are not allowed"))
    }
}

fn is_allowed(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | '\u{85}' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

#[derive(Debug)]
pub(super) struct Input<'t> {
    text: &'t str,
    at: usize,
    pub(super) mark: Mark,
}

impl<'t> Input<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Input { text, at: 0, mark: Mark::default() }
    }

    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The byte so many places ahead; zero, which no text contains, at the end.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.rest().get(ahead).copied().unwrap_or(0)
    }

    pub(super) fn peek(&self) -> u8 {
        self.byte(0)
    }

    pub(super) fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// How many bytes the line break so many bytes ahead has; zero when there is none.
    fn break_length(&self, ahead: usize) -> usize {
        match self.rest().get(ahead..).unwrap_or_default() {
            [b'\r', b'\n', ..] | [0xc2, 0x85, ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
            _ => 0,
        }
    }

    pub(super) fn is_break(&self) -> bool {
        self.break_length(0) > 0
    }

    pub(super) fn is_break_at(&self, ahead: usize) -> bool {
        self.break_length(ahead) > 0
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(self.peek(), b' ' | b'\t')
    }

    /// A blank, a line break or the end.
    pub(super) fn is_space_at(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | 0) || self.is_break_at(ahead)
    }

    pub(super) fn is_space(&self) -> bool {
        self.is_space_at(0)
    }

    /// Whether a line begins with `---` or `...` here.
    pub(super) fn is_document_indicator(&self) -> bool {
        let indicator = self.rest().starts_with(b"---") || self.rest().starts_with(b"...");
        self.mark.column == 0 && indicator && self.is_space_at(3)
    }

    /// Takes a character that is no line break.
    pub(super) fn next(&mut self) -> Option<char> {
        let character = self.text[self.at..].chars().next()?;
        self.at += character.len_utf8();
        self.mark.index += 1;
        self.mark.column += 1;
        Some(character)
    }

    pub(super) fn skip(&mut self, characters: usize) {
        for _ in 0..characters {
            self.next();
        }
    }

    /// Appends the characters up to the next blank, break or end that also pass `wanted`.
    pub(super) fn take_while(&mut self, into: &mut String, wanted: impl Fn(&Self) -> bool) {
        while !self.is_space() && wanted(self) {
            into.extend(self.next());
        }
    }

    /// Takes a line break and gives what it stands for: a newline, except for LS and PS.
    pub(super) fn take_break(&mut self) -> Option<char> {
        let length = self.break_length(0);
        let character = match length {
            0 => return None,
            3 => self.text[self.at..].chars().next()?,
            _ => '\n',
        };
        self.mark.index += if self.rest().starts_with(b"\r\n") { 2 } else { 1 };
        self.at += length;
        self.mark.line += 1;
        self.mark.column = 0;
        Some(character)
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank() {
            self.next();
        }
    }

    /// Skips from a `#` to the end of the line.
    pub(super) fn skip_comment(&mut self) {
        if self.peek() == b'#' {
            while !self.at_end() && !self.is_break() {
                self.next();
            }
        }
    }

    /// The end of the text counts as the beginning of a line.
    pub(super) fn end_line(&mut self) {
        if self.mark.column != 0 {
            self.mark.column = 0;
            self.mark.line += 1;
        }
    }
}
