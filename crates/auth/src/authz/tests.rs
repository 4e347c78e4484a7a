//! The union, the privileged group, the rules every server starts with, and the proof.

use std::task::{Context, Poll, Waker};

use super::*;
use crate::{ResourceAttributes, UserInfo};

fn now<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("an authorizer without a remote side waited"),
    }
}

fn user(name: &str, groups: &[&str]) -> User {
    User::new(UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..UserInfo::default()
    })
}

fn path(user: &User, verb: &str, path: &str) -> Attributes {
    Attributes { user: user.clone(), verb: verb.into(), resource: None, path: path.into() }
}

fn resource(user: &User, verb: &str, group: &str, resource: &str) -> Attributes {
    let resource = ResourceAttributes {
        group: group.into(),
        resource: resource.into(),
        ..ResourceAttributes::default()
    };
    Attributes { user: user.clone(), verb: verb.into(), resource: Some(resource), path: "/".into() }
}

struct Says(Decision);

impl Authorizer for Says {
    fn authorize<'a>(&'a self, _: &'a Attributes) -> BoxFuture<'a, Decision> {
        crate::ready(self.0.clone())
    }
}

fn union(decisions: &[Decision]) -> Decision {
    let authorizers =
        decisions.iter().map(|decision| Box::new(Says(decision.clone())) as Box<dyn Authorizer>);
    let attributes = path(&User::anonymous(), "get", "/");
    now(Union(authorizers.collect()).authorize(&attributes))
}

#[test]
fn the_first_decision_of_a_union_counts() {
    use Decision::{Allow, Deny, Failed, NoOpinion};
    let why = |text: &str| Some(Arc::from(text));
    let failed = |text: &str| Failed(text.to_owned());
    for (decisions, expected) in [
        (vec![], NoOpinion(None)),
        (vec![NoOpinion(None), Allow(why("b")), Deny(None)], Allow(why("b"))),
        (vec![NoOpinion(why("a")), Deny(why("b")), Allow(None)], Deny(why("b"))),
        (vec![NoOpinion(why("a")), NoOpinion(None)], NoOpinion(why("a"))),
        (vec![NoOpinion(why("a")), NoOpinion(why("b"))], NoOpinion(why("a\nb"))),
        (vec![failed("x"), Allow(None)], Allow(None)),
        (vec![failed("x"), NoOpinion(why("a"))], failed("x")),
        (vec![failed("x"), failed("y"), failed("x")], failed("[x, y]")),
    ] {
        assert_eq!(union(&decisions), expected, "{decisions:?}");
    }
}

fn may(attributes: Attributes) -> Result<Option<String>, String> {
    let authorizer = standard(vec![Box::new(bootstrap::rules())]);
    match now(permit(&authorizer, attributes)) {
        Ok(permitted) => Ok(permitted.reason().map(str::to_owned)),
        Err(Refusal::Forbidden(forbidden)) => Err(forbidden.message()),
        Err(Refusal::Failed(error)) => panic!("{error}"),
    }
}

#[test]
fn masters_may_do_everything() {
    let admin = user("admin", &["system:masters", "system:authenticated"]);
    assert_eq!(
        may(resource(&admin, "delete", "apiextensions.k8s.io", "customresourcedefinitions")),
        Ok(None)
    );
    assert_eq!(may(path(&admin, "post", "/anything")), Ok(None));
    assert_eq!(may(path(&User::api_server(), "post", "/anything")), Ok(None));
    let named_like_it = user("system:masters", &[]);
    assert!(may(path(&named_like_it, "post", "/anything")).is_err());
}

#[test]
fn everyone_with_credentials_may_discover_and_ask_about_themselves() {
    let alice = user("alice", &["system:authenticated"]);
    for open in [
        "/api",
        "/api/",
        "/api/v1",
        "/apis",
        "/apis/example.com/v1",
        "/openapi",
        "/openapi/v3/apis/x",
        "/version",
        "/version/",
        "/healthz",
        "/livez",
        "/readyz",
    ] {
        let reason = may(path(&alice, "get", open)).unwrap();
        assert_eq!(
            reason.as_deref(),
            Some(
                r#"RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated""#
            ),
            "{open}"
        );
    }
    for closed in ["/metrics", "/", "/logs", "/healthz/etcd", "/livez/ping", "/apisx", "/version/x"] {
        assert_eq!(
            may(path(&alice, "get", closed)),
            Err(format!("forbidden: User \"alice\" cannot get path \"{closed}\""))
        );
    }
    assert!(may(path(&alice, "post", "/version")).is_err());
    for (group, review) in [
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
    ] {
        assert!(may(resource(&alice, "create", group, review)).is_ok(), "{review}");
        assert!(may(resource(&alice, "get", group, review)).is_err(), "{review}");
        assert!(may(resource(&User::anonymous(), "create", group, review)).is_err(), "{review}");
    }
    assert!(may(resource(&alice, "create", "authorization.k8s.io", "subjectaccessreviews")).is_err());
    assert!(may(resource(&alice, "list", "", "configmaps")).is_err());
}

#[test]
fn without_credentials_only_health_and_version_are_open() {
    let nobody = User::anonymous();
    for open in ["/healthz", "/livez", "/readyz", "/version", "/version/"] {
        assert!(may(path(&nobody, "get", open)).is_ok(), "{open}");
    }
    for closed in ["/", "/api", "/apis", "/openapi/v2", "/metrics", "/healthz/etcd"] {
        assert_eq!(
            may(path(&nobody, "get", closed)),
            Err(format!("forbidden: User \"system:anonymous\" cannot get path \"{closed}\""))
        );
    }
    assert!(may(path(&nobody, "head", "/healthz")).is_err());
}

#[test]
fn monitors_may_read_metrics_and_single_checks() {
    let monitor = user("prometheus", &["system:monitoring", "system:authenticated"]);
    for open in ["/metrics", "/metrics/slis", "/healthz/etcd", "/livez/ping", "/readyz/"] {
        assert!(may(path(&monitor, "get", open)).is_ok(), "{open}");
    }
    assert!(may(path(&monitor, "get", "/metrics/cadvisor")).is_err());
}

#[test]
fn the_proof_says_who_and_what() {
    let admin = user("admin", &["system:masters"]);
    let attributes = resource(&admin, "create", "example.com", "widgets");
    let permitted = now(permit(&standard(Vec::new()), attributes.clone())).unwrap();
    assert_eq!(permitted.user().name, "admin");
    assert_eq!(*permitted.attributes(), attributes);
    assert_eq!(permitted.reason(), None);
}

#[test]
fn a_broken_authorizer_is_not_a_refusal() {
    let broken = Says(Decision::Failed("no connection".to_owned()));
    let attributes = path(&User::anonymous(), "get", "/");
    let refusal = now(permit(&broken, attributes.clone())).unwrap_err();
    assert_eq!(refusal, Refusal::Failed("no connection".to_owned()));
    let denied = Says(Decision::Deny(Some("closed today".into())));
    let Refusal::Forbidden(forbidden) = now(permit(&denied, attributes)).unwrap_err() else {
        panic!("a denial is a refusal");
    };
    assert_eq!(
        forbidden.message(),
        r#"forbidden: User "system:anonymous" cannot get path "/": closed today"#
    );
}
