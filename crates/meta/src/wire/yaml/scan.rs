//! From characters to tokens.
//!
//! The difficulty of YAML is here: a key shows itself only by the colon behind it, and the structure of blocks
//! only by their indentation. So every place where a key could begin is remembered, and when the colon comes,
//! the tokens for the key, and for the mapping it begins, are put in front of what was read since.
//!
//! The tokens, limits and error texts are those of libyaml (YAML 1.1), on which go-yaml stands. No library of
//! our own language accepts the same texts: they follow YAML 1.2, which refuses tabs behind colons, closing
//! brackets at the beginning of a line and other things that people write.

use std::collections::{HashMap, VecDeque};

use super::YamlError;
use super::input::{Input, Mark};

/// A key and its colon must be on one line and this close, in characters.
const SIMPLE_KEY_MAX_CHARACTERS: usize = 1024;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    StreamEnd,
    Version { major: u8, minor: u8 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, plain: bool },
}

#[derive(Clone, Debug)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

/// A place where a key may have begun.
#[derive(Clone, Copy, Debug)]
struct SimpleKey {
    possible: bool,
    /// Nothing but a key can stand at this indentation.
    required: bool,
    token_number: usize,
    mark: Mark,
}

impl SimpleKey {
    fn none(token_number: usize) -> Self {
        SimpleKey { possible: false, required: false, token_number, mark: Mark::default() }
    }
}

#[derive(Debug)]
pub(super) struct Scanner<'t> {
    pub(super) input: Input<'t>,
    queue: VecDeque<Spanned>,
    /// How many tokens have been taken.
    taken: usize,
    /// The indentation of the innermost block; -1 outside of all.
    pub(super) indent: isize,
    indents: Vec<isize>,
    pub(super) flow_level: usize,
    pub(super) simple_key_allowed: bool,
    /// One per flow level and one for the blocks.
    simple_keys: Vec<SimpleKey>,
    /// From token numbers to indices of `simple_keys`.
    keys_by_token: HashMap<usize, usize>,
}

