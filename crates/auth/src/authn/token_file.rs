//! `--token-auth-file`: users and their bearer tokens in a CSV file, read once at start.
//!
//! A line is `token,user,uid` or `token,user,uid,"group1,group2"`. Tokens are not kept: a lookup compares keyed hashes
//! under a key that nobody outside the process knows, so that neither time nor a memory dump tells of a token.
//!
//! Upstream: apiserver/pkg/authentication/token/tokenfile/tokenfile.go, v1.36.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use subtle::ConstantTimeEq;

use super::csv::{CsvError, Reader, Record};
use super::{Outcome, TokenAuthenticator};
use crate::{BoxFuture, User, UserInfo};

/// The users of a token file.
pub struct TokenFile {
    key: hmac::Key,
    /// By the first bytes of the tag, so that a lookup need not compare with every user.
    users: HashMap<u64, Vec<(hmac::Tag, User)>>,
    /// What is odd but not wrong in the file, for the log.
    pub warnings: Vec<String>,
}

/// Why a token file cannot be used. Shows no content of the file.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    #[error("cannot read token file '{path}'")]
    Read { path: String, source: io::Error },
    #[error("token file '{path}' is not a valid CSV file")]
    Csv { path: String, source: CsvError },
    #[error(
        "token file '{path}' must have at least 3 columns (token, user name, user uid), found {found} (record number '{record}')"
    )]
    Columns { path: String, found: usize, record: usize },
    #[error("no randomness for hashing the tokens of token file '{path}'")]
    Random { path: String },
}

impl TokenFile {
    pub fn load(path: &Path) -> Result<Self, TokenFileError> {
        let name = path.display().to_string();
        match std::fs::read(path) {
            Ok(text) => TokenFile::parse(&name, &text),
            Err(source) => Err(TokenFileError::Read { path: name, source }),
        }
    }

    /// `path` is for messages only.
    pub fn parse(path: &str, text: &[u8]) -> Result<Self, TokenFileError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| TokenFileError::Random { path: path.to_owned() })?;
        let mut file = TokenFile { key, users: HashMap::new(), warnings: Vec::new() };
        let mut reader = Reader::new(text);
        let mut number = 0;
        while let Some(record) = reader.next_record() {
            let record = record.map_err(|source| TokenFileError::Csv { path: path.to_owned(), source })?;
            number += 1;
            if record.len() < 3 {
                let found = record.len();
                return Err(TokenFileError::Columns { path: path.to_owned(), found, record: number });
            }
            file.add(path, number, &record);
        }
        Ok(file)
    }

    /// How many tokens are known.
    pub fn len(&self) -> usize {
        self.users.values().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// The last line with a token decides whose it is.
    fn add(&mut self, path: &str, number: usize, record: &Record) {
        let token = record[0].as_slice();
        if token.is_empty() {
            self.warn("empty", path, number);
            return;
        }
        let tag = hmac::sign(&self.key, token);
        let users = self.users.entry(bucket(&tag)).or_default();
        let known = users.len();
        users.retain(|(other, _)| !matches(other, &tag));
        let duplicate = users.len() < known;
        users.push((tag, user(record)));
        if duplicate {
            self.warn("duplicate", path, number);
        }
    }

    fn warn(&mut self, what: &str, path: &str, number: usize) {
        let warning = format!("{what} token has been found in token file '{path}', record number '{number}'");
        self.warnings.push(warning);
    }

    fn find(&self, token: &[u8]) -> Option<&User> {
        let tag = hmac::sign(&self.key, token);
        let users = self.users.get(&bucket(&tag))?;
        users.iter().find(|(other, _)| matches(other, &tag)).map(|(_, user)| user)
    }
}

impl fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenFile").field("tokens", &self.len()).finish_non_exhaustive()
    }
}

impl TokenAuthenticator for TokenFile {
    fn authenticate<'a>(&'a self, token: &'a [u8]) -> BoxFuture<'a, Outcome> {
        crate::ready(Ok(self.find(token).cloned()))
    }
}

