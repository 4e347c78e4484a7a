//! Token kinds, and sets of them for the "expecting" part of a syntax error.
//!
//! The order of the kinds is the order in which the reference numbers them; error texts list sets in it.

/// What a token is. The discriminant is the token's bit in a [`TokenSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TokenKind {
    Eof,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    LogicalAnd,
    LogicalOr,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Exclamation,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
}

/// Every kind in order, with the name that error texts use.
const NAMES: [(TokenKind, &str); 36] = {
    use TokenKind as K;
    [
        (K::Eof, "<EOF>"),
        (K::Equals, "'=='"),
        (K::NotEquals, "'!='"),
        (K::In, "'in'"),
        (K::Less, "'<'"),
        (K::LessEquals, "'<='"),
        (K::GreaterEquals, "'>='"),
        (K::Greater, "'>'"),
        (K::LogicalAnd, "'&&'"),
        (K::LogicalOr, "'||'"),
        (K::LeftBracket, "'['"),
        (K::RightBracket, "']'"),
        (K::LeftBrace, "'{'"),
        (K::RightBrace, "'}'"),
        (K::LeftParen, "'('"),
        (K::RightParen, "')'"),
        (K::Dot, "'.'"),
        (K::Comma, "','"),
        (K::Minus, "'-'"),
        (K::Exclamation, "'!'"),
        (K::Question, "'?'"),
        (K::Colon, "':'"),
        (K::Plus, "'+'"),
        (K::Star, "'*'"),
        (K::Slash, "'/'"),
        (K::Percent, "'%'"),
        (K::True, "'true'"),
        (K::False, "'false'"),
        (K::Null, "'null'"),
        (K::Float, "NUM_FLOAT"),
        (K::Int, "NUM_INT"),
        (K::Uint, "NUM_UINT"),
        (K::String, "STRING"),
        (K::Bytes, "BYTES"),
        (K::Identifier, "IDENTIFIER"),
        (K::EscapedIdentifier, "ESC_IDENTIFIER"),
    ]
};

/// A piece of the source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Byte range in the source.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Position of the first character, in code points.
    pub(crate) offset: u32,
}

/// A set of token kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenSet(u64);

impl TokenSet {
    pub(crate) const EMPTY: TokenSet = TokenSet(0);

    pub(crate) const fn of(kinds: &[TokenKind]) -> TokenSet {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u64;
            index += 1;
        }
        TokenSet(bits)
    }

    pub(crate) const fn with(self, other: TokenSet) -> TokenSet {
        TokenSet(self.0 | other.0)
    }

    pub(crate) const fn contains(self, kind: TokenKind) -> bool {
        self.0 & (1 << kind as u64) != 0
    }

    /// The set as an error text shows it: a lone member bare, several in braces.
    pub(crate) fn describe(self) -> String {
        let names: Vec<&str> =
            NAMES.iter().filter(|(kind, _)| self.contains(*kind)).map(|(_, name)| *name).collect();
        match names.as_slice() {
            [only] => (*only).to_owned(),
            several => format!("{{{}}}", several.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_the_kinds() {
        for (index, (kind, _)) in NAMES.iter().enumerate() {
            assert_eq!(*kind as usize, index);
        }
    }

    #[test]
    fn a_lone_member_has_no_braces() {
        assert_eq!(TokenSet::of(&[TokenKind::Eof]).describe(), "<EOF>");
        let set = TokenSet::of(&[TokenKind::Comma, TokenKind::RightBracket]);
        assert_eq!(set.describe(), "{']', ','}");
    }
}
