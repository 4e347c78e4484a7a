//! Role based access control: which rules a user has, and whether one of them covers a request.
//!
//! Where the rules come from is a [`RuleSource`]'s business; [`StaticRules`] holds the ones that are always there.
//! Rules only ever allow, so an error in finding some of them matters only when the others do not suffice.
//!
//! Upstream: kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go, `pkg/apis/rbac/v1/evaluation_helpers.go` and
//! pkg/registry/rbac/validation/rule.go, v1.36.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Authorizer, Decision, aggregate};
use crate::quote::Quoted;
use crate::{Attributes, BoxFuture, ResourceAttributes, User};

const ALL: &str = "*";
const ALLOWED_BY: &str = "RBAC: allowed by ";

/// One rule of a role: these verbs on these resources or these paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyRule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    /// `widgets`, `widgets/status`, `*/status` or `*`.
    pub resources: Vec<String>,
    /// Empty: every name, and requests without one.
    pub resource_names: Vec<String>,
    /// `/healthz`, `/healthz/*` or `*`.
    pub non_resource_urls: Vec<String>,
}

impl PolicyRule {
    pub fn allows(&self, attributes: &Attributes) -> bool {
        has_or_all(&self.verbs, &attributes.verb)
            && match &attributes.resource {
                Some(resource) => self.covers_resource(resource),
                None => self.non_resource_urls.iter().any(|url| covers_path(url, &attributes.path)),
            }
    }

    fn covers_resource(&self, asked: &ResourceAttributes) -> bool {
        has_or_all(&self.api_groups, &asked.group)
            && self.resources.iter().any(|rule| covers_kind(rule, &asked.resource, &asked.subresource))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|name| *name == asked.name))
    }
}

fn has_or_all(rule: &[String], asked: &str) -> bool {
    rule.iter().any(|own| own == ALL || own == asked)
}

/// `widgets` does not cover `widgets/status`; `*` covers both, `*/status` that subresource of everything.
fn covers_kind(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == ALL {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    let wanted = rule.strip_suffix(subresource).and_then(|rule| rule.strip_suffix('/'));
    wanted.is_some_and(|rule| rule == resource || rule == ALL)
}

fn covers_path(rule: &str, path: &str) -> bool {
    rule == ALL || rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

/// Whom a binding is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    User(String),
    Group(String),
    ServiceAccount {
        /// Empty: the namespace of the binding.
        namespace: String,
        name: String,
    },
}

impl Subject {
    /// `namespace` is the binding's, empty for one at the cluster scope.
    pub fn is(&self, user: &User, namespace: &str) -> bool {
        match self {
            Subject::User(name) => *name == user.name,
            Subject::Group(group) => user.is_in(group),
            Subject::ServiceAccount { namespace: own, name } => {
                let namespace = if own.is_empty() { namespace } else { own };
                !namespace.is_empty() && is_service_account(&user.name, namespace, name)
            }
        }
    }

    /// As it stands in an [`Origin`].
    fn describe(&self, namespace: &str) -> String {
        match self {
            Subject::User(name) => format!("User {}", Quoted(name)),
            Subject::Group(name) => format!("Group {}", Quoted(name)),
            Subject::ServiceAccount { namespace: own, name } => {
                let namespace = if own.is_empty() { namespace } else { own };
                format!("ServiceAccount {}", Quoted(&format!("{name}/{namespace}")))
            }
        }
    }
}

fn is_service_account(user: &str, namespace: &str, name: &str) -> bool {
    let rest = user.strip_prefix("system:serviceaccount:");
    let rest = rest.and_then(|rest| rest.strip_prefix(namespace)).and_then(|rest| rest.strip_prefix(':'));
    rest == Some(name)
}

/// Where a rule comes from, as the audit log and access reviews tell it. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// With [`ALLOWED_BY`] in front: it is made once, and used whole whenever a request is allowed.
    reason: Arc<str>,
}

/// The role that a binding gives.
#[derive(Clone, Copy, Debug)]
pub struct RoleName<'a> {
    pub kind: &'a str,
    pub name: &'a str,
}

impl Origin {
    pub fn cluster_role_binding(binding: &str, role: RoleName<'_>, subject: &Subject) -> Self {
        Origin::of("ClusterRoleBinding", binding, role, &subject.describe(""))
    }

    pub fn role_binding(namespace: &str, binding: &str, role: RoleName<'_>, subject: &Subject) -> Self {
        Origin::of("RoleBinding", &format!("{binding}/{namespace}"), role, &subject.describe(namespace))
    }

