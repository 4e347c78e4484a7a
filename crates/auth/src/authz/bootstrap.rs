//! The roles that every server starts with, as far as they concern people rather than cluster components.
//!
//! They are the reference's names, so that reasons in reviews and audit logs read the same; as objects they can be
//! neither read nor changed here.
//!
//! Upstream: kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, v1.36.

use super::rbac::{PolicyRule, StaticRules, Subject};
use crate::user::{
    ALL_AUTHENTICATED, ALL_SERVICE_ACCOUNTS, ALL_UNAUTHENTICATED, MONITORING_GROUP, PRIVILEGED_GROUP,
};

/// The rules that hold before anyone has written one.
pub fn rules() -> StaticRules {
    let mut rules = StaticRules::default();
    rules.bind(
        "cluster-admin",
        vec![resources("*", "*", &["*"]), urls("*", &["*"])],
        vec![group(PRIVILEGED_GROUP)],
    );
    rules.bind(
        "system:monitoring",
        vec![
            urls(
                "get",
                &[
                    "/metrics",
                    "/metrics/slis",
                    "/livez",
                    "/readyz",
                    "/healthz",
                    "/livez/*",
                    "/readyz/*",
                    "/healthz/*",
                ],
            ),
            resources("get", "", &["nodes/metrics"]),
        ],
        vec![group(MONITORING_GROUP)],
    );
    rules.bind(
        "system:discovery",
        vec![urls(
            "get",
            &[
                "/livez",
                "/readyz",
                "/healthz",
                "/version",
                "/version/",
                "/openapi",
                "/openapi/*",
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
            ],
        )],
        vec![group(ALL_AUTHENTICATED)],
    );
    rules.bind(
        "system:basic-user",
        vec![
            resources(
                "create",
                "authorization.k8s.io",
                &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            ),
            resources("create", "authentication.k8s.io", &["selfsubjectreviews"]),
        ],
        vec![group(ALL_AUTHENTICATED)],
    );
    rules.bind(
        "system:public-info-viewer",
        vec![urls("get", &["/livez", "/readyz", "/healthz", "/version", "/version/"])],
        vec![group(ALL_AUTHENTICATED), group(ALL_UNAUTHENTICATED)],
    );
    rules.bind(
        "system:service-account-issuer-discovery",
        vec![urls(
            "get",
            &[
                "/.well-known/openid-configuration",
                "/.well-known/openid-configuration/",
                "/openid/v1/jwks",
                "/openid/v1/jwks/",
            ],
        )],
        vec![group(ALL_SERVICE_ACCOUNTS)],
    );
    rules
}

fn group(name: &str) -> Subject {
    Subject::Group(name.to_owned())
}

fn urls(verb: &str, urls: &[&str]) -> PolicyRule {
    PolicyRule { verbs: owned(&[verb]), non_resource_urls: owned(urls), ..PolicyRule::default() }
}

fn resources(verb: &str, api_group: &str, resources: &[&str]) -> PolicyRule {
    PolicyRule {
        verbs: owned(&[verb]),
        api_groups: owned(&[api_group]),
        resources: owned(resources),
        ..PolicyRule::default()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
