//! Requests without credentials.
//!
//! Upstream: apiserver/pkg/authentication/request/anonymous/anonymous.go, v1.36.

use super::Credentials;
use crate::User;

/// Lets requests without credentials in as `system:anonymous`.
#[derive(Clone, Debug)]
pub struct Anonymous {
    user: User,
    paths: Vec<String>,
}

impl Anonymous {
    /// On every path.
    pub fn everywhere() -> Self {
        Anonymous::only_on(Vec::new())
    }

    /// On exactly these paths; on every path when there are none.
    pub fn only_on(paths: Vec<String>) -> Self {
        Anonymous { user: User::anonymous(), paths }
    }

    pub(super) fn user(&self, credentials: &Credentials<'_>) -> Option<User> {
        let open = self.paths.is_empty() || self.paths.iter().any(|path| path == credentials.path);
        open.then(|| self.user.clone())
    }
}
