//! The text that says where the next page of a list starts, in the reference's encoding.
//!
//! Upstream: apiserver/pkg/storage/continue.go, v1.36.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, NO_PAD};
use meta::{Map, Value, wire::json};
use store::Revision;

const VERSION: &str = "meta.k8s.io/v1";

/// Go's decoder overlooks bits that a last character has too many; so do we.
const LENIENT: GeneralPurposeConfig = NO_PAD.with_decode_allow_trailing_bits(true);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

/// Where a list goes on, and at which state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinueToken {
    /// `None`: at the newest state, because the one the list began with is gone.
    pub revision: Option<Revision>,
    /// The first key of the page, below the part of the resource that is listed.
    pub start: String,
}

/// Why a token is not one; the text is the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("continue key is not valid: {0}")]
pub struct TokenError(String);

/// An inconsistent continuation carries this instead of a revision.
const NEWEST: i64 = -1;

impl ContinueToken {
    /// The token behind `last`, the last key of a page.
    pub fn behind(revision: Option<Revision>, last: &str) -> Self {
        ContinueToken { revision, start: format!("{last}\0") }
    }

    pub fn encode(&self) -> String {
        let revision = self.revision.map_or(NEWEST, |revision| revision.0.cast_signed());
        let token: Map = [
            ("v", Value::from(VERSION)),
            ("rv", Value::Int(revision)),
            ("start", Value::from(self.start.as_str())),
        ]
        .into_iter()
        .collect();
        URL_SAFE.encode(json::to_vec(&Value::Object(token)))
    }

    pub fn decode(text: &str) -> Result<Self, TokenError> {
        let error = |detail: String| TokenError(detail);
        let bytes = URL_SAFE.decode(text).map_err(|_| error(base64_error(text)))?;
        let token = json::parse(&bytes).map_err(|cause| error(cause.to_string()))?.value;
        check_types(&token).map_err(error)?;
        let version = token.get("v").and_then(Value::as_str).unwrap_or_default();
        if version != VERSION {
            return Err(error(format!("server does not recognize this encoded version {version}")));
        }
        let revision = match token.get("rv").and_then(Value::as_int).unwrap_or(0) {
            0 => return Err(error(format!("incorrect encoded start resourceVersion (version {VERSION})"))),
            ..=-1 => None,
            revision => Some(Revision(revision.cast_unsigned())),
        };
        let start = token.get("start").and_then(Value::as_str).unwrap_or_default();
        if start.is_empty() {
            return Err(error(format!("encoded start key empty (version {VERSION})")));
        }
        if climbs(start) {
            return Err(error(start.to_owned()));
        }
        Ok(ContinueToken { revision, start: start.trim_start_matches('/').to_owned() })
    }
}

/// Complains of what Go's decoder complains of. An absent or empty member is no complaint.
fn check_types(token: &Value) -> Result<(), String> {
    let named = |value: &Value| match value {
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) | Value::Null => "object",
    };
    if !matches!(token, Value::Object(_) | Value::Null) {
        let found = named(token);
        return Err(format!("json: cannot unmarshal {found} into Go value of type storage.continueToken"));
    }
    for (member, go_type) in [("v", "string"), ("rv", "int64"), ("start", "string")] {
        match (token.get(member), go_type) {
            (None | Some(Value::Null), _)
            | (Some(Value::String(_)), "string")
            | (Some(Value::Int(_)), "int64") => {}
            (Some(value), _) => {
                let mut found = named(value).to_owned();
                if let (Value::Float(_), "int64") = (value, go_type) {
                    found = format!("number {}", json::to_string(value));
                }
                return Err(format!(
                    "json: cannot unmarshal {found} into Go struct field continueToken.{member} of type {go_type}"
                ));
            }
        }
    }
    Ok(())
}

/// Whether a path would be another one after cleaning: it must not reach outside of what is listed.
fn climbs(start: &str) -> bool {
    let path = start.strip_prefix('/').unwrap_or(start);
    let segments = path.split('/');
    segments.clone().any(|segment| matches!(segment, "" | "." | ".."))
}

/// Where Go's decoder stops: at the first letter that is none, or at one that stands alone at the end.
fn base64_error(text: &str) -> String {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let offset = text.bytes().position(|byte| !is_letter(&byte)).unwrap_or(text.len() / 4 * 4);
    format!("illegal base64 data at input byte {offset}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_way_to_the_client_and_back() {
        for revision in [Some(Revision(7)), None] {
            let token = ContinueToken::behind(revision, "default/n1");
            assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        }
        let far_below = URL_SAFE.encode(r#"{"v":"meta.k8s.io/v1","rv":-7,"start":"/a"}"#);
        let newest = ContinueToken { revision: None, start: "a".to_owned() };
        assert_eq!(ContinueToken::decode(&far_below), Ok(newest));
    }

    #[test]
    fn what_is_no_token_is_refused_in_the_references_words() {
        let check = |text: &str, expected: &str| {
            assert_eq!(ContinueToken::decode(text).unwrap_err().to_string(), expected);
        };
        let encode = |text: &str| URL_SAFE.encode(text);
        check(
            "garbage",
            "continue key is not valid: invalid character '\\u0081' looking for beginning of value",
        );
        for (text, offset) in [("%%%", 0), ("a", 0), ("abcde", 4), ("ab=", 2), ("YQ==", 2), ("abc=d", 3)] {
            check(text, &format!("continue key is not valid: illegal base64 data at input byte {offset}"));
        }
        check(
            &encode(r#"{"v":"x","rv":1,"start":"a"}"#),
            "continue key is not valid: server does not recognize this encoded version x",
        );
        check(&encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}"#), "continue key is not valid: ../a");
        check(
            &encode("[1]"),
            "continue key is not valid: json: cannot unmarshal array into Go value of type storage.continueToken",
        );
        check(
            &encode(r#"{"v":1}"#),
            "continue key is not valid: json: cannot unmarshal number into Go struct field continueToken.v of type string",
        );
        check(
            &encode(r#"{"v":"meta.k8s.io/v1","rv":1.5}"#),
            "continue key is not valid: json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
        );
        check(
            &encode(r#"{"v":"meta.k8s.io/v1","rv":"1"}"#),
            "continue key is not valid: json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        );
        check(&encode("null"), "continue key is not valid: server does not recognize this encoded version ");
        check(
            &encode(r#"{"v":"meta.k8s.io/v1","start":"a"}"#),
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        );
        check(&encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a/"}"#), "continue key is not valid: a/");
        check(
            &encode(r#"{"v":"meta.k8s.io/v1","rv":1}"#),
            "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
        );
    }
}
