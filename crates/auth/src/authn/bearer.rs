//! `Authorization: Bearer <token>`.
//!
//! A header of another scheme, or without a token, is as good as none. A token that nobody knows is an objection.
//!
//! Upstream: apiserver/pkg/authentication/request/bearertoken/bearertoken.go, v1.36.

use super::{Credentials, Objection, Outcome, RequestAuthenticator, TokenAuthenticator};
use crate::BoxFuture;

const EXTRA_SPACE_WARNING: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";
const INVALID_TOKEN: &str = "invalid bearer token";

/// Asks each in turn whose token it is.
///
/// Belongs into the chain even when empty: then every token is unknown, and none turns a sender into an anonymous one.
pub struct BearerTokens(pub Vec<Box<dyn TokenAuthenticator>>);

impl BearerTokens {
    async fn ask(&self, token: &[u8]) -> Outcome {
        let mut objections = Vec::new();
        for authenticator in &self.0 {
            match authenticator.authenticate(token).await {
                Ok(Some(user)) => return Ok(Some(user)),
                Ok(None) => {}
                Err(Objection(reason)) => objections.push(reason),
            }
        }
        if objections.is_empty() {
            objections.push(INVALID_TOKEN.to_owned());
        }
        Err(Objection(objections.join("; ")))
    }
}

impl RequestAuthenticator for BearerTokens {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        match credentials.authorization.map(parse) {
            Some(Header::Token(token)) => Box::pin(self.ask(token)),
            Some(Header::ExtraSpace | Header::Other) | None => crate::ready(Ok(None)),
        }
    }
}

/// What to tell the sender of a header that was ignored although a token was probably meant.
pub(super) fn warning(credentials: &Credentials<'_>) -> Option<&'static str> {
    let header = credentials.authorization.map(parse)?;
    matches!(header, Header::ExtraSpace).then_some(EXTRA_SPACE_WARNING)
}

#[derive(Debug, PartialEq)]
enum Header<'a> {
    Token(&'a [u8]),
    /// Two spaces after the scheme: the token's place is empty, something follows.
    ExtraSpace,
    Other,
}

fn parse(header: &[u8]) -> Header<'_> {
    let mut parts = header.trim_ascii().splitn(3, |&byte| byte == b' ');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(scheme), _, _) if !scheme.eq_ignore_ascii_case(b"bearer") => Header::Other,
        (_, Some(b""), Some(_)) => Header::ExtraSpace,
        (_, Some(b"") | None, _) => Header::Other,
        // What follows the token after another space is not looked at.
        (_, Some(token), _) => Header::Token(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_the_reference_reads_them() {
        for (header, expected) in [
            ("", Header::Other),
            ("Bearer", Header::Other),
            ("Bearer ", Header::Other),
            ("Bearer    ", Header::Other),
            ("Bearer t", Header::Token(b"t")),
            ("bEARER t", Header::Token(b"t")),
            ("  Bearer t  ", Header::Token(b"t")),
            ("Bearer t u v", Header::Token(b"t")),
            ("Bearer  t", Header::ExtraSpace),
            ("Bearer   t", Header::ExtraSpace),
            ("Bearer\tt", Header::Other),
            ("Bearer: t", Header::Other),
            ("Basic YTpi", Header::Other),
            ("Basic  t", Header::Other),
            ("t", Header::Other),
        ] {
            assert_eq!(parse(header.as_bytes()), expected, "{header:?}");
        }
    }

    #[test]
    fn a_token_need_not_be_text() {
        assert_eq!(parse(b"Bearer \xff\xfe"), Header::Token(b"\xff\xfe"));
    }
}
