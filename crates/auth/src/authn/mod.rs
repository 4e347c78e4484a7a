//! From credentials to a user: the chain of authenticators.
//!
//! Every authenticator is asked in order until one knows the user. One that does not recognise the credentials has no
//! opinion; one that recognises them as wrong objects. An objection does not stop the others, but when nobody accepts
//! it makes the request unauthorized: wrong credentials never become anonymous.
//!
//! Service accounts, OIDC and webhooks come as further [`TokenAuthenticator`]s, the front proxy's headers as a
//! [`RequestAuthenticator`] at the head of the chain.
//!
//! Upstream: kubernetes/pkg/kubeapiserver/authenticator/config.go and
//! apiserver/pkg/authentication/request/union/union.go, v1.36.

pub mod anonymous;
pub mod bearer;
mod csv;
pub mod token_file;
pub mod x509;

use std::fmt;

pub use anonymous::Anonymous;
pub use bearer::BearerTokens;
pub use token_file::TokenFile;
pub use x509::{ClientCertificate, ClientCertificates};

use crate::{BoxFuture, User};

/// What a request shows of its sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'a> {
    /// The connection's client certificate, judged once per connection.
    pub client_certificate: Option<&'a ClientCertificate>,
    /// The first `Authorization` header. Bytes, because a header need not be text.
    pub authorization: Option<&'a [u8]>,
    /// The URL's path: anonymous access may be limited to some.
    pub path: &'a str,
}

/// `Ok(None)` is no opinion.
pub type Outcome = Result<Option<User>, Objection>;

/// Finds the user of a request.
pub trait RequestAuthenticator: Send + Sync {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome>;
}

/// Finds the user of a bearer token. The token is never empty.
pub trait TokenAuthenticator: Send + Sync {
    fn authenticate<'a>(&'a self, token: &'a [u8]) -> BoxFuture<'a, Outcome>;
}

/// Why credentials were not accepted. For the log; holds no secret. The client reads only `Unauthorized`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Objection(pub String);

/// A user, and what to tell the client about the credentials it sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    pub user: User,
    /// For a `Warning` header.
    pub warning: Option<&'static str>,
}

/// Nobody accepted the credentials: 401. The reasons are for the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unauthorized {
    pub reasons: Vec<Objection>,
}

impl fmt::Display for Unauthorized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reasons.as_slice() {
            [] => f.write_str("no credentials were given and anonymous requests are not allowed"),
            [first, rest @ ..] => {
                write!(f, "{first}")?;
                rest.iter().try_for_each(|reason| write!(f, "; {reason}"))
            }
        }
    }
}

impl std::error::Error for Unauthorized {}

/// The whole chain.
pub struct Authenticator {
    chain: Vec<Box<dyn RequestAuthenticator>>,
    anonymous: Option<Anonymous>,
}

impl Authenticator {
    /// `chain` in the order of asking; `anonymous` for requests that nobody has an opinion about.
    pub fn new(chain: Vec<Box<dyn RequestAuthenticator>>, anonymous: Option<Anonymous>) -> Self {
        Authenticator { chain, anonymous }
    }

    pub async fn authenticate(&self, credentials: &Credentials<'_>) -> Result<Authenticated, Unauthorized> {
        let mut reasons = Vec::new();
        for authenticator in &self.chain {
            match authenticator.authenticate(credentials).await {
                Ok(Some(user)) => {
                    return Ok(Authenticated { user: user.into_authenticated(), warning: None });
                }
                Ok(None) => {}
                Err(objection) => reasons.push(objection),
            }
        }
        let anonymous = self.anonymous.as_ref().filter(|_| reasons.is_empty());
        match anonymous.and_then(|anonymous| anonymous.user(credentials)) {
            Some(user) => Ok(Authenticated { user, warning: bearer::warning(credentials) }),
            None => Err(Unauthorized { reasons }),
        }
    }
}

#[cfg(test)]
mod tests;
