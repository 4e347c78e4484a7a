//! The tokens that carry text: plain, quoted and block scalars, with their lines folded.

use super::YamlError;
use super::input::Mark;
use super::scan::{Scanner, Token};

type Outcome<T = ()> = Result<T, YamlError>;

/// White space between two words of a scalar that may go over lines.
#[derive(Default)]
struct Gap {
    /// Blanks on the line of the first word.
    blanks: String,
    first_break: Option<char>,
    more_breaks: String,
    /// Whether a line has ended, be it by an escaped break that leaves no trace.
    lines: bool,
}

impl Gap {
    /// What the gap contributes: one break becomes a space, of several the first is lost.
    fn fold(self, text: &mut String) {
        if !self.lines {
            text.push_str(&self.blanks);
            return;
        }
        match self.first_break {
            Some('\n') if self.more_breaks.is_empty() => text.push(' '),
            Some('\n') | None => {}
            Some(other) => text.push(other),
        }
        text.push_str(&self.more_breaks);
    }
}

impl Scanner<'_> {
    /// Reads blanks and line breaks. With `indent`, tabs left of it are refused on further lines.
    fn scan_gap(&mut self, gap: &mut Gap, indent: Option<isize>, start: Mark) -> Outcome {
        loop {
            if self.input.is_blank() {
                let left = indent.is_some_and(|indent| self.column_below(indent));
                if gap.lines && left && self.input.peek() == b'\t' {
                    return Err(self.error("found a tab character that violates indentation", start));
                }
                let blank = self.input.next();
                if !gap.lines {
                    gap.blanks.extend(blank);
                }
            } else if let Some(line_break) = self.input.take_break() {
                if gap.lines {
                    gap.more_breaks.push(line_break);
                } else {
                    gap.blanks.clear();
                    gap.first_break = Some(line_break);
                    gap.lines = true;
                }
            } else {
                return Ok(());
            }
        }
    }

    fn column_below(&self, indent: isize) -> bool {
        isize::try_from(self.input.mark.column).is_ok_and(|column| column < indent)
    }

    /// Text without quotes.
    pub(super) fn scan_plain(&mut self) -> Outcome<Token> {
        let start = self.input.mark;
        let indent = self.indent + 1;
        let in_flow = self.flow_level > 0;
        let mut text = String::new();
        let mut gap = Gap::default();
        loop {
            if self.input.is_document_indicator() || self.input.peek() == b'#' {
                break;
            }
            let mut word = String::new();
            self.input.take_while(&mut word, |input| {
                let ends = (input.peek() == b':' && input.is_space_at(1))
                    || (in_flow && b",?[]{}".contains(&input.peek()));
                !ends
            });
            if !word.is_empty() {
                std::mem::take(&mut gap).fold(&mut text);
                text.push_str(&word);
            }
            if !self.input.is_blank() && !self.input.is_break() {
                break;
            }
            self.scan_gap(&mut gap, Some(indent), start)?;
            if !in_flow && self.column_below(indent) {
                break;
            }
        }
        if gap.lines {
            self.simple_key_allowed = true;
        }
        Ok(Token::Scalar { text, plain: true })
    }

    /// Text in single or double quotes.
    pub(super) fn scan_quoted(&mut self) -> Outcome<Token> {
        let start = self.input.mark;
        let quote = self.input.peek();
        self.input.skip(1);
        let mut text = String::new();
        loop {
            if self.input.is_document_indicator() {
                return Err(self.error("found unexpected document indicator", start));
            }
            if self.input.at_end() {
                return Err(self.error("found unexpected end of stream", start));
            }
            let mut gap = Gap::default();
            while !self.input.is_space() {
                let byte = self.input.peek();
                if quote == b'\'' && byte == b'\'' && self.input.byte(1) == b'\'' {
                    text.push('\'');
                    self.input.skip(2);
                } else if byte == quote {
                    break;
                } else if quote == b'"' && byte == b'\\' && self.input.is_break_at(1) {
                    self.input.skip(1);
                    self.input.take_break();
                    gap.lines = true;
                    break;
                } else if quote == b'"' && byte == b'\\' {
                    text.push(self.scan_escape(start)?);
                } else {
                    text.extend(self.input.next());
                }
            }
            if self.input.peek() == quote {
                break;
            }
            self.scan_gap(&mut gap, None, start)?;
            gap.fold(&mut text);
        }
        self.input.skip(1);
        Ok(Token::Scalar { text, plain: false })
    }

    fn scan_escape(&mut self, start: Mark) -> Outcome<char> {
        let (character, digits) = match self.input.byte(1) {
            b'0' => ('\0', 0),
            b'a' => ('\u{7}', 0),
            b'b' => ('\u{8}', 0),
            b't' | b'\t' => ('\t', 0),
            b'n' => ('\n', 0),
            b'v' => ('\u{b}', 0),
            b'f' => ('\u{c}', 0),
            b'r' => ('\r', 0),
            b'e' => ('\u{1b}', 0),
            byte @ (b' ' | b'"' | b'\'' | b'\\') => (char::from(byte), 0),
            b'N' => ('\u{85}', 0),
            b'_' => ('\u{a0}', 0),
            b'L' => ('\u{2028}', 0),
            b'P' => ('\u{2029}', 0),
            b'x' => ('\0', 2),
            b'u' => ('\0', 4),
            b'U' => ('\0', 8),
            _ => return Err(self.error("found unknown escape character", start)),
        };
        self.input.skip(2);
        if digits == 0 {
            return Ok(character);
        }
        let mut code: u32 = 0;
        for ahead in 0..digits {
            let digit = char::from(self.input.byte(ahead)).to_digit(16);
            let digit = digit.ok_or_else(|| self.error("did not find expected hexdecimal number", start))?;
            code = code << 4 | digit;
        }
        let character = char::from_u32(code)
            .ok_or_else(|| self.error("found invalid Unicode character escape code", start))?;
        self.input.skip(digits);
        Ok(character)
    }

    /// `|` or `>` and the indented lines below.
    pub(super) fn scan_block_scalar(&mut self) -> Outcome<Token> {
        let start = self.input.mark;
        let literal = self.input.peek() == b'|';
        self.input.skip(1);
        let (chomping, increment) = self.scan_block_header(start)?;
        let mut indent = match increment {
            0 => None,
            increment => Some(self.indent.max(0).unsigned_abs() + increment),
        };
        let mut text = String::new();
        let mut line_break: Option<char> = None;
        let mut more_breaks = String::new();
        let mut previous_indented = false;
        self.scan_block_breaks(&mut indent, &mut more_breaks, start)?;
        while Some(self.input.mark.column) == indent && !self.input.at_end() {
            let indented = self.input.is_blank();
            // Between two lines that are not indented further, one break is a space.
            if !literal && !previous_indented && !indented && line_break == Some('\n') {
                if more_breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(line_break);
            }
            text.push_str(&more_breaks);
            more_breaks.clear();
            previous_indented = indented;
            while !self.input.at_end() && !self.input.is_break() {
                text.extend(self.input.next());
            }
            line_break = self.input.take_break();
            self.scan_block_breaks(&mut indent, &mut more_breaks, start)?;
        }
        match chomping {
            Chomping::Strip => {}
            Chomping::Clip => text.extend(line_break),
            Chomping::Keep => {
                text.extend(line_break);
                text.push_str(&more_breaks);
            }
        }
        Ok(Token::Scalar { text, plain: false })
    }

    /// The indicators behind `|` or `>`, in either order, and the rest of the line.
    fn scan_block_header(&mut self, start: Mark) -> Outcome<(Chomping, usize)> {
        let mut chomping = self.scan_chomping();
        let mut increment = 0;
        if self.input.peek().is_ascii_digit() {
            increment = usize::from(self.input.peek() - b'0');
            if increment == 0 {
                return Err(self.error("found an indentation indicator equal to 0", start));
            }
            self.input.skip(1);
            if chomping.is_none() {
                chomping = self.scan_chomping();
            }
        }
        self.input.skip_blanks();
        self.input.skip_comment();
        if !self.input.at_end() && self.input.take_break().is_none() {
            return Err(self.error("did not find expected comment or line break", start));
        }
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn scan_chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.input.peek() {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.input.skip(1);
        Some(chomping)
    }

    /// Skips indentation and empty lines. An unknown indentation is that of the deepest line so far.
    fn scan_block_breaks(&mut self, indent: &mut Option<usize>, breaks: &mut String, start: Mark) -> Outcome {
        let mut deepest = 0;
        loop {
            let left = |column: usize| indent.is_none_or(|indent| column < indent);
            while left(self.input.mark.column) && self.input.peek() == b' ' {
                self.input.skip(1);
            }
            deepest = deepest.max(self.input.mark.column);
            if left(self.input.mark.column) && self.input.peek() == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                return Err(self.error(problem, start));
            }
            match self.input.take_break() {
                Some(line_break) => breaks.push(line_break),
                None => break,
            }
        }
        if indent.is_none() {
            let least = usize::try_from(self.indent + 1).unwrap_or(0).max(1);
            *indent = Some(deepest.max(least));
        }
        Ok(())
    }
}

/// What becomes of the line breaks at the end of a block.
#[derive(Clone, Copy, Debug)]
enum Chomping {
    Strip,
    /// One stays.
    Clip,
    Keep,
}
