//! Mail addresses as Go's `mail.ParseAddress` reads them: `a@b`, `Name <a@b>`, `"quoted"@b`, comments.
//!
//! Upstream: Go's net/mail, 1.26. Encoded words in display names are taken as plain atoms.

pub(super) fn is_address(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address().is_some() && parser.skip_comments().is_some() && parser.rest.is_empty()
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// `addr-spec` or `[name] <addr-spec>` or a group of one address.
    fn address(&mut self) -> Option<()> {
        self.skip_space();
        let start = self.rest;
        if self.addr_spec().is_some() {
            self.skip_space();
            if self.rest.starts_with('(') {
                self.comment()?;
            }
            return Some(());
        }
        self.rest = start;
        if !start.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if self.consume(':') {
            return self.group();
        }
        self.angle_address()
    }

    fn angle_address(&mut self) -> Option<()> {
        if !self.consume('<') {
            return None;
        }
        self.addr_spec()?;
        self.consume('>').then_some(())
    }

    fn group(&mut self) -> Option<()> {
        self.skip_comments()?;
        if self.rest.starts_with('<') {
            self.angle_address()?;
        } else {
            let start = self.rest;
            if self.addr_spec().is_none() {
                self.rest = start;
                self.phrase()?;
                self.skip_space();
                self.angle_address()?;
            }
        }
        self.skip_comments()?;
        self.consume(';').then_some(())
    }

    fn addr_spec(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            if self.quoted()?.is_empty() {
                return None;
            }
        } else {
            self.atom(true)?;
        }
        if !self.consume('@') {
            return None;
        }
        self.skip_space();
        if self.rest.starts_with('[') { self.domain_literal() } else { self.atom(true) }
    }

    /// `[…]` of printable characters that is an address.
    fn domain_literal(&mut self) -> Option<()> {
        let end = self.rest.find(']')?;
        let literal = &self.rest[1..end];
        let plain = literal.bytes().all(|byte| matches!(byte, 33..=90 | 94..=126));
        self.rest = &self.rest[end + 1..];
        let is_ip = literal.parse::<std::net::IpAddr>().is_ok();
        (plain && is_ip).then_some(())
    }

    /// One or more words.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 {
                self.skip_comments()?;
            }
            self.skip_space();
            let word = match self.rest.chars().next() {
                Some('"') => self.quoted().map(|_| ()),
                Some(_) => self.atom(false),
                None => None,
            };
            match word {
                Some(()) => words += 1,
                None if words > 0 => return Some(()),
                None => return None,
            }
        }
    }

    /// A run of atom characters and dots; `strict` keeps the dots between atoms.
    fn atom(&mut self, strict: bool) -> Option<()> {
        let end = self.rest.find(|character| !is_atom(character)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        let dots_are_fine = !atom.starts_with('.') && !atom.ends_with('.') && !atom.contains("..");
        if atom.is_empty() || (strict && !dots_are_fine) {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// The raw content of a quoted string.
    fn quoted(&mut self) -> Option<&'a str> {
        let inner = &self.rest[1..];
        let mut escaped = false;
        for (index, character) in inner.char_indices() {
            match character {
                _ if escaped => {
                    if !(is_visible(character) || character == ' ' || character == '\t') {
                        return None;
                    }
                    escaped = false;
                }
                '"' => {
                    self.rest = &inner[index + 1..];
                    return Some(&inner[..index]);
                }
                '\\' => escaped = true,
                ' ' | '\t' => {}
                _ if is_visible(character) => {}
                _ => return None,
            }
        }
        None
    }

    fn comment(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        let mut escaped = false;
        for (index, character) in self.rest.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        self.rest = &self.rest[index + 1..];
                        return Some(());
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.rest.starts_with('(') {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn consume(&mut self, character: char) -> bool {
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

fn is_atom(character: char) -> bool {
    !matches!(character, '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"')
        && is_visible(character)
}

fn is_visible(character: char) -> bool {
    matches!(character, '!'..='~') || !character.is_ascii()
}
