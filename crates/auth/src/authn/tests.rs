//! The chain as a server has it: certificates, then tokens, then nobody in particular.

use std::task::{Context, Poll, Waker};

use super::*;
use crate::UserInfo;

fn chain(anonymous: Option<Anonymous>) -> Authenticator {
    let tokens = TokenFile::parse("tokens.csv", b"good,alice,u-1,devs\n").unwrap();
    let tokens = BearerTokens(vec![Box::new(tokens)]);
    Authenticator::new(vec![Box::new(ClientCertificates), Box::new(tokens)], anonymous)
}

/// Nothing here waits for anything.
fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("an authenticator without a remote side waited"),
    }
}

/// The user's name, or `401` and the reasons; then the warning.
fn ask(authenticator: &Authenticator, credentials: Credentials<'_>) -> String {
    match now(authenticator.authenticate(&credentials)) {
        Ok(Authenticated { user, warning: None }) => format!("{} {}", user.name, user.groups.join(",")),
        Ok(Authenticated { user, warning: Some(warning) }) => format!("{} ({warning})", user.name),
        Err(unauthorized) => format!("401 {unauthorized}"),
    }
}

fn header(authorization: &str) -> Credentials<'_> {
    Credentials { authorization: Some(authorization.as_bytes()), ..Credentials::default() }
}

fn certificate() -> ClientCertificate {
    let info = UserInfo { name: "carol".to_owned(), ..UserInfo::default() };
    ClientCertificate::Verified(Some(User::new(info)))
}

const NOBODY: &str = "system:anonymous system:unauthenticated";

#[test]
fn no_credentials_are_anonymous() {
    let chain = chain(Some(Anonymous::everywhere()));
    assert_eq!(ask(&chain, Credentials::default()), NOBODY);
    for ignored in ["Basic YTpi", "Bearer", "Bearer ", "good"] {
        assert_eq!(ask(&chain, header(ignored)), NOBODY, "{ignored:?}");
    }
}

#[test]
fn a_token_is_its_user_or_401() {
    let chain = chain(Some(Anonymous::everywhere()));
    assert_eq!(ask(&chain, header("Bearer good")), "alice devs,system:authenticated");
    assert_eq!(ask(&chain, header("bearer good")), "alice devs,system:authenticated");
    assert_eq!(ask(&chain, header("Bearer wrong")), "401 invalid bearer token");
}

#[test]
fn a_token_after_two_spaces_is_ignored_aloud() {
    assert_eq!(
        ask(&chain(Some(Anonymous::everywhere())), header("Bearer  good")),
        "system:anonymous (the provided Authorization header contains extra space before the bearer token, and is ignored)"
    );
}

#[test]
fn without_a_token_file_every_token_is_wrong() {
    let chain = Authenticator::new(vec![Box::new(BearerTokens(Vec::new()))], Some(Anonymous::everywhere()));
    assert_eq!(ask(&chain, header("Bearer any")), "401 invalid bearer token");
}

#[test]
fn a_certificate_comes_before_a_token() {
    let chain = chain(Some(Anonymous::everywhere()));
    let certificate = certificate();
    let with =
        |authorization| Credentials { client_certificate: Some(&certificate), authorization, path: "/" };
    assert_eq!(ask(&chain, with(None)), "carol system:authenticated");
    assert_eq!(ask(&chain, with(Some(b"Bearer good"))), "carol system:authenticated");
    assert_eq!(ask(&chain, with(Some(b"Bearer wrong"))), "carol system:authenticated");
}

#[test]
fn a_bad_certificate_is_401_unless_a_token_is_good() {
    let chain = chain(Some(Anonymous::everywhere()));
    let certificate = ClientCertificate::rejected("expired");
    let with =
        |authorization| Credentials { client_certificate: Some(&certificate), authorization, path: "/" };
    assert_eq!(ask(&chain, with(None)), "401 expired");
    assert_eq!(ask(&chain, with(Some(b"Basic x"))), "401 expired");
    assert_eq!(ask(&chain, with(Some(b"Bearer wrong"))), "401 expired; invalid bearer token");
    assert_eq!(ask(&chain, with(Some(b"Bearer good"))), "alice devs,system:authenticated");
}

#[test]
fn a_certificate_that_names_nobody_is_no_credential() {
    let certificate = ClientCertificate::Verified(None);
    let credentials = Credentials { client_certificate: Some(&certificate), ..Credentials::default() };
    assert_eq!(ask(&chain(Some(Anonymous::everywhere())), credentials), NOBODY);
}

#[test]
fn anonymous_can_be_closed_or_kept_to_paths() {
    let closed = "401 no credentials were given and anonymous requests are not allowed";
    assert_eq!(ask(&chain(None), Credentials::default()), closed);
    let some = chain(Some(Anonymous::only_on(vec!["/healthz".to_owned()])));
    let at = |path| Credentials { path, ..Credentials::default() };
    assert_eq!(ask(&some, at("/healthz")), NOBODY);
    assert_eq!(ask(&some, at("/healthz/etcd")), closed);
    assert_eq!(ask(&some, at("/api")), closed);
}

#[test]
fn wrong_credentials_do_not_become_anonymous_on_an_open_path() {
    let some = chain(Some(Anonymous::only_on(vec!["/healthz".to_owned()])));
    let credentials = Credentials { path: "/healthz", ..header("Bearer wrong") };
    assert_eq!(ask(&some, credentials), "401 invalid bearer token");
}
