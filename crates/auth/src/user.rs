//! Who asks: a name, a uid, groups and whatever else the authenticator learnt.
//!
//! Upstream: apiserver/pkg/authentication/user/user.go and `group/authenticated_group_adder.go` beside it, v1.36.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// The name of a request without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of every user with accepted credentials.
pub const ALL_AUTHENTICATED: &str = "system:authenticated";
/// The group of [`ANONYMOUS`].
pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group that may do everything, whatever the rules say.
pub const PRIVILEGED_GROUP: &str = "system:masters";
/// The group that may read health and metrics.
pub const MONITORING_GROUP: &str = "system:monitoring";
/// The group of every service account.
pub const ALL_SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// The server itself, when a background loop acts.
pub const API_SERVER: &str = "system:apiserver";
/// The key in `extra` that names the credential used.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// What an authenticator knows about a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    /// Keys are lower case, so that they survive as header names when a user is impersonated.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// A user. Cloning is one reference count; the fields are those of [`UserInfo`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(Arc<UserInfo>);

impl User {
    pub fn new(info: UserInfo) -> Self {
        User(Arc::new(info))
    }

    /// The user of a request without credentials.
    pub fn anonymous() -> Self {
        User::new(UserInfo {
            name: ANONYMOUS.to_owned(),
            groups: vec![ALL_UNAUTHENTICATED.to_owned()],
            ..UserInfo::default()
        })
    }

    /// The server acting for itself; passes every authorizer, through the same door as everyone else.
    pub fn api_server() -> Self {
        User::new(UserInfo {
            name: API_SERVER.to_owned(),
            groups: vec![PRIVILEGED_GROUP.to_owned(), ALL_AUTHENTICATED.to_owned()],
            ..UserInfo::default()
        })
    }

    /// Adds `system:authenticated`, unless the user is anonymous or the groups already say which it is.
    ///
    /// Allocates only when it adds; authenticators with a fixed set of users call it once for each.
    #[must_use]
    pub fn into_authenticated(self) -> Self {
        if self.name == ANONYMOUS || self.is_in(ALL_AUTHENTICATED) || self.is_in(ALL_UNAUTHENTICATED) {
            return self;
        }
        let mut info = Arc::unwrap_or_clone(self.0);
        info.groups.push(ALL_AUTHENTICATED.to_owned());
        User::new(info)
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Whether the user showed no credentials; such connections get less patience.
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(ALL_UNAUTHENTICATED)
    }
}

impl Deref for User {
    type Target = UserInfo;

    fn deref(&self) -> &UserInfo {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, groups: &[&str]) -> User {
        User::new(UserInfo {
            name: name.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..UserInfo::default()
        })
    }

    #[test]
    fn authenticated_users_join_the_group_last_and_once() {
        for (name, groups, expected) in [
            ("alice", &[][..], &["system:authenticated"][..]),
            ("bob", &["devs"], &["devs", "system:authenticated"]),
            ("bob", &["system:authenticated", "devs"], &["system:authenticated", "devs"]),
            ("bob", &["system:unauthenticated"], &["system:unauthenticated"]),
            ("system:anonymous", &["devs"], &["devs"]),
        ] {
            assert_eq!(user(name, groups).into_authenticated().groups, expected, "{name} {groups:?}");
        }
    }

    #[test]
    fn joining_the_group_leaves_other_holders_of_the_user_alone() {
        let before = user("alice", &["devs"]);
        let after = before.clone().into_authenticated();
        assert_eq!(before.groups, ["devs"]);
        assert_eq!(after.groups, ["devs", "system:authenticated"]);
    }

    #[test]
    fn anonymous_is_known_by_name_or_group() {
        assert!(User::anonymous().is_anonymous());
        assert_eq!(User::anonymous().groups, ["system:unauthenticated"]);
        assert!(user("x", &["system:unauthenticated"]).is_anonymous());
        assert!(!user("x", &["system:authenticated"]).is_anonymous());
    }
}
