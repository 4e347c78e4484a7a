//! Who asks, and may they: authenticators and authorizers.
//!
//! A request's [`Credentials`](authn::Credentials) become a [`User`] in [`authn`]; the user and what is asked for are
//! [`Attributes`], which [`authz`] turns into a [`Permitted`], the proof that a write needs.
//! Knows neither HTTP types nor storage: rules and reviewers reach it through traits that `server` plugs in.

pub mod attributes;
pub mod authn;
pub mod authz;
mod quote;
pub mod user;

use std::pin::Pin;

pub use attributes::{Attributes, ResourceAttributes};
pub use authz::{Authorizer, Decision, Permitted};
pub use user::{User, UserInfo};

/// What a trait method returns that may have to ask another server.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An answer that is already known, in the shape of one that is not.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}
