//! Rules against requests, subjects against users.

use super::*;
use crate::UserInfo;

fn owned(texts: &str) -> Vec<String> {
    if texts.is_empty() { Vec::new() } else { texts.split(' ').map(str::to_owned).collect() }
}

fn user(name: &str, groups: &str) -> User {
    User::new(UserInfo { name: name.to_owned(), groups: owned(groups), ..UserInfo::default() })
}

/// `verbs|groups|resources|names`, words in each separated by spaces; `''` is the empty word.
fn rule(text: &str) -> PolicyRule {
    let parts: Vec<Vec<String>> = text
        .split('|')
        .map(|part| owned(part).into_iter().map(|word| word.replace("''", "")).collect())
        .collect();
    PolicyRule {
        verbs: parts[0].clone(),
        api_groups: parts[1].clone(),
        resources: parts[2].clone(),
        resource_names: parts[3].clone(),
        non_resource_urls: Vec::new(),
    }
}

/// `verb|group|resource/subresource|name`.
fn request(text: &str) -> Attributes {
    let parts: Vec<&str> = text.split('|').collect();
    let (resource, subresource) = parts[2].split_once('/').unwrap_or((parts[2], ""));
    Attributes {
        user: user("alice", "devs"),
        verb: parts[0].into(),
        resource: Some(ResourceAttributes {
            namespace: "ns".into(),
            group: parts[1].into(),
            version: "v1".into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: parts[3].into(),
        }),
        path: "/api/v1/anything".into(),
    }
}

fn path_request(verb: &str, path: &str) -> Attributes {
    Attributes { user: user("alice", "devs"), verb: verb.into(), resource: None, path: path.into() }
}

#[test]
fn resource_rules_cover_what_the_reference_says() {
    for (policy, asked, allowed) in [
        ("get|''|pods|", "get||pods|", true),
        ("get|''|pods|", "get||pods|a", true),
        ("get|''|pods|", "list||pods|", false),
        ("get|''|pods|", "get|apps|pods|", false),
        ("get|''|pods|", "get||secrets|", false),
        ("get list|'' apps|pods deployments|", "list|apps|deployments|", true),
        ("*|*|*|", "deletecollection|example.com|widgets|", true),
        ("*|*|*|", "update|example.com|widgets/status|a", true),
        ("*|''|*|", "get|apps|deployments|", false),
        // Nothing named is nothing allowed.
        ("|''|pods|", "get||pods|", false),
        ("get||pods|", "get||pods|", false),
        ("get|''||", "get||pods|", false),
        // Subresources.
        ("get|''|pods|", "get||pods/log|a", false),
        ("get|''|pods/log|", "get||pods/log|a", true),
        ("get|''|pods/log|", "get||pods|a", false),
        ("get|''|*/log|", "get||pods/log|a", true),
        ("get|''|*/log|", "get||pods|a", false),
        ("get|''|*/log|", "get||pods/catalog|a", false),
        ("get|''|*/scale|", "get||pods/status|a", false),
        ("get|''|pods/*|", "get||pods/log|a", false),
        ("get|''|pods/*|", "get||pods|a", false),
        ("get|''|*/*|", "get||pods/log|a", false),
        ("get|''|log|", "get||pods/log|a", false),
        ("get|''|/log|", "get||pods/log|a", false),
        ("get|''|po*|", "get||pods|a", false),
        // A subresource may itself have a slash: everything behind the first one.
        ("get|''|services/proxy/x|", "get||services/proxy/x|a", true),
        // Names.
        ("get|''|pods|a b", "get||pods|b", true),
        ("get|''|pods|a b", "get||pods|c", false),
        ("get|''|pods|a", "list||pods|", false),
        ("list|''|pods|a", "list||pods|", false),
        ("list|''|pods|''", "list||pods|", true),
        ("get|''|pods|*", "get||pods|c", false),
        ("get|''|pods/log|a", "get||pods/log|a", true),
        // Letters matter.
        ("GET|''|pods|", "get||pods|", false),
    ] {
        assert_eq!(rule(policy).allows(&request(asked)), allowed, "{policy} / {asked}");
    }
}

#[test]
fn path_rules_cover_what_the_reference_says() {
    for (urls, path, allowed) in [
        ("/healthz", "/healthz", true),
        ("/healthz", "/healthz/", false),
        ("/healthz", "/healthz/etcd", false),
        ("/healthz/*", "/healthz/etcd", true),
        ("/healthz/*", "/healthz/", true),
        ("/healthz/*", "/healthz", false),
        ("/healthz*", "/healthzed/x", true),
        ("/healthz**", "/healthz", true),
        ("*", "/anything", true),
        ("/*", "/anything", true),
        ("/*/x", "/a/x", false),
        ("/a /b", "/b", true),
        ("", "/b", false),
    ] {
        let rule =
            PolicyRule { verbs: owned("get"), non_resource_urls: owned(urls), ..PolicyRule::default() };
        assert_eq!(rule.allows(&path_request("get", path)), allowed, "{urls} / {path}");
        assert!(!rule.allows(&path_request("post", path)), "post {urls} / {path}");
    }
}