fn user(record: &Record) -> User {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    // No trimming: an empty fourth column is one group without a name, as in the reference.
    let groups = record.get(3).map(|groups| text(groups).split(',').map(str::to_owned).collect());
    let info = UserInfo {
        name: text(&record[1]),
        uid: text(&record[2]),
        groups: groups.unwrap_or_default(),
        ..UserInfo::default()
    };
    User::new(info).into_authenticated()
}

fn bucket(tag: &hmac::Tag) -> u64 {
    let head = tag.as_ref().first_chunk().expect("a SHA-256 tag has 32 bytes");
    u64::from_le_bytes(*head)
}

fn matches(left: &hmac::Tag, right: &hmac::Tag) -> bool {
    left.as_ref().ct_eq(right.as_ref()).into()
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    fn parse(text: &str) -> TokenFile {
        TokenFile::parse("tokens.csv", text.as_bytes()).unwrap()
    }

    fn failure(text: &str) -> String {
        let error = TokenFile::parse("tokens.csv", text.as_bytes()).unwrap_err();
        match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        }
    }

    #[test]
    fn a_line_names_a_user_with_uid_and_groups() {
        let file =
            parse("t1,alice,u-1\nt2,bob,u-2,\"devs,ops\"\nt3,carol,u-3,devs,ignored\nt4,dave,u-4,\"\"\n");
        let groups = |token: &str| file.find(token.as_bytes()).unwrap().groups.join("|");
        let alice = file.find(b"t1").unwrap();
        assert_eq!((alice.name.as_str(), alice.uid.as_str()), ("alice", "u-1"));
        assert!(alice.extra.is_empty());
        assert_eq!(groups("t1"), "system:authenticated");
        assert_eq!(groups("t2"), "devs|ops|system:authenticated");
        assert_eq!(groups("t3"), "devs|system:authenticated");
        assert_eq!(groups("t4"), "|system:authenticated");
        assert_eq!((file.len(), file.warnings.len()), (4, 0));
    }

    #[test]
    fn only_the_whole_token_is_accepted() {
        let file = parse("secret,alice,u-1\n");
        for token in ["secre", "secrets", "Secret", " secret", "", "alice"] {
            assert!(file.find(token.as_bytes()).is_none(), "{token:?}");
        }
        assert_eq!(file.find(b"secret").unwrap().name, "alice");
    }

    #[test]
    fn the_last_of_two_equal_tokens_wins_and_empty_ones_are_skipped() {
        let file = parse("t,alice,u-1,devs\n,nobody,u-0\n\nt,bob,u-2\n");
        assert_eq!(file.find(b"t").unwrap().name, "bob");
        assert_eq!(file.len(), 1);
        assert_eq!(
            file.warnings,
            [
                "empty token has been found in token file 'tokens.csv', record number '2'",
                "duplicate token has been found in token file 'tokens.csv', record number '3'",
            ]
        );
    }

    #[test]
    fn a_file_that_is_not_understood_is_refused() {
        assert_eq!(
            failure("t,alice,u-1\nt2,bob\n"),
            "token file 'tokens.csv' must have at least 3 columns (token, user name, user uid), found 2 (record number '2')"
        );
        assert_eq!(
            failure("t,ali\"ce,u-1\n"),
            "token file 'tokens.csv' is not a valid CSV file: parse error on line 1, column 6: bare \" in non-quoted-field"
        );
        let error = TokenFile::load(Path::new("/nonexistent/tokens.csv")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read token file '/nonexistent/tokens.csv'");
    }

    #[test]
    fn an_empty_file_knows_nobody() {
        let file = parse("\n\n");
        assert!(file.is_empty());
        assert!(file.find(b"").is_none());
    }

    #[test]
    fn debug_output_shows_no_token() {
        assert_eq!(format!("{:?}", parse("secret,alice,u-1\n")), "TokenFile { tokens: 1, .. }");
    }

    #[test]
    fn many_tokens_are_told_apart() {
        let lines: Vec<String> = (0..2000).map(|n| format!("token-{n},user-{n},uid-{n}")).collect();
        let file = parse(&lines.join("\n"));
        assert_eq!(file.len(), 2000);
        for n in 0..2000 {
            assert_eq!(file.find(format!("token-{n}").as_bytes()).unwrap().name, format!("user-{n}"));
        }
    }
}
