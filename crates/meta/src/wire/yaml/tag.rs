//! The tokens around nodes: anchors, aliases, tags and directives.

use super::YamlError;
use super::input::Mark;
use super::scan::{Scanner, Token};

type Outcome<T = ()> = Result<T, YamlError>;

impl Scanner<'_> {
    /// `&name` or `*name`.
    pub(super) fn scan_anchor(&mut self) -> Outcome<Token> {
        let start = self.input.mark;
        let alias = self.input.peek() == b'*';
        self.input.skip(1);
        let name = self.scan_word();
        let ended = self.input.is_space() || b"?:,]}%@`".contains(&self.input.peek());
        if name.is_empty() || !ended {
            return Err(self.error("did not find expected alphabetic or numeric character", start));
        }
        Ok(if alias { Token::Alias(name) } else { Token::Anchor(name) })
    }

    fn scan_word(&mut self) -> String {
        let mut word = String::new();
        self.input.take_while(&mut word, |input| is_word(input.peek()));
        word
    }

    /// `!`, `!suffix`, `!handle!suffix` or `!<name>`.
    pub(super) fn scan_tag(&mut self) -> Outcome<Token> {
        let start = self.input.mark;
        let (handle, suffix) = if self.input.byte(1) == b'<' {
            self.input.skip(2);
            let suffix = self.scan_uri(None, start)?;
            if self.input.peek() != b'>' {
                return Err(self.error("did not find the expected '>'", start));
            }
            self.input.skip(1);
            (String::new(), suffix)
        } else {
            let handle = self.scan_handle(start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.scan_uri(None, start)?;
                (handle, suffix)
            } else {
                match self.scan_uri(Some(&handle), start)? {
                    suffix if suffix.is_empty() => (suffix, "!".to_owned()),
                    suffix => ("!".to_owned(), suffix),
                }
            }
        };
        if !self.input.is_space() {
            return Err(self.error("did not find expected whitespace or line break", start));
        }
        Ok(Token::Tag { handle, suffix })
    }

    fn scan_handle(&mut self, start: Mark) -> Outcome<String> {
        if self.input.peek() != b'!' {
            return Err(self.error("did not find expected '!'", start));
        }
        let mut handle = String::new();
        handle.extend(self.input.next());
        handle.push_str(&self.scan_word());
        if self.input.peek() == b'!' {
            handle.extend(self.input.next());
        }
        Ok(handle)
    }

    /// The rest of a name; `head` is what was taken for a handle and belongs to it.
    fn scan_uri(&mut self, head: Option<&str>, start: Mark) -> Outcome<String> {
        let mut uri = head.and_then(|head| head.strip_prefix('!')).unwrap_or_default().to_owned();
        let mut found = head.is_some();
        while is_word(self.input.peek()) || b";/?:@&=+$,.!~*'()[]%".contains(&self.input.peek()) {
            if self.input.peek() == b'%' {
                self.scan_escaped(&mut uri, start)?;
            } else {
                uri.extend(self.input.next());
            }
            found = true;
        }
        if found { Ok(uri) } else { Err(self.error("did not find expected tag URI", start)) }
    }

    /// One character as percent-encoded bytes.
    fn scan_escaped(&mut self, uri: &mut String, start: Mark) -> Outcome {
        let mut bytes: Vec<u8> = Vec::new();
        let mut expected = 1;
        while bytes.len() < expected {
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let (high, low) = (digit(self.input.byte(1)), digit(self.input.byte(2)));
            let (b'%', Some(high), Some(low)) = (self.input.peek(), high, low) else {
                return Err(self.error("did not find URI escaped octet", start));
            };
            let octet = high << 4 | low;
            if bytes.is_empty() {
                expected = match octet {
                    0..0x80 => 1,
                    0xc0..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    0xf0..0xf8 => 4,
                    _ => return Err(self.error("found an incorrect leading UTF-8 octet", start)),
                };
            } else if octet & 0xc0 != 0x80 {
                return Err(self.error("found an incorrect trailing UTF-8 octet", start));
            }
            bytes.push(octet);
            self.input.skip(3);
        }
        uri.push_str(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    /// `%YAML 1.1` or `%TAG !x! prefix`, up to the end of the line.
    pub(super) fn scan_directive(&mut self) -> Outcome<Token> {
        let start = self.input.mark;
        self.input.skip(1);
        let name = self.scan_word();
        if name.is_empty() {
            return Err(self.error("could not find expected directive name", start));
        }
        if !self.input.is_space() {
            return Err(self.error("found unexpected non-alphabetical character", start));
        }
        let token = match name.as_str() {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.error("found unknown directive name", start)),
        };
        self.input.skip_blanks();
        self.input.skip_comment();
        if !self.input.at_end() && self.input.take_break().is_none() {
            return Err(self.error("did not find expected comment or line break", start));
        }
        Ok(token)
    }

    fn scan_version(&mut self, start: Mark) -> Outcome<Token> {
        self.input.skip_blanks();
        let major = self.scan_version_number(start)?;
        if self.input.peek() != b'.' {
            return Err(self.error("did not find expected digit or '.' character", start));
        }
        self.input.skip(1);
        let minor = self.scan_version_number(start)?;
        Ok(Token::Version { major, minor })
    }

    fn scan_version_number(&mut self, start: Mark) -> Outcome<u8> {
        let (mut number, mut length) = (0, 0);
        while self.input.peek().is_ascii_digit() {
            length += 1;
            if length > 2 {
                return Err(self.error("found extremely long version number", start));
            }
            number = number * 10 + (self.input.peek() - b'0');
            self.input.skip(1);
        }
        if length == 0 {
            return Err(self.error("did not find expected version number", start));
        }
        Ok(number)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Outcome<Token> {
        self.input.skip_blanks();
        let handle = self.scan_handle(start)?;
        if handle != "!" && (handle.len() < 2 || !handle.ends_with('!')) {
            return Err(self.error("did not find expected '!'", start));
        }
        if !self.input.is_blank() {
            return Err(self.error("did not find expected whitespace", start));
        }
        self.input.skip_blanks();
        let prefix = self.scan_uri(None, start)?;
        if !self.input.is_space() {
            return Err(self.error("did not find expected whitespace or line break", start));
        }
        Ok(Token::TagDirective { handle, prefix })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
