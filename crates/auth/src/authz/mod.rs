//! May they: authorizers, and the proof that one said yes.
//!
//! A [`Union`] asks its authorizers in order; the first that allows or denies decides. The server's own is
//! [`standard`]: `system:masters` may do everything, the rest is up to role rules.
//!
//! Upstream: apiserver/pkg/authorization/union/union.go and …/endpoints/filters/authorization.go, v1.36.

pub mod bootstrap;
mod forbidden;
pub mod rbac;

use std::sync::Arc;

pub use forbidden::{Forbidden, ForbiddenDetails};
pub use rbac::{Rbac, RuleSource};

use crate::user::PRIVILEGED_GROUP;
use crate::{Attributes, BoxFuture, User};

/// Why, for the audit log and for reviews; what follows a refusal's message for the client.
pub type Reason = Option<Arc<str>>;

/// What an authorizer says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow(Reason),
    /// Nobody further is asked.
    Deny(Reason),
    /// The next one is asked; after the last it is a refusal.
    NoOpinion(Reason),
    /// It could not find out. The next one is asked, but if nobody allows the request it fails with this.
    Failed(String),
}

/// Judges requests.
pub trait Authorizer: Send + Sync {
    fn authorize<'a>(&'a self, attributes: &'a Attributes) -> BoxFuture<'a, Decision>;
}

impl<T: Authorizer + ?Sized> Authorizer for Arc<T> {
    fn authorize<'a>(&'a self, attributes: &'a Attributes) -> BoxFuture<'a, Decision> {
        (**self).authorize(attributes)
    }
}

/// Asks several in turn.
pub struct Union(pub Vec<Box<dyn Authorizer>>);

impl Union {
    async fn ask(&self, attributes: &Attributes) -> Decision {
        let mut reasons: Vec<Arc<str>> = Vec::new();
        let mut errors = Vec::new();
        for authorizer in &self.0 {
            match authorizer.authorize(attributes).await {
                Decision::NoOpinion(reason) => reasons.extend(reason),
                Decision::Failed(error) => errors.push(error),
                decided @ (Decision::Allow(_) | Decision::Deny(_)) => return decided,
            }
        }
        match (aggregate(errors), reasons.len()) {
            (Some(error), _) => Decision::Failed(error),
            (None, 0 | 1) => Decision::NoOpinion(reasons.pop()),
            (None, _) => Decision::NoOpinion(Some(reasons.join("\n").into())),
        }
    }
}

impl Authorizer for Union {
    fn authorize<'a>(&'a self, attributes: &'a Attributes) -> BoxFuture<'a, Decision> {
        Box::pin(self.ask(attributes))
    }
}

/// Allows everything to the members of `system:masters`, so that no rule can lock everyone out.
pub struct PrivilegedGroup;

impl Authorizer for PrivilegedGroup {
    fn authorize<'a>(&'a self, attributes: &'a Attributes) -> BoxFuture<'a, Decision> {
        crate::ready(if attributes.user.is_in(PRIVILEGED_GROUP) {
            Decision::Allow(None)
        } else {
            Decision::NoOpinion(None)
        })
    }
}

/// `system:masters`, then the rules of `sources`.
pub fn standard(sources: Vec<Box<dyn RuleSource>>) -> Union {
    Union(vec![Box::new(PrivilegedGroup), Box::new(Rbac::new(sources))])
}

/// The proof that an authorizer allowed a request, and what exactly it allowed.
///
/// Invariant: only [`permit`] makes one, after an [`Authorizer`] said [`Decision::Allow`].
#[derive(Clone, Debug)]
pub struct Permitted {
    attributes: Attributes,
    reason: Reason,
}

impl Permitted {
    /// The acting user.
    pub fn user(&self) -> &User {
        &self.attributes.user
    }

    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Why it was allowed, for the audit log.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// Why there is no [`Permitted`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 403.
    Forbidden(Forbidden),
    /// 500: an authorizer broke, and no other allowed the request.
    Failed(String),
}

/// Asks `authorizer`.
pub async fn permit(authorizer: &dyn Authorizer, attributes: Attributes) -> Result<Permitted, Refusal> {
    match authorizer.authorize(&attributes).await {
        Decision::Allow(reason) => Ok(Permitted { attributes, reason }),
        Decision::Deny(reason) | Decision::NoOpinion(reason) => {
            Err(Refusal::Forbidden(Forbidden { attributes: Box::new(attributes), reason }))
        }
        Decision::Failed(error) => Err(Refusal::Failed(error)),
    }
}

/// Several errors as one text, each once: `one` or `[one, two]`.
fn aggregate(mut errors: Vec<String>) -> Option<String> {
    let mut seen = 0;
    while seen < errors.len() {
        if errors[..seen].contains(&errors[seen]) {
            errors.remove(seen);
        } else {
            seen += 1;
        }
    }
    match errors.len() {
        0 | 1 => errors.pop(),
        _ => Some(format!("[{}]", errors.join(", "))),
    }
}

#[cfg(test)]
mod tests;
