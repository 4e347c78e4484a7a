//! What is asked for, as an authorizer sees it.

use compact_str::CompactString as Text;

use crate::User;

/// One request: who, which verb, and either a resource or a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub user: User,
    /// `get`, `list`, `watch`, `create` … for resources; the lower-case HTTP method for other paths.
    pub verb: Text,
    /// `None` when the path is not that of a resource, for example `/healthz`.
    pub resource: Option<ResourceAttributes>,
    /// The URL's path. Only requests without a resource are judged by it.
    pub path: Text,
}

/// The resource of a request. What the request does not name is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    pub namespace: Text,
    pub group: Text,
    pub version: Text,
    pub resource: Text,
    pub subresource: Text,
    pub name: Text,
}

impl Attributes {
    /// The namespace asked about, empty at the cluster scope and for requests without a resource.
    pub fn namespace(&self) -> &str {
        self.resource.as_ref().map_or("", |resource| resource.namespace.as_str())
    }
}