    fn of(kind: &str, binding: &str, role: RoleName<'_>, subject: &str) -> Self {
        let (binding, role_name) = (Quoted(binding), Quoted(role.name));
        let reason = format!("{ALLOWED_BY}{kind} {binding} of {} {role_name} to {subject}", role.kind);
        Origin { reason: reason.into() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason[ALLOWED_BY.len()..])
    }
}

/// A rule that a user has.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    pub rule: &'a PolicyRule,
    pub origin: &'a Origin,
}

/// Called with each grant, or with what went wrong in finding some.
pub type Visitor<'a> = dyn FnMut(Result<Grant<'_>, String>) -> ControlFlow<()> + 'a;

/// Knows the rules of users.
pub trait RuleSource: Send + Sync {
    /// Visits the rules that hold for `user` at the cluster scope and, unless `namespace` is empty, in `namespace`,
    /// until the visitor breaks.
    fn visit(&self, user: &User, namespace: &str, visitor: &mut Visitor<'_>) -> ControlFlow<()>;
}

impl<T: RuleSource + ?Sized> RuleSource for Arc<T> {
    fn visit(&self, user: &User, namespace: &str, visitor: &mut Visitor<'_>) -> ControlFlow<()> {
        (**self).visit(user, namespace, visitor)
    }
}

/// Allows what the rules of its sources allow; never denies.
pub struct Rbac {
    sources: Vec<Box<dyn RuleSource>>,
}

impl Rbac {
    pub fn new(sources: Vec<Box<dyn RuleSource>>) -> Self {
        Rbac { sources }
    }

    /// Every rule of a user, and what went wrong in finding them; for rule reviews and escalation checks.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<PolicyRule>, Option<String>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        let flow = self.visit(user, namespace, &mut |grant| {
            match grant {
                Ok(grant) => rules.push(grant.rule.clone()),
                Err(error) => errors.push(error),
            }
            ControlFlow::Continue(())
        });
        debug_assert!(flow.is_continue(), "this visitor never breaks");
        (rules, aggregate(errors))
    }

    /// The decision, without waiting for anything.
    pub fn decide(&self, attributes: &Attributes) -> Decision {
        let mut allowed = None;
        let mut errors = Vec::new();
        let flow = self.visit(&attributes.user, attributes.namespace(), &mut |grant| match grant {
            Ok(grant) if grant.rule.allows(attributes) => {
                allowed = Some(Arc::clone(&grant.origin.reason));
                ControlFlow::Break(())
            }
            Ok(_) => ControlFlow::Continue(()),
            Err(error) => {
                errors.push(error);
                ControlFlow::Continue(())
            }
        });
        match flow {
            ControlFlow::Break(()) => Decision::Allow(allowed),
            ControlFlow::Continue(()) => {
                Decision::NoOpinion(aggregate(errors).map(|error| format!("RBAC: {error}").into()))
            }
        }
    }

    fn visit(&self, user: &User, namespace: &str, visitor: &mut Visitor<'_>) -> ControlFlow<()> {
        self.sources.iter().try_for_each(|source| source.visit(user, namespace, visitor))
    }
}

impl Authorizer for Rbac {
    fn authorize<'a>(&'a self, attributes: &'a Attributes) -> BoxFuture<'a, Decision> {
        crate::ready(self.decide(attributes))
    }
}

/// Rules that do not change while the server runs, bound at the cluster scope.
#[derive(Clone, Debug, Default)]
pub struct StaticRules {
    bindings: Vec<StaticBinding>,
}

#[derive(Clone, Debug)]
struct StaticBinding {
    subjects: Vec<(Subject, Origin)>,
    rules: Vec<PolicyRule>,
}

impl StaticRules {
    /// Gives the rules of the cluster role `name` to `subjects`, by a binding of the same name.
    pub fn bind(&mut self, name: &str, rules: Vec<PolicyRule>, subjects: Vec<Subject>) {
        let role = RoleName { kind: "ClusterRole", name };
        let with_origin = |subject: Subject| {
            let origin = Origin::cluster_role_binding(name, role, &subject);
            (subject, origin)
        };
        self.bindings
            .push(StaticBinding { subjects: subjects.into_iter().map(with_origin).collect(), rules });
    }
}

impl RuleSource for StaticRules {
    fn visit(&self, user: &User, _namespace: &str, visitor: &mut Visitor<'_>) -> ControlFlow<()> {
        for binding in &self.bindings {
            if let Some((_, origin)) = binding.subjects.iter().find(|(subject, _)| subject.is(user, "")) {
                binding.rules.iter().try_for_each(|rule| visitor(Ok(Grant { rule, origin })))?;
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