type Outcome<T = ()> = Result<T, YamlError>;

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Scanner {
            input: Input::new(text),
            queue: VecDeque::new(),
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_key_allowed: true,
            simple_keys: vec![SimpleKey::none(0)],
            keys_by_token: HashMap::new(),
        }
    }

    /// The next token, left in place.
    pub(super) fn peek(&mut self) -> Outcome<&Spanned> {
        while self.needs_more()? {
            self.fetch()?;
        }
        Ok(self.queue.front().expect("a token was fetched, the end of the stream if nothing else"))
    }

    /// Takes the token that was peeked at.
    pub(super) fn take(&mut self) -> Outcome<Spanned> {
        self.peek()?;
        self.taken += 1;
        Ok(self.queue.pop_front().expect("just peeked at"))
    }

    /// Whether the next token is unknown, or may yet turn out to be a key.
    fn needs_more(&mut self) -> Outcome<bool> {
        if self.queue.is_empty() {
            return Ok(true);
        }
        match self.keys_by_token.get(&self.taken) {
            Some(&index) => self.is_key_possible(index),
            None => Ok(false),
        }
    }

    pub(super) fn error(&self, problem: &str, context: Mark) -> YamlError {
        YamlError::of_scanner(problem, self.input.mark, context)
    }

    fn column(&self) -> isize {
        isize::try_from(self.input.mark.column).unwrap_or(isize::MAX)
    }

    fn push(&mut self, token: Token, start: Mark) {
        self.queue.push_back(Spanned { token, start, end: self.input.mark });
    }

    fn fetch(&mut self) -> Outcome {
        self.skip_to_token();
        self.close_blocks(self.column());
        if self.input.at_end() {
            return self.fetch_end();
        }
        let byte = self.input.peek();
        if self.input.mark.column == 0 && byte == b'%' {
            return self.fetch_directive();
        }
        if self.input.is_document_indicator() {
            let token = if byte == b'-' { Token::DocumentStart } else { Token::DocumentEnd };
            self.end_structure()?;
            return self.fetch_indicator(token, 3);
        }
        let spaced = self.input.is_space_at(1);
        let in_flow = self.flow_level > 0;
        match byte {
            b'[' => self.fetch_flow_start(Token::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Token::FlowMappingStart),
            b']' => self.fetch_flow_end(Token::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Token::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if spaced => self.fetch_block_entry(),
            b'?' if in_flow || spaced => self.fetch_key(),
            b':' if in_flow || spaced => self.fetch_value(),
            b'*' | b'&' => self.fetch_node(Self::scan_anchor),
            b'!' => self.fetch_node(Self::scan_tag),
            b'|' | b'>' if !in_flow => self.fetch_block_scalar(),
            b'\'' | b'"' => self.fetch_node(Self::scan_quoted),
            b' ' | b'\t' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(self.error("found character that cannot start any token", self.input.mark))
            }
            _ => self.fetch_node(Self::scan_plain),
        }
    }

    /// Skips white space, line breaks and comments. A tab is no space where a block could begin.
    fn skip_to_token(&mut self) {
        loop {
            while self.input.peek() == b' '
                || (self.input.peek() == b'\t' && (self.flow_level > 0 || !self.simple_key_allowed))
            {
                self.input.skip(1);
            }
            self.input.skip_comment();
            if self.input.take_break().is_none() {
                return;
            }
            if self.flow_level == 0 {
                self.simple_key_allowed = true;
            }
        }
    }

    // Keys that may have begun.

    /// Whether a remembered key can still get its colon.
    fn is_key_possible(&mut self, index: usize) -> Outcome<bool> {
        let key = self.simple_keys[index];
        let mark = self.input.mark;
        let too_far = key.mark.line < mark.line || key.mark.index + SIMPLE_KEY_MAX_CHARACTERS < mark.index;
        if key.possible && too_far {
            if key.required {
                return Err(self.error("could not find expected ':'", key.mark));
            }
            self.simple_keys[index].possible = false;
            return Ok(false);
        }
        Ok(key.possible)
    }

    fn remember_key(&mut self) -> Outcome {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == self.column();
        let token_number = self.next_token_number();
        self.forget_key()?;
        let index = self.simple_keys.len() - 1;
        self.simple_keys[index] = SimpleKey { possible: true, required, token_number, mark: self.input.mark };
        self.keys_by_token.insert(token_number, index);
        Ok(())
    }

    fn next_token_number(&self) -> usize {
        self.taken + self.queue.len()
    }

    fn forget_key(&mut self) -> Outcome {
        let index = self.simple_keys.len() - 1;
        let key = self.simple_keys[index];
        if key.possible {
            if key.required {
                return Err(self.error("could not find expected ':'", key.mark));
            }
            self.simple_keys[index].possible = false;
            self.keys_by_token.remove(&key.token_number);
        }
        Ok(())
    }

    /// Puts a token in front of the token of a number, or behind all when that one has been taken.
    fn insert(&mut self, number: usize, token: Token, mark: Mark) {
        let token = Spanned { token, start: mark, end: mark };
        match number.checked_sub(self.taken) {
            Some(index) => self.queue.insert(index, token),
            None => self.queue.push_back(token),
        }
    }

    // Blocks, which begin and end by indentation.

    /// Begins a block at a column, unless one is there. Its token goes in front of the token of that number.
    fn open_block(&mut self, column: usize, token_number: Option<usize>, token: Token, mark: Mark) {
        let column = isize::try_from(column).unwrap_or(isize::MAX);
        if self.flow_level > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        self.insert(token_number.unwrap_or_else(|| self.next_token_number()), token, mark);
    }

    /// Ends the blocks that are indented deeper.
    fn close_blocks(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(Token::BlockEnd, self.input.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn end_structure(&mut self) -> Outcome {
        self.close_blocks(-1);
        self.forget_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    // One function per kind of token.

    fn fetch_end(&mut self) -> Outcome {
        self.input.end_line();
        self.end_structure()?;
        self.push(Token::StreamEnd, self.input.mark);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Outcome {
        self.end_structure()?;
        let start = self.input.mark;
        let token = self.scan_directive()?;
        self.push(token, start);
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the end of several functions that can fail")]
    fn fetch_indicator(&mut self, token: Token, characters: usize) -> Outcome {
        let start = self.input.mark;
        self.input.skip(characters);
        self.push(token, start);
        Ok(())
    }

    fn fetch_flow_start(&mut self, token: Token) -> Outcome {
        self.remember_key()?;
        self.simple_keys.push(SimpleKey::none(self.next_token_number()));
        self.flow_level += 1;
        self.simple_key_allowed = true;
        self.fetch_indicator(token, 1)
    }

    fn fetch_flow_end(&mut self, token: Token) -> Outcome {
        self.forget_key()?;
        if self.flow_level > 0
            && let Some(level) = self.simple_keys.pop()
        {
            self.flow_level -= 1;
            // When nothing inside could have been a key, this is the number of the opening bracket, and the
            // collection itself is no key any more. So it is in the reference: `{}: a` is read as `{}`.
            self.keys_by_token.remove(&level.token_number);
        }
        self.simple_key_allowed = false;
        self.fetch_indicator(token, 1)
    }

    fn fetch_flow_entry(&mut self) -> Outcome {
        self.forget_key()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(Token::FlowEntry, 1)
    }

    fn fetch_block_entry(&mut self) -> Outcome {
        let mark = self.input.mark;
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(self.error("block sequence entries are not allowed in this context", mark));
            }
            self.open_block(mark.column, None, Token::BlockSequenceStart, mark);
        }
        self.forget_key()?;
        self.simple_key_allowed = true;
        self.fetch_indicator(Token::BlockEntry, 1)
    }

    fn fetch_key(&mut self) -> Outcome {
        let mark = self.input.mark;
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                return Err(self.error("mapping keys are not allowed in this context", mark));
            }
            self.open_block(mark.column, None, Token::BlockMappingStart, mark);
        }
        self.forget_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.fetch_indicator(Token::Key, 1)
    }

    fn fetch_value(&mut self) -> Outcome {
        let index = self.simple_keys.len() - 1;
        let mark = self.input.mark;
        if self.is_key_possible(index)? {
            let key = self.simple_keys[index];
            self.simple_keys[index].possible = false;
            self.insert(key.token_number, Token::Key, key.mark);
            self.open_block(key.mark.column, Some(key.token_number), Token::BlockMappingStart, key.mark);
            self.keys_by_token.remove(&key.token_number);
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.simple_key_allowed {
                    return Err(self.error("mapping values are not allowed in this context", mark));
                }
                self.open_block(mark.column, None, Token::BlockMappingStart, mark);
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.fetch_indicator(Token::Value, 1)
    }

    fn fetch_block_scalar(&mut self) -> Outcome {
        self.forget_key()?;
        self.simple_key_allowed = true;
        let start = self.input.mark;
        let token = self.scan_block_scalar()?;
        self.push(token, start);
        Ok(())
    }

    /// A token with which a key can begin.
    fn fetch_node(&mut self, scan: fn(&mut Self) -> Outcome<Token>) -> Outcome {
        self.remember_key()?;
        self.simple_key_allowed = false;
        let start = self.input.mark;
        let token = scan(self)?;
        self.push(token, start);
        Ok(())
    }
}
