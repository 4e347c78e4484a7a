//! What a refused client reads.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/responsewriters/errors.go and
//! apimachinery/pkg/api/errors/errors.go, v1.36.

use std::fmt::Write;

use super::Reason;
use crate::Attributes;
use crate::quote::Quoted;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    pub attributes: Box<Attributes>,
    pub reason: Reason,
}

/// The `details` of the Status; all empty when the request was not about a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForbiddenDetails<'a> {
    pub group: &'a str,
    /// The resource, not the kind, whatever the field is called.
    pub kind: &'a str,
    pub name: &'a str,
}

impl Forbidden {
    /// The whole message: `pods "x" is forbidden: User "alice" cannot get resource …`.
    pub fn message(&self) -> String {
        let ForbiddenDetails { group, kind, name } = self.details();
        let mut message = String::with_capacity(160);
        if !kind.is_empty() || !group.is_empty() {
            message.push_str(kind);
            if !group.is_empty() {
                message.push('.');
                message.push_str(group);
            }
            if !name.is_empty() {
                write!(message, " {}", Quoted(name)).expect("a String takes any text");
            }
            message.push_str(" is ");
        }
        message.push_str("forbidden: ");
        message.push_str(&self.refusal());
        message
    }

    pub fn details(&self) -> ForbiddenDetails<'_> {
        self.attributes.resource.as_ref().map_or(ForbiddenDetails::default(), |resource| ForbiddenDetails {
            group: &resource.group,
            kind: &resource.resource,
            name: &resource.name,
        })
    }

    /// `User "alice" cannot …`, with the authorizer's reason behind it.
    pub fn refusal(&self) -> String {
        let mut refusal = without_markup(&refused(&self.attributes));
        if let Some(reason) = self.reason.as_deref().filter(|reason| !reason.is_empty()) {
            refusal.push_str(": ");
            refusal.push_str(reason);
        }
        refusal
    }
}

fn refused(attributes: &Attributes) -> String {
    let user = Quoted(&attributes.user.name);
    let verb = &attributes.verb;
    let Some(resource) = &attributes.resource else {
        return format!("User {user} cannot {verb} path {}", Quoted(&attributes.path));
    };
    let group = Quoted(&resource.group);
    let combined = match resource.subresource.as_str() {
        "" => resource.resource.to_string(),
        subresource => format!("{}/{subresource}", resource.resource),
    };
    let what = format!("User {user} cannot {verb} resource {} in API group {group}", Quoted(&combined));
    match resource.namespace.as_str() {
        "" => format!("{what} at the cluster scope"),
        namespace => format!("{what} in the namespace {}", Quoted(namespace)),
    }
}

/// Part of the message comes from the client; a browser must not take it for HTML.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResourceAttributes, User, UserInfo};

    fn user(name: &str) -> User {
        User::new(UserInfo { name: name.to_owned(), ..UserInfo::default() })
    }

    fn path(name: &str, verb: &str, path: &str) -> Forbidden {
        let attributes =
            Attributes { user: user(name), verb: verb.into(), resource: None, path: path.into() };
        Forbidden { attributes: Box::new(attributes), reason: None }
    }

    /// `resource` as `namespace|group|resource/subresource|name`.
    fn resource(verb: &str, resource: &str) -> Forbidden {
        let parts: Vec<&str> = resource.split('|').collect();
        let (resource, subresource) = parts[2].split_once('/').unwrap_or((parts[2], ""));
        let resource = ResourceAttributes {
            namespace: parts[0].into(),
            group: parts[1].into(),
            version: "v1".into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: parts[3].into(),
        };
        let attributes = Attributes {
            user: user("alice"),
            verb: verb.into(),
            resource: Some(resource),
            path: "/not/looked/at".into(),
        };
        Forbidden { attributes: Box::new(attributes), reason: None }
    }

    #[test]
    fn messages_are_those_of_the_reference() {
        // Recorded from kube-apiserver v1.36.
        for (verb, what, message) in [
            (
                "list",
                "ns||configmaps|",
                r#"configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "ns""#,
            ),
            (
                "get",
                "ns||configmaps|x",
                r#"configmaps "x" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "ns""#,
            ),
            (
                "list",
                "||configmaps|",
                r#"configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" at the cluster scope"#,
            ),
            (
                "deletecollection",
                "ns||configmaps|",
                r#"configmaps is forbidden: User "alice" cannot deletecollection resource "configmaps" in API group "" in the namespace "ns""#,
            ),
            (
                "get",
                "|apiextensions.k8s.io|customresourcedefinitions|x.y",
                r#"customresourcedefinitions.apiextensions.k8s.io "x.y" is forbidden: User "alice" cannot get resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope"#,
            ),
            (
                "update",
                "default|example.com|widgets/scale|a",
                r#"widgets.example.com "a" is forbidden: User "alice" cannot update resource "widgets/scale" in API group "example.com" in the namespace "default""#,
            ),
            (
                "update",
                "ns||namespaces/finalize|ns",
                r#"namespaces "ns" is forbidden: User "alice" cannot update resource "namespaces/finalize" in API group "" in the namespace "ns""#,
            ),
        ] {
            assert_eq!(resource(verb, what).message(), message);
        }
        for (name, verb, at, message) in [
            ("alice", "post", "/version", r#"forbidden: User "alice" cannot post path "/version""#),
            ("system:anonymous", "get", "/", r#"forbidden: User "system:anonymous" cannot get path "/""#),
        ] {
            assert_eq!(path(name, verb, at).message(), message);
        }
    }

    #[test]
    fn details_name_the_resource_or_nothing() {
        let details = ForbiddenDetails { group: "example.com", kind: "widgets", name: "a" };
        assert_eq!(resource("get", "ns|example.com|widgets/status|a").details(), details);
        assert_eq!(path("alice", "get", "/metrics").details(), ForbiddenDetails::default());
    }

    #[test]
    fn a_reason_follows_the_message() {
        let mut forbidden = path("alice", "get", "/x");
        forbidden.reason = Some("RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found".into());
        assert_eq!(
            forbidden.message(),
            "forbidden: User \"alice\" cannot get path \"/x\": RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found"
        );
        forbidden.reason = Some("".into());
        assert_eq!(forbidden.message(), "forbidden: User \"alice\" cannot get path \"/x\"");
    }

    #[test]
    fn what_the_client_sent_cannot_pass_for_html() {
        assert_eq!(
            path("<b>&", "get", "/<script>\n").message(),
            r#"forbidden: User "&lt;b&gt;&amp;" cannot get path "/&lt;script&gt;\n""#
        );
    }
}
