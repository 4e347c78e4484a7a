//! Names of kinds and resources: group, version and kind or resource.
//!
//! Upstream: `apimachinery/pkg/runtime/schema/group_version.go`, v1.36.

use std::fmt;

use crate::Text;

/// A kind in one version of one group. The core group is the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Gvk {
    pub group: Text,
    pub version: Text,
    pub kind: Text,
}

/// A resource in one version of one group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Gvr {
    pub group: Text,
    pub version: Text,
    pub resource: Text,
}

/// A resource whatever its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct GroupResource {
    pub group: Text,
    pub resource: Text,
}

/// A kind whatever its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct GroupKind {
    pub group: Text,
    pub kind: Text,
}

/// A group and one of its versions: what `apiVersion` holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct GroupVersion {
    pub group: Text,
    pub version: Text,
}

impl Gvk {
    pub fn new(group: impl Into<Text>, version: impl Into<Text>, kind: impl Into<Text>) -> Self {
        Gvk { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// `group/version`, or `version` alone for the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }

    pub fn group_version(&self) -> GroupVersion {
        GroupVersion { group: self.group.clone(), version: self.version.clone() }
    }
}

impl Gvr {
    pub fn new(group: impl Into<Text>, version: impl Into<Text>, resource: impl Into<Text>) -> Self {
        Gvr { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// `group/version`, or `version` alone for the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.clone(), resource: self.resource.clone() }
    }
}

impl GroupResource {
    pub fn new(group: impl Into<Text>, resource: impl Into<Text>) -> Self {
        GroupResource { group: group.into(), resource: resource.into() }
    }

    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.resource.is_empty()
    }
}

impl GroupKind {
    pub fn new(group: impl Into<Text>, kind: impl Into<Text>) -> Self {
        GroupKind { group: group.into(), kind: kind.into() }
    }
}

impl GroupVersion {
    pub fn new(group: impl Into<Text>, version: impl Into<Text>) -> Self {
        GroupVersion { group: group.into(), version: version.into() }
    }

    pub fn with_kind(&self, kind: impl Into<Text>) -> Gvk {
        Gvk { group: self.group.clone(), version: self.version.clone(), kind: kind.into() }
    }

    pub fn with_resource(&self, resource: impl Into<Text>) -> Gvr {
        Gvr { group: self.group.clone(), version: self.version.clone(), resource: resource.into() }
    }
}

/// An `apiVersion` with more than one slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiVersionError {
    text: String,
}

impl fmt::Display for ApiVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unexpected GroupVersion string: {}", self.text)
    }
}

impl std::error::Error for ApiVersionError {}

/// Splits an `apiVersion`. The empty string and a lone slash name nothing and are no error.
///
/// ```
/// use crest_meta::gvk::{GroupVersion, parse_api_version};
/// assert_eq!(parse_api_version("v1"), Ok(GroupVersion::new("", "v1")));
/// assert_eq!(parse_api_version("apps/v1"), Ok(GroupVersion::new("apps", "v1")));
/// assert_eq!(
///     parse_api_version("a/b/c").unwrap_err().to_string(),
///     "unexpected GroupVersion string: a/b/c",
/// );
/// ```
pub fn parse_api_version(text: &str) -> Result<GroupVersion, ApiVersionError> {
    match text.split_once('/') {
        None => Ok(GroupVersion::new("", text)),
        Some((_, rest)) if rest.contains('/') => Err(ApiVersionError { text: text.to_owned() }),
        Some((group, version)) => Ok(GroupVersion::new(group, version)),
    }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// `name.group`, or `name` alone for the core group.
fn write_qualified(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    if group.is_empty() { f.write_str(name) } else { write!(f, "{name}.{group}") }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(f, &self.resource, &self.group)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(f, &self.kind, &self.group)
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&api_version(&self.group, &self.version))
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl fmt::Display for Gvr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Resource={}", self.group, self.version, self.resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_print_as_the_reference_prints_them() {
        assert_eq!(GroupResource::new("", "pods").to_string(), "pods");
        assert_eq!(GroupResource::new("g.io", "as").to_string(), "as.g.io");
        assert_eq!(GroupKind::new("g.io", "A").to_string(), "A.g.io");
        assert_eq!(Gvk::new("", "v1", "Pod").to_string(), "/v1, Kind=Pod");
        assert_eq!(Gvr::new("g", "v1", "as").to_string(), "g/v1, Resource=as");
        assert_eq!(Gvk::new("", "v1", "Pod").api_version(), "v1");
        assert_eq!(Gvr::new("g", "v1", "as").api_version(), "g/v1");
    }

    #[test]
    fn api_versions_split_at_their_only_slash() {
        for (text, group, version) in [("", "", ""), ("/", "", ""), ("v1", "", "v1"), ("g/", "g", "")] {
            assert_eq!(parse_api_version(text), Ok(GroupVersion::new(group, version)));
        }
        assert!(parse_api_version("//").is_err());
    }
}