#[test]
fn paths_and_resources_do_not_stand_in_for_each_other() {
    assert!(!rule("*|*|*|").allows(&path_request("get", "/healthz")));
    let everywhere = PolicyRule { verbs: owned("*"), non_resource_urls: owned("*"), ..PolicyRule::default() };
    assert!(!everywhere.allows(&request("get||pods|a")));
}

#[test]
fn subjects_are_users_groups_and_service_accounts() {
    let account = |namespace: &str, name: &str| Subject::ServiceAccount {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let robot = user("system:serviceaccount:ns:robot", "system:serviceaccounts");
    for (subject, user, namespace, expected) in [
        (Subject::User("alice".to_owned()), &user("alice", ""), "", true),
        (Subject::User("alice".to_owned()), &user("bob", "alice"), "", false),
        (Subject::Group("devs".to_owned()), &user("alice", "ops devs"), "", true),
        (Subject::Group("alice".to_owned()), &user("alice", "devs"), "", false),
        (account("ns", "robot"), &robot, "", true),
        (account("ns", "robot"), &robot, "other", true),
        (account("", "robot"), &robot, "ns", true),
        (account("", "robot"), &robot, "other", false),
        (account("", "robot"), &robot, "", false),
        (account("ns", "rob"), &robot, "", false),
        (account("n", "s:robot"), &robot, "", false),
    ] {
        assert_eq!(subject.is(user, namespace), expected, "{subject:?} {} {namespace:?}", user.name);
    }
}

#[test]
fn origins_read_as_in_the_reference() {
    let role = RoleName { kind: "ClusterRole", name: "view" };
    let account = Subject::ServiceAccount { namespace: String::new(), name: "robot".to_owned() };
    assert_eq!(
        Origin::role_binding("ns", "b", role, &account).to_string(),
        r#"RoleBinding "b/ns" of ClusterRole "view" to ServiceAccount "robot/ns""#
    );
    assert_eq!(
        Origin::cluster_role_binding("b", role, &Subject::User("alice".to_owned())).to_string(),
        r#"ClusterRoleBinding "b" of ClusterRole "view" to User "alice""#
    );
}

/// A source that finds some rules and fails to find others.
struct Broken(StaticRules, Vec<&'static str>);

impl RuleSource for Broken {
    fn visit(&self, user: &User, namespace: &str, visitor: &mut Visitor<'_>) -> ControlFlow<()> {
        self.1.iter().try_for_each(|&error| visitor(Err(error.to_owned())))?;
        self.0.visit(user, namespace, visitor)
    }
}

#[test]
fn errors_matter_only_when_no_rule_allows() {
    let mut rules = StaticRules::default();
    rules.bind("reader", vec![rule("get|''|pods|")], vec![Subject::Group("devs".to_owned())]);
    let rbac = |errors| Rbac::new(vec![Box::new(Broken(rules.clone(), errors))]);
    let reason = r#"RBAC: allowed by ClusterRoleBinding "reader" of ClusterRole "reader" to Group "devs""#;
    assert_eq!(rbac(vec!["a"]).decide(&request("get||pods|")), Decision::Allow(Some(reason.into())));
    let refused = |errors| match rbac(errors).decide(&request("list||pods|")) {
        Decision::NoOpinion(reason) => reason.map(|reason| reason.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(vec![]), None);
    assert_eq!(refused(vec!["a"]).unwrap(), "RBAC: a");
    assert_eq!(refused(vec!["a", "b", "a"]).unwrap(), "RBAC: [a, b]");
}

#[test]
fn all_rules_of_a_user_can_be_listed() {
    let mut rules = StaticRules::default();
    rules.bind("reader", vec![rule("get|''|pods|")], vec![Subject::Group("devs".to_owned())]);
    rules.bind("writer", vec![rule("update|''|pods|")], vec![Subject::User("bob".to_owned())]);
    let rbac = Rbac::new(vec![Box::new(Broken(rules, vec!["lost"]))]);
    assert_eq!(
        rbac.rules_for(&user("alice", "devs"), "ns"),
        (vec![rule("get|''|pods|")], Some("lost".to_owned()))
    );
    let (rules, _) = rbac.rules_for(&user("bob", "devs"), "");
    assert_eq!(rules, [rule("get|''|pods|"), rule("update|''|pods|")]);
}
