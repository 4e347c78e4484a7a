//! The request that asks for a `WebSocket`, and the answer to it.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::respond::{self, Body};

const KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");
const PROTOCOL: HeaderName = HeaderName::from_static("sec-websocket-protocol");
const ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");

/// The version of RFC 6455.
const SUPPORTED_VERSION: &str = "13";
/// What RFC 6455 has every server add to the key.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// A browser can send no other header, so that this is where it puts its token.
const BEARER_PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

fn text(headers: &HeaderMap, name: impl header::AsHeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether a request asks for a `WebSocket`; whether it asks properly is another question.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let upgrade = |value: &HeaderValue| {
        value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("upgrade"))
    };
    text(headers, header::UPGRADE).eq_ignore_ascii_case("websocket")
        && headers.get_all(header::CONNECTION).iter().any(upgrade)
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|protocol| !protocol.is_empty())
}

/// The token that stands among the subprotocols. An error where it cannot be one.
///
/// Upstream: apiserver/pkg/authentication/request/websocket/protocol.go, v1.36.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let mut encoded = protocols(headers).filter_map(|protocol| protocol.strip_prefix(BEARER_PREFIX));
    let Some(token) = encoded.next() else { return Ok(None) };
    if encoded.next().is_some() {
        return Err("multiple base64.bearer.authorization tokens specified");
    }
    let token = URL_SAFE_NO_PAD.decode(token);
    let token = token.map_err(|_| "invalid base64.bearer.authorization token encoding")?;
    let token = String::from_utf8(token).map_err(|_| "invalid base64.bearer.authorization token")?;
    // There must be another one that the answer can name.
    if !token.is_empty() && !protocols(headers).any(|protocol| !protocol.starts_with(BEARER_PREFIX)) {
        return Err("missing additional subprotocol");
    }
    Ok(Some(token).filter(|token| !token.is_empty()))
}

/// What the client offers, read before its request is taken apart.
pub(crate) struct Handshake {
    key: String,
    version: String,
    /// `None`: there is none.
    origin: Option<String>,
    protocols: Vec<String>,
}

impl Handshake {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let origin = text(headers, header::ORIGIN);
        Handshake {
            key: text(headers, KEY).to_owned(),
            version: text(headers, VERSION).to_owned(),
            origin: (!origin.is_empty()).then(|| origin.to_owned()),
            protocols: protocols(headers)
                .filter(|protocol| !protocol.starts_with(BEARER_PREFIX))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// The answer to the client: `Ok` when the connection is a `WebSocket` from then on.
    pub(crate) fn answer(&self) -> Result<Response<Body>, Box<Response<Body>>> {
        let refuse = |code, why: &'static str| Err(Box::new(refusal(code, why)));
        if self.key.is_empty() {
            return refuse(400, "mismatch challenge/response");
        }
        if self.version != SUPPORTED_VERSION {
            let mut response = refusal(400, "missing or bad WebSocket Version");
            response.headers_mut().insert(VERSION, HeaderValue::from_static(SUPPORTED_VERSION));
            return Err(Box::new(response));
        }
        // Only browsers are expected, and they say where they come from.
        if !self.origin.as_deref().is_some_and(is_address) {
            return refuse(403, "");
        }
        if self.protocols.len() > 1 {
            return refuse(400, ""); // none of them means anything here: which one to choose?
        }
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        let values = [(ACCEPT, accept(&self.key))].into_iter();
        for (name, value) in values.chain(self.protocols.first().map(|first| (PROTOCOL, first.clone()))) {
            match HeaderValue::from_str(&value) {
                Ok(value) => headers.insert(name, value),
                Err(_) => return refuse(400, ""),
            };
        }
        Ok(response)
    }
}

/// Whether a text is an address as a request line may have it: a path, or a scheme and something behind it.
fn is_address(text: &str) -> bool {
    let scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
    };
    text.starts_with('/')
        || text.split_once(':').is_some_and(|(before, behind)| scheme(before) && behind.starts_with('/'))
}

fn refusal(code: u16, why: &'static str) -> Response<Body> {
    let mut response = respond::plain(code, "text/plain; charset=utf-8", why);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Proves to the client that its key was read by somebody who knows the protocol.
fn accept(key: &str) -> String {
    let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key.as_bytes());
    hash.update(KEY_SUFFIX.as_bytes());
    STANDARD.encode(hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let named = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(named).collect()
    }

    fn answer(pairs: &[(&'static str, &str)]) -> String {
        let mut all = vec![
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-version", "13"),
            ("origin", "https://example.com"),
        ];
        all.retain(|(name, _)| !pairs.iter().any(|(other, _)| other == name));
        all.extend_from_slice(pairs);
        all.retain(|(_, value)| !value.is_empty());
        let response = Handshake::of(&headers(&all)).answer().unwrap_or_else(|refusal| *refusal);
        let header = |name: &HeaderName| text(response.headers(), name).to_owned();
        format!("{} {} {}", response.status().as_u16(), header(&ACCEPT), header(&PROTOCOL))
            .trim_end()
            .to_owned()
    }

    #[test]
    fn a_handshake_is_answered_as_the_reference_answers_it() {
        // The example of RFC 6455.
        assert_eq!(answer(&[]), "101 s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(
            answer(&[("sec-websocket-protocol", "base64.binary.k8s.io")]),
            "101 s3pPLMBiTxaQ9kYGzzhZRbK+xOo= base64.binary.k8s.io"
        );
        assert_eq!(answer(&[("sec-websocket-protocol", "a, b")]), "400");
        assert_eq!(answer(&[("sec-websocket-key", "")]), "400");
        assert_eq!(answer(&[("sec-websocket-version", "8")]), "400");
        assert_eq!(answer(&[("origin", "")]), "403");
        assert_eq!(answer(&[("origin", "nowhere")]), "403");
    }

    #[test]
    fn a_websocket_is_wanted_by_both_headers() {
        let wanted =
            |upgrade, connection| is_wanted(&headers(&[("upgrade", upgrade), ("connection", connection)]));
        assert!(wanted("websocket", "Upgrade") && wanted("WebSocket", "keep-alive, upgrade"));
        assert!(!wanted("h2c", "Upgrade") && !wanted("websocket", "keep-alive"));
    }

    #[test]
    fn a_token_may_stand_among_the_subprotocols() {
        let token = |value: &str| bearer_token(&headers(&[("sec-websocket-protocol", value)]));
        let secret = format!("{BEARER_PREFIX}{}", URL_SAFE_NO_PAD.encode("secret"));
        assert_eq!(token("base64.binary.k8s.io"), Ok(None));
        assert_eq!(token(&format!("{secret}, x")), Ok(Some("secret".to_owned())));
        assert_eq!(token(&secret), Err("missing additional subprotocol"));
        assert_eq!(
            token(&format!("{secret},{secret},x")),
            Err("multiple base64.bearer.authorization tokens specified")
        );
        assert_eq!(
            token(&format!("{BEARER_PREFIX}%,x")),
            Err("invalid base64.bearer.authorization token encoding")
        );
    }
}
